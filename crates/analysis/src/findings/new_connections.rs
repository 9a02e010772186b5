//! The target closes connections after a response or two, so that opening new ones takes much of the requests' time.
//!
//! A new user opens one connection, or a few if it sends several requests at once. If many more are opened per iteration, the target closed the earlier ones.
//! A handshake costs CPU time; with RSA keys, the target pays most of it.
//!
//! The rule reports this if all of these hold:
//!
//! - at least {OPENED_MIN} connections were opened
//! - at least {EACH_REQUEST_MIN} connections were opened per request that ended
//! - at least {EACH_ITERATION_MIN} connections were opened per iteration that began
//! - connecting took {CONNECTING_PART_MIN:%} of the requests' time while a resource was used up or work waited, or {CONNECTING_PART_ALONE_MIN:%} otherwise
//!
//! The first case is a cause with high confidence; the second is a fault with medium confidence. While a resource is used up, connecting that takes less than
//! {CONNECTING_PART_ALONE_MIN:%} of the time may be part of what uses it, and ranks last. The rule cannot see whether the target or a proxy in front of it
//! closed the connections.

use loadstone_metrics::{SeriesKind, Snapshot};

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};

/// Connections opened per request and per iteration from which the target must have closed some.
const EACH_REQUEST_MIN: f64 = 0.5;
const EACH_ITERATION_MIN: f64 = 2.0;
const OPENED_MIN: u64 = 50;
/// Part of the requests' time that connecting takes, with a resource used up or work waiting, and without.
const CONNECTING_PART_MIN: f64 = 0.1;
const CONNECTING_PART_ALONE_MIN: f64 = 0.4;

pub(super) const RULE: Rule = Rule {
    ids: &["new-connections"],
    page: "new-connections",
    title: "The target closes its connections",
    says: "the target closes connections after few responses, and opening new ones takes the time",
    example: Example {
        run: "corpus/node.accept-backlog.gross.ramp.nothing.1",
        claim: "The target closes its connections: 1.1 were opened per request, and connecting took 74.3 % of the time of all requests",
    },
    needs: &[],
    settings: &["keepalive", "connection"],
    precedence: 260,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let slices = &facts.run.slices;
    let sum = |of: fn(&Snapshot) -> u64| slices.iter().map(of).sum::<u64>();
    let opened = sum(|slice| slice.generator.iter().map(|worker| worker.connections_opened).sum());
    // Iterations that never ended opened connections, too.
    let iterations = sum(|slice| slice.leaves.iter().map(|leaf| leaf.started).sum());
    let requests = sum(|slice| of_requests(slice).map(|series| series.count).sum());
    let (each_request, each_iteration) = (opened as f64 / requests.max(1) as f64, opened as f64 / iterations.max(1) as f64);
    if opened < OPENED_MIN || each_request < EACH_REQUEST_MIN || each_iteration < EACH_ITERATION_MIN {
        return None;
    }
    let seconds = |of: fn(&loadstone_metrics::SeriesSlice) -> u128| slices.iter().flat_map(of_requests).map(of).sum::<u128>() as f64 / 1e9;
    let tls = seconds(|series| series.phases.tls.sum());
    let connecting = tls + seconds(|series| series.phases.connect.sum());
    let all = seconds(|series| series.service.sum());
    let is_used_up = facts.used_up().next().is_some();
    let is_short_of_something = is_used_up || !facts.plateaus.limited.is_empty() || !facts.waiting.is_empty();
    let part = connecting / all.max(1e-9);
    if part < if is_short_of_something { CONNECTING_PART_MIN } else { CONNECTING_PART_ALONE_MIN } {
        return None;
    }
    let (standing, confidence) = match is_short_of_something {
        true if is_used_up && part < CONNECTING_PART_ALONE_MIN => (Standing::Habit, Confidence::Medium),
        true => (Standing::Cause, Confidence::High),
        false => (Standing::Fault, Confidence::Medium),
    };
    let (what, phase, in_phase) = match tls > connecting / 2.0 {
        true => ("TLS handshakes", "phases/tls", tls),
        false => ("connecting", "phases/connect", connecting - tls),
    };
    let each = in_phase / requests.max(1) as f64;
    let claim = format!(
        "The target closes its connections: {each_request:.1} were opened per request, and {what} took {} of the time of all requests",
        loadstone_units::share(part)
    );
    let whole = (0.0, facts.tally.duration_seconds());
    let new_users = Alternative::ruled_out(
        "New users, who open one connection each",
        format!("{} connections were opened for {} iterations that began", loadstone_units::count(opened), loadstone_units::count(iterations)),
    );
    Some(
        RankedFinding::new(standing, "new-connections", Subject::Whole, confidence, claim)
            .with(Quantity::count("connections_per_request", each_request))
            .with(Quantity::share("connecting_share", part))
            .rests_on(
                format!(
                    "{} connections for {} requests; connecting took {} of {}; {what} took {} per request on average",
                    loadstone_units::count(opened),
                    loadstone_units::count(requests),
                    loadstone_units::seconds(connecting),
                    loadstone_units::seconds(all),
                    loadstone_units::seconds(each)
                ),
                vec!["phases/connect".to_owned(), "phases/tls".to_owned()],
                whole,
            )
            .at_level(phase, "on average", each)
            .weigh(new_users)
            .try_next(
                "Keep connections open (keep-alive) on the target and on any proxy in front of it. Resume TLS sessions, or use an ECDSA key.",
            ),
    )
}

fn of_requests(slice: &Snapshot) -> impl Iterator<Item = &loadstone_metrics::SeriesSlice> {
    slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request)
}
