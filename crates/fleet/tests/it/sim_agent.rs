//! An agent in a simulation: the real protocol, and in place of workers the real arrivals, rows and recorders. Response times depend only on the
//! arrival's number.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use loadstone_engine::{AgentCommand, AgentReport, ArrivalShare, Arrivals, Due, Handover, WorkerShare};
use loadstone_fleet::{Agent, AgentFacts, AgentTask, Assignment, LocalNumbers, NumberSource, TakenNumber, exchange};
use loadstone_metrics::{Nanos, Outcome, Phases, Recorder, Sample, SeriesId, SeriesKey, SeriesKind, Snapshot};
use loadstone_plan::{LoadProfile, OpenStage, TestPlan};

use crate::sim_bus::{MS, SimBus, SimPort};

const S: Nanos = 1_000 * MS;
/// How long the process waits for the final message.
const BYE_MAX_NS: Nanos = 5 * S;

/// What really happened, to compare with the reports.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// `(leaf, number)` of every arrival that ended, once per end.
    pub(crate) arrivals: Vec<(u32, u64)>,
    pub(crate) started: Vec<Started>,
    pub(crate) rows: Vec<u64>,
    /// Arrivals that found no row.
    pub(crate) without_row: u64,
    /// By agent: samples in the seconds that it sent.
    pub(crate) handed_over: BTreeMap<u32, u64>,
    /// Agents that ended on command.
    pub(crate) done: BTreeSet<u32>,
    /// When the run began, on the simulation's clock.
    pub(crate) zero: Nanos,
    /// When each leaf began, on the run's clock.
    pub(crate) begun: BTreeMap<u32, Nanos>,
    /// Agents whose load others took over, and from when on, on the run's clock.
    pub(crate) handovers: Vec<(u32, Nanos)>,
}

/// An arrival that started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Started {
    pub(crate) agent: u32,
    pub(crate) leaf: u32,
    pub(crate) number: u64,
    /// On the run's clock.
    pub(crate) at: Nanos,
}

pub(crate) struct SimAgent {
    pub(crate) agent: Agent,
    pub(crate) port: SimPort,
    /// Its clock minus the simulation's.
    ahead: Nanos,
    pub(crate) frozen_until: Nanos,
    pub(crate) crashed: bool,
    /// It is asked to end at this instant. The process remains for some time.
    pub(crate) ends_at: Nanos,
    load: Option<SimLoad>,
    test: SimTest,
}

/// The test that every agent receives.
#[derive(Clone)]
pub(crate) struct SimTest {
    pub(crate) plan: Rc<TestPlan>,
    /// Rows of the feeder from which each arrival takes one.
    pub(crate) rows: u64,
    pub(crate) ledger: Rc<RefCell<Ledger>>,
}

impl SimAgent {
    pub(crate) fn new(bus: &Rc<RefCell<SimBus>>, number: u32, workers: u32, test: &SimTest) -> Self {
        let name = format!("a{number:04}");
        let region = if number.is_multiple_of(2) { "eu" } else { "us" };
        let labels = [("region".to_owned(), region.to_owned())].into();
        let facts = AgentFacts { name: name.clone(), hostname: "sim".to_owned(), cores: 1, workers, labels, ..AgentFacts::default() };
        let agent = Agent::new(name, facts);
        let port = SimPort::new(bus, vec![agent.subject()]);
        // Machines that were started at different times.
        let ahead = Nanos::from(number) * 7_919 * MS + 13;
        Self { agent, port, ahead, frozen_until: 0, crashed: false, ends_at: Nanos::MAX, load: None, test: test.clone() }
    }

    /// Whether it generates load.
    pub(crate) fn is_at_work(&self) -> bool {
        self.load.is_some()
    }

    pub(crate) fn step(&mut self, now: Nanos) {
        if self.crashed || now < self.frozen_until {
            return;
        }
        if now >= self.ends_at {
            self.agent.depart("it was asked to end");
            self.crashed = self.agent.has_departed() || now >= self.ends_at + BYE_MAX_NS;
        }
        let local = now + self.ahead;
        // A frozen agent wakes with its workers, and only then receives the messages sent in the meantime.
        if let Some(load) = &mut self.load {
            load.work(local);
        }
        exchange(&mut self.agent, &mut self.port, Duration::ZERO, || local);
        for task in self.agent.take_tasks() {
            self.task(task);
        }
        let Some(load) = &mut self.load else { return };
        for report in load.step(local) {
            match &report {
                AgentReport::Snapshot(snapshot) => {
                    let count: u64 = snapshot.series.iter().map(|series| series.count).sum();
                    *self.test.ledger.borrow_mut().handed_over.entry(load.number).or_default() += count;
                    self.agent.report_held(load.rows.second().into_iter().collect());
                }
                AgentReport::Done => _ = self.test.ledger.borrow_mut().done.insert(load.number),
                _ => {}
            }
            let is_end = matches!(report, AgentReport::Done);
            self.agent.report(report);
            if is_end {
                self.agent.report_held(load.rows.second().into_iter().collect());
                self.load = None;
                self.agent.hold(false);
                return;
            }
        }
        load.take_rows(&mut self.agent);
    }

    fn task(&mut self, task: AgentTask) {
        match (task, &mut self.load) {
            (AgentTask::Prepare(assignment), load) => {
                self.agent.hold(true);
                *load = Some(SimLoad::new(&assignment, &self.test));
                self.agent.report(AgentReport::Ready);
            }
            (AgentTask::Command(command), Some(load)) => load.command(&command),
            (AgentTask::Numbers { from, to, left, .. }, Some(load)) => load.rows.give(from, to, left),
            (AgentTask::Recall(_), Some(load)) => self.agent.give_back(load.rows.give_back(0)),
            (AgentTask::Leave(_), load) => {
                *load = None;
                self.agent.hold(false);
            }
            _ => {}
        }
    }
}

/// Load like that of workers.
struct SimLoad {
    number: u32,
    share: WorkerShare,
    /// The first worker of each agent.
    firsts: Vec<u32>,
    /// It starts nothing from this instant on.
    lease: Nanos,
    handovers: Vec<Handover>,
    plan: Rc<TestPlan>,
    ledger: Rc<RefCell<Ledger>>,
    zero: Option<Nanos>,
    recorders: Vec<(Recorder, SeriesId)>,
    leaves: BTreeMap<u32, SimLeaf>,
    /// Iterations in progress, by their end: `(leaf, worker, due, number)`.
    under_way: BTreeMap<(Nanos, u32, u64), (usize, Nanos)>,
    slice: u32,
    stopped: bool,
    finishing: bool,
    rows: LocalNumbers,
    rows_needed: u64,
}

struct SimLeaf {
    at: Nanos,
    /// Its profile's end. Until then it may take over arrivals of others.
    until: Nanos,
    arrivals: Vec<Arrivals>,
    ended: bool,
}

impl SimLeaf {
    fn hand_over(&mut self, handover: &Handover) {
        for arrivals in &mut self.arrivals {
            let next = arrivals.next_sequence();
            arrivals.hand_over(handover, self.at, next);
        }
    }
}

/// How long the iteration with this number takes.
fn takes(leaf: u32, number: u64) -> Nanos {
    let mixed = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(leaf)) >> 33;
    MS + mixed % (400 * MS)
}

impl SimLoad {
    fn new(assignment: &Assignment, test: &SimTest) -> Self {
        let share = assignment.share();
        let key = SeriesKey::new(SeriesKind::Iteration, "s", "s");
        let recorders = (0..share.here).map(|worker| {
            let mut recorder = Recorder::new(share.first + worker, 100);
            let series = recorder.series(&key);
            (recorder, series)
        });
        Self {
            number: assignment.agent,
            share,
            firsts: assignment.firsts.clone(),
            lease: Nanos::MAX,
            handovers: Vec::new(),
            plan: Rc::clone(&test.plan),
            ledger: Rc::clone(&test.ledger),
            zero: None,
            recorders: recorders.collect(),
            leaves: BTreeMap::new(),
            under_way: BTreeMap::new(),
            slice: 0,
            stopped: false,
            finishing: false,
            rows: LocalNumbers::new(NumberSource::Feeder(0), Some(test.rows)),
            rows_needed: 0,
        }
    }

    fn command(&mut self, command: &AgentCommand) {
        match *command {
            AgentCommand::Start { zero } => self.zero = Some(zero.origin_ns()),
            AgentCommand::Begin { leaf, at } => {
                let leaves = self.plan.leaves();
                let LoadProfile::Open { stages } = &leaves[leaf as usize].profile else { panic!("open load only") };
                let share = |worker| ArrivalShare { index: u64::from(self.share.first + worker), of: u64::from(self.share.of) };
                let arrivals = (0..self.share.here).map(|worker| Arrivals::new(stages, 11, share(worker)));
                let mut begun = SimLeaf {
                    at,
                    until: at + stages.iter().map(OpenStage::duration_ns).sum::<Nanos>(),
                    arrivals: arrivals.collect(),
                    ended: false,
                };
                self.handovers.iter().for_each(|handover| begun.hand_over(handover));
                self.leaves.insert(leaf, begun);
            }
            AgentCommand::Stop => self.stopped = true,
            AgentCommand::Halt => {
                self.stopped = true;
                self.under_way.clear();
            }
            AgentCommand::Scale { .. } => {}
            AgentCommand::Lease { until } => self.lease = if self.lease == Nanos::MAX { until } else { self.lease.max(until) },
            AgentCommand::HandOver { lost, ref left, from, is_of_load } => {
                let handover = Handover::of_agents(&self.firsts, self.share.of, lost, left, from, is_of_load);
                // The simulation contains only load.
                if is_of_load {
                    self.leaves.values_mut().for_each(|leaf| leaf.hand_over(&handover));
                    self.handovers.push(handover);
                }
            }
            AgentCommand::Finish => self.finishing = true,
        }
    }

    /// Each arrival needs a row.
    fn take_rows(&mut self, agent: &mut Agent) {
        while self.rows_needed > 0 {
            let (taken, request) = self.rows.take();
            request.into_iter().for_each(|request| agent.ask_numbers(request));
            match taken {
                TakenNumber::Number(row) => self.ledger.borrow_mut().rows.push(row),
                TakenNumber::None => self.ledger.borrow_mut().without_row += 1,
                TakenNumber::Wait => return,
            }
            self.rows_needed -= 1;
        }
    }

    fn step(&mut self, local: Nanos) -> Vec<AgentReport> {
        let mut reports = Vec::new();
        let Some(zero) = self.zero else {
            return if self.finishing { vec![AgentReport::Done] } else { reports };
        };
        let now = local.saturating_sub(zero);
        while Nanos::from(self.slice + 1) * S <= now {
            let end = Nanos::from(self.slice + 1) * S;
            self.work_until(end, now);
            reports.push(self.second(end));
        }
        self.work_until(now, now);
        let stopped = self.stopped;
        for (number, leaf) in self.leaves.iter_mut().filter(|(_, leaf)| !leaf.ended) {
            let is_over = stopped || now >= leaf.until && leaf.arrivals.iter().all(|arrivals| arrivals.clone().next().is_none());
            if is_over && !self.under_way.keys().any(|(_, of, _)| of == number) && self.rows_needed == 0 {
                leaf.ended = true;
                reports.push(AgentReport::LeafEnded { leaf: *number, threw: false });
            }
        }
        if self.finishing {
            reports.push(self.second(now));
            reports.push(AgentReport::Done);
        }
        reports
    }

    /// Starts and ends what is due, as far as its lease permits.
    fn work(&mut self, local: Nanos) {
        if let Some(zero) = self.zero {
            let now = local.saturating_sub(zero);
            self.work_until(now.min(Nanos::from(self.slice + 1) * S), now);
        }
    }

    /// `to`: the end of this second, or now.
    fn work_until(&mut self, to: Nanos, now: Nanos) {
        let may_start = now < self.lease && !self.stopped;
        for (number, leaf) in self.leaves.iter_mut().filter(|_| may_start) {
            for (worker, arrivals) in leaf.arrivals.iter_mut().enumerate() {
                loop {
                    let mut ahead = arrivals.clone();
                    let Some(Due { offset_ns, sequence, .. }) = ahead.next() else { break };
                    let due = leaf.at + offset_ns;
                    if due >= to {
                        break;
                    }
                    *arrivals = ahead;
                    let started = Started { agent: self.number, leaf: *number, number: sequence, at: now };
                    self.ledger.borrow_mut().started.push(started);
                    let counts = self.recorders[worker].0.leaf(*number);
                    counts.arrivals_due += 1;
                    counts.started += 1;
                    self.rows_needed += 1;
                    self.under_way.insert((due + takes(*number, sequence), *number, sequence), (worker, due));
                }
            }
        }
        while let Some(entry) = self.under_way.first_entry().filter(|entry| entry.key().0 < to) {
            let ((ended, leaf, sequence), (worker, due)) = entry.remove_entry();
            let (recorder, series) = &mut self.recorders[worker];
            recorder.leaf(leaf).ended += 1;
            let sample = Sample {
                scheduled: due,
                started: due,
                ended,
                phases: Phases::default(),
                outcome: Outcome::Passed,
                status: 200,
                bytes_sent: 1,
                bytes_received: 2,
                retried: 0,
                trace: None,
            };
            recorder.record(*series, &sample);
            self.ledger.borrow_mut().arrivals.push((leaf, sequence));
        }
    }

    fn second(&mut self, end: Nanos) -> AgentReport {
        let (number, start) = (self.slice, Nanos::from(self.slice) * S);
        self.slice += 1;
        let mut parts = self.recorders.iter_mut().map(|(recorder, _)| recorder.drain(number, start, end));
        let mut merged: Snapshot = parts.next().expect("an agent has a worker");
        parts.for_each(|part| merged.merge(part));
        merged.pack();
        AgentReport::Snapshot(Box::new(merged))
    }
}
