//! Requests that take longer under load because the bytes of their responses arrive ever more slowly: a network link is saturated. Their throughput stops
//! with it, unless users that were held up together also pause together, while the link is idle.

use loadstone_metrics::{SeriesKind, Snapshot};
use loadstone_run_directory::Run;

use super::load_response::LoadResponse;
use super::plateau::Plateaus;

/// Part of the added time that must be added while the body arrives.
const BODY_PART_MIN: f64 = 0.6;
/// Bytes per second below which no link counts as saturated.
const BYTES_PER_SECOND_MIN: f64 = 100e3;
/// How far the bytes per second in both halves of the plateau may differ.
const HALVES_DIFFERENCE_MAX: f64 = 0.10;
/// Bytes that one round trip carries on a new connection: ten segments (RFC 6928). A longer response needs more.
const INITIAL_WINDOW_BYTES: f64 = 14_600.0;

/// A saturated link.
pub(crate) struct SaturatedLink {
    /// Requests that it slows down.
    pub(crate) names: Vec<String>,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) flow: ByteFlow,
    /// Mean time from the first byte of a response to its last, under low load and at high load. Seconds.
    pub(crate) body: (f64, f64),
    /// Mean time to the first byte, likewise.
    pub(crate) first_byte: (f64, f64),
}

/// How many bytes arrive.
pub(crate) enum ByteFlow {
    /// All responses together stop at this many bytes per second, however high the load.
    Stopped(f64),
    /// A response has this many bytes, and their total still grows with the load.
    Slower(f64),
}

/// `None`: no request takes longer under load, or the time is added before the first byte.
pub(super) fn find(run: &Run, responses: &[LoadResponse], plateaus: &Plateaus) -> Option<SaturatedLink> {
    let growing = responses.iter().filter_map(|response| slower(run, response));
    stopped(run, plateaus).or_else(|| growing.max_by(|a, b| added_to_body(a).total_cmp(&added_to_body(b))))
}

fn stopped(run: &Run, plateaus: &Plateaus) -> Option<SaturatedLink> {
    let (from, to) = plateaus.span()?;
    let first = plateaus.limited.first()?;
    let names: Vec<&str> = plateaus.limited.iter().map(|plateau| plateau.name.as_str()).collect();
    let (low, high) = (times(run, &names, (first.low.from, first.low.to))?, times(run, &names, (from, to))?);
    let middle = f64::midpoint(from, to);
    let (before, after) = (bytes_per_second(run, (from, middle)), bytes_per_second(run, (middle, to)));
    let bytes = bytes_per_second(run, (from, to));
    let is_level = (after - before).abs() <= HALVES_DIFFERENCE_MAX * before.max(after);
    (is_added_to_body(&low, &high) && bytes >= BYTES_PER_SECOND_MIN && is_level)
        .then(|| saturated(&names, (from, to), ByteFlow::Stopped(bytes), &low, &high))
}

/// A request whose throughput did not stop.
fn slower(run: &Run, response: &LoadResponse) -> Option<SaturatedLink> {
    // Means, since users that pause together leave seconds in which hardly any request ends.
    let (low, high) = if response.is_slower_on_average() { (response.low?, response.high?) } else { return None };
    let (names, span) = ([response.name.as_str()], (high.from, high.to));
    let (low, high) = (times(run, &names, (low.from, low.to))?, times(run, &names, span)?);
    let is_long = high.bytes >= INITIAL_WINDOW_BYTES;
    (is_long && is_added_to_body(&low, &high)).then(|| saturated(&names, span, ByteFlow::Slower(high.bytes), &low, &high))
}

fn saturated(names: &[&str], (from, to): (f64, f64), flow: ByteFlow, low: &ResponseTimes, high: &ResponseTimes) -> SaturatedLink {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    SaturatedLink { names, from, to, flow, body: (low.body, high.body), first_byte: (low.first_byte, high.first_byte) }
}

fn added_to_body(link: &SaturatedLink) -> f64 {
    link.body.1 - link.body.0
}

fn is_added_to_body(low: &ResponseTimes, high: &ResponseTimes) -> bool {
    let added = high.first_byte + high.body - low.first_byte - low.body;
    added > 0.0 && high.body - low.body >= BODY_PART_MIN * added
}

/// Means of some requests in a stretch. Times in seconds.
struct ResponseTimes {
    first_byte: f64,
    body: f64,
    bytes: f64,
}

fn inside(run: &Run, (from, to): (f64, f64)) -> impl Iterator<Item = &Snapshot> {
    run.slices.iter().filter(move |slice| slice.start as f64 / 1e9 >= from && slice.end as f64 / 1e9 <= to)
}

/// `None` where none ended.
fn times(run: &Run, names: &[&str], span: (f64, f64)) -> Option<ResponseTimes> {
    let series = inside(run, span).flat_map(|slice| &slice.series);
    let series = series.filter(|series| series.key.kind == SeriesKind::Request && names.contains(&&*series.key.name));
    let (count, wait, body, bytes) = series.fold((0, 0.0, 0.0, 0.0), |(count, wait, body, bytes), series| {
        let phases = &series.phases;
        let sums = (wait + phases.wait.sum() as f64, body + phases.body.sum() as f64, bytes + series.bytes_received as f64);
        (count + series.count, sums.0, sums.1, sums.2)
    });
    let mean = |sum: f64| sum / count as f64;
    (count > 0).then(|| ResponseTimes { first_byte: mean(wait) / 1e9, body: mean(body) / 1e9, bytes: mean(bytes) })
}

fn bytes_per_second(run: &Run, span: (f64, f64)) -> f64 {
    let (bytes, length) = inside(run, span).fold((0, 0.0), |(bytes, length), slice| {
        let read: u64 = slice.generator.iter().map(|worker| worker.bytes_received).sum();
        // In older runs, and in some protocols, the generator does not count them. Then the responses that ended count.
        let requests = slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request);
        let ended = requests.map(|series| series.bytes_received).sum::<u64>();
        (bytes + if read > 0 { read } else { ended }, length + (slice.end - slice.start) as f64 / 1e9)
    });
    bytes as f64 / f64::max(length, 1e-9)
}
