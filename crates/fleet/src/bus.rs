//! The transport between controllers and agents, independent of its implementation.

use std::time::Duration;

use loadstone_metrics::Nanos;

use crate::agent::Agent;
use crate::controller::Controller;
use crate::subjects::Outgoing;

/// Delivers packets to all subscribers of a subject. It may lose, duplicate, delay and reorder them.
pub trait Bus {
    fn publish(&mut self, packet: Outgoing);

    /// The next packet that has arrived. Waits at most this long.
    fn take(&mut self, wait: Duration) -> Option<Vec<u8>>;
}

/// The bus cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    #[error("{address}: cannot connect to the NATS server: {problem}: is it running, and is the address right?")]
    Connect { address: String, problem: String },
    /// No server responded at the address.
    #[error("{address}: cannot connect to the NATS server: {problem}: is it running, and is the address right?")]
    Absent { address: String, problem: String },
    #[error("cannot start the thread of the connection to NATS: {0}")]
    Thread(#[from] std::io::Error),
}

/// A participant on a bus.
pub trait Participant {
    fn receive(&mut self, packet: &[u8], now: Nanos);
    fn tick(&mut self, now: Nanos);
    fn take_outgoing(&mut self) -> Vec<Outgoing>;
}

/// Limit on the packets handled before other work has its turn.
const PACKETS_PER_TURN_MAX: u32 = 256;

/// Handles the packets that have arrived, advances time, and publishes the resulting packets. `now`: this machine's CLOCK_MONOTONIC, or virtual time.
pub fn exchange(participant: &mut impl Participant, bus: &mut impl Bus, wait: Duration, now: impl Fn() -> Nanos) {
    let mut packet = bus.take(wait);
    for _ in 0..PACKETS_PER_TURN_MAX {
        let Some(taken) = packet else { break };
        participant.receive(&taken, now());
        packet = bus.take(Duration::ZERO);
    }
    participant.tick(now());
    participant.take_outgoing().into_iter().for_each(|packet| bus.publish(packet));
}

impl Participant for Agent {
    fn receive(&mut self, packet: &[u8], now: Nanos) {
        Agent::receive(self, packet, now);
    }

    fn tick(&mut self, now: Nanos) {
        Agent::tick(self, now);
    }

    fn take_outgoing(&mut self) -> Vec<Outgoing> {
        Agent::take_outgoing(self)
    }
}

impl Participant for Controller {
    fn receive(&mut self, packet: &[u8], now: Nanos) {
        Controller::receive(self, packet, now);
    }

    fn tick(&mut self, now: Nanos) {
        Controller::tick(self, now);
    }

    fn take_outgoing(&mut self) -> Vec<Outgoing> {
        Controller::take_outgoing(self)
    }
}
