//! Limits the work that one extraction may do. The body is foreign: its size does not limit the time that a selector needs on it.

use std::cell::Cell;

use loadstone_metrics::Nanos;
use loadstone_metrics::clock::{Clock, Monotonic};

use super::ExtractError;
use crate::realm::TURN_NS_MAX;

/// Steps between two readings of the clock. A step is a visited node or a few copied bytes.
const STEPS_PER_READING: usize = 4_096;
/// All values of one extraction together. One text is part of the values of all its ancestors, so values can be larger than the body. Bytes.
const VALUES_BYTES_MAX: usize = 64 << 20;
/// Elements nested deeper are an error. Browsers stop at 512, libxml2 at 256.
pub(super) const NESTING_MAX: usize = 1_000;

/// The work of one extraction so far.
pub(crate) struct Effort {
    clock: Clock,
    limit_ns: Nanos,
    steps_left: Cell<usize>,
    values_bytes: Cell<usize>,
}

impl Effort {
    /// As long as JavaScript may run without yielding.
    pub(crate) fn of_one_turn() -> Self {
        Self::limited_to(TURN_NS_MAX)
    }

    pub(crate) fn limited_to(limit_ns: Nanos) -> Self {
        let clock = Clock::real(Monotonic::start());
        Self { clock, limit_ns, steps_left: Cell::new(STEPS_PER_READING), values_bytes: Cell::new(0) }
    }

    /// Accounts for this many steps.
    pub(crate) fn steps(&self, steps: usize) -> Result<(), ExtractError> {
        match self.steps_left.get().checked_sub(steps) {
            Some(left) => {
                self.steps_left.set(left);
                Ok(())
            }
            None => {
                self.steps_left.set(STEPS_PER_READING);
                self.check_time()
            }
        }
    }

    /// Reads the clock now.
    pub(crate) fn check_time(&self) -> Result<(), ExtractError> {
        if self.clock.now() > self.limit_ns {
            let limit = loadstone_units::duration::format(self.limit_ns);
            return Err(ExtractError::Body(format!("the extraction took longer than {limit} and was ended; a simpler selector may help")));
        }
        Ok(())
    }

    /// Accounts for a value that the extraction returns.
    pub(crate) fn value(&self, bytes: usize) -> Result<(), ExtractError> {
        self.values_bytes.set(self.values_bytes.get().saturating_add(bytes));
        if self.values_bytes.get() > VALUES_BYTES_MAX {
            return Err(ExtractError::Body("the extracted values are larger than 64 MiB together".to_owned()));
        }
        self.steps(1 + bytes / 64)
    }
}

pub(super) fn too_deep() -> ExtractError {
    ExtractError::Body(format!("elements are nested more than {NESTING_MAX} deep"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_values_are_limited() {
        let effort = Effort::limited_to(0);
        assert!(effort.steps(1).is_ok(), "the clock is read after many steps");
        assert!((0..=STEPS_PER_READING).any(|_| effort.steps(1).is_err()));
        assert!(effort.check_time().unwrap_err().to_string().contains("took longer than"));
        let effort = Effort::of_one_turn();
        assert!(effort.value(VALUES_BYTES_MAX).is_ok());
        assert!(effort.value(1).is_err());
    }
}
