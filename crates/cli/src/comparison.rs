//! Compares two runs: which run is the baseline, and what the comparison shows. Read [`Baseline`].

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use loadstone_analysis::{
    AdviceTerms, ComparedInput, ComparedMetric, ComparisonGate, GateResult, GateState, RampEstimate, RunComparison, Summary, WantedObserver,
};
use loadstone_report::comparison;
use loadstone_report::terminal::{ColorChoice, Style};
use loadstone_run_directory::{History, HistoryEntry, Reader, Run, RunEnd};

use crate::conclusion_files::onto_job_page;
use crate::exit::{Exit, UsageError};
use crate::flags::{self, AgainstArgs, OutputArgs};

/// A run and its conclusions, computed again.
pub(crate) struct ConcludedRun {
    run: Run,
    summary: Summary,
}

impl ConcludedRun {
    pub(crate) fn read(directory: &Path) -> anyhow::Result<Self> {
        let mut run = Reader::open(directory).and_then(Reader::run)?;
        let summary = loadstone_analysis::conclude_in_place(&mut run);
        Ok(Self { run, summary })
    }

    /// Compares with this run as the baseline, and judges the gates.
    pub(crate) fn compare(&self, run: &Run, summary: &Summary, effect: f64, gates: &[ComparisonGate]) -> RunComparison {
        let (old, new) = (loadstone_report::load_in_words(&self.run.plan), loadstone_report::load_in_words(&run.plan));
        let baseline = ComparedInput { run: &self.run, summary: &self.summary, load: &old };
        let mut comparison = loadstone_analysis::compare(baseline, ComparedInput { run, summary, load: &new }, effect);
        comparison.gates = gates.iter().map(|gate| gate.judge(&comparison)).collect();
        for at in 0..comparison.gates.len() {
            if let Some(why) = why_unmeasured(&comparison.gates[at], &comparison, run) {
                comparison.gates[at].detail = why;
            }
        }
        comparison
    }

    /// Compares with this run as the baseline.
    pub(crate) fn compare_with(&self, candidate: &ConcludedRun, effect: f64, gates: &[ComparisonGate]) -> RunComparison {
        self.compare(&candidate.run, &candidate.summary, effect, gates)
    }

    /// The highest throughput that the run shows, if its load rose.
    pub(crate) fn as_ramp(&self) -> (RampEstimate, &Summary) {
        (RampEstimate::of(&self.run, &self.summary.verdict), &self.summary)
    }

    pub(crate) fn test(&self) -> &str {
        &self.run.plan.name
    }
}

/// Explains why no metric matches a gate, and what to do: fix the name, or add the missing observer.
fn why_unmeasured(result: &GateResult, comparison: &RunComparison, run: &Run) -> Option<String> {
    let ComparisonGate { metric, name, .. } = &result.gate;
    if result.state != GateState::Undecided {
        return None;
    }
    if let Some(name) = name {
        let known: Vec<&str> = comparison.subjects.iter().map(|subject| subject.name.as_str()).filter(|known| !known.is_empty()).collect();
        if !known.contains(&name.as_str()) {
            return Some(format!("nothing in the two runs is named \"{name}\"{}", loadstone_units::did_you_mean(name, &known)));
        }
    }
    let of_the_target = matches!(metric, Some(ComparedMetric::CpuPerRequest | ComparedMetric::Memory));
    let measured = || comparison.subjects.iter().flat_map(|subject| &subject.rows).any(|row| Some(row.metric) == *metric);
    (of_the_target && !measured()).then(|| {
        let observing = AdviceTerms::of(run).observing(&[WantedObserver::Process { port: 8080 }]);
        format!(
            "the target's processes were not observed in both runs: {observing}, with the port that they listen on; see docs/observers.md"
        )
    })
}

/// The baseline of a run. It is resolved before the load starts, so that a wrong baseline does not waste a run.
pub(crate) struct Baseline {
    stored: ConcludedRun,
    effect: f64,
    gates: Vec<ComparisonGate>,
}

impl Baseline {
    /// `None`: no comparison was requested.
    pub(crate) fn of_run(against: &AgainstArgs, runs: &Path, test: &str) -> anyhow::Result<Option<Self>> {
        let (effect, gates) = (against.how.effect()?, against.how.gates()?);
        let Some(asked) = &against.against else {
            return match gates.first() {
                Some(gate) => Err(UsageError(format!("--fail-if '{}' needs a run to compare with: --against last", gate.label)).into()),
                None => Ok(None),
            };
        };
        let stored = ConcludedRun::read(&find(runs, asked, Some(test), None)?)?;
        Ok(Some(Self { stored, effect, gates }))
    }

    pub(crate) fn compare(&self, run: &Run, summary: &Summary) -> RunComparison {
        self.stored.compare(run, summary, self.effect, &self.gates)
    }
}

/// Prints the comparison of a run with its baseline and writes the requested files. Returns how the command ends if the run itself passed.
pub(crate) fn report(compared: &RunComparison, output: &OutputArgs, color: ColorChoice) -> anyhow::Result<Exit> {
    let mut stdout = std::io::stdout();
    if !output.json {
        let style = Style::detect(color, stdout.is_terminal());
        write!(stdout, "\n{}", comparison::terminal(compared, comparison::ShownNumbers::default(), &style))?;
    }
    // The Markdown of the run has the comparison, and the page of a job has that.
    if let Some(path) = output.against.comparison_markdown.as_deref() {
        std::fs::write(path, comparison::markdown(compared)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(exit_of(compared))
}

/// Also appends to the job summary of GitHub Actions, if there is one.
pub(crate) fn write_markdown(compared: &RunComparison, file: Option<&Path>) -> anyhow::Result<()> {
    let text = comparison::markdown(compared);
    if let Some(path) = file {
        std::fs::write(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    onto_job_page(&text)
}

pub(crate) fn exit_of(compared: &RunComparison) -> Exit {
    let any = |state| compared.gates.iter().any(|result| result.state == state);
    if any(GateState::Failed) {
        Exit::Worse
    } else if any(GateState::Undecided) {
        Exit::Invalid
    } else {
        Exit::Passed
    }
}

/// Resolves a run: `last` (newest complete run of the test), a tag (newest run with this tag), a branch or commit (newest complete run of the test with
/// that source state), or any other name of a run. `before`: the judged run. It cannot be its own baseline, and `last` precedes it.
///
/// # Errors
/// [`UsageError`], which lists the available runs.
pub(crate) fn find(runs: &Path, asked: &str, test: Option<&str>, before: Option<&Path>) -> Result<PathBuf, UsageError> {
    if Path::new(asked).join(loadstone_run_directory::files::RUN).is_file() {
        return flags::find(runs, asked);
    }
    // Runs of a search or an experiment follow each other in that folder.
    let own = before.and_then(Path::parent).filter(|_| asked == "last").unwrap_or(runs);
    let history = History::of(own).map_err(|error| UsageError(error.to_string()))?;
    let entries: Vec<HistoryEntry> = history.entries().filter_map(Result::ok).collect();
    let is_judged = |entry: &HistoryEntry| before.is_some_and(|before| entry.directory.file_name() == before.file_name());
    let fits = |entry: &&HistoryEntry| !is_judged(entry) && test.is_none_or(|test| entry.test == test);
    let found = if asked == "last" {
        let earlier = entries.iter().position(is_judged).map_or(0, |index| index + 1);
        let last = entries[earlier..].iter().filter(fits).find(|entry| entry.end == Some(RunEnd::Completed));
        Some(last.ok_or_else(|| UsageError(format!("there is no earlier complete run of this test in {}", own.display())))?)
    } else {
        let tagged = |entry: &&HistoryEntry| !is_judged(entry) && entry.info.tags.iter().any(|tag| tag == asked);
        let of_source = |entry: &&HistoryEntry| entry.info.is_of_source(asked) && entry.end == Some(RunEnd::Completed);
        let of_test = entries.iter().filter(tagged).find(fits).or_else(|| entries.iter().filter(of_source).find(fits));
        of_test.or_else(|| entries.iter().find(tagged))
    };
    match found {
        Some(entry) => Ok(entry.directory.clone()),
        None => flags::find(runs, asked),
    }
}
