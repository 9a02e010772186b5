//! The meter's counts as signals.

use loadstone_metrics::{Role, unit};
use serde_json::Value;

use std::collections::BTreeSet;

use crate::collector::{MetricSpec, SignalCollector, label};

const BUSY: MetricSpec<'_> = MetricSpec::counter("busy", unit::SECONDS, "Time in which the event loop had work").role(Role::EventLoopBusy);
const CPU: MetricSpec<'_> = MetricSpec::counter("cpu", unit::SECONDS, "CPU time of the process").role(Role::EventLoopCpu);
const DELAY: MetricSpec<'_> =
    MetricSpec::gauge("delay", unit::SECONDS, "Mean delay of work that becomes due at a random instant").role(Role::EventLoopDelay);
const DELAY_MAX: MetricSpec<'_> = MetricSpec::gauge("delay_max", unit::SECONDS, "Longest time between two turns of the event loop");
const COLLECTING: MetricSpec<'_> = MetricSpec::counter("gc", unit::SECONDS, "Time spent collecting garbage").role(Role::GarbageCollection);
const HEAP: MetricSpec<'_> = MetricSpec::gauge("heap", unit::BYTES, "Heap in use, including garbage");
const HEAP_LIVE: MetricSpec<'_> =
    MetricSpec::gauge("heap_live", unit::BYTES, "Heap in use after the last full collection").role(Role::HeapUsed);
const HEAP_MAX: MetricSpec<'_> = MetricSpec::gauge("heap_max", unit::BYTES, "Maximum size of the heap").role(Role::HeapMax);
const ACTIVE: MetricSpec<'_> =
    MetricSpec::gauge("active", unit::COUNT, "Requests, handles and timers that are active, by type, mean over the samples");
const WORK: MetricSpec<'_> =
    MetricSpec::gauge("work", unit::COUNT, "Work in Node's own threads, waiting or in progress, mean over the samples")
        .role(Role::RuntimeWork);
const WORK_MAX: MetricSpec<'_> =
    MetricSpec::gauge("work_max", unit::COUNT, "Maximum concurrency of these threads for one type of work").role(Role::RuntimeWorkMax);
const METER_SECONDS: MetricSpec<'_> = MetricSpec::counter("meter_seconds", unit::SECONDS, "Time that the meter itself used");

/// Distinct types of active resources in a run.
const TYPES_MAX: usize = 60;

/// Work of libuv's thread pool. Name look-ups may use half of its threads (`slow_work_thread_threshold` in libuv's threadpool.c).
const LOOKUPS: &str = "look-ups of names";
const FILES: &str = "files";

fn work_of(kind: &str) -> Option<&'static str> {
    match kind {
        "GetAddrInfoReqWrap" | "GetNameInfoReqWrap" => Some(LOOKUPS),
        "FSReqCallback" | "FSReqPromise" => Some(FILES),
        _ => None,
    }
}

/// Types that were reported before, so that they drop to zero.
#[derive(Debug, Default)]
pub(super) struct NodeCounts {
    types: BTreeSet<String>,
}

impl NodeCounts {
    pub(super) fn put(&mut self, reading: &Value, out: &mut SignalCollector) {
        let number = |name: &str| reading.get(name).and_then(Value::as_f64);
        for (spec, name) in
            [(BUSY, "active"), (CPU, "cpu"), (COLLECTING, "collecting"), (HEAP, "heap"), (HEAP_MAX, "heapMax"), (METER_SECONDS, "spent")]
        {
            number(name).into_iter().for_each(|value| out.put(spec, value));
        }
        // The live heap is unknown before the first full collection.
        number("lived").filter(|lived| *lived > 0.0).into_iter().for_each(|lived| out.put(HEAP_LIVE, lived));
        if let Some((mean, longest)) = reading.get("delay").and_then(lateness) {
            out.put(DELAY, mean);
            out.put(DELAY_MAX, longest);
        }
        self.put_types(reading, number("threads").unwrap_or(4.0), out);
    }

    fn put_types(&mut self, reading: &Value, threads: f64, out: &mut SignalCollector) {
        let samples = reading.get("samples").and_then(Value::as_f64).unwrap_or(0.0);
        // A loop that was busy throughout has taken no sample.
        if samples == 0.0 {
            return;
        }
        let counted = reading.get("types").and_then(Value::as_object);
        let mean = |kind: &str| counted.and_then(|types| types.get(kind)?.as_f64()).unwrap_or(0.0) / samples;
        for kind in counted.into_iter().flat_map(|types| types.keys()) {
            if self.types.len() < TYPES_MAX {
                self.types.insert(kind.clone());
            }
        }
        let mut work = [(LOOKUPS, 0.0, ((threads + 1.0) / 2.0).floor()), (FILES, 0.0, threads)];
        for kind in &self.types {
            out.put_labelled(ACTIVE, &[("type", &label(kind))], mean(kind));
            for (name, sum, _) in &mut work {
                if work_of(kind) == Some(*name) {
                    *sum += mean(kind);
                }
            }
        }
        for (name, sum, places) in work {
            out.put_labelled(WORK, &[("type", name)], sum);
            out.put_labelled(WORK_MAX, &[("type", name)], places);
        }
    }
}

/// Mean delay of work that becomes due at a random instant, and the longest delay. Seconds. The histogram has the intervals of a timer. The part of an
/// interval beyond the timer's resolution is late. A random instant falls into an interval in proportion to its length, half-way on average (the inspection
/// paradox; Feller 1971, I.4), so the mean is Σ late² / 2 over Σ interval.
fn lateness(histogram: &Value) -> Option<(f64, f64)> {
    let of = |name: &str| histogram.get(name).and_then(Value::as_f64);
    let (mean, deviation, resolution) = (of("mean")?, of("deviation")?, of("resolution")?);
    let late = (mean - resolution).max(0.0);
    let longest = (of("max")? - resolution).max(0.0);
    (mean > 0.0).then(|| ((late * late + deviation * deviation) / (2.0 * mean) / 1e9, longest / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A loop that is blocked for 390 of every 400 ms delays work that arrives meanwhile by 195 ms on average.
    #[test]
    fn a_loop_is_late_by_half_of_what_blocks_it() {
        let ms = 1e6;
        let blocked = json!({ "count": 10, "mean": 400.0 * ms, "deviation": 0.0, "max": 400.0 * ms, "resolution": 10.0 * ms });
        let (mean, longest) = lateness(&blocked).unwrap();
        assert!((mean - 0.390 * 0.390 / 2.0 / 0.400).abs() < 1e-9 && (longest - 0.390).abs() < 1e-9, "{mean} {longest}");
        // One of 100 ms among 90 of 10 ms: a tenth of the time, half of 90 ms.
        let (interval, count) = ((90.0 * 10.0 + 100.0) / 91.0, 91.0_f64);
        let variance = (90.0 * (10.0 - interval) * (10.0 - interval) + (100.0 - interval) * (100.0 - interval)) / count;
        let once = json!({ "mean": interval * ms, "deviation": variance.sqrt() * ms, "max": 100.0 * ms, "resolution": 10.0 * ms });
        let (mean, _) = lateness(&once).unwrap();
        assert!((mean - 0.090 * 0.090 / 2.0 / 1.0).abs() < 1e-4, "{mean}");
    }

    #[test]
    fn lookups_have_half_of_the_threads() {
        let mut out = SignalCollector::new("node");
        let reading = json!({ "samples": 4, "types": { "GetAddrInfoReqWrap": 80, "TCPSocketWrap": 12, "FSReqPromise": 2 }, "threads": 4 });
        NodeCounts::default().put(&reading, &mut out);
        let reported: Vec<(String, f64)> = out.finish(0).into_iter().map(|(signal, point)| (signal.name.clone(), point.value)).collect();
        let value = |name: &str| reported.iter().find(|(found, _)| found == name).map(|(_, value)| *value);
        assert_eq!((value("node/work{type=look-ups of names}"), value("node/work_max{type=look-ups of names}")), (Some(20.0), Some(2.0)));
        assert_eq!((value("node/work{type=files}"), value("node/active{type=TCPSocketWrap}")), (Some(0.5), Some(3.0)));
    }
}
