//! Rows are inserted one by one: the same `INSERT` runs many times per iteration, although one statement can insert all rows.
//!
//! The rule needs a database that counts its statements (`pg_stat_statements`, the performance schema). It reports an `INSERT` if all of these hold:
//!
//! - it ran at least {EXECUTIONS_MIN} times per iteration, or per request if an iteration sends a request many times
//! - at least {repeated_statements::COUNTED_MIN} iterations began
//! - the executions follow the iterations: the slope of one over the other (least squares) is within a quarter of their ratio, which excludes an unrelated
//!   import
//!
//! An insert reads nothing and its rows are known in advance, so it is the easiest repeated statement to combine. Possibly no request waits for it. It is a
//! fault, not a limit, and ranks after causes. The confidence is medium.
//!
//! The evidence states the part of the requests' time that the inserts take. If that part is small, the finding ranks last, and is left to the remark if
//! nothing else is found. It is small if requests became slower, and it is small as in [`many-transactions`](many-transactions.md). It is also small if
//! nothing became slower, and it is less than {round_trips::SMALL_SHARE_MAX:%} with round trips as long as the observer's.
//!
//! In a test with a flow, the rows may belong to many jobs. The rule cannot distinguish that, and lists it as an alternative.

use loadstone_metrics::SeriesKind;

use crate::Confidence;
use crate::evidence::round_trips::RoundTripTime;
use crate::facts::Facts;
use crate::facts::repeated_statements::{ComesWith, RepeatedStatement};
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};

/// Minimum executions per iteration, or per request if an iteration sends several.
const EXECUTIONS_MIN: f64 = 10.0;

pub(super) const RULE: Rule = Rule {
    ids: &["statements"],
    page: "statements",
    title: "Rows are inserted one by one",
    says: "a statement runs once for each row",
    example: Example {
        run: "examples/statements",
        claim: "`INSERT INTO emails (change_id, subscriber_id) VALUES (?)` is executed 40 times per \"Publish\", once per row: one statement can \
                insert all rows",
    },
    needs: &["postgres"],
    settings: &["batch"],
    precedence: 250,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let repeats = requests_per_iteration(facts);
    let is_many = |found: &&RepeatedStatement<'_>| match found.comes_with {
        // If an iteration sends a request many times, each of them may insert its own rows.
        ComesWith::Iterations => found.each >= EXECUTIONS_MIN * repeats,
        ComesWith::Request(_) => found.each >= EXECUTIONS_MIN,
    };
    let inserts = facts.repeated_statements.iter().filter(|found| found.begins_with("insert into ")).filter(is_many);
    let found = inserts.max_by(|a, b| a.each.total_cmp(&b.each))?;
    Some(finding(facts, found))
}

/// How often an iteration sends its most frequent request; at least 1.
fn requests_per_iteration(facts: &Facts<'_>) -> f64 {
    let iterations: u64 = facts.run.slices.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.started).sum();
    let most = facts.tally.of_kind(SeriesKind::Request).map(|series| series.merged.count).max().unwrap_or(0);
    (most as f64 / iterations.max(1) as f64).max(1.0)
}

fn finding(facts: &Facts<'_>, found: &RepeatedStatement<'_>) -> RankedFinding {
    let RepeatedStatement { each, stretch, .. } = found;
    let (statement, whole) = (found.statement.unwrap_or_default(), found.whole());
    let claim = format!("`{statement}` is executed {each:.0} times per {whole}, once per row: one statement can insert all rows");
    let time = found.took_s.map_or_else(String::new, |took_s| {
        format!(
            "; the database reports {} for each execution: {} per {whole}",
            loadstone_units::seconds(took_s),
            loadstone_units::seconds(took_s * each)
        )
    });
    let fewer = 1.0 - 1.0 / each;
    let part = RoundTripTime::of_statement(facts, found);
    let is_small = if facts.slows_down() { RoundTripTime::is_small } else { RoundTripTime::is_small_as_observed };
    let explains_little = part.as_ref().is_some_and(is_small);
    let standing = if explains_little { Standing::Habit } else { Standing::Fault };
    let mut finding = RankedFinding::new(standing, "statements", Subject::observed(found.observer), Confidence::Medium, claim)
        .with(Quantity::count("executions_per_operation", *each))
        .rests_on(
            format!("{} executions per second on average{time}", loadstone_units::number(found.rate)),
            vec![found.series.clone()],
            *stretch,
        )
        .at_level(&found.series, "on average", found.rate)
        .rests_on(
            format!(
                "one statement would save {:.0} round trips per operation ({}), and as many commits if each insert commits separately",
                each - 1.0,
                loadstone_units::share(fewer)
            ),
            vec![found.series.clone()],
            *stretch,
        );
    if let Some(part) = part {
        finding = part.add_to(finding, *stretch);
    }
    if !facts.run.plan.flows.is_empty() {
        finding = finding.weigh(Alternative::not_ruled_out(
            "Separate jobs that insert one row each, which cannot share a statement",
            "the system works in the background, and the jobs that insert were not observed",
        ));
    }
    finding.try_next(format!(
        "Insert the rows of an operation with one statement (`INSERT … VALUES (…), (…)`, COPY, the ORM's bulk import), and run again at the same load: \
         the operation saves {:.0} round trips.",
        each - 1.0
    ))
}
