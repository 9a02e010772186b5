//! Two kinds of the same request: a few of them take a multiple of what all others take, again and again.
//!
//! A long tail is one thing, a second hump another: between the two almost nothing ends. Pauses of a process (collections, flushes) make a hump as well, but
//! in a few seconds of the run only; a kind of request that is slow comes as often as chance lets it, in all of it.

use metrics::{Histogram, SeriesKind};

use super::Scene;
use super::draft::{Draft, Standing};
use crate::{Confidence, SeriesTally, units};

/// Slow ones needed, and what part of all they may be.
const SLOW_MIN: u64 = 20;
const SHARE_MIN: f64 = 0.001;
const SHARE_MAX: f64 = 0.2;
/// How much longer the fastest of them must take than the median of the others.
const SLOWER: f64 = 4.0;
/// The hump is narrow, from its tenth to its ninetieth percentile …
const WIDTH_MAX: f64 = 1.5;
/// … and few end in the valley before it: between half of its fastest and its fastest.
const VALLEY: f64 = 0.5;
const VALLEY_SHARE_MAX: f64 = 0.1;
/// Part of the seconds that chance would give at least one slow request, in which there must be one.
const SPREAD_MIN: f64 = 0.7;

/// A hump of slow requests. Nanoseconds.
struct Hump {
    from_ns: u64,
    median_ns: u64,
    count: u64,
    others_ns: u64,
}

pub(super) fn find(scene: &Scene<'_>) -> Option<Draft> {
    let humps = scene.tally.of_kind(SeriesKind::Request).filter_map(|series| Some((series, hump(&series.merged.service)?)));
    let (series, hump) = humps.filter(|(series, hump)| is_spread(scene, series, hump)).max_by_key(|(_, hump)| hump.count)?;
    let (name, all) = (&series.merged.key.name, series.merged.service.count());
    let seconds = |ns: u64| units::seconds(ns as f64 / 1e9);
    let share = units::share(hump.count as f64 / all as f64);
    let claim =
        format!("{share} of \"{name}\" take {}, the others {}: two kinds of one request", seconds(hump.median_ns), seconds(hump.others_ns));
    let valley = between(&series.merged.service, (hump.from_ns as f64 * VALLEY) as u64, hump.from_ns);
    Some(
        Draft::new(Standing::Fault, "two-kinds", Confidence::High, claim)
            .rests_on(
                format!(
                    "{} of {} took {} or longer, and {} between half of that and that; they came in all parts of the run",
                    units::count(hump.count),
                    units::count(all),
                    seconds(hump.from_ns),
                    units::count(valley)
                ),
                vec!["response/p50".to_owned(), "response/max".to_owned()],
                (0.0, scene.tally.duration_seconds()),
            )
            .or("Pauses of the target or of the network: set aside, because those come in a few seconds of a run and not in all of them.")
            .try_next("Look at the slowest requests in the report: what they have in common (an argument, a product, a user) is the second kind. Give it a `name` of its own and run again."),
    )
}

/// The largest hump above a valley, if there is one.
fn hump(times: &Histogram) -> Option<Hump> {
    let count = times.count();
    let most = (count as f64 * SHARE_MAX) as u64;
    let mut above = 0;
    let mut best = None;
    let bars: Vec<(u64, u64, u64)> = times.bars().collect();
    for &(from_ns, _, here) in bars.iter().rev() {
        above += here;
        if above > most {
            break;
        }
        if above < SLOW_MIN || (above as f64) < SHARE_MIN * count as f64 {
            continue;
        }
        let rank = |part: f64| times.value_at_rank(count - above + 1 + (part * (above - 1) as f64) as u64);
        let others_ns = times.value_at_rank((count - above).div_ceil(2).max(1));
        let narrow = rank(0.9) as f64 <= WIDTH_MAX * rank(0.1) as f64;
        let valley = between(times, (from_ns as f64 * VALLEY) as u64, from_ns);
        if narrow && from_ns as f64 >= SLOWER * others_ns as f64 && valley as f64 <= VALLEY_SHARE_MAX * above as f64 {
            best = Some(Hump { from_ns, median_ns: rank(0.5), count: above, others_ns });
        }
    }
    best
}

/// Requests that took from `low` up to, not including, `high`.
fn between(times: &Histogram, low: u64, high: u64) -> u64 {
    times.bars().filter(|(from, ..)| (low..high).contains(from)).map(|(.., count)| count).sum()
}

/// Whether slow ones come throughout: a second with n requests has one with probability 1 − (1 − share)ⁿ.
fn is_spread(scene: &Scene<'_>, series: &SeriesTally, hump: &Hump) -> bool {
    let share = hump.count as f64 / series.merged.service.count() as f64;
    let (mut expected, mut found) = (0.0, 0.0);
    for slice in &scene.run.slices {
        for second in slice.series.iter().filter(|second| second.key == series.merged.key && second.service.count() > 0) {
            expected += 1.0 - (1.0 - share).powf(second.service.count() as f64);
            found += f64::from(u8::from(second.service.max() >= hump.from_ns));
        }
    }
    expected >= 5.0 && found >= SPREAD_MIN * expected
}
