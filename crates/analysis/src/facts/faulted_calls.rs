//! Calls of the system that failed at the called side: the endpoint, and how many.

use loadstone_metrics::{Role, stub_observer};

use super::signals::ObservedSignals;

pub(crate) struct FaultedCalls<'a> {
    /// The stub's name.
    pub(crate) endpoint: &'a str,
    pub(crate) signal: String,
    pub(crate) count: u64,
}

/// For each endpoint with such calls.
pub(super) fn find<'a>(signals: &ObservedSignals<'a>) -> Vec<FaultedCalls<'a>> {
    let found = signals.parts_with(Role::CallsFaulted).filter_map(|part| {
        let readings = signals.read(part, Role::CallsFaulted)?;
        // There is one reading per second, so the rates add up to the number.
        let count = readings.between(0.0, f64::INFINITY).map(|(_, value)| value).filter(|value| value.is_finite()).sum::<f64>();
        let endpoint = stub_observer::stub_of(part.observer);
        (count >= 1.0).then(|| FaultedCalls { endpoint, signal: readings.name(), count: count.round() as u64 })
    });
    found.collect()
}
