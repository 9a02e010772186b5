//! One JavaScript realm: a QuickJS runtime with the program loaded, shared by about two thousand users.
//!
//! Read [`Realm`]. All calls into JavaScript go through [`Realm::enter`], which starts a turn of the watchdog. Deliberately absent:
//! sockets, recording, the user object (`user`), the scheduling of users (`runtime`).

mod awaited;
mod constants;
mod failure;
mod heap;
mod jobs;
mod loader;
mod stepped;
mod unhandled;
mod watchdog;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_metrics::Nanos;
use loadstone_metrics::clock::Clock;
use rquickjs::context::EvalOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Exception, Function, Module, Object, Runtime, Value, qjs};

pub(crate) use awaited::{Awaited, AwaitsPromise, address_of, disregard};
pub(crate) use constants::Constants;
pub(crate) use failure::{caller_place, caught, describe, name_of, thrown};
pub(crate) use jobs::{are_pending, call_with};
pub(crate) use stepped::{promise_of, then};
pub(crate) use watchdog::TURN_NS_MAX;

use heap::Heap;
use stepped::SteppedFunctions;
use unhandled::Unhandled;
use watchdog::Watchdog;

use crate::compile::{ModuleForm, Program};
use crate::data::bindings::{self, RealmData};
use crate::data::store::Store;
use crate::error::ScriptError;
use crate::globals::{self, console::ConsoleSink};
use crate::unknown_options;

/// Memory of one realm. Bytes.
const MEMORY_BYTES_MAX: usize = 512 << 20;
/// Stack of one realm; a worker's thread has 2 MiB. Bytes.
const STACK_BYTES_MAX: usize = 768 << 10;
/// Maximum number of jobs until the top level of the file settles.
const TOP_LEVEL_JOBS_MAX: usize = 1_000_000;

/// Inputs of a realm that vary with the run.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) program: Arc<Program>,
    /// The test file's folder.
    pub(crate) folder: PathBuf,
    /// Files, feeders and values that all workers share.
    pub(crate) store: Arc<Store>,
    /// Longest turn of JavaScript. Nanoseconds.
    pub(crate) turn_ns_max: Nanos,
}

/// A realm with its globals. [`Realm::evaluate`] loads the test file. Drop it after all holders of its values.
pub(crate) struct Realm {
    /// Before the context: it holds values.
    unhandled: Unhandled,
    /// It holds values too.
    constants: Constants,
    stepped: SteppedFunctions,
    context: Context,
    runtime: Runtime,
    watchdog: Watchdog,
    heap: Heap,
    /// After the runtime, which notifies it of promises until it is dropped.
    awaited: Rc<Awaited>,
    /// Class of async functions in this version of QuickJS.
    async_class: qjs::JSClassID,
    pub(crate) world: Rc<World>,
}

impl Realm {
    /// An empty realm with the language's globals and the hidden `__loadstone` object, which `install` completes. Also returns the scope of
    /// its data: seal it once the test file has been evaluated.
    pub(crate) fn new<E>(
        world: Rc<World>,
        console: ConsoleSink,
        install: impl for<'js> FnOnce(&Ctx<'js>, &Object<'js>) -> rquickjs::Result<E>,
    ) -> Result<(Self, Rc<RealmData>, E), ScriptError> {
        let no_realm = |error: rquickjs::Error| ScriptError::new(format!("the script engine could not start: {error}"));
        let watchdog = Watchdog::new(world.turn_ns_max);
        let runtime = Runtime::new().map_err(no_realm)?;
        runtime.set_memory_limit(MEMORY_BYTES_MAX);
        runtime.set_max_stack_size(STACK_BYTES_MAX);
        // This crate schedules collections: one over thousands of users takes milliseconds.
        runtime.set_gc_threshold(usize::MAX);
        runtime.set_interrupt_handler(Some(Box::new(watchdog.handler())));
        let loader = loader::ProgramLoader(Arc::clone(&world.program));
        runtime.set_loader(loader.clone(), loader);
        let awaited = Rc::default();
        let unhandled = Unhandled::watch(&runtime, &awaited);
        let context = Context::full(&runtime).map_err(no_realm)?;
        let async_class = context.with(|ctx| {
            awaited.listen(&ctx);
            ctx.eval::<Value<'_>, _>("(async () => {})").map(|function| class_of(&function))
        });
        let async_class = async_class.map_err(no_realm)?;
        let (constants, stepped) = (Constants::default(), SteppedFunctions::default());
        let realm = Self { context, runtime, watchdog, unhandled, constants, stepped, heap: Heap::default(), awaited, async_class, world };
        let installed = realm.enter(|ctx| {
            let native = Object::new(ctx.clone())?;
            install_commonjs(ctx, &native, &realm.world.program)?;
            realm.constants.install(ctx, &native)?;
            realm.stepped.install(ctx, &native)?;
            native.set("duration", Function::new(ctx.clone(), duration)?)?;
            native.set("rate", Function::new(ctx.clone(), rate)?)?;
            native.set("share", Function::new(ctx.clone(), share)?)?;
            native.set("unknownOption", Function::new(ctx.clone(), unknown_option)?)?;
            native.set("nearest", Function::new(ctx.clone(), nearest_name)?)?;
            ctx.globals().set("__loadstone", native.clone())?;
            let for_folders = Rc::clone(&realm.world);
            let scope = bindings::install(ctx, &native, &realm.world.store, Box::new(move |ctx| caller_folder(ctx, &for_folders)))?;
            globals::install(ctx, &native, scope.random(), console)?;
            install(ctx, &native).map(|installed| (scope, installed))
        });
        let (scope, installed) = installed.map_err(no_realm)?;
        Ok((realm, scope, installed))
    }

    /// Calls into JavaScript: one turn of the watchdog.
    pub(crate) fn enter<R>(&self, call: impl for<'js> FnOnce(&Ctx<'js>) -> R) -> R {
        self.watchdog.turn();
        self.heap.worked();
        self.context.with(|ctx| call(&ctx))
    }

    /// Runs queued jobs until none is left, or `limit` have run. Each is a separate turn.
    ///
    /// # Errors
    /// The error that ended a job: only an interruption, since a thrown error rejects a promise instead.
    pub(crate) fn run_jobs(&self, ctx: &Ctx<'_>, limit: usize) -> Result<usize, ScriptError> {
        for ran in 0..limit {
            self.watchdog.turn();
            match jobs::run_one(ctx) {
                Ok(true) => {}
                Ok(false) => return Ok(ran),
                Err(thrown) => return Err(describe(ctx, &self.world.program, &thrown)),
            }
        }
        Ok(limit)
    }

    /// Evaluates the test file and applies `read` to its default export, which is `undefined` if there is none.
    pub(crate) fn evaluate<R>(&self, read: impl for<'js> FnOnce(&Ctx<'js>, Value<'js>) -> rquickjs::Result<R>) -> Result<R, ScriptError> {
        self.evaluate_for("default", read)
    }

    /// The same for any of its exports.
    pub(crate) fn evaluate_for<R>(
        &self,
        export: &str,
        read: impl for<'js> FnOnce(&Ctx<'js>, Value<'js>) -> rquickjs::Result<R>,
    ) -> Result<R, ScriptError> {
        let program = &self.world.program;
        self.enter(|ctx| {
            let failed = |error| caught(ctx, program, error);
            let code = program.modules.get(&program.entry).map(|module| module.code.as_str()).unwrap_or_default();
            let (module, done) = Module::declare(ctx.clone(), program.entry.as_str(), code).and_then(Module::eval).map_err(failed)?;
            self.run_jobs(ctx, TOP_LEVEL_JOBS_MAX)?;
            match done.state() {
                PromiseState::Resolved => {}
                PromiseState::Rejected => {
                    let Some(Err(error)) = done.result::<Value<'_>>() else { return Err(ScriptError::new("the file failed")) };
                    return Err(failed(error));
                }
                PromiseState::Pending => {
                    return Err(ScriptError::new("the file's top level awaits a promise that never settles")
                        .help("requests and pauses belong in a scenario: await them there, for instance in a set-up that runs `once()`"));
                }
            }
            let exported = module.get::<_, Value<'_>>(export).or_else(|_| {
                ctx.catch();
                Ok(Value::new_undefined(ctx.clone()))
            });
            exported.and_then(|value| read(ctx, value)).map_err(failed)
        })
    }

    /// Rejections that no code has handled and no waiter expects.
    pub(crate) fn take_unhandled(&self, ctx: &Ctx<'_>) -> Vec<ScriptError> {
        self.unhandled.take(ctx, &self.world.program, &self.awaited)
    }

    /// Promises of async functions that iterations wait for.
    pub(crate) fn awaited(&self) -> &Awaited {
        &self.awaited
    }

    /// Options that were moved out of the code.
    pub(crate) fn constants(&self) -> &Constants {
        &self.constants
    }

    /// Functions of scenarios that are resumed with each response.
    pub(crate) fn stepped(&self) -> &SteppedFunctions {
        &self.stepped
    }

    /// Whether it is an `async` function: each call returns a promise that no other code has.
    pub(crate) fn is_async(&self, function: &Function<'_>) -> bool {
        class_of(function.as_value()) == self.async_class
    }

    /// Collects garbage if enough work has been done since the last time. Returns how long it took, in nanoseconds.
    pub(crate) fn collect_if_due(&self, clock: &Clock) -> Option<Nanos> {
        self.heap.is_due().then(|| {
            let began = clock.now();
            self.runtime.run_gc();
            let elapsed_ns = clock.now().saturating_sub(began);
            self.heap.collected(elapsed_ns);
            elapsed_ns
        })
    }
}

fn class_of(value: &Value<'_>) -> qjs::JSClassID {
    // SAFETY: the value is alive.
    unsafe { qjs::JS_GetClassID(value.as_raw()) }
}

/// Puts `commonjs(id)` on the native object: `[factory, imports]` of a CommonJS file's body.
fn install_commonjs<'js>(ctx: &Ctx<'js>, native: &Object<'js>, program: &Arc<Program>) -> rquickjs::Result<()> {
    let program = Arc::clone(program);
    let load = move |ctx: Ctx<'js>, id: String| {
        let body = format!("{id}#cjs");
        let Some(module) = program.modules.get(&body).filter(|module| module.form == ModuleForm::CommonJs) else {
            return Err(Exception::throw_message(&ctx, &format!("{id} cannot be loaded by `require`")));
        };
        let mut options = EvalOptions::default();
        options.strict = false;
        options.filename = Some(body);
        let factory = ctx.eval_with_options::<Value<'_>, _>(module.code.as_str(), options)?;
        let imports = Object::new(ctx.clone())?;
        for (specifier, target) in &module.imports {
            imports.set(specifier.as_str(), target.as_str())?;
        }
        Ok(vec![factory, imports.into_value()])
    };
    native.set("commonjs", Function::new(ctx.clone(), load)?)
}

fn unknown_option(ctx: Ctx<'_>, what: String, option: String, known: Vec<String>) -> String {
    unknown_options::report_unknown(&ctx, &what, &option, &known)
}

/// The most similar known name, or an empty string.
fn nearest_name(written: String, known: Vec<String>) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    loadstone_units::nearest(&written, &known).unwrap_or_default().to_owned()
}

/// Nanoseconds of a duration. `what` names the option in the error.
fn duration(ctx: Ctx<'_>, text: String, what: String) -> rquickjs::Result<f64> {
    let ns = loadstone_units::duration::parse(&text).map(|ns| ns as f64);
    ns.map_err(|error| Exception::throw_range(&ctx, &format!("{what}: {error}")))
}

/// Occurrences per second.
fn rate(ctx: Ctx<'_>, text: String, what: String) -> rquickjs::Result<f64> {
    loadstone_units::rate::parse(&text).map_err(|error| Exception::throw_range(&ctx, &format!("{what}: {error}")))
}

/// From 0 to 1.
fn share(ctx: Ctx<'_>, text: String, what: String) -> rquickjs::Result<f64> {
    loadstone_units::share::parse(&text).map_err(|error| Exception::throw_range(&ctx, &format!("{what}: {error}")))
}

/// The folder of the file that called a function of the module. Its relative paths start there.
pub(crate) fn caller_folder(ctx: &Ctx<'_>, world: &World) -> PathBuf {
    let file = caller_place(ctx, &world.program).map(|place| world.folder.join(&*place.file));
    file.and_then(|file| file.parent().map(std::path::Path::to_path_buf)).unwrap_or_else(|| world.folder.clone())
}
