//! Formats the parts of a trend that all renderers share.

use loadstone_analysis::{RunTrend, TrendMetric, TrendRun, TrendSeries, TrendStep};

/// The steps of one run.
pub(super) struct RunSteps<'a> {
    pub(super) before: &'a TrendRun,
    pub(super) run: &'a TrendRun,
    pub(super) steps: Vec<(&'a TrendSeries, &'a TrendStep)>,
}

/// The newest run is first.
pub(super) fn by_run(trend: &RunTrend) -> Vec<RunSteps<'_>> {
    let mut found: Vec<(usize, RunSteps<'_>)> = Vec::new();
    for (series, step) in trend.steps() {
        match found.iter_mut().find(|(at, _)| *at == step.at) {
            Some((_, of)) => of.steps.push((series, step)),
            None => {
                let of = RunSteps { before: &trend.runs[step.before_at], run: &trend.runs[step.at], steps: vec![(series, step)] };
                found.push((step.at, of));
            }
        }
    }
    found.into_iter().map(|(_, of)| of).collect()
}

/// `2026-11-20T18-30-05-shop [v1.4], commit 39dbcdc (before: c021bae)`.
pub(super) fn place(of: &RunSteps<'_>) -> String {
    let tags = tags(of.run);
    let commit = match (&of.run.commit, &of.before.commit) {
        (Some(new), Some(old)) if new == old => format!(", commit {} as before", short(new)),
        (Some(new), Some(old)) => format!(", commit {} (before: {})", short(new), short(old)),
        (Some(new), None) => format!(", commit {}", short(new)),
        (None, _) => String::new(),
    };
    format!("{}{tags}{commit}", of.run.id)
}

/// `2026-11-20T18-30-05-shop [v1.4], commit 39dbcdc`.
pub(super) fn run(run: &TrendRun) -> String {
    let commit = run.commit.as_ref().map_or_else(String::new, |commit| format!(", commit {}", short(commit)));
    format!("{}{}{commit}", run.id, tags(run))
}

fn tags(run: &TrendRun) -> String {
    if run.tags.is_empty() { String::new() } else { format!(" [{}]", run.tags.join(", ")) }
}

fn short(commit: &str) -> String {
    commit.chars().take(7).collect()
}

/// `p95 of "Buy" rose by 12.1 % (9.0 % to 15.3 %), from 38.2 ms to 42.8 ms`.
pub(super) fn step(series: &TrendSeries, step: &TrendStep) -> String {
    let off = if step.at_error > 1 { format!("; it may be {} runs off", step.at_error) } else { String::new() };
    format!("{} {}{off}", series.title(), step.in_words(series.metric))
}

pub(super) fn level(series: &TrendSeries) -> String {
    match (series.level, series.metric) {
        (None, _) => loadstone_units::NONE.to_owned(),
        (Some(level), TrendMetric::Failures) => loadstone_units::share(level),
        (Some(level), _) => loadstone_units::seconds(level),
    }
}

pub(super) fn noise(series: &TrendSeries) -> String {
    series.noise.map_or_else(|| loadstone_units::NONE.to_owned(), |noise| format!("± {}", loadstone_units::share(noise)))
}

/// The statistical guarantee of all steps together.
pub(super) fn promise(trend: &RunTrend) -> String {
    format!(
        "{} in {}. If the test never changed, at most {} of such histories show any step.",
        loadstone_units::counted(trend.series.len() as u64, "number"),
        loadstone_units::counted(trend.runs.len() as u64, "run"),
        loadstone_units::share(trend.false_chance)
    )
}
