//! A pool of connections that is too small, as a service's own metrics show it: operations wait for a connection, and the connections are all in use.

use super::draft::{Draft, Standing};
use super::signals::Readings;
use super::{Scene, saturation};
use crate::Confidence;

/// What pools call those who wait: `hikaricp_connections_pending`, `db_pool_waiting`, `cl_waiting_connections`.
const WAITING: [&str; 2] = ["waiting", "pending"];
const POOL: [&str; 2] = ["pool", "connection"];
/// At least one waits, in so many readings of a stretch of so many.
const READINGS_MIN: usize = 10;
const SHARE_MIN: f64 = 0.8;
/// Part of the connections that may be idle meanwhile.
const IDLE_MAX: f64 = 0.1;

pub(super) fn find(scene: &Scene<'_>) -> Option<Draft> {
    let candidates =
        scene.signals.gauges(|name| WAITING.iter().any(|word| name.contains(word)) && POOL.iter().any(|word| name.contains(word)));
    candidates.iter().find_map(|waiting| judge(scene, waiting))
}

fn judge(scene: &Scene<'_>, waiting: &Readings) -> Option<Draft> {
    let some: Vec<f64> =
        waiting.between(0.0, scene.tally.duration_seconds()).filter(|(_, value)| *value >= 1.0).map(|(at, _)| at).collect();
    let (from, to) = (*some.first()?, *some.last()?);
    if some.len() < READINGS_MIN || waiting.share(from, to, |value| value >= 1.0)? < SHARE_MIN {
        return None;
    }
    let stem = &waiting.name[..WAITING.iter().filter_map(|word| waiting.name.find(word)).min()?];
    let siblings = scene.signals.gauges(|name| name.starts_with(stem) && name != waiting.name);
    if siblings.iter().any(|idle| idle.name.contains("idle") && idle.mean(from, to).is_some_and(|mean| mean >= 1.0 + IDLE_MAX)) {
        return None;
    }
    // Whatever of the pool stood at one number all along: its size, the connections it has.
    let size = siblings.iter().filter_map(|sibling| sibling.steady(from, to)).filter(|size| *size >= 1.0).max_by(f64::total_cmp)?;
    let mean = waiting.mean(from, to)?;
    let claim = format!(
        "All {} connections of a pool are in use, and {} operations wait for one at any time",
        units::number(size),
        units::number(mean)
    );
    // A busy processor holds connections longer, and then the pool is not what to change.
    let confidence = if saturation::find(scene).is_some() { Confidence::Low } else { Confidence::High };
    let mut draft = Draft::new(Standing::Cause, "connection-pool", confidence, claim).rests_on(
        format!(
            "{} stood at {} on average, at 1 or more in {} of its readings",
            waiting.name,
            units::number(mean),
            units::share(waiting.share(from, to, |value| value >= 1.0)?)
        ),
        vec![waiting.name.clone()],
        (from, to),
    );
    if let Some((text, series)) = times(scene, stem, from, to) {
        draft = draft.rests_on(text, series, (from, to));
    }
    Some(
        draft.or("A slow database holds connections just as long: compare how long they are used with what its statements take.").try_next(
            format!("Give the pool more connections than {}, or hold each for a shorter time, and run again.", units::number(size)),
        ),
    )
}

/// Time that operations waited for a connection against time that they used it, where the pool counts both.
fn times(scene: &Scene<'_>, stem: &str, from: f64, to: f64) -> Option<(String, Vec<String>)> {
    let counters = scene.signals.counters(|name| name.starts_with(stem) && name.contains("seconds"));
    let growth = |words: [&str; 2]| {
        counters
            .iter()
            .find(|counter| words.iter().any(|word| counter.name.contains(word)))
            .and_then(|found| Some((found.name.clone(), found.mean(from, to)?)))
    };
    let ((waited, waited_per_second), (used, used_per_second)) = (growth(["wait", "acquire"])?, growth(["use", "usage"])?);
    let times = units::number(waited_per_second / used_per_second.max(1e-9));
    Some((format!("operations waited for a connection {times} times as long as they used it"), vec![waited, used]))
}
