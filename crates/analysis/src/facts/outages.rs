//! Parts of the system that went away in mid-run: an observer had read them, and then failed.

use loadstone_metrics::{NoticeKind, Role};
use loadstone_run_directory::Run;

use super::signals::ObservedSignals;
use super::strain::Strain;
use crate::RunTally;

/// Seconds before the observer's error in which the loss may already show, since observers read once a second.
const BEFORE_ERROR_S: f64 = 3.0;
/// Share of the requests, beyond the share that failed before, that must fail for the loss to have had an effect.
const FAILED_SHARE_MIN: f64 = 0.01;
/// Or the part of the throughput that may be left.
const THROUGHPUT_LEFT_MAX: f64 = 0.5;
/// Readings before the error.
const READINGS_MIN: usize = 3;

/// A part of the system that could no longer be read while requests failed or stopped.
pub(crate) struct Outage<'a> {
    pub(crate) observer: &'a str,
    pub(crate) part: LostPart,
    /// Seconds since the run began. `to` is when it was read again, or the end of the load.
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) is_over: bool,
    /// The observer's error.
    pub(crate) message: &'a str,
    /// Requests that failed meanwhile.
    pub(crate) failed: u64,
    /// All requests that ended meanwhile.
    pub(crate) ended: u64,
    /// Requests per second before and meanwhile.
    pub(crate) throughput: (f64, f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LostPart {
    Database,
    Process,
}

/// In the order of their begin.
pub(super) fn find<'a>(run: &'a Run, tally: &RunTally, signals: &ObservedSignals<'a>, strain: &Strain) -> Vec<Outage<'a>> {
    // An observer that timed out may itself have been late, so that this is no evidence of an outage.
    let failures = run.notices.iter().filter(|notice| notice.kind == NoticeKind::Failed);
    failures.filter_map(|notice| outage(run, tally, signals, strain, notice)).collect()
}

fn outage<'a>(
    run: &'a Run,
    tally: &RunTally,
    signals: &ObservedSignals<'a>,
    strain: &Strain,
    notice: &'a loadstone_metrics::SignalNotice,
) -> Option<Outage<'a>> {
    let observer: &str = &notice.observer;
    let from = notice.at as f64 / 1e9;
    let (start, end) = strain.loaded()?;
    let is_of = |role| signals.parts_with(role).any(|part| part.observer == observer);
    let part = match (is_of(Role::SessionsActive), is_of(Role::ProcessCpu)) {
        (true, _) => LostPart::Database,
        (_, true) => LostPart::Process,
        _ => return None,
    };
    let readings = run.signals.iter().filter(|series| series.signal.observer == observer);
    let before = readings.map(|series| series.points.iter().filter(|point| point.at < notice.at).count()).max().unwrap_or(0);
    if before < READINGS_MIN || from >= end || from <= start {
        return None;
    }
    let recovered = run
        .notices
        .iter()
        .find(|later| later.observer == notice.observer && later.at > notice.at && matches!(later.kind, NoticeKind::Recovered { .. }));
    let to = recovered.map_or(end, |notice| notice.at as f64 / 1e9).min(end);
    let began = (from - BEFORE_ERROR_S).max(start);
    let (failed, ended) = counts(tally, began, to);
    let (failed_before, ended_before) = counts(tally, start, began);
    let share = |failed: u64, ended: u64| failed as f64 / ended.max(1) as f64;
    let throughput = (strain.throughput(start, began), strain.throughput(from, to));
    let has_effect =
        share(failed, ended) >= share(failed_before, ended_before) + FAILED_SHARE_MIN || throughput.1 <= THROUGHPUT_LEFT_MAX * throughput.0;
    has_effect.then(|| Outage {
        observer,
        part,
        from,
        to,
        is_over: recovered.is_some(),
        message: &notice.message,
        failed,
        ended,
        throughput,
    })
}

/// Requests that failed and that ended in a stretch.
fn counts(tally: &RunTally, from: f64, to: f64) -> (u64, u64) {
    let inside = tally.seconds().iter().filter(|second| second.end as f64 / 1e9 > from && (second.start as f64 / 1e9) < to);
    inside.fold((0, 0), |(failed, ended), second| (failed + second.failed, ended + second.requests))
}
