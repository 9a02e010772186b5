//! One probe: a run of the test at one load level. Its directory is concluded like that of any run.

use std::io::Write;
use std::path::Path;

use loadstone_analysis::{CapacityProbe, ProbeReading, Summary};
use loadstone_metrics::clock::Monotonic;
use loadstone_plan::{Load, Metric, TestPlan, Threshold};
use loadstone_run_directory::{Reader, Run};
use loadstone_session::{LoadEnding, StopReason, Subscriber};

use crate::conclusion_files::ConclusionFiles;
use crate::exit::{Exit, UsageError};
use crate::series::{Series, SeriesRun, TargetUnreachable, name_of};

/// Share of a probe that is warm-up.
const WARM_UP_SHARE: f64 = 1.0 / 6.0;

/// Settings shared by all probes of a search.
pub(super) struct ProbeSetting<'a> {
    pub(super) objectives: &'a [Threshold],
    pub(super) tags: &'a [String],
}

/// How a probe ended.
pub(super) enum ProbeEnd {
    Done(Box<CapacityProbe>),
    /// The user interrupted it. Its measurements stay in its directory and do not count.
    Interrupted,
    /// The command ends with this exit code.
    Stopped(Exit),
}

impl ProbeSetting<'_> {
    /// Runs one probe. `load`: the whole load at `level`, held for `seconds`.
    pub(super) fn run(
        &self,
        series: &mut Series<'_>,
        (level, load): (f64, Load),
        seconds: f64,
        subscribers: &mut [&mut dyn Subscriber],
    ) -> anyhow::Result<ProbeEnd> {
        let begun = Monotonic::start();
        let after_seconds = (seconds * WARM_UP_SHARE).round() as u32;
        let thresholds: Vec<Threshold> = self
            .objectives
            .iter()
            .map(|threshold| Threshold { after_seconds, abort: false, abort_while_failing_after: None, ..threshold.clone() })
            .collect();
        let change = |plan: &mut TestPlan| {
            plan.load = load;
            plan.thresholds = thresholds;
        };
        let SeriesRun { directory, ending } = match series.run(None, self.tags, change, subscribers) {
            Err(error) if error.is::<TargetUnreachable>() => {
                writeln!(std::io::stderr(), "error: {error}")?;
                return Ok(ProbeEnd::Stopped(Exit::Unreachable));
            }
            run => run?,
        };
        match ending {
            LoadEnding::Stopped(StopReason::User) => return Ok(ProbeEnd::Interrupted),
            LoadEnding::Stopped(StopReason::SetUp(scenario)) => {
                writeln!(std::io::stderr(), "error: the set-up \"{scenario}\" failed, see {}", directory.display())?;
                return Ok(ProbeEnd::Stopped(Exit::SetUpFailed));
            }
            _ => {}
        }
        let mut run = Reader::open(&directory).and_then(Reader::run)?;
        let summary = loadstone_analysis::conclude_in_place(&mut run);
        ConclusionFiles::of(&run, &summary).write(&directory)?;
        self.check_names(&summary)?;
        let probe = concluded(&directory, (&run, &summary), level, seconds);
        Ok(ProbeEnd::Done(Box::new(CapacityProbe { cost_seconds: begun.now() as f64 / 1e9, ..probe })))
    }

    /// An objective on a request that the test never sends would fail at any load.
    fn check_names(&self, summary: &Summary) -> Result<(), UsageError> {
        let measured = || [&summary.requests, &summary.groups, &summary.scenarios].into_iter().flatten().filter(|row| row.count > 0);
        if measured().next().is_none() {
            return Ok(());
        }
        let flows = summary.flows.iter().map(|flow| flow.name.as_str());
        let known: Vec<&str> = measured().map(|row| &*row.key.name).chain(flows).collect();
        let of_responses = |objective: &&Threshold| matches!(objective.metric, Metric::ResponseTime | Metric::Failures);
        for objective in self.objectives.iter().filter(of_responses) {
            let Some(name) = objective.selector.name.as_deref().filter(|name| !known.contains(name)) else { continue };
            let requests: Vec<String> = summary.requests.iter().map(|row| format!("\"{}\"", row.key.name)).collect();
            return Err(UsageError(format!(
                "{}: nothing was measured that is named \"{name}\"{}; the test's requests are {}",
                objective.label,
                loadstone_units::did_you_mean(name, &known),
                requests.join(", ")
            )));
        }
        Ok(())
    }
}

/// What a run means for the search.
fn concluded(directory: &Path, (run, summary): (&Run, &Summary), level: f64, seconds: f64) -> CapacityProbe {
    let reading = ProbeReading::of(run, &summary.verdict.thresholds, &summary.verdict.validity);
    CapacityProbe {
        load: level,
        seconds,
        cost_seconds: 0.0,
        run: name_of(directory),
        lean: reading.lean(),
        findings: summary.verdict.findings.findings.iter().map(|finding| finding.claim.clone()).collect(),
        next_limit: next_limit(summary),
        reading,
    }
}

fn next_limit(summary: &Summary) -> Option<String> {
    summary.verdict.findings.findings.iter().find_map(|finding| finding.next_limit.clone())
}
