//! Iterations that did not begin before `maxDuration`. k6 counts them as dropped.

use loadstone_metrics::Nanos;
use loadstone_plan::{IterationSplit, LoadProfile};

use crate::turn::VuState;

/// Records, when an iteration of a VU has ended, the iterations that will not begin. `load_end`: when the scenario's load ends, read before the iteration: a
/// load that is stopped earlier drops nothing.
pub(crate) fn record_never_begun(vu: &VuState, load_end: Nanos) {
    let Some(scenario) = vu.scenario() else { return };
    let LoadProfile::Iterations { count, split, .. } = scenario.run.profile else { return };
    if vu.worker.clock.now() < load_end {
        return;
    }
    let never_begun = match split {
        IterationSplit::PerUser => count.saturating_sub(vu.number_in_scenario() + 1),
        // Agents of a fleet share the count, and none of them knows how many iterations the others have begun.
        IterationSplit::Shared if vu.worker.test.moved.is_some() => 0,
        IterationSplit::Shared => scenario.shared.never_begun(count),
    };
    if never_begun > 0 {
        let tag = vu.tag_of(&[], &[]);
        let mut recorder = vu.worker.recorder_at_end();
        vu.worker.record_own(&mut recorder, "dropped_iterations", never_begun as f64, &tag);
    }
}
