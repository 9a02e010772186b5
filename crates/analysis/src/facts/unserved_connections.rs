//! New connections on which no request was answered, while requests on older connections were.
//!
//! The kernel completes a connection before the server accepts it, so a client sends its request and waits. A server that holds a worker for each open
//! connection (prefork, a thread per connection) serves only as many connections at a time as it has workers. Kept-alive connections then starve all others.

use loadstone_metrics::{SeriesKind, Snapshot};
use loadstone_run_directory::Run;

use super::unanswered::Unanswered;

/// Connections that were opened meanwhile.
const OPENED_MIN: u64 = 10;
/// Requests of the same names on older connections that were answered in each half of that time. A resource that leaks is answered less and less.
const ANSWERED_MIN: u64 = 10;
/// Seconds that it must have lasted.
const LENGTH_MIN_S: f64 = 5.0;

/// Instants are seconds since the run began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnservedConnections {
    /// The longest stretch of the load in which no first request of a connection was answered, from the first connection opened in it.
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) opened: u64,
    /// Requests of the same names on older connections that were answered.
    pub(crate) answered: u64,
    /// Connections on which a request was answered before.
    pub(crate) served: u64,
}

pub(super) fn find(run: &Run, unanswered: &[Unanswered]) -> Option<UnservedConnections> {
    unanswered.first()?;
    // After the load, requests that are given up leave their workers to others.
    let is_loaded = |slice: &&Snapshot| slice.leaves.iter().any(|leaf| leaf.arrivals_due + leaf.users_asked > 0);
    let slices: Vec<&Snapshot> = run.slices.iter().filter(is_loaded).collect();
    // A server that closes a connection after so many requests takes another one then.
    let gaps = slices.chunk_by(|one, next| first_answers(one) == 0 && first_answers(next) == 0);
    let gap = gaps.filter(|gap| first_answers(gap[0]) == 0).max_by_key(|gap| gap.len())?;
    let after = &gap[gap.iter().position(|slice| opened(slice) > 0)?..];
    let (from, to) = (after.first()?.start as f64 / 1e9, after.last()?.end as f64 / 1e9);
    let opened = after.iter().map(|slice| opened(slice)).sum();
    let answers = |slice: &&Snapshot| answers(slice, unanswered);
    let (first, second) = after.split_at(after.len() / 2);
    let (first, second) = (first.iter().map(answers).sum::<u64>(), second.iter().map(answers).sum::<u64>());
    let before = slices.iter().take_while(|slice| slice.start < after[0].start);
    let served: u64 = before.map(|slice| first_answers(slice)).sum();
    let is_starving = served > 0 && opened >= OPENED_MIN && first.min(second) >= ANSWERED_MIN && to - from >= LENGTH_MIN_S;
    is_starving.then_some(UnservedConnections { from, to, opened, answered: first + second, served })
}

/// Answered requests of a second that opened their connection. A request that failed may have opened one, too.
fn first_answers(slice: &Snapshot) -> u64 {
    let requests = slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request);
    requests.map(|series| series.phases.connect.count().saturating_sub(series.failed)).sum()
}

fn opened(slice: &Snapshot) -> u64 {
    slice.generator.iter().map(|worker| worker.connections_opened).sum()
}

/// Answered requests of these names.
fn answers(slice: &Snapshot, of: &[Unanswered]) -> u64 {
    let is_one = |name: &str| of.iter().any(|unanswered| unanswered.name == name);
    let requests = slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request && is_one(&series.key.name));
    requests.map(|series| series.count.saturating_sub(series.failed)).sum()
}
