//! One probe: a run of the test at a level of load, its directory concluded as any other's.

use std::io::Write;
use std::path::Path;

use analysis::{CapacityProbe, ProbeReading, Summary};
use engine::WorkerContext;
use metrics::clock::Monotonic;
use plan::{Load, TestPlan, Threshold};
use protocol::{Network, NetworkOptions, WorkerPosition};
use run_directory::Reader;
use script::Inputs;
use secrets::Secrets;
use session::{FinishedRun, FixedRequest, FixedRequestUsers, LoadEnding, PrintedLines, Session, SessionError, StopReason, Subscriber};

use crate::conclusion_files::ConclusionFiles;
use crate::exit::{self, Exit};
use crate::flags::NetworkArgs;
use crate::script_run::{ScriptRun, start_proxies};

/// Part of a probe that is warm-up.
const WARM_UP: f64 = 1.0 / 6.0;
/// What begins the evidence that names the limit after the one that is.
const NEXT: &str = "after it";

/// Whatever makes the load, at any level.
pub(crate) enum ProbeSource<'a> {
    /// Read anew for every probe, so that its data begins where it began.
    Script {
        path: &'a Path,
        shown: &'a str,
        inputs: Inputs,
    },
    Url {
        request: Box<FixedRequest>,
        plan: Box<TestPlan>,
    },
}

/// What every probe of a search has in common.
pub(crate) struct ProbeSetting<'a> {
    pub(crate) source: &'a ProbeSource<'a>,
    pub(crate) network: &'a NetworkArgs,
    pub(crate) objectives: &'a [Threshold],
    pub(crate) workers: u32,
    pub(crate) tags: &'a [String],
    pub(crate) folder: &'a Path,
}

/// How a probe ended.
pub(crate) enum ProbeEnd {
    Done(Box<CapacityProbe>),
    /// By the user; what it measured until then is in its directory and counts for nothing.
    Interrupted,
    /// The command ends so.
    Stopped(Exit),
}

impl ProbeSource<'_> {
    /// The plan as the test has it, and the digest of its script.
    pub(crate) fn plan(&self) -> anyhow::Result<(TestPlan, Option<String>)> {
        match self {
            ProbeSource::Script { path, inputs, .. } => {
                let loaded = script::load(path, inputs)?;
                let digest = loaded.digest();
                Ok((loaded.plan, Some(digest)))
            }
            ProbeSource::Url { plan, .. } => Ok(((**plan).clone(), None)),
        }
    }
}

impl ProbeSetting<'_> {
    /// Runs one. `load`: the whole load at `level`, held for `seconds`.
    pub(crate) fn run(
        &self,
        (level, load): (f64, Load),
        seconds: f64,
        subscribers: &mut [&mut dyn Subscriber],
    ) -> anyhow::Result<ProbeEnd> {
        let begun = Monotonic::start();
        let after_seconds = (seconds * WARM_UP).round() as u32;
        let thresholds: Vec<Threshold> =
            self.objectives.iter().map(|threshold| Threshold { after_seconds, abort: false, ..threshold.clone() }).collect();
        let change = |plan: &mut TestPlan| {
            plan.load = load;
            plan.thresholds = thresholds;
        };
        let (secrets, finished) = match self.source {
            ProbeSource::Script { path, shown, inputs } => self.script((path, shown), inputs, change, subscribers)?,
            ProbeSource::Url { request, plan } => self.url(request, plan, change, subscribers)?,
        };
        let FinishedRun { directory, ending, failure } = match finished {
            Err(SessionError::Unreachable(problem)) => return exit::unreachable(&problem, &secrets).map(ProbeEnd::Stopped),
            finished => finished.map_err(|error| exit::hiding(&secrets, error.into()))?,
        };
        if let Some(failure) = failure {
            return Err(exit::hiding(&secrets, failure.into()));
        }
        match ending {
            LoadEnding::Stopped(StopReason::User) => return Ok(ProbeEnd::Interrupted),
            LoadEnding::Stopped(StopReason::SetUp(scenario)) => {
                let problem = format!("the set-up \"{scenario}\" failed, see {}", directory.display());
                writeln!(std::io::stderr(), "error: {}", secrets.hide(&problem))?;
                return Ok(ProbeEnd::Stopped(Exit::SetUpFailed));
            }
            _ => {}
        }
        let probe = concluded(&directory, level, seconds)?;
        Ok(ProbeEnd::Done(Box::new(CapacityProbe { cost_seconds: begun.now() as f64 / 1e9, ..probe })))
    }

    fn script(
        &self,
        (path, shown): (&Path, &str),
        inputs: &Inputs,
        change: impl FnOnce(&mut TestPlan),
        subscribers: &mut [&mut dyn Subscriber],
    ) -> anyhow::Result<(Secrets, Result<FinishedRun, SessionError>)> {
        let run = ScriptRun { path, shown, inputs: inputs.clone(), workers: self.workers, tags: self.tags, network: self.network };
        let mut loaded = run.load()?;
        change(&mut loaded.plan);
        let secrets = loaded.plan.all_secrets();
        let _proxies = start_proxies(&loaded)?;
        let finished = run.prepare(loaded, self.folder.to_owned())?.run(subscribers);
        Ok((secrets, finished))
    }

    fn url(
        &self,
        request: &FixedRequest,
        plan: &TestPlan,
        change: impl FnOnce(&mut TestPlan),
        subscribers: &mut [&mut dyn Subscriber],
    ) -> anyhow::Result<(Secrets, Result<FinishedRun, SessionError>)> {
        let mut plan = plan.clone();
        change(&mut plan);
        let mut network = NetworkOptions::default();
        self.network.apply(&mut network, plan.options.seed);
        let (secrets, options) = (plan.all_secrets(), plan.options.clone());
        let session = Session {
            plan,
            network: network.clone(),
            observers: Vec::new(),
            stubs: None,
            file: None,
            script: None,
            workers: self.workers,
            tags: self.tags.to_vec(),
            folder: self.folder.to_owned(),
            printed: PrintedLines::new(),
            finds_early: false,
        };
        let finished = session.run(users_of(request, &network, &options), subscribers);
        Ok((secrets, finished))
    }
}

/// Makes the users of a fixed request on each worker.
pub(crate) fn users_of<'a>(
    request: &'a FixedRequest,
    network: &'a NetworkOptions,
    options: &'a plan::RunOptions,
) -> impl Fn(&WorkerContext) -> Result<FixedRequestUsers, String> + Send + Sync + 'a {
    move |context: &WorkerContext| {
        let position = WorkerPosition { worker: context.index, workers: context.workers };
        let network =
            Network::new(context.clock.clone(), NetworkOptions { position, ..network.clone() }).map_err(|error| error.to_string())?;
        FixedRequestUsers::new(context, network, request, options)
    }
}

/// Reads the run back, writes what was concluded, and says what it means for the search.
fn concluded(directory: &Path, level: f64, seconds: f64) -> anyhow::Result<CapacityProbe> {
    let run = Reader::open(directory).and_then(Reader::run)?;
    let summary = analysis::conclude(&run);
    ConclusionFiles::of(&run, &summary).write(directory)?;
    let reading = ProbeReading::of(&run, &summary.verdict.thresholds, &summary.verdict.validity);
    let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(CapacityProbe {
        load: level,
        seconds,
        cost_seconds: 0.0,
        run: name,
        lean: reading.lean(),
        findings: summary.verdict.findings.findings.iter().map(|finding| finding.claim.clone()).collect(),
        next_limit: next_limit(&summary),
        reading,
    })
}

fn next_limit(summary: &Summary) -> Option<String> {
    let evidence = summary.verdict.findings.findings.iter().flat_map(|finding| &finding.evidence);
    evidence.map(|evidence| &evidence.text).find(|text| text.starts_with(NEXT)).cloned()
}
