//! A whole run on virtual time: the real controller and load tree, agents, a bus, and scheduled faults.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use loadstone_engine::{AgentCommand, LoadControl, LoadEnding, LoadEvent, SteppedLoad};
use loadstone_fleet::{AgentFacts, CollectedSeconds, Collector, Controller, FleetNews, LabelShare, exchange, workers_by_share};
use loadstone_metrics::clock::{Clock, Monotonic};
use loadstone_metrics::{Nanos, Snapshot};
use loadstone_plan::{Load, LoadProfile, OpenStage, ScenarioId, ScenarioRun, TestPlan, Timing};

use crate::sim_agent::{Ledger, SimAgent, SimTest};
use crate::sim_bus::{MS, SimBus, SimPort, Weather};

const S: Nanos = 1_000 * MS;
const STEP: Nanos = 10 * MS;
const LEAD: Nanos = 500 * MS;

/// A fault, relative to the start of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An agent is gone permanently.
    Crash {
        agent: usize,
        at: Nanos,
    },
    /// An agent is frozen for this long.
    Freeze {
        agent: usize,
        at: Nanos,
        lasts: Nanos,
    },
    /// An agent can neither send nor receive for this long.
    Partition {
        agent: usize,
        at: Nanos,
        lasts: Nanos,
    },
    /// The bus is away for this long.
    BusDown {
        at: Nanos,
        lasts: Nanos,
    },
    ControllerKilled {
        at: Nanos,
    },
    /// An agent is simulated to end.
    AskedToEnd {
        agent: usize,
        at: Nanos,
    },
}

/// A run to simulate.
#[derive(Debug, Clone)]
pub(crate) struct Simulated {
    pub(crate) seed: u64,
    /// Workers of each agent.
    pub(crate) agents: Vec<u32>,
    pub(crate) weather: Weather,
    pub(crate) faults: Vec<Fault>,
    /// Empty: each agent's share is its number of workers.
    pub(crate) shares: Vec<LabelShare>,
    /// Rows of the feeder from which each arrival takes one.
    pub(crate) rows: u64,
    /// Whether the others take over the load of a lost agent. If so, the plan is the long one.
    pub(crate) replaces: bool,
}

/// The result of a simulation.
pub(crate) struct Outcome {
    /// `None`: the run did not end within two minutes, or its controller was killed.
    pub(crate) ending: Option<LoadEnding>,
    pub(crate) seconds: Vec<Snapshot>,
    pub(crate) ledger: Ledger,
    /// Time from the controller's end until no agent generated load any more.
    pub(crate) agents_stopped_after: Option<Nanos>,
    pub(crate) lost: Vec<u32>,
    /// What agents sent afterwards, if the controller was killed.
    pub(crate) collected: CollectedSeconds,
    /// All agents joined, and the run began.
    pub(crate) gathered: bool,
}

/// Five seconds of even arrivals, then four of a Poisson ramp. The long plan has 14 of each.
pub(crate) fn plan(is_long: bool) -> TestPlan {
    let (even, ramp) = if is_long { (14, 14) } else { (5, 4) };
    let leaf = |from, to, seconds, timing| {
        let stages = vec![OpenStage::Rate { from, to, duration_ns: seconds * S, timing }];
        Load::Run(ScenarioRun::new(ScenarioId(0), LoadProfile::Open { stages }))
    };
    TestPlan::new("t", ["s"], Load::Sequence(vec![leaf(60.0, 60.0, even, Timing::Even), leaf(20.0, 100.0, ramp, Timing::Poisson)]))
}

/// Runs the simulation to its end.
pub(crate) fn simulate(simulated: &Simulated) -> Outcome {
    let plan = Rc::new(plan(simulated.replaces));
    let bus = SimBus::new(simulated.seed, simulated.weather);
    let ledger = Rc::new(RefCell::new(Ledger::default()));
    let mut controller = Controller::new("run".to_owned(), simulated.agents.len());
    let mut port = SimPort::new(&bus, controller.subjects().to_vec());
    let test = SimTest { plan: Rc::clone(&plan), rows: simulated.rows, ledger: Rc::clone(&ledger) };
    let agent = |(number, workers): (_, &u32)| SimAgent::new(&bus, number, *workers, &test);
    let mut agents: Vec<SimAgent> = (0..).zip(&simulated.agents).map(agent).collect();
    let (orders, written, mut seconds) = (AgentOrders::default(), WrittenSeconds::default(), Vec::<Snapshot>::new());
    let mut on_event = |event: LoadEvent| {
        if let LoadEvent::Snapshot(snapshot) | LoadEvent::LastSnapshot(snapshot) = event {
            written.borrow_mut().extend(snapshot.agents.iter().map(|agent| (agent.agent, agent.seconds_received)));
            seconds.push(*snapshot);
        }
        None::<LoadControl>
    };
    let mut events = Some(&mut on_event as &mut dyn FnMut(LoadEvent) -> Option<LoadControl>);
    let (clock, mut started_at) = (Clock::virtual_time(), None);
    let mut load: Option<SteppedLoad<'_>> = None;
    let (mut ending, mut killed_at, mut stopped_after, mut gathered_facts) = (None, None, None, Vec::new());
    for step in 0..12_000u64 {
        let now = S + step * STEP;
        bus.borrow_mut().now = now;
        if causes(simulated, step, now, &mut agents, &bus) && ending.is_none() {
            killed_at = Some(now);
        }
        step_all(&mut agents, step as usize, now);
        if killed_at.is_none() && ending.is_none() {
            exchange(&mut controller, &mut port, Duration::ZERO, || now);
            if let Some(started) = started_at {
                clock.advance_to(now - started);
            }
            for news in controller.take_news() {
                match news {
                    FleetNews::Gathered(facts) => {
                        gathered_facts.clone_from(&facts);
                        assign(&mut controller, &facts, simulated);
                        let senders = (0..facts.len()).map(|agent| command_sender(agent, &orders)).collect();
                        load = events.take().map(|events| SteppedLoad::new(&plan, senders, clock.clone(), LEAD, events));
                    }
                    FleetNews::Report { agent, report } => load.as_mut().expect("reports follow the assignment").report(agent, report),
                    FleetNews::Line(_) | FleetNews::Refused(_) | FleetNews::Asked { .. } | FleetNews::HostMessage { .. } => {}
                }
            }
            if let Some(load) = load.as_mut().filter(|_| step % 50 == 0) {
                load.tick();
            }
            written.borrow_mut().drain(..).for_each(|(agent, before)| controller.written(agent as usize, before));
            deliver(&orders, &mut controller, &mut started_at, &mut ledger.borrow_mut(), now);
            if load.as_ref().is_some_and(SteppedLoad::is_over) {
                ending = load.take().map(SteppedLoad::end);
            }
        }
        let ended = killed_at.or(ending.is_some().then_some(now));
        if let Some(ended) = ended
            && !agents.iter().any(|agent| agent.is_at_work() && !agent.crashed)
        {
            stopped_after = Some(now - ended);
            break;
        }
    }
    drop(load);
    let gathered = events.is_none();
    let lost = seconds.iter().flat_map(|second| &second.agents).filter(|agent| agent.lost).map(|agent| agent.agent).collect();
    let collected = match killed_at {
        Some(_) if gathered => collect(&bus, &mut agents, gathered_facts, &seconds),
        _ => CollectedSeconds::default(),
    };
    let ledger = std::mem::take(&mut *ledger.borrow_mut());
    Outcome { ending, seconds, ledger, agents_stopped_after: stopped_after, lost, gathered, collected }
}

/// Commands for agents, by number; and which of an agent's seconds are on disk.
type AgentOrders = Rc<RefCell<Vec<(usize, AgentCommand)>>>;
type WrittenSeconds = Rc<RefCell<Vec<(u32, u32)>>>;

/// Delivers the orders since the last step. The first start sets when the run began.
fn deliver(orders: &AgentOrders, controller: &mut Controller, started_at: &mut Option<Nanos>, ledger: &mut Ledger, now: Nanos) {
    for (agent, command) in orders.borrow_mut().drain(..) {
        let command = match command {
            AgentCommand::Start { .. } => AgentCommand::Start { zero: Monotonic::with_origin(*started_at.get_or_insert(now)) },
            other => other,
        };
        if let AgentCommand::Begin { leaf, at } = command {
            ledger.begun.insert(leaf, at);
        }
        if let AgentCommand::HandOver { lost, from, is_of_load: true, .. } = command {
            ledger.handovers.push((lost, from));
        }
        controller.send_command(agent, &command);
    }
    ledger.zero = started_at.unwrap_or(0);
}

/// Collects from the agents what the killed controller's record does not contain.
fn collect(bus: &Rc<RefCell<SimBus>>, agents: &mut [SimAgent], facts: Vec<AgentFacts>, seconds: &[Snapshot]) -> CollectedSeconds {
    let mut received: BTreeMap<u32, u32> = BTreeMap::new();
    for agent in seconds.iter().flat_map(|second| &second.agents) {
        let known = received.entry(agent.agent).or_default();
        *known = agent.seconds_received.max(*known);
    }
    let (mut collector, began) = (Collector::new("run".to_owned(), facts, received), bus.borrow().now);
    let mut port = SimPort::new(bus, collector.subjects().to_vec());
    for step in 0..6_000 {
        let now = began + step * STEP;
        bus.borrow_mut().now = now;
        step_all(agents, step as usize, now);
        exchange(&mut collector, &mut port, Duration::ZERO, || now);
        if collector.done() == agents.len() {
            break;
        }
    }
    collector.finish(seconds.last().map_or(0, |second| second.slice + 1))
}

fn assign(controller: &mut Controller, facts: &[AgentFacts], simulated: &Simulated) {
    if simulated.replaces {
        controller.replace_lost();
    }
    if !simulated.shares.is_empty() {
        controller.use_workers(&workers_by_share(facts, &simulated.shares).expect("shares that these agents can have"));
    }
    controller.assign("");
}

/// Steps all agents in a different order each time: nothing may depend on the order.
fn step_all(agents: &mut [SimAgent], shift: usize, now: Nanos) {
    let count = agents.len();
    for number in 0..count {
        agents[(number + shift) % count].step(now);
    }
}

/// Causes the faults that are due in this step. Returns whether the controller is killed.
fn causes(simulated: &Simulated, step: u64, now: Nanos, agents: &mut [SimAgent], bus: &Rc<RefCell<SimBus>>) -> bool {
    let mut kills = false;
    let reached = |at: Nanos| at / STEP == step;
    for fault in &simulated.faults {
        match *fault {
            Fault::Crash { agent, at } if reached(at) => agents[agent].crashed = true,
            Fault::Freeze { agent, at, lasts } if reached(at) => agents[agent].frozen_until = now + lasts,
            Fault::Partition { agent, at, lasts } if reached(at) => agents[agent].port.cut(now + lasts),
            Fault::BusDown { at, lasts } if reached(at) => bus.borrow_mut().down_until = now + lasts,
            Fault::ControllerKilled { at } if reached(at) => kills = true,
            Fault::AskedToEnd { agent, at } if reached(at) => agents[agent].ends_at = now,
            _ => {}
        }
    }
    kills
}

fn command_sender(agent: usize, orders: &Rc<RefCell<Vec<(usize, AgentCommand)>>>) -> Box<dyn Fn(AgentCommand)> {
    let orders = Rc::clone(orders);
    Box::new(move |command| orders.borrow_mut().push((agent, command)))
}
