//! One VU: a coroutine with a realm, which runs iterations.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use loadstone_engine::{Iteration, IterationEnd, VirtualUser};
use loadstone_metrics::{ErrorText, Outcome, SeriesKind};
use loadstone_protocol::http::{BodyUse, Client, ClientOptions, HttpSession, SessionOptions};
use loadstone_script::{ScriptError, caught_error};
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Exception, Function, Object, Promise, Undefined, Value};

use crate::coroutine::{Coroutine, Resume, Suspension};
use crate::ended_run::SummaryFile;
use crate::load::REQUEST_TIMEOUT_NS;
use crate::natives::bytes_of;
use crate::never_begun::record_never_begun;
use crate::realm::{JS_STACK_BYTES, K6Realm, run_job};
use crate::realm_inputs::RealmInputs;
use crate::script_part::ScriptPart;
use crate::turn::{VuHandle, VuState, VuSuspender, Work};
use crate::worker::Worker;

/// Jobs of an aborted iteration that are run, without effect, before the next iteration.
const ABORTED_JOBS_MAX: usize = 100_000;
/// Iterations of a VU between collections of its garbage. QuickJS counts references, so only cycles are left.
const ITERATIONS_PER_COLLECTION: u64 = 1_000;
/// Sent by scripts that set no user agent.
const USER_AGENT: &str = concat!("loadstone/", env!("CARGO_PKG_VERSION"));
/// After this many failed iterations in a row, a VU waits after each of them: a loop that only fails would take all CPU time of its worker.
const FAILED_IN_ROW_MAX: u32 = 100;
const WAIT_AFTER_FAILURE_NS: u64 = 100_000_000;
/// Connections to one host, if the script sets no limit.
const CONNECTIONS_MAX: usize = 1_000;

/// One VU of a script.
pub struct K6User {
    coroutine: Coroutine<Work, IterationEnd>,
    worker: Rc<Worker>,
    id: u64,
    /// An arrival found no free VU, so this one was added. It has not begun that iteration.
    pub(crate) added_by_arrival: bool,
}

impl std::fmt::Debug for K6User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("K6User").field("id", &self.id).finish_non_exhaustive()
    }
}

impl K6User {
    /// Evaluates the script in a runtime of this VU.
    pub(crate) fn new(worker: &Rc<Worker>, id: u64) -> Result<Self, ScriptError> {
        let problem = Rc::new(RefCell::new(None));
        let (of_worker, reported) = (Rc::clone(worker), Rc::clone(&problem));
        let coroutine = Coroutine::new(move |suspender| {
            if let Err(error) = body(of_worker, id, suspender) {
                *reported.borrow_mut() = Some(error);
            }
        });
        let mut coroutine = coroutine.map_err(|error| {
            ScriptError::new(format!("cannot map the stack of VU {id}: {error}"))
                .help("use fewer VUs, or raise vm.max_map_count: a VU needs two mappings")
        })?;
        match coroutine.resume(Resume::Poll, None) {
            Some(Suspension::Idle(_)) => Ok(Self { coroutine, worker: Rc::clone(worker), id, added_by_arrival: false }),
            _ => Err(problem.take().unwrap_or_else(|| ScriptError::new(format!("VU {id} could not be initialised")))),
        }
    }
}

/// The code of a coroutine. The realm is dropped here, on the coroutine.
fn body(worker: Rc<Worker>, id: u64, suspender: VuSuspender) -> Result<(), ScriptError> {
    let test = Rc::clone(&worker).test.clone();
    let console = worker.sinks.console.clone();
    let session = session(&worker);
    let vu = Rc::new(VuState::new(worker, id, session, suspender));
    let world = RealmInputs::of_vu(&test, id, console.unwrap_or_else(|| Rc::new(|_| {})));
    let realm = K6Realm::open(world, Some(VuHandle(Rc::clone(&vu))), JS_STACK_BYTES)?;
    // Evaluating the script needs more of the stack than an iteration does.
    vu.suspender().release_unused_stack();
    let mut resume = vu.suspender().idle(IterationEnd::Ended(Outcome::Passed));
    let mut iterations = 0u64;
    while let Resume::Begin(work) = resume {
        let (part, found_no_vu) = (work.part, work.found_no_vu);
        vu.begin(work);
        if found_no_vu {
            record_drop(&vu);
        }
        let end = realm.enter(|ctx, exports| VuIteration { ctx, exports, vu: &vu, realm: &realm, part }.run());
        vu.end(matches!(end, IterationEnd::Ended(Outcome::Interrupted)));
        iterations += 1;
        if iterations.is_multiple_of(ITERATIONS_PER_COLLECTION) {
            realm.collect();
        }
        resume = vu.suspender().idle(end);
    }
    Ok(())
}

/// Counts an arrival that k6 would have dropped.
fn record_drop(vu: &VuState) {
    let tag = vu.tag_of(&[], &[]);
    let mut recorder = vu.worker.recorder_at_end();
    vu.worker.record_own(&mut recorder, "dropped_iterations", 1.0, &tag);
}

fn session(worker: &Worker) -> HttpSession {
    let settings = &worker.test.settings;
    let options = ClientOptions {
        keep_alive: settings.reuses_connections,
        connections_max: if settings.batch_per_host == 0 { CONNECTIONS_MAX } else { settings.batch_per_host },
        ..ClientOptions::default()
    };
    let client = Client::new(Rc::clone(&worker.network), options);
    let agent = settings.user_agent.clone().unwrap_or_else(|| USER_AGENT.to_owned());
    // An empty Accept-Encoding declines the one that Loadstone adds: k6 sends none.
    let headers = vec![("User-Agent".to_owned(), agent), ("Accept-Encoding".to_owned(), String::new())];
    let options = SessionOptions {
        cookies: true,
        headers: headers.into_iter().filter(|(name, value)| name != "User-Agent" || !value.is_empty()).collect(),
        timeout_ns: REQUEST_TIMEOUT_NS,
        body_use: BodyUse::Keep,
        body_bytes_max: worker.test.plan.options.body_bytes_max,
        redirect_hosts: worker.test.network.allowed_hosts.clone(),
        returns_excess_redirect: true,
        sends_referer: true,
    };
    HttpSession::new(client, options)
}

/// An iteration, or one call of `setup` or `teardown`.
struct VuIteration<'a, 'js> {
    ctx: &'a Ctx<'js>,
    exports: Object<'js>,
    vu: &'a Rc<VuState>,
    realm: &'a K6Realm,
    part: ScriptPart,
}

impl<'js> VuIteration<'_, 'js> {
    fn run(self) -> IterationEnd {
        let (began, load_end) = (self.vu.worker.clock.now(), self.vu.load_end());
        let result = self.call().and_then(|returned| self.settled(returned));
        if self.vu.is_interrupted() {
            self.drain();
            record_never_begun(self.vu, load_end);
            // A set-up that called `exec.test.abort()`: no load follows.
            let is_set_up = self.part == ScriptPart::SetUp;
            return if is_set_up { IterationEnd::Threw(Outcome::Script) } else { IterationEnd::Ended(Outcome::Interrupted) };
        }
        let end = match result.and_then(|returned| self.conclude(returned)) {
            Ok(()) => IterationEnd::Ended(Outcome::Passed),
            Err(error) => {
                if self.part == ScriptPart::TearDown {
                    self.vu.worker.test.shared.tear_down_threw.store(true, Ordering::Relaxed);
                }
                self.report(&caught_error(self.ctx, &self.realm.world.program, error));
                self.drain();
                IterationEnd::Threw(Outcome::Script)
            }
        };
        if let ScriptPart::Scenario(_) = self.part {
            self.measure(began);
            let until = (began + self.vu.worker.test.settings.min_iteration_ns).max(self.back_off(end));
            if until > self.vu.worker.clock.now() {
                // An interruption here only ends the wait.
                let _ = self.vu.wait_idle(self.vu.worker.clock.sleep_until(until));
            }
            record_never_begun(self.vu, load_end);
        }
        end
    }

    /// Until when a VU waits that only fails: at once, or without a response to any request.
    fn back_off(&self, end: IterationEnd) -> u64 {
        let failed = self.vu.count_failed(matches!(end, IterationEnd::Threw(_)));
        if failed == FAILED_IN_ROW_MAX {
            let note = format!(
                "VU {} has failed {FAILED_IN_ROW_MAX} iterations in a row: from now on, it waits {} ms after each",
                self.vu.id,
                WAIT_AFTER_FAILURE_NS / 1_000_000
            );
            (self.realm.world.console)(&note);
        }
        if failed >= FAILED_IN_ROW_MAX { self.vu.worker.clock.now() + WAIT_AFTER_FAILURE_NS } else { 0 }
    }

    fn measure(&self, began: u64) {
        let worker = &self.vu.worker;
        let ms = (worker.clock.now() - began) as f64 / 1e6;
        let tag = self.vu.tag_of(&[], &[]);
        let mut recorder = worker.recorder_at_end();
        worker.record_own(&mut recorder, "iterations", 1.0, &tag);
        worker.record_own(&mut recorder, "iteration_duration", ms, &tag);
    }

    /// Calls the function of this part.
    fn call(&self) -> rquickjs::Result<Value<'js>> {
        let native: Object<'js> = self.ctx.globals().get("__k6")?;
        let begin: Function<'js> = native.get("begin")?;
        let (name, env) = match self.part {
            ScriptPart::SetUp => ("setup", None),
            ScriptPart::TearDown => ("teardown", None),
            ScriptPart::Summary => ("handleSummary", None),
            ScriptPart::Scenario(index) => {
                let scenario = &self.vu.worker.test.scenarios[index];
                (scenario.exec.as_str(), (!scenario.env.is_empty()).then(|| serde_json::to_string(&scenario.env).unwrap_or_default()))
            }
        };
        let number = self.vu.iteration_number();
        let takes_data = matches!(self.part, ScriptPart::TearDown | ScriptPart::Scenario(_));
        let data: Value<'js> = begin.call((number as f64, env, takes_data))?;
        let exported: Value<'js> = self.exports.get(name)?;
        // A CommonJS script exports its functions on one object.
        let function = match exported.as_function() {
            Some(function) => function.clone(),
            None => {
                let default: Object<'js> = self.exports.get("default")?;
                default.get(name)?
            }
        };
        match self.part {
            ScriptPart::SetUp => return function.call(()),
            ScriptPart::Summary => {
                let data = self.vu.worker.test.shared.summary_data.lock().map(|data| data.clone()).unwrap_or_default();
                let data = self.ctx.json_parse(data)?;
                // As in k6, it exists without a set-up, too. JSON has no `undefined`.
                if let Some(data) = data.as_object()
                    && !data.contains_key("setup_data")?
                {
                    data.set("setup_data", Undefined)?;
                }
                return function.call((data,));
            }
            ScriptPart::TearDown | ScriptPart::Scenario(_) => {}
        }
        function.call((data,))
    }

    /// Runs jobs, timers and asynchronous requests until none is left. Returns the value of the returned promise.
    fn settled(&self, returned: Value<'js>) -> rquickjs::Result<Value<'js>> {
        let promise = Promise::from_value(returned.clone()).ok();
        loop {
            loop {
                match run_job(self.ctx) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(thrown) => return Err(self.ctx.throw(thrown)),
                }
            }
            if promise.as_ref().is_some_and(|promise| promise.state() == PromiseState::Rejected) {
                break;
            }
            if self.vu.operations().is_empty() {
                break;
            }
            let Ok((number, settlement)) = self.vu.wait_idle(self.vu.operations().next()) else { break };
            let native: Object<'js> = self.ctx.globals().get("__k6")?;
            let complete: Function<'js> = native.get("complete")?;
            let value = settlement(self.ctx)?;
            complete.call::<_, ()>((number, value))?;
        }
        match promise {
            None => Ok(returned),
            Some(promise) => match promise.result::<Value<'js>>() {
                Some(result) => result,
                None if self.vu.is_interrupted() => Ok(returned),
                None => Err(Exception::throw_message(self.ctx, "the promise that the function returned never settles")),
            },
        }
    }

    /// Stores the result of `setup` and of `handleSummary`.
    fn conclude(&self, returned: Value<'js>) -> rquickjs::Result<()> {
        if self.part == ScriptPart::Summary {
            let files = summary_files(self.ctx, &returned)?;
            if let Ok(mut stored) = self.vu.worker.test.shared.summary_files.lock() {
                *stored = Some(files);
            }
        }
        if self.part == ScriptPart::SetUp {
            let json = self.ctx.json_stringify(returned)?.map(|text| text.to_string()).transpose()?;
            let json = json.unwrap_or_default();
            if let Some(notify) = &self.vu.worker.sinks.set_up {
                notify(&json);
            }
            self.vu.worker.test.keep_set_up(json);
        }
        Ok(())
    }

    /// Nothing of an iteration that was cut off may run in the next one: jobs end at once, because every native function fails.
    fn drain(&self) {
        self.vu.set_interrupted(true);
        self.vu.operations().clear();
        for _ in 0..ABORTED_JOBS_MAX {
            match run_job(self.ctx) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_thrown) => {}
            }
        }
        self.ctx.catch();
        self.vu.operations().clear();
    }

    /// Lists an error of the script, and prints it, as k6 does.
    fn report(&self, error: &ScriptError) {
        let worker = &self.vu.worker;
        let place = error.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
        let message = format!("{}{place}", error.message);
        let mut recorder = worker.recorder_at_end();
        if let ScriptPart::Scenario(index) = self.part {
            let id = loadstone_plan::ScenarioId(index as u32);
            let name = worker.test.scenario_name(id).to_owned();
            let series = worker.series(&mut recorder, SeriesKind::Iteration, id, &"".into(), &name);
            let text = ErrorText { message: &message, cause: error.cause };
            recorder.error(series, Outcome::Script, worker.clock.now(), text);
        }
        drop(recorder);
        (self.realm.world.console)(&error.render());
    }
}

/// The files that `handleSummary` returned.
fn summary_files<'js>(ctx: &Ctx<'js>, returned: &Value<'js>) -> rquickjs::Result<Vec<SummaryFile>> {
    if returned.is_undefined() || returned.is_null() {
        return Ok(Vec::new());
    }
    let wrong = |what: &str| Exception::throw_type(ctx, what);
    let object = returned.as_object().ok_or_else(|| wrong("handleSummary must return an object: { \"FILE\": \"CONTENT\" }"))?;
    let file = |property: rquickjs::Result<(String, Value<'js>)>| {
        let (destination, value) = property?;
        let content = bytes_of(ctx, &value);
        let content = content.map_err(|_| wrong(&format!("handleSummary: \"{destination}\" is neither a string nor an ArrayBuffer")))?;
        Ok(SummaryFile { destination, content })
    };
    object.props::<String, Value<'js>>().map(file).collect()
}

impl VirtualUser for K6User {
    fn iterate(&mut self, iteration: Iteration) -> impl Future<Output = IterationEnd> {
        let part = self.worker.test.part(iteration.arrival.scenario);
        let found_no_vu = std::mem::take(&mut self.added_by_arrival) || iteration.waited_for_user;
        IterationFuture { user: self, part, work: Some(Work { iteration, part, found_no_vu }), runs: false }
    }
}

/// A running iteration. Dropping it interrupts the iteration.
struct IterationFuture<'u> {
    user: &'u mut K6User,
    part: ScriptPart,
    /// Until it begins.
    work: Option<Work>,
    runs: bool,
}

impl Future for IterationFuture<'_> {
    type Output = IterationEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<IterationEnd> {
        let is_load = matches!(self.part, ScriptPart::Scenario(_));
        if is_load && !self.runs && self.user.worker.test.shared.aborted.load(Ordering::Relaxed) {
            // The end of the run, which was asked for, drops this future.
            return Poll::Pending;
        }
        let resume = self.work.take().map_or(Resume::Poll, Resume::Begin);
        self.runs = true;
        match self.user.coroutine.resume(resume, Some(context.waker())) {
            Some(Suspension::Waiting) => Poll::Pending,
            Some(Suspension::Idle(end)) => {
                self.runs = false;
                Poll::Ready(end)
            }
            None => {
                self.runs = false;
                Poll::Ready(IterationEnd::Threw(Outcome::Script))
            }
        }
    }
}

impl Drop for IterationFuture<'_> {
    fn drop(&mut self) {
        if self.runs {
            let shared = &self.user.worker.test.shared;
            match self.part {
                ScriptPart::SetUp => shared.set_up_cut_off.store(true, Ordering::Relaxed),
                ScriptPart::TearDown => shared.tear_down_cut_off.store(true, Ordering::Relaxed),
                ScriptPart::Scenario(_) | ScriptPart::Summary => {}
            }
            self.user.coroutine.abort();
        }
    }
}
