//! The part of a scenario's load that belongs to a segment.

use loadstone_plan::{ClosedStage, IterationSplit, LoadProfile, OpenStage};

use super::segment::{Segment, Stripe};
use super::{K6Scenario, OptionError};

impl K6Scenario {
    /// Reduces the load to a segment's part.
    pub(crate) fn limit_to(&mut self, segment: &Segment) -> Result<(), OptionError> {
        let whole = segment.stripe();
        let vus = match &self.run.profile {
            LoadProfile::Iterations { users, split: IterationSplit::Shared, .. } => Some(*users),
            LoadProfile::Open { .. } => self.run.users_max,
            _ => None,
        };
        let stripe = match vus {
            Some(vus) => segment.stripe_for(vus)?,
            None => Some(whole.clone()),
        };
        self.run.users_max = self.run.users_max.map(|users| whole.count(users));
        self.users_prepared = whole.count(self.users_prepared);
        self.has_work = match &stripe {
            Some(stripe) => limit(&mut self.run.profile, whole, stripe, &mut self.first_arrival_ns),
            None => false,
        };
        self.run.start_after_ns += self.first_arrival_ns;
        if !self.has_work {
            self.notes.push(format!("scenario {} has no work in this execution segment", self.name));
        }
        self.stripe = stripe;
        Ok(())
    }
}

/// Returns whether anything is left.
fn limit(profile: &mut LoadProfile, whole: &Stripe, stripe: &Stripe, first_arrival_ns: &mut u64) -> bool {
    match profile {
        LoadProfile::Iterations { users, count, split, .. } => {
            *users = whole.count(*users);
            if *split == IterationSplit::Shared {
                *count = stripe.count(*count);
            }
            *users > 0 && *count > 0
        }
        LoadProfile::Closed { stages } => {
            for ClosedStage { from, to, .. } in stages.iter_mut() {
                (*from, *to) = (whole.count(*from), whole.count(*to));
            }
            stages.iter().any(|stage| stage.from > 0 || stage.to > 0)
        }
        LoadProfile::Open { stages } => {
            // Of a constant rate, the segment's first arrival is due at its own time, so that the arrivals of all instances alternate.
            if let [OpenStage::Rate { from, to, duration_ns, .. }] = &mut stages[..]
                && from == to
            {
                *first_arrival_ns = (stripe.positions[0] as f64 / *from * 1e9) as u64;
                *duration_ns = duration_ns.saturating_sub(*first_arrival_ns);
            }
            for stage in stages.iter_mut() {
                if let OpenStage::Rate { from, to, .. } = stage {
                    (*from, *to) = (*from * stripe.share(), *to * stripe.share());
                }
            }
            stages.iter().map(OpenStage::arrivals).sum::<f64>() > 0.0
        }
        LoadProfile::Recorded { .. } => true,
    }
}
