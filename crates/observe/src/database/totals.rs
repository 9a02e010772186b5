//! Totals of statements, as the database itself counts them.

use std::collections::BTreeMap;

use loadstone_metrics::{Role, unit};

use super::statement::normalise;
use crate::collector::{MetricSpec, SignalCollector};

/// Of each statement: executions, seconds, rows.
const METRICS: [MetricSpec<'_>; 3] = [
    MetricSpec::counter("statement_calls", unit::COUNT, "Executions of the statement").role(Role::StatementCalls),
    MetricSpec::counter("statement_seconds", unit::SECONDS, "Time spent executing the statement").role(Role::StatementTime),
    MetricSpec::counter("statement_rows", unit::COUNT, "Rows the statement returned or changed"),
];

/// Statements that only monitor the database, such as the observer's own, are not work of the service.
const MONITORING: [&str; 2] = ["pg_stat_", "performance_schema"];

/// Statements that differ only in the length of a list count as one.
pub(crate) fn put(statements: impl Iterator<Item = (String, [f64; 3])>, out: &mut SignalCollector) {
    let mut totals = BTreeMap::<String, [f64; 3]>::new();
    let is_work = |(sql, _): &(String, [f64; 3])| MONITORING.iter().all(|view| !sql.contains(view));
    for (sql, values) in statements.filter(is_work) {
        let sums = totals.entry(normalise(&sql)).or_default();
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    for (statement, sums) in totals {
        for (metric, sum) in METRICS.into_iter().zip(sums) {
            out.put_labelled(metric, &[("statement", &statement)], sum);
        }
    }
}
