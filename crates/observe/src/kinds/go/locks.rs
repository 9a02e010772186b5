//! Lock waits by holder: the mutex profile, where the service enables it (`runtime.SetMutexProfileFraction`).

use std::collections::{BTreeMap, BTreeSet};

use loadstone_metrics::unit;

use super::pprof::Profile;
use crate::collector::{MetricSpec, SignalCollector};
use crate::stacks::position::Position;

/// Distinct lock holders in a run.
const HOLDERS_MAX: usize = 50;

const LOCK_WAIT: MetricSpec<'_> =
    MetricSpec::counter("lock_wait", unit::SECONDS, "Time that goroutines waited for a lock, by the function that released it");

#[derive(Debug, Default)]
pub(super) struct Locks {
    holders: BTreeSet<Position>,
}

impl Locks {
    /// The profile has the stacks of `Unlock`, that is, of the lock's holder.
    pub(super) fn put(&mut self, profile: &Profile, out: &mut SignalCollector) {
        let Some(delay) = profile.value_index("delay") else { return };
        let mut waited = BTreeMap::<Position, f64>::new();
        for stack in profile.stacks() {
            let Some(holder) = Position::of(&stack.frames()) else { continue };
            *waited.entry(holder).or_default() += stack.value(delay) / 1e9;
        }
        for (holder, seconds) in waited {
            if self.holders.contains(&holder) || self.holders.len() < HOLDERS_MAX {
                let labels = [("holder", holder.under.as_str()), ("at", holder.at.as_str())];
                out.put_labelled(LOCK_WAIT, &labels, seconds);
                self.holders.insert(holder);
            }
        }
    }
}
