//! The probability distribution of the capacity: Bayes' rule on a grid.
//!
//! A search that only uses the side of every probe (probabilistic bisection; Horstein 1963, Waeber, Frazier and Henderson 2013) ignores by
//! how much an objective was missed. It also becomes overconfident when probes cluster around the answer. Here a probe near the bound
//! counts with its magnitude: near the capacity, a time grows with the load along a curve with one unknown steepness, and capacity and
//! steepness are inferred together.
//!
//! - Arrivals: the tail of a queue decays at a rate that falls linearly with the arrival rate near saturation (exact for M/M/1; Abate, Choudhury and
//!   Whitt, "Exponential approximations for tail probabilities in queues", 1995), so bound / time = 1 − t·(load / C − 1).
//! - Users: times grow with their number as a power of it, ln(time / bound) = t·ln(load / C); without think time and beyond the knee t is 1.
//!
//! The error of the readings is inferred, too: their intervals give the prior, and their scatter around the curve corrects it. Per second
//! of length, all readings near the bound have the same weight. A probe with few of the rare long waits has a low time and a narrow
//! interval: with a weight by its own interval, it would bias the capacity upwards.
//!
//! A reading far from the bound, and a reading that is not a time, only gives its side.
//!
//! A probe with random arrivals is placed at the load that arrived, not at the load that was requested. Their difference is known, and
//! explains much of the scatter near saturation (a control variate; Lavenberg and Welch, "A perspective on the use of control variables to
//! increase the efficiency of Monte Carlo simulations", 1981).

use super::model::{CapacityInterval, CapacityProbe, LoadUnit, ObjectiveReading};

/// The magnitude of a reading counts within this factor of the bound.
const NEAR_BOUND_FACTOR_MAX: f64 = 2.5;
/// Half-width of a 95 % interval in standard deviations, for intervals from twenty batches.
const INTERVAL_HALF_WIDTH: f64 = 2.1;
/// Relative error of every reading in addition to its interval: the curve is only a model, and no two runs are identical.
const MODEL_ERROR: f64 = 0.03;
/// Error of a reading without an interval.
const ERROR_WITHOUT_INTERVAL: f64 = 0.3;
/// Weight of the intervals' widths as a number of probes, against the observed scatter of the probes around the curve.
const PRIOR_PROBES: f64 = 3.0;
/// Maximum random difference between arrived and requested load, as a logarithm. Beyond it, the load itself went wrong.
const ARRIVALS_DIFFERENCE_MAX: f64 = 0.1;
/// Probability that a clear probe is wrong nevertheless.
const WRONG_SIDE_PROBABILITY: f64 = 0.02;
const GRID_LOADS: usize = 500;
const GRID_STEEPNESSES: usize = 20;
/// Range of the steepness: at a utilisation of ρ it is ρ/(1 − ρ).
const STEEPNESS_MAX: f64 = 60.0;
const STEEPNESS_MIN: f64 = 0.4;

/// The distribution of the capacity for one objective.
pub(super) struct Belief {
    loads: Vec<f64>,
    /// Sums to 1.
    mass: Vec<f64>,
}

impl Belief {
    /// `probes`: the usable ones; `which`: index of the objective.
    pub(super) fn of(unit: LoadUnit, span: (f64, f64), probes: &[&CapacityProbe], which: usize) -> Self {
        let step = (span.1 / span.0).ln() / (GRID_LOADS - 1) as f64;
        let loads: Vec<f64> = (0..GRID_LOADS).map(|index| span.0 * (step * index as f64).exp()).collect();
        let steepness = |index: usize| STEEPNESS_MIN * (STEEPNESS_MAX / STEEPNESS_MIN).powf(index as f64 / (GRID_STEEPNESSES - 1) as f64);
        let evidence = CapacityEvidence::of(unit, probes, which);
        let mut logs = vec![0.0; GRID_LOADS * GRID_STEEPNESSES];
        for (index, log) in logs.iter_mut().enumerate() {
            *log = evidence.log(unit, loads[index / GRID_STEEPNESSES], steepness(index % GRID_STEEPNESSES));
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut mass: Vec<f64> = logs.chunks(GRID_STEEPNESSES).map(|of| of.iter().map(|log| (log - most).exp()).sum()).collect();
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

/// The evidence of the probes on the capacity for one objective.
#[derive(Default)]
struct CapacityEvidence {
    /// Near the bound: load, ln(time / bound), and its standard error.
    near: Vec<(f64, f64, f64)>,
    /// Load, and the probability that the capacity is higher.
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
                None if probe.reading.backlog_grows => found.sides.push((load, WRONG_SIDE_PROBABILITY)),
                None => found.sides.push((load, side(objective))),
            }
        }
        let variance = (logs / lengths.len().max(1) as f64).exp();
        for ((_, ln_ratio, error), seconds) in found.near.iter_mut().zip(lengths) {
            // The mean of a logarithm is below the logarithm of the mean by half its variance: a short run usually misses the rare long
            // waits.
            *ln_ratio += variance / seconds / 2.0;
            *error = (variance / seconds).sqrt().hypot(MODEL_ERROR);
        }
        found
    }

    /// Logarithm of the likelihood, up to a constant. The scale of the errors is integrated out, which gives a multivariate t distribution.
    fn log(&self, unit: LoadUnit, capacity: f64, steep: f64) -> f64 {
        let residual = |(load, ln_ratio, error): &(f64, f64, f64)| (ln_ratio - expected(unit, load / capacity, steep)) / error;
        let squares: f64 = self.near.iter().map(|near| residual(near).powi(2)).sum();
        let sides = self.sides.iter().map(|(load, above)| if *load < capacity { *above } else { 1.0 - above }.ln());
        sides.sum::<f64>() - (PRIOR_PROBES + self.near.len() as f64) / 2.0 * (squares / PRIOR_PROBES).ln_1p()
    }
}

/// The load that a probe generated.
fn arrived(unit: LoadUnit, probe: &CapacityProbe) -> f64 {
    let arrivals = probe.reading.arrivals;
    let is_chance = unit == LoadUnit::Arrivals && arrivals > 0.0 && (arrivals / probe.load).ln().abs() <= ARRIVALS_DIFFERENCE_MAX;
    if is_chance { arrivals } else { probe.load }
}

/// ln(time / bound) at a multiple of the capacity.
fn expected(unit: LoadUnit, times: f64, steep: f64) -> f64 {
    match unit {
        LoadUnit::Arrivals => -(1.0 - steep * (times - 1.0)).max(0.02).ln(),
        LoadUnit::Users | LoadUnit::Times => steep * times.ln(),
    }
}

/// ln(time / bound) and its standard error, for a time near the bound.
fn near(objective: &ObjectiveReading) -> Option<(f64, f64)> {
    let measured = objective.measured.filter(|measured| objective.is_time && *measured > 0.0)?;
    let ln_ratio = (measured / objective.bound).ln();
    let below = objective.low.filter(|low| *low > 0.0).map(|low| (measured / low).ln());
    let above = objective.high.map(|high| (high / measured).ln());
    let (below, above) = match (below, above) {
        (Some(below), Some(above)) => (below, above),
        // Without an upper end the samples give no upper error; it is larger than the lower one.
        (Some(below), None) => (below, 2.0 * below),
        _ => (INTERVAL_HALF_WIDTH * ERROR_WITHOUT_INTERVAL, INTERVAL_HALF_WIDTH * ERROR_WITHOUT_INTERVAL),
    };
    (ln_ratio.abs() <= NEAR_BOUND_FACTOR_MAX.ln()).then_some((ln_ratio, ((below + above) / 2.0 / INTERVAL_HALF_WIDTH).max(0.005)))
}

/// The probability that the capacity is higher than this load.
fn side(objective: &ObjectiveReading) -> f64 {
    let is_open = match (objective.low, objective.high) {
        (Some(low), Some(high)) => low <= objective.bound && objective.bound <= high,
        _ => false,
    };
    match (is_open, objective.holds) {
        (true, true) => 0.7,
        (true, false) => 0.3,
        (false, true) => 1.0 - WRONG_SIDE_PROBABILITY,
        (false, false) => WRONG_SIDE_PROBABILITY,
    }
}
