//! CPU time of a JVM's threads between two dumps.

use std::collections::HashMap;

use crate::stacks::functions::FunctionSamples;
use crate::stacks::position::Position;

/// Threads that computed throughout and used less of a core than this had to wait for one.
const GOT_A_CORE: f64 = 0.7;

/// The threads' CPU times at the previous dump.
#[derive(Debug, Default)]
pub(super) struct ThreadTimes {
    before: HashMap<String, SeenThread>,
    now: HashMap<String, SeenThread>,
    begun_ns: Option<u64>,
    /// Seconds since the previous dump; 0 at the first.
    since: f64,
    /// Positions of the threads that compute in this dump, with the seconds that each represents.
    computing: Vec<(Position, f64)>,
    /// CPU time since the previous dump of all threads with a stack, and of those that also computed then, with their number.
    used: f64,
    all_along: (f64, u32),
}

/// A thread in a dump.
#[derive(Debug, Clone, Copy, Default)]
struct SeenThread {
    /// CPU time since it began, seconds.
    cpu: f64,
    computed: bool,
}

/// A thread's CPU time since the previous dump.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ThreadUse {
    /// CPU time, seconds.
    pub(super) used: f64,
    /// Whether it also computed in the previous dump.
    computed: bool,
}

impl ThreadTimes {
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.since = self.begun_ns.replace(now_ns).map_or(0.0, |before| now_ns.saturating_sub(before) as f64 / 1e9);
    }

    /// Reads the text after a thread's name: `#23 daemon prio=5 cpu=12.30ms tid=0x00007f`. `None` for a thread that was not in the previous dump, or if the
    /// dump has no CPU times.
    pub(super) fn used(&mut self, facts: &str) -> Option<ThreadUse> {
        let cpu: f64 = fact(facts, "cpu")?.strip_suffix("ms")?.parse::<f64>().ok()? / 1e3;
        let thread = fact(facts, "tid")?;
        self.now.insert(thread.to_owned(), SeenThread { cpu, computed: false });
        let before = self.before.get(thread)?;
        Some(ThreadUse { used: (cpu - before.cpu).max(0.0), computed: before.computed })
    }

    /// A thread with a stack, and where it computes, if it does.
    pub(super) fn add(&mut self, facts: &str, since: Option<ThreadUse>, computes: Option<Position>) {
        self.used += since.map_or(0.0, |of| of.used);
        let Some(thread) = fact(facts, "tid").and_then(|thread| self.now.get_mut(thread)) else { return };
        let Some(position) = computes else { return };
        thread.computed = true;
        let seconds = match since {
            Some(ThreadUse { used, computed: true }) => {
                self.all_along = (self.all_along.0 + used, self.all_along.1 + 1);
                used
            }
            _ => self.since,
        };
        self.computing.push((position, seconds));
    }

    /// Adds the dump. A computing thread represents the time since the previous dump, or its own CPU time if it also computed then. If those threads had to
    /// wait for a core, all threads together represent the CPU time of all. Adds nothing at the first dump, or if dumps have no CPU times.
    pub(super) fn end(&mut self, functions: &mut FunctionSamples) {
        self.before = std::mem::take(&mut self.now);
        let (computing, used) = (std::mem::take(&mut self.computing), std::mem::take(&mut self.used));
        let (used_all_along, all_along) = std::mem::take(&mut self.all_along);
        if self.since <= 0.0 || self.before.is_empty() {
            return;
        }
        functions.looked(self.since);
        let seen: f64 = computing.iter().map(|(_, seconds)| seconds).sum();
        let waited = used_all_along < GOT_A_CORE * f64::from(all_along) * self.since;
        let scale = if waited && seen > used { used / seen } else { 1.0 };
        computing.into_iter().for_each(|(position, seconds)| functions.add(position, scale * seconds));
    }

    /// Discards the state from before a gap.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

fn fact<'a>(facts: &'a str, name: &str) -> Option<&'a str> {
    facts.split_whitespace().find_map(|fact| fact.strip_prefix(name)?.strip_prefix('='))
}
