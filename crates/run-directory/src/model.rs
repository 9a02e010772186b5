//! A run as data.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadstone_metrics::{Outcome, Signal, SignalNotice, SignalPoint, Snapshot};
use loadstone_plan::TestPlan;
use loadstone_secrets::Secrets;
use serde::{Deserialize, Serialize};

use crate::run_traces::RunTraces;

/// The machine that generated the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    pub hostname: String,
    pub cpu: String,
    pub cores: u32,
    pub memory_bytes: u64,
    pub kernel: String,
    pub descriptors_max: u64,
}

/// A machine of a fleet that generated a part of the load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInfo {
    pub name: String,
    pub hostname: String,
    pub cores: u32,
    /// Its first worker, and how many of them follow in order.
    pub first_worker: u32,
    pub workers: u32,
    /// Labels that the agent reported, such as its region.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// Facts about a run: version, time, source, machine. Written before the load starts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Version of the run directory's format.
    pub format: u32,
    /// Directory name: `2026-11-20T18-30-05-tickets`.
    pub id: String,
    /// Version of Loadstone.
    pub loadstone: String,
    /// Wall-clock time of the run clock's zero, RFC 3339 with zone.
    pub started: String,
    /// The script as given on the command line; `None` for a run without one.
    pub file: Option<String>,
    /// Digest of the script and all that it imports. Runs of earlier versions, and runs without a script, have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Commit of the source repository that contains the test, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Branch that was checked out in that repository, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether the sources differed from that commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    /// Of all machines.
    pub workers: u32,
    /// The machine of the run; for a fleet, the controller's machine.
    pub host: HostFacts,
    #[serde(default)]
    pub tags: Vec<String>,
    /// The agents of a run over a fleet, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentInfo>,
    /// The agents' name of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<String>,
}

/// Minimum number of digits that identify a commit.
const COMMIT_DIGITS_MIN: usize = 7;

impl RunInfo {
    /// Whether the run's sources were on this branch, or at the commit that begins with these digits.
    pub fn is_of_source(&self, asked: &str) -> bool {
        let is_digest = asked.len() >= COMMIT_DIGITS_MIN && asked.bytes().all(|digit| digit.is_ascii_hexdigit());
        let is_commit = is_digest && self.commit.as_ref().is_some_and(|commit| commit.starts_with(&asked.to_ascii_lowercase()));
        is_commit || self.branch.as_deref() == Some(asked)
    }

    /// With secrets masked.
    pub(crate) fn hiding(self, secrets: &Secrets) -> Self {
        let hide = |text: &String| secrets.hide(text).into_owned();
        Self {
            file: self.file.as_ref().map(hide),
            tags: self.tags.iter().map(hide).collect(),
            branch: self.branch.as_ref().map(hide),
            ..self
        }
    }
}

/// How the run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how", content = "why")]
pub enum RunEnd {
    /// All load ran as planned.
    Completed,
    /// By the user (Ctrl-C, the page).
    Interrupted,
    /// By a threshold with abort.
    Aborted(String),
    /// By a failure, such as a full disk or an unreachable target before the start.
    Failed(String),
}

/// One observer series as read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SignalSeries {
    pub signal: Signal,
    pub points: Vec<SignalPoint>,
}

/// Consecutive seconds of a run whose slices are longer, at its beginning or at its end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stretch {
    pub seconds: Vec<KeptSecond>,
    /// Their readings without aggregation, for the same series as [`Run::signals`], in the same order.
    pub signals: Vec<SignalSeries>,
}

/// One second in outline.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeptSecond {
    /// All requests are one series, without failures.
    pub slice: Snapshot,
    pub failures: Vec<KeptFailure>,
}

/// How many requests of one name failed with the same outcome in one second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFailure {
    pub request: Arc<str>,
    pub outcome: Outcome,
    pub count: u64,
}

/// A complete or truncated run, as read from its directory or as gathered so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub info: RunInfo,
    pub plan: TestPlan,
    /// One merged snapshot per second, in order. A slice may be missing after a crash.
    pub slices: Vec<Snapshot>,
    pub signals: Vec<SignalSeries>,
    /// The stored seconds of a run whose slices are longer.
    pub stretches: Vec<Stretch>,
    /// The traces of its requests, if they were observed.
    pub traces: RunTraces,
    /// Notices of the observers, in the order of their reports.
    pub notices: Vec<SignalNotice>,
    /// `None`: still running, or killed.
    pub end: Option<RunEnd>,
}

impl Run {
    /// A run of these seconds that observed nothing and has not ended.
    pub fn new(info: RunInfo, plan: TestPlan, slices: Vec<Snapshot>) -> Self {
        let (signals, stretches, notices) = (Vec::new(), Vec::new(), Vec::new());
        Self { info, plan, slices, signals, stretches, traces: RunTraces::default(), notices, end: None }
    }
}
