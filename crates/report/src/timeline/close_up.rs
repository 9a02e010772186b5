//! A long run second by second, where its seconds were kept: what a page shows that is zoomed in.

use analysis::Summary;
use metrics::{SignalPoint, Snapshot};
use run_directory::{Run, SignalSeries};

use super::axis::Axis;
use super::bands::Tracks;
use super::{panels, shorten};
use crate::view::CloseUp;

/// Seconds at each end of the run that can be looked at. The page has to hold them.
const SECONDS_MAX: usize = 3600;

/// Seconds without a gap, and their readings among others.
struct CloseSeconds<'a> {
    seconds: &'a [Snapshot],
    signals: &'a [SignalSeries],
}

/// The beginning of a run and its end, or all of it if that is little more. `open` says of each leaf whether it is open. Of the signals, those that the
/// summary shows.
pub(crate) fn of(run: &Run, summary: &Summary, open: &[bool]) -> Vec<CloseUp> {
    let shown: Vec<&str> = summary.signals.iter().map(|row| row.name.as_str()).collect();
    ends(stretches(run)).iter().map(|stretch| stretch.close_up(&shown, open)).collect()
}

fn stretches(run: &Run) -> Vec<CloseSeconds<'_>> {
    if !run.stretches.is_empty() {
        return run.stretches.iter().map(|stretch| CloseSeconds { seconds: &stretch.seconds, signals: &stretch.signals }).collect();
    }
    let follows = |a: &Snapshot, b: &Snapshot| a.seconds() == 1 && b.seconds() == 1 && a.slice + 1 == b.slice;
    run.slices
        .chunk_by(follows)
        .map(|seconds| CloseSeconds { seconds, signals: &run.signals })
        .filter(|stretch| stretch.seconds.len() > 1)
        .collect()
}

fn ends(stretches: Vec<CloseSeconds<'_>>) -> Vec<CloseSeconds<'_>> {
    let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else { return Vec::new() };
    if stretches.len() == 1 && first.seconds.len() <= 2 * SECONDS_MAX {
        return stretches;
    }
    let head = &first.seconds[..first.seconds.len().min(SECONDS_MAX)];
    let tail = &last.seconds[last.seconds.len().saturating_sub(SECONDS_MAX)..];
    vec![CloseSeconds { seconds: head, signals: first.signals }, CloseSeconds { seconds: tail, signals: last.signals }]
}

impl CloseSeconds<'_> {
    fn close_up(&self, shown: &[&str], open: &[bool]) -> CloseUp {
        let axis = Axis::of_seconds(open.to_vec(), self.seconds);
        let from_seconds = self.seconds.first().map_or(0, |slice| slice.slice);
        let from_ns = u64::from(from_seconds) * 1_000_000_000;
        let until_ns = from_ns + self.seconds.len() as u64 * 1_000_000_000;
        let mut tracks = Tracks::of_seconds(self.seconds.len());
        for series in self.signals.iter().filter(|series| shown.contains(&series.signal.name.as_str())) {
            for point in series.points.iter().filter(|point| (from_ns..until_ns).contains(&point.at)) {
                tracks.push(&series.signal, &SignalPoint { at: point.at - from_ns, ..*point });
            }
        }
        let mut panels = panels::build(&axis);
        panels.iter_mut().flat_map(|panel| &mut panel.columns).for_each(shorten);
        panels.extend(tracks.bands(&axis).into_iter().flat_map(|band| band.panels));
        CloseUp { from_seconds, panels }
    }
}
