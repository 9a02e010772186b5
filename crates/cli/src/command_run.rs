//! A run as started by a command: the session with terminal, page and outputs, then conclusions and exit code.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;

use anyhow::Context;
use loadstone_analysis::{Grade, Summary};
use loadstone_engine::{UserFactory, WorkerContext};
use loadstone_metrics::Outcome;
use loadstone_metrics::clock::Clock;
use loadstone_protocol::{Network, NetworkOptions, foreign_source};
use loadstone_report::RunState;
use loadstone_report::terminal::{Closing, ColorChoice, Style};
use loadstone_run_directory::{Reader, Run};
use loadstone_secrets::Secrets;
use loadstone_session::{FinishedRun, LoadEnding, OutputFeed, Session, SessionError, StopReason, Subscriber};

use crate::comparison::{self, Baseline};
use crate::conclusion_files::ConclusionFiles;
use crate::exit::{self, Exit, UsageError};
use crate::flags::{LimitArgs, OutputArgs, RateGuard};
use crate::interrupt::InterruptHandler;
use crate::live_page::LivePage;
use crate::scratch::scratch_folder;
use crate::stdin_guard::StdinGuard;
use crate::terminal_progress::TerminalProgress;

/// How a run is displayed, and what can end it.
pub(crate) struct CommandRun<'a> {
    pub(crate) output: &'a OutputArgs,
    /// The run ends when standard input does.
    pub(crate) stops_with_stdin: bool,
    pub(crate) color: ColorChoice,
    /// The test's own rendering of the summary, if it has one.
    pub(crate) summarize: Option<&'a Summarize<'a>>,
    /// Other exit codes than Loadstone's.
    pub(crate) exit_codes: Option<&'a ExitCodes<'a>>,
    pub(crate) limits: &'a LimitArgs,
}

/// All subscribers of a run.
pub(crate) type Following<'a> = [&'a mut dyn Subscriber];

/// The result of a session. The outer error means that the load could not be prepared, so none was sent.
pub(crate) type Performed = anyhow::Result<Result<FinishedRun, SessionError>>;

/// The output that a test derives from its own run.
pub(crate) type Summarize<'a> = dyn Fn(&Run, &Summary) -> anyhow::Result<OwnOutput> + 'a;

/// Converts Loadstone's exit code of a run.
pub(crate) type ExitCodes<'a> = dyn Fn(Exit, &LoadEnding, &Summary) -> Exit + 'a;

/// Files by name, and what is printed.
#[derive(Debug, Default)]
pub(crate) struct OwnOutput {
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// Takes the place of Loadstone's summary, which goes to standard error.
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl CommandRun<'_> {
    /// Runs the load and concludes. Returns how the command ends. Errors are returned with secrets masked.
    pub(crate) fn perform<F: UserFactory>(
        &self,
        session: Session,
        make_factory: impl Fn(&WorkerContext) -> Result<F, String> + Send + Sync,
    ) -> anyhow::Result<Exit> {
        self.perform_with(session, |session, subscribers| Ok(session.run(make_factory, subscribers)))
    }

    /// The same, where `run` runs the session with its own load.
    pub(crate) fn perform_with(
        &self,
        session: Session,
        run: impl FnOnce(Session, &mut Following<'_>) -> Performed,
    ) -> anyhow::Result<Exit> {
        let secrets = session.plan.all_secrets();
        self.perform_open(&secrets, session, run).map_err(|error| exit::hiding(&secrets, error))
    }

    fn perform_open(
        &self,
        secrets: &Secrets,
        mut session: Session,
        run: impl FnOnce(Session, &mut Following<'_>) -> Performed,
    ) -> anyhow::Result<Exit> {
        self.output.check_files()?;
        let baseline = Baseline::of_run(&self.output.against, &self.output.runs, &session.plan.name)?;
        let scratch = if self.output.no_save { Some(scratch_folder()?) } else { None };
        if let Some(scratch) = &scratch {
            session.folder = scratch.path().to_owned();
        }
        let mut page = self.output.live.then(|| LivePage::new(self.output.live_address.clone()));
        let settings = self.output.settings()?;
        settings.headers.iter().for_each(|(_, value)| learn_header_value(secrets, value));
        let mut outputs = OutputFeed::new(settings, &announce_metrics);
        let mut terminal = TerminalProgress::new(self.output.quiet, self.color);
        let mut interrupts = InterruptHandler::default();
        let mut rate = RateGuard::new(self.limits);
        let mut guard = self.stops_with_stdin.then(StdinGuard::default);

        let mut subscribers: Vec<&mut dyn Subscriber> = Vec::new();
        subscribers.extend(page.as_mut().map(|page| page as &mut dyn Subscriber));
        subscribers.extend([&mut outputs as &mut dyn Subscriber, &mut terminal, &mut interrupts, &mut rate]);
        subscribers.extend(guard.as_mut().map(|guard| guard as &mut dyn Subscriber));
        let FinishedRun { directory, ending, failure } = match run(session, &mut subscribers)? {
            Err(SessionError::Unreachable(problem)) => return exit::unreachable(&problem, secrets),
            finished => finished?,
        };

        let mut run = Reader::open(&directory).and_then(Reader::run)?;
        let summary = loadstone_analysis::conclude_in_place(&mut run);
        if let Some(page) = page {
            page.finish(&run, &summary);
        }
        let kept = scratch.is_none().then_some(directory.as_path());
        let compared = baseline.as_ref().map(|baseline| baseline.compare(&run, &summary));
        let written = ConclusionFiles::compared(&run, &summary, compared.as_ref()).write_all(kept, self.output);
        let mut places = match &written {
            Ok(places) => places.clone(),
            Err(problem) => vec![("Not written", problem.to_string())],
        };
        let own = self.summarize.map_or_else(|| Ok(OwnOutput::default()), |summarize| summarize(&run, &summary));
        let summarized = own.as_ref().map_or_else(|_| Ok(Vec::new()), write_own);
        places.extend(summarized.iter().flatten().map(|file| ("Written", file.clone())));
        self.show(&run, &summary, &places, own.as_ref().ok())?;
        let in_codes = |exit: Exit| self.exit_codes.map_or(exit, |convert| convert(exit, &ending, &summary));
        if let Some(failure) = failure {
            let failure = failure.into();
            let exit = Exit::of_error(&failure);
            return match in_codes(exit) {
                converted if converted == exit => Err(failure),
                converted => {
                    exit::print(&exit::hiding(secrets, failure));
                    Ok(converted)
                }
            };
        }
        written?;
        own?;
        summarized?;
        let compared = match &compared {
            Some(compared) => comparison::report(compared, self.output, self.color)?,
            None => Exit::Passed,
        };
        let exit = match exit_of(&ending, &summary) {
            Exit::Passed => compared,
            other => other,
        };
        Ok(in_codes(exit))
    }

    fn show(&self, run: &Run, summary: &Summary, places: &[(&str, String)], own: Option<&OwnOutput>) -> anyhow::Result<()> {
        let (mut stdout, mut stderr) = (std::io::stdout(), std::io::stderr());
        let (own_stdout, own_stderr) = own.map_or((&[][..], &[][..]), |own| (&own.stdout, &own.stderr));
        stderr.write_all(own_stderr)?;
        if self.output.json {
            stderr.write_all(own_stdout)?;
            stdout.write_all(loadstone_report::summary_json(summary).as_bytes())?;
            return Ok(());
        }
        let replaced = !own_stdout.is_empty();
        let style = Style::detect(self.color, if replaced { stderr.is_terminal() } else { stdout.is_terminal() });
        let (state, state_detail) = RunState::of(run.end.as_ref());
        let columns = self.output.columns.clone().unwrap_or_default();
        let closing = Closing { state, state_detail, file: run.info.file.as_deref(), places, columns, shows_all: self.output.all };
        let shown = loadstone_report::terminal::summary(summary, &closing, &style);
        if replaced {
            stderr.write_all(shown.as_bytes())?;
            stdout.write_all(own_stdout)?;
        } else {
            stdout.write_all(shown.as_bytes())?;
        }
        Ok(())
    }
}

/// Writes the files that the test itself derives from its run. Returns their names.
fn write_own(own: &OwnOutput) -> anyhow::Result<Vec<String>> {
    for (file, content) in &own.files {
        std::fs::write(file, content).with_context(|| format!("the test's own summary: cannot write {file}"))?;
    }
    Ok(own.files.iter().map(|(file, _)| file.clone()).collect())
}

/// Checks the network settings before any load: files may be missing or contain no certificate, and source addresses may belong to other machines.
pub(crate) fn check_network(options: &NetworkOptions) -> Result<(), UsageError> {
    if let Some(source) = foreign_source(&options.sources) {
        return Err(UsageError(format!("the source address {source} is not an address of this machine; `ip address` lists its addresses")));
    }
    Network::new(Clock::virtual_time(), options.clone()).map(drop).map_err(|error| UsageError(error.to_string()))
}

fn announce_metrics(address: SocketAddr) {
    // This output is optional: a closed standard error must not prevent the run.
    let _ = writeln!(std::io::stderr(), "Metrics: http://{address}/metrics\n");
}

/// In the documented order: failed run, interrupted, target unreachable, set-up failed, measurement invalid, thresholds failed.
fn exit_of(ending: &LoadEnding, summary: &Summary) -> Exit {
    match ending {
        LoadEnding::Broke(_) | LoadEnding::Stopped(StopReason::Failure(_)) => return Exit::Broken,
        LoadEnding::Stopped(StopReason::User) => return Exit::Interrupted,
        LoadEnding::Stopped(StopReason::Script(_)) => return Exit::Usage,
        LoadEnding::Stopped(StopReason::Threshold(_) | StopReason::SetUp(_)) | LoadEnding::Completed => {}
    }
    if nothing_answered(summary) {
        Exit::Unreachable
    } else if matches!(ending, LoadEnding::Stopped(StopReason::SetUp(_))) {
        Exit::SetUpFailed
    } else if summary.verdict.validity.grade == Grade::Invalid {
        Exit::Invalid
    } else if summary.verdict.thresholds_failed() {
        Exit::ThresholdsFailed
    } else if summary.verdict.thresholds_undecided() {
        Exit::Invalid
    } else {
        Exit::Passed
    }
}

/// Requests were sent, and none reached the target.
fn nothing_answered(summary: &Summary) -> bool {
    let unreached = |outcome: &Outcome| matches!(outcome, Outcome::Dns | Outcome::Refused | Outcome::Connect | Outcome::Tls);
    let outcomes = || summary.requests.iter().flat_map(|row| &row.outcomes).filter(|(_, count)| *count > 0).map(|(outcome, _)| outcome);
    // Steps on a connection that did not open were not sent.
    outcomes().any(unreached) && outcomes().all(|outcome| unreached(outcome) || *outcome == Outcome::NotConnected)
}

/// Headers of outputs carry keys under any name. A destination may echo them in its errors.
fn learn_header_value(secrets: &Secrets, value: &str) {
    secrets.learn_later(value);
    if let Some((_scheme, credentials)) = value.split_once(' ') {
        secrets.learn_later(credentials);
    }
}
