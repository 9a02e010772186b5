//! An agent's thread, between the bus and the workers of the assigned test.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use loadstone_engine::{AgentCommand, AgentCommands, AgentReport};
use loadstone_metrics::Nanos;

use crate::agent::{Agent, AgentTask};
use crate::bus::{BusError, exchange};
use crate::facts::AgentFacts;
use crate::keys::{FleetKey, PublicFleetKey};
use crate::lead::now;
use crate::message::Assignment;
use crate::nats::{NatsBus, NatsServer, Nudge};
use crate::numbers::{HeldNumbers, LocalNumbers, NumberRequest, NumberSource, TakenNumber};
use crate::signed_bus::{AgentGuard, SignedBus};

const TURN_WAIT_MAX: Duration = Duration::from_millis(50);
/// Limit on a worker's wait for an answer. By then, an agent without a controller has stopped.
const ANSWER_WAIT: Duration = Duration::from_secs(15);
/// Limit on the time in which an agent that ends sends what it has. Kubernetes kills it 10 s after the request to end.
const BYE_MAX_NS: Nanos = 5_000_000_000;
/// How long a starting agent waits for a server, and how often it tries. Servers and agents are started together.
const SERVER_WAIT_NS: Nanos = 60_000_000_000;
const SERVER_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Runs a test on an agent. It is called on a separate thread for each run, and returns when the run is over.
pub type RunTest = dyn Fn(Assignment, AgentLink) + Send + Sync;

/// A run's connection to its controller.
#[derive(Clone)]
pub struct AgentLink {
    inputs: SyncSender<LocalInput>,
    nudge: Nudge,
    numbers: Arc<Mutex<BTreeMap<NumberSource, Arc<NumberPool>>>>,
    questions: Arc<AtomicU64>,
}

/// Numbers that several agents share, on one of them. Each call of [`Self::take`] returns a different number.
pub struct AgentNumbers {
    pool: Arc<NumberPool>,
    link: AgentLink,
    is_endless: bool,
}

struct NumberPool {
    here: Mutex<LocalNumbers>,
    came: Condvar,
    /// Number of workers that wait.
    waiting: AtomicU64,
}

impl NumberPool {
    fn with<T>(&self, change: impl FnOnce(&mut LocalNumbers) -> T) -> T {
        // No code panics while it holds this lock.
        let changed = change(&mut self.here.lock().unwrap_or_else(PoisonError::into_inner));
        self.came.notify_all();
        changed
    }
}

impl AgentNumbers {
    /// The next number. Waits for the controller if there is none here. `None`: there are no more, or the controller can no longer be asked.
    pub fn take(&self) -> Option<u64> {
        self.wait_for(LocalNumbers::take)
    }

    fn wait_for(&self, mut find: impl FnMut(&mut LocalNumbers) -> (TakenNumber, Option<NumberRequest>)) -> Option<u64> {
        let pool = &self.pool;
        let mut here = pool.here.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (taken, request) = find(&mut here);
            if let Some(request) = request {
                drop(here);
                self.link.send(LocalInput::Numbers(request));
                here = pool.here.lock().unwrap_or_else(PoisonError::into_inner);
            }
            match taken {
                TakenNumber::Number(number) => return Some(number),
                TakenNumber::None => return None,
                // The answer may have arrived between the request and here.
                TakenNumber::Wait if here.has_some() => {}
                TakenNumber::Wait => {
                    pool.waiting.fetch_add(1, Ordering::Relaxed);
                    let (woken, late) = pool.came.wait_timeout(here, ANSWER_WAIT).unwrap_or_else(PoisonError::into_inner);
                    pool.waiting.fetch_sub(1, Ordering::Relaxed);
                    here = woken;
                    if late.timed_out() {
                        return None;
                    }
                }
            }
        }
    }

    /// Numbers that may still be taken, without those that other agents hold. Greater than zero as long as one can be taken. `None`: unlimited.
    pub fn remaining(&self) -> Option<u64> {
        if self.is_endless {
            return None;
        }
        let _: Option<u64> = self.wait_for(LocalNumbers::look);
        self.pool.here.lock().unwrap_or_else(PoisonError::into_inner).remaining()
    }
}

/// Handlers of messages from the test's host.
pub struct HostListeners {
    /// Receives the value that the set-up returned on another agent, as JSON.
    pub on_set_up: Box<dyn Fn(String) + Send>,
    pub on_host_message: Box<dyn Fn(String) + Send>,
}

enum LocalInput {
    Attach { commands: AgentCommands, listeners: HostListeners },
    Report(AgentReport),
    Line(String),
    SetUp(String),
    Numbers(NumberRequest),
    Ask { id: u64, text: String, reply: SyncSender<String> },
    HostMessage(String),
    Ended,
}

impl AgentLink {
    /// Sets the receiver of the controller's commands, and the handlers of the host's messages.
    pub fn attach(&self, commands: AgentCommands, listeners: HostListeners) {
        self.send(LocalInput::Attach { commands, listeners });
    }

    pub fn report(&self, report: AgentReport) {
        self.send(LocalInput::Report(report));
    }

    pub fn line(&self, text: String) {
        self.send(LocalInput::Line(text));
    }

    pub fn set_up(&self, json: String) {
        self.send(LocalInput::SetUp(json));
    }

    /// Numbers that all agents share. `end`: how many there are. `None`: unlimited.
    pub fn numbers(&self, source: NumberSource, end: Option<u64>) -> AgentNumbers {
        let new = || NumberPool { here: Mutex::new(LocalNumbers::new(source, end)), came: Condvar::new(), waiting: AtomicU64::new(0) };
        let mut pools = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = Arc::clone(pools.entry(source).or_insert_with(|| Arc::new(new())));
        AgentNumbers { pool, link: self.clone(), is_endless: end.is_none() }
    }

    /// Asks the test's host, and waits for its answer. `None`: there was no answer.
    pub fn ask(&self, text: String) -> Option<String> {
        let (reply, answer) = sync_channel(1);
        let id = self.questions.fetch_add(1, Ordering::Relaxed);
        self.send(LocalInput::Ask { id, text, reply });
        answer.recv_timeout(ANSWER_WAIT).ok()
    }

    /// Sends a message to the test's host.
    pub fn send_to_host(&self, text: String) {
        self.send(LocalInput::HostMessage(text));
    }

    fn pools(&self) -> Vec<Arc<NumberPool>> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn pool(&self, source: NumberSource) -> Option<Arc<NumberPool>> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).get(&source).cloned()
    }

    fn send(&self, input: LocalInput) {
        // The agent's thread outlives its runs.
        let _ = self.inputs.send(input);
        self.nudge.nudge();
    }
}

/// Lets other threads request the end of an agent.
#[derive(Debug, Clone, Default)]
pub struct EndRequest(Arc<AtomicBool>);

impl EndRequest {
    pub fn ask(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_asked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Joins the fleet at a server and serves one run after another, until it is asked to end. `controllers`: the keys of
/// the controllers that may lead it. Empty: every controller. `show` receives messages for the user.
///
/// # Errors
/// [`BusError`]: the server refuses, or did not respond for a minute. After the first connection, the agent waits for an absent server.
pub fn serve(
    server: &NatsServer,
    controllers: Vec<PublicFleetKey>,
    id: String,
    facts: AgentFacts,
    run_test: Arc<RunTest>,
    end: &EndRequest,
    show: &dyn Fn(&str),
) -> Result<(), BusError> {
    let agent = Agent::new(id, facts);
    let Some(bus) = connect_when_there(server, &agent, end, show)? else { return Ok(()) };
    let (sender, inputs) = sync_channel(1024);
    let link = AgentLink { inputs: sender, nudge: bus.nudge(), numbers: Arc::default(), questions: Arc::default() };
    show("waiting for a run");
    let key = FleetKey::generate().map_err(std::io::Error::other)?;
    let bus = SignedBus::new(bus, key, AgentGuard::new(controllers), now);
    Serving { agent, bus, inputs, link, job: None, run_test, show }.run(end);
    Ok(())
}

/// `None`: the agent was asked to end in the meantime.
fn connect_when_there(server: &NatsServer, agent: &Agent, end: &EndRequest, show: &dyn Fn(&str)) -> Result<Option<NatsBus>, BusError> {
    let (deadline, mut is_reported) = (now() + SERVER_WAIT_NS, false);
    loop {
        match NatsBus::connect(server, vec![agent.subject()]) {
            Err(BusError::Absent { problem, .. }) if now() < deadline => {
                if !std::mem::replace(&mut is_reported, true) {
                    let seconds = SERVER_WAIT_NS / 1_000_000_000;
                    show(&format!("no NATS server at {} yet ({problem}): waiting up to {seconds} s for it", server.shown()));
                }
                std::thread::sleep(SERVER_RETRY_INTERVAL);
            }
            other => return other.map(Some),
        }
        if end.is_asked() {
            return Ok(None);
        }
    }
}

struct Serving<'a> {
    agent: Agent,
    bus: SignedBus<NatsBus, AgentGuard>,
    inputs: Receiver<LocalInput>,
    link: AgentLink,
    job: Option<Job>,
    run_test: Arc<RunTest>,
    show: &'a dyn Fn(&str),
}

/// A run on this agent.
#[derive(Default)]
struct Job {
    commands: Option<AgentCommands>,
    listeners: Option<HostListeners>,
    /// Commands that arrived before the workers existed.
    early: Vec<AgentCommand>,
    asking: HashMap<u64, SyncSender<String>>,
}

impl Job {
    fn command(&mut self, command: AgentCommand) {
        match &self.commands {
            Some(commands) => commands.send(command),
            None => self.early.push(command),
        }
    }
}

impl Serving<'_> {
    fn run(mut self, end: &EndRequest) {
        let mut deadline = None;
        loop {
            // What a run reported before it asked to end must be sent.
            let is_end_asked = end.is_asked();
            while let Ok(input) = self.inputs.try_recv() {
                self.input(input);
            }
            if is_end_asked && deadline.is_none() {
                deadline = Some(now() + BYE_MAX_NS);
                self.depart();
            }
            if deadline.is_some_and(|deadline| self.agent.has_departed() || now() > deadline) {
                return;
            }
            exchange(&mut self.agent, &mut self.bus, TURN_WAIT_MAX, now);
            for task in self.agent.take_tasks() {
                self.task(task);
            }
        }
    }

    fn depart(&mut self) {
        if self.agent.is_serving() {
            (self.show)("asked to end: sending the remaining measurements");
        }
        self.agent.depart("it was asked to end");
    }

    fn report_held(&mut self) {
        self.agent.report_held(self.link.pools().iter().filter_map(|pool| pool.with(LocalNumbers::second)).collect());
    }

    fn input(&mut self, input: LocalInput) {
        match input {
            LocalInput::Attach { commands, listeners } => {
                let Some(job) = &mut self.job else { return };
                job.early.drain(..).for_each(|command| commands.send(command));
                (job.commands, job.listeners) = (Some(commands), Some(listeners));
            }
            LocalInput::Report(report) => {
                if matches!(report, AgentReport::Snapshot(_)) {
                    self.report_held();
                }
                self.agent.report(report);
            }
            LocalInput::Line(text) => self.agent.line(text),
            LocalInput::SetUp(json) => self.agent.share_set_up(json),
            LocalInput::Numbers(request) if self.agent.is_serving() => self.agent.ask_numbers(request),
            // A waiting worker must not wait forever.
            LocalInput::Numbers(request) => self.link.pool(request.source).into_iter().for_each(|pool| pool.with(LocalNumbers::close)),
            LocalInput::Ask { id, text, reply } => {
                let Some(job) = self.job.as_mut().filter(|_| self.agent.is_serving()) else { return };
                job.asking.insert(id, reply);
                self.agent.ask(id, text);
            }
            LocalInput::HostMessage(text) => self.agent.send_to_host(text),
            LocalInput::Ended => {
                self.job = None;
                // Its workers have ended: numbers that are unused now remain unused.
                self.report_held();
                self.agent.hold(false);
            }
        }
    }

    fn task(&mut self, task: AgentTask) {
        match task {
            AgentTask::Prepare(assignment) => self.begin(*assignment),
            AgentTask::Show(text) => (self.show)(&text),
            AgentTask::Leave(why) => {
                (self.show)(&format!("the run has ended: {why}"));
                self.link.pools().iter().for_each(|pool| pool.with(LocalNumbers::close));
                if let Some(job) = &mut self.job {
                    job.asking.clear();
                    job.command(AgentCommand::Halt);
                    job.command(AgentCommand::Finish);
                }
            }
            AgentTask::Command(command) => {
                if let Some(job) = &mut self.job {
                    job.command(command);
                }
            }
            AgentTask::Numbers { source, from, to, left } => {
                self.link.pool(source).into_iter().for_each(|pool| pool.with(|here| here.give(from, to, left)));
            }
            AgentTask::Recall(source) => {
                let nothing = HeldNumbers { source, loans: u64::MAX, ranges: Vec::new() };
                let back = self.link.pool(source).map(|pool| {
                    let waiting = pool.waiting.load(Ordering::Relaxed);
                    pool.with(|here| here.give_back(waiting))
                });
                self.agent.give_back(back.unwrap_or(nothing));
            }
            AgentTask::Answer { id, text } => {
                if let Some(reply) = self.job.as_mut().and_then(|job| job.asking.remove(&id)) {
                    // The receiver has gone only if the run is over.
                    let _ = reply.try_send(text);
                }
            }
            AgentTask::SetUp(json) => self.listen(|listeners| (listeners.on_set_up)(json)),
            AgentTask::HostMessage(text) => self.listen(|listeners| (listeners.on_host_message)(text)),
        }
    }

    fn listen(&self, handle: impl FnOnce(&HostListeners)) {
        if let Some(listeners) = self.job.as_ref().and_then(|job| job.listeners.as_ref()) {
            handle(listeners);
        }
    }

    fn begin(&mut self, assignment: Assignment) {
        (self.show)(&format!("serving as agent {} of {}", assignment.agent + 1, assignment.firsts.len()));
        self.job = Some(Job::default());
        self.link.numbers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.agent.hold(true);
        let (run_test, link) = (Arc::clone(&self.run_test), self.link.clone());
        let spawned = std::thread::Builder::new().name("run".to_owned()).spawn(move || {
            let ending = EndsJob(link.clone());
            run_test(assignment, link);
            drop(ending);
        });
        if let Err(problem) = spawned {
            self.agent.fail(format!("it cannot start a thread: {problem}"));
            self.job = None;
            self.agent.hold(false);
        }
    }
}

/// Reports that the run is over on this agent, also if it panicked.
struct EndsJob(AgentLink);

impl Drop for EndsJob {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.report(AgentReport::Broke("it panicked: this is a bug in Loadstone".to_owned()));
        }
        self.0.send(LocalInput::Ended);
    }
}
