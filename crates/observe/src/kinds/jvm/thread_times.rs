//! CPU time of a JVM's threads between two dumps.

use std::collections::HashMap;

/// What the threads had used at the dump before.
#[derive(Debug, Default)]
pub(super) struct ThreadTimes {
    before: HashMap<String, SeenThread>,
    now: HashMap<String, SeenThread>,
    begun_ns: Option<u64>,
    /// Seconds since the dump before; 0 at the first.
    since: f64,
}

/// A thread in a dump.
#[derive(Debug, Clone, Copy, Default)]
struct SeenThread {
    /// CPU time since it began, seconds.
    cpu: f64,
    computed: bool,
}

/// What a thread has done since the dump before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ThreadUse {
    /// CPU time, seconds.
    pub(super) used: f64,
    /// Whether it computed then, too.
    computed: bool,
}

impl ThreadTimes {
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.since = self.begun_ns.replace(now_ns).map_or(0.0, |before| now_ns.saturating_sub(before) as f64 / 1e9);
    }

    /// Of a thread by what stands behind its name: `#23 daemon prio=5 cpu=12.30ms tid=0x00007f`. `None` of one that was not in the dump before, or where
    /// the dump does not say.
    pub(super) fn used(&mut self, facts: &str) -> Option<ThreadUse> {
        let cpu: f64 = fact(facts, "cpu")?.strip_suffix("ms")?.parse::<f64>().ok()? / 1e3;
        let thread = fact(facts, "tid")?;
        self.now.insert(thread.to_owned(), SeenThread { cpu, computed: false });
        let before = self.before.get(thread)?;
        Some(ThreadUse { used: (cpu - before.cpu).max(0.0), computed: before.computed })
    }

    /// Seconds that a thread stands for that can compute at this dump: the time since the one before. Where it could then, too, it may have waited for a
    /// core in between, and stands for what it has used. `None` where the dump has no CPU times.
    pub(super) fn computes(&mut self, facts: &str, since: Option<ThreadUse>) -> Option<f64> {
        self.now.get_mut(fact(facts, "tid")?)?.computed = true;
        Some(match since {
            Some(ThreadUse { used, computed: true }) => used,
            _ => self.since,
        })
    }

    /// Seconds that were looked at; `None` at the first dump, and where dumps have no CPU times.
    pub(super) fn end(&mut self) -> Option<f64> {
        self.before = std::mem::take(&mut self.now);
        (self.since > 0.0 && !self.before.is_empty()).then_some(self.since)
    }

    /// Forgets what was before a gap.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

fn fact<'a>(facts: &'a str, name: &str) -> Option<&'a str> {
    facts.split_whitespace().find_map(|fact| fact.strip_prefix(name)?.strip_prefix('='))
}
