//! A connection pool that is too small, as a service's own metrics show it.

use super::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;

pub(super) fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let pool = facts.pools.first()?;
    let (size, waiting) = (units::number(pool.size), units::number(pool.waiting));
    let claim = format!("All {size} connections of a pool are in use, and {waiting} operations are waiting for one on average");
    // A busy CPU keeps connections in use for longer, and then the pool is not what to change.
    let confidence = if facts.exhausted.is_some() { Confidence::Low } else { Confidence::High };
    let (name, share) = (&pool.waiting_series, units::share(pool.waiting_share));
    let mut found = RankedFinding::new(Standing::Cause, "connection-pool", confidence, claim).rests_on(
        format!("{name} was {waiting} on average, and 1 or more in {share} of its readings"),
        vec![name.clone()],
        (pool.from, pool.to),
    );
    if let Some((times, series)) = &pool.wait_per_use {
        let text = format!("operations waited for a connection {} times as long as they used it", units::number(*times));
        found = found.rests_on(text, series.clone(), (pool.from, pool.to));
    }
    Some(
        found
            .or("A slow database keeps connections in use just as long. Not ruled out: compare the time they are in use with the time \
             its statements take.")
            .try_next(format!("Give the pool more than {size} connections, or use each for less time, and run again.")),
    )
}
