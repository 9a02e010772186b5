//! Response bytes that arrive no faster, however many are requested: the network link, a proxy or a bandwidth limit is saturated.
//!
//! The rule reports one of two cases. In both, at least {BODY_PART_MIN:%} of the added time lies between the first byte of a response and its last.
//!
//! | case | limits |
//! |---|---|
//! | throughput stopped, as under [`effective-concurrency`](effective-concurrency.md) | {BYTES_PER_SECOND_MIN:kB}/s or more, the same in both halves |
//! | a request became slower, and throughput still follows the load | {load_response::SLOWER_FACTOR_MIN} times the time; more than {INITIAL_WINDOW_BYTES:kB} |
//!
//! The second case covers users who wait together and then pause together, so that the link is idle in between. Its confidence is medium. One round trip
//! carries ten segments ([RFC 6928](https://www.rfc-editor.org/rfc/rfc6928)).
//!
//! The first case has high confidence if all alternatives are ruled out: the CPU, the load generator's reading, and other parts of the network path.
//! `observe.host` reads the speed of the links. From {SATURATED_PART_MIN:%} of its speed on, a link rules out the other parts.
//!
//! Without a saturated link that was observed, the rule cannot distinguish a link, a proxy, a bandwidth limit and a server that generates the body slowly.

use crate::Evidence;
use crate::evidence::examined;
use crate::facts::Facts;
use crate::facts::bandwidth::ByteFlow;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, QuantityUnit, Subject};
use crate::instant::named;
use crate::{Confidence, ResourceKind};

/// Part of a link's speed from which it is saturated.
const SATURATED_PART_MIN: f64 = 0.85;

pub(super) const RULE: Rule = Rule {
    ids: &["bandwidth"],
    page: "bandwidth",
    title: "The network path is saturated",
    says: "response bytes arrive no faster, however many are requested",
    example: Example {
        run: "corpus/chain.large-bodies.gross.ramp.nothing.1",
        claim: "The response of \"List\" arrives more slowly under load: its 103 kB take 11.9 s instead of 176 ms, so a network link, a proxy or a \
                bandwidth limit delays them",
    },
    needs: &[],
    settings: &["bandwidth", "limit"],
    precedence: 60,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let saturated = facts.saturated_link.as_ref()?;
    let span = (saturated.from, saturated.to);
    let names: Vec<&str> = saturated.names.iter().map(String::as_str).collect();
    let (body, first_byte) = (saturated.body, saturated.first_byte);
    let (claim, confidence, quantities) = match saturated.flow {
        ByteFlow::Stopped(rate) => {
            let claim = format!(
                "The response bytes of {} arrive at {}/s however many are requested: the network link is saturated, or a proxy or a bandwidth limit \
                 delays them",
                named(&names),
                loadstone_units::bytes(rate as u64)
            );
            (claim, Confidence::High, vec![Quantity::new("received", rate, QuantityUnit::BytesPerSecond)])
        }
        ByteFlow::Slower(bytes) => {
            let claim = format!(
                "The response of {} arrives more slowly under load: its {} take {} instead of {}, so a network link, a proxy or a bandwidth limit \
                 delays them",
                named(&names),
                loadstone_units::bytes(bytes as u64),
                loadstone_units::seconds(body.1),
                loadstone_units::seconds(body.0)
            );
            let size = Quantity::new("response_size", bytes, QuantityUnit::Bytes);
            (claim, Confidence::Medium, vec![size, Quantity::seconds("body", body.1), Quantity::seconds("body_before", body.0)])
        }
    };
    let found = RankedFinding::new(Standing::Cause, "bandwidth", Subject::requests(names.iter().copied()), confidence, claim);
    let found = quantities.into_iter().fold(found, RankedFinding::with).rests_on_drawn(slower_body(
        &names,
        body,
        format!(
            "the body took {} instead of {}, and the first byte {} instead of {}",
            loadstone_units::seconds(body.1),
            loadstone_units::seconds(body.0),
            loadstone_units::seconds(first_byte.1),
            loadstone_units::seconds(first_byte.0)
        ),
        span,
    ));
    let link = link(facts, span);
    let found = match &link {
        Some((name, used, speed, series)) => found.rests_on(
            format!("the link of {name} carried {}/s of {}/s", loadstone_units::bytes(*used as u64), loadstone_units::bytes(*speed as u64)),
            vec![series.clone()],
            span,
        ),
        None => found,
    };
    let read_late = facts.generator.lateness(span).read;
    let late = format!("responses were read {} late on average", loadstone_units::seconds(read_late));
    const READER: &str = "The load generator, which reads too slowly";
    let is_ours = read_late >= (body.1 - body.0) / 10.0 || facts.generator.grade() > crate::Grade::Valid;
    let reader = if is_ours { Alternative::not_ruled_out(READER, late) } else { Alternative::ruled_out(READER, late) };
    let elsewhere = match link {
        Some((name, used, speed, _)) if used >= SATURATED_PART_MIN * speed => {
            Alternative::ruled_out("Another part of the network path", format!("the link of {name} was saturated"))
        }
        _ => Alternative::not_ruled_out(
            "A particular link, a proxy, or a server that generates the body slowly",
            format!("no observed link was saturated ({} reads the speed of links)", facts.terms().named(&["host"])),
        ),
    };
    Some(found.weigh(examined::cpu(facts, span.0, span.1)).weigh(reader).weigh(elsewhere).try_next(
        "Send fewer bytes (compression, smaller pages, a cache near the client), or increase the bandwidth. Run again with the load generator on \
         another link to find out which link limits.",
    ))
}

/// The busiest observed link: its name, bytes per second, speed in bytes per second, and its series.
fn link(facts: &Facts<'_>, (from, to): (f64, f64)) -> Option<(String, f64, f64, String)> {
    let used = facts.path.of_kind(ResourceKind::Network).filter_map(|link| {
        let (readings, speed) = (link.used.as_ref()?, link.places(from, to)?);
        Some((link.part.part.to_owned(), readings.mean(from, to)?, speed, readings.name()))
    });
    used.max_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)))
}

/// The time that the bodies of these responses take. With several names the numbers are those of the first.
fn slower_body(names: &[&str], body: (f64, f64), text: String, span: (f64, f64)) -> Evidence {
    let evidence =
        Evidence::new(text, vec!["phases/body".to_owned(), "bytes/received".to_owned()], span).of_requests(names.iter().copied());
    if names.len() > 1 {
        return evidence;
    }
    evidence.level("phases/body", "before", body.0, (0.0, span.0)).level("phases/body", "under load", body.1, span)
}
