//! Where the resources that were observed would be full, from a run under rising load: by the utilisation law (Denning and Buzen, "The operational analysis of
//! queueing network models", 1978) what is in use of one grows by the demand D of each request, U = a + D·X, and of k places (k − a) / D requests per second
//! are the end. `a` is what it is busy with whatever the load is.

use metrics::Role;
use run_directory::Run;
use serde::{Deserialize, Serialize};

use super::bootstrap::resampled;
use super::model::CapacityInterval;
use super::ramp_stretch::RampStretch;
use crate::facts::next_limits;
use crate::facts::signals::{ObservedPart, ObservedSignals};

/// Stretches in which a resource must have been read.
const READ_MIN: usize = 12;
/// Part of its places that must have been in use at least once: one that idles shows noise.
const USED_MIN: f64 = 0.05;
/// Share of the resamples in which it must be needed at all.
const SURE: f64 = 0.975;

/// The throughput at which a resource would be full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceCeiling {
    /// Name of the signal.
    pub resource: String,
    /// Cores, members, bytes per second; 1 where only a share of the time is known.
    pub places: f64,
    /// Of how much of it each request has need.
    pub each: f64,
    /// Requests per second, with the 95 % interval of a block bootstrap (Künsch 1989).
    pub throughput_max: CapacityInterval,
}

/// In use, and ended per second.
type Point = (f64, f64);

/// The lowest first. `seen`: the highest throughput that was; a ceiling below it is none.
pub(super) fn ceilings(run: &Run, stretches: &[RampStretch], seen: f64) -> Vec<ResourceCeiling> {
    let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else { return Vec::new() };
    let signals = ObservedSignals::of(&run.signals);
    let cores = f64::from(run.info.host.cores.max(1));
    let resources = next_limits::that_work(&signals, cores, (first.from, last.to));
    let ceiling = |(role, part, places): (Role, ObservedPart<'_>, f64)| {
        let readings = signals.read(part, role)?;
        let point = |stretch: &RampStretch| Some((readings.mean(stretch.from, stretch.to)?, stretch.block.1));
        let points: Vec<Point> = stretches.iter().filter_map(point).collect();
        let (each, throughput_max) = of_points(&points, places)?;
        (throughput_max.high >= seen).then(|| ResourceCeiling { resource: readings.name(), places, each, throughput_max })
    };
    let mut found: Vec<ResourceCeiling> = resources.into_iter().filter_map(ceiling).collect();
    found.sort_by(|a, b| a.throughput_max.value.total_cmp(&b.throughput_max.value));
    found
}

/// The demand of a request, and the ceiling with its interval; `None`: it is not known to be needed.
fn of_points(points: &[Point], places: f64) -> Option<(f64, CapacityInterval)> {
    let most = points.iter().map(|point| point.0).fold(0.0, f64::max);
    if points.len() < READ_MIN || most < USED_MIN * places {
        return None;
    }
    let (always, each) = line(points)?;
    let value = (places - always) / each;
    let mut drawn: Vec<f64> = resampled(points).map(|points| line(&points).map_or(f64::INFINITY, |(a, d)| (places - a) / d)).collect();
    drawn.sort_by(f64::total_cmp);
    let at = |share: f64| drawn.get((share * drawn.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(f64::INFINITY);
    let (low, high) = (at(1.0 - SURE).min(value), at(SURE).max(value));
    (value > 0.0 && high.is_finite()).then_some((each, CapacityInterval { value, low, high }))
}

/// `U = a + D·X` by least squares with `a` not below 0; `None` where D is not above it.
fn line(points: &[Point]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let (used, ended) = points.iter().fold((0.0, 0.0), |(u, x), point| (u + point.0 / count, x + point.1 / count));
    let squares: f64 = points.iter().map(|point| (point.1 - ended).powi(2)).sum();
    let products: f64 = points.iter().map(|point| (point.1 - ended) * (point.0 - used)).sum();
    let each = products / squares;
    let (always, each) = if used - each * ended >= 0.0 {
        (used - each * ended, each)
    } else {
        let through_zero =
            points.iter().map(|point| point.0 * point.1).sum::<f64>() / points.iter().map(|point| point.1.powi(2)).sum::<f64>();
        (0.0, through_zero)
    };
    (each.is_finite() && each > 0.0).then_some((always, each))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 10 to 400 per second; noise of ±2.5 %.
    fn points(used: impl Fn(f64) -> f64) -> Vec<Point> {
        let noisy = |index: usize| 1.0 + ((index * 7919 + 13) % 101) as f64 / 2_000.0 - 0.025;
        (1..=40).map(|index| (used(10.0 * index as f64) * noisy(index), 10.0 * index as f64)).collect()
    }

    /// Two cores, 4 ms of them each, and a tenth of a core whatever the load: full at 1.9 / 0.004 = 475 per second.
    #[test]
    fn the_demand_of_a_request_says_where_a_resource_is_full() {
        let (each, ceiling) = of_points(&points(|ended| 0.1 + 0.004 * ended), 2.0).unwrap();
        assert!((each / 0.004 - 1.0).abs() < 0.02, "{each}");
        assert!(ceiling.low <= 475.0 && 475.0 <= ceiling.high && ceiling.precision() < 0.03, "{ceiling:?}");
    }

    #[test]
    fn what_does_not_follow_the_load_has_no_ceiling() {
        assert!(of_points(&points(|_| 0.5), 2.0).is_none_or(|(_, ceiling)| ceiling.high > 10.0 * 400.0), "a steady use");
        assert!(of_points(&points(|ended| 1.0 - 0.001 * ended), 2.0).is_none(), "one that falls");
        assert!(of_points(&points(|ended| 0.0001 * ended), 2.0).is_none(), "one that idles");
    }
}
