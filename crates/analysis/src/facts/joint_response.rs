//! Requests that wait for the same resource, examined as one. Each of them may be too rare to show where its throughput stops, while all together show it.

use super::load_blocks::{LoadBlock, LoadStretch, is_high, is_low, max_load};
use super::load_response::LoadResponse;

/// Requests under low load, and under high load, that show how long one takes.
const REQUESTS_MIN: u64 = 6;
/// Part of the longest growth from which a request waits with the others. In one queue all requests wait about as long.
const WAIT_PART_MIN: f64 = 0.25;
/// Standard errors by which times must have grown.
const GROWTH_ERRORS_MIN: f64 = 3.0;

/// Requests that grew together, and the response of all of them to the load.
pub(super) struct JointResponse<'r> {
    /// Each with its stretch of low load.
    pub(super) members: Vec<(&'r LoadResponse, LoadStretch)>,
    pub(super) response: LoadResponse,
}

/// For each scenario, the requests that take longer at high load, if there are at least two.
pub(super) fn find(responses: &[LoadResponse]) -> Vec<JointResponse<'_>> {
    let mut scenarios: Vec<&str> = responses.iter().map(|response| response.scenario.as_str()).collect();
    scenarios.sort_unstable();
    scenarios.dedup();
    scenarios.into_iter().filter_map(|scenario| of_scenario(responses, scenario)).collect()
}

fn of_scenario<'r>(responses: &'r [LoadResponse], scenario: &str) -> Option<JointResponse<'r>> {
    let grown = responses.iter().filter(|response| response.scenario == scenario).filter_map(growth);
    let grown: Vec<(&LoadResponse, LoadStretch, f64)> = grown.collect();
    let most = grown.iter().map(|(_, _, growth)| *growth).fold(0.0, f64::max);
    let members = grown.into_iter().filter(|(_, _, growth)| *growth >= WAIT_PART_MIN * most);
    let members: Vec<(&LoadResponse, LoadStretch)> = members.map(|(response, low, _)| (response, low)).collect();
    let response = if members.len() < 2 { None } else { joined(&members) }?;
    Some(JointResponse { members, response })
}

/// Its stretch of low load, and how much longer it takes at high load. Seconds; `None` where it takes no longer.
fn growth(response: &LoadResponse) -> Option<(&LoadResponse, LoadStretch, f64)> {
    let max = max_load(&response.blocks);
    let of = |holds: &dyn Fn(f64) -> bool| {
        let blocks: Vec<&LoadBlock> = response.blocks.iter().filter(|block| holds(block.load) && block.count > 0).collect();
        LoadStretch::of(&blocks).filter(|part| part.count >= REQUESTS_MIN)
    };
    let low = response.low.or_else(|| of(&|load| is_low(load, max)))?;
    let high = of(&|load| is_high(load, max))?;
    let error = |part: &LoadStretch| part.service_deviation / (part.count as f64).sqrt();
    let growth = high.service - low.service;
    (growth > GROWTH_ERRORS_MIN * error(&low).hypot(error(&high))).then_some((response, low, growth))
}

/// Their counts, added up. Each request's own time under low load is replaced by the mean of all, so that only the wait varies, whichever of them happened to
/// arrive.
fn joined(members: &[(&LoadResponse, LoadStretch)]) -> Option<LoadResponse> {
    let (first, _) = members.first()?;
    let count = |response: &LoadResponse| response.count as f64;
    let all: f64 = members.iter().map(|(response, _)| count(response)).sum();
    let usual = members.iter().map(|(response, low)| count(response) * low.service).sum::<f64>() / all.max(1.0);
    let mut blocks: Vec<LoadBlock> =
        first.blocks.iter().map(|block| LoadBlock { count: 0, failed: 0, service_sum: 0.0, service_squares: 0.0, ..*block }).collect();
    for (response, low) in members {
        let by = usual - low.service;
        // The blocks of all requests of a scenario begin and end at the same instants.
        for (sum, block) in blocks.iter_mut().zip(&response.blocks) {
            sum.count += block.count;
            sum.failed += block.failed;
            sum.service_sum += block.service_sum + by * block.count as f64;
            sum.service_squares += block.service_squares + by * (2.0 * block.service_sum + by * block.count as f64);
        }
    }
    Some(LoadResponse::of_blocks(first, blocks))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forty blocks of two seconds.
    fn response(name: &str, count: impl Fn(usize) -> u64, service: impl Fn(usize) -> f64) -> LoadResponse {
        let block = |index: usize| {
            let (count, service) = (count(index), service(index));
            LoadBlock {
                from: 2.0 * index as f64,
                to: 2.0 * index as f64 + 2.0,
                load: index as f64 + 1.0,
                count,
                failed: 0,
                service_sum: count as f64 * service,
                service_squares: count as f64 * service * service,
            }
        };
        LoadResponse::from_seconds("Shop".to_owned(), name.to_owned(), true, 0.0, (0..41).map(block).collect())
    }

    #[test]
    fn requests_that_wait_equally_long_are_joined_and_stable_ones_are_not() {
        let wait = |index: usize| if index < 20 { 0.0 } else { 0.02 * (index - 20) as f64 };
        let responses = [
            response("Often", |_| 10, |index| 0.002 + wait(index)),
            response("Seldom", |index| u64::from(index % 2 == 0), |index| 0.4 + wait(index)),
            response("Elsewhere", |_| 10, |_| 0.003),
        ];
        let found = find(&responses);
        assert_eq!(found.len(), 1);
        let names: Vec<&str> = found[0].members.iter().map(|(response, _)| response.name.as_str()).collect();
        assert_eq!(names, ["Often", "Seldom"]);
        let blocks = &found[0].response.blocks;
        // The mean under low load is the same in each block, whichever requests arrived in it.
        let mean = |index: usize| blocks[index].service_sum / blocks[index].count as f64;
        assert!((mean(0) - mean(1)).abs() < 1e-9 && (mean(39) - mean(0) - wait(40)).abs() < 1e-9, "{} {} {}", mean(0), mean(1), mean(39));
    }
}
