//! A bus on which every packet is signed by its sender, and each side decides whose packets it accepts.
//!
//! A packet is the sender's public key, its signature, and the signed bytes. The header in these bytes names the run and the agent, so a packet cannot
//! be redirected.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use loadstone_metrics::Nanos;

use crate::agent::SILENCE_MAX_NS;
use crate::bus::Bus;
use crate::keys::{FleetKey, PUBLIC_KEY_BYTES, PublicFleetKey, SIGNATURE_BYTES};
use crate::packet::{Header, PacketKind};
use crate::subjects::Outgoing;

/// Precedes the signed bytes, so that a signature for another purpose is not valid here.
const PURPOSE: &[u8] = b"loadstone fleet packet\0";
/// Refused packets that are read before other work has its turn.
const REFUSED_PER_TURN_MAX: u32 = 256;
/// Senders that a controller remembers. The agents of a larger fleet are not accepted.
const SENDERS_MAX: usize = 100_000;

/// Signs what is published, and delivers only packets that the guard accepts.
///
/// It owns the bus, so that nothing is published unsigned.
pub(crate) struct SignedBus<B, G> {
    bus: B,
    key: FleetKey,
    guard: G,
    now: fn() -> Nanos,
}

/// Decides whose packets are accepted.
pub(crate) trait Guard {
    /// The signature is valid.
    fn accepts(&mut self, header: &Header, sender: &PublicFleetKey, now: Nanos) -> bool;
}

impl<B: Bus, G: Guard> SignedBus<B, G> {
    /// `now`: this machine's CLOCK_MONOTONIC.
    pub(crate) fn new(bus: B, key: FleetKey, guard: G, now: fn() -> Nanos) -> Self {
        Self { bus, key, guard, now }
    }

    pub(crate) fn bus(&self) -> &B {
        &self.bus
    }
}

impl<B: Bus, G: Guard> Bus for SignedBus<B, G> {
    fn publish(&mut self, packet: Outgoing) {
        self.bus.publish(Outgoing { bytes: signed(&self.key, &packet.bytes), ..packet });
    }

    /// Packets that are not accepted end the wait early, and many of them the turn.
    fn take(&mut self, mut wait: Duration) -> Option<Vec<u8>> {
        for _ in 0..REFUSED_PER_TURN_MAX {
            let packet = self.bus.take(wait)?;
            if let Some(bytes) = accepted(&packet, &mut self.guard, (self.now)()) {
                return Some(bytes.to_vec());
            }
            wait = Duration::ZERO;
        }
        None
    }
}

fn signed(key: &FleetKey, bytes: &[u8]) -> Vec<u8> {
    let signature = key.sign(&[PURPOSE, bytes].concat());
    [key.public().bytes(), &signature, bytes].concat()
}

/// The signed bytes of a packet that the guard accepts.
fn accepted<'p>(packet: &'p [u8], guard: &mut impl Guard, now: Nanos) -> Option<&'p [u8]> {
    let (sender, bytes) = verified(packet)?;
    guard.accepts(&Header::decode(bytes)?, &sender, now).then_some(bytes)
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn is_verified(packet: &[u8]) -> bool {
    verified(packet).is_some()
}

/// The sender and the signed bytes, if the signature is valid.
fn verified(packet: &[u8]) -> Option<(PublicFleetKey, &[u8])> {
    let (key, rest) = packet.split_at_checked(PUBLIC_KEY_BYTES)?;
    let (signature, bytes) = rest.split_at_checked(SIGNATURE_BYTES)?;
    let key = PublicFleetKey::of_bytes(key)?;
    key.has_signed(&[PURPOSE, bytes].concat(), signature).then_some((key, bytes))
}

/// An agent accepts the controllers with these keys, and each run of them once. Without keys, it accepts every controller.
#[derive(Debug, Default)]
pub(crate) struct AgentGuard {
    controllers: Vec<PublicFleetKey>,
    /// The claimed run, and when its controller last sent something.
    current: Option<(String, Nanos)>,
    /// Recorded packets of these runs could repeat their load.
    past: HashSet<String>,
}

impl AgentGuard {
    pub(crate) fn new(controllers: Vec<PublicFleetKey>) -> Self {
        Self { controllers, ..Self::default() }
    }

    fn is_repeated(&mut self, header: &Header, now: Nanos) -> bool {
        let is_current = self.current.as_ref().is_some_and(|(run, heard)| *run == header.run && now <= heard + SILENCE_MAX_NS);
        if header.kind == PacketKind::Claim && !is_current {
            self.past.extend(self.current.take().map(|(run, _)| run));
            if self.past.contains(&header.run) {
                return true;
            }
            self.current = Some((header.run.clone(), now));
        }
        if let Some((run, heard)) = &mut self.current
            && *run == header.run
        {
            *heard = now;
            if matches!(header.kind, PacketKind::Bye { .. }) {
                self.past.extend(self.current.take().map(|(run, _)| run));
            }
        }
        false
    }
}

impl Guard for AgentGuard {
    fn accepts(&mut self, header: &Header, sender: &PublicFleetKey, now: Nanos) -> bool {
        self.controllers.is_empty() || self.controllers.contains(sender) && !self.is_repeated(header, now)
    }
}

/// A controller accepts an agent's packets only from the sender that announced the agent.
#[derive(Debug, Default)]
pub(crate) struct ControllerGuard {
    agents: HashMap<String, PublicFleetKey>,
}

impl Guard for ControllerGuard {
    fn accepts(&mut self, header: &Header, sender: &PublicFleetKey, _now: Nanos) -> bool {
        match self.agents.get(&header.agent) {
            Some(known) => known == sender,
            None if matches!(header.kind, PacketKind::Announce(_)) && self.agents.len() < SENDERS_MAX => {
                self.agents.insert(header.agent.clone(), *sender);
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::AgentFacts;
    use crate::packet::version;

    fn sent(key: &FleetKey, run: &str, kind: PacketKind) -> Vec<u8> {
        let header = Header { version: version(), run: run.to_owned(), agent: "a".to_owned(), kind };
        signed(key, &header.encode())
    }

    fn arrives(packet: &[u8], guard: &mut impl Guard, now: Nanos) -> bool {
        accepted(packet, guard, now).is_some()
    }

    fn bye() -> PacketKind {
        PacketKind::Bye { why: String::new() }
    }

    #[test]
    fn an_agent_obeys_only_the_controller_whose_key_it_was_given() {
        let (controller, attacker) = (FleetKey::generate().unwrap(), FleetKey::generate().unwrap());
        let mut guard = AgentGuard::new(vec![controller.public()]);
        assert!(!arrives(&sent(&attacker, "r", PacketKind::Claim), &mut guard, 0));
        assert!(arrives(&sent(&controller, "r", PacketKind::Claim), &mut guard, 0));
        assert!(!arrives(&sent(&attacker, "r", bye()), &mut guard, 0));
        let mut changed = sent(&controller, "r", bye());
        *changed.last_mut().unwrap() ^= 1;
        assert!(!arrives(&changed, &mut guard, 0));
        assert!(!arrives(b"loadstone", &mut guard, 0) && !arrives(b"", &mut guard, 0));
        assert!(arrives(&sent(&attacker, "r", PacketKind::Claim), &mut AgentGuard::default(), 0), "without keys, all are accepted");
    }

    #[test]
    fn a_recorded_run_does_not_begin_again() {
        let controller = FleetKey::generate().unwrap();
        let mut guard = AgentGuard::new(vec![controller.public()]);
        let mut arrives = |run: &str, kind, now| arrives(&sent(&controller, run, kind), &mut guard, now);
        assert!(arrives("one", PacketKind::Claim, 0) && arrives("one", PacketKind::Claim, 1), "a claim is resent until it is answered");
        assert!(arrives("one", bye(), 2) && !arrives("one", PacketKind::Claim, 3));
        assert!(arrives("two", PacketKind::Claim, 4) && arrives("three", PacketKind::Claim, 5) && !arrives("two", PacketKind::Claim, 6));
        assert!(!arrives("three", PacketKind::Claim, 6 + SILENCE_MAX_NS), "its controller was killed");
    }

    #[test]
    fn nobody_speaks_for_another_agent() {
        let (agent, attacker) = (FleetKey::generate().unwrap(), FleetKey::generate().unwrap());
        let mut guard = ControllerGuard::default();
        assert!(!arrives(&sent(&attacker, "r", bye()), &mut guard, 0), "it was not announced");
        assert!(arrives(&sent(&agent, "", PacketKind::Announce(AgentFacts::default())), &mut guard, 0));
        assert!(!arrives(&sent(&attacker, "", PacketKind::Announce(AgentFacts::default())), &mut guard, 0));
        assert!(!arrives(&sent(&attacker, "r", bye()), &mut guard, 0));
        assert!(arrives(&sent(&agent, "r", bye()), &mut guard, 0));
    }
}
