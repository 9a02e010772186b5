//! Cores that are not always busy, though requests wait for them already: the observed wait, compared with the one that queueing theory expects at that
//! utilisation.

use super::added_requests;
use super::demand::{self, CPU_BOUND_SHARE_MIN};
use super::load_response::LoadResponse;
use super::plateau::expected_waiting;
use super::readings::SignalReadings;

/// Part of the cores in use from which a queue for them is reported. A request at a single core then takes 1/(1 − 0.65), about three times as long as alone.
const BUSY_PART_MIN: f64 = 0.65;
/// Requests whose times must grow.
const GROWN_REQUESTS_MIN: usize = 2;
/// And their share of all requests: most requests need a core.
const GROWN_REQUESTS_SHARE_MIN: f64 = 0.5;
/// Factor over the expected wait up to which the observed wait is one for cores. Varying service times, requests in groups and several processes make it
/// longer. A far longer wait is for something else.
const EXPECTED_WAIT_FACTOR_MAX: f64 = 3.0;

/// The stretch of high load in which requests waited about as long as expected for cores of that utilisation. `None`: they waited longer, or the cores were
/// not busy enough.
pub(super) fn find(responses: &[LoadResponse], used: &SignalReadings<'_>, cores: f64) -> Option<(f64, f64)> {
    // Means, since such a queue builds up and drains again and again.
    let grown: Vec<&LoadResponse> = responses.iter().filter(|response| response.is_slower_on_average()).collect();
    if grown.len() < GROWN_REQUESTS_MIN || (grown.len() as f64) < GROWN_REQUESTS_SHARE_MIN * responses.len() as f64 {
        return None;
    }
    let high = grown.first()?.high?;
    let span = (high.from, high.to);
    let busy = used.mean(span.0, span.1)?;
    let is_cpu_bound = demand::share_of_service(responses, busy, span).is_some_and(|share| share >= CPU_BOUND_SHARE_MIN);
    let is_busy = busy >= BUSY_PART_MIN * cores && busy < cores;
    (is_busy && is_cpu_bound && added_requests::between(responses, span) <= EXPECTED_WAIT_FACTOR_MAX * expected_waiting(busy, cores))
        .then_some(span)
}

#[cfg(test)]
mod tests {
    use super::expected_waiting;

    /// Before one server, ρ² / (1 − ρ) wait (M/M/1); before two, 2ρ³ / (1 − ρ²).
    #[test]
    fn the_expected_queue_is_that_of_queues_with_a_closed_form() {
        for utilisation in [0.7_f64, 0.8, 0.9] {
            let one = utilisation.powi(2) / (1.0 - utilisation);
            assert!((expected_waiting(utilisation, 1.0) / one - 1.0).abs() < 1e-9);
            let two = 2.0 * utilisation.powi(3) / (1.0 - utilisation.powi(2));
            assert!((expected_waiting(2.0 * utilisation, 2.0) / two - 1.0).abs() < 0.05, "{utilisation}");
        }
    }
}
