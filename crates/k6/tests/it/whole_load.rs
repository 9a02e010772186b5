//! A whole load on the real clock, over two workers: the script of `cargo xtask soak --k6`, for seconds.

use std::sync::Arc;

use loadstone_engine::{Coordinator, LoadEnding, LoadEvent, WorkerContext};
use loadstone_k6::{K6Inputs, K6Sinks, K6Users};
use loadstone_metrics::{MetricValue, SeriesKind, Snapshot};
use loadstone_stub::{Behaviour, Server};

use crate::harness::{folder, loaded};

const SCRIPT: &str = include_str!("../../../../bench/soak/soak.k6.js");

/// The seconds of a load.
struct Seconds(Vec<Snapshot>);

impl Seconds {
    /// Requests or groups that ended, those of them that failed, and those that were interrupted.
    fn counted(&self, kind: SeriesKind, name: &str) -> (u64, u64, u64) {
        let of = self.0.iter().flat_map(|second| &second.series).filter(|series| series.key.kind == kind && &*series.key.name == name);
        of.fold((0, 0, 0), |(ended, failed, interrupted), series| {
            (ended + series.count, failed + series.failed, interrupted + series.censored.count())
        })
    }

    fn metric(&self, name: &str) -> f64 {
        let of = self.0.iter().flat_map(|second| &second.metrics).filter(|metric| &*metric.name == name && metric.tags.is_empty());
        of.map(|metric| match &metric.value {
            MetricValue::Counter { sum, .. } => *sum,
            other => other.count() as f64,
        })
        .sum()
    }
}

#[test]
fn a_load_with_every_kind_of_end_runs_to_its_end() {
    let server = Server::builder().route("* /*", Behaviour::json(&serde_json::json!({ "products": [1, 2, 3] }))).start().unwrap();
    let folder = folder(&[("script.js", SCRIPT)]);
    let variables = [("URL", server.url("")), ("SECONDS", "3".to_owned()), ("VUS", "20".to_owned()), ("PAUSE", "0.1".to_owned())];
    let inputs = K6Inputs { variables: variables.map(|(name, value)| (name.to_owned(), value)).into(), ..K6Inputs::default() };
    let test = Arc::new(loaded(folder.path(), &inputs).unwrap_or_else(|error| panic!("{}", error.render())));
    let mut seconds = Seconds(Vec::new());
    let make = |context: &WorkerContext| K6Users::new(&test, context, K6Sinks::default()).map_err(|error| error.render());
    let ending = Coordinator::new(Arc::new(test.plan.clone()), 2).run(make, |event| {
        if let LoadEvent::Snapshot(second) | LoadEvent::LastSnapshot(second) = event {
            seconds.0.push(*second);
        }
        None
    });
    assert!(matches!(ending, LoadEnding::Completed), "{ending:?}");
    let (pages, failed, _) = seconds.counted(SeriesKind::Request, "page");
    assert!(pages > 20 && failed == 0, "{pages} pages, {failed} failed");
    let (orders, ..) = seconds.counted(SeriesKind::Request, "POST /orders");
    assert!(orders > 0 && seconds.metric("orders") > 0.0, "{orders} orders");
    // Its group waits longer than a wave of the ramp lasts.
    let (.., interrupted) = seconds.counted(SeriesKind::Group, "inner");
    assert!(interrupted > 0, "no VU was removed in an iteration");
    let thrown = seconds.0.iter().flat_map(|second| &second.errors).filter(|error| error.message.contains("on purpose")).count();
    assert!(thrown > 0, "no iteration threw");
}
