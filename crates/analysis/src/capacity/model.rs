//! A capacity as data. This is also the schema of `capacity.json`, which docs/capacity.md describes.

use serde::{Deserialize, Serialize};

use crate::Grade;

/// What a level of load counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadUnit {
    /// Arrivals per second of all scenarios together.
    Arrivals,
    /// Users of all scenarios together.
    Users,
    /// Times the load of the test: it has arrivals and users.
    Times,
}

/// What one probe says of one objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveReading {
    /// As it was written.
    pub objective: String,
    /// In the metric's base unit, as are the next three.
    pub bound: f64,
    /// `None`: nothing was measured.
    pub measured: Option<f64>,
    /// Ends of the 95 % interval, where they can be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    pub holds: bool,
    /// A time, which grows smoothly with the load; of anything else only the side counts.
    pub is_time: bool,
}

/// Which way a probe points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeLean {
    /// Every objective held, and the system kept up.
    Holds,
    Fails,
    /// The measurement is invalid: it says nothing about the system.
    Unusable,
}

/// What one probe says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeReading {
    pub objectives: Vec<ObjectiveReading>,
    /// More arrived than left, beyond chance: the load is not sustained, whatever was measured until then.
    pub backlog_grows: bool,
    /// Arrived and not yet ended when the load ended, and ended per second: how long the system needs to drain.
    pub backlog: f64,
    pub throughput: f64,
    /// What arrived per second; 0 where users ask again by themselves. Random arrivals are never quite as many as were asked for.
    #[serde(default)]
    pub arrivals: f64,
    pub grade: Grade,
    /// The measurement is invalid, and the system is not why.
    pub is_unusable: bool,
    /// What kept the generator from its work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<ProbeDisturbance>,
}

/// What kept the generator from its work during a probe, as the check of the validity that noticed it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeDisturbance {
    pub what: String,
    pub evidence: String,
}

/// A measurement at one level of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityProbe {
    pub load: f64,
    /// How long the load lasted, warm-up included.
    pub seconds: f64,
    /// Time that it cost, with what came before and after.
    pub cost_seconds: f64,
    /// The run directory, beside `capacity.json`.
    pub run: String,
    pub lean: ProbeLean,
    /// What was found in it, the most important first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// What would limit next, if it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_limit: Option<String>,
    #[serde(flatten)]
    pub reading: ProbeReading,
}

/// Where the capacity lies: a median and the ends of the 95 % interval, in the unit of the load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CapacityInterval {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityVerdict {
    /// As precisely as was asked for, and confirmed below and above.
    Found,
    /// The time was up, or it was interrupted: the interval is wider, or it is not confirmed.
    Rough,
    /// The highest load that was tried holds.
    AtLeast,
    /// The lowest load that was tried fails.
    Below,
    /// Nothing usable was measured.
    CannotTell,
}

/// How much a system can take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// Version of this schema: 1.
    pub schema: u32,
    pub test: String,
    pub unit: LoadUnit,
    pub objectives: Vec<String>,
    pub verdict: CapacityVerdict,
    /// The verdict in a sentence.
    pub headline: String,
    /// Where the load was bracketed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityInterval>,
    /// The highest load that held, and the lowest that failed.
    pub highest_held: Option<f64>,
    pub lowest_failed: Option<f64>,
    /// The objective that gives way first; `None`: the system did not keep up, or nothing failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
    /// What was found in the nearest probe above, and which run that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_limit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_run: Option<String>,
    /// What kept the answer from being precise, or its limit from being found, where it is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed_by: Option<String>,
    pub cost_seconds: f64,
    /// In the order in which they were made.
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

    /// The nearest level that can be asked for.
    pub fn rounded(self, load: f64) -> f64 {
        match self {
            LoadUnit::Users => load.round().max(1.0),
            LoadUnit::Arrivals | LoadUnit::Times if load > 0.0 => {
                // Three digits: what is asked for is what is shown.
                let scale = 10f64.powf(2.0 - load.log10().floor());
                (load * scale).round() / scale
            }
            LoadUnit::Arrivals | LoadUnit::Times => load,
        }
    }
}
