//! A database refuses connections, and requests fail: there are as many as the server, the role or the database allows.
//!
//! The rule needs a database whose connections are observed, and a request of which {connection_limit::FAILED_SHARE_MIN:%} or more failed with an answer of the
//! target or a closed connection. One of these must hold while it fails:
//!
//! | observation | confidence |
//! |---|---|
//! | all connections that PostgreSQL allows a role or a database are in use (`alter role … connection limit`) | high |
//! | the server counts refused connections, {connection_limit::REFUSED_PER_FAILURE_MIN} or more for each failed request (`max_connections` of MySQL) | high |
//! | attempts to connect fail as often (`Aborted_connects` of MySQL), and {connection_limit::REFUSED_FACTOR_MIN} times as often as before | high, medium |
//! | the connections first reach a number within {connection_limit::REACHED_WITHIN_S} s of the first failure, then stay at it, and never exceed it | medium |
//!
//! Attempts to connect also fail for other reasons, such as a wrong password. Their confidence is high only if the number of connections shows the limit. In
//! the last case, the limit may also be a pool of the service that fails instead of waiting.
//!
//! A number of connections that was constant before the failures began is no evidence: pools open all of their connections at the start. Nor is one while
//! failed requests take {failures::WAITED_FACTOR_MIN} times as long as the others: requests that wait for a lock fill a pool, too.

use crate::Confidence;
use crate::Evidence;
use crate::facts::Facts;
use crate::facts::connection_limit::{ConnectionLimit, LimitEvidence};
use crate::facts::failures::Failing;
use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::clock;

pub(super) const RULE: Rule = Rule {
    ids: &["refused-connections"],
    page: "refused-connections",
    title: "A database refuses connections",
    says: "requests fail because a database has as many connections as it allows",
    example: Example {
        run: "examples/refused-connections",
        claim: "\"postgres\" refuses further connections from 0:16 on: it allows the role app 3, all in use, and 27.8 % of \"Show flow\" failed",
    },
    needs: &["postgres", "mysql"],
    settings: &["connection", "pool", "limit"],
    precedence: 5,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let limit = facts.connection_limit.as_ref()?;
    let failing = facts.failing.get(limit.failing)?;
    let (span, number, since) = ((limit.from, limit.to), loadstone_units::number, since(failing));
    let failed = format!("{} of \"{}\" failed", loadstone_units::share(failing.share()), failing.key.name);
    let beyond = limit.number.map_or_else(String::new, |most| format!(" beyond {}", number(most)));
    let database = limit.database;
    let (claim, confidence) = match limit.shown_by {
        LimitEvidence::Stated { of, limit } => (
            format!("\"{database}\" refuses further connections{since}: it allows the {of} {}, all in use, and {failed}", number(limit)),
            Confidence::High,
        ),
        LimitEvidence::Refused { .. } => (format!("\"{database}\" refuses connections{beyond}{since}, and {failed}"), Confidence::High),
        LimitEvidence::Failed { .. } => (
            format!("\"{database}\" refuses connections{beyond}{since}, and {failed}"),
            if limit.number.is_some() { Confidence::High } else { Confidence::Medium },
        ),
        LimitEvidence::Number => (
            format!(
                "The system reaches {} to \"{database}\" and gets no more{since}, and {failed}: a limit of the role, the database or a pool",
                loadstone_units::counted(limit.number.unwrap_or(0.0) as u64, "connection")
            ),
            Confidence::Medium,
        ),
    };
    let found = RankedFinding::new(Standing::Cause, "refused-connections", Subject::observed(database), confidence, claim)
        .with(Quantity::share("failed", failing.share()));
    let found = limit.number.into_iter().fold(found, |found, most| found.with(Quantity::count("connections", most)));
    let found = found.rests_on(sentence(limit), limit.series.clone(), span);
    let found = match limit.number.zip(limit.series.last()) {
        Some((most, series)) => found.at_level(series, "at most", most),
        None => found,
    };
    let failures = format!(
        "{} of {} \"{}\" failed in that time ({})",
        loadstone_units::count(failing.while_failing.0),
        loadstone_units::count(failing.while_failing.1),
        failing.key.name,
        failing.kinds.first().map_or("", |kind| kind.text.as_str())
    );
    let evidence = Evidence::new(failures, vec!["rate/failures".to_owned(), "failures/share".to_owned()], span);
    let found = found.rests_on_drawn(evidence.of_requests([&*failing.key.name]).level("failures/share", "failed", failing.share(), span));
    let found = match &failing.message {
        Some(message) => found.rests_on(format!("the first response: \"{}\"", message.first), Vec::new(), span),
        None => found,
    };
    let found = others(limit).into_iter().fold(found, RankedFinding::weigh);
    Some(RankedFinding { uncertainty: GeneratorUncertainty::None, ..found }.try_next(format!(
        "Raise the limit (PostgreSQL: `alter role … connection limit`, `max_connections`; MySQL: `max_user_connections`, `max_connections`), or configure a \
         pool of fewer connections{beyond}, so that requests wait for one instead of failing."
    )))
}

fn since(failing: &Failing<'_>) -> String {
    failing.when.onset().map_or_else(String::new, |at| format!(" from {} on", clock(at)))
}

/// What shows the limit.
fn sentence(limit: &ConnectionLimit<'_>) -> String {
    let (number, rate) = (loadstone_units::number, loadstone_units::rate);
    let open = limit.number.map_or_else(String::new, |most| format!("; it never had more than {} connections", number(most)));
    match limit.shown_by {
        LimitEvidence::Stated { of, limit } => format!("the {of} may have {} connections and had as many", number(limit)),
        LimitEvidence::Refused { before, during } => format!("it refused {} and {} before{open}", rate(during), rate(before)),
        LimitEvidence::Failed { before, during } => {
            format!("attempts to connect failed at {}, and at {} before{open}", rate(during), rate(before))
        }
        LimitEvidence::Number => {
            format!("its connections reached {} when the failures began, and remained at that number", number(limit.number.unwrap_or(0.0)))
        }
    }
}

/// Other reasons for the failures, where the evidence allows one.
fn others(limit: &ConnectionLimit<'_>) -> Option<Alternative> {
    const PASSWORD: &str = "Attempts that fail for another reason, such as a wrong password";
    let number = loadstone_units::number;
    match (limit.shown_by, limit.number) {
        (LimitEvidence::Failed { .. }, Some(most)) => {
            Some(Alternative::ruled_out(PASSWORD, format!("the connections are exactly {} meanwhile", number(most))))
        }
        (LimitEvidence::Failed { .. }, None) => {
            Some(Alternative::not_ruled_out(PASSWORD, "the server counts all of them together, and its connections show no limit"))
        }
        (LimitEvidence::Number, _) => Some(Alternative::not_ruled_out(
            "Failures for another reason that began at the same time",
            "the database does not count the connections that it refuses",
        )),
        _ => None,
    }
}
