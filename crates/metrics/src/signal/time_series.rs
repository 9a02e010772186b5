//! One time series: its name, unit and meaning, and its readings.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::pool_members::PoolMembers;
use super::role::Role;
use super::unit;
use crate::clock::Nanos;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// A level: memory, queue length, active sessions.
    #[default]
    Gauge,
    /// An ever-growing total: CPU seconds, commits. Shown as its rate.
    Counter,
}

/// The description of a time series. Create it with [`Signal::new`], which builds the name: `observer/metric{label=value}`, unique within a run.
///
/// ```
/// use loadstone_metrics::{Role, Signal, SignalKind, unit};
///
/// let signal = Signal::new("host", "disk_busy", SignalKind::Counter, unit::SECONDS)
///     .help("Time with at least one request at the device")
///     .role(Role::DiskBusy)
///     .part("sda")
///     .label("device", "sda");
/// assert_eq!(signal.name, "host/disk_busy{device=sda}");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// `process:8080/cpu`, `postgres/sessions{wait=Lock:tuple}`.
    pub name: String,
    /// The observer that reads it. Signals of one observer are drawn as one band.
    pub observer: String,
    pub kind: SignalKind,
    /// One of [`unit`], or the unit that an exporter reports.
    pub unit: String,
    /// One line for users.
    pub help: String,
    /// Its meaning, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The part of the observed system that it describes: the pool, the device, the queue. Empty: the whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// What the pool hands out, where the role is a pool's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<PoolMembers>,
    /// The labels in its name, in that order. A label without a value is a tag and appears in the name alone, without `=`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<(String, String)>,
}

impl Signal {
    /// A signal without labels and without a known meaning.
    pub fn new(observer: &str, metric: &str, kind: SignalKind, unit: &str) -> Self {
        Self { name: format!("{observer}/{metric}"), observer: observer.to_owned(), kind, unit: unit.to_owned(), ..Self::default() }
    }

    /// One line for users.
    #[must_use]
    pub fn help(mut self, help: &str) -> Self {
        help.clone_into(&mut self.help);
        self
    }

    /// Its meaning, independent of the observer.
    #[must_use]
    pub fn role(mut self, role: impl Into<Option<Role>>) -> Self {
        self.role = role.into();
        self
    }

    /// The pool, device or queue that it describes.
    #[must_use]
    pub fn part(mut self, part: &str) -> Self {
        part.clone_into(&mut self.part);
        self
    }

    /// What the pool hands out, where the role is a pool's.
    #[must_use]
    pub fn members(mut self, members: impl Into<Option<PoolMembers>>) -> Self {
        self.members = members.into();
        self
    }

    /// Appends a label to the name. Neither the name nor the value may contain braces or line breaks; nothing is escaped.
    #[must_use]
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.labels.push((name.to_owned(), value.to_owned()));
        self.append(format_args!("{name}={value}"));
        self
    }

    /// Adds a label without a value. StatsD allows such tags.
    #[must_use]
    pub fn tag(mut self, name: &str) -> Self {
        self.labels.push((name.to_owned(), String::new()));
        self.append(format_args!("{name}"));
        self
    }

    /// Appends inside the braces of the name, which the first label opens.
    fn append(&mut self, label: std::fmt::Arguments<'_>) {
        let before = if self.labels.len() > 1 && self.name.pop().is_some() { ',' } else { '{' };
        // Writing to a string does not fail.
        let _ = write!(self.name, "{before}{label}}}");
    }

    /// Its name without the observer and without labels.
    pub fn metric(&self) -> &str {
        let name = self.name.strip_prefix(&*self.observer).and_then(|rest| rest.strip_prefix('/')).unwrap_or(&self.name);
        name.split_once('{').map_or(name, |(metric, _)| metric)
    }

    /// The value of a label.
    pub fn label_value(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| label == name).map(|(_, value)| value.as_str())
    }

    /// The unit of the displayed value. A counter is shown as its rate. Seconds per second count their users (cores, or waiting requests), or are a
    /// share of one lock or one disk. For a counter of unknown meaning they may be either.
    pub fn unit_shown(&self) -> &str {
        match (self.kind, self.unit.as_str()) {
            (SignalKind::Gauge, unit::SECONDS) => "s",
            (SignalKind::Gauge, unit::PER_SECOND) => "/s",
            (SignalKind::Gauge, unit) => unit,
            (SignalKind::Counter, unit::SECONDS) => self.role.map_or("s/s", |role| role.counted_in().unwrap_or("share")),
            (SignalKind::Counter, unit::BYTES) => "bytes/s",
            (SignalKind::Counter, _) => "/s",
        }
    }
}

/// One reading. A gap (the observer was silent) has no points and is never filled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SignalPoint {
    /// On the run's clock.
    pub at: Nanos,
    pub value: f64,
}

impl SignalPoint {
    /// Growth per second of a counter since an earlier reading. `None` if the counter decreased (its process restarted) or no time passed.
    pub fn growth_since(&self, before: &SignalPoint) -> Option<f64> {
        let elapsed_ns = self.at.checked_sub(before.at).filter(|elapsed| *elapsed > 0)?;
        (self.value >= before.value).then(|| (self.value - before.value) / (elapsed_ns as f64 / 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty threads that wait for one core wait for twenty seconds in each second, which is not a share.
    #[test]
    fn seconds_per_second_may_exceed_one() {
        let of = |role: Option<Role>| Signal::new("o", "m", SignalKind::Counter, unit::SECONDS).role(role).unit_shown().to_owned();
        assert_eq!(of(Some(Role::ProcessCpu)), "cores");
        assert_eq!(of(Some(Role::ProcessRunDelay)), "1");
        assert_eq!((of(Some(Role::DiskBusy)), of(None)), ("share".to_owned(), "s/s".to_owned()));
    }

    #[test]
    fn a_name_is_built_from_its_observer_metric_and_labels() {
        let plain = || Signal::new("postgres", "blocked_by", SignalKind::Gauge, unit::SESSIONS);
        assert_eq!(plain().name, "postgres/blocked_by");
        let labelled = plain().label("statement", "update seats").label("by", "");
        assert_eq!(labelled.name, "postgres/blocked_by{statement=update seats,by=}");
        assert_eq!((labelled.label_value("statement"), labelled.label_value("by")), (Some("update seats"), Some("")));
        assert_eq!((plain().metric(), labelled.metric()), ("blocked_by", "blocked_by"));
        assert_eq!(plain().tag("canary").label("env", "test").name, "postgres/blocked_by{canary,env=test}");
    }

    /// An unknown field is not written, so files without these fields read the same.
    #[test]
    fn a_signal_without_a_role_is_serialized_without_the_new_fields() {
        let old = r#"{"name":"host/cores","observer":"host","kind":"gauge","unit":"1","help":"Cores"}"#;
        let signal: Signal = serde_json::from_str(old).unwrap();
        assert_eq!(signal, Signal::new("host", "cores", SignalKind::Gauge, unit::COUNT).help("Cores"));
        assert_eq!(serde_json::to_string(&signal).unwrap(), old);
        let new = signal.role(Role::MachineCores).part("socket 0").label("socket", "0");
        let written = serde_json::to_string(&new).unwrap();
        assert!(written.ends_with(r#""role":"machine_cores","part":"socket 0","labels":[["socket","0"]]}"#), "{written}");
        assert_eq!(serde_json::from_str::<Signal>(&written).unwrap(), new);
        let pool = Signal::new("app", "busy", SignalKind::Gauge, unit::COUNT).role(Role::PoolInUse).members(PoolMembers::Threads);
        let written = serde_json::to_string(&pool).unwrap();
        assert!(written.ends_with(r#""role":"pool_in_use","members":"threads"}"#), "{written}");
        assert_eq!(serde_json::from_str::<Signal>(&written).unwrap(), pool);
    }
}
