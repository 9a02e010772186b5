//! What a line of a record says, independent of the tool that wrote it.

use std::borrow::Cow;

use loadstone_metrics::{Outcome, Phases};

use crate::proxy::record::ProxyDelay;

/// A moment as the record gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordTime {
    /// Nanoseconds since 1970 by the wall clock.
    Wall(u64),
    /// Nanoseconds since the command was started.
    SinceStart(u64),
    /// Nanoseconds by the clock of the run.
    Run(u64),
}

impl RecordTime {
    /// Later by this time. Nanoseconds.
    pub(crate) fn plus(self, ns: u64) -> Self {
        match self {
            Self::Wall(at) => Self::Wall(at.saturating_add(ns)),
            Self::SinceStart(at) => Self::SinceStart(at.saturating_add(ns)),
            Self::Run(at) => Self::Run(at.saturating_add(ns)),
        }
    }
}

/// A label of a request, by the tool's user: its name and value.
pub(crate) type EntryTag<'a> = (Cow<'a, str>, Cow<'a, str>);

/// A request, a group or an iteration.
#[derive(Debug, Clone)]
pub(crate) struct Timed<'a> {
    pub(crate) ended: RecordTime,
    pub(crate) duration_ns: u64,
    pub(crate) name: &'a str,
    /// The tool's scenario. Empty: the tool has only one, or it belongs to none.
    pub(crate) scenario: &'a str,
    /// The innermost group. Empty outside groups.
    pub(crate) group: &'a str,
    /// Sorted by name.
    pub(crate) tags: &'a [EntryTag<'a>],
    pub(crate) outcome: Outcome,
    /// HTTP status, or 0.
    pub(crate) status: u16,
    /// Why it failed. Empty: the status says it.
    pub(crate) message: &'a str,
    pub(crate) phases: Phases,
    /// Time between the instant at which it was due and the one at which it was sent. Nanoseconds.
    pub(crate) late_ns: u64,
    /// Its time as the tool's own summary counts it, if that differs. Nanoseconds.
    pub(crate) stated_ns: Option<u64>,
    /// Time that Loadstone's proxy added.
    pub(crate) proxy_delay: Option<ProxyDelay>,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
}

impl<'a> Timed<'a> {
    /// An entry that passed, without further details.
    pub(crate) fn new(name: &'a str, ended: RecordTime, duration_ns: u64) -> Self {
        Self {
            ended,
            duration_ns,
            name,
            scenario: "",
            group: "",
            tags: &[],
            outcome: Outcome::Passed,
            status: 0,
            message: "",
            phases: Phases::default(),
            late_ns: 0,
            stated_ns: None,
            proxy_delay: None,
            bytes_sent: 0,
            bytes_received: 0,
        }
    }
}

/// One entry of a record.
#[derive(Debug, Clone)]
pub(crate) enum Entry<'a> {
    Request(Timed<'a>),
    Group(Timed<'a>),
    Iteration(Timed<'a>),
    Check {
        at: RecordTime,
        name: &'a str,
        scenario: &'a str,
        group: &'a str,
        tags: &'a [EntryTag<'a>],
        passed: bool,
    },
    /// Users that the tool has, from this instant on. `source`: a process of the tool, whose users add up with those of the others.
    Users {
        at: RecordTime,
        source: u32,
        count: u64,
    },
    /// Iterations that the tool dropped because it had no free user.
    Dropped {
        at: RecordTime,
        scenario: &'a str,
        count: u64,
    },
    /// Percentiles of all requests that the tool states: quantile and nanoseconds.
    Stated {
        metric: &'a str,
        percentiles: &'a [(f64, u64)],
    },
    /// A URL of the system. The first one counts.
    Target {
        url: &'a str,
    },
    /// The record has only this share of all requests.
    Sampled {
        share: f64,
    },
    /// A line of the record that is no request, such as one for bytes that a server could not read as HTTP.
    NoRequest {
        at: RecordTime,
        line: &'a [u8],
    },
    /// A part of a stream that its reader does not understand, or why.
    Unreadable(&'a [u8]),
}

/// The outcome of a response by its HTTP status.
pub(crate) fn outcome_of(status: u16) -> Outcome {
    if status >= 400 { Outcome::Status } else { Outcome::Passed }
}

/// The outcome of a request without a response, by the tool's message. The words are those of Go, Java, Python and libcurl.
pub(crate) fn outcome_of_error(message: &str) -> Outcome {
    let text = message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["refused"]) {
        Outcome::Refused
    } else if has(&["timeout", "timed out", "deadline exceeded"]) {
        Outcome::Timeout
    } else if has(&["no such host", "unknownhost", "unknown host", "name resolution", "name or service", "lookup "]) {
        Outcome::Dns
    } else if has(&["reset", "broken pipe", "eof", "remote end closed", "remotedisconnected", "nohttpresponse", "failed to respond"]) {
        Outcome::Reset
    } else if has(&["tls", "ssl", "certificate", "x509"]) {
        Outcome::Tls
    } else if has(&["connect"]) {
        Outcome::Connect
    } else {
        Outcome::Expect
    }
}
