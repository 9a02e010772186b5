//! The search loop: probes until the answer is precise enough, the time limit is reached, or Ctrl-C.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use loadstone_analysis::{
    Capacity, CapacityEnd, CapacityProbe, CapacitySettings, CapacityStep, CapacityVerdict, ProbeLean, ProbeReason, next_step,
};
use loadstone_metrics::clock::Monotonic;
use loadstone_plan::{Load, Threshold};
use loadstone_report::terminal::ColorChoice;

use super::load::TestLoad;
use super::probe::{ProbeEnd, ProbeSetting};
use super::stored::{self, StoredSearch};
use crate::exit::{Exit, UsageError};
use crate::interrupt::Interrupts;
use crate::prose;
use crate::series::{RunSource, Series, name_of};
use crate::terminal_progress::TerminalProgress;
use crate::watched::{ProgressLines, WatchedArgs, WorkProgress};

/// The ramp that looks for the cause begins at this share of its peak. The peak is the test's own load, within these multiples of the capacity,
/// so that requests wait for a part of the ramp.
const RAMP_START_SHARE: f64 = 0.1;
const RAMP_PEAK_FACTORS: (f64, f64) = (1.5, 4.0);
/// Maximum time to wait for a system to drain. Seconds.
const DRAIN_MAX_S: f64 = 60.0;

/// The parameters of a search.
pub(crate) struct CapacityRequest<'a> {
    pub(crate) source: RunSource<'a>,
    pub(crate) objectives: Vec<Threshold>,
    pub(crate) settings: CapacitySettings,
    pub(crate) load: TestLoad,
    /// Length of the ramp that looks for the cause if no probe shows one; 0 for none. Its time is not part of the settings' budget.
    pub(crate) ramp_seconds: f64,
    /// Name of the test, and digest of its script.
    pub(crate) test: String,
    pub(crate) script: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) runs: PathBuf,
    pub(crate) quiet: bool,
    pub(crate) color: ColorChoice,
    pub(crate) watched: WatchedArgs,
}

/// A search in progress.
pub(crate) struct CapacitySearch<'a> {
    request: CapacityRequest<'a>,
    folder: PathBuf,
    probes: Vec<CapacityProbe>,
    ramp: Option<CapacityProbe>,
}

impl<'a> CapacitySearch<'a> {
    /// A new search, in a new folder.
    pub(crate) fn begin(request: CapacityRequest<'a>) -> anyhow::Result<Self> {
        let folder = stored::make(&request.runs, &request.test)?;
        Ok(Self { request, folder, probes: Vec::new(), ramp: None })
    }

    /// The newest search of this test, resumed where it stopped.
    pub(crate) fn resume(request: CapacityRequest<'a>) -> anyhow::Result<Self> {
        let (folder, stored) = stored::newest(&request.runs, &request.test)?;
        let differs = |what: &str| {
            let problem = format!("--resume: {} used {what}: start a new search without --resume", folder.display());
            Err(UsageError(problem).into())
        };
        if stored.capacity.objectives != request.labels() {
            return differs("other objectives");
        }
        if stored.script != request.script {
            return differs("another version of the script");
        }
        if stored.settings.unit != request.settings.unit {
            return differs("another kind of load");
        }
        Ok(Self { request, folder, probes: stored.capacity.probes, ramp: None })
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// Runs the search to its end. The folder holds the current result after every probe.
    pub(crate) fn run(&mut self) -> anyhow::Result<(Capacity, Exit)> {
        let interrupts = Interrupts::listen(self.request.watched.is_watched())?;
        let mut lines = self.request.watched.lines()?;
        let _proxies = self.request.source.proxies()?;
        self.announce();
        loop {
            let (load, seconds, reason) = match next_step(&self.request.settings, &self.probes) {
                CapacityStep::Probe { load, seconds, reason } => (load, seconds, reason),
                CapacityStep::End(end) => {
                    self.explain(&interrupts, &mut lines)?;
                    return self.ended(Some(end));
                }
            };
            self.announce_probe(load, seconds, reason, &mut lines);
            match self.probe(load, self.request.load.at(load, seconds), seconds, &interrupts)? {
                ProbeEnd::Done(mut probe) => {
                    self.say(&format!("  {}", loadstone_report::capacity::probe_line(self.request.settings.unit, &probe)));
                    probe.cost_seconds += self.drain(&probe, &interrupts);
                    self.probes.push(*probe);
                    self.keep(None)?;
                }
                ProbeEnd::Interrupted => return self.ended(None),
                ProbeEnd::Stopped(exit) => return Ok((self.result(None), exit)),
            }
            if interrupts.heard() {
                return self.ended(None);
            }
        }
    }

    /// A constant load shows whether the objectives hold, and seldom why they fail. If no probe has a finding, a ramp through the capacity has
    /// the contrast between low and high load that the rules need.
    fn explain(&mut self, interrupts: &Interrupts, lines: &mut ProgressLines) -> anyhow::Result<()> {
        let (seconds, unit) = (self.request.ramp_seconds, self.request.settings.unit);
        let result = self.result(None);
        let Some(capacity) = result.capacity.filter(|_| result.limited_by.is_none() && seconds > 0.0) else { return Ok(()) };
        let (low, high) = RAMP_PEAK_FACTORS;
        let peak = self.request.load.level.clamp(low * capacity.value, high * capacity.value);
        let to = unit.rounded(peak.min(self.request.settings.most));
        let from = unit.rounded(RAMP_START_SHARE * to);
        let length = loadstone_units::seconds(seconds);
        let what = format!("Ramp, for the cause: {} to {} over {length}", unit.words(from), unit.words(to));
        self.say(&what);
        let spent: f64 = self.probes.iter().map(|probe| probe.cost_seconds).sum();
        lines.report(&WorkProgress::of(what, (spent, seconds), Some(&name_of(&self.folder))));
        if let ProbeEnd::Done(ramp) = self.probe(to, self.request.load.ramp((from, to), seconds), seconds, interrupts)? {
            self.say(&format!("  {}", ramp.findings.first().map_or("no cause was found", String::as_str)));
            self.ramp = Some(*ramp);
        }
        Ok(())
    }

    /// `level`: the highest load of the probe.
    fn probe(&self, level: f64, load: Load, seconds: f64, interrupts: &Interrupts) -> anyhow::Result<ProbeEnd> {
        let CapacityRequest { source, objectives, tags, .. } = &self.request;
        let mut series = Series { source, folder: self.folder.clone(), interrupts: interrupts.clone() };
        let quiet = self.request.quiet || !std::io::stderr().is_terminal();
        let mut terminal = TerminalProgress::new(quiet, self.request.color);
        let setting = ProbeSetting { objectives, tags };
        setting.run(&mut series, (level, load), seconds, &mut [&mut terminal])
    }

    fn ended(&self, end: Option<CapacityEnd>) -> anyhow::Result<(Capacity, Exit)> {
        let capacity = self.keep(end)?;
        stored::write_page(&self.folder, &capacity)?;
        let exit = match (end, capacity.verdict) {
            (None, _) => Exit::Interrupted,
            (_, CapacityVerdict::CannotTell) => Exit::Invalid,
            (_, CapacityVerdict::Below) => Exit::ThresholdsFailed,
            _ => Exit::Passed,
        };
        Ok((capacity, exit))
    }

    fn result(&self, end: Option<CapacityEnd>) -> Capacity {
        let capacity = Capacity::of(&self.request.test, &self.request.settings, &self.request.labels(), &self.probes, end);
        match &self.ramp {
            Some(ramp) => capacity.explained_by(ramp),
            None => capacity,
        }
    }

    fn keep(&self, end: Option<CapacityEnd>) -> anyhow::Result<Capacity> {
        let capacity = self.result(end);
        let stored = StoredSearch { capacity, settings: self.request.settings.clone(), script: self.request.script.clone() };
        stored.write(&self.folder)?;
        Ok(stored.capacity)
    }

    /// Waits until the system has finished the work that the load left behind, plus a margin. Returns the seconds waited.
    fn drain(&self, probe: &CapacityProbe, interrupts: &Interrupts) -> f64 {
        let left = if probe.lean == ProbeLean::Holds { 0.0 } else { probe.reading.backlog / probe.reading.throughput.max(1e-9) };
        let wait = self.request.settings.pause_seconds + left.min(DRAIN_MAX_S);
        let clock = Monotonic::start();
        while (clock.now() as f64) < wait * 1e9 && !interrupts.heard() {
            std::thread::sleep(Duration::from_millis(50));
        }
        clock.now() as f64 / 1e9
    }

    fn announce(&self) {
        let settings = &self.request.settings;
        let (spent, left) = self.spent_and_left();
        self.say(&format!(
            "Searching for the highest load at which {} {}: about {}, at most {}.{}",
            self.request.labels().join(" and "),
            if self.request.objectives.len() == 1 { "holds" } else { "hold" },
            loadstone_units::seconds(left.round()),
            loadstone_units::seconds((settings.budget_seconds - spent).max(0.0).round() + self.request.ramp_seconds),
            if self.probes.is_empty() {
                String::new()
            } else {
                format!(" {} so far.", loadstone_units::counted(self.probes.len() as u64, "probe"))
            }
        ));
        self.say(&format!("Every probe is a run in {}; Ctrl-C keeps the results, --resume continues.\n", self.folder.display()));
    }

    fn announce_probe(&self, load: f64, seconds: f64, reason: ProbeReason, lines: &mut ProgressLines) {
        let (spent, left) = self.spent_and_left();
        let why = match reason {
            ProbeReason::Ladder => "bracketing",
            ProbeReason::Narrow => "narrowing",
            ProbeReason::Confirm => "confirming",
        };
        let words = self.request.settings.unit.words(load);
        let what = format!("Probe {}, {why}: {words} for {}", self.probes.len() + 1, loadstone_units::seconds(seconds));
        self.say(&format!("{what}; at most {} left", loadstone_units::seconds((self.request.settings.budget_seconds - spent).round())));
        // The result is written after each probe.
        let answer = (!self.probes.is_empty()).then(|| name_of(&self.folder));
        lines.report(&WorkProgress::of(what, (spent, left), answer.as_deref()));
    }

    /// Seconds. The remaining time is what a search usually takes, and at least one probe.
    fn spent_and_left(&self) -> (f64, f64) {
        let settings = &self.request.settings;
        let spent: f64 = self.probes.iter().map(|probe| probe.cost_seconds).sum();
        (spent, (settings.usual_seconds() - spent).max(settings.probe_seconds))
    }

    /// This output is optional: a closed standard error must not stop the search.
    fn say(&self, text: &str) {
        if !self.request.quiet {
            prose::line(text);
        }
    }
}

impl CapacityRequest<'_> {
    fn labels(&self) -> Vec<String> {
        self.objectives.iter().map(|objective| objective.label.clone()).collect()
    }
}
