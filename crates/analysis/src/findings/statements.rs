//! Rows that are inserted one by one: the same `INSERT`, many times for each iteration, where one statement takes all rows.
//!
//! Of all statements that an operation repeats, an insert is the one that loses nothing by being put together: it asks for nothing, and its rows are known
//! beforehand. Whether anybody waits for it is another matter, so this is a fault and no limit.
//!
//! *`INSERT INTO emails (…) VALUES (?)` is executed 40 times for each iteration of the load, once for each row: one statement can insert them all.*
//!
//! Made if a database that counts its statements (`pg_stat_statements`, the performance schema) executed the same `INSERT` 10 times or more for each
//! iteration, and for each request that an iteration makes many times. At least 20 iterations must have begun meanwhile, and the executions must come as
//! they do: the slope of the one over the other (least squares) is within a quarter of their ratio, so that an import that happens to run is not counted.
//! An insert asks for nothing and its rows are known beforehand, so of all repeated statements it is the one that can be put together without another
//! thought. Nobody need wait for it: it is a fault and no limit, and comes after causes. With a flow, the rows may be those of many jobs, which is said.

use loadstone_metrics::SeriesKind;

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::repeated_statements::{ComesWith, RepeatedStatement};

/// Executions for each iteration, and for each request that it makes many times, from which a statement is repeated.
const MANY: f64 = 10.0;

pub(super) const RULE: Rule = Rule {
    ids: &["statements"],
    title: "Rows are inserted one by one",
    says: "a statement runs once for each row",
    needs: &["postgres"],
    settings: &["batch"],
    precedence: 250,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let repeats = requests_per_iteration(facts);
    let is_many = |found: &&RepeatedStatement<'_>| match found.comes_with {
        // Where an iteration makes a request many times, each of them may insert rows of its own.
        ComesWith::Iterations => found.each >= MANY * repeats,
        ComesWith::Request(_) => found.each >= MANY,
    };
    let inserts = facts.repeated_statements.iter().filter(|found| found.begins_with("insert into ")).filter(is_many);
    let found = inserts.max_by(|a, b| a.each.total_cmp(&b.each))?;
    Some(told(facts, found))
}

/// How often an iteration makes the request that it makes most often, at least once.
fn requests_per_iteration(facts: &Facts<'_>) -> f64 {
    let iterations: u64 = facts.run.slices.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.started).sum();
    let most = facts.tally.of_kind(SeriesKind::Request).map(|series| series.merged.count).max().unwrap_or(0);
    (most as f64 / iterations.max(1) as f64).max(1.0)
}

fn told(facts: &Facts<'_>, found: &RepeatedStatement<'_>) -> RankedFinding {
    let RepeatedStatement { each, stretch, .. } = found;
    let (statement, whole) = (found.statement.unwrap_or_default(), found.whole());
    let claim = format!("`{statement}` is executed {each:.0} times for each {whole}, once for each row: one statement can insert them all");
    let time = found.took_s.map_or_else(String::new, |took_s| {
        format!(
            ", {} each by its own account: {} of its time for each {whole}",
            loadstone_units::seconds(took_s),
            loadstone_units::seconds(took_s * each)
        )
    });
    let fewer = 1.0 - 1.0 / each;
    let mut told = RankedFinding::new(Standing::Fault, "statements", Subject::observed(found.observer), Confidence::Medium, claim)
        .rests_on(
            format!("{} executions per second on average, as those came{time}", loadstone_units::number(found.rate)),
            vec![found.series.clone()],
            *stretch,
        )
        .rests_on(
            format!(
                "in one statement there would be {:.0} round trips less for each of those and, if each commits by itself, as many commits ({} of them)",
                each - 1.0,
                loadstone_units::share(fewer)
            ),
            vec![found.series.clone()],
            *stretch,
        );
    if !facts.run.plan.flows.is_empty() {
        told = told.weigh(Alternative::not_ruled_out(
            "Jobs of their own that insert one row each, which no statement can put together",
            "work goes on behind the requests, and it was not seen which job makes them",
        ));
    }
    told.try_next(format!(
        "Insert the rows of an operation with one statement (`INSERT … VALUES (…), (…)`, COPY, a bulk import of the ORM), and run again at the same load: \
         the operation has {:.0} round trips less to wait for.",
        each - 1.0
    ))
}
