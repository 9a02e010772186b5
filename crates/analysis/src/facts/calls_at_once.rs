//! The ceiling of the calls that are in progress at once while work waits.
//!
//! While work waits, every free caller makes a call. The calls in progress at an endpoint may then reach the same number every second and never exceed it. That
//! number is a limit of the callers: workers, a connection pool or, if it is one, a lock. With a bottleneck before the callers, the number of calls varies and
//! shows no such ceiling.

use super::called::CalledEndpoint;
use super::readings::most_frequent;
use super::waiting::WaitingStretch;
use crate::statistics::mean_of_batches;

/// Seconds left out at either end of the stretch, where the backlog builds up and drains.
const TRIMMED_S: f64 = 2.0;
/// Seconds that must be left.
const SECONDS_MIN: usize = 10;
/// Share of the seconds that must reach the ceiling.
const AT_CEILING_SHARE_MIN: f64 = 0.80;
/// Share of the seconds that may exceed it.
const ABOVE_CEILING_SHARE_MAX: f64 = 0.02;
/// Share of the ceiling that must be in use on average. Below it, the callers spend their time elsewhere.
const BUSY_SHARE_MIN: f64 = 0.50;
/// Share of the ceiling in use from which the calls take nearly all of the callers' time.
const NEARLY_ALL_BUSY_SHARE_MIN: f64 = 0.80;
/// How many requests of the load must wait, in multiples of the ceiling. With as many open requests as calls, the load itself is the limit.
const WAITING_PER_CALL_MIN: f64 = 1.5;

/// The ceiling of the calls in one endpoint.
#[derive(Debug, Clone)]
pub(crate) struct CallCeiling<'a> {
    /// The stretch in which work waited.
    pub(crate) waiting: WaitingStretch,
    /// The part of it that was examined. Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) endpoint: CalledEndpoint<'a>,
    /// The most calls in progress at once: the ceiling.
    pub(crate) calls_max: f64,
    /// Mean number of calls in progress, and half of its 95 % interval.
    pub(crate) calls: (f64, f64),
    /// Share of the seconds that reached the ceiling.
    pub(crate) at_ceiling: f64,
    /// Mean number of calls in progress at the other endpoints meanwhile. A caller there does not wait for this endpoint.
    pub(crate) calls_elsewhere: f64,
}

/// The ceiling of the endpoint with the busiest callers.
pub(super) fn find<'a>(called: &[CalledEndpoint<'a>], waiting: &[WaitingStretch]) -> Option<CallCeiling<'a>> {
    // Under closed load the number of users is a ceiling by itself.
    let stretches = waiting.iter().filter(|waiting| waiting.closed.is_none());
    let found = stretches.flat_map(|waiting| called.iter().filter_map(|endpoint| of_endpoint(endpoint, called, waiting)));
    found.max_by(|a, b| a.busy().total_cmp(&b.busy()))
}

fn of_endpoint<'a>(endpoint: &CalledEndpoint<'a>, called: &[CalledEndpoint<'a>], waiting: &WaitingStretch) -> Option<CallCeiling<'a>> {
    let (from, to) = (waiting.from + TRIMMED_S, waiting.to - TRIMMED_S);
    let most = endpoint.in_flight_max.as_ref()?;
    let values: Vec<f64> = most.between(from, to).map(|(_, value)| value.round()).collect();
    if values.len() < SECONDS_MIN {
        return None;
    }
    let calls_max = most_frequent(&values);
    let at_ceiling = most.share(from, to, |value| (value - calls_max).abs() < 0.5)?;
    let above = most.share(from, to, |value| value > calls_max + 0.5)?;
    let in_flight: Vec<f64> = endpoint.in_flight.as_ref()?.between(from, to).map(|(_, value)| value).collect();
    let calls = mean_of_batches(&in_flight);
    let is_of_load = waiting.flow.is_none() && waiting.backlog < WAITING_PER_CALL_MIN * calls_max;
    let is_ceiling =
        calls_max >= 1.0 && at_ceiling >= AT_CEILING_SHARE_MIN && above <= ABOVE_CEILING_SHARE_MAX && calls.0 >= BUSY_SHARE_MIN * calls_max;
    (is_ceiling && !is_of_load).then(|| CallCeiling {
        waiting: waiting.clone(),
        from,
        to,
        endpoint: endpoint.clone(),
        calls_max,
        calls,
        at_ceiling,
        calls_elsewhere: elsewhere(endpoint, called, from, to),
    })
}

fn elsewhere(endpoint: &CalledEndpoint<'_>, called: &[CalledEndpoint<'_>], from: f64, to: f64) -> f64 {
    let others = called.iter().filter(|other| other.observer != endpoint.observer);
    others.filter_map(|other| other.in_flight.as_ref()?.mean(from, to)).sum()
}

impl CallCeiling<'_> {
    /// Share of the ceiling in use.
    pub(crate) fn busy(&self) -> f64 {
        self.calls.0 / self.calls_max
    }

    /// Whether the calls take nearly all of the callers' time, so that no processor, disk or database on their side does.
    pub(crate) fn explains_all(&self) -> bool {
        self.busy() >= NEARLY_ALL_BUSY_SHARE_MIN
    }

    /// Mean time that a call took at the endpoint. Seconds.
    pub(crate) fn hold(&self) -> Option<f64> {
        self.hold_between(self.from, self.to)
    }

    /// The same in each half of the stretch.
    pub(crate) fn hold_in_halves(&self) -> Option<(f64, f64)> {
        let middle = f64::midpoint(self.from, self.to);
        Some((self.hold_between(self.from, middle)?, self.hold_between(middle, self.to)?))
    }

    fn hold_between(&self, from: f64, to: f64) -> Option<f64> {
        self.endpoint.hold.as_ref()?.mean(from, to)
    }

    /// Callers needed for the work that arrived, by Little's law: each piece of work takes `calls_max / throughput` of one caller's time. While work waits, no
    /// fewer than there are.
    pub(crate) fn callers_needed(&self) -> f64 {
        self.calls_max * (self.waiting.started / self.waiting.throughput.max(1e-9)).max(1.0)
    }
}
