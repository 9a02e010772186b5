//! The rest of each response arrives 40 ms after its first byte: the server sends it in two writes, and the second waits for an acknowledgement.
//!
//! Nagle's algorithm ([RFC 896](https://www.rfc-editor.org/rfc/rfc896)) holds back a small segment while another is unacknowledged. The receiver delays an
//! acknowledgement that it cannot send with data ([RFC 1122](https://www.rfc-editor.org/rfc/rfc1122), 4.2.3.2), on Linux by at least 40 ms. The delay
//! therefore appears between the first byte and the last, has nearly the same length each time, and does not depend on the load.
//!
//! | condition | limit |
//! |---|---|
//! | responses of the request | {REQUESTS_MIN} or more |
//! | time from the first byte to the last (10th percentile and median) | {DELAY_RANGE_NS.0:ms} to {DELAY_RANGE_NS.1:ms} |
//! | responses with such a time | 90 % or more |
//! | 10th to 90th percentile | {DELAY_WIDTH_MAX_NS:ms} apart at most |
//! | mean response size | {BYTES_MAX:kB} at most: ten segments, the first flight ([RFC 6928](https://www.rfc-editor.org/rfc/rfc6928)) |
//!
//! A slow network or a slowly generated response is ruled out, since neither takes nearly the same time for every response.

use loadstone_metrics::SeriesKind;

use crate::facts::Facts;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::named;
use crate::{Confidence, SeriesTally};

/// Time from the first byte to the last, at least and at most. Nanoseconds.
const DELAY_RANGE_NS: (u64, u64) = (38_000_000, 50_000_000);
/// How far apart the 10th and the 90th percentile may be. Nanoseconds.
const DELAY_WIDTH_MAX_NS: u64 = 8_000_000;
const REQUESTS_MIN: u64 = 20;
/// Mean bytes of a response that the first flight of ten segments carries (RFC 6928).
const BYTES_MAX: u64 = 14_600;

pub(super) const RULE: Rule = Rule {
    ids: &["delayed-acknowledgement"],
    page: "delayed-acknowledgement",
    title: "The rest of a response waits 40 ms",
    says: "the end of a response waits for a delayed acknowledgement",
    example: Example {
        run: "examples/delayed-acknowledgement",
        claim: "The rest of \"List\" arrives 41.9 ms after its first byte: the server sends a response in two writes, and the second waits for a \
                delayed acknowledgement of the first",
    },
    needs: &[],
    settings: &["nodelay"],
    precedence: 170,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let is_delayed = |series: &&SeriesTally| {
        let (merged, body) = (&series.merged, &series.merged.phases.body);
        let quantile = |part| body.quantile(part).unwrap_or(0);
        let is_in = |value: u64| (DELAY_RANGE_NS.0..=DELAY_RANGE_NS.1).contains(&value);
        merged.count >= REQUESTS_MIN
            && body.count() * 10 >= merged.count * 9
            && is_in(quantile(0.1))
            && is_in(quantile(0.5))
            && quantile(0.9) - quantile(0.1) <= DELAY_WIDTH_MAX_NS
            && merged.bytes_received <= BYTES_MAX * merged.count
    };
    let delayed: Vec<&SeriesTally> = facts.tally.of_kind(SeriesKind::Request).filter(is_delayed).collect();
    let first = delayed.iter().max_by_key(|series| series.merged.count)?;
    let names: Vec<&str> = delayed.iter().map(|series| &*series.merged.key.name).collect();
    let of = |part| first.merged.phases.body.quantile(part).unwrap_or(0) as f64 / 1e9;
    let claim = format!(
        "The rest of {} arrives {} after its first byte: the server sends a response in two writes, and the second waits for a delayed acknowledgement \
         of the first",
        named(&names),
        loadstone_units::seconds(of(0.5))
    );
    let bytes = first.merged.bytes_received / first.merged.count.max(1);
    Some(
        RankedFinding::new(Standing::Fault, "delayed-acknowledgement", Subject::requests(names.iter().copied()), Confidence::High, claim)
            .with(Quantity::seconds("delay", of(0.5)))
            .rests_on(
                format!(
                    "\"{}\": from the first byte to the last, {} to {} (10th to 90th percentile) for {} on average",
                    first.merged.key.name,
                    loadstone_units::seconds(of(0.1)),
                    loadstone_units::seconds(of(0.9)),
                    loadstone_units::bytes(bytes)
                ),
                vec!["phases/body".to_owned(), "response/p50".to_owned()],
                (0.0, facts.tally.duration_seconds()),
            )
            .weigh(Alternative::ruled_out(
                "A slow network, or a response that the server generates slowly",
                format!("neither would take nearly the same time for {} responses", loadstone_units::count(first.merged.count)),
            ))
            .try_next("Write the response in one piece, or disable Nagle's algorithm on the server's sockets (TCP_NODELAY)."),
    )
}
