//! Lines of `snapshots.jsonl`, `signals.jsonl` and `traces.jsonl`.

use std::borrow::Cow;

use loadstone_metrics::span::{KeptTrace, SpanPath, TraceSlice};
use loadstone_metrics::{Histogram, PoolMembers, Role, Signal, SignalNotice, Snapshot};
use serde::{Deserialize, Serialize};

/// Prepares a snapshot for the disk: where every service time equals the response time (all but the first requests of open
/// iterations), `service` is left empty. [`restore`] undoes it.
pub(crate) fn slim(snapshot: &Snapshot) -> Cow<'_, Snapshot> {
    if !snapshot.series.iter().any(|series| !series.service.is_empty() && series.service == series.response) {
        return Cow::Borrowed(snapshot);
    }
    let mut slim = snapshot.clone();
    for series in &mut slim.series {
        if series.service == series.response {
            series.service = Histogram::new();
        }
    }
    Cow::Owned(slim)
}

pub(crate) fn restore(snapshot: &mut Snapshot) {
    for series in &mut snapshot.series {
        if series.service.is_empty() && !series.response.is_empty() {
            series.service = series.response.clone();
        }
    }
}

/// Completes a signal of a run that was recorded before observers stated what a pool hands out: the words of its name decide, as they did then. Nothing else
/// in Loadstone may infer the meaning of a recorded signal from its name.
pub(crate) fn complete(mut signal: Signal) -> Signal {
    if signal.members.is_none() && signal.role.is_some_and(Role::is_of_pool) {
        signal.members = Some(PoolMembers::by_words(&format!("{}{}", signal.part, signal.metric())));
    }
    signal
}

/// A line of `signals.jsonl`: `{"signal": …}` defines a series, `{"points": …}` adds to it, `{"notice": …}` is a notice of an
/// observer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SignalLine {
    Signal {
        id: u32,
        #[serde(flatten)]
        signal: Signal,
    },
    Points {
        id: u32,
        /// Nanoseconds on the run's clock.
        at: Vec<u64>,
        value: Vec<f64>,
    },
    Notice(SignalNotice),
    /// In the minutes: the following lines were also written into the part that begins at this second.
    Part(u32),
}

/// A line of `traces.jsonl`: `{"path": …}` defines a path, `{"slice": …}` has the sums of a stretch of time, `{"kept": …}` is one complete trace.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TraceLine<'a> {
    Path {
        id: u32,
        #[serde(flatten)]
        path: Cow<'a, SpanPath>,
    },
    Slice(Cow<'a, TraceSlice>),
    Kept(Cow<'a, KeptTrace>),
}

#[cfg(test)]
mod tests {
    use loadstone_metrics::{SignalKind, unit};

    use super::*;

    #[test]
    fn only_a_pool_of_an_old_run_is_completed_by_its_name() {
        let signal = |metric: &str, role| Signal::new("app", metric, SignalKind::Gauge, unit::COUNT).role(role).part("shop");
        assert_eq!(complete(signal("jetty_threads_busy", Role::PoolInUse)).members, Some(PoolMembers::Threads));
        assert_eq!(complete(signal("db_pool_waiting", Role::PoolWaiting)).members, Some(PoolMembers::Connections));
        // A member that the observer stated is kept, and other roles have no members.
        let stated = signal("hikaricp_pending_threads", Role::PoolWaiting).members(PoolMembers::Connections);
        assert_eq!(complete(stated.clone()), stated);
        assert_eq!(complete(signal("threads", Role::ProcessThreads)).members, None);
    }
}
