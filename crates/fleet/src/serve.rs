//! An agent's thread: between the bus and the workers of whatever test it is given.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use engine::{AgentCommand, AgentCommands, AgentReport};

use crate::agent::{Agent, AgentTask};
use crate::bus::{BusError, exchange};
use crate::facts::AgentFacts;
use crate::lead::now;
use crate::message::Assignment;
use crate::nats::{NatsBus, NatsServer, Nudge};
use crate::rows::RowRequest;

const TURN: Duration = Duration::from_millis(50);
/// How long a worker waits for rows at most; by then, an agent that has no controller any more has stopped.
const ROWS_WAIT: Duration = Duration::from_secs(15);

/// What an agent does with a test. It is called on a thread of its own for each run, and returns when the run is over.
pub type RunTest = dyn Fn(Assignment, AgentLink) + Send + Sync;

/// A run's way to its controller.
#[derive(Clone)]
pub struct AgentLink {
    inputs: SyncSender<LocalInput>,
    nudge: Nudge,
}

enum LocalInput {
    Attach { commands: AgentCommands, on_set_up: Box<dyn Fn(String) + Send> },
    Report(AgentReport),
    Line(String),
    SetUp(String),
    Rows(RowRequest, SyncSender<Range<u64>>),
    Ended,
}

impl AgentLink {
    /// Where the controller's commands go, and what the set-up of another agent returned.
    pub fn attach(&self, commands: AgentCommands, on_set_up: impl Fn(String) + Send + 'static) {
        self.send(LocalInput::Attach { commands, on_set_up: Box::new(on_set_up) });
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

    /// Numbers for a feeder; waits for the controller's answer. None where there are no more, or nobody to ask.
    pub fn rows(&self, request: RowRequest) -> Range<u64> {
        let (reply, answer) = sync_channel(1);
        self.send(LocalInput::Rows(request, reply));
        answer.recv_timeout(ROWS_WAIT).unwrap_or(0..0)
    }

    fn send(&self, input: LocalInput) {
        // The agent's thread outlives its runs.
        let _ = self.inputs.send(input);
        self.nudge.nudge();
    }
}

/// Joins the fleet at a server and serves one run after another, until the process ends. `say` gets what people should know.
///
/// # Errors
/// [`BusError`]: the server cannot be reached. Once it was, its absence is waited for.
pub fn serve(server: &NatsServer, id: String, facts: AgentFacts, run_test: Arc<RunTest>, say: &dyn Fn(&str)) -> Result<(), BusError> {
    let agent = Agent::new(id, facts);
    let bus = NatsBus::connect(server, vec![agent.subject()])?;
    let (sender, inputs) = sync_channel(1024);
    let link = AgentLink { inputs: sender, nudge: bus.nudge() };
    say("waiting for a run");
    Serving { agent, bus, inputs, link, job: None, run_test, say }.run()
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
    on_set_up: Option<Box<dyn Fn(String) + Send>>,
    /// Commands that came before there was anybody to carry them out.
    early: Vec<AgentCommand>,
    asking: HashMap<u64, SyncSender<Range<u64>>>,
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
    fn run(mut self) -> ! {
        loop {
            while let Ok(input) = self.inputs.try_recv() {
                self.input(input);
            }
            exchange(&mut self.agent, &mut self.bus, TURN, now);
            for task in self.agent.take_tasks() {
                self.task(task);
            }
        }
    }

    fn input(&mut self, input: LocalInput) {
        match input {
            LocalInput::Attach { commands, on_set_up } => {
                let Some(job) = &mut self.job else { return };
                job.early.drain(..).for_each(|command| commands.send(command));
                (job.commands, job.on_set_up) = (Some(commands), Some(on_set_up));
            }
            LocalInput::Report(report) => self.agent.report(report),
            LocalInput::Line(text) => self.agent.line(text),
            LocalInput::SetUp(json) => self.agent.tell_set_up(json),
            LocalInput::Rows(request, reply) => {
                let Some(job) = self.job.as_mut().filter(|_| self.agent.is_serving()) else { return };
                job.asking.insert(request.feeder, reply);
                self.agent.ask_rows(request);
            }
            LocalInput::Ended => {
                self.job = None;
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
            AgentTask::Rows { feeder, from, to } => {
                if let Some(reply) = self.job.as_mut().and_then(|job| job.asking.remove(&feeder)) {
                    // Nobody waits any more only where the run is over.
                    let _ = reply.try_send(from..to);
                }
            }
            AgentTask::SetUp(json) => {
                if let Some(on_set_up) = self.job.as_ref().and_then(|job| job.on_set_up.as_ref()) {
                    on_set_up(json);
                }
            }
        }
    }

    fn begin(&mut self, assignment: Assignment) {
        (self.say)(&format!("serving as agent {} of {}", assignment.agent + 1, assignment.firsts.len()));
        self.job = Some(Job::default());
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
