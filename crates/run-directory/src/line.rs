//! Lines of `snapshots.jsonl`, `signals.jsonl` and `traces.jsonl`.

use std::borrow::Cow;

use loadstone_metrics::span::{KeptTrace, SpanPath, TraceSlice};
use loadstone_metrics::{Histogram, Signal, SignalNotice, Snapshot};
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

/// A line of `signals.jsonl`: `{"signal": …}` defines a series, `{"points": …}` adds to it, `{"notice": …}` says what befell an
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
    /// Among the minutes: what follows was also written into the part that begins at this second.
    Part(u32),
}

/// A line of `traces.jsonl`: `{"path": …}` defines a path, `{"slice": …}` says what became known of a stretch of time, `{"kept": …}` is one trace whole.
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
