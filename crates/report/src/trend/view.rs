//! The trend as a page draws it: every string is formatted and every value has its position.

use loadstone_analysis::{RunTrend, TrendMetric, TrendRun, TrendSeries, TrendStep};
use serde::Serialize;

use super::cells;
use crate::picture::{AxisTick, Interval, PlotAxis, Tone};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct TrendView {
    pub test: String,
    pub headline: String,
    /// The statistical guarantee of all steps together.
    pub promise: String,
    /// Runs of the test that are not part of the trend, with the reasons: `2 cut short, 1 invalid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// The newest run is first.
    pub changes: Vec<TrendChangeView>,
    /// The oldest run is first.
    pub runs: Vec<TrendRunView>,
    /// Series with a step are first.
    pub series: Vec<TrendSeriesView>,
}

/// All steps of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct TrendChangeView {
    /// Ids of the two runs.
    pub before: String,
    pub run: String,
    pub place: String,
    pub steps: Vec<TrendLine>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct TrendLine {
    pub text: String,
    pub tone: Tone,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct TrendRunView {
    pub id: String,
    /// Share of the width.
    pub x: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct TrendSeriesView {
    pub title: String,
    pub level: String,
    pub noise: String,
    pub ticks: Vec<AxisTick>,
    pub points: Vec<TrendPoint>,
    pub levels: Vec<TrendLevel>,
    pub steps: Vec<TrendStepView>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct TrendPoint {
    /// Index into `runs`.
    pub run: usize,
    pub y: f64,
    pub text: String,
}

/// The value between two steps, and how much single runs differ from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct TrendLevel {
    /// Shares of the width.
    pub from: f64,
    pub to: f64,
    #[serde(flatten)]
    pub band: Interval,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct TrendStepView {
    pub x: f64,
    pub text: String,
    pub tone: Tone,
    pub before: String,
    pub run: String,
}

impl TrendView {
    /// With a note on the runs that are not part of the trend.
    pub fn without(mut self, left_out: Option<String>) -> Self {
        self.left_out = left_out;
        self
    }

    pub fn of(trend: &RunTrend) -> Self {
        let count = trend.runs.len().max(1) as f64;
        Self {
            test: trend.test.clone(),
            headline: trend.headline.clone(),
            promise: cells::promise(trend),
            left_out: None,
            changes: cells::by_run(trend).iter().map(change).collect(),
            runs: trend
                .runs
                .iter()
                .enumerate()
                .map(|(at, run)| TrendRunView { id: run.id.clone(), x: (at as f64 + 0.5) / count })
                .collect(),
            series: trend.series.iter().map(|one| series(trend, one)).collect(),
        }
    }
}

fn change(of: &cells::RunSteps<'_>) -> TrendChangeView {
    let line = |(series, step): &(&TrendSeries, &TrendStep)| TrendLine { text: cells::step(series, step), tone: tone(step) };
    TrendChangeView {
        before: of.before.id.clone(),
        run: of.run.id.clone(),
        place: cells::place(of),
        steps: of.steps.iter().map(line).collect(),
    }
}

fn tone(step: &TrendStep) -> Tone {
    if step.is_worse() { Tone::Bad } else { Tone::Good }
}

fn series(trend: &RunTrend, of: &TrendSeries) -> TrendSeriesView {
    let levels = levels(of, trend.runs.len());
    let measured = of.values.iter().flatten().copied();
    let axis = PlotAxis::around(measured.chain(levels.iter().flat_map(|level| [level.low, level.high])), 0.0);
    let write =
        |value: f64| if of.metric == TrendMetric::Failures { loadstone_units::share(value) } else { loadstone_units::seconds(value) };
    let count = trend.runs.len().max(1) as f64;
    let point = |(run, value): (usize, &Option<f64>)| {
        let text = |of: &TrendRun, value: f64| format!("{}: {}", cells::run(of), write(value));
        value.map(|value| TrendPoint { run, y: axis.place(value), text: text(&trend.runs[run], value) })
    };
    let step = |step: &TrendStep| TrendStepView {
        x: step.at as f64 / count,
        text: cells::step(of, step),
        tone: tone(step),
        before: trend.runs[step.before_at].id.clone(),
        run: trend.runs[step.at].id.clone(),
    };
    TrendSeriesView {
        title: of.title(),
        level: cells::level(of),
        noise: cells::noise(of),
        ticks: axis.ticks(write),
        points: of.values.iter().enumerate().filter_map(point).collect(),
        levels: levels
            .iter()
            .map(|level| TrendLevel {
                from: level.from as f64 / count,
                to: level.to as f64 / count,
                band: axis.interval(Some(level.low), level.value, Some(level.high)),
            })
            .collect(),
        steps: of.steps.iter().map(step).collect(),
    }
}

struct LevelSpan {
    from: usize,
    to: usize,
    value: f64,
    low: f64,
    high: f64,
}

/// The parts of the history from one step to the next.
fn levels(of: &TrendSeries, runs: usize) -> Vec<LevelSpan> {
    let Some(last) = of.level else { return Vec::new() };
    let noise = of.noise.unwrap_or(0.0);
    let starts = std::iter::once(0).chain(of.steps.iter().map(|step| step.at));
    let ends = of.steps.iter().map(|step| step.at).chain([runs]);
    let values = of.steps.iter().map(|step| step.before).chain([last]);
    let level = |((from, to), value): ((usize, usize), f64)| {
        let by = if of.metric.is_difference() { noise } else { value * noise };
        LevelSpan { from, to, value, low: (value - by).max(0.0), high: value + by }
    };
    starts.zip(ends).zip(values).map(level).collect()
}
