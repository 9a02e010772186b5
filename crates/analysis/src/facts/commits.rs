//! Transactions that a database commits for each iteration of the load.

use loadstone_metrics::{Role, Snapshot};
use loadstone_run_directory::Run;

use super::readings::SignalReadings;
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;

/// Iterations that must have ended in a stretch for their commits to be counted.
const ENDED_ITERATIONS_MIN: u64 = 20;
/// Length of such a stretch. Seconds.
const LENGTH_MIN_S: f64 = 5.0;
/// Share of the iterations begun in it that must have ended. The others have committed an unknown number of times.
const ENDED_SHARE_MIN: f64 = 0.8;

pub(crate) struct Commits {
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Commits per second, without the observer's own.
    pub(crate) rate: f64,
    pub(crate) per_iteration: f64,
    /// Whether an iteration may commit more often: too few iterations ended to know.
    pub(crate) is_least: bool,
    pub(crate) series: String,
}

/// Of the first database whose commits were observed, from the begin of the load to its end.
pub(super) fn under_load(run: &Run, signals: &ObservedSignals<'_>, strain: &Strain) -> Option<Commits> {
    let span = strain.loaded()?;
    signals.parts_with(Role::Commits).find_map(|part| between(run, signals, part, span))
}

/// Of a stretch in which work waited. Before a limit, iterations may begin, and commit, faster than they end. Their commits are then counted where nearly all
/// iterations that had begun had ended. `None` where no commits were observed.
pub(super) fn between<'a>(run: &Run, signals: &ObservedSignals<'a>, part: ObservedPart<'a>, (from, to): (f64, f64)) -> Option<Commits> {
    let all = signals.read(part, Role::Commits)?;
    let own = signals.read(part, Role::ObserverCommits);
    let own_rate = own.as_ref().and_then(|own| own.mean(from, to)).unwrap_or(0.0);
    let rate = (all.mean(from, to)? - own_rate).max(0.0);
    let counted = |slices: &[Snapshot]| {
        let (from, to) = (slices.first()?.start as f64 / 1e9, slices.last()?.end as f64 / 1e9);
        Some(grown(&all, from, to) - own.as_ref().map_or(0.0, |own| grown(own, from, to)))
    };
    let loaded = loaded(run, all.points().first()?.0);
    let inside = |slice: &Snapshot| slice.start as f64 / 1e9 >= from && slice.end as f64 / 1e9 <= to;
    let stretch: &[Snapshot] = loaded.chunk_by(|a, b| inside(a) == inside(b)).find(|slices| inside(&slices[0])).unwrap_or(&[]);
    let from_begin = (1..=loaded.len()).map(|length| &loaded[..length]);
    let settled = |slices: &&[Snapshot]| Iterations::of(slices).share() >= ENDED_SHARE_MIN && Iterations::of(slices).are_enough(slices);
    let clear = Some(stretch).filter(settled).or_else(|| {
        let share = |slices: &&[Snapshot]| Iterations::of(slices).share();
        from_begin.filter(settled).max_by(|a, b| share(a).total_cmp(&share(b)))
    });
    let (per_iteration, is_least) = match clear {
        Some(slices) => (counted(slices)? / Iterations::of(slices).half_done(), false),
        None => (counted(loaded)? / (Iterations::of(loaded).started as f64).max(1.0), true),
    };
    Some(Commits { from, to, rate, per_iteration, is_least, series: all.name() })
}

/// The slices from the first that started an iteration and was observed to the last that started one.
fn loaded(run: &Run, observed_from: f64) -> &[Snapshot] {
    let starts = |slice: &Snapshot| slice.leaves.iter().any(|leaf| leaf.started > 0);
    let first = run.slices.iter().position(|slice| starts(slice) && slice.start as f64 / 1e9 >= observed_from);
    let last = run.slices.iter().rposition(starts);
    first.zip(last).filter(|(first, last)| first <= last).map_or(&[], |(first, last)| &run.slices[first..=last])
}

struct Iterations {
    started: u64,
    ended: u64,
}

impl Iterations {
    fn of(slices: &[Snapshot]) -> Self {
        let leaves = || slices.iter().flat_map(|slice| &slice.leaves);
        Self { started: leaves().map(|leaf| leaf.started).sum(), ended: leaves().map(|leaf| leaf.ended).sum() }
    }

    fn share(&self) -> f64 {
        self.started.min(self.ended) as f64 / self.started.max(self.ended).max(1) as f64
    }

    fn are_enough(&self, slices: &[Snapshot]) -> bool {
        let length_ns = slices.last().zip(slices.first()).map_or(0, |(last, first)| last.end - first.start);
        self.ended >= ENDED_ITERATIONS_MIN && length_ns as f64 / 1e9 >= LENGTH_MIN_S
    }

    /// Iterations in progress count half: on average, half of their commits are complete.
    fn half_done(&self) -> f64 {
        (self.started + self.ended) as f64 / 2.0
    }
}

/// How much a counter grew, by its growth per second between readings.
fn grown(rates: &SignalReadings<'_>, from: f64, to: f64) -> f64 {
    let between = |pair: &[(f64, f64)]| (pair[1].0.min(to) - pair[0].0.max(from)).max(0.0) * pair[1].1;
    rates.points().windows(2).map(between).sum()
}
