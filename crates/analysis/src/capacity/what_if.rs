//! What would limit next, and where, if what limits first were removed: the lowest of the other ceilings.

use serde::{Deserialize, Serialize};

use super::bootstrap::interval;
use super::model::CapacityInterval;
use super::utilisation::Ceilings;

/// Share of the resamples in which another resource must come first for it to be named as well.
const AS_WELL: f64 = 0.05;

/// The throughput if the first bottleneck were removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// In words, what is taken away; `None`: what limited the run was not among what was observed.
    pub without: Option<String>,
    /// Name of the signal of what would be full next; `None`: not identified.
    pub resource: Option<String>,
    /// Requests per second with the 95 % interval: an upper bound, as what was not observed may limit before. `None`: not identified.
    pub throughput_max: Option<CapacityInterval>,
    /// Share of the resamples in which no other resource comes before it; 0 where it is not identified.
    pub sure: f64,
    /// In a sentence.
    pub remark: String,
}

impl WhatIf {
    /// `limit`: the ceiling of the throughput, where the run showed it. `None` where no ceiling is known at all.
    pub(super) fn of(ceilings: &Ceilings, limit: Option<CapacityInterval>) -> Option<Self> {
        let first = &ceilings.known.first()?.told;
        // What was carried ends below everything that is known: something else limited.
        let is_first_the_limit = limit.is_none_or(|limit| limit.high >= first.throughput_max.low);
        let without = is_first_the_limit.then(|| first.what.clone());
        let rest = &ceilings.known[usize::from(is_first_the_limit)..];
        let taken_away = without.clone().unwrap_or_else(|| "what limited this run, whose ceiling is not known,".to_owned());
        let unknown = |why: &str| {
            let remark = format!("not identified: {why}{}", nothing_known_of(ceilings));
            Self { without: without.clone(), resource: None, throughput_max: None, sure: 0.0, remark }
        };
        let Some(next) = rest.first() else {
            return Some(unknown(&format!("nothing but {taken_away} was observed and used enough to say where it would be full")));
        };
        if !ceilings.is_balanced {
            return Some(unknown("the load rose too fast, in too few stretches as much ended as came in"));
        }
        let resamples = next.drawn.len();
        let lowest = |draw: usize| rest.iter().filter_map(|ceiling| ceiling.drawn[draw]).reduce(f64::min);
        let drawn: Vec<Option<f64>> = (0..resamples).map(lowest).collect();
        let Some(throughput_max) = interval(next.told.throughput_max.value, &drawn, ceilings.stretches) else {
            return Some(unknown("what a request needs of the others is not known well enough"));
        };
        let share = |drawn_here: &[Option<f64>]| {
            let first = drawn_here.iter().zip(&drawn).filter(|(here, lowest)| here.is_some() && here == lowest);
            first.count() as f64 / resamples.max(1) as f64
        };
        let others = rest.iter().skip(1).filter(|other| share(&other.drawn) >= AS_WELL);
        let full: Vec<&str> = std::iter::once(next).chain(others).map(|ceiling| ceiling.told.what.as_str()).collect();
        let CapacityInterval { value, low, high } = throughput_max;
        let remark = format!(
            "without {taken_away} at most about {} ({} to {}), an upper bound: there {} would be full{}",
            loadstone_units::rate(value),
            loadstone_units::rate(low),
            loadstone_units::rate(high),
            full.join(" or "),
            nothing_known_of(ceilings)
        );
        let resource = Some(next.told.resource.clone());
        Some(Self { without, resource, throughput_max: Some(throughput_max), sure: share(&next.drawn), remark })
    }
}

/// What may come before as well.
fn nothing_known_of(ceilings: &Ceilings) -> String {
    let unknown: Vec<&str> = ceilings.unknown.iter().map(|of| of.what.as_str()).collect();
    if unknown.is_empty() { String::new() } else { format!("; where {} would be full is not known", unknown.join(" and ")) }
}

#[cfg(test)]
mod tests {
    use super::super::ramp_truth::{Stations, TWO, asked};
    use super::*;
    use crate::statistics::{nearest_of_sorted, share_in_words};

    const RAMPS: [Stations; 5] = [
        TWO,
        Stations { name: "4 of 15 ms, then 2 of 10 ms, up to twice", each: &[(4, 0.015), (2, 0.01)], most: 2.0, ..TWO },
        Stations { name: "2 of 10 ms, then 8 of 8 ms, in 300 s", each: &[(2, 0.01), (8, 0.008)], seconds: 300, ..TWO },
        Stations { name: "2 of 100 ms, then 4 of 150 ms, in 300 s", each: &[(2, 0.1), (4, 0.15)], seconds: 300, ..TWO },
        Stations { name: "2 of 10 ms, then 4 of 15 ms, then 3 of 10.5 ms", each: &[(2, 0.01), (4, 0.015), (3, 0.0105)], ..TWO },
    ];

    /// Which station is full after the one that limits, and where.
    fn next(ramp: Stations) -> (usize, f64) {
        let mut full: Vec<(usize, f64)> = ramp.each.iter().map(|(servers, service)| *servers as f64 / service).enumerate().collect();
        full.sort_by(|a, b| a.1.total_cmp(&b.1));
        full[1]
    }

    /// As [`super::super::ramp_truth`] does:
    /// `LOADSTONE_RAMPS=200 LOADSTONE_RAMP_SEED=1001 cargo test -p loadstone-analysis --lib capacity::what_if -- --nocapture`.
    #[test]
    fn the_whole_table() {
        let (ramps, seeds) = asked();
        println!(
            "| ramp up to 1.5 times what is carried, in 120 s | next | told | the right one | interval holds it | 95 % of the errors within | ± half |"
        );
        println!("|---|--:|--:|--:|--:|--:|--:|");
        let mut problems = Vec::new();
        for ramp in RAMPS {
            let (station, truth) = next(ramp);
            let what_ifs = (seeds..seeds + ramps).filter_map(|seed| ramp.estimate(seed).what_if);
            let told: Vec<(WhatIf, CapacityInterval)> = what_ifs.filter_map(|of| of.throughput_max.map(|at| (of, at))).collect();
            let right = told.iter().filter(|(of, _)| of.resource == Some(format!("process:{station}/cpu"))).count() as u64;
            let held = told.iter().filter(|(_, of)| of.low <= truth && truth <= of.high).count() as u64;
            let mut errors: Vec<f64> = told.iter().map(|(_, of)| (of.value / truth - 1.0).abs()).collect();
            let mut halves: Vec<f64> = told.iter().map(|(_, of)| of.precision()).collect();
            errors.sort_by(f64::total_cmp);
            halves.sort_by(f64::total_cmp);
            let (count, percent) = (told.len() as u64, |share: f64| format!("{:.1} %", 100.0 * share));
            println!(
                "| {} | {} | {count} of {ramps} | {right} | {} | {} | {} |",
                ramp.name,
                loadstone_units::rate(truth),
                share_in_words(held, count),
                percent(nearest_of_sorted(&errors, 0.95)),
                percent(nearest_of_sorted(&halves, 0.5)),
            );
            // Of 93 % held, fewer than 23 of 30 are one in two thousand.
            if count * 20 < ramps * 19 || right * 30 < count * 23 || held * 30 < count * 23 {
                problems.push(format!("{}: {count} told, {right} right, {held} held", ramp.name));
            }
        }
        assert!(problems.is_empty(), "{problems:#?}");
    }

    #[test]
    fn what_is_not_known_is_not_identified() {
        let alone = Stations { each: &[(1, 0.005)], ..TWO };
        let fast = Stations { most: 5.0, ..TWO };
        for (what_if, why) in [
            (alone.estimate(1).what_if, "nothing but the one core of \"process:0\" was observed"),
            (TWO.estimate_without(1, Some(1)).what_if, "nothing but the 2 cores of \"process:0\" was observed"),
            (fast.estimate(1).what_if, "not identified"),
        ] {
            let what_if = what_if.unwrap();
            assert!(what_if.throughput_max.is_none() && what_if.remark.contains(why), "{what_if:?}");
        }
    }

    /// What limits was not observed: the first that was comes after it.
    #[test]
    fn without_what_nobody_observed_the_first_ceiling_is_the_next() {
        let far = Stations { each: &[(2, 0.01), (4, 0.01)], ..TWO };
        for seed in 1..=20 {
            let what_if = far.estimate_without(seed, Some(0)).what_if.unwrap();
            assert_eq!((what_if.without, what_if.resource.as_deref()), (None, Some("process:1/cpu")), "{}", what_if.remark);
            assert!((what_if.throughput_max.unwrap().value / 400.0 - 1.0).abs() < 0.1, "{}", what_if.remark);
        }
    }
}
