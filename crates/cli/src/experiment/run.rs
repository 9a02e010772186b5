//! The experiment loop: set the knob, run load and read the run until the result is clear, then restore the first value.

use std::path::PathBuf;

use loadstone_analysis::{ExperimentStop, Finding, KnobScale, KnobTrial, NextBlock, TrialSettings, TrialValue};
use loadstone_metrics::clock::Monotonic;
use loadstone_plan::TestPlan;
use loadstone_run_directory::Reader;
use loadstone_script::{Knob, KnobChange, Loaded};
use loadstone_session::{LoadEnding, StopReason};

use super::guardian::Guardian;
use super::progress::{ExperimentProgress, rough};
use super::record::ExperimentRecord;
use super::turn::TurnedKnob;
use crate::exit::{SetUpError, UsageError};
use crate::interrupt::Interrupts;
use crate::script_run;
use crate::series::{RunSource, Series, SeriesRun, TargetUnreachable};
use crate::watched::{ProgressLines, WatchedArgs, WorkProgress};

/// The parameters of an experiment.
pub(crate) struct ExperimentRun<'a> {
    pub(crate) source: RunSource<'a>,
    pub(crate) plan: TestPlan,
    /// Overrides the plan's.
    pub(crate) seed: Option<u64>,
    /// The file that declares the knobs, read once.
    pub(crate) loaded: Loaded,
    pub(crate) knob: Knob,
    pub(crate) block_seconds: u64,
    pub(crate) rounds_max: usize,
    pub(crate) effect: f64,
    pub(crate) measure: Option<(loadstone_analysis::ComparedMetric, Option<String>)>,
    pub(crate) finding: Option<Finding>,
    /// Folder of run directories.
    pub(crate) runs: PathBuf,
    pub(crate) quiet: bool,
    /// Arguments of this binary that restore the knob, in case this process is killed.
    pub(crate) puts_back: Option<Vec<String>>,
    pub(crate) watched: WatchedArgs,
}

/// How the experiment ended.
pub(crate) struct ExperimentEnd {
    pub(crate) experiment: loadstone_analysis::Experiment,
    pub(crate) record: ExperimentRecord,
    /// The error that ended it. The results until then are stored.
    pub(crate) failure: Option<anyhow::Error>,
}

/// Sets a knob to its first value, and does nothing else.
pub(crate) fn put_back(loaded: &Loaded, knob: &Knob) -> anyhow::Result<()> {
    TurnedKnob::new(knob.clone(), loaded.folder().to_owned(), Vec::new(), loaded.plan.all_secrets())?.put_back()
}

impl ExperimentRun<'_> {
    pub(crate) fn perform(self) -> anyhow::Result<ExperimentEnd> {
        let duration_ns = self.block_seconds * 1_000_000_000;
        self.plan.steady_load(duration_ns).map_err(|problem| UsageError(problem.to_string()))?;
        let secrets = self.plan.all_secrets();
        let interrupts = Interrupts::listen(self.watched.is_watched())?;
        let proxies = script_run::start_proxies(&self.loaded)?;
        let record = ExperimentRecord::create(&self.runs, &self.plan.name, &self.knob.name)?;
        let guardian = self.puts_back.as_ref().map(|arguments| Guardian::start(arguments)).transpose()?;
        let mut turned = TurnedKnob::new(self.knob.clone(), self.loaded.folder().to_owned(), proxies, secrets)?;
        let series = Series { source: &self.source, folder: record.directory().to_owned(), interrupts: interrupts.clone() };
        let mut blocks = Blocks {
            asked: &self,
            trial: KnobTrial::new(self.settings()),
            series,
            progress: ExperimentProgress::new(self.quiet, self.block_seconds),
            lines: self.watched.lines()?,
            answer: record.answer(),
            interrupts,
        };
        let ended = blocks.run(&mut turned, &record);
        blocks.progress.erase();
        let restored = turned.restore();
        guardian.into_iter().for_each(Guardian::dismiss);
        let stop = match &ended {
            Ok(()) if blocks.interrupts.heard() && blocks.trial.stop() == ExperimentStop::Running => Some(ExperimentStop::Interrupted),
            Ok(()) => None,
            Err(problem) => Some(ExperimentStop::Failed(format!("{problem:#}"))),
        };
        let experiment = blocks.trial.experiment(stop);
        record.write(&experiment)?;
        record.write_page(&experiment)?;
        let failure = match (ended, restored) {
            (Ok(()), restored) => restored.map_err(|problem| problem.context(self.not_put_back())).err(),
            (Err(problem), Ok(())) => Some(problem),
            (Err(problem), Err(more)) => Some(problem.context(format!("{}: {more:#}", self.not_put_back()))),
        };
        Ok(ExperimentEnd { experiment, record, failure })
    }

    fn not_put_back(&self) -> String {
        format!("\"{}\" was NOT restored to {}", self.knob.name, self.knob.values[0].label)
    }

    fn settings(&self) -> TrialSettings {
        TrialSettings {
            test: self.plan.name.clone(),
            knob: self.knob.name.clone(),
            values: self.knob.values.iter().map(|value| TrialValue { label: value.label.clone(), scale: scale(value) }).collect(),
            block_seconds: self.block_seconds as usize,
            rounds_max: self.rounds_max,
            effect: self.effect,
            measure: self.measure.clone(),
            finding: self.finding.clone(),
        }
    }
}

/// The amount of a change is only known for a delay that Loadstone itself adds, or if the test states it.
fn scale(value: &loadstone_script::KnobValue) -> KnobScale {
    let delays = value.changes.iter().map(|change| match change {
        KnobChange::Proxy { delay_ns, bytes_per_second: None, resets, .. } if *resets == 0.0 => Some(*delay_ns as f64 / 1e9),
        _ => None,
    });
    match (delays.collect::<Option<Vec<f64>>>().as_deref(), value.amount) {
        (Some([seconds]), _) => KnobScale::Delay(*seconds),
        (_, Some(amount)) => KnobScale::Amount(amount),
        _ => KnobScale::Words,
    }
}

fn labels(knob: &Knob) -> String {
    knob.values.iter().map(|value| value.label.as_str()).collect::<Vec<_>>().join(", ")
}

struct Blocks<'a> {
    asked: &'a ExperimentRun<'a>,
    trial: KnobTrial,
    series: Series<'a>,
    progress: ExperimentProgress,
    lines: ProgressLines,
    /// Path of the record below the folder of runs.
    answer: String,
    interrupts: Interrupts,
}

impl Blocks<'_> {
    /// Runs until the result is clear or the user interrupts.
    fn run(&mut self, turned: &mut TurnedKnob, record: &ExperimentRecord) -> anyhow::Result<()> {
        let knob = &self.asked.knob;
        let clock = Monotonic::start();
        let mut ran = 0u32;
        let round = knob.values.len() as f64 * (self.asked.block_seconds + 1) as f64;
        let (least, most) = (rough(4.0 * round), rough(self.asked.rounds_max as f64 * round));
        self.progress.line(&format!(
            "{}: {}. At least 4 rounds ({least}), at most {} ({most})",
            knob.name,
            labels(knob),
            self.asked.rounds_max
        ));
        while let Some(next) = self.trial.next() {
            let label = knob.values[next.value].label.as_str();
            self.progress.block(next, (&knob.name, label));
            self.watched(next, label, (clock.now() as f64 / 1e9, ran));
            let interrupts = self.interrupts.clone();
            turned.turn(next.value, &|| interrupts.heard())?;
            if self.interrupts.heard() {
                return Ok(());
            }
            if !self.block(next, label)? {
                return Ok(());
            }
            ran += 1;
            self.report_round(next, record, clock.now() as f64 / 1e9 / f64::from(ran))?;
        }
        Ok(())
    }

    /// Reports progress to the terminal and to the parent process. `so_far`: seconds, and blocks.
    fn watched(&mut self, next: NextBlock, label: &str, so_far: (f64, u32)) {
        let (seconds, ran) = so_far;
        let values = self.asked.knob.values.len();
        let each = if ran == 0 { (self.asked.block_seconds + 1) as f64 } else { seconds / f64::from(ran) };
        // Within a round, the remaining blocks of that round still have to run.
        let rounds = if next.round == 0 { self.asked.rounds_max } else { self.trial.rounds_left() };
        let left = (rounds * values) as f64 - f64::from(ran % values as u32);
        let text = format!("Round {}: {} {label}", next.round + 1, self.asked.knob.name);
        // The result is written after each round.
        let answer = (next.round > 0).then_some(self.answer.as_str());
        self.lines.report(&WorkProgress::of(text, (seconds, left.max(1.0) * each), answer));
    }

    /// Whether it ran to its end.
    fn block(&mut self, next: NextBlock, label: &str) -> anyhow::Result<bool> {
        let asked = self.asked;
        let duration_ns = asked.block_seconds * 1_000_000_000;
        let seed = asked.seed.unwrap_or(asked.plan.options.seed) + next.round as u64;
        let tags = [format!("{}={label}", asked.knob.name), format!("round={}", next.round + 1)];
        let steady = |plan: &mut TestPlan| {
            // It was checked before the first block that the load can be held.
            if let Ok(load) = plan.steady_load(duration_ns) {
                plan.load = load;
            }
        };
        let ran = self.series.run(Some(seed), &tags, steady, &mut [&mut self.progress]);
        let SeriesRun { directory, ending } = ran.map_err(|problem| match problem.is::<TargetUnreachable>() {
            true => problem.context(format!("with {} {label}", asked.knob.name)),
            false => problem,
        })?;
        match ending {
            LoadEnding::Completed => {}
            LoadEnding::Stopped(StopReason::User) => return Ok(false),
            LoadEnding::Stopped(StopReason::Threshold(threshold)) => {
                anyhow::bail!("with {} {label} the threshold {threshold} ended the load", asked.knob.name)
            }
            LoadEnding::Stopped(StopReason::SetUp(scenario)) => {
                let problem = anyhow::Error::from(SetUpError(scenario));
                return Err(problem.context(format!("with {} {label}", asked.knob.name)));
            }
            LoadEnding::Stopped(StopReason::Script(problem)) => return Err(UsageError(problem).into()),
            LoadEnding::Stopped(StopReason::Failure(problem)) => anyhow::bail!(problem),
            LoadEnding::Broke(problem) => anyhow::bail!(problem),
        }
        let mut run = Reader::open(&directory).and_then(Reader::run)?;
        let validity = loadstone_analysis::conclude_in_place(&mut run).verdict.validity;
        if let Some(why) = validity.invalid_because() {
            self.progress
                .line(&format!("round {}  the measurement with {label} is INVALID, the round does not count: {why}", next.round + 1));
        }
        self.trial.add(run, &validity);
        Ok(true)
    }

    /// After each round: stores the current result and reports it.
    fn report_round(&mut self, next: NextBlock, record: &ExperimentRecord, block_seconds: f64) -> anyhow::Result<()> {
        let values = self.asked.knob.values.len();
        let last = if next.round.is_multiple_of(2) { values - 1 } else { 0 };
        if next.value != last {
            return Ok(());
        }
        let experiment = self.trial.experiment(None);
        record.write(&experiment)?;
        self.progress.round(next.round + 1, &experiment.contrasts, &self.trial, block_seconds * values as f64);
        if let (Some((metric, name)), true) = (&self.asked.measure, self.trial.lacks_measure()) {
            let of = name.as_ref().map_or_else(String::new, |name| format!(" of \"{name}\""));
            return Err(UsageError(format!("--measure: the blocks contain no {}{of}", metric.name())).into());
        }
        Ok(())
    }
}
