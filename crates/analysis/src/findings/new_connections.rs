//! Connections that are not kept: far more are opened than there are iterations, each with a handshake of its own.
//!
//! A user that comes anew opens one connection, or a few where it sends several requests at once. Many more for each iteration were closed by the target
//! after a response or two. What a handshake costs the target is CPU time; with RSA keys mostly the target's.
//!
//! *The target closes its connections: 1.0 were opened for each request, and TLS handshakes took 70.6 % of all the time that requests took.*
//!
//! Made if at least half as many connections were opened as requests ended, and two for each iteration that began, and connecting took 10 % of the time
//! of requests while something was used up or waited for, or 40 % of it anyway. A user that comes anew opens one, which is no fault of the target's.

use loadstone_metrics::{SeriesKind, Snapshot};

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};

/// Connections for each request and for each iteration from which they are not kept.
const EACH_REQUEST_MIN: f64 = 0.5;
const EACH_ITERATION_MIN: f64 = 2.0;
const OPENED_MIN: u64 = 50;
/// Part of the requests' time that connecting takes, where something is used up and where nothing is.
const OF_TIME_MIN: f64 = 0.1;
const OF_TIME_ALONE_MIN: f64 = 0.4;

pub(super) const RULE: Rule = Rule {
    ids: &["new-connections"],
    title: "The target closes its connections",
    says: "connections are not kept, and handshakes take the time",
    needs: &[],
    settings: &["keepalive", "connection"],
    precedence: 260,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let slices = &facts.run.slices;
    let sum = |of: fn(&Snapshot) -> u64| slices.iter().map(of).sum::<u64>();
    let opened = sum(|slice| slice.generator.iter().map(|worker| worker.connections_opened).sum());
    // Those that never ended had come anew as well.
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
    let is_short_of_something = facts.used_up().next().is_some() || !facts.plateaus.limited.is_empty() || !facts.waiting.is_empty();
    let part = connecting / all.max(1e-9);
    if part < if is_short_of_something { OF_TIME_MIN } else { OF_TIME_ALONE_MIN } {
        return None;
    }
    let (standing, confidence) = match is_short_of_something {
        true => (Standing::Cause, Confidence::High),
        false => (Standing::Fault, Confidence::Medium),
    };
    let what = if tls > connecting / 2.0 { "TLS handshakes" } else { "connecting" };
    let claim = format!(
        "The target closes its connections: {each_request:.1} were opened for each request, and {what} took {} of all the time that requests took",
        loadstone_units::share(part)
    );
    let whole = (0.0, facts.tally.duration_seconds());
    let kept = Alternative::ruled_out(
        "Users that come anew, with a connection each",
        format!("{} were opened for {} iterations that began", loadstone_units::count(opened), loadstone_units::count(iterations)),
    );
    Some(
        RankedFinding::new(standing, "new-connections", Subject::Whole, confidence, claim)
            .rests_on(
                format!(
                    "{} connections for {} requests; connecting took {} of {}",
                    loadstone_units::count(opened),
                    loadstone_units::count(requests),
                    loadstone_units::seconds(connecting),
                    loadstone_units::seconds(all)
                ),
                vec!["phases/connect".to_owned(), "phases/tls".to_owned()],
                whole,
            )
            .weigh(kept)
            .try_next(
                "Keep connections open (keep-alive) on the target and on what stands before it; resume TLS sessions, or use an ECDSA key.",
            ),
    )
}

fn of_requests(slice: &Snapshot) -> impl Iterator<Item = &loadstone_metrics::SeriesSlice> {
    slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request)
}
