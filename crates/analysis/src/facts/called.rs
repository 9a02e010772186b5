//! Endpoints that the system calls, as the called side measured them: the stubs of the test, which simulate these endpoints.

use std::collections::BTreeSet;

use loadstone_metrics::{Role, stub_observer};

use super::readings::SignalReadings;
use super::signals::{ObservedPart, ObservedSignals};

/// Roles of signals that only the called side can measure.
const ROLES: [Role; 7] = [
    Role::Calls,
    Role::CallsInFlight,
    Role::CallsInFlightMax,
    Role::CallHold,
    Role::CallsAnswered,
    Role::CallsRejected,
    Role::CallsFaulted,
];

/// An endpoint that the system calls. Signals that it did not record are `None`.
#[derive(Debug, Clone)]
pub(crate) struct CalledEndpoint<'a> {
    pub(crate) name: &'a str,
    pub(crate) observer: &'a str,
    /// Calls per second.
    pub(crate) calls: Option<SignalReadings<'a>>,
    /// Calls in progress, the mean of each second.
    pub(crate) in_flight: Option<SignalReadings<'a>>,
    /// The most calls in progress at once in each second.
    pub(crate) in_flight_max: Option<SignalReadings<'a>>,
    /// Mean time that a call took there. Seconds.
    pub(crate) hold: Option<SignalReadings<'a>>,
    /// Calls per second that it answered.
    pub(crate) answered: Option<SignalReadings<'a>>,
    /// Calls per second that its limit rejected.
    pub(crate) rejected: Option<SignalReadings<'a>>,
}

/// In alphabetical order.
pub(super) fn find<'a>(signals: &ObservedSignals<'a>) -> Vec<CalledEndpoint<'a>> {
    let parts: BTreeSet<ObservedPart<'_>> = ROLES.into_iter().flat_map(|role| signals.parts_with(role)).collect();
    let endpoint = |part: ObservedPart<'a>| CalledEndpoint {
        name: stub_observer::stub_of(part.observer),
        observer: part.observer,
        calls: signals.read(part, Role::Calls),
        in_flight: signals.read(part, Role::CallsInFlight),
        in_flight_max: signals.read(part, Role::CallsInFlightMax),
        hold: signals.read(part, Role::CallHold),
        answered: signals.read(part, Role::CallsAnswered),
        rejected: signals.read(part, Role::CallsRejected),
    };
    parts.into_iter().map(endpoint).collect()
}
