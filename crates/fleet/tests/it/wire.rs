//! How many bytes an agent sends: the packets of the real protocol, for seconds like those of real workers.

use loadstone_engine::{AgentCommand, AgentReport};
use loadstone_fleet::{Agent, AgentFacts, AgentTask, Controller, FleetNews};
use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Nanos, Outcome, Phases, Recorder, Sample, SeriesKey, SeriesKind, Snapshot};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::sim_bus::MS;

const S: Nanos = 1_000 * MS;
const STEP: Nanos = 10 * MS;
const SECONDS: u32 = 8;
/// The promise of docs/fleet.md for 50 request names: the bytes per second of one agent, up to this request rate.
const PROMISED_BYTES: (u64, u64) = (20_000, 3_000);

/// A sample of a log-normal distribution (Box and Muller, 1958), which has a tail like real response times.
fn response(random: &mut Xoshiro256PlusPlus, median: Nanos) -> Nanos {
    let mut uniform = || ((random.next_u64() >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
    let normal = (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    (median as f64 * (0.5 * normal).exp()) as Nanos
}

/// A second of four workers with `requests` requests under `names` names, merged as an agent sends it.
fn second(slice: u32, names: usize, requests: u64, random: &mut Xoshiro256PlusPlus) -> Snapshot {
    let (start, end) = (Nanos::from(slice) * S, Nanos::from(slice + 1) * S);
    let mut parts = (0..4).map(|worker| {
        let mut recorder = Recorder::new(worker, 1_000);
        let iterations = recorder.series(&SeriesKey::new(SeriesKind::Iteration, "Shop", "Shop"));
        let series: Vec<_> = (0..names)
            .map(|name| recorder.series(&SeriesKey::new(SeriesKind::Request, "Shop", &*format!("GET /products/{name}/details"))))
            .collect();
        for number in 0..requests / 4 {
            let scheduled = start + random.next_u64() % S;
            // No generator is exact to the nanosecond: response and service times differ, and so do their buckets.
            let began = scheduled + response(random, MS / 10);
            let took = response(random, (5 + number % names as u64) * MS);
            let wait = took * 9 / 10;
            let sample = Sample {
                scheduled,
                started: began,
                ended: began + took,
                phases: Phases { wait, body: took - wait, ..Phases::default() },
                outcome: Outcome::Passed,
                status: 200,
                bytes_sent: 180,
                bytes_received: 900,
                retried: 0,
                trace: None,
            };
            recorder.record(series[number as usize % names], &sample);
            if number % 10 == 0 {
                recorder.record(iterations, &sample);
            }
        }
        recorder.drain(slice, start, end)
    });
    let mut merged = parts.next().expect("four workers");
    parts.for_each(|part| merged.merge(part));
    merged.pack();
    merged
}

/// Bytes per second that an agent and its controller send each other during a run, in each direction.
fn bytes_a_second(names: usize, requests: u64) -> (u64, u64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut controller = Controller::new("0123456789abcdef".to_owned(), 1);
    let facts =
        AgentFacts { name: "agent-0".to_owned(), hostname: "loadstone-agents-0".to_owned(), cores: 4, workers: 4, ..AgentFacts::default() };
    let mut agent = Agent::new("fedcba9876543210".to_owned(), facts);
    let (mut there, mut back, mut arrived) = (0, 0, 0);
    let mut started = None;
    for step in 0..20 * S / STEP {
        let now = S + step * STEP;
        let since = started.map_or(0, |started| now - started);
        if since > 0 && since <= Nanos::from(SECONDS) * S && since.is_multiple_of(S) {
            agent.report(AgentReport::Snapshot(Box::new(second((since / S) as u32 - 1, names, requests, &mut random))));
        }
        agent.tick(now);
        for packet in agent.take_outgoing() {
            there += if started.is_some() { (packet.bytes.len() + packet.subject.len()) as u64 } else { 0 };
            controller.receive(&packet.bytes, now);
        }
        controller.tick(now);
        for packet in controller.take_outgoing() {
            back += if started.is_some() { (packet.bytes.len() + packet.subject.len()) as u64 } else { 0 };
            agent.receive(&packet.bytes, now);
        }
        for news in controller.take_news() {
            match news {
                FleetNews::Gathered(_) => controller.assign("{}"),
                FleetNews::Report { report: AgentReport::Ready, .. } => {
                    controller.send_command(0, &AgentCommand::Start { zero: Monotonic::with_origin(now) });
                    started = Some(now);
                }
                FleetNews::Report { report: AgentReport::Snapshot(snapshot), .. } => {
                    assert_eq!(snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Request).count(), names);
                    arrived += 1;
                }
                _ => {}
            }
        }
        if agent.take_tasks().iter().any(|task| matches!(task, AgentTask::Prepare(_))) {
            agent.report(AgentReport::Ready);
        }
        if arrived == SECONDS {
            break;
        }
    }
    assert_eq!(arrived, SECONDS, "all seconds arrived");
    (there / u64::from(SECONDS), back / u64::from(SECONDS))
}

#[test]
fn fifty_names_take_no_more_bytes_than_promised() {
    let mut figures = Vec::new();
    for requests in [500, 3_000, 10_000, 50_000] {
        let (there, back) = bytes_a_second(50, requests);
        figures.push(format!("{requests} requests a second: {there} bytes from the agent, {back} to it"));
        println!("{}", figures.last().expect("just pushed"));
    }
    let (bytes_max, requests) = PROMISED_BYTES;
    let (there, back) = bytes_a_second(50, requests);
    assert!(there + back <= bytes_max, "{figures:?}");
}
