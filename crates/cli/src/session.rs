//! One run from start to verdict: the coordinator's events go to the disk, to the live judgement and to the terminal; at the end the
//! run is read back from its directory and concluded.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use analysis::{Grade, LiveAnalysis, Summary, ThresholdFailure};
use anyhow::Context;
use engine::{Coordinator, DescriptorTables, LoadControl, LoadEnding, LoadEvent, LoadHandle, StopReason, UserFactory, WorkerContext};
use metrics::clock::Monotonic;
use metrics::{Mark, MarkKind, Nanos, Outcome, Snapshot};
use observe::Observer;
use plan::TestPlan;
use protocol::NetworkOptions;
use report::RunState;
use report::terminal::{Closing, Progress, ProgressMode, Screen, Style};
use run_directory::{Reader, RunEnd, RunInfo, Writer};
use script::Stubs;
use secrets::Secrets;

use crate::args::OutputArgs;
use crate::conclusions::Conclusions;
use crate::console::Console;
use crate::exit::{self, Exit, UsageError};
use crate::interrupt;
use crate::journeys::Journeys;
use crate::live_page::LivePage;
use crate::machine;
use crate::outgoing::Outgoing;
use crate::preflight;
use crate::room;
use crate::signals::{Readings, Signals};
use crate::starter::Starter;
use crate::stub_signals::{self, StubSignals};

/// What a run needs besides its plan and its users.
pub(crate) struct Session<'a> {
    pub(crate) plan: TestPlan,
    /// How its target is reached.
    pub(crate) network: NetworkOptions,
    /// What the plan's descriptions of observers mean.
    pub(crate) observers: Vec<Observer>,
    /// Serving already.
    pub(crate) stubs: Option<Rc<Stubs>>,
    /// The script as given; `None` without one.
    pub(crate) file: Option<String>,
    pub(crate) workers: u32,
    pub(crate) tags: Vec<String>,
    /// The run ends when standard input does.
    pub(crate) stops_with_stdin: bool,
    pub(crate) output: &'a OutputArgs,
    pub(crate) color: report::terminal::ColorChoice,
    /// Lines that scripts print.
    pub(crate) console: Console,
}

impl Session<'_> {
    /// Makes the load and everything that follows from it. Returns how the command ends; errors come out without secrets.
    pub(crate) fn perform<C: UserFactory>(
        self,
        make_factory: impl Fn(&WorkerContext) -> Result<C, String> + Send + Sync,
    ) -> anyhow::Result<Exit> {
        let mask = self.plan.all_secrets();
        self.perform_masked(&mask, make_factory).map_err(|error| exit::hiding(&mask, error))
    }

    fn perform_masked<C: UserFactory>(
        mut self,
        mask: &Secrets,
        make_factory: impl Fn(&WorkerContext) -> Result<C, String> + Send + Sync,
    ) -> anyhow::Result<Exit> {
        let tables = room::tables(&self.plan.load, self.workers, machine::raise_descriptor_limit())?;
        if let Some(exit) = preflight_or_exit(&self.plan, &self.network)? {
            return Ok(exit);
        }
        let scratch = if self.output.no_save { Some(ScratchFolder::new()?) } else { None };
        let folder = scratch.as_ref().map_or(self.output.runs.as_path(), |scratch| scratch.path.as_path());
        let info = self.info();
        let writer = Writer::create(folder, info, &self.plan)?;
        let directory = writer.directory().to_owned();
        let shown = self.plan.hiding(mask);
        let mut page = if self.output.live { Some(LivePage::start(writer.info(), &shown)?) } else { None };
        let outgoing = self.outgoing(&writer, &shown)?;
        let (ending, trouble) = self.load(mask, writer, page.as_mut(), outgoing, tables, make_factory)?;
        let run = Reader::open(&directory).and_then(Reader::run)?;
        let summary = analysis::conclude(&run);
        if let Some(page) = page {
            page.finish(&run, &summary);
        }
        let kept = scratch.is_none().then_some(directory.as_path());
        let written = Conclusions::of(&run, &summary).write_all(kept, self.output);
        let places = match &written {
            Ok(places) => places.clone(),
            Err(problem) => vec![("Not written", problem.to_string())],
        };
        self.show(&run, &summary, &places)?;
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        written?;
        Ok(exit(&ending, &summary))
    }

    /// The outputs asked for. A run that cannot have them does not begin, and leaves nothing behind.
    fn outgoing(&self, writer: &Writer, shown: &TestPlan) -> Result<Option<Outgoing>, UsageError> {
        let started = Outgoing::start(self.output, writer.info(), shown);
        // What cannot be deleted is an empty run, which harms nobody.
        started.inspect_err(|_| _ = std::fs::remove_dir_all(writer.directory()))
    }

    fn info(&self) -> RunInfo {
        RunInfo {
            format: 0,
            id: String::new(),
            loadstone: env!("CARGO_PKG_VERSION").to_owned(),
            started: now().strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
            file: self.file.clone(),
            workers: self.workers,
            host: machine::facts(),
            tags: self.tags.clone(),
        }
    }

    /// Runs the load. What went wrong on the way but did not stop the conclusions comes second.
    fn load<C: UserFactory>(
        &mut self,
        mask: &Secrets,
        writer: Writer,
        page: Option<&mut LivePage>,
        outgoing: Option<Outgoing>,
        tables: DescriptorTables,
        make_factory: impl Fn(&WorkerContext) -> Result<C, String> + Send + Sync,
    ) -> anyhow::Result<(LoadEnding, Option<anyhow::Error>)> {
        let monotonic = Monotonic::start();
        let plan = Arc::new(self.plan.clone());
        let mut coordinator = Coordinator::new(Arc::clone(&plan), self.workers, monotonic).with_tables(tables);
        if !plan.flows.is_empty() {
            coordinator = coordinator.lingering();
        }
        interrupt::watch(coordinator.handle()).context("Ctrl-C cannot be watched")?;
        let stderr = std::io::stderr();
        let terminal = stderr.is_terminal();
        let pace = if self.output.quiet { ProgressMode::Quiet } else { ProgressMode::detect(terminal) };
        let style = Style::detect(self.color, terminal);
        let signals = self.signals(monotonic)?;
        let shown = plan.hiding(mask);
        let mut watch = Watch {
            mask,
            live: LiveAnalysis::new(&shown, &writer.info().host),
            writer,
            progress: Progress::new(&shown),
            screen: if terminal { Screen::on_terminal(stderr, pace, style) } else { Screen::new(stderr, pace, style) },
            console: &self.console,
            page,
            outgoing,
            signals,
            stubs: self.stubs.clone(),
            journeys: Journeys::new(&plan, self.stubs.clone()),
            closed: false,
            next_slice: 0,
            controller: coordinator.handle(),
            starter: self.stops_with_stdin.then(Starter::watch).transpose()?,
            trouble: None,
        };
        let ending = coordinator.run(make_factory, |event| match event {
            LoadEvent::Snapshot(mut snapshot) => watch.slice(&mut snapshot, false),
            LoadEvent::LastSnapshot(mut snapshot) => watch.slice(&mut snapshot, true),
            LoadEvent::LoadEnded { at } => {
                watch.journeys.load_ended(at);
                None
            }
            LoadEvent::LeafBegan { .. } | LoadEvent::LeafEnded { .. } => None,
        });
        watch.close(monotonic.now());
        let rest = watch.signals.finish();
        // No slice follows, so nothing is left to be stopped.
        let _ = watch.observed(&rest);
        watch.console_lines();
        for loss in watch.outgoing.take().map(Outgoing::finish).unwrap_or_default() {
            watch.say(&format!("warning: {loss}"));
        }
        let _ = watch.screen.finish();
        let finished = watch.writer.finish(&end_of(&ending));
        let trouble = watch.trouble.or(finished.err().map(anyhow::Error::from));
        let trouble = match &ending {
            LoadEnding::Broke(problem) => Some(anyhow::anyhow!("{problem}")),
            _ => trouble,
        };
        Ok((ending, trouble))
    }

    fn signals(&mut self, monotonic: Monotonic) -> anyhow::Result<Signals> {
        let mut signals = Signals::start(&self.plan, std::mem::take(&mut self.observers), monotonic)?;
        if let Some(stubs) = &self.stubs {
            stubs.begin(monotonic);
            signals.add(StubSignals::new(Rc::clone(stubs)));
        }
        Ok(signals)
    }

    fn show(&self, run: &run_directory::Run, summary: &Summary, places: &[(&str, String)]) -> anyhow::Result<()> {
        let mut stdout = std::io::stdout();
        if self.output.json {
            stdout.write_all(report::summary_json(summary).as_bytes())?;
            return Ok(());
        }
        let style = Style::detect(self.color, stdout.is_terminal());
        let (state, state_detail) = RunState::of(run.end.as_ref());
        let closing = Closing { state, state_detail, places };
        stdout.write_all(report::terminal::summary(summary, &closing, &style).as_bytes())?;
        Ok(())
    }
}

/// Follows the coordinator. What comes to it from the load is masked before anything else sees it.
struct Watch<'a, W: Write> {
    mask: &'a Secrets,
    writer: Writer,
    live: LiveAnalysis,
    progress: Progress,
    screen: Screen<W>,
    console: &'a Console,
    page: Option<&'a mut LivePage>,
    outgoing: Option<Outgoing>,
    signals: Signals,
    stubs: Option<Rc<Stubs>>,
    journeys: Journeys,
    /// The last slice has been seen.
    closed: bool,
    next_slice: u32,
    controller: LoadHandle,
    /// Whose end ends the run.
    starter: Option<Starter>,
    trouble: Option<anyhow::Error>,
}

impl<W: Write> Watch<'_, W> {
    fn slice(&mut self, snapshot: &mut Snapshot, is_last: bool) -> Option<LoadControl> {
        let was_well = self.trouble.is_none();
        (self.closed, self.next_slice) = (is_last, snapshot.slice + 1);
        let mut readings = self.signals.take();
        self.journeys.take(std::mem::take(&mut readings.flow_events));
        if let Some(stubs) = self.stubs.clone().filter(|_| is_last) {
            for text in stub_signals::unmatched(&stubs.recordings()) {
                self.say(&format!("warning: {text}"));
                snapshot.marks.push(Mark { at: snapshot.end, kind: MarkKind::Warning, text });
            }
        }
        let is_drained = self.journeys.slice(snapshot, is_last);
        snapshot.marks.extend(readings.marks());
        if let Cow::Owned(masked) = Snapshot::hiding(Cow::Borrowed(snapshot), self.mask) {
            *snapshot = masked;
        }
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.second(snapshot, &readings.series);
        }
        let orphaned = self.orphaned(snapshot);
        let mut failed = self.observed(&readings);
        failed.extend(self.live.push(snapshot));
        self.progress.push(snapshot);
        self.progress.judge(&self.live.validity(), &self.live.status().thresholds);
        if let Some(page) = &mut self.page {
            for control in page.slice(snapshot, &self.live) {
                self.controller.send(control);
            }
        }
        self.console_lines();
        let _ = self.screen.draw(&self.progress, snapshot.end);
        let written = self.writer.snapshot(snapshot);
        self.written(written);
        if was_well && let Some(problem) = &self.trouble {
            return Some(LoadControl::Halt(StopReason::Failure(problem.to_string())));
        }
        if orphaned {
            return Some(LoadControl::Stop(StopReason::User));
        }
        let Some(abort) = failed.into_iter().find(|change| change.abort) else { return is_drained.then_some(LoadControl::Release) };
        Some(LoadControl::Stop(StopReason::Threshold(abort.result.threshold.label)))
    }

    /// Whether the program that started the run has just ended; that becomes a mark.
    fn orphaned(&mut self, snapshot: &mut Snapshot) -> bool {
        let gone = self.starter.as_mut().is_some_and(Starter::has_gone);
        if gone {
            self.say(Starter::GONE);
            snapshot.marks.push(Mark { at: snapshot.end, kind: MarkKind::Stopped, text: Starter::GONE.to_owned() });
        }
        gone
    }

    /// What is left of the journeys when the workers broke before their last slice.
    fn close(&mut self, at: Nanos) {
        if !self.closed {
            let _ = self.slice(&mut Snapshot { slice: self.next_slice, start: at, end: at, ..Snapshot::default() }, true);
        }
    }

    /// Passes on what observers and stubs read; returns thresholds that have just become certain to fail.
    fn observed(&mut self, readings: &Readings) -> Vec<ThresholdFailure> {
        let written = self.writer.signals(&readings.series);
        self.written(written);
        for notice in &readings.notices {
            self.live.push_notice(notice);
            let written = self.writer.notice(notice);
            self.written(written);
            self.say(&format!("warning: {}", notice.message));
        }
        if let Some(page) = &mut self.page {
            page.signals(&readings.series);
        }
        self.live.push_signals(&readings.series)
    }

    /// Remembers the first time that the disk refused.
    fn written(&mut self, written: Result<(), run_directory::RunError>) {
        if let Err(error) = written
            && self.trouble.is_none()
        {
            self.trouble = Some(anyhow::anyhow!("the run directory cannot be written: {error}"));
        }
    }

    fn say(&mut self, line: &str) {
        let line = self.mask.hide(line);
        let _ = self.screen.message(&line);
        let _ = self.writer.console(&line);
    }

    fn console_lines(&mut self) {
        for line in self.console.take() {
            self.say(&line);
        }
    }
}

/// As the run directory keeps it.
fn end_of(ending: &LoadEnding) -> RunEnd {
    match ending {
        LoadEnding::Completed => RunEnd::Completed,
        LoadEnding::Stopped(StopReason::User) => RunEnd::Interrupted,
        LoadEnding::Stopped(StopReason::Threshold(label)) => RunEnd::Aborted(format!("threshold failed: {label}")),
        LoadEnding::Stopped(StopReason::Failure(problem)) => RunEnd::Failed(problem.clone()),
        LoadEnding::Broke(error) => RunEnd::Failed(error.to_string()),
    }
}

/// The documented order: a run that did not happen, then one cut short, then one that cannot be trusted, then its objectives.
fn exit(ending: &LoadEnding, summary: &Summary) -> Exit {
    match ending {
        LoadEnding::Broke(_) | LoadEnding::Stopped(StopReason::Failure(_)) => return Exit::Broken,
        LoadEnding::Stopped(StopReason::User) => return Exit::Interrupted,
        LoadEnding::Stopped(StopReason::Threshold(_)) | LoadEnding::Completed => {}
    }
    if nothing_answered(summary) {
        Exit::Unreachable
    } else if summary.verdict.validity.grade == Grade::Invalid {
        Exit::Invalid
    } else if summary.verdict.thresholds_failed() {
        Exit::ThresholdsFailed
    } else {
        Exit::Passed
    }
}

/// Requests were made, and not one reached the target.
fn nothing_answered(summary: &Summary) -> bool {
    let unreached = |outcome: &Outcome| matches!(outcome, Outcome::Dns | Outcome::Refused | Outcome::Connect | Outcome::Tls);
    summary.totals.requests > 0
        && summary.requests.iter().flat_map(|row| &row.outcomes).all(|(outcome, count)| *count == 0 || unreached(outcome))
}

/// Looks whether the target is there; if not, says so, and how the command ends.
pub(crate) fn preflight_or_exit(plan: &TestPlan, network: &NetworkOptions) -> anyhow::Result<Option<Exit>> {
    match preflight::reach(plan, network) {
        Ok(()) => Ok(None),
        Err(problem) => {
            writeln!(std::io::stderr(), "error: {}", plan.all_secrets().hide(&problem))?;
            Ok(Some(Exit::Unreachable))
        }
    }
}

/// A folder that is gone when the run is over.
struct ScratchFolder {
    path: PathBuf,
}

impl ScratchFolder {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("loadstone-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("{} cannot be made", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A path as short as it can be written from here.
pub(crate) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}

/// The time of day on this machine's clock, in its own time zone.
fn now() -> jiff::Zoned {
    let since_1970 = jiff::Timestamp::from_nanosecond(metrics::clock::wall_ns().into());
    since_1970.unwrap_or_default().to_zoned(jiff::tz::TimeZone::system())
}
