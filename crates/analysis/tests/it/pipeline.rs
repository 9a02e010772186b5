//! A discrete-event simulator of an asynchronous pipeline: events are matched, wait in a queue, and are sent to an endpoint by senders that
//! hold a database transaction meanwhile. Its faults are those of docs/findings.md. It creates the data of a run: slices with journeys, and
//! signals.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use loadstone_metrics::{
    FlowBook, FlowDefinition, FlowEvent, FlowKey, FlowStep, Mark, MarkKind, Outcome, Phases, Recorder, Role, Sample, SeriesId, SeriesKind,
    Snapshot,
};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::{Run, SignalSeries};

use crate::draws::Draws;
use crate::simulation::Service;
use crate::synthetic::{self, MS, SECOND, SyntheticSignal, counter, gauge};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Order {
    Oldest,
    Random,
    Newest,
}

/// The system. Times in seconds.
#[derive(Debug, Clone)]
pub(crate) struct Pipeline {
    pub(crate) senders: usize,
    /// Connections to the endpoint.
    pub(crate) pool: usize,
    /// One sender at a time, from taking a message until it is sent.
    pub(crate) lock: bool,
    pub(crate) order: Order,
    /// Time of the endpoint.
    pub(crate) hold: Service,
    /// Work of a sender per message.
    pub(crate) overhead: f64,
    /// Threads that match events, and the CPU time of each event.
    pub(crate) matching: (usize, f64),
    /// Whether the database is observed.
    pub(crate) database: bool,
    /// Events per second and seconds.
    pub(crate) load: Vec<(f64, u64)>,
    pub(crate) timing: Timing,
}

/// The healthy one: 20 senders, an endpoint of 100 ms to 2 s, 20 events a second.
pub(crate) fn healthy() -> Pipeline {
    Pipeline {
        senders: 20,
        pool: 1_000,
        lock: false,
        order: Order::Oldest,
        hold: Service::LogUniform(0.1, 2.0),
        overhead: 0.005,
        matching: (2, 0.002),
        database: true,
        load: vec![(20.0, 60)],
        timing: Timing::Even,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival,
    Matched(u64),
    CallEnded,
    SenderFree,
}

/// Levels and counts of the current second.
#[derive(Default)]
struct Second {
    calls: u64,
    in_flight_ns: u64,
    in_flight_max: usize,
    held: f64,
    busy_ns: u64,
}

struct Simulation<'a> {
    system: &'a Pipeline,
    draws: Draws,
    book: FlowBook,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    order: u64,
    now: u64,
    integrated: u64,
    arrived: VecDeque<u64>,
    matching: usize,
    pending: VecDeque<u64>,
    working: usize,
    waiting_for_connection: VecDeque<u64>,
    in_flight: usize,
    second: Second,
    signals: Vec<SignalSeries>,
    totals: (f64, f64),
    recorder: Recorder,
    pay: SeriesId,
    /// Number of events generated so far.
    number: u64,
}

const FLOW: &str = "Time to send";
const CORES: f64 = 2.0;
const DRAIN_S: u64 = 90;

impl Simulation<'_> {
    fn at(&mut self, delay: f64, event: Event) {
        self.order += 1;
        self.events.push(Reverse((self.now + (delay * 1e9) as u64, self.order, event)));
    }

    fn journey(&mut self, number: u64, step: FlowStep) {
        self.book.take([FlowEvent { flow: 0, key: FlowKey::of(&number.to_string()), step, at: self.now }]);
    }

    fn integrate(&mut self, to: u64) {
        self.second.in_flight_ns += (to - self.integrated) * self.in_flight as u64;
        self.second.busy_ns += (to - self.integrated) * self.matching as u64;
        self.second.in_flight_max = self.second.in_flight_max.max(self.in_flight);
        self.integrated = to;
    }

    fn match_next(&mut self) {
        while self.matching < self.system.matching.0
            && let Some(number) = self.arrived.pop_front()
        {
            self.matching += 1;
            self.at(self.system.matching.1, Event::Matched(number));
        }
    }

    fn take_next(&mut self) {
        while !self.pending.is_empty() && self.working < if self.system.lock { 1 } else { self.system.senders } {
            let picked = match self.system.order {
                Order::Oldest => self.pending.pop_front(),
                Order::Newest => self.pending.pop_back(),
                Order::Random => {
                    let index = (self.draws.uniform() * self.pending.len() as f64) as usize;
                    let index = index.min(self.pending.len() - 1);
                    self.pending.swap_remove_back(index)
                }
            };
            self.working += 1;
            self.waiting_for_connection.extend(picked);
            self.call_next();
        }
    }

    fn call_next(&mut self) {
        while self.in_flight < self.system.pool
            && let Some(number) = self.waiting_for_connection.pop_front()
        {
            self.in_flight += 1;
            self.second.calls += 1;
            self.second.in_flight_max = self.second.in_flight_max.max(self.in_flight);
            self.journey(number, FlowStep::Finish);
            let hold = self.system.hold.draw(&mut self.draws);
            self.second.held += hold;
            self.at(hold, Event::CallEnded);
        }
    }

    fn put(&mut self, signal: SyntheticSignal, role: Role, value: f64, at: u64) {
        signal.role(role).reading(&mut self.signals, at, value);
    }

    /// The readings of the observers and the stub at the end of a second.
    fn read(&mut self) {
        let (at, second) = (self.now - SECOND / 2, std::mem::take(&mut self.second));
        self.second.in_flight_max = self.in_flight;
        for (metric, role, value) in [
            ("calls", Role::Calls, second.calls as f64),
            ("in_flight", Role::CallsInFlight, second.in_flight_ns as f64 / 1e9),
            ("in_flight_max", Role::CallsInFlightMax, second.in_flight_max as f64),
            ("rejected", Role::CallsRejected, 0.0),
        ] {
            self.put(gauge("stub:subscriber", metric), role, value, at);
        }
        if second.calls > 0 {
            self.put(gauge("stub:subscriber", "hold"), Role::CallHold, second.held / second.calls as f64, at);
        }
        // 0.02 cores for everything else.
        let cpu = second.busy_ns as f64 / 1e9 + 0.02;
        self.totals.0 += cpu;
        self.totals.1 += CORES - f64::min(cpu + 0.1, CORES);
        self.put(counter("process:8081", "cpu"), Role::ProcessCpu, self.totals.0, at);
        self.put(counter("process:8081", "run_delay"), Role::ProcessRunDelay, 0.0, at);
        self.put(gauge("process:8081", "threads"), Role::ProcessThreads, 11.0, at);
        self.put(counter("host", "cpu").label("mode", "idle"), Role::MachineIdle, self.totals.1, at);
        self.put(gauge("host", "cores"), Role::MachineCores, CORES, at);
        if self.system.database {
            self.read_database(at);
        }
    }

    fn read_database(&mut self, at: u64) {
        let database = |metric| gauge("postgres", metric);
        let waiting = if self.system.lock && !self.pending.is_empty() { self.system.senders - 1 } else { 0 } as f64;
        let open = database("connections").label("state", "idle in transaction");
        self.put(open, Role::SessionsIdleInTransaction, self.working as f64, at);
        self.put(database("sessions").label("wait", "CPU"), Role::SessionsOnCpu, 0.1, at);
        self.put(database("active"), Role::SessionsActive, 0.1 + waiting, at);
        self.put(database("blocked"), Role::SessionsBlocked, waiting, at);
        if self.system.lock {
            self.put(database("sessions").label("wait", "Lock:transactionid"), Role::SessionsWaitingForLock, waiting, at);
            let pick = "select id from deliveries limit ? for update";
            self.put(database("blocked_by").label("statement", pick).label("by", pick), Role::SessionsBlockedBy, waiting, at);
        }
    }
}

fn profile(system: &Pipeline) -> LoadProfile {
    let stage =
        |(rate, seconds): &(f64, u64)| OpenStage::Rate { from: *rate, to: *rate, duration_ns: seconds * SECOND, timing: system.timing };
    LoadProfile::Open { stages: system.load.iter().map(stage).collect() }
}

fn rate_at(system: &Pipeline, seconds: f64) -> Option<f64> {
    let mut begin = 0.0;
    for (rate, length) in &system.load {
        begin += *length as f64;
        if seconds < begin {
            return Some(*rate);
        }
    }
    None
}

impl Simulation<'_> {
    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrival => self.arrive(),
            Event::Matched(number) => {
                self.matching -= 1;
                self.match_next();
                self.pending.push_back(number);
                self.take_next();
            }
            Event::CallEnded => {
                self.in_flight -= 1;
                self.call_next();
                self.at(self.system.overhead, Event::SenderFree);
            }
            Event::SenderFree => {
                self.working -= 1;
                self.take_next();
            }
        }
    }

    fn arrive(&mut self) {
        let Some(rate) = rate_at(self.system, self.now as f64 / 1e9) else { return };
        self.number += 1;
        let leaf = self.recorder.leaf(0);
        (leaf.arrivals_due, leaf.started, leaf.ended) = (leaf.arrivals_due + 1, leaf.started + 1, leaf.ended + 1);
        let took = 5 * MS + (self.draws.uniform() * 2e6) as u64;
        self.recorder.generator().in_flight_ns += took;
        let started = self.now + 1_000 * SECOND;
        let sample = Sample {
            scheduled: started,
            started,
            ended: started + took,
            phases: Phases { wait: took, ..Phases::default() },
            outcome: Outcome::Passed,
            status: 201,
            bytes_sent: 1,
            bytes_received: 1,
            retried: 0,
            trace: None,
        };
        self.recorder.record(self.pay, &sample);
        self.journey(self.number, FlowStep::Start);
        self.arrived.push_back(self.number);
        self.match_next();
        let gap = if self.system.timing == Timing::Poisson { self.draws.exponential(1.0 / rate) } else { 1.0 / rate };
        self.at(gap, Event::Arrival);
    }

    /// One second of the run.
    fn slice(&mut self, second: u64, is_last: bool) -> Snapshot {
        let end = second * SECOND;
        self.integrate(end);
        self.now = end;
        let generator = self.recorder.generator();
        (generator.wall_ns, generator.busy_ns) = (SECOND, SECOND / 50);
        let in_flight_ns = generator.in_flight_ns;
        let mut slice = self.recorder.drain(second as u32 - 1, end - SECOND, end);
        slice.generator[0].in_flight_ns = in_flight_ns;
        slice.flows = if is_last { self.book.close(end) } else { self.book.drain(end) };
        self.read();
        slice
    }
}

/// Generates the load, and waits until all messages are sent, for at most 90 s.
pub(crate) fn simulate(system: &Pipeline, seed: u64) -> Run {
    let mut recorder = Recorder::new(0, 100);
    let pay = recorder.series(&synthetic::key(SeriesKind::Request, "Pay"));
    let definition = FlowDefinition { name: FLOW.into(), timeout_ns: None, stages: Vec::new() };
    let mut simulation = Simulation {
        system,
        draws: Draws::new(seed),
        book: FlowBook::new([definition]),
        events: BinaryHeap::new(),
        order: 0,
        now: 0,
        integrated: 0,
        arrived: VecDeque::new(),
        matching: 0,
        pending: VecDeque::new(),
        working: 0,
        waiting_for_connection: VecDeque::new(),
        in_flight: 0,
        second: Second::default(),
        signals: Vec::new(),
        totals: (0.0, 0.0),
        recorder,
        pay,
        number: 0,
    };
    simulation.at(0.01, Event::Arrival);
    let load_seconds: u64 = system.load.iter().map(|(_, seconds)| seconds).sum();
    let mut slices: Vec<Snapshot> = Vec::new();
    for second in 1..=load_seconds + DRAIN_S {
        while let Some(Reverse((at, _, event))) = simulation.events.peek().copied().filter(|Reverse((at, ..))| *at <= second * SECOND) {
            simulation.events.pop();
            simulation.integrate(at);
            simulation.now = at;
            simulation.happen(event);
        }
        let is_drained = slices.last().is_some_and(|slice| slice.flows[0].backlog == 0);
        let is_last = second == load_seconds + DRAIN_S || (second > load_seconds && is_drained);
        let mut slice = simulation.slice(second, is_last);
        if second == load_seconds {
            slice.marks.push(Mark { at: second * SECOND, kind: MarkKind::LoadEnded, text: "load ended".to_owned() });
        }
        slices.push(slice);
        if is_last {
            break;
        }
    }
    let flow = loadstone_plan::FlowSpec { name: FLOW.to_owned(), timeout_ns: None, drain_ns: DRAIN_S * SECOND, stages: Vec::new() };
    let mut run = synthetic::run_of(loadstone_plan::TestPlan { flows: vec![flow], ..synthetic::plan(profile(system)) }, slices);
    run.signals = simulation.signals;
    run
}
