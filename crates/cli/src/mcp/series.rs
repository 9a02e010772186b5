//! Time series as data: the columns of the report's timeline, within a stretch and in few steps.

use loadstone_report::{ChartColumn, Panel, ReportView};
use serde::Serialize;

/// Longest series in a result. A longer one is averaged.
const STEPS_MAX: usize = 60;

/// One series of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct QuotedSeries {
    /// As in docs/timeline.md: `rate/ended`, `signal/process:8080/cpu`.
    name: String,
    unit: String,
    /// Start of each step, seconds since the run began.
    seconds: Vec<f64>,
    /// Mean of each step. `None`: nothing was measured.
    values: Vec<Option<f64>>,
}

/// The columns of the whole run with these names.
pub(super) fn of_run(view: &ReportView, names: &[String], (from, to): (f64, f64)) -> Vec<QuotedSeries> {
    let bands = view.timeline.bands.iter().flat_map(|band| &band.panels);
    let columns = view.timeline.panels.iter().chain(bands).flat_map(|panel| panel.columns.iter().map(move |column| (panel, column)));
    let chosen = columns.filter(|(_, column)| names.contains(&column.id));
    chosen.map(|(panel, column)| quoted(panel, column, (view.timeline.step_seconds, &view.timeline.seconds), (from, to))).collect()
}

/// The requests' own series of a piece of evidence.
pub(super) fn of_evidence(view: &ReportView, finding: usize, evidence: usize, (from, to): (f64, f64)) -> Vec<QuotedSeries> {
    let Some(charts) = view.evidence_charts.get(finding).and_then(|charts| charts.get(evidence)) else { return Vec::new() };
    let columns = charts.panels.iter().flat_map(|panel| panel.columns.iter().map(move |column| (panel, column)));
    columns
        .map(|(panel, column)| {
            let starts: Vec<f64> = (0..column.values.len()).map(|step| step as f64 * charts.step_seconds).collect();
            quoted(panel, column, (charts.step_seconds, &starts), (from, to))
        })
        .collect()
}

fn quoted(panel: &Panel, column: &ChartColumn, (step, starts): (f64, &[f64]), (from, to): (f64, f64)) -> QuotedSeries {
    let inside: Vec<(f64, Option<f64>)> =
        starts.iter().copied().zip(column.values.iter().copied()).filter(|(start, _)| start + step > from && *start < to).collect();
    let each = inside.len().div_ceil(STEPS_MAX).max(1);
    let (seconds, values) = inside.chunks(each).map(|steps| (steps[0].0, mean(steps))).unzip();
    QuotedSeries { name: column.id.clone(), unit: panel.unit.clone(), seconds, values }
}

fn mean(steps: &[(f64, Option<f64>)]) -> Option<f64> {
    let known: Vec<f64> = steps.iter().filter_map(|(_, value)| *value).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_is_averaged_within_its_stretch() {
        let values: Vec<Option<f64>> = (0..300).map(|second| (second != 100).then_some(f64::from(second))).collect();
        let column = ChartColumn { id: "rate/ended".to_owned(), label: String::new(), values, pools: None };
        let panel = Panel { id: "rate".to_owned(), title: String::new(), unit: "/s".to_owned(), stacked: false, columns: Vec::new() };
        let starts: Vec<f64> = (0..300).map(f64::from).collect();
        let short = quoted(&panel, &column, (1.0, &starts), (99.0, 102.0));
        assert_eq!((short.seconds, short.values), (vec![99.0, 100.0, 101.0], vec![Some(99.0), None, Some(101.0)]));
        let long = quoted(&panel, &column, (1.0, &starts), (0.0, 300.0));
        assert_eq!((long.seconds.len(), long.seconds[1], long.values[1]), (60, 5.0, Some(7.0)));
    }
}
