//! A long run second by second, as far as its seconds were stored: the data of a page that is zoomed in.

use loadstone_analysis::{LoadSource, Summary};
use loadstone_metrics::{SignalPoint, Snapshot};
use loadstone_run_directory::{KeptSecond, Run, SignalSeries, Stretch};

use super::axis::Axis;
use super::bands::Tracks;
use super::step::TimelineStep;
use super::{panels, shorten};
use crate::view::CloseUp;

/// Number of seconds at each end of the run with full resolution. The page has to contain them.
const SECONDS_MAX: usize = 3600;

/// A second as it was measured, or its outline.
#[derive(Clone, Copy)]
enum CloseSecond<'a> {
    Measured(&'a Snapshot),
    Kept(&'a KeptSecond),
}

/// Seconds without a gap, and their readings.
struct CloseSeconds<'a> {
    seconds: Vec<CloseSecond<'a>>,
    signals: &'a [SignalSeries],
}

/// The beginning and the end of a run, or the whole run if it is not much longer. `open` contains, for each scenario run, whether its load is open.
/// Includes the signals that the summary shows.
pub(crate) fn of(run: &Run, summary: &Summary, open: &[bool]) -> Vec<CloseUp> {
    let shown: Vec<&str> = summary.signals.iter().map(|row| row.name.as_str()).collect();
    ends(stretches(run)).iter().map(|stretch| stretch.close_up(&shown, open, &summary.source)).collect()
}

fn stretches<'a>(run: &'a Run) -> Vec<CloseSeconds<'a>> {
    if !run.stretches.is_empty() {
        let close = |stretch: &'a Stretch| CloseSeconds {
            seconds: stretch.seconds.iter().map(CloseSecond::Kept).collect(),
            signals: &stretch.signals,
        };
        return run.stretches.iter().map(close).collect();
    }
    let follows = |a: &Snapshot, b: &Snapshot| a.seconds() == 1 && b.seconds() == 1 && a.slice + 1 == b.slice;
    run.slices
        .chunk_by(follows)
        .filter(|seconds| seconds.len() > 1)
        .map(|seconds| CloseSeconds { seconds: seconds.iter().map(CloseSecond::Measured).collect(), signals: &run.signals })
        .collect()
}

fn ends(stretches: Vec<CloseSeconds<'_>>) -> Vec<CloseSeconds<'_>> {
    if matches!(stretches.as_slice(), [only] if only.seconds.len() <= 2 * SECONDS_MAX) {
        return stretches;
    }
    let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else { return Vec::new() };
    let head = first.seconds[..first.seconds.len().min(SECONDS_MAX)].to_vec();
    let tail = last.seconds[last.seconds.len().saturating_sub(SECONDS_MAX)..].to_vec();
    vec![CloseSeconds { seconds: head, signals: first.signals }, CloseSeconds { seconds: tail, signals: last.signals }]
}

impl CloseSecond<'_> {
    fn number(self) -> u32 {
        match self {
            CloseSecond::Measured(slice) => slice.slice,
            CloseSecond::Kept(second) => second.slice.slice,
        }
    }

    fn step(self, open: &[bool]) -> TimelineStep {
        let mut step = match self {
            CloseSecond::Measured(slice) => TimelineStep::of(slice, open),
            CloseSecond::Kept(second) => TimelineStep::of_kept(second, open),
        };
        step.pack();
        step
    }
}

impl CloseSeconds<'_> {
    fn close_up(&self, shown: &[&str], open: &[bool], source: &LoadSource) -> CloseUp {
        let axis = Axis::of_seconds(open.to_vec(), self.seconds.iter().map(|second| second.step(open)).collect());
        let from_seconds = self.seconds.first().map_or(0, |second| second.number());
        let from_ns = u64::from(from_seconds) * 1_000_000_000;
        let until_ns = from_ns + self.seconds.len() as u64 * 1_000_000_000;
        let mut tracks = Tracks::of_seconds(self.seconds.len());
        for series in self.signals.iter().filter(|series| shown.contains(&series.signal.name.as_str())) {
            for point in series.points.iter().filter(|point| (from_ns..until_ns).contains(&point.at)) {
                tracks.push(&series.signal, &SignalPoint { at: point.at - from_ns, ..*point });
            }
        }
        let mut panels = panels::build(&axis, source);
        panels.iter_mut().flat_map(|panel| &mut panel.columns).for_each(shorten);
        panels.extend(tracks.bands(&axis).into_iter().flat_map(|band| band.panels));
        CloseUp { from_seconds, panels }
    }
}
