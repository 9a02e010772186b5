//! Collects the seconds that agents have kept of a run whose controller was killed.
//!
//! Read [`Collector`]: plain state, like controllers and agents. [`collect`] runs it on the real bus.

use std::collections::BTreeMap;
use std::time::Duration;

use loadstone_metrics::{AgentSlice, Nanos, Snapshot};

use crate::bus::{BusError, Participant, exchange};
use crate::controller::{add_part, parts_by_label};
use crate::facts::AgentFacts;
use crate::keys::FleetKey;
use crate::lead::{TURN_WAIT_MAX, now};
use crate::link::ReliableLink;
use crate::message::ToController;
use crate::nats::{NatsBus, NatsServer};
use crate::packet::{Header, PacketKind, version};
use crate::signed_bus::{ControllerGuard, SignedBus};
use crate::subjects::{self, Outgoing};

/// Interval at which a silent agent is asked again.
const ASK_INTERVAL_NS: Nanos = 1_000_000_000;

/// Collects the remaining seconds of one run.
#[derive(Debug)]
pub struct Collector {
    run: String,
    /// The agents of the run, in their order.
    agents: Vec<AgentFacts>,
    /// By agent: the run already contains its seconds before this one.
    received: BTreeMap<u32, u32>,
    sources: BTreeMap<String, KeptSource>,
    outgoing: Vec<Outgoing>,
}

/// An agent that has kept seconds.
#[derive(Debug, Default)]
struct KeptSource {
    link: ReliableLink,
    agent: Option<u32>,
    asked: Option<Nanos>,
    seconds: Vec<Snapshot>,
    is_done: bool,
}

/// The collected seconds.
#[derive(Debug, Default)]
pub struct CollectedSeconds {
    /// Numbers of the agents that had kept seconds and sent all of them.
    pub agents: Vec<u32>,
    /// Merged and in order. All of them follow the seconds that the run has.
    pub seconds: Vec<Snapshot>,
}

/// Why nothing can be collected.
#[derive(Debug, thiserror::Error)]
pub enum KeptSecondsError {
    #[error(transparent)]
    Bus(#[from] BusError),
}

impl Collector {
    /// `received`: by agent, how many of its first seconds the run has. See [`AgentSlice::seconds_received`].
    pub fn new(run: String, agents: Vec<AgentFacts>, received: BTreeMap<u32, u32>) -> Self {
        Self { run, agents, received, sources: BTreeMap::new(), outgoing: Vec::new() }
    }

    pub fn subjects(&self) -> [String; 2] {
        [subjects::ANNOUNCE.to_owned(), subjects::run(&self.run)]
    }

    /// Number of agents that have sent everything.
    pub fn done(&self) -> usize {
        self.sources.values().filter(|source| source.is_done).count()
    }

    /// Whether agents are still sending.
    pub fn is_busy(&self) -> bool {
        self.sources.values().any(|source| !source.is_done)
    }

    pub fn receive(&mut self, bytes: &[u8], _now: Nanos) {
        let Some(Header { version: theirs, run, agent, kind }) = Header::decode(bytes) else { return };
        match kind {
            PacketKind::Announce(facts) if facts.keeps.as_ref() == Some(&self.run) && theirs == version() => {
                self.sources.entry(agent).or_default();
            }
            PacketKind::Part(part) if run == self.run => {
                let Some(source) = self.sources.get_mut(&agent) else { return };
                for message in source.link.receive(part).iter().filter_map(|message| ToController::unpack(message)) {
                    match message {
                        ToController::Kept { agent } => source.agent = Some(agent),
                        ToController::Snapshot(second, _) => source.seconds.push(*second),
                        ToController::Done => source.is_done = true,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    pub fn tick(&mut self, now: Nanos) {
        for (agent, source) in &mut self.sources {
            let mut kinds: Vec<PacketKind> = source.link.due(now).into_iter().map(PacketKind::Part).collect();
            if source.agent.is_none() && source.asked.is_none_or(|asked| now > asked + ASK_INTERVAL_NS) {
                source.asked = Some(now);
                kinds.push(PacketKind::Collect);
            }
            for kind in kinds {
                let header = Header { version: version(), run: self.run.clone(), agent: agent.clone(), kind };
                self.outgoing.push(Outgoing { subject: subjects::agent(agent), bytes: header.encode() });
            }
        }
    }

    pub fn take_outgoing(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.outgoing)
    }

    /// Merges the seconds that the run does not have yet. `next`: the number of the run's first missing second. Parts of earlier seconds are counted
    /// there.
    pub fn finish(self, next: u32) -> CollectedSeconds {
        let mut collected = CollectedSeconds::default();
        let mut merged: BTreeMap<u32, Snapshot> = BTreeMap::new();
        for source in self.sources.into_values().filter(|source| source.is_done) {
            let Some(agent) = source.agent.filter(|agent| (*agent as usize) < self.agents.len()) else { continue };
            collected.agents.push(agent);
            let (received, tags) = (self.received.get(&agent).copied().unwrap_or(0), parts_by_label(&self.agents, agent as usize));
            for mut second in source.seconds.into_iter().filter(|second| second.slice >= received) {
                second.agents.push(AgentSlice { agent, seconds_received: second.slice.saturating_add(1), ..AgentSlice::default() });
                tags.iter().for_each(|tags| add_part(&mut second, tags));
                let number = second.slice.max(next);
                let late = second.slice < number;
                match merged.get_mut(&number) {
                    Some(whole) if late => whole.merge(Snapshot { start: whole.start, end: whole.end, slice: number, ..second }),
                    Some(whole) => whole.merge(second),
                    None if late => {
                        let (start, length) = (second.end, second.end - second.start);
                        merged.insert(number, Snapshot { slice: number, start, end: start + length, ..second });
                    }
                    None => _ = merged.insert(number, second),
                }
            }
        }
        collected.agents.sort_unstable();
        collected.seconds = merged.into_values().collect();
        collected.seconds.iter_mut().for_each(Snapshot::pack);
        collected
    }
}

impl Participant for Collector {
    fn receive(&mut self, packet: &[u8], now: Nanos) {
        Collector::receive(self, packet, now);
    }

    fn tick(&mut self, now: Nanos) {
        Collector::tick(self, now);
    }

    fn take_outgoing(&mut self) -> Vec<Outgoing> {
        Collector::take_outgoing(self)
    }
}

/// Collects from the agents at a server until `wanted` of them have sent everything, or no further agent has begun for this long.
///
/// # Errors
/// [`KeptSecondsError`]: the server cannot be reached.
pub fn collect(
    server: &NatsServer,
    key: FleetKey,
    mut collector: Collector,
    wanted: usize,
    wait: Duration,
    next: u32,
) -> Result<CollectedSeconds, KeptSecondsError> {
    let bus = NatsBus::connect(server, collector.subjects().to_vec())?;
    let mut bus = SignedBus::new(bus, key, ControllerGuard::default(), now);
    let mut deadline = now() + wait.as_nanos() as Nanos;
    while collector.done() < wanted && now() < deadline {
        exchange(&mut collector, &mut bus, TURN_WAIT_MAX, now);
        if collector.is_busy() {
            deadline = deadline.max(now() + wait.as_nanos() as Nanos / 2);
        }
    }
    // The agents must learn that the last part was received.
    exchange(&mut collector, &mut bus, Duration::ZERO, now);
    Ok(collector.finish(next))
}
