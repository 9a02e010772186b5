//! Where the capacity lies, as a probability: Bayes' rule on a grid.
//!
//! A search that takes every probe for a coin that points left or right (probabilistic bisection; Horstein 1963, Waeber, Frazier and Henderson 2013) throws
//! away by how much an objective was missed, and is far too sure of itself once probes crowd around the answer. Here a probe near the bound counts with its
//! magnitude: how a time grows with the load near the capacity is a curve of one unknown steepness, and both are inferred together.
//!
//! - Arrivals: the tail of a queue decays at a rate that falls linearly with the arrival rate near saturation (exact for M/M/1; Abate, Choudhury and
//!   Whitt, "Exponential approximations for tail probabilities in queues", 1995), so bound / time = 1 − t·(load / C − 1).
//! - Users: times grow with their number as a power of it, ln(time / bound) = t·ln(load / C); without think time and beyond the knee t is 1.
//!
//! How far the readings may be off is inferred with it: their intervals say it beforehand, and their scatter about the curve corrects that. All near the
//! bound weigh the same for their length. A probe that saw few of the rare long waits has a low time and a narrow interval: weighed by its own interval, it
//! would pull the capacity up.
//!
//! What is far from the bound, or no time, tells its side alone.
//!
//! A probe of random arrivals is placed at the load that arrived and not at the one that was asked for: by how much both differ is known, and is a good part of
//! the scatter near saturation (a control variate; Lavenberg and Welch, "A perspective on the use of control variables to increase the efficiency of Monte
//! Carlo simulations", 1981).

use super::model::{CapacityInterval, CapacityProbe, LoadUnit, ObjectiveReading};

/// Times from the bound within which the magnitude of a reading counts.
const NEAR: f64 = 2.5;
/// Half of a 95 % interval in standard deviations, of intervals that were made from twenty batches.
const HALF: f64 = 2.1;
/// Relative error that every reading has beyond its interval: the curve is not the system's own, and no two runs are quite alike.
const MODEL_ERROR: f64 = 0.03;
/// Error of a reading without an interval.
const BARE_ERROR: f64 = 0.3;
/// How many probes the intervals' widths are worth, against how much the probes really scatter about the curve.
const PRIOR: f64 = 3.0;
/// The most by which what arrived differs from what was asked for by chance. Beyond it, something else did not go as asked.
const CHANCE_MAX: f64 = 0.1;
/// How often a probe that is beyond doubt is wrong all the same.
const WRONG: f64 = 0.02;
const PLACES: usize = 500;
const STEEPNESSES: usize = 20;
/// Steepness: at a utilisation of ρ it is ρ/(1 − ρ).
const STEEPEST: f64 = 60.0;
const FLATTEST: f64 = 0.4;

/// Where the capacity may lie with one objective.
pub(super) struct Belief {
    loads: Vec<f64>,
    /// Sums to 1.
    mass: Vec<f64>,
}

impl Belief {
    /// `probes`: the usable ones; `which`: the objective.
    pub(super) fn of(unit: LoadUnit, span: (f64, f64), probes: &[&CapacityProbe], which: usize) -> Self {
        let step = (span.1 / span.0).ln() / (PLACES - 1) as f64;
        let loads: Vec<f64> = (0..PLACES).map(|index| span.0 * (step * index as f64).exp()).collect();
        let steepness = |index: usize| FLATTEST * (STEEPEST / FLATTEST).powf(index as f64 / (STEEPNESSES - 1) as f64);
        let evidence = CapacityEvidence::of(unit, probes, which);
        let mut logs = vec![0.0; PLACES * STEEPNESSES];
        for (index, log) in logs.iter_mut().enumerate() {
            *log = evidence.log(unit, loads[index / STEEPNESSES], steepness(index % STEEPNESSES));
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut mass: Vec<f64> = logs.chunks(STEEPNESSES).map(|of| of.iter().map(|log| (log - most).exp()).sum()).collect();
        let sum: f64 = mass.iter().sum();
        mass.iter_mut().for_each(|mass| *mass /= sum);
        Self { loads, mass }
    }

    pub(super) fn interval(&self) -> CapacityInterval {
        CapacityInterval { value: self.quantile(0.5), low: self.quantile(0.025), high: self.quantile(0.975) }
    }

    fn quantile(&self, share: f64) -> f64 {
        let step = (self.loads[1] / self.loads[0]).ln();
        let mut before = 0.0;
        for (load, mass) in self.loads.iter().zip(&self.mass) {
            if before + mass >= share {
                let part = if *mass > 0.0 { (share - before) / mass - 0.5 } else { 0.0 };
                return load * (part * step).exp();
            }
            before += mass;
        }
        self.loads.last().copied().unwrap_or(0.0)
    }
}

/// What the probes say of the capacity with one objective.
#[derive(Default)]
struct CapacityEvidence {
    /// Near the bound: load, ln(time / bound), and its standard error.
    near: Vec<(f64, f64, f64)>,
    /// Load, and the probability that the capacity lies above.
    sides: Vec<(f64, f64)>,
}

impl CapacityEvidence {
    fn of(unit: LoadUnit, probes: &[&CapacityProbe], which: usize) -> Self {
        let mut found = Self::default();
        let (mut logs, mut lengths) = (0.0, Vec::new());
        for probe in probes {
            let Some(objective) = probe.reading.objectives.get(which) else { continue };
            let load = arrived(unit, probe);
            match near(objective).filter(|_| !probe.reading.backlog_grows) {
                Some((ln_ratio, error)) => {
                    logs += (error * error * probe.seconds).ln();
                    lengths.push(probe.seconds);
                    found.near.push((load, ln_ratio, 0.0));
                }
                None if probe.reading.backlog_grows => found.sides.push((load, WRONG)),
                None => found.sides.push((load, side(objective))),
            }
        }
        let variance = (logs / lengths.len().max(1) as f64).exp();
        for ((_, ln_ratio, error), seconds) in found.near.iter_mut().zip(lengths) {
            // The mean of a logarithm lies below the logarithm of the mean by half its variance: a short run misses the rare long waits more often than not.
            *ln_ratio += variance / seconds / 2.0;
            *error = (variance / seconds).sqrt().hypot(MODEL_ERROR);
        }
        found
    }

    /// Logarithm of how likely all is, but for a constant. The scale of the errors is integrated out, which makes it a multivariate t.
    fn log(&self, unit: LoadUnit, capacity: f64, steep: f64) -> f64 {
        let residual = |(load, ln_ratio, error): &(f64, f64, f64)| (ln_ratio - expected(unit, load / capacity, steep)) / error;
        let squares: f64 = self.near.iter().map(|near| residual(near).powi(2)).sum();
        let sides = self.sides.iter().map(|(load, above)| if *load < capacity { *above } else { 1.0 - above }.ln());
        sides.sum::<f64>() - (PRIOR + self.near.len() as f64) / 2.0 * (squares / PRIOR).ln_1p()
    }
}

/// The load that a probe made.
fn arrived(unit: LoadUnit, probe: &CapacityProbe) -> f64 {
    let arrivals = probe.reading.arrivals;
    let is_chance = unit == LoadUnit::Arrivals && arrivals > 0.0 && (arrivals / probe.load).ln().abs() <= CHANCE_MAX;
    if is_chance { arrivals } else { probe.load }
}

/// ln(time / bound) at so many times the capacity.
fn expected(unit: LoadUnit, times: f64, steep: f64) -> f64 {
    match unit {
        LoadUnit::Arrivals => -(1.0 - steep * (times - 1.0)).max(0.02).ln(),
        LoadUnit::Users | LoadUnit::Times => steep * times.ln(),
    }
}

/// ln(time / bound) and its standard error, of a time near the bound.
fn near(objective: &ObjectiveReading) -> Option<(f64, f64)> {
    let measured = objective.measured.filter(|measured| objective.is_time && *measured > 0.0)?;
    let ln_ratio = (measured / objective.bound).ln();
    let below = objective.low.filter(|low| *low > 0.0).map(|low| (measured / low).ln());
    let above = objective.high.map(|high| (high / measured).ln());
    let (below, above) = match (below, above) {
        (Some(below), Some(above)) => (below, above),
        // Without an upper end the samples do not say how far it may be: further than the lower one.
        (Some(below), None) => (below, 2.0 * below),
        _ => (HALF * BARE_ERROR, HALF * BARE_ERROR),
    };
    (ln_ratio.abs() <= NEAR.ln()).then_some((ln_ratio, ((below + above) / 2.0 / HALF).max(0.005)))
}

/// The probability that the capacity lies above.
fn side(objective: &ObjectiveReading) -> f64 {
    let is_open = match (objective.low, objective.high) {
        (Some(low), Some(high)) => low <= objective.bound && objective.bound <= high,
        _ => false,
    };
    match (is_open, objective.holds) {
        (true, true) => 0.7,
        (true, false) => 0.3,
        (false, true) => 1.0 - WRONG,
        (false, false) => WRONG,
    }
}
