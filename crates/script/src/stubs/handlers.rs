//! Functions of stubs and of consumers: JavaScript in a separate realm and thread, so that they delay neither a stub's timing nor a load
//! worker.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use loadstone_metrics::clock::{Clock, Monotonic};
use loadstone_metrics::{FlowEvent, FlowKey};
use loadstone_stub::{Call, Reply, SeededRandom};
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Function, Object, Promise, Value};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::Receiver;

use super::declared;
use super::kinds::KINDS;
use crate::error::ScriptError;
use crate::extract::cache::Compiled;
use crate::globals::console::ConsoleLevel;
use crate::inbound::{ConsumerNews, StubEndpoint};
use crate::loaded::Loaded;
use crate::natives;
use crate::realm::{Realm, caught};
use crate::runtime::capability::Natives;
use crate::runtime::object::UserObject;
use crate::sinks::{ConsoleLine, StubConsole};
use crate::user::{self, flows, metrics as own_metrics};

/// Maximum number of jobs of one call.
const JOBS_MAX: usize = 10_000;
/// Calls handled before their flow events are sent on.
const BATCH_MAX: usize = 256;
/// Maximum number of distinct errors shown. A function whose error messages vary must not flood the console.
const ERRORS_MAX: usize = 100;
/// Maximum number of flow events that wait to be taken.
const EVENTS_MAX: usize = 1_000_000;

/// The calls and messages for the functions.
pub(super) struct HandlerWork {
    pub(super) calls: Receiver<Call>,
    /// `None`: the test has no consumers.
    pub(super) messages: Option<Receiver<ConsumerNews>>,
    /// By consumer: the messages that its function has received.
    pub(super) consumed: Arc<[AtomicU64]>,
}

/// A single call or message.
enum HandlerTask {
    Call(Call),
    Message(ConsumerNews),
}

impl HandlerWork {
    /// `None`: nothing more can arrive.
    async fn next(&mut self) -> Option<HandlerTask> {
        let Some(messages) = &mut self.messages else { return self.calls.recv().await.map(HandlerTask::Call) };
        let either = tokio::select! {
            call = self.calls.recv() => call.map(HandlerTask::Call),
            message = messages.recv() => message.map(HandlerTask::Message),
        };
        // One of the channels has ended.
        match either {
            Some(task) => Some(task),
            None if self.calls.is_closed() && self.calls.is_empty() => messages.recv().await.map(HandlerTask::Message),
            None => self.calls.recv().await.map(HandlerTask::Call),
        }
    }

    /// A call or message that is already there.
    fn ready(&mut self) -> Option<HandlerTask> {
        let message = || self.messages.as_mut()?.try_recv().ok().map(HandlerTask::Message);
        self.calls.try_recv().ok().map(HandlerTask::Call).or_else(message)
    }
}

/// Opens the realm on a new thread and serves until nothing more can arrive.
pub(super) fn start(
    loaded: &Arc<Loaded>,
    work: HandlerWork,
    batches: SyncSender<Vec<FlowEvent>>,
    origin_ns: Arc<AtomicU64>,
    console: StubConsole,
) -> Result<JoinHandle<()>, ScriptError> {
    let loaded = Arc::clone(loaded);
    let (report, opened) = sync_channel(1);
    let thread = std::thread::Builder::new().name("stub-functions".to_owned());
    let thread = thread.spawn(move || match Handlers::open(&loaded, origin_ns, console) {
        Ok(handlers) => {
            let _ = report.send(Ok(()));
            handlers.serve(work, &batches);
        }
        Err(error) => drop(report.send(Err(error))),
    });
    let thread = thread.map_err(|error| ScriptError::new(format!("the thread for the functions of stubs did not start: {error}")))?;
    opened.recv().unwrap_or_else(|_| Err(ScriptError::new("the functions of stubs could not be loaded")))?;
    Ok(thread)
}

/// State that the realm's native functions share with the thread.
struct HandlerState {
    /// When the current request arrived. CLOCK_MONOTONIC.
    arrived_ns: Cell<u64>,
    /// A function is running. False at the top level of the file.
    is_handling: Cell<bool>,
    origin_ns: Arc<AtomicU64>,
    events: RefCell<Vec<FlowEvent>>,
    /// Some events were lost for lack of room.
    lost: Cell<bool>,
}

struct Handlers {
    realm: Realm,
    loaded: Arc<Loaded>,
    state: Rc<HandlerState>,
    console: Rc<StubConsole>,
    compiled: Rc<RefCell<Compiled>>,
    /// By stub.
    endpoints: Vec<Vec<Box<dyn StubEndpoint>>>,
    random: RefCell<SeededRandom>,
    shown: RefCell<HashSet<String>>,
    clock: Clock,
    /// Waits for two channels at once. It drives nothing else.
    runtime: Runtime,
}

impl Handlers {
    fn open(loaded: &Arc<Loaded>, origin_ns: Arc<AtomicU64>, console: StubConsole) -> Result<Self, ScriptError> {
        let state = Rc::new(HandlerState {
            arrived_ns: Cell::new(0),
            is_handling: Cell::new(false),
            origin_ns,
            events: RefCell::default(),
            lost: Cell::new(false),
        });
        let console = Rc::new(console);
        let sink = Rc::clone(&console);
        let print = move |level: ConsoleLevel, text: &str| sink(&console_line(level, text));
        let for_flows = Rc::clone(&state);
        let (realm, scope, ()) = Realm::new(Rc::new(loaded.world()), Rc::new(print), |ctx, native| {
            user::install(ctx, native)?;
            let natives = Natives { native: native.clone(), users: UserObject::prototype(ctx)? };
            for kind in KINDS {
                (kind.prototype)(ctx)?.map(|prototype| natives.extractable(prototype)).transpose()?;
            }
            natives::install(ctx, native, &loaded.inputs, &loaded.plan.secrets)?;
            declared::install_for_running(ctx, native, &loaded.stubs, &loaded.plan)?;
            let record = move |ctx: Ctx<'_>, flow: u32, step: i32, key: String| for_flows.record(&ctx, flow, step, &key);
            let outside = |ctx: Ctx<'_>| -> rquickjs::Result<()> { Err(own_metrics::outside(&ctx)) };
            native.set("metric", Function::new(ctx.clone(), outside)?)?;
            native.set("flow", Function::new(ctx.clone(), record)?)
        })?;
        realm.evaluate(|_, _| Ok(()))?;
        scope.seal();
        declared::seal(&realm).map_err(|error| ScriptError::new(error.to_string()))?;
        Ok(Self {
            realm,
            loaded: Arc::clone(loaded),
            state,
            console,
            compiled: Rc::default(),
            endpoints: loaded.stubs.iter().map(|stub| stub.protocol.endpoints()).collect(),
            random: RefCell::new(SeededRandom::from_seed(loaded.plan.options.seed)),
            shown: RefCell::default(),
            clock: Clock::real(Monotonic::start()),
            runtime: Builder::new_current_thread().build().map_err(|error| ScriptError::new(error.to_string()))?,
        })
    }

    fn serve(&self, mut work: HandlerWork, batches: &SyncSender<Vec<FlowEvent>>) {
        while let Some(task) = self.runtime.block_on(work.next()) {
            self.perform(task, &work.consumed);
            for _ in 1..BATCH_MAX {
                match work.ready() {
                    Some(task) => self.perform(task, &work.consumed),
                    None => break,
                }
            }
            self.state.send(batches);
            if self.state.lost.take() {
                let text = format!("more than {EVENTS_MAX} events of journeys waited to be counted; the rest are lost");
                self.complain(&ScriptError::new(text));
            }
            // The duration does not matter: no user waits for this realm.
            let _ = self.realm.collect_if_due(&self.clock);
        }
        // Nothing waits for this thread any more, and the reader of the events joins it first: events without room are lost now.
        self.state.send(batches);
    }

    fn perform(&self, task: HandlerTask, consumed: &[AtomicU64]) {
        match task {
            HandlerTask::Call(call) => self.handle(call),
            HandlerTask::Message(news) => self.take(news, consumed),
        }
    }

    /// Calls the function of a consumer with a message.
    fn take(&self, news: ConsumerNews, consumed: &[AtomicU64]) {
        let ConsumerNews { consumer, received, at_ns } = news;
        let message = match received {
            Ok(message) => message,
            Err(problem) => return self.complain(&ScriptError::new(problem)),
        };
        let source = self.loaded.consumers.get(consumer).map_or("?", |declared| declared.consumer.source());
        if let Some(count) = consumed.get(consumer) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.state.arrived_ns.set(at_ns);
        self.state.is_handling.set(true);
        let program = &self.loaded.program;
        let taken = self.realm.enter(|ctx| {
            let call = || -> rquickjs::Result<Value<'_>> {
                let native: Object<'_> = ctx.globals().get("__loadstone")?;
                let consume: Function<'_> = native.get("consume")?;
                consume.call((consumer, message.into_object(ctx, &self.compiled)?))
            };
            let returned = call().map_err(|error| caught(ctx, program, error))?;
            self.settled(ctx, returned, || format!("the consumer of \"{source}\""), "functions of consumers return at once").map(drop)
        });
        self.state.is_handling.set(false);
        if let Err(error) = taken {
            self.complain(&error);
        }
    }

    /// The result of a function, or of its promise.
    fn settled<'js>(
        &self,
        ctx: &Ctx<'js>,
        returned: Value<'js>,
        what: impl Fn() -> String,
        remedy: &str,
    ) -> Result<Value<'js>, ScriptError> {
        let program = &self.loaded.program;
        self.realm.run_jobs(ctx, JOBS_MAX)?;
        let Ok(promise) = Promise::from_value(returned.clone()) else { return Ok(returned) };
        match promise.state() {
            PromiseState::Resolved => promise.result::<Value<'_>>().unwrap_or(Ok(returned)).map_err(|error| caught(ctx, program, error)),
            PromiseState::Rejected => {
                let Some(Err(error)) = promise.result::<Value<'_>>() else { return Err(ScriptError::new("it was rejected")) };
                let error = caught(ctx, program, error);
                // It is reported here, not again as an unhandled rejection.
                let _ = self.realm.take_unhandled(ctx);
                Err(error)
            }
            PromiseState::Pending => Err(ScriptError::new(format!("{} awaits a promise that never settles", what())).help(remedy)),
        }
    }

    fn handle(&self, call: Call) {
        let Call { server, route, request, answer } = call;
        self.state.arrived_ns.set(request.arrived_ns);
        self.state.is_handling.set(true);
        let reply = self.reply(server, route, request);
        self.state.is_handling.set(false);
        let reply = reply.unwrap_or_else(|error| {
            self.complain(&error);
            let text = format!("the function of this endpoint failed: {}\n", error.message);
            Reply { status: Some(500), body: Some(text.into()), ..Reply::default() }
        });
        // The client may have left.
        let _ = answer.send(reply);
    }

    fn reply(&self, server: usize, route: usize, request: loadstone_stub::StubRequest) -> Result<Reply, ScriptError> {
        let program = &self.loaded.program;
        let Some(endpoint) = self.endpoints.get(server).and_then(|endpoints| endpoints.get(route)) else { return Ok(Reply::default()) };
        self.realm.enter(|ctx| {
            let call = || -> rquickjs::Result<Value<'_>> {
                let native: Object<'_> = ctx.globals().get("__loadstone")?;
                let handle: Function<'_> = native.get("handle")?;
                handle.call((server, route, endpoint.received(ctx, request, &self.compiled)?))
            };
            let returned = call().map_err(|error| caught(ctx, program, error))?;
            let what = || format!("the function of \"{}\"", endpoint.name());
            let value = self.settled(ctx, returned, what, "functions of stubs answer at once; set the `delay` of the answer")?;
            endpoint.read(ctx, &value, &mut || self.random.borrow_mut().next_u64()).map_err(|error| caught(ctx, program, error))
        })
    }

    /// Reports each error once.
    fn complain(&self, error: &ScriptError) {
        let mut shown = self.shown.borrow_mut();
        let text = error.render();
        if shown.len() < ERRORS_MAX && shown.insert(text.clone()) {
            (self.console)(&console_line(ConsoleLevel::Error, &text));
        }
    }
}

fn console_line(level: ConsoleLevel, text: &str) -> ConsoleLine {
    ConsoleLine { level, text: text.to_owned(), user: None }
}

impl HandlerState {
    /// The event happened when the request arrived, not when its function runs.
    fn record(&self, ctx: &Ctx<'_>, flow: u32, step: i32, key: &str) -> rquickjs::Result<()> {
        if !self.is_handling.get() {
            return Err(flows::outside(ctx));
        }
        let origin_ns = self.origin_ns.load(Ordering::Acquire);
        let mut events = self.events.borrow_mut();
        if origin_ns > 0 && events.len() < EVENTS_MAX {
            let at = self.arrived_ns.get().saturating_sub(origin_ns);
            events.push(FlowEvent { flow, key: FlowKey::of(key), step: flows::step(step), at });
        } else if origin_ns > 0 {
            self.lost.set(true);
        }
        Ok(())
    }

    /// Never waits: events without room are sent with the next batch.
    fn send(&self, batches: &SyncSender<Vec<FlowEvent>>) {
        let mut events = self.events.borrow_mut();
        if events.is_empty() {
            return;
        }
        match batches.try_send(std::mem::take(&mut *events)) {
            Ok(()) => {}
            Err(TrySendError::Full(kept) | TrySendError::Disconnected(kept)) => *events = kept,
        }
    }
}
