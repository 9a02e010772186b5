//! QuickJS with a k6 script: one runtime, which belongs to one VU, or to the planning of the test.

use std::collections::HashMap;
use std::rc::Rc;

use loadstone_script::{ScriptError, caught_error};
use rquickjs::context::intrinsic::{Date, Eval, Json, MapSet, Promise, Proxy, RegExp, RegExpCompiler, TypedArrays};
use rquickjs::module::WriteOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Error, Module, Object, Persistent, Runtime, Value, qjs};

use crate::coroutine::STACK_BYTES;
use crate::modules::is_own;
use crate::natives;
use crate::program_modules::ProgramModules;
use crate::realm_inputs::RealmInputs;
use crate::turn::VuHandle;

/// The part of a coroutine's stack that JavaScript leaves to native functions, such as a TLS handshake.
const NATIVE_STACK_BYTES: usize = 512 << 10;
/// Jobs until the script's top level settles.
const TOP_LEVEL_JOBS_MAX: usize = 1_000_000;

/// The standard globals that k6 has: no `performance`, `atob`, `DOMException` or `WeakRef`. Each takes memory in every VU.
type Globals = (Date, Eval, RegExpCompiler, RegExp, Json, Proxy, MapSet, TypedArrays, Promise);

/// A runtime in which a script has been evaluated. Fields drop in order: values before their context.
pub(crate) struct K6Realm {
    exports: Persistent<Object<'static>>,
    context: Context,
    runtime: Runtime,
    pub(crate) world: RealmInputs,
}

impl K6Realm {
    /// Evaluates the script. On a coroutine: the runtime's limit on its stack counts from here.
    pub(crate) fn open(world: RealmInputs, vu: Option<VuHandle>, stack_bytes: usize) -> Result<Self, ScriptError> {
        let no_realm = |error: Error| ScriptError::new(format!("the script engine could not start: {error}"));
        let runtime = Runtime::new().map_err(no_realm)?;
        runtime.set_max_stack_size(stack_bytes);
        if let Some(vu) = &vu {
            let vu = Rc::downgrade(&vu.0);
            runtime.set_interrupt_handler(Some(Box::new(move || vu.upgrade().is_some_and(|vu| vu.check()))));
        }
        let loader = ProgramModules::of(&world);
        runtime.set_loader(loader.clone(), loader);
        let context = Context::custom::<Globals>(&runtime).map_err(no_realm)?;
        let exports = context.with(|ctx| {
            if let Some(vu) = vu {
                let _ = ctx.store_userdata(vu);
            }
            natives::install(&ctx, &world).map_err(|error| caught_error(&ctx, &world.program, error))?;
            evaluate(&ctx, &world, "k6:globals")?;
            let exports = evaluate(&ctx, &world, world.program.entry_id())?;
            Ok(Persistent::save(&ctx, exports))
        })?;
        Ok(Self { exports, context, runtime, world })
    }

    /// Calls into JavaScript.
    pub(crate) fn enter<R>(&self, call: impl for<'js> FnOnce(&Ctx<'js>, Object<'js>) -> R) -> R {
        self.context.with(|ctx| match self.exports.clone().restore(&ctx) {
            Ok(exports) => call(&ctx, exports),
            // Restoring fails only in another runtime.
            Err(error) => unreachable!("{error}"),
        })
    }

    /// Compiles every module, for the VUs.
    pub(crate) fn compile(&self) -> Result<HashMap<String, Vec<u8>>, ScriptError> {
        let program = &self.world.program;
        self.context.with(|ctx| {
            let compiled = |id: &str| {
                let code = program.module_code(id).unwrap_or_default();
                let module = Module::declare(ctx.clone(), id, code)?;
                // Sources and positions of Loadstone's modules would take memory in each VU. Errors name places in the user's files.
                let is_own = is_own(id);
                let options = WriteOptions { strip_source: is_own, strip_debug: is_own, ..WriteOptions::default() };
                Ok((id.to_owned(), module.write(options)?))
            };
            program.module_ids().map(|id| compiled(id).map_err(|error| caught_error(&ctx, program, error))).collect()
        })
    }

    /// Collects cycles of objects.
    pub(crate) fn collect(&self) {
        self.runtime.run_gc();
    }
}

/// The stack that JavaScript may use on a coroutine.
pub(crate) const JS_STACK_BYTES: usize = STACK_BYTES - NATIVE_STACK_BYTES;

fn evaluate<'js>(ctx: &Ctx<'js>, world: &RealmInputs, id: &str) -> Result<Object<'js>, ScriptError> {
    let failed = |error| caught_error(ctx, &world.program, error);
    let module = ProgramModules::of(world).declare(ctx, id).map_err(failed)?;
    let (module, done) = module.eval().map_err(failed)?;
    for _ in 0..TOP_LEVEL_JOBS_MAX {
        if !run_job(ctx).map_err(|thrown| loadstone_script::thrown_error(ctx, &world.program, &thrown))? {
            break;
        }
    }
    match done.state() {
        PromiseState::Resolved => {}
        PromiseState::Rejected => match done.result::<Value<'_>>() {
            Some(Err(error)) => return Err(failed(error)),
            _ => return Err(ScriptError::new("the script failed")),
        },
        PromiseState::Pending => {
            return Err(ScriptError::new("the top level of the script awaits a promise that never settles")
                .help("requests belong in the default function, or in `setup`"));
        }
    }
    module.namespace().map_err(failed)
}

/// Runs the next job. False: there is none. An error is an interruption.
pub(crate) fn run_job<'js>(ctx: &Ctx<'js>) -> Result<bool, Value<'js>> {
    let mut ran_in = std::mem::MaybeUninit::uninit();
    // SAFETY: the context is alive and entered, and so is its runtime. The context written to `ran_in` is not used.
    let result = unsafe { qjs::JS_ExecutePendingJob(qjs::JS_GetRuntime(ctx.as_raw().as_ptr()), ran_in.as_mut_ptr()) };
    match result {
        0 => Ok(false),
        1.. => Ok(true),
        _ => Err(ctx.catch()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{K6Inputs, load};

    /// The bytes that QuickJS allocates for a VU of a script, before its first iteration.
    fn bytes_of_vu(script: &str) -> i64 {
        realm_of(script).runtime.memory_usage().malloc_size
    }

    fn realm_of(script: &str) -> K6Realm {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script.js");
        std::fs::write(&path, script).unwrap();
        let test = load(&path, &K6Inputs::default()).unwrap();
        K6Realm::open(RealmInputs::of_vu(&test, 1, Rc::new(|_| {})), None, 1 << 20).unwrap()
    }

    /// An error by design, which AddressSanitizer must report in the C code of QuickJS and on a coroutine: without it, `cargo xtask asan` fails.
    #[cfg(feature = "sanitizer")]
    #[test]
    fn quickjs_reads_beyond_a_buffer() {
        if std::env::var_os("LOADSTONE_PLANTED_ERROR").is_none() {
            return;
        }
        let read = |_| {
            let runtime = Runtime::new().unwrap();
            let context = Context::custom::<Globals>(&runtime).unwrap();
            context.with(|ctx| {
                let module = Module::declare(ctx.clone(), "planted", "export const planted = [1, 'two'];").unwrap();
                let bytes = module.write(WriteOptions::default()).unwrap();
                let half: Box<[u8]> = bytes[..bytes.len() / 2].into();
                // SAFETY: none. QuickJS gets twice the length of the buffer.
                unsafe { qjs::JS_ReadObject(ctx.as_raw().as_ptr(), half.as_ptr(), bytes.len() as _, qjs::JS_READ_OBJ_BYTECODE as i32) };
            });
        };
        crate::coroutine::Coroutine::<(), ()>::new(read).unwrap().resume(crate::coroutine::Resume::Poll, None);
    }

    /// Cycles of objects stay until a collection, which takes time and is rare.
    #[test]
    fn paths_into_json_leave_no_cycles() {
        let realm = realm_of(
            r#"import { Response } from "k6/http";
            const body = '{"a": [{"b": 1}, {"b": 2}], "c": {"d": 3}}';
            export default function () {
              for (const path of ["a.#", "a.#.b", "a.1.b", "a.#(b==2).b", "a.#(b>0)#.b", "c.d", "?.d"]) new Response(200, body, "", 0).json(path);
            }"#,
        );
        let run = |times: u32| {
            for _ in 0..times {
                realm.enter(|_, exports| exports.get::<_, rquickjs::Function<'_>>("default").unwrap().call::<_, ()>(()).unwrap());
            }
            realm.runtime.memory_usage().malloc_size
        };
        let before = run(5);
        assert_eq!(run(5), before);
    }

    #[test]
    fn a_vu_takes_memory_for_what_its_script_uses() {
        let bytes = bytes_of_vu(
            r#"import http from "k6/http"; import { check } from "k6";
            export default function () { check(http.get("http://127.0.0.1/"), { ok: (r) => r.status === 200 }); }"#,
        );
        assert!(bytes < 180_000, "{bytes} bytes for a script with a request and a check");
    }
}
