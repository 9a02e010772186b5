//! One run: its inputs, and its execution from the plan to the finished directory.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_engine::{
    AgentCommand, Coordinator, LoadControl, LoadControls, LoadEnding, LoadEvent, LoadHandle, StopReason, UserFactory, WorkerContext,
    WorkerError,
};
use loadstone_observe::{HostPermission, Observer};
use loadstone_plan::TestPlan;
use loadstone_protocol::NetworkOptions;
use loadstone_protocol::http::HttpOptions;
use loadstone_run_directory::{AgentInfo, RunEnd, RunInfo, Writer};
use loadstone_script::Stubs;
use loadstone_secrets::Secrets;

use crate::descriptor_room;
use crate::directory_writer::DirectoryWriter;
use crate::error::SessionError;
use crate::event::{RunEvent, Subscriber};
use crate::flow_tracking::FlowTracking;
use crate::judgement::LiveJudgement;
use crate::machine;
use crate::printed_lines::PrintedLines;
use crate::provisional_findings::ProvisionalFindings;
use crate::rate_room;
use crate::reach::reach;
use crate::run_feed::{FeedPosition, RunFeed};
use crate::source_state::SourceState;
use crate::stub_signals::StubSignals;
use crate::subscribers::Subscribers;
use crate::system_signals::SystemSignals;
use crate::trace_names::TraceNames;

/// Time between the command to a fleet's agents and the start of a leaf: enough to send a lost message again.
const FLEET_LEAD_NS: u64 = 500_000_000;

/// The inputs of a run, except its users.
pub struct Session {
    pub plan: TestPlan,
    /// Network settings for the target.
    pub network: NetworkOptions,
    /// Implementations of the plan's observers, see [`observers`](crate::observers).
    pub observers: Vec<Observer>,
    /// The stubs, which already serve.
    pub stubs: Option<Rc<Stubs>>,
    /// The script as named by the user. `None` without one.
    pub file: Option<String>,
    /// Digest of the script and all its imports.
    pub script: Option<String>,
    /// Threads that generate the load.
    pub workers: u32,
    pub tags: Vec<String>,
    /// Parent folder of the run directory.
    pub folder: PathBuf,
    /// Output of its scripts.
    pub printed: PrintedLines,
    /// Whether to compute findings during the run: see [`RunEvent::Provisional`].
    pub finds_early: bool,
}

/// The fleet that generates a run's load.
#[derive(Debug, Default)]
pub struct FleetOfRun {
    /// The agents' id of the run.
    pub id: Option<String>,
    pub agents: Vec<AgentInfo>,
}

/// The result of a run that started.
#[derive(Debug)]
pub struct FinishedRun {
    pub directory: PathBuf,
    pub ending: LoadEnding,
    /// The error that ended it. The directory has the measurements until then.
    pub failure: Option<SessionError>,
}

impl Session {
    /// Generates the load on this thread and the workers' threads. `make_factory` is called once on each worker's thread. Every event goes to the
    /// subscribers in order, then to the run directory.
    ///
    /// # Errors
    /// [`SessionError`]: no load was sent, and there is no directory.
    pub fn run<F: UserFactory>(
        self,
        make_factory: impl Fn(&WorkerContext) -> Result<F, String> + Send + Sync,
        subscribers: &mut [&mut dyn Subscriber],
    ) -> Result<FinishedRun, SessionError> {
        let tables = descriptor_room::descriptor_tables(&self.plan.load, self.workers)?;
        rate_room::check(&self.plan, self.workers)?;
        reach(&self.plan, &self.network)?;
        self.run_over(FleetOfRun::default(), subscribers, |coordinator, on_event| {
            Ok(coordinator.with_tables(tables).run(make_factory, on_event))
        })
    }

    /// The same with load from a fleet's agents. `lead` sends the test to them, and returns a handle to command each agent. Their reports go to the handle
    /// that `lead` receives. Its second value is kept alive until the load has ended.
    ///
    /// # Errors
    /// [`SessionError`]: no load was sent, and there is no directory.
    pub fn run_fleet<L>(
        self,
        fleet: FleetOfRun,
        lead: impl FnOnce(LoadHandle) -> std::io::Result<(Vec<Box<dyn Fn(AgentCommand)>>, L)>,
        subscribers: &mut [&mut dyn Subscriber],
    ) -> Result<FinishedRun, SessionError> {
        rate_room::check(&self.plan, self.workers)?;
        self.run_over(fleet, subscribers, |coordinator, on_event| {
            let (posts, led) = lead(coordinator.handle())?;
            let ending = coordinator.run_agents(posts, FLEET_LEAD_NS, on_event);
            drop(led);
            Ok(ending)
        })
    }

    /// The same with load that another program generates. `follow` delivers the events of its record, and receives the controls for it.
    ///
    /// # Errors
    /// [`SessionError`]: there is no directory, and `follow` was not called.
    pub fn run_recorded(
        self,
        follow: impl FnOnce(LoadControls, &mut dyn FnMut(LoadEvent) -> Option<LoadControl>) -> LoadEnding,
        subscribers: &mut [&mut dyn Subscriber],
    ) -> Result<FinishedRun, SessionError> {
        self.run_over(FleetOfRun::default(), subscribers, |coordinator, on_event| Ok(follow(coordinator.into_controls(), on_event)))
    }

    fn run_over(
        mut self,
        fleet: FleetOfRun,
        subscribers: &mut [&mut dyn Subscriber],
        make_load: impl FnOnce(Coordinator, &mut dyn FnMut(LoadEvent) -> Option<LoadControl>) -> std::io::Result<LoadEnding>,
    ) -> Result<FinishedRun, SessionError> {
        let secrets = self.plan.all_secrets();
        let writer = Writer::create(&self.folder, RunInfo { agents: fleet.agents, fleet: fleet.id, ..self.info() }, &self.plan)?;
        let directory = Rc::new(RefCell::new(writer.directory().to_owned()));
        let plan = Arc::new(self.plan.clone());
        let mut coordinator = Coordinator::new(Arc::clone(&plan), self.workers);
        if !plan.flows.is_empty() {
            coordinator = coordinator.lingering();
        }
        let started = self.start(&secrets, (writer, Rc::clone(&directory)), subscribers, &coordinator);
        // If deletion fails, an empty run remains, which is harmless.
        let mut feed = started.inspect_err(|_| _ = std::fs::remove_dir_all(&*directory.borrow()))?;
        let mut clock = None;
        let result = make_load(coordinator, &mut |event| match event {
            LoadEvent::Ready { zero } => {
                clock = Some(zero);
                feed.begin(zero, now())
            }
            LoadEvent::Waiting => feed.waiting(),
            LoadEvent::Snapshot(snapshot) => feed.snapshot(*snapshot, false),
            LoadEvent::LastSnapshot(snapshot) => feed.snapshot(*snapshot, true),
            LoadEvent::LoadEnded { at } => {
                feed.load_ended(at);
                None
            }
            LoadEvent::LeafBegan { .. } | LoadEvent::LeafEnded { .. } => None,
        });
        let ending = result.unwrap_or_else(|problem| LoadEnding::Broke(WorkerError::Agent(format!("cannot lead the fleet: {problem}"))));
        // The failure may only have occurred in the last second.
        let ending = match feed.printed.failure() {
            Some(problem) if matches!(ending, LoadEnding::Completed) => LoadEnding::Stopped(StopReason::Script(problem)),
            _ => ending,
        };
        let failed = feed.finish(clock.map_or(0, |clock| clock.now()), &end_of(&ending)).map(SessionError::Subscriber);
        let failure = match &ending {
            LoadEnding::Broke(WorkerError::Users(problem)) => Some(SessionError::Users(problem.to_string())),
            LoadEnding::Stopped(StopReason::Script(problem)) => Some(SessionError::Users(problem.clone())),
            LoadEnding::Broke(problem) => Some(SessionError::Worker(problem.to_string())),
            _ => failed,
        };
        let directory = directory.take();
        Ok(FinishedRun { directory, ending, failure })
    }

    /// Notifies the subscribers, and starts reading signals.
    fn start<'a, 'b>(
        &'a mut self,
        secrets: &'a Secrets,
        (writer, place): (Writer, Rc<RefCell<PathBuf>>),
        subscribers: &'a mut [&'b mut dyn Subscriber],
        coordinator: &Coordinator,
    ) -> Result<RunFeed<'a, 'b>, SessionError> {
        let shown = self.plan.hiding(secrets);
        let controller = coordinator.handle();
        let judgement = LiveJudgement::new(&shown, writer.info());
        let info = writer.info().clone();
        let directory = writer.directory().to_owned();
        let mut subscribers = Subscribers::new(subscribers, DirectoryWriter::new(writer, place));
        subscribers.start(&RunEvent::Started { info: &info, plan: &shown, controller: &controller })?;
        let mut observers = std::mem::take(&mut self.observers);
        let HttpOptions { traces, .. } = self.network.protocols.get();
        if let Some(seed) = traces {
            observers.iter_mut().for_each(|observer| observer.joins_traces(seed.run()));
        }
        let allowed = self.network.allowed_hosts.clone();
        let permission: HostPermission = Arc::new(move |host, port| allowed.permits(host, port));
        observers.iter_mut().for_each(|observer| observer.permits_hosts(&permission));
        let mut signals = SystemSignals::prepare(secrets, observers).map_err(SessionError::Observers)?;
        if let Some(stubs) = &self.stubs {
            signals.add(StubSignals::new(Rc::clone(stubs)));
        }
        Ok(RunFeed {
            secrets,
            info,
            plan: shown,
            printed: &self.printed,
            controller,
            signals,
            trace_names: TraceNames::default(),
            stubs: self.stubs.clone(),
            flows: FlowTracking::new(&self.plan, self.stubs.clone()),
            judgement,
            provisional: if self.finds_early { ProvisionalFindings::start(directory) } else { None },
            subscribers,
            position: FeedPosition::default(),
        })
    }

    /// The run directory sets its format and id.
    fn info(&self) -> RunInfo {
        let SourceState { commit, branch, is_dirty } = SourceState::known();
        RunInfo {
            format: 0,
            id: String::new(),
            loadstone: env!("CARGO_PKG_VERSION").to_owned(),
            started: now(),
            file: self.file.clone(),
            script: self.script.clone(),
            commit,
            branch,
            dirty: is_dirty,
            workers: self.workers,
            host: machine::facts(),
            tags: self.tags.clone(),
            agents: Vec::new(),
            fleet: None,
        }
    }
}

/// A time of day in the format of run directories: RFC 3339 with milliseconds and zone.
pub fn now() -> String {
    jiff::ZonedDateTime::now().strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
}

/// In the format of the run directory.
fn end_of(ending: &LoadEnding) -> RunEnd {
    match ending {
        LoadEnding::Completed => RunEnd::Completed,
        LoadEnding::Stopped(StopReason::User) => RunEnd::Interrupted,
        LoadEnding::Stopped(StopReason::Threshold(label)) => RunEnd::Aborted(format!("threshold failed: {label}")),
        LoadEnding::Stopped(StopReason::SetUp(scenario)) => {
            RunEnd::Aborted(format!("the set-up \"{scenario}\" failed, so the rest of the test did not run"))
        }
        LoadEnding::Stopped(StopReason::Failure(problem) | StopReason::Script(problem)) => RunEnd::Failed(problem.clone()),
        LoadEnding::Broke(problem) => RunEnd::Failed(problem.to_string()),
    }
}
