//! Rows that are inserted one by one: the same `INSERT`, many times for each iteration, where one statement takes all rows.
//!
//! Of all statements that an operation repeats, an insert is the one that loses nothing by being put together: it asks for nothing, and its rows are known
//! beforehand. Whether anybody waits for it is another matter, so this is a fault and no limit.

use std::ops::RangeInclusive;

use metrics::{Role, SeriesKind, SignalPoint, Snapshot};
use run_directory::{Run, SignalSeries};

use super::alternative::Alternative;
use super::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;

/// Executions for each iteration, and for each request that it makes many times, from which a statement is repeated.
const MANY: f64 = 10.0;
/// Iterations that are needed to count them.
const ITERATIONS_MIN: u64 = 20;
/// Executions that the number for each iteration explains, over those that there were: outside of this they do not come as iterations do.
const EXPLAINED: RangeInclusive<f64> = 0.8..=1.25;

/// An insert and what it costs.
struct RepeatedInsert<'a> {
    statement: &'a str,
    series: String,
    /// Executions for each iteration.
    each: f64,
    /// Executions per second, over the whole stretch.
    rate: f64,
    /// The database's own time for one of them, without what it waits for at commit. Seconds.
    took_s: Option<f64>,
    stretch: (f64, f64),
}

pub(super) fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let repeats = requests_per_iteration(facts);
    let inserts = of_role(facts.run, Role::StatementCalls).filter_map(|calls| repeated(facts.run, calls));
    // Where an iteration makes a request many times, each of them may insert rows of its own.
    let inserts = inserts.filter(|found| found.each >= MANY * repeats);
    let found = inserts.max_by(|a, b| a.each.total_cmp(&b.each))?;
    Some(told(facts, &found))
}

/// How often an iteration makes the request that it makes most often, at least once.
fn requests_per_iteration(facts: &Facts<'_>) -> f64 {
    let iterations: u64 = facts.run.slices.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.started).sum();
    let most = facts.tally.of_kind(SeriesKind::Request).map(|series| series.merged.count).max().unwrap_or(0);
    (most as f64 / iterations.max(1) as f64).max(1.0)
}

fn of_role(run: &Run, role: Role) -> impl Iterator<Item = &SignalSeries> {
    run.signals.iter().filter(move |series| series.signal.role == Some(role))
}

fn told(facts: &Facts<'_>, found: &RepeatedInsert<'_>) -> RankedFinding {
    let RepeatedInsert { statement, each, stretch, .. } = found;
    let claim = format!(
        "`{statement}` is executed {each:.0} times for each iteration of the load, once for each row: one statement can insert them all"
    );
    let time = found.took_s.map_or_else(String::new, |took_s| {
        format!(", {} each by its own account: {} of its time for each iteration", units::seconds(took_s), units::seconds(took_s * each))
    });
    let fewer = 1.0 - 1.0 / each;
    let mut told = RankedFinding::new(Standing::Fault, "statements", Confidence::Medium, claim)
        .rests_on(
            format!("{} executions per second on average, as iterations came{time}", units::number(found.rate)),
            vec![found.series.clone()],
            *stretch,
        )
        .rests_on(
            format!(
                "in one statement there would be {:.0} round trips less for each iteration and, if each commits by itself, as many commits ({} of them)",
                each - 1.0,
                units::share(fewer)
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

fn repeated<'a>(run: &'a Run, calls: &'a SignalSeries) -> Option<RepeatedInsert<'a>> {
    let statement = calls.signal.label_value("statement")?;
    if !statement.get(..12).is_some_and(|start| start.eq_ignore_ascii_case("insert into ")) {
        return None;
    }
    let points = grown(calls);
    let stretch = (points.first()?.0, points.last()?.0);
    let executed = points.last()?.1;
    let (each, explained) = per_iteration(run, &points)?;
    let is_its_time =
        |times: &&SignalSeries| times.signal.observer == calls.signal.observer && times.signal.label_value("statement") == Some(statement);
    let took_s = of_role(run, Role::StatementTime).find(is_its_time).and_then(|times| Some(grown(times).last()?.1 / executed.max(1.0)));
    let rate = executed / (stretch.1 - stretch.0).max(1.0);
    let name = calls.signal.name.clone();
    EXPLAINED.contains(&explained).then_some(RepeatedInsert { statement, series: name, each, rate, took_s, stretch })
}

/// How much a counter had grown since its first reading, at each of its readings; `(seconds since the run began, growth)`.
fn grown(counter: &SignalSeries) -> Vec<(f64, f64)> {
    let mut total = 0.0;
    let at = |point: &SignalPoint| point.at as f64 / 1e9;
    let step = |pair: &[SignalPoint]| {
        // One that was set back says nothing of what it had counted.
        total += (pair[1].value - pair[0].value).max(0.0);
        (at(&pair[1]), total)
    };
    let first = counter.points.first().map(|point| (at(point), 0.0));
    first.into_iter().chain(counter.points.windows(2).map(step)).collect()
}

/// Executions for each iteration that began meanwhile; and the slope of the one over the other (least squares), as a part of that: 1 where they come as
/// iterations do. `None`: too few iterations.
fn per_iteration(run: &Run, executed: &[(f64, f64)]) -> Option<(f64, f64)> {
    let begun = |slice: &Snapshot| slice.leaves.iter().map(|leaf| leaf.started).sum::<u64>();
    let mut slices = run.slices.iter().peekable();
    let mut iterations = 0;
    let points: Vec<(f64, f64)> = executed
        .iter()
        .map(|(at, total)| {
            while let Some(slice) = slices.next_if(|slice| slice.end as f64 / 1e9 <= at + 0.5) {
                iterations += begun(slice);
            }
            (iterations as f64, *total)
        })
        .collect();
    let (first, last) = (points.first()?, points.last()?);
    if last.0 - first.0 < ITERATIONS_MIN as f64 || last.1 <= first.1 {
        return None;
    }
    let each = (last.1 - first.1) / (last.0 - first.0);
    let count = points.len() as f64;
    let (x, y) = (points.iter().map(|point| point.0).sum::<f64>() / count, points.iter().map(|point| point.1).sum::<f64>() / count);
    let (mut covariance, mut variance) = (0.0, 0.0);
    for point in &points {
        covariance += (point.0 - x) * (point.1 - y);
        variance += (point.0 - x).powi(2);
    }
    Some((each, covariance / variance.max(1e-9) / each))
}
