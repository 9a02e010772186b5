//! Requests whose throughput stopped following the load since the bytes of their responses take ever longer to come: what is full is the way of the bytes.

use metrics::{SeriesKind, Snapshot};
use run_directory::Run;

use super::plateau::{Plateau, Plateaus};

/// Part of the added time that the body must hold.
const OF_BODY: f64 = 0.6;
/// Bytes per second below which no link is full.
const BYTES_MIN: f64 = 100e3;
/// How far the bytes per second of the halves of the plateau may lie apart.
const LEVEL: f64 = 0.10;

/// A way that is full.
pub(crate) struct FullWay {
    pub(crate) names: Vec<String>,
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Of all responses together.
    pub(crate) bytes_per_second: f64,
    /// Mean time from the first byte of a response to its last, and to its first, under low load and on the plateau. Seconds.
    pub(crate) body: (f64, f64),
    pub(crate) first_byte: (f64, f64),
}

/// `None`: no throughput stopped, or something before the first byte takes the time.
pub(super) fn find(run: &Run, plateaus: &Plateaus) -> Option<FullWay> {
    let (from, to) = plateaus.span()?;
    let first = plateaus.limited.first()?;
    let (low, high) = (of_plateau(run, plateaus, (first.low.from, first.low.to)), of_plateau(run, plateaus, (from, to)));
    let (added, of_body) = (high.0 + high.1 - low.0 - low.1, high.1 - low.1);
    let middle = f64::midpoint(from, to);
    let (before, after) = (bytes_per_second(run, (from, middle)), bytes_per_second(run, (middle, to)));
    let bytes = bytes_per_second(run, (from, to));
    let is_level = (after - before).abs() <= LEVEL * before.max(after);
    (added > 0.0 && of_body >= OF_BODY * added && bytes >= BYTES_MIN && is_level).then(|| FullWay {
        names: plateaus.limited.iter().map(|plateau: &Plateau| plateau.name.clone()).collect(),
        from,
        to,
        bytes_per_second: bytes,
        body: (low.1, high.1),
        first_byte: (low.0, high.0),
    })
}

fn inside(run: &Run, (from, to): (f64, f64)) -> impl Iterator<Item = &Snapshot> {
    run.slices.iter().filter(move |slice| slice.start as f64 / 1e9 >= from && slice.end as f64 / 1e9 <= to)
}

/// Mean wait for the first byte, and mean time of the body, of the limited requests. Seconds.
fn of_plateau(run: &Run, plateaus: &Plateaus, span: (f64, f64)) -> (f64, f64) {
    let is_limited = |name: &str| plateaus.limited.iter().any(|plateau| plateau.name == name);
    let series = inside(run, span).flat_map(|slice| &slice.series);
    let series = series.filter(|series| series.key.kind == SeriesKind::Request && is_limited(&series.key.name));
    let (count, wait, body) = series.fold((0, 0.0, 0.0), |(count, wait, body), series| {
        (count + series.count, wait + series.phases.wait.sum() as f64, body + series.phases.body.sum() as f64)
    });
    let mean = |sum: f64| sum / 1e9 / count.max(1) as f64;
    (mean(wait), mean(body))
}

fn bytes_per_second(run: &Run, span: (f64, f64)) -> f64 {
    let (bytes, length) = inside(run, span).fold((0, 0.0), |(bytes, length), slice| {
        let read: u64 = slice.generator.iter().map(|worker| worker.bytes_received).sum();
        // Runs recorded before the generator counted them, and protocols in which it does not: what ended.
        let requests = slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request);
        let ended = requests.map(|series| series.bytes_received).sum::<u64>();
        (bytes + if read > 0 { read } else { ended }, length + (slice.end - slice.start) as f64 / 1e9)
    });
    bytes as f64 / f64::max(length, 1e-9)
}
