//! Transactions that a database committed per iteration of the load.

use metrics::Role;
use run_directory::Run;

use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;

pub(crate) struct Commits {
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Per second, without the observer's own.
    pub(crate) rate: f64,
    pub(crate) per_iteration: f64,
    pub(crate) series: String,
}

/// Of the first database whose commits were observed, while load was made.
pub(super) fn under_load(run: &Run, signals: &ObservedSignals<'_>, strain: &Strain) -> Option<Commits> {
    let span = strain.loaded()?;
    signals.parts_with(Role::Commits).find_map(|part| between(run, signals, part, span))
}

/// `None` where no commits were observed or no iteration ended in the stretch.
pub(super) fn between<'a>(run: &Run, signals: &ObservedSignals<'a>, part: ObservedPart<'a>, (from, to): (f64, f64)) -> Option<Commits> {
    let all = signals.read(part, Role::Commits)?;
    let own = signals.mean(part, Role::ObserverCommits, from, to).unwrap_or(0.0);
    let rate = (all.mean(from, to)? - own).max(0.0);
    let inside = |slice: &&metrics::Snapshot| slice.start as f64 / 1e9 >= from && slice.end as f64 / 1e9 <= to;
    let ended: u64 = run.slices.iter().filter(inside).flat_map(|slice| &slice.leaves).map(|leaf| leaf.ended).sum();
    let per_iteration = rate / (ended as f64 / (to - from)).max(1e-9);
    (ended > 0).then(|| Commits { from, to, rate, per_iteration, series: all.name() })
}
