//! The stretches of a run with a constant planned load. Only within them is a change over time the system's own.

use loadstone_metrics::{LeafChange, MarkKind, Snapshot};
use loadstone_plan::{LoadModel, LoadProfile, OpenStage, TestPlan, Timing};
use loadstone_run_directory::Run;

/// Part by which the load may vary within a stretch of constant load.
const SAME_LOAD_WITHIN: f64 = 0.03;
/// Standard deviations of a Poisson process by which it may vary in addition, where no plan gives the rate of random arrivals: in a record, or where the load
/// was adjusted during the run.
const POISSON_DEVIATIONS_MAX: f64 = 3.5;
/// Seconds that a stretch needs.
const SECONDS_MIN: usize = 15;
/// Factor from which a load counts as higher than another: well beyond [`SAME_LOAD_WITHIN`] and the scatter of random arrivals.
pub(super) const HIGHER_LOAD_FACTOR_MIN: f64 = 1.2;
/// Slices over which the load of an instant is averaged.
pub(super) const SMOOTHED_SLICES: usize = 5;

/// The slices from `from` up to, but not including, `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SteadyStretch {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// The planned load of one load profile, second by second, as a running sum.
struct AskedLoad {
    sums: Vec<f64>,
    /// Arrivals: they are whole numbers.
    is_open: bool,
    /// Arrivals are or may be random, and no plan gives their rate.
    is_poisson: bool,
}

/// In order. The first and the last second of each stretch are left out: they are seldom complete.
pub(super) fn find(run: &Run) -> Vec<SteadyStretch> {
    let leaves = run.plan.load.leaves();
    let asked: Vec<AskedLoad> =
        leaves.iter().enumerate().map(|(leaf, part)| AskedLoad::of(&run.slices, leaf as u32, &part.profile)).collect();
    let mut found = Vec::new();
    split(&asked, 0, run.slices.len(), &mut found);
    let is_loaded = |stretch: &SteadyStretch| asked.iter().any(|load| load.mean(stretch.from, stretch.to) > 0.0);
    found.retain(is_loaded);
    found
}

/// Arrivals due or users wanted of all load profiles, by second.
pub(super) fn asked_in_all(plan: &TestPlan, slices: &[Snapshot]) -> Vec<f64> {
    let leaves = plan.load.leaves();
    let second = |slice: &Snapshot| {
        let of_leaf =
            |leaf: &loadstone_metrics::LeafSlice| leaves.get(leaf.leaf as usize).map_or(0.0, |part| asked(slice, leaf, &part.profile));
        slice.leaves.iter().map(of_leaf).sum()
    };
    slices.iter().map(second).collect()
}

/// The planned load of each second, without the randomness of arrivals. `None`: the load consists of arrivals and users, which do not add up, or nothing was
/// recorded.
pub(crate) fn planned_in_all(run: &Run) -> Option<Vec<f64>> {
    let leaves = run.plan.load.leaves();
    if leaves.iter().any(|leaf| leaf.profile.is_open() != leaves[0].profile.is_open()) {
        return None;
    }
    let mut all = vec![0.0; run.slices.len()];
    for (leaf, part) in leaves.iter().enumerate() {
        all.iter_mut().zip(planned_of_leaf(run, leaf as u32, &part.profile)).for_each(|(second, planned)| *second += planned);
    }
    Some(all).filter(|all| all.iter().any(|load| *load > 0.0))
}

/// The planned load of one load profile for each second: arrivals per second, or users.
pub(crate) fn planned_of_leaf(run: &Run, leaf: u32, profile: &LoadProfile) -> Vec<f64> {
    AskedLoad::of(&run.slices, leaf, profile).sums.windows(2).map(|sums| sums[1] - sums[0]).collect()
}

fn asked(slice: &Snapshot, leaf: &loadstone_metrics::LeafSlice, profile: &LoadProfile) -> f64 {
    match profile {
        LoadProfile::Open { .. } | LoadProfile::Recorded { model: LoadModel::Arrivals } => {
            leaf.arrivals_due as f64 / f64::from(slice.seconds())
        }
        LoadProfile::Closed { .. } | LoadProfile::Recorded { model: LoadModel::Users } => leaf.users_asked as f64,
        LoadProfile::Iterations { .. } => leaf.users_active as f64,
    }
}

/// When a load profile began, as the generator recorded it. The first arrivals of a ramp from zero come later.
pub(crate) fn began(slices: &[Snapshot], leaf: u32) -> Option<u64> {
    let changes = slices.iter().flat_map(|slice| &slice.leaves).filter(|mine| mine.leaf == leaf).flat_map(|mine| &mine.changes);
    changes.filter_map(|change| if let LeafChange::Began { at, .. } = change { Some(*at) } else { None }).next()
}

/// Arrivals per second that a profile plans for an instant after its begin.
fn planned(profile: &LoadProfile, at_ns: u64) -> f64 {
    let LoadProfile::Open { stages } = profile else { return 0.0 };
    let mut begin = 0;
    for stage in stages {
        let length = stage.duration_ns();
        if let OpenStage::Rate { from, to, .. } = stage
            && (begin..begin + length).contains(&at_ns)
        {
            return from + (to - from) * (at_ns - begin) as f64 / length as f64;
        }
        begin += length;
    }
    0.0
}

/// Cuts where the load before and after differs most, until it is constant in every part.
fn split(asked: &[AskedLoad], from: usize, to: usize, found: &mut Vec<SteadyStretch>) {
    if to - from < SECONDS_MIN + 2 {
        return;
    }
    let worst = (from + 1..to).flat_map(|at| asked.iter().map(move |load| (at, load.difference(from, at, to))));
    match worst.max_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((at, difference)) if difference > 1.0 => {
            split(asked, from, at, found);
            split(asked, at, to, found);
        }
        _ => found.push(SteadyStretch { from: from + 1, to: to - 1 }),
    }
}

impl AskedLoad {
    fn of(slices: &[Snapshot], leaf: u32, profile: &LoadProfile) -> Self {
        let poisson = |stage: &OpenStage| matches!(stage, OpenStage::Rate { timing: Timing::Poisson, .. } | OpenStage::Replay(_));
        let is_random = matches!(profile, LoadProfile::Open { stages } if stages.iter().any(poisson));
        let was_adjusted = slices.iter().flat_map(|slice| &slice.marks).any(|mark| mark.kind == MarkKind::Adjusted);
        let recorded =
            |slice: &Snapshot| slice.leaves.iter().find(|mine| mine.leaf == leaf).map_or(0.0, |mine| asked(slice, mine, profile));
        let begin = began(slices, leaf).or_else(|| slices.iter().find(|slice| recorded(slice) > 0.0).map(|slice| slice.start)).unwrap_or(0);
        let mut sum = 0.0;
        let by_second = slices.iter().map(|slice| {
            let middle = slice.start.midpoint(slice.end).saturating_sub(begin);
            let is_planned = is_random && !was_adjusted && slice.end > begin;
            sum += if is_planned { planned(profile, middle) } else { recorded(slice) };
            sum
        });
        let sums = std::iter::once(0.0).chain(by_second).collect();
        let is_recorded = matches!(profile, LoadProfile::Recorded { model: LoadModel::Arrivals });
        Self { sums, is_open: profile.is_open(), is_poisson: (is_random && was_adjusted) || is_recorded }
    }

    fn mean(&self, from: usize, to: usize) -> f64 {
        (self.sums[to] - self.sums[from]) / (to - from).max(1) as f64
    }

    /// The difference between the loads before and after `at`, as a multiple of the difference that a constant load may show.
    fn difference(&self, from: usize, at: usize, to: usize) -> f64 {
        let (before, after) = (self.mean(from, at), self.mean(at, to));
        let shortness = 1.0 / (at - from) as f64 + 1.0 / (to - at) as f64;
        let mean = self.mean(from, to);
        let chance = if self.is_poisson { POISSON_DEVIATIONS_MAX * (mean * shortness).sqrt() } else { 0.0 };
        let whole = if self.is_open { shortness } else { 0.0 };
        let allowed = SAME_LOAD_WITHIN * mean + chance + whole;
        if allowed > 0.0 { (after - before).abs() / allowed } else { 0.0 }
    }
}
