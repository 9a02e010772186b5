//! Knobs and proxies that a test file declares: what `loadstone experiment` turns. Plain data; who turns them is the binary.
//!
//! They may hold credentials, so none of it is written to a run directory.

use loadstone_plan::Secrets;
use loadstone_stub::{DnsSpec, ProxySpec};
use serde::Deserialize;

/// A setting of the system that may be turned.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Knob {
    pub name: String,
    /// The first is the one to go back to.
    pub values: Vec<KnobValue>,
    /// URL that answers 2xx once the system is ready again.
    pub ready: Option<String>,
    /// How long that, and each change, may take. Nanoseconds.
    pub within_ns: u64,
    /// Pause after that. Nanoseconds.
    pub settle_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct KnobValue {
    /// As the test wrote it.
    pub label: String,
    /// Where it is a number.
    pub amount: Option<f64>,
    /// One after the other.
    pub changes: Vec<KnobChange>,
}

/// One thing that is done to the system.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum KnobChange {
    /// A line for the shell, in the test's folder.
    Command {
        command: String,
    },
    Http {
        http: String,
        method: String,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// Replaces the file, whose path is relative to the test's folder.
    File {
        file: String,
        text: String,
    },
    /// Of the test's proxies, by their number.
    Proxy {
        proxy: usize,
        delay_ns: u64,
        bytes_per_second: Option<u64>,
        resets: f64,
    },
    /// CPUs that a control group may use; `None`: as many as there are.
    Cpus {
        cpus: Option<f64>,
        of: KnobTarget,
    },
    Paused {
        paused: bool,
        of: KnobTarget,
    },
}

/// Whose CPU time, or which process.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KnobTarget {
    /// Whoever listens on this port.
    Port(u16),
    Pid(u32),
    /// Path of a control group, below the mount or in full.
    Cgroup(String),
}

/// What a test file declares for experiments.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct Interventions {
    #[serde(default)]
    pub(crate) knobs: Vec<Knob>,
    #[serde(default)]
    pub(crate) proxies: Vec<ProxySpec>,
    #[serde(default)]
    pub(crate) name_servers: Vec<DnsSpec>,
}

impl Interventions {
    /// Everything in them that no output may show.
    pub(crate) fn tell_secrets(&self, secrets: &mut Secrets) {
        for knob in &self.knobs {
            knob.ready.iter().for_each(|url| secrets.learn_urls(url));
            for change in knob.values.iter().flat_map(|value| &value.changes) {
                match change {
                    KnobChange::Command { command } => secrets.learn_urls(command),
                    KnobChange::Http { http, headers, .. } => {
                        secrets.learn_urls(http);
                        headers.iter().for_each(|(name, value)| secrets.learn_header(name, value));
                    }
                    KnobChange::File { .. } | KnobChange::Proxy { .. } | KnobChange::Cpus { .. } | KnobChange::Paused { .. } => {}
                }
            }
        }
    }
}
