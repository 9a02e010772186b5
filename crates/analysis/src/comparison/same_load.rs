//! Which seconds of two runs had the same load, where the plan changes it. What the load does of a second it does in both runs, so that these seconds can be
//! held against each other; without them a ramp looks like scatter. Deliberately absent: constant loads, of which any second is as good as another.

use loadstone_plan::{Load, LoadProfile, OpenStage, RunRole, ScenarioRun};
use loadstone_run_directory::Run;

use super::model::Side;
use crate::facts::load_stretches;

/// How much the planned loads of all seconds together may differ and still be the same.
const SAME: f64 = 0.03;
/// Arrivals by which two seconds of the same planned load may differ besides: they are whole numbers.
const WHOLE: f64 = 1.0;

/// The seconds from the begin of the load to the end of the run, the same ones of both runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SameLoad {
    /// The slices in which the load began: the baseline's, the candidate's.
    begins: (usize, usize),
    /// Of the longer run.
    seconds: usize,
    /// Arrivals do not wait for answers, so that nothing bounds a queue.
    pub(super) is_open: bool,
}

impl SameLoad {
    /// `None`: the load is constant, or was not the same in both at the same second.
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

    /// What there is of each second of the load, of values with the slice that they are of; nothing where a run has none.
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

/// The plan asks for more or less, or for something else, in the course of the load.
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
        // How long it takes is up to the system: no plan of seconds.
        LoadProfile::Iterations { .. } => true,
    }
}

fn is_same(baseline: &[f64], candidate: &[f64]) -> bool {
    let at = |seconds: &[f64], second: usize| seconds.get(second).copied().unwrap_or(0.0);
    let pairs = (0..baseline.len().max(candidate.len())).map(|second| (at(baseline, second), at(candidate, second)));
    let (apart, all) =
        pairs.fold((0.0, 0.0), |(apart, all), (old, new)| (apart + ((old - new).abs() - WHOLE).max(0.0), all + old.max(new)));
    all > 0.0 && apart <= SAME * all
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
    fn of_a_ramp_each_second_has_its_like() {
        // From nothing: the first arrivals come when chance has it, the load begins with the plan.
        for load in [SimulatedLoad::Ramp { from: 0.0, to: 50.0 }, SimulatedLoad::Users(20)] {
            let (old, new) = (run(load, 1), run(load, 2));
            let same = SameLoad::of(&old, &new).unwrap();
            assert_eq!((same.begins, same.seconds), ((0, 0), old.slices.len().max(new.slices.len())));
            assert_eq!(same.is_open, matches!(load, SimulatedLoad::Ramp { .. }));
        }
    }

    #[test]
    fn a_load_that_began_later_is_held_against_its_own_begin() {
        let ramp = SimulatedLoad::Users(20);
        let (old, mut new) = (run(ramp, 1), run(ramp, 2));
        // Three seconds of setting up.
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
    fn a_constant_load_another_plan_and_a_run_cut_short_have_none() {
        let (ramp, constant) = (SimulatedLoad::Ramp { from: 5.0, to: 50.0 }, SimulatedLoad::Constant(50.0));
        assert_eq!(SameLoad::of(&run(constant, 1), &run(constant, 2)), None);
        assert_eq!(SameLoad::of(&run(ramp, 1), &run(SimulatedLoad::Ramp { from: 5.0, to: 60.0 }, 2)), None);
        let (old, mut new) = (run(ramp, 1), run(ramp, 2));
        assert!(SameLoad::of(&old, &new).is_some());
        new.slices.truncate(20);
        assert_eq!(SameLoad::of(&old, &new), None);
    }

    #[test]
    fn a_load_is_constant_if_all_of_it_is_at_once() {
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
