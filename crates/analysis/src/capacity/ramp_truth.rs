//! Compares the ceilings of a single ramp with known ones: simulated stations in series, each with its own servers, under random arrivals
//! with a rising rate. The table in docs/capacity.md comes from [`the_whole_table`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use loadstone_metrics::{
    GeneratorSlice, LeafSlice, Outcome, Role, SeriesKey, SeriesKind, SeriesSlice, Signal, SignalKind, SignalPoint, Snapshot, unit,
};
use loadstone_plan::{LoadProfile, TestPlan};
use loadstone_run_directory::{Run, RunInfo, SignalSeries};

use super::{CapacityInterval, RampEstimate};
use crate::statistics::draws::Draws;
use crate::statistics::{nearest_of_sorted, share_in_words};
use crate::{Grade, Validity};

/// Stations in series: each request needs all of them, one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stations {
    pub(super) name: &'static str,
    /// Number of servers, and mean service time in seconds.
    pub(super) each: &'static [(usize, f64)],
    /// Service times are exponential; otherwise constant.
    pub(super) is_random: bool,
    pub(super) seconds: usize,
    /// The load begins at a tenth of the capacity, and ends at this multiple of it.
    pub(super) most: f64,
}

pub(super) const TWO: Stations =
    Stations { name: "2 servers of 10 ms, then 4 of 15 ms", each: &[(2, 0.01), (4, 0.015)], is_random: true, seconds: 120, most: 1.5 };

const RAMPS: [Stations; 9] = [
    Stations { name: "1 server of 5 ms", each: &[(1, 0.005)], ..TWO },
    Stations { name: "1 server of 5 ms, up to 0.7 of it", each: &[(1, 0.005)], most: 0.7, ..TWO },
    Stations { name: "4 servers of 20 ms", each: &[(4, 0.02)], ..TWO },
    Stations { name: "4 servers of 20 ms, services alike", each: &[(4, 0.02)], is_random: false, ..TWO },
    TWO,
    Stations { name: "4 of 15 ms, then 2 of 10 ms, up to twice", each: &[(4, 0.015), (2, 0.01)], most: 2.0, ..TWO },
    Stations { name: "2 of 10 ms, then 8 of 8 ms, in 300 s", each: &[(2, 0.01), (8, 0.008)], seconds: 300, ..TWO },
    Stations { name: "2 of 10 ms, then 4 of 15 ms, up to 5 times", most: 5.0, ..TWO },
    Stations { name: "2 of 100 ms, then 4 of 150 ms, in 300 s", each: &[(2, 0.1), (4, 0.15)], seconds: 300, ..TWO },
];

impl Stations {
    fn capacity(self) -> f64 {
        self.each.iter().map(|(servers, service)| *servers as f64 / service).fold(f64::INFINITY, f64::min)
    }

    fn arrivals(self, draws: &mut Draws) -> Vec<f64> {
        let (length, highest) = (self.seconds as f64, self.most * self.capacity());
        let mut arrivals = Vec::new();
        let mut now = draws.exponential(1.0 / highest);
        while now < length {
            // By thinning (Lewis and Shedler 1979).
            let rate = self.capacity() * (0.1 + (self.most - 0.1) * now / length);
            if draws.uniform() * highest < rate {
                arrivals.push(now);
            }
            now += draws.exponential(1.0 / highest);
        }
        arrivals
    }

    fn run(self, seed: u64) -> Run {
        let mut draws = Draws::new(seed);
        let mut requests: Vec<(f64, f64)> = self.arrivals(&mut draws).into_iter().map(|at| (at, at)).collect();
        let mut due = vec![0; self.seconds];
        requests.iter().for_each(|(_, arrived)| due[*arrived as usize] += 1);
        let mut signals = Vec::new();
        for (number, (servers, service)) in self.each.iter().enumerate() {
            let mut busy = vec![0.0; self.seconds];
            let mut free: BinaryHeap<Reverse<u64>> = (0..*servers).map(|_| Reverse(0)).collect();
            requests.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (at, _) in &mut requests {
                let Some(Reverse(server)) = free.pop() else { break };
                let begin = at.max(server as f64 / 1e9);
                *at = begin + if self.is_random { draws.exponential(*service) } else { *service };
                free.push(Reverse((*at * 1e9) as u64));
                spread(&mut busy, begin, *at);
            }
            let observer = format!("process:{number}");
            signals.push(gauge(&observer, "cpu", Role::ProcessCpu, busy));
            signals.push(gauge(&observer, "cpu_max", Role::ProcessCpuMax, vec![*servers as f64; self.seconds]));
        }
        signals.push(gauge("host", "cores", Role::MachineCores, vec![64.0; self.seconds]));
        let mut inside = vec![0.0; self.seconds];
        let mut ended = vec![0; self.seconds];
        for (end, arrived) in requests {
            spread(&mut inside, arrived, end);
            if let Some(ended) = ended.get_mut(end as usize) {
                *ended += 1;
            }
        }
        let slices =
            due.into_iter().zip(ended).zip(inside).zip(0..).map(|(((due, ended), inside), index)| slice(index, due, ended, inside));
        let plan = TestPlan::of_scenario("stations", "Buy", LoadProfile::rate(self.capacity(), 1));
        let mut info = RunInfo::default();
        info.host.cores = 64;
        Run { signals, ..Run::new(info, plan, slices.collect()) }
    }

    pub(super) fn estimate(self, seed: u64) -> RampEstimate {
        self.estimate_without(seed, None)
    }

    /// One station may be unobserved.
    pub(super) fn estimate_without(self, seed: u64, unobserved: Option<usize>) -> RampEstimate {
        let mut run = self.run(seed);
        run.signals.retain(|series| unobserved.is_none_or(|station| series.signal.observer != format!("process:{station}")));
        RampEstimate::if_limited(&run, &Validity { grade: Grade::Valid, checks: Vec::new() }, true)
    }
}

/// Adds the time between two instants to the seconds that contain it.
fn spread(seconds: &mut [f64], from: f64, to: f64) {
    for (index, second) in seconds.iter_mut().enumerate().skip(from as usize) {
        let (begin, end) = (index as f64, index as f64 + 1.0);
        if begin >= to {
            break;
        }
        *second += to.min(end) - from.max(begin);
    }
}

fn gauge(observer: &str, metric: &str, role: Role, values: Vec<f64>) -> SignalSeries {
    let points = values.into_iter().zip(0u64..).map(|(value, second)| SignalPoint { at: second * 1_000_000_000 + 500_000_000, value });
    SignalSeries { signal: Signal::new(observer, metric, SignalKind::Gauge, unit::COUNT).role(role), points: points.collect() }
}

fn slice(index: u32, due: u64, ended: u64, inside: f64) -> Snapshot {
    let series = SeriesSlice {
        count: ended,
        outcomes: vec![(Outcome::Passed, ended)],
        ..SeriesSlice::new(SeriesKey::new(SeriesKind::Request, "Buy", "Buy"))
    };
    let start = u64::from(index) * 1_000_000_000;
    Snapshot {
        slice: index,
        start,
        end: start + 1_000_000_000,
        series: vec![series],
        leaves: vec![LeafSlice { arrivals_due: due, ended, ..LeafSlice::default() }],
        generator: vec![GeneratorSlice { in_flight_ns: (inside * 1e9) as u64, ..GeneratorSlice::default() }],
        ..Snapshot::default()
    }
}

/// The results for one station of a system, over its ramps.
#[derive(Debug, Default)]
struct Hits {
    reported: u64,
    covered: u64,
    errors: Vec<f64>,
    halves: Vec<f64>,
}

impl Hits {
    /// The results for the ceiling of one station.
    fn of(ramp: Stations, station: usize, estimates: &[RampEstimate]) -> Self {
        let (servers, service) = ramp.each[station];
        let ceiling = |estimate: &RampEstimate| {
            let ceiling = estimate.ceilings.iter().find(|of| of.resource == format!("process:{station}/cpu"));
            ceiling.map(|of| of.throughput_max)
        };
        Self::counted(servers as f64 / service, estimates.iter().map(ceiling))
    }

    fn counted(truth: f64, reported: impl Iterator<Item = Option<CapacityInterval>>) -> Self {
        let mut hits = Self::default();
        for of in reported.flatten() {
            hits.reported += 1;
            hits.covered += u64::from(of.low <= truth && truth <= of.high);
            hits.errors.push((of.value / truth - 1.0).abs());
            hits.halves.push(of.precision());
        }
        hits.errors.sort_by(f64::total_cmp);
        hits.halves.sort_by(f64::total_cmp);
        hits
    }
}

/// The number of ramps per system, and the first seed.
pub(super) fn requested() -> (u64, u64) {
    let requested = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    (requested("LOADSTONE_RAMPS").unwrap_or(30), requested("LOADSTONE_RAMP_SEED").unwrap_or(1))
}

/// `LOADSTONE_RAMPS`: ramps per system; `LOADSTONE_RAMP_SEED`: the first seed. The figures of docs/capacity.md: `LOADSTONE_RAMPS=200
/// LOADSTONE_RAMP_SEED=1001 cargo test -p loadstone-analysis --lib capacity::ramp_truth -- --nocapture`.
#[test]
fn the_whole_table() {
    let (ramps, seeds) = requested();
    println!(
        "| ramp up to 1.5 times the capacity, in 120 s | station | full at | reported | interval covers it | 95 % of the errors within | ± \
         half |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|");
    let mut problems = Vec::new();
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let row = |ramp: Stations, which: &str, truth: f64, hits: &Hits| {
        println!(
            "| {} | {which} | {} | {} of {ramps} | {} | {} | {} |",
            ramp.name,
            loadstone_units::rate(truth),
            hits.reported,
            share_in_words(hits.covered, hits.reported),
            percent(nearest_of_sorted(&hits.errors, 0.95)),
            percent(nearest_of_sorted(&hits.halves, 0.5)),
        );
    };
    for ramp in RAMPS {
        let estimates: Vec<RampEstimate> = (seeds..seeds + ramps).map(|seed| ramp.estimate(seed)).collect();
        let curve = Hits::counted(ramp.capacity(), estimates.iter().map(|estimate| estimate.throughput_max));
        row(ramp, "throughput", ramp.capacity(), &curve);
        for (station, (servers, service)) in ramp.each.iter().enumerate() {
            let hits = Hits::of(ramp, station, &estimates);
            let truth = *servers as f64 / service;
            let which = if (truth / ramp.capacity() - 1.0).abs() < 1e-9 { "first" } else { "next" };
            row(ramp, which, truth, &hits);
            // The limiting resource is always found. With a coverage of 93 %, fewer than 23 of 30 occur once in two thousand.
            let is_missed = which == "first" && hits.reported * 20 < ramps * 19;
            if is_missed || hits.covered * 30 < hits.reported * 23 {
                problems.push(format!("{}, {which}: {} reported, {} covered", ramp.name, hits.reported, hits.covered));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}
