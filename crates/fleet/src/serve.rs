//! An agent's thread: between the bus and the workers of whatever test it is given.

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
use crate::lead::now;
use crate::message::Assignment;
use crate::nats::{NatsBus, NatsServer, Nudge};
use crate::numbers::{HeldNumbers, LentHere, NumberRequest, NumberSource, TakenNumber};

const TURN: Duration = Duration::from_millis(50);
/// How long a worker waits for an answer at most; by then, an agent that has no controller any more has stopped.
const ANSWER_WAIT: Duration = Duration::from_secs(15);
/// How long an agent that is to end may take to hand over what it has. Kubernetes kills it 10 s after it has asked it to end.
const GOODBYE_MAX_NS: Nanos = 5_000_000_000;
/// How long an agent waits for a server that is not there when it starts, and how often it tries. Servers and agents are started together.
const SERVER_WAIT_NS: Nanos = 60_000_000_000;
const SERVER_TRY: Duration = Duration::from_millis(500);

/// What an agent does with a test. It is called on a thread of its own for each run, and returns when the run is over.
pub type RunTest = dyn Fn(Assignment, AgentLink) + Send + Sync;

/// A run's way to its controller.
#[derive(Clone)]
pub struct AgentLink {
    inputs: SyncSender<LocalInput>,
    nudge: Nudge,
    numbers: Arc<Mutex<BTreeMap<NumberSource, Arc<NumberDesk>>>>,
    questions: Arc<AtomicU64>,
}

/// What several agents number together, on one of them. Each call of [`Self::take`] gets a number of its own.
pub struct AgentNumbers {
    desk: Arc<NumberDesk>,
    link: AgentLink,
    is_endless: bool,
}

struct NumberDesk {
    here: Mutex<LentHere>,
    came: Condvar,
    /// Workers that wait.
    waiting: AtomicU64,
}

impl NumberDesk {
    fn with<T>(&self, change: impl FnOnce(&mut LentHere) -> T) -> T {
        // No code panics while it holds this lock.
        let changed = change(&mut self.here.lock().unwrap_or_else(PoisonError::into_inner));
        self.came.notify_all();
        changed
    }
}

impl AgentNumbers {
    /// The next number; waits for the controller where there is none here. `None`: there are no more, or nobody can be asked.
    pub fn take(&self) -> Option<u64> {
        self.wait_for(LentHere::take)
    }

    fn wait_for(&self, mut find: impl FnMut(&mut LentHere) -> (TakenNumber, Option<NumberRequest>)) -> Option<u64> {
        let desk = &self.desk;
        let mut here = desk.here.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (taken, request) = find(&mut here);
            if let Some(request) = request {
                drop(here);
                self.link.send(LocalInput::Numbers(request));
                here = desk.here.lock().unwrap_or_else(PoisonError::into_inner);
            }
            match taken {
                TakenNumber::Number(number) => return Some(number),
                TakenNumber::None => return None,
                // Between the request and here the answer may have come.
                TakenNumber::Wait if here.has_some() => {}
                TakenNumber::Wait => {
                    desk.waiting.fetch_add(1, Ordering::Relaxed);
                    let (woken, late) = desk.came.wait_timeout(here, ANSWER_WAIT).unwrap_or_else(PoisonError::into_inner);
                    desk.waiting.fetch_sub(1, Ordering::Relaxed);
                    here = woken;
                    if late.timed_out() {
                        return None;
                    }
                }
            }
        }
    }

    /// Numbers that may still be taken, without those that other agents hold; more than none as long as one can be had at all. `None`: without end.
    pub fn remaining(&self) -> Option<u64> {
        if self.is_endless {
            return None;
        }
        let _: Option<u64> = self.wait_for(LentHere::look);
        self.desk.here.lock().unwrap_or_else(PoisonError::into_inner).remaining()
    }
}

/// Who hears what the test's host tells.
pub struct HostListeners {
    /// Gets what the set-up returned on another agent, as JSON.
    pub on_set_up: Box<dyn Fn(String) + Send>,
    pub on_told: Box<dyn Fn(String) + Send>,
}

enum LocalInput {
    Attach { commands: AgentCommands, listeners: HostListeners },
    Report(AgentReport),
    Line(String),
    SetUp(String),
    Numbers(NumberRequest),
    Ask { id: u64, text: String, reply: SyncSender<String> },
    Tell(String),
    Ended,
}

impl AgentLink {
    /// Where the controller's commands go, and what the test's host tells.
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

    /// What is numbered over all agents. `end`: how many numbers there are; `None`: without end.
    pub fn numbers(&self, source: NumberSource, end: Option<u64>) -> AgentNumbers {
        let new = || NumberDesk { here: Mutex::new(LentHere::new(source, end)), came: Condvar::new(), waiting: AtomicU64::new(0) };
        let mut desks = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let desk = Arc::clone(desks.entry(source).or_insert_with(|| Arc::new(new())));
        AgentNumbers { desk, link: self.clone(), is_endless: end.is_none() }
    }

    /// Asks the test's host, and waits for its answer; `None`: nobody answers.
    pub fn ask(&self, text: String) -> Option<String> {
        let (reply, answer) = sync_channel(1);
        let id = self.questions.fetch_add(1, Ordering::Relaxed);
        self.send(LocalInput::Ask { id, text, reply });
        answer.recv_timeout(ANSWER_WAIT).ok()
    }

    /// Tells the test's host.
    pub fn tell(&self, text: String) {
        self.send(LocalInput::Tell(text));
    }

    fn desks(&self) -> Vec<Arc<NumberDesk>> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn desk(&self, source: NumberSource) -> Option<Arc<NumberDesk>> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).get(&source).cloned()
    }

    fn send(&self, input: LocalInput) {
        // The agent's thread outlives its runs.
        let _ = self.inputs.send(input);
        self.nudge.nudge();
    }
}

/// By which other threads ask an agent to end.
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

/// Joins the fleet at a server and serves one run after another, until it is asked to end. `say` gets what people should know.
///
/// # Errors
/// [`BusError`]: the server refuses, or was not there for a minute. Once it was reached, its absence is waited for.
pub fn serve(
    server: &NatsServer,
    id: String,
    facts: AgentFacts,
    run_test: Arc<RunTest>,
    end: &EndRequest,
    say: &dyn Fn(&str),
) -> Result<(), BusError> {
    let agent = Agent::new(id, facts);
    let Some(bus) = connect_when_there(server, &agent, end, say)? else { return Ok(()) };
    let (sender, inputs) = sync_channel(1024);
    let link = AgentLink { inputs: sender, nudge: bus.nudge(), numbers: Arc::default(), questions: Arc::default() };
    say("waiting for a run");
    Serving { agent, bus, inputs, link, job: None, run_test, say }.run(end);
    Ok(())
}

/// `None`: the agent was asked to end meanwhile.
fn connect_when_there(server: &NatsServer, agent: &Agent, end: &EndRequest, say: &dyn Fn(&str)) -> Result<Option<NatsBus>, BusError> {
    let (deadline, mut is_told) = (now() + SERVER_WAIT_NS, false);
    loop {
        match NatsBus::connect(server, vec![agent.subject()]) {
            Err(BusError::Absent { problem, .. }) if now() < deadline => {
                if !std::mem::replace(&mut is_told, true) {
                    let seconds = SERVER_WAIT_NS / 1_000_000_000;
                    say(&format!("no NATS server at {} yet ({problem}): waiting for it, {seconds} s at most", server.shown()));
                }
                std::thread::sleep(SERVER_TRY);
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
    bus: NatsBus,
    inputs: Receiver<LocalInput>,
    link: AgentLink,
    job: Option<Job>,
    run_test: Arc<RunTest>,
    say: &'a dyn Fn(&str),
}

/// A run on this agent.
#[derive(Default)]
struct Job {
    commands: Option<AgentCommands>,
    listeners: Option<HostListeners>,
    /// Commands that came before there was anybody to carry them out.
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
            if end.is_asked() && deadline.is_none() {
                deadline = Some(now() + GOODBYE_MAX_NS);
                self.depart();
            }
            if deadline.is_some_and(|deadline| self.agent.has_departed() || now() > deadline) {
                return;
            }
            while let Ok(input) = self.inputs.try_recv() {
                self.input(input);
            }
            exchange(&mut self.agent, &mut self.bus, TURN, now);
            for task in self.agent.take_tasks() {
                self.task(task);
            }
        }
    }

    fn depart(&mut self) {
        if self.agent.is_serving() {
            (self.say)("asked to end: handing over what was measured");
        }
        self.agent.depart("it was asked to end");
    }

    fn tell_held(&mut self) {
        self.agent.tell_held(self.link.desks().iter().filter_map(|desk| desk.with(LentHere::second)).collect());
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
                    self.tell_held();
                }
                self.agent.report(report);
            }
            LocalInput::Line(text) => self.agent.line(text),
            LocalInput::SetUp(json) => self.agent.tell_set_up(json),
            LocalInput::Numbers(request) if self.agent.is_serving() => self.agent.ask_numbers(request),
            // Whoever waits is not to wait for ever.
            LocalInput::Numbers(request) => self.link.desk(request.source).into_iter().for_each(|desk| desk.with(LentHere::close)),
            LocalInput::Ask { id, text, reply } => {
                let Some(job) = self.job.as_mut().filter(|_| self.agent.is_serving()) else { return };
                job.asking.insert(id, reply);
                self.agent.ask(id, text);
            }
            LocalInput::Tell(text) => self.agent.tell(text),
            LocalInput::Ended => {
                self.job = None;
                // Its workers have ended: what is not used now never is.
                self.tell_held();
                self.agent.hold(false);
            }
        }
    }

    fn task(&mut self, task: AgentTask) {
        match task {
            AgentTask::Prepare(assignment) => self.begin(*assignment),
            AgentTask::Say(text) => (self.say)(&text),
            AgentTask::Leave(why) => {
                (self.say)(&format!("the run has ended: {why}"));
                self.link.desks().iter().for_each(|desk| desk.with(LentHere::close));
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
                self.link.desk(source).into_iter().for_each(|desk| desk.with(|here| here.give(from, to, left)));
            }
            AgentTask::Recall(source) => {
                let nothing = HeldNumbers { source, loans: u64::MAX, ranges: Vec::new() };
                let back = self.link.desk(source).map(|desk| {
                    let waiting = desk.waiting.load(Ordering::Relaxed);
                    desk.with(|here| here.give_back(waiting))
                });
                self.agent.give_back(back.unwrap_or(nothing));
            }
            AgentTask::Answer { id, text } => {
                if let Some(reply) = self.job.as_mut().and_then(|job| job.asking.remove(&id)) {
                    // Nobody waits any more only where the run is over.
                    let _ = reply.try_send(text);
                }
            }
            AgentTask::SetUp(json) => self.listen(|listeners| (listeners.on_set_up)(json)),
            AgentTask::Told(text) => self.listen(|listeners| (listeners.on_told)(text)),
        }
    }

    fn listen(&self, hear: impl FnOnce(&HostListeners)) {
        if let Some(listeners) = self.job.as_ref().and_then(|job| job.listeners.as_ref()) {
            hear(listeners);
        }
    }

    fn begin(&mut self, assignment: Assignment) {
        (self.say)(&format!("serving as agent {} of {}", assignment.agent + 1, assignment.firsts.len()));
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

/// Tells that the run is over here, also where it panicked.
struct EndsJob(AgentLink);

impl Drop for EndsJob {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.report(AgentReport::Broke("it panicked: this is a bug in Loadstone".to_owned()));
        }
        self.0.send(LocalInput::Ended);
    }
}
