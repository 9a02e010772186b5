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
use crate::flags::OutputArgs;
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
}

/// All subscribers of a run.
pub(crate) type Following<'a> = [&'a mut dyn Subscriber];

/// The result of a session. The outer error means that the load could not be prepared, so none was sent.
pub(crate) type Performed = anyhow::Result<Result<FinishedRun, SessionError>>;

/// Converts a summary (JSON) to files and their contents.
pub(crate) type Summarize<'a> = dyn Fn(&str) -> anyhow::Result<Vec<(String, String)>> + 'a;

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
        let mut guard = self.stops_with_stdin.then(StdinGuard::default);

        let mut subscribers: Vec<&mut dyn Subscriber> = Vec::new();
        subscribers.extend(page.as_mut().map(|page| page as &mut dyn Subscriber));
        subscribers.extend([&mut outputs as &mut dyn Subscriber, &mut terminal, &mut interrupts]);
        subscribers.extend(guard.as_mut().map(|guard| guard as &mut dyn Subscriber));
        let FinishedRun { directory, ending, failure } = match run(session, &mut subscribers)? {
            Err(SessionError::Unreachable(problem)) => return exit::unreachable(&problem, secrets),
            finished => finished?,
        };

        let run = Reader::open(&directory).and_then(Reader::run)?;
        let summary = loadstone_analysis::conclude(&run);
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
        let summarized = self.write_own(&summary);
        places.extend(summarized.iter().flatten().map(|file| ("Written", file.clone())));
        self.show(&run, &summary, &places)?;
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        written?;
        summarized?;
        let compared = match &compared {
            Some(compared) => comparison::report(compared, self.output, self.color)?,
            None => Exit::Passed,
        };
        Ok(match exit_of(&ending, &summary) {
            Exit::Passed if run.info.file.is_none() && nothing_passed(&summary) => {
                // The summary shows the failures. This line names the reason of the exit code.
                let _ = writeln!(
                    std::io::stderr(),
                    "Every request failed, and no threshold was set: exit code 3. Set one, such as --threshold 'failures<1%'."
                );
                Exit::ThresholdsFailed
            }
            Exit::Passed => compared,
            other => other,
        })
    }

    /// Writes the files that the test itself derives from its summary. Returns their names.
    fn write_own(&self, summary: &Summary) -> anyhow::Result<Vec<String>> {
        let Some(summarize) = self.summarize else { return Ok(Vec::new()) };
        let files = summarize(&loadstone_report::summary_json(summary))?;
        for (file, text) in &files {
            std::fs::write(file, text).with_context(|| format!("summarize(…): cannot write {file}"))?;
        }
        Ok(files.into_iter().map(|(file, _)| file).collect())
    }

    fn show(&self, run: &Run, summary: &Summary, places: &[(&str, String)]) -> anyhow::Result<()> {
        let mut stdout = std::io::stdout();
        if self.output.json {
            stdout.write_all(loadstone_report::summary_json(summary).as_bytes())?;
            return Ok(());
        }
        let style = Style::detect(self.color, stdout.is_terminal());
        let (state, state_detail) = RunState::of(run.end.as_ref());
        let closing =
            Closing { state, state_detail, places, columns: self.output.columns.clone().unwrap_or_default(), shows_all: self.output.all };
        stdout.write_all(loadstone_report::terminal::summary(summary, &closing, &style).as_bytes())?;
        Ok(())
    }
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
    summary.totals.requests > 0
        && summary.requests.iter().flat_map(|row| &row.outcomes).all(|(outcome, count)| *count == 0 || unreached(outcome))
}

/// Requests were sent, every one failed, and no threshold judges that.
fn nothing_passed(summary: &Summary) -> bool {
    summary.verdict.thresholds.is_empty() && summary.totals.requests > 0 && summary.totals.requests_failed == summary.totals.requests
}

/// Headers of outputs carry keys under any name. A destination may echo them in its errors.
fn learn_header_value(secrets: &Secrets, value: &str) {
    secrets.learn_later(value);
    if let Some((_scheme, credentials)) = value.split_once(' ') {
        secrets.learn_later(credentials);
    }
}
