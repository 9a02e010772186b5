//! Checks whether workers could ever reach a plan's rates.

use loadstone_plan::{LoadProfile, OpenStage, TestPlan};
use loadstone_units::count;

/// The plan requests more arrivals per second than its workers can start.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RateError(String);

/// Arrivals per second that no worker can start: a core reaches about a tenth of it (bench/README.md). Rates in between are attempted, and the validity
/// check reports when the generator reaches its limit. Rates beyond are typing errors.
const WORKER_RATE_MAX: u64 = 1_000_000;

/// # Errors
/// [`RateError`], with the rate and the remedy.
pub(crate) fn check(plan: &TestPlan, workers: u32) -> Result<(), RateError> {
    let possible = WORKER_RATE_MAX * u64::from(workers);
    for run in plan.load.leaves() {
        let asked = rate_max(&run.profile).ceil() as u64;
        if asked > possible {
            let scenario = plan.scenarios.get(run.scenario.0 as usize).map_or("?", |scenario| scenario.name.as_str());
            return Err(RateError(format!(
                "scenario \"{scenario}\" requests {} arrivals per second, but {workers} workers can start at most {}: reduce the rate",
                count(asked),
                count(possible)
            )));
        }
    }
    Ok(())
}

/// The highest rate of a profile. Arrivals per second.
fn rate_max(profile: &LoadProfile) -> f64 {
    let LoadProfile::Open { stages } = profile else { return 0.0 };
    let highest = |stage: &OpenStage| match stage {
        OpenStage::Rate { from, to, .. } => from.max(*to),
        OpenStage::Burst { .. } => 0.0,
        OpenStage::Replay(replay) => replay.peak as f64,
    };
    stages.iter().map(highest).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_plan::{Load, ScenarioId, ScenarioRun};

    fn refused(per_second: f64, workers: u32) -> Option<String> {
        let load = Load::Run(ScenarioRun::new(ScenarioId(0), LoadProfile::rate(per_second, 1_000_000_000)));
        check(&TestPlan::new("t", ["buy"], load), workers).err().map(|error| error.to_string())
    }

    #[test]
    fn a_rate_beyond_any_core_is_refused_with_its_value() {
        let message = refused(50e6, 2).unwrap();
        assert!(message.contains("\"buy\" requests 50.0 M arrivals per second") && message.contains("2,000,000"), "{message}");
        assert_eq!(refused(2e6, 2), None);
        assert!(refused(2e6, 1).is_some());
    }
}
