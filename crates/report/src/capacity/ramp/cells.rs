//! Formats the parts of a ramp that all renderers share.

use loadstone_analysis::{CapacityInterval, Grade, RampEstimate, ResourceCeiling, Summary, UnknownCeiling};

/// Maximum number of resources in a sentence.
const CEILINGS_MAX: usize = 3;

/// The highest throughput, the validity and the limit, each with its title.
pub(super) fn facts(estimate: &RampEstimate, summary: &Summary) -> Vec<(&'static str, String)> {
    let findings = &summary.verdict.findings;
    let limit = findings.findings.first().map_or(&findings.remark.text, |finding| &finding.claim);
    let next = findings.findings.iter().find_map(|finding| finding.next_limit.as_ref());
    let mut lines = vec![("sustained", format!("{}, for a fifth of the load", loadstone_units::rate(estimate.seen)))];
    lines.extend(bad_validity(summary).map(|why| ("measurement", why)));
    if let Some(users) = estimate.retrograde_from {
        lines.push(("falls", format!("beyond {} requests in the system", loadstone_units::number(users))));
    }
    lines.push(("limited by", limit.clone()));
    lines.extend(next.map(|next| ("then", next.clone())));
    lines
}

/// Where the resources would be saturated, the next limit, and the resources whose limit is unknown.
pub(super) fn resources(estimate: &RampEstimate) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(first) = estimate.ceilings.first() {
        lines.push(("full first", ceiling(first)));
        lines.extend(estimate.ceilings.iter().skip(1).take(CEILINGS_MAX - 1).map(|next| ("next", ceiling(next))));
    }
    lines.extend(estimate.what_if.as_ref().map(|what_if| ("what if", what_if.remark.clone())));
    lines.extend(estimate.unknown_ceilings.iter().map(|of| ("unknown", unknown(of))));
    lines
}

/// `SUSPECT: waiting for a core: …`; `None` if it is valid.
fn bad_validity(summary: &Summary) -> Option<String> {
    let validity = &summary.verdict.validity;
    let word = match validity.grade {
        Grade::Valid => return None,
        Grade::Suspect => "SUSPECT",
        Grade::Invalid => "INVALID",
    };
    let worst = validity.checks.iter().find(|check| check.grade == Some(validity.grade));
    Some(worst.map_or_else(|| word.to_owned(), |check| format!("{word}: {}: {}", check.title, check.evidence)))
}

/// `the 2 cores of "shop" at about 475/s (470/s to 482/s)`.
fn ceiling(of: &ResourceCeiling) -> String {
    format!("{} at about {}", of.what, interval(of.throughput_max))
}

/// `475/s (470/s to 482/s)`.
pub(super) fn interval(CapacityInterval { value, low, high }: CapacityInterval) -> String {
    format!("{} ({} to {})", loadstone_units::rate(value), loadstone_units::rate(low), loadstone_units::rate(high))
}

/// `the disk sda: it was read in 3 of 40 segments`.
fn unknown(of: &UnknownCeiling) -> String {
    format!("{}: {}", of.what, of.why)
}
