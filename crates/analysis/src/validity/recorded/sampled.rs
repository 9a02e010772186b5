//! Whether the record has all requests, or a sample of them.

use super::super::check::{CheckInfo, CheckInput};
use crate::{Grade, ValidityCheck};

const INFO: CheckInfo = CheckInfo {
    id: "sampled-record",
    title: "Sampled record",
    limits: "suspect when trace ids or trace states show that the record has only a share of the requests",
};

pub(in super::super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let Some(share) = input.tally.record().and_then(|record| record.sampled_share) else {
        return INFO.nothing("nothing shows that the record is a sample");
    };
    let evidence = format!(
        "the record of {} has about {} of the requests, by their trace ids or trace states: rates, counts and requests in flight are too low by a \
         factor of about {}",
        super::tool(input),
        loadstone_units::share(share),
        loadstone_units::number(1.0 / share.max(f64::MIN_POSITIVE))
    );
    let advice = "Record all requests while you watch (`OTEL_TRACES_SAMPLER=parentbased_always_on` in the services). Until then, do not judge rates, \
                  counts, or the load that the system can take: times and shares are those of the sample.";
    INFO.graded(Grade::Suspect, evidence, advice)
}
