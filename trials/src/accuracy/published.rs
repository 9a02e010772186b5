//! Servers and settings of two publications on the errors of load generators, at a scale that one core can serve.
//!
//! Five servers are those of "Coordinated Omission: Why Your Latency Numbers Lie" (idle-ti.me, with its repository be-next/Coordinated-Omission).
//! The other settings are those of "Load Fiction: How Your Load Generator is Misleading You" (adas2125/load-fiction-artifact). Differences from the
//! originals are in `differs`, which the result page prints.

use serde_json::{Value, json};

use super::closed_form::{ClosedForm, PhasedPool};

pub(super) struct PublishedCase {
    pub(super) name: &'static str,
    pub(super) origin: &'static str,
    /// The setting, in words.
    pub(super) setting: &'static str,
    /// From the original.
    pub(super) differs: &'static str,
    /// What the server does: a `Truth` of crates/stub.
    pub(super) truth: Value,
    pub(super) rate: u32,
    pub(super) seconds: u32,
    pub(super) law: ClosedForm,
    /// For generators that need a number of connections.
    pub(super) connections: u32,
    pub(super) wire: Wire,
    /// CPU time of the generator, in percent of one core.
    pub(super) cpu_percent: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Wire {
    /// HTTP/1.1 with keep-alive.
    Http1,
    /// The same, with a limit also for generators that need no number of connections.
    Capped,
    /// A new connection for each request.
    NewConnections,
    /// HTTP/2 over plain TCP, with so many streams for each connection.
    Http2 { streams: u32 },
}

const OMISSION: &str = "Coordinated Omission";
const FICTION: &str = "Load Fiction";
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// Length of most runs. Seconds.
const RUN: u32 = 10;

pub(super) fn all() -> Vec<PublishedCase> {
    let mut cases = coordinated_omission();
    cases.extend(load_fiction());
    cases
}

fn timed(pattern: &Value) -> Value {
    json!({ "kind": "timed", "pattern": pattern, "servers": null })
}

fn pauses(every_ns: u64, begin_ns: u64, length_ns: u64) -> Value {
    timed(&json!({ "shape": "pauses", "base_ns": 10 * MS, "every_ns": every_ns, "begin_ns": begin_ns, "length_ns": length_ns }))
}

fn phases(slow_ns: u64, every_ns: u64, slow_for_ns: u64, servers: Option<usize>) -> Value {
    let pattern = json!({ "shape": "phases", "fast_ns": 10 * MS, "slow_ns": slow_ns, "every_ns": every_ns, "slow_for_ns": slow_for_ns });
    json!({ "kind": "timed", "pattern": pattern, "servers": servers })
}

/// Each at 1,000 requests per second.
fn coordinated_omission() -> Vec<PublishedCase> {
    let case = |name, setting, differs, truth, connections, law| PublishedCase {
        name,
        origin: OMISSION,
        setting,
        differs,
        truth,
        rate: 1_000,
        seconds: RUN,
        law,
        connections,
        wire: Wire::Http1,
        cpu_percent: None,
    };
    let ramp = json!({ "shape": "ramp", "from_ns": 10 * MS, "to_ns": 100 * MS, "begin_ns": 10 * SECOND / 3, "end_ns": 25 * SECOND / 3 });
    vec![
        case("healthy", "each request takes 10 ms", "10 s instead of 60", timed_constant(), 100, ClosedForm::Constant(0.01)),
        case(
            "one hiccup",
            "10 ms, and one pause of 1 s in the middle of the run",
            "10 s instead of 60, so the pause is a larger share",
            pauses(u64::from(RUN) * SECOND, 5 * SECOND, SECOND),
            1_200,
            ClosedForm::Pauses { base_s: 0.01, every_s: f64::from(RUN), pause_s: 1.0 },
        ),
        case(
            "slowdown",
            "10 ms, from a third of the run on growing to 100 ms at five sixths of it",
            "10 s instead of 60",
            timed(&ramp),
            150,
            ClosedForm::Ramp { from_s: 0.01, to_s: 0.1, begin_s: 10.0 / 3.0, end_s: 25.0 / 3.0, run_s: f64::from(RUN) },
        ),
        case(
            "recurring pauses",
            "10 ms, and a pause of 200 ms every 2.5 s",
            "every 2.5 s instead of every 10",
            pauses(5 * SECOND / 2, SECOND, 200 * MS),
            300,
            ClosedForm::Pauses { base_s: 0.01, every_s: 2.5, pause_s: 0.2 },
        ),
        case(
            "saturation",
            "at most 9 requests at a time, 10 ms each: 900 per second",
            "9 at a time instead of 5, so that no response takes longer than the usual time limits",
            json!({ "kind": "queue", "servers": 9, "service": "10ms" }),
            1_300,
            ClosedForm::Overload { service_s: 0.01, utilisation: 1_000.0 / 900.0, run_s: f64::from(RUN) },
        ),
    ]
}

fn timed_constant() -> Value {
    json!({ "kind": "delay", "delay": "10ms" })
}

/// Generators that need a number of connections get 40.
fn capped(name: &'static str, wire: Wire, differs: &'static str) -> PublishedCase {
    PublishedCase {
        name,
        origin: FICTION,
        setting: "10 ms, and 200 ms in the first 1.5 s of every 4 s; 400 requests per second over at most 40 connections",
        differs,
        truth: phases(200 * MS, 4 * SECOND, 3 * SECOND / 2, None),
        rate: 400,
        seconds: 12,
        law: ClosedForm::Bimodal { fast_s: 0.01, slow_s: 0.2, slow_share: 0.375 },
        connections: 40,
        wire,
        cpu_percent: None,
    }
}

fn load_fiction() -> Vec<PublishedCase> {
    let two_delays = |slow_s, slow_share| ClosedForm::Bimodal { fast_s: 0.01, slow_s, slow_share };
    vec![
        capped("connection cap", Wire::Http1, "12 s instead of 30"),
        capped("connection cap for all", Wire::Capped, "12 s instead of 30, and a cap also for generators that need none"),
        PublishedCase {
            name: "stream cap",
            origin: FICTION,
            setting: "10 ms, and 2 s in the first 2 s of every 5 s; 200 requests per second over HTTP/2, at most 100 streams per connection",
            differs: "a fifth of the times, one connection instead of 20, 10 ms instead of 0",
            truth: phases(2 * SECOND, 5 * SECOND, 2 * SECOND, None),
            rate: 200,
            seconds: RUN,
            law: two_delays(2.0, 0.4),
            connections: 1,
            wire: Wire::Http2 { streams: 100 },
            cpu_percent: None,
        },
        PublishedCase {
            name: "short of CPU",
            origin: FICTION,
            setting: "10 ms, and 1 s in the first 0.75 s of every 5 s; a new connection for each of 1,000 requests per second; 20 % of a core",
            differs: "1,000 requests per second instead of 3,000, no TLS, two delays instead of four, a CPU limit instead of fewer cores",
            truth: phases(SECOND, 5 * SECOND, 3 * SECOND / 4, None),
            rate: 1_000,
            seconds: RUN,
            law: two_delays(1.0, 0.15),
            connections: 1_200,
            wire: Wire::NewConnections,
            cpu_percent: Some(20),
        },
        PublishedCase {
            name: "bursty server",
            origin: FICTION,
            setting: "200 requests at a time, 10 ms each, and 400 ms each in the first 0.75 s of every 5 s; 1,000 requests per second",
            differs: "1,000 requests per second instead of 12,000 and 200 at a time instead of 4,800; two delays instead of four",
            truth: phases(400 * MS, 5 * SECOND, 3 * SECOND / 4, Some(200)),
            rate: 1_000,
            seconds: RUN,
            law: ClosedForm::Pool(PhasedPool {
                servers: 200,
                fast_s: 0.01,
                slow_s: 0.4,
                every_s: 5.0,
                slow_for_s: 0.75,
                rate: 1_000.0,
                run_s: f64::from(RUN),
            }),
            connections: 1_200,
            wire: Wire::Http1,
            cpu_percent: None,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Little's law: an ideal schedule never needs more connections than a case offers, except where that is the error.
    #[test]
    fn only_the_connection_cap_holds_an_ideal_schedule_back() {
        for case in all() {
            let enough = case.law.at_s(0.9999) * f64::from(case.rate) <= f64::from(case.connections);
            assert_eq!(enough, !case.name.contains(" cap"), "{}", case.name);
        }
    }

    /// A quantile at a step of the distribution would be decided by one request.
    #[test]
    fn the_judged_quantiles_are_clear_of_steps() {
        for case in all() {
            for quantile in [0.5, 0.99] {
                let near = [-0.005, 0.005].map(|off| case.law.at_s(quantile + off));
                assert!((near[1] / near[0]) < 1.6, "{} at {quantile}: {near:?}", case.name);
            }
        }
    }
}
