//! Knobs and proxies of a test file, which `loadstone experiment` changes. Plain data; the binary applies it.
//!
//! They may contain credentials, so none of it is written to a run directory.

use loadstone_plan::Secrets;
use loadstone_stub::{DnsSpec, ProxySpec};
use serde::Deserialize;

/// A setting of the system that an experiment may change.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Knob {
    pub name: String,
    /// The first value is the one to restore.
    pub values: Vec<KnobValue>,
    /// A URL that answers 2xx once the system is ready again.
    pub ready: Option<String>,
    /// Time limit of that, and of each change. Nanoseconds.
    pub within_ns: u64,
    /// Pause after that. Nanoseconds.
    pub settle_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct KnobValue {
    /// The value in the test's words.
    pub label: String,
    /// The value as a number, if it is one.
    pub amount: Option<f64>,
    /// Applied one after the other.
    pub changes: Vec<KnobChange>,
}

/// One change to the system.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum KnobChange {
    /// A command line for the shell, in the test's folder.
    Command {
        command: String,
    },
    Http {
        http: String,
        method: String,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// Replaces the file. Its path is relative to the test's folder.
    File {
        file: String,
        text: String,
    },
    /// Changes one of the test's proxies, by its number.
    Proxy {
        proxy: usize,
        delay_ns: u64,
        bytes_per_second: Option<u64>,
        resets: f64,
    },
    /// CPUs that a control group may use. `None`: all.
    Cpus {
        cpus: Option<f64>,
        of: KnobTarget,
    },
    Paused {
        paused: bool,
        of: KnobTarget,
    },
}

/// The process or group that a change affects.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KnobTarget {
    /// The process that listens on this port.
    Port(u16),
    Pid(u32),
    /// Path of a control group, below the mount or in full.
    Cgroup(String),
}

/// The declarations of a test file for experiments.
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
    /// Registers all strings in them that no output may show.
    pub(crate) fn learn_secrets(&self, secrets: &mut Secrets) {
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
