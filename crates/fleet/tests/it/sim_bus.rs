//! A bus on virtual time. It loses, duplicates, delays and reorders packets according to its seed, and is cut by scheduled faults.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use loadstone_fleet::{Bus, Outgoing};
use loadstone_metrics::Nanos;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub(crate) const MS: Nanos = 1_000_000;

/// What the bus does to packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weather {
    /// Per thousand.
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    /// In addition to the shortest delay.
    pub(crate) delay_max: Nanos,
}

impl Weather {
    pub(crate) const FAIR: Weather = Weather { lost: 0, doubled: 0, delay_max: 0 };
}

/// The network that connects all ports.
pub(crate) struct SimBus {
    pub(crate) now: Nanos,
    weather: Weather,
    random: Xoshiro256PlusPlus,
    ports: Vec<SimPortState>,
    /// No packet arrives until then: the server is away.
    pub(crate) down_until: Nanos,
}

struct SimPortState {
    subjects: Vec<String>,
    inbox: Vec<(Nanos, Vec<u8>)>,
    cut_until: Nanos,
}

impl SimBus {
    pub(crate) fn new(seed: u64, weather: Weather) -> Rc<RefCell<Self>> {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Rc::new(RefCell::new(Self { now: 1_000 * MS, weather, random, ports: Vec::new(), down_until: 0 }))
    }

    /// True with this probability, per thousand.
    fn happens(&mut self, of_thousand: u64) -> bool {
        self.random.next_u64() % 1_000 < of_thousand
    }

    fn send(&mut self, from: usize, packet: &Outgoing) {
        if self.now < self.down_until || self.now < self.ports[from].cut_until {
            return;
        }
        for to in 0..self.ports.len() {
            if !self.ports[to].subjects.contains(&packet.subject) || self.now < self.ports[to].cut_until {
                continue;
            }
            let copies = if self.happens(self.weather.lost) { 0 } else { 1 + u64::from(self.happens(self.weather.doubled)) };
            for _ in 0..copies {
                let due = self.now + MS + self.random.next_u64() % (self.weather.delay_max + 1);
                self.ports[to].inbox.push((due, packet.bytes.clone()));
            }
        }
    }
}

/// One participant's port.
pub(crate) struct SimPort {
    bus: Rc<RefCell<SimBus>>,
    number: usize,
}

impl SimPort {
    pub(crate) fn new(bus: &Rc<RefCell<SimBus>>, subjects: Vec<String>) -> Self {
        let mut all = bus.borrow_mut();
        all.ports.push(SimPortState { subjects, inbox: Vec::new(), cut_until: 0 });
        Self { number: all.ports.len() - 1, bus: Rc::clone(bus) }
    }

    /// Isolates the participant until then.
    pub(crate) fn cut(&self, until: Nanos) {
        self.bus.borrow_mut().ports[self.number].cut_until = until;
    }
}

impl Bus for SimPort {
    fn publish(&mut self, packet: Outgoing) {
        self.bus.borrow_mut().send(self.number, &packet);
    }

    fn take(&mut self, _wait: Duration) -> Option<Vec<u8>> {
        let mut bus = self.bus.borrow_mut();
        let now = bus.now;
        let inbox = &mut bus.ports[self.number].inbox;
        // The first that is due, in the order of arrival: a later packet may overtake.
        let next = inbox.iter().enumerate().filter(|(_, (due, _))| *due <= now).min_by_key(|(_, (due, _))| *due)?.0;
        Some(inbox.remove(next).1)
    }
}
