//! A capacity as data. It is also the schema of `capacity.json`, which docs/capacity.md describes.

use serde::{Deserialize, Serialize};

use crate::Grade;

/// The unit of a load level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadUnit {
    /// Arrivals per second of all scenarios together.
    Arrivals,
    /// Users of all scenarios together.
    Users,
    /// Multiple of the test's load, for a test with arrivals and users.
    Times,
}

/// The result of one probe for one objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveReading {
    /// The objective as the user wrote it.
    pub objective: String,
    /// In the metric's base unit, as are the next three fields.
    pub bound: f64,
    /// `None`: nothing was measured.
    pub measured: Option<f64>,
    /// Ends of the 95 % interval, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    pub holds: bool,
    /// The metric is a time, which grows smoothly with the load. For other metrics only the side counts.
    pub is_time: bool,
}

/// The direction of the evidence of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeLean {
    /// Every objective held, and the system kept up with the load.
    Holds,
    Fails,
    /// The measurement is invalid: it is no evidence about the system.
    Unusable,
}

/// The result of one probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeReading {
    pub objectives: Vec<ObjectiveReading>,
    /// Significantly more arrived than left: the load is not sustainable, even if the objectives held.
    pub backlog_grows: bool,
    /// `backlog`: arrivals that had not ended when the load ended. `throughput`: requests ended per second. Their ratio is the time that
    /// the system needs to drain.
    pub backlog: f64,
    pub throughput: f64,
    /// Arrivals per second; 0 for closed load. The number of random arrivals differs from the requested number.
    #[serde(default)]
    pub arrivals: f64,
    pub grade: Grade,
    /// The measurement is invalid, and the system is not the cause.
    pub is_unusable: bool,
    /// Disturbances of the generator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<ProbeDisturbance>,
}

/// A disturbance of the generator during a probe, as reported by a validity check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeDisturbance {
    pub what: String,
    pub evidence: String,
}

/// A measurement at one level of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityProbe {
    pub load: f64,
    /// Length of the load, including the warm-up.
    pub seconds: f64,
    /// Total time of the probe, including the time before and after the load.
    pub cost_seconds: f64,
    /// The run directory, next to `capacity.json`.
    pub run: String,
    pub lean: ProbeLean,
    /// The findings, the most important first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// The next limit, if it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_limit: Option<String>,
    #[serde(flatten)]
    pub reading: ProbeReading,
}

/// The capacity: a median and the ends of the 95 % interval, in the unit of the load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CapacityInterval {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityVerdict {
    /// With the requested precision, and confirmed below and above.
    Found,
    /// The time budget was used up, or the search was interrupted: the interval is wider, or unconfirmed.
    Rough,
    /// The highest tested load holds.
    AtLeast,
    /// The lowest tested load fails.
    Below,
    /// No probe was usable.
    CannotTell,
}

/// The capacity of a system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// Version of this schema: 1.
    pub schema: u32,
    pub test: String,
    pub unit: LoadUnit,
    pub objectives: Vec<String>,
    pub verdict: CapacityVerdict,
    /// The verdict in one sentence.
    pub headline: String,
    /// Present if the capacity was bracketed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityInterval>,
    /// The highest load that held, and the lowest load that failed.
    pub highest_held: Option<f64>,
    pub lowest_failed: Option<f64>,
    /// The objective that fails first; `None`: the system did not keep up, or nothing failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
    /// The first finding of the nearest probe above the capacity; if no probe has one, of a ramp after the search. `limit_run` is that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_limit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_run: Option<String>,
    /// The reason why the answer is imprecise or its limit is unknown, where this is the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed_by: Option<String>,
    pub cost_seconds: f64,
    /// In the order in which they ran.
    pub probes: Vec<CapacityProbe>,
}

impl CapacityInterval {
    /// Half of its width, relative to the value.
    pub fn precision(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.value
    }
}

impl LoadUnit {
    /// A level in words: `160/s`, `40 users`, `1.50 × the test's load`.
    pub fn words(self, load: f64) -> String {
        match self {
            LoadUnit::Arrivals => loadstone_units::rate(load),
            LoadUnit::Users => loadstone_units::counted(load.round() as u64, "user"),
            LoadUnit::Times => format!("{} × the test's load", loadstone_units::number(load)),
        }
    }

    /// The nearest level that can be requested.
    pub fn rounded(self, load: f64) -> f64 {
        match self {
            LoadUnit::Users => load.round().max(1.0),
            LoadUnit::Arrivals | LoadUnit::Times if load > 0.0 => {
                // Three digits, so that the requested load equals the displayed load.
                let scale = 10f64.powf(2.0 - load.log10().floor());
                (load * scale).round() / scale
            }
            LoadUnit::Arrivals | LoadUnit::Times => load,
        }
    }
}
