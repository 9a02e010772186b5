//! Bytes that come no faster however many are asked for: a link, a proxy or a limit on bytes.
//!
//! *The bytes of "Catalogue" come at 11.8 MB/s however many are asked for: the way back is full, a link, a proxy or a limit on bytes.*
//!
//! Made if throughput stopped as under [`effective-concurrency`](effective-concurrency.md), 60 % of the added time lies between the first byte of a
//! response and its last, and the bytes per second, counted as they are read, are level (10 %), 100 kB/s or more. A link is named where `observe.host`
//! knows its speed and it carried 90 % of that for five seconds while work was held up.
//!
//! *"List" slows down under load while its bytes come: its 104 kB take 682 ms instead of 52.6 ms, so they wait on the way back, at a link, a proxy or a
//! limit on bytes.* Users who were held up together pause together, so that the way is empty meanwhile and throughput still follows their number. Then
//! this is said, with medium confidence, of a request that takes 1.5 times as long under high load on average, with 60 % of the added time after its
//! first byte, and with more bytes than one round trip carries (14.6 kB, [RFC 6928](https://www.rfc-editor.org/rfc/rfc6928)).
//!
//! *Alternatives:* a body that is made slowly, ruled out by a link that is full; a CPU at its limit; the generator's own reading.

use crate::finding::Alternative;
use crate::evidence::examined;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::bandwidth::ByteFlow;
use crate::instant::named;
use crate::{Confidence, ResourceKind};

/// Part of a link's speed from which it is full.
const FULL: f64 = 0.85;

pub(super) const RULE: Rule = Rule {
    ids: &["bandwidth"],
    title: "The network path is saturated",
    says: "response bytes arrive no faster, however many are requested",
    needs: &[],
    settings: &["bandwidth", "limit"],
    precedence: 60,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let way = facts.saturated_link.as_ref()?;
    let span = (way.from, way.to);
    let names: Vec<&str> = way.names.iter().map(String::as_str).collect();
    let (low, high) = (way.body, way.first_byte);
    let (claim, confidence) = match way.flow {
        ByteFlow::Stopped(rate) => {
            let rate = format!("{}/s", loadstone_units::bytes(rate as u64));
            let claim = format!(
                "The bytes of {} come at {rate} however many are asked for: the way back is full, a link, a proxy or a limit on bytes",
                named(&names)
            );
            (claim, Confidence::High)
        }
        ByteFlow::Slower(bytes) => {
            let claim = format!(
                "{} slows down under load while its bytes come: its {} take {} instead of {}, so they wait on the way back, at a link, a proxy or a limit \
                 on bytes",
                named(&names),
                loadstone_units::bytes(bytes as u64),
                loadstone_units::seconds(low.1),
                loadstone_units::seconds(low.0)
            );
            (claim, Confidence::Medium)
        }
    };
    let found = RankedFinding::new(Standing::Cause, "bandwidth", Subject::requests(names.iter().copied()), confidence, claim).rests_on(
        format!(
            "a response took {} from its first byte to its last instead of {}, and {} to the first instead of {}",
            loadstone_units::seconds(low.1),
            loadstone_units::seconds(low.0),
            loadstone_units::seconds(high.1),
            loadstone_units::seconds(high.0)
        ),
        vec!["phases/body".to_owned(), "rate/received".to_owned()],
        span,
    );
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
    let is_ours = read_late >= (low.1 - low.0) / 10.0 || facts.generator.grade() > crate::Grade::Valid;
    let reader = if is_ours { Alternative::not_ruled_out(READER, late) } else { Alternative::ruled_out(READER, late) };
    let which = match link {
        Some((name, used, speed, _)) if used >= FULL * speed => {
            Alternative::ruled_out("A way other than that link", format!("{name} was full"))
        }
        _ => Alternative::not_ruled_out(
            "Which part of the way it is, a link, a proxy or a body that is made slowly",
            "no link that was observed is full (observe.host reads its speed)",
        ),
    };
    Some(found.weigh(examined::cpu(facts, way.from, way.to)).weigh(reader).weigh(which).try_next(
        "Send fewer bytes (compression, smaller pages, a cache near the client), or widen the way; run again with the generator on another link to see \
         whose it is.",
    ))
}

/// The observed device that was fullest: its name, bytes per second, what it can carry, and its series.
fn link(facts: &Facts<'_>, (from, to): (f64, f64)) -> Option<(String, f64, f64, String)> {
    let used = facts.path.of_kind(ResourceKind::Network).filter_map(|link| {
        let (readings, speed) = (link.used.as_ref()?, link.places(from, to)?);
        Some((link.part.part.to_owned(), readings.mean(from, to)?, speed, readings.name()))
    });
    used.max_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)))
}
