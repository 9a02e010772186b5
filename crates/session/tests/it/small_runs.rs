//! Runs for tests, and subscribers that record their events.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use bytes::Bytes;
use loadstone_engine::WorkerContext;
use loadstone_plan::{LoadProfile, OpenStage, TestPlan, Timing};
use loadstone_protocol::{Network, NetworkOptions};
use loadstone_run_directory::{Reader, Run};
use loadstone_session::{
    FinishedRun, FixedRequest, FixedRequestUsers, LoadEnding, PrintedLines, RunEvent, RunRequests, Session, SessionError, StopReason,
    Subscriber, SubscriberError,
};
use loadstone_stub::{Behaviour, Server};

/// A server that responds immediately.
pub(crate) fn server() -> Server {
    Server::builder().route("GET /", Behaviour::new()).start().expect("a server")
}

/// Where run directories go; deleted when it is dropped.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Twenty requests per second for this many seconds.
pub(crate) fn plan(target: &str, seconds: u64) -> TestPlan {
    let stage = OpenStage::Rate { from: 20.0, to: 20.0, duration_ns: seconds * 1_000_000_000, timing: Timing::Even };
    let profile = LoadProfile::Open { stages: vec![stage] };
    TestPlan { target: Some(target.to_owned()), ..TestPlan::of_scenario("shop", "GET /", profile) }
}

/// Why the load stopped early; `None`: it ran as planned.
///
/// # Panics
/// When a worker broke.
pub(crate) fn stop_reason(ending: &LoadEnding) -> Option<StopReason> {
    match ending {
        LoadEnding::Completed => None,
        LoadEnding::Stopped(reason) => Some(reason.clone()),
        LoadEnding::Broke(error) => panic!("a worker broke: {error}"),
    }
}

/// Runs the plan, with directories below the folder.
pub(crate) fn run(plan: TestPlan, folder: &Path, subscribers: &mut [&mut dyn Subscriber]) -> Result<FinishedRun, SessionError> {
    run_printing(plan, folder, PrintedLines::new(), subscribers)
}

pub(crate) fn run_printing(
    plan: TestPlan,
    folder: &Path,
    printed: PrintedLines,
    subscribers: &mut [&mut dyn Subscriber],
) -> Result<FinishedRun, SessionError> {
    run_prepared(plan, folder, printed, |_| {}, subscribers)
}

/// `prepare` is the worker's work before it is ready.
pub(crate) fn run_prepared(
    plan: TestPlan,
    folder: &Path,
    printed: PrintedLines,
    prepare: impl Fn(&WorkerContext) + Send + Sync,
    subscribers: &mut [&mut dyn Subscriber],
) -> Result<FinishedRun, SessionError> {
    run_session(plan, |session| Session { folder: folder.to_owned(), printed, ..session }, prepare, subscribers)
}

/// Like [`run_prepared`], with a session that `change` modifies.
pub(crate) fn run_session(
    plan: TestPlan,
    change: impl FnOnce(Session) -> Session,
    prepare: impl Fn(&WorkerContext) + Send + Sync,
    subscribers: &mut [&mut dyn Subscriber],
) -> Result<FinishedRun, SessionError> {
    let request = FixedRequest {
        url: plan.target.as_deref().expect("a target").parse().expect("a URL"),
        method: "GET".to_owned(),
        headers: Vec::new(),
        body: Bytes::new(),
        expect_status: None,
        keep_alive: true,
    };
    let options = plan.options.clone();
    let session = Session {
        plan,
        network: NetworkOptions::default(),
        observers: Vec::new(),
        stubs: None,
        file: None,
        script: None,
        workers: 1,
        tags: Vec::new(),
        folder: std::path::PathBuf::new(),
        printed: PrintedLines::new(),
        finds_early: false,
    };
    let make_factory = |context: &WorkerContext| {
        prepare(context);
        let network = Network::new(context.clock.clone(), NetworkOptions::default()).map_err(|error| error.to_string())?;
        FixedRequestUsers::new(context, network, &request, &options)
    };
    change(session).run(make_factory, subscribers)
}

pub(crate) fn read(directory: &Path) -> Run {
    Reader::open(directory).and_then(Reader::run).expect("a run directory")
}

/// Number of runs in the folder.
pub(crate) fn runs(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Events of several subscribers, in order.
pub(crate) type EventLog = Rc<RefCell<Vec<String>>>;

/// Records every event as `name: event`, then runs the test's reaction.
pub(crate) struct Recording<'a> {
    pub(crate) name: &'a str,
    pub(crate) log: EventLog,
    #[expect(clippy::type_complexity, reason = "the signature of Subscriber::take")]
    pub(crate) reply: Box<dyn FnMut(&RunEvent<'_>, &mut RunRequests) -> Result<(), SubscriberError> + 'a>,
}

impl<'a> Recording<'a> {
    pub(crate) fn new(name: &'a str, log: &EventLog) -> Self {
        Self::replying(name, log, |_, _| Ok(()))
    }

    pub(crate) fn replying(
        name: &'a str,
        log: &EventLog,
        reply: impl FnMut(&RunEvent<'_>, &mut RunRequests) -> Result<(), SubscriberError> + 'a,
    ) -> Self {
        Self { name, log: Rc::clone(log), reply: Box::new(reply) }
    }
}

impl Subscriber for Recording<'_> {
    fn take(&mut self, event: &RunEvent<'_>, requests: &mut RunRequests) -> Result<(), SubscriberError> {
        let what = match event {
            RunEvent::Traces(_) => "traces".to_owned(),
            RunEvent::Started { plan, .. } => format!("started {}", plan.name),
            RunEvent::TimeBegins { .. } => "time begins".to_owned(),
            RunEvent::SnapshotDue { .. } => "snapshot due".to_owned(),
            RunEvent::ConsoleLine(line) => format!("line {line}"),
            RunEvent::Signals(_) => "signals".to_owned(),
            RunEvent::Notice(_) => "notice".to_owned(),
            RunEvent::Snapshot { snapshot, is_last, .. } => {
                let marks: String = snapshot.marks.iter().map(|mark| format!(" [{}]", mark.text)).collect();
                format!("snapshot{}{marks}", if *is_last { " (last)" } else { "" })
            }
            RunEvent::Provisional { found, .. } => format!("provisional {}", found.findings.len()),
            RunEvent::LoadEnded { .. } => "load ended".to_owned(),
            RunEvent::Closing => "closing".to_owned(),
            RunEvent::Finished { end } => format!("finished {end:?}"),
        };
        self.log.borrow_mut().push(format!("{}: {what}", self.name));
        (self.reply)(event, requests)
    }
}
