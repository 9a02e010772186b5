//! The rest of each response comes 40 ms after its beginning: the server sends it in two writes, and the second waits.
//!
//! Nagle's algorithm (RFC 896) holds a small segment back while one is unacknowledged, and the receiver delays an acknowledgement that has nothing to ride
//! on (RFC 1122, 4.2.3.2): on Linux by 40 ms at least. So the delay shows between the first byte and the last, at nearly the same length each time,
//! whatever the load, and in responses that would fit into one segment or a few.
//!
//! *The rest of "List" comes 42.9 ms after its beginning: the server sends a response in two writes, and the second waits for a delayed acknowledgement
//! of the first.*
//!
//! Nagle's algorithm (RFC 896) keeps a small segment back while another is unacknowledged, and the receiver may delay that acknowledgement (RFC 1122), on
//! Linux by 40 ms at least. Made if the time from the first byte to the last is 38 to 50 ms in at least 90 % of a request's responses, 20 or more, within
//! 8 ms of each other (10th to 90th percentile), though they are small (14.6 kB on average at most: ten segments).

use loadstone_metrics::SeriesKind;

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::instant::named;
use crate::{Confidence, SeriesTally};

/// From the first byte to the last. Nanoseconds.
const DELAY_NS: (u64, u64) = (38_000_000, 50_000_000);
/// How far apart the tenth and the ninetieth percentile may be.
const WIDTH_NS: u64 = 8_000_000;
const REQUESTS_MIN: u64 = 20;
/// Bytes of a response, on average, that a first flight of segments carries (ten of them, RFC 6928).
const BYTES_MAX: u64 = 14_600;

pub(super) const RULE: Rule = Rule {
    ids: &["delayed-acknowledgement"],
    title: "The rest of a response waits 40 ms",
    says: "the end of a response waits for a delayed acknowledgement",
    needs: &[],
    settings: &["nodelay"],
    precedence: 170,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let is_delayed = |series: &&SeriesTally| {
        let (merged, body) = (&series.merged, &series.merged.phases.body);
        let quantile = |part| body.quantile(part).unwrap_or(0);
        let is_in = |value: u64| (DELAY_NS.0..=DELAY_NS.1).contains(&value);
        merged.count >= REQUESTS_MIN
            && body.count() * 10 >= merged.count * 9
            && is_in(quantile(0.1))
            && is_in(quantile(0.5))
            && quantile(0.9) - quantile(0.1) <= WIDTH_NS
            && merged.bytes_received <= BYTES_MAX * merged.count
    };
    let delayed: Vec<&SeriesTally> = facts.tally.of_kind(SeriesKind::Request).filter(is_delayed).collect();
    let first = delayed.iter().max_by_key(|series| series.merged.count)?;
    let names: Vec<&str> = delayed.iter().map(|series| &*series.merged.key.name).collect();
    let of = |part| first.merged.phases.body.quantile(part).unwrap_or(0) as f64 / 1e9;
    let claim = format!(
        "The rest of {} comes {} after its beginning: the server sends a response in two writes, and the second waits for a delayed acknowledgement \
         of the first",
        named(&names),
        loadstone_units::seconds(of(0.5))
    );
    let bytes = first.merged.bytes_received / first.merged.count.max(1);
    Some(
        RankedFinding::new(Standing::Fault, "delayed-acknowledgement", Subject::requests(names.iter().copied()), Confidence::High, claim)
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
                "A slow network or a response that takes long to make",
                format!("neither takes nearly the same time for {} of them", loadstone_units::count(first.merged.count)),
            ))
            .try_next("Write a response in one piece, or turn Nagle's algorithm off on the server's sockets (TCP_NODELAY)."),
    )
}
