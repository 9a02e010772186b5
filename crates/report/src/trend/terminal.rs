//! The trend on a terminal: the changes and the run of each, then every number with its level and its noise.

use loadstone_analysis::RunTrend;

use super::cells;
use crate::terminal::{ColumnHead, Paint, Row, Style, TextCell, TextTable, hang};

const RUNS_MAX: usize = 10;
const STEPS_MAX: usize = 6;

/// The complete output, ending in a line break.
pub fn terminal(trend: &RunTrend, style: &Style) -> String {
    let mut out =
        hang(&style.paint(Paint::Bold, &format!("{}  ", trend.test)), trend.test.chars().count() + 2, &trend.headline, style.width);
    for of in cells::by_run(trend).iter().take(RUNS_MAX) {
        let place = hang("", 2, &cells::place(of), style.width);
        out.push_str(&format!("\n{}\n", style.paint(Paint::Bold, place.trim_end())));
        for (series, step) in of.steps.iter().take(STEPS_MAX) {
            let (sign, paint) = if step.is_worse() { ("▲ ", Paint::Bad) } else { ("▼ ", Paint::Good) };
            out.push_str(&hang(&format!("  {}", style.paint(paint, sign)), 4, &cells::step(series, step), style.width));
        }
        if of.steps.len() > STEPS_MAX {
            out.push_str(&format!("    … and {} more with --json\n", of.steps.len() - STEPS_MAX));
        }
    }
    if !trend.series.is_empty() {
        out.push('\n');
        out.push_str(&table(trend, style));
    }
    out.push('\n');
    out.push_str(&hang("", 0, &cells::promise(trend), style.width));
    out
}

fn table(trend: &RunTrend, style: &Style) -> String {
    let heads = [("", true), ("Now", false), ("Single runs", false), ("Steps", false)];
    let heads = heads.iter().zip([0, 0, 1, 0]).map(|((title, left), keep)| ColumnHead { title, keep, left: *left }).collect();
    let row = |series: &loadstone_analysis::TrendSeries| {
        let steps = TextCell::from(if series.steps.is_empty() { loadstone_units::NONE.to_owned() } else { series.steps.len().to_string() });
        Row::Cells(vec![series.title().into(), cells::level(series).into(), cells::noise(series).into(), steps])
    };
    TextTable { heads, rows: trend.series.iter().map(row).collect() }.render(style)
}
