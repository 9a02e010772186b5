//! Load profiles: how many arrivals, users or iterations, and when.
//!
//! Open profiles ask for *arrivals*, however the target responds; closed profiles keep *users* in a loop. The shapes that scripts offer
//! (ramp, steps, spike, at once) are all sequences of the few stages here. `engine::arrivals` turns stages into instants.

use serde::{Deserialize, Serialize};

use crate::ReplayStage;

/// How arrivals of a rate stage are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// Evenly: arrival *k* of a stage falls where the integral of the rate reaches *k*.
    Even,
    /// A Poisson process with the stage's rate (non-homogeneous on ramps), drawn from the run's seed.
    Poisson,
}

/// A part of an open profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenStage {
    /// The rate moves linearly `from` → `to` over the stage. Arrivals per second.
    Rate { from: f64, to: f64, duration_ns: u64, timing: Timing },
    /// `count` arrivals at the instant the stage begins. The stage takes no time.
    Burst { count: u64 },
    /// The arrivals of a record.
    Replay(ReplayStage),
}

/// A part of a closed profile: the number of users moves linearly `from` → `to` over the stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClosedStage {
    pub from: u64,
    pub to: u64,
    pub duration_ns: u64,
}

/// What the number of iterations applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationSplit {
    /// `count` iterations in all; each goes to the next free user.
    Shared,
    /// `count` iterations by each user.
    PerUser,
}

/// The load of one leaf.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadProfile {
    Open {
        stages: Vec<OpenStage>,
    },
    Closed {
        stages: Vec<ClosedStage>,
    },
    /// `users` users run `count` iterations (see [`IterationSplit`]), for at most `duration_max_ns`.
    Iterations {
        users: u64,
        count: u64,
        split: IterationSplit,
        duration_max_ns: Option<u64>,
    },
    /// Another tool generates the load, and only its record shows how much.
    Recorded {
        model: LoadModel,
    },
}

/// How the load of another tool depends on the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadModel {
    /// Open: requests arrive however the system responds.
    Arrivals,
    /// Closed: a user sends its next request after the response.
    Users,
}

impl OpenStage {
    /// Nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        match self {
            OpenStage::Rate { duration_ns, .. } => *duration_ns,
            OpenStage::Burst { .. } => 0,
            OpenStage::Replay(replay) => replay.duration_ns,
        }
    }

    /// Number of arrivals that the stage asks for (an expectation when the timing is Poisson).
    pub fn arrivals(&self) -> f64 {
        match self {
            OpenStage::Rate { from, to, duration_ns, .. } => (from + to) / 2.0 * (*duration_ns as f64 / 1e9),
            OpenStage::Burst { count } => *count as f64,
            OpenStage::Replay(replay) => replay.count as f64,
        }
    }
}

impl LoadProfile {
    /// Arrivals at a constant rate, evenly spaced: `arrivals(rate).for(duration)`.
    pub fn rate(per_second: f64, duration_ns: u64) -> Self {
        LoadProfile::Open { stages: vec![OpenStage::Rate { from: per_second, to: per_second, duration_ns, timing: Timing::Even }] }
    }

    /// A constant number of users: `users(n).for(duration)`.
    pub fn users(count: u64, duration_ns: u64) -> Self {
        LoadProfile::Closed { stages: vec![ClosedStage { from: count, to: count, duration_ns }] }
    }

    /// Arrivals at once, with no duration: `once()` and `atOnce(n)`.
    pub fn burst(count: u64) -> Self {
        LoadProfile::Open { stages: vec![OpenStage::Burst { count }] }
    }

    pub fn is_open(&self) -> bool {
        matches!(self, LoadProfile::Open { .. } | LoadProfile::Recorded { model: LoadModel::Arrivals })
    }

    /// Time during which the profile starts work. Nanoseconds. `None` when only a count limits it.
    pub fn duration_ns(&self) -> Option<u64> {
        match self {
            LoadProfile::Open { stages } => Some(stages.iter().map(OpenStage::duration_ns).sum()),
            LoadProfile::Closed { stages } => Some(stages.iter().map(|stage| stage.duration_ns).sum()),
            LoadProfile::Iterations { duration_max_ns, .. } => *duration_max_ns,
            LoadProfile::Recorded { .. } => None,
        }
    }
}
