//! Aligns seconds with the same load in two runs, for plans that change the load. The load has the same effect on such a second in both
//! runs, so these seconds can be compared with each other. Without the alignment, a ramp would look like random variation. Deliberately
//! absent: constant loads, where all seconds are equivalent.

use loadstone_plan::{Load, LoadProfile, OpenStage, RunRole, ScenarioRun};
use loadstone_run_directory::Run;

use super::model::Side;
use crate::facts::load_stretches;

/// Maximum relative difference between the planned loads of all seconds together.
const LOAD_DIFFERENCE_MAX: f64 = 0.03;
/// Additional difference in arrivals per second: they are whole numbers.
const ROUNDING_ARRIVALS: f64 = 1.0;

/// The seconds from the start of the load to the end of the run, the same ones for both runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SameLoad {
    /// The slices in which the load began: baseline, candidate.
    begins: (usize, usize),
    /// Number of seconds in the longer run.
    seconds: usize,
    /// Open load: arrivals do not wait for responses, so nothing bounds a queue.
    pub(super) is_open: bool,
}

impl SameLoad {
    /// `None`: the load is constant, or differed in any second.
    pub(super) fn of(baseline: &Run, candidate: &Run) -> Option<Self> {
        if baseline.plan.load != candidate.plan.load || !changes(&baseline.plan.load) {
            return None;
        }
        let begins = (begin(baseline)?, begin(candidate)?);
        let (old, new) = (&baseline.slices[begins.0..], &candidate.slices[begins.1..]);
        let alike = old.iter().zip(new).all(|(old, new)| old.seconds() == new.seconds());
        let leaves = baseline.plan.load.leaves().into_iter().zip(0u32..).filter(|(leaf, _)| is_load(leaf));
        let planned = |run: &Run, begin: usize, leaf: u32, profile: &LoadProfile| {
            load_stretches::planned_of_leaf(run, leaf, profile).split_off(begin)
        };
        let mut of_leaves = leaves
            .map(|(part, leaf)| (planned(baseline, begins.0, leaf, &part.profile), planned(candidate, begins.1, leaf, &part.profile)));
        let same = alike && of_leaves.all(|(old, new)| is_same(&old, &new));
        let is_open = baseline.plan.load.leaves().into_iter().any(|leaf| is_load(leaf) && leaf.profile.is_open());
        same.then(|| Self { begins, seconds: old.len().max(new.len()), is_open })
    }

    /// The values for each second of the load, from values with their slice index. Seconds without a value have the default.
    pub(super) fn aligned<T: Clone + Default>(&self, side: Side, values: impl IntoIterator<Item = (usize, T)>) -> Vec<T> {
        let begin = if side == Side::Baseline { self.begins.0 } else { self.begins.1 };
        let mut seconds = vec![T::default(); self.seconds];
        for (slice, value) in values {
            if let Some(second) = slice.checked_sub(begin).and_then(|second| seconds.get_mut(second)) {
                *second = value;
            }
        }
        seconds
    }
}

fn is_load(leaf: &ScenarioRun) -> bool {
    leaf.role == RunRole::Load
}

/// The slice in which the first leaf of the load began.
fn begin(run: &Run) -> Option<usize> {
    let leaves = run.plan.load.leaves().into_iter().zip(0u32..).filter(|(leaf, _)| is_load(leaf));
    let first = leaves.filter_map(|(_, leaf)| load_stretches::began(&run.slices, leaf)).min();
    let at = first.unwrap_or(run.slices.first()?.start);
    run.slices.iter().position(|slice| at < slice.end)
}

/// Whether the plan changes the amount or the kind of load during the run.
fn changes(load: &Load) -> bool {
    let has_load = |part: &&Load| part.leaves().into_iter().any(is_load);
    match load {
        Load::Run(run) => is_load(run) && !is_level(&run.profile),
        Load::Sequence(parts) => parts.iter().filter(has_load).count() > 1 || parts.iter().any(changes),
        Load::Parallel(parts) => {
            let spans =
                load.leaves().into_iter().filter(|leaf| is_load(leaf)).map(|leaf| (leaf.start_after_ns, leaf.profile.duration_ns()));
            let spans: Vec<_> = spans.collect();
            spans.windows(2).any(|pair| pair[0] != pair[1]) || parts.iter().any(changes)
        }
    }
}

fn is_level(profile: &LoadProfile) -> bool {
    match profile {
        LoadProfile::Open { stages } => match stages.as_slice() {
            [OpenStage::Rate { from, to, .. }] => from == to,
            stages => stages.len() < 2,
        },
        LoadProfile::Closed { stages } => stages.len() < 2 && stages.iter().all(|stage| stage.from == stage.to),
        // The system determines the duration: there is no plan by second.
        LoadProfile::Iterations { .. } | LoadProfile::Recorded { .. } => true,
    }
}

fn is_same(baseline: &[f64], candidate: &[f64]) -> bool {
    let at = |seconds: &[f64], second: usize| seconds.get(second).copied().unwrap_or(0.0);
    let pairs = (0..baseline.len().max(candidate.len())).map(|second| (at(baseline, second), at(candidate, second)));
    let (apart, all) =
        pairs.fold((0.0, 0.0), |(apart, all), (old, new)| (apart + ((old - new).abs() - ROUNDING_ARRIVALS).max(0.0), all + old.max(new)));
    all > 0.0 && apart <= LOAD_DIFFERENCE_MAX * all
}

#[cfg(test)]
mod tests {
    use loadstone_metrics::LeafChange;
    use loadstone_plan::ClosedStage;

    use super::super::simulated::{SimulatedLoad, System};
    use super::*;

    fn run(load: SimulatedLoad, seed: u64) -> Run {
        System { name: "", servers: 4, load, service: 0.02, seconds: 40 }.run(seed, 1.0, 0.0).0
    }

    #[test]
    fn each_second_of_a_ramp_has_a_counterpart() {
        // The ramp starts at 0: the first arrivals are random, but the load begins with the plan.
        for load in [SimulatedLoad::Ramp { from: 0.0, to: 50.0 }, SimulatedLoad::Users(20)] {
            let (old, new) = (run(load, 1), run(load, 2));
            let same = SameLoad::of(&old, &new).unwrap();
            assert_eq!((same.begins, same.seconds), ((0, 0), old.slices.len().max(new.slices.len())));
            assert_eq!(same.is_open, matches!(load, SimulatedLoad::Ramp { .. }));
        }
    }

    #[test]
    fn a_load_that_began_later_is_aligned_by_its_own_start() {
        let ramp = SimulatedLoad::Users(20);
        let (old, mut new) = (run(ramp, 1), run(ramp, 2));
        // Three seconds of set-up.
        for slice in &mut new.slices {
            slice.slice += 3;
            (slice.start, slice.end) = (slice.start + 3_000_000_000, slice.end + 3_000_000_000);
            for change in slice.leaves.iter_mut().flat_map(|leaf| &mut leaf.changes) {
                *change = LeafChange::Began { at: 3_000_000_000, scenario: "Buy".into() };
            }
        }
        let set_up = (0..3u32).map(|slice| {
            let start = u64::from(slice) * 1_000_000_000;
            loadstone_metrics::Snapshot { slice, start, end: start + 1_000_000_000, ..loadstone_metrics::Snapshot::default() }
        });
        new.slices.splice(0..0, set_up);
        let same = SameLoad::of(&old, &new).unwrap();
        assert_eq!(same.begins, (0, 3));
        let aligned = |side, values: [(usize, u32); 2]| same.aligned(side, values)[..3].to_vec();
        assert_eq!(aligned(Side::Baseline, [(0, 7), (2, 9)]), [7, 0, 9]);
        assert_eq!(aligned(Side::Candidate, [(2, 7), (3, 9)]), [9, 0, 0]);
    }

    #[test]
    fn a_constant_load_a_different_plan_and_a_run_cut_short_are_not_aligned() {
        let (ramp, constant) = (SimulatedLoad::Ramp { from: 5.0, to: 50.0 }, SimulatedLoad::Constant(50.0));
        assert_eq!(SameLoad::of(&run(constant, 1), &run(constant, 2)), None);
        assert_eq!(SameLoad::of(&run(ramp, 1), &run(SimulatedLoad::Ramp { from: 5.0, to: 60.0 }, 2)), None);
        let (old, mut new) = (run(ramp, 1), run(ramp, 2));
        assert!(SameLoad::of(&old, &new).is_some());
        new.slices.truncate(20);
        assert_eq!(SameLoad::of(&old, &new), None);
    }

    #[test]
    fn a_load_is_constant_if_all_its_parts_are_constant_and_parallel() {
        let stage = |from, to| ClosedStage { from, to, duration_ns: 60_000_000_000 };
        let leaf = |stages| Load::Run(ScenarioRun::new(loadstone_plan::ScenarioId(0), LoadProfile::Closed { stages }));
        let level = || leaf(vec![stage(5, 5)]);
        assert!(!changes(&Load::Parallel(vec![level(), level()])) && !changes(&Load::Sequence(vec![level()])));
        assert!(changes(&Load::Sequence(vec![level(), level()])), "something else after a minute");
        assert!(changes(&Load::Parallel(vec![level(), leaf(vec![stage(0, 5)])])));
        assert!(changes(&leaf(vec![stage(5, 5), stage(9, 9)])));
        let set_up =
            Load::Run(ScenarioRun { role: RunRole::SetUp, ..ScenarioRun::new(loadstone_plan::ScenarioId(0), LoadProfile::burst(1)) });
        assert!(!changes(&Load::Sequence(vec![set_up, level()])));
    }
}
