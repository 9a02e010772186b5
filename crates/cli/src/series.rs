//! Consecutive runs of one test in one process, which Ctrl-C ends together. Read [`Series`].

use std::path::{Path, PathBuf};

use loadstone_plan::TestPlan;
use loadstone_script::Loaded;
use loadstone_secrets::Secrets;
use loadstone_session::{FinishedRun, LoadEnding, SessionError, Subscriber};
use loadstone_stub::TcpProxy;

use crate::exit;
use crate::flags::{LimitArgs, RateGuard};
use crate::interrupt::Interrupts;
use crate::k6_source::K6Source;
use crate::script_run::{ScriptRun, start_proxies};
use crate::url_run::UrlRun;

/// The source of the load.
pub(crate) enum RunSource<'a> {
    /// Loaded again for every run, so that its data starts from the beginning.
    Script(Box<ScriptRun<'a>>),
    /// Likewise.
    K6(Box<K6Source<'a>>),
    Url(Box<UrlRun<'a>>),
}

/// A series of runs.
pub(crate) struct Series<'a> {
    pub(crate) source: &'a RunSource<'a>,
    /// Parent folder of their directories.
    pub(crate) folder: PathBuf,
    pub(crate) interrupts: Interrupts,
}

/// The target could not be reached. Secrets are masked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TargetUnreachable(String);

/// One run of a series.
pub(crate) struct SeriesRun {
    pub(crate) directory: PathBuf,
    pub(crate) ending: LoadEnding,
}

impl RunSource<'_> {
    /// The test's own plan, and the digest of its script.
    pub(crate) fn plan(&self) -> anyhow::Result<(TestPlan, Option<String>)> {
        match self {
            RunSource::Script(script) => {
                let loaded = script.load()?;
                let digest = loaded.digest();
                Ok((loaded.plan, Some(digest)))
            }
            RunSource::K6(script) => script.plan().map(|(plan, digest)| (plan, Some(digest))),
            RunSource::Url(url) => Ok((url.plan.clone(), None)),
        }
    }

    fn limits(&self) -> &LimitArgs {
        match self {
            RunSource::Script(script) => &script.network.limits,
            RunSource::K6(script) => &script.network.limits,
            RunSource::Url(url) => &url.network.limits,
        }
    }

    /// The proxies that the test declares. They serve until they are dropped.
    pub(crate) fn proxies(&self) -> anyhow::Result<Vec<TcpProxy>> {
        match self {
            RunSource::Script(script) => Ok(start_proxies(&script.load()?)?),
            RunSource::K6(script) => Ok(script.load_system()?.as_ref().map(start_proxies).transpose()?.unwrap_or_default()),
            RunSource::Url(_) => Ok(Vec::new()),
        }
    }
}

impl Series<'_> {
    /// Runs once more. `seed`: replaces the test's seed. `change`: modifies the test's plan.
    ///
    /// # Errors
    /// [`TargetUnreachable`], and any other failure of the file or a subscriber. Secrets are masked.
    pub(crate) fn run(
        &mut self,
        seed: Option<u64>,
        tags: &[String],
        change: impl FnOnce(&mut TestPlan),
        subscribers: &mut [&mut dyn Subscriber],
    ) -> anyhow::Result<SeriesRun> {
        let mut all: Vec<&mut dyn Subscriber> = subscribers.iter_mut().map(|subscriber| &mut **subscriber as &mut dyn Subscriber).collect();
        let mut rate = RateGuard::new(self.source.limits());
        all.push(&mut self.interrupts);
        all.push(&mut rate);
        let folder = self.folder.clone();
        let (secrets, finished) = match self.source {
            RunSource::Script(script) => of_script(ScriptRun { tags, ..script.as_ref().clone() }, seed, change, folder, &mut all)?,
            RunSource::K6(script) => of_k6(K6Source { tags, ..script.as_ref().clone() }, seed, change, folder, &mut all)?,
            RunSource::Url(url) => of_url(url, tags, change, folder, &mut all)?,
        };
        let hidden = |error: SessionError| match error {
            SessionError::Unreachable(problem) => TargetUnreachable(secrets.hide(&problem.to_string()).into_owned()).into(),
            error => exit::hiding(&secrets, error.into()),
        };
        let FinishedRun { directory, ending, failure } = finished.map_err(hidden)?;
        match failure {
            Some(failure) => Err(hidden(failure)),
            None => Ok(SeriesRun { directory, ending }),
        }
    }
}

type Ended = (Secrets, Result<FinishedRun, SessionError>);

fn of_script(
    mut script: ScriptRun<'_>,
    seed: Option<u64>,
    change: impl FnOnce(&mut TestPlan),
    folder: PathBuf,
    subscribers: &mut [&mut dyn Subscriber],
) -> anyhow::Result<Ended> {
    script.inputs.seed = seed.or(script.inputs.seed);
    let mut loaded: Loaded = script.load()?;
    change(&mut loaded.plan);
    let secrets = loaded.plan.all_secrets();
    Ok((secrets, script.prepare(loaded, folder)?.run(subscribers)))
}

fn of_k6(
    mut script: K6Source<'_>,
    seed: Option<u64>,
    change: impl FnOnce(&mut TestPlan),
    folder: PathBuf,
    subscribers: &mut [&mut dyn Subscriber],
) -> anyhow::Result<Ended> {
    script.inputs.seed = seed.or(script.inputs.seed);
    let mut prepared = script.prepare(script.load()?, folder)?;
    change(&mut prepared.session.plan);
    script.network.limits.check_plan(&prepared.session.plan)?;
    let secrets = prepared.session.plan.all_secrets();
    Ok((secrets, prepared.run(subscribers)))
}

fn of_url(
    url: &UrlRun<'_>,
    tags: &[String],
    change: impl FnOnce(&mut TestPlan),
    folder: PathBuf,
    subscribers: &mut [&mut dyn Subscriber],
) -> anyhow::Result<Ended> {
    let mut plan = url.plan.clone();
    change(&mut plan);
    url.network.limits.check_plan(&plan)?;
    let network = url.network_options(&plan);
    let (secrets, options) = (plan.all_secrets(), plan.options.clone());
    let session = url.session(plan, &network, tags, folder)?;
    Ok((secrets, session.run(url.users(&network, &options), subscribers)))
}

/// Name of a run, from its directory.
pub(crate) fn name_of(directory: &Path) -> String {
    directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
