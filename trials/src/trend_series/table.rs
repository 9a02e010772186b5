//! The result of each series, and the tables of them as Markdown.

use super::shape::{DEPENDENCE_MAX, SeriesShape, TREND_MAX};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AgreementScore {
    pub(super) f1: f64,
    pub(super) covering: f64,
}

impl AgreementScore {
    pub(super) fn mean(of: &[Self]) -> Self {
        let mean = |number: fn(&Self) -> f64| of.iter().map(number).sum::<f64>() / of.len() as f64;
        Self { f1: mean(|score| score.f1), covering: mean(|score| score.covering) }
    }
}

#[derive(Debug, Clone)]
pub(super) struct SeriesResult {
    pub(super) name: String,
    pub(super) points: usize,
    /// Mean number of change points of an annotator.
    pub(super) labelled: f64,
    pub(super) reported: usize,
    pub(super) right: usize,
    pub(super) trend: AgreementScore,
    /// The floors: no change point, and as many random ones as the trend reports.
    pub(super) never: AgreementScore,
    pub(super) random: AgreementScore,
    pub(super) shape: SeriesShape,
}

/// The means by group, then each series.
pub(super) fn tables(results: &[SeriesResult]) -> String {
    let groups: [(&str, Vec<&SeriesResult>); 4] = [
        ("all", results.iter().collect()),
        ("levels", of_shape(results, Some(true))),
        ("a trend, a season or strong dependence", of_shape(results, Some(false))),
        ("too short to judge", of_shape(results, None)),
    ];
    let mut lines = vec![
        "| series | number | F1: trend | never | random | covering: trend | never | random | labelled | reported | right |".to_owned(),
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|".to_owned(),
    ];
    lines.extend(groups.iter().filter(|(_, group)| !group.is_empty()).map(|(title, group)| group_row(title, group)));
    lines.push(format!(
        "\nLevels: mean Kendall τ at most {TREND_MAX} and largest autocorrelation at most {DEPENDENCE_MAX} within labelled segments.\n"
    ));
    lines.push(
        "| series | points | labelled | reported | right | F1: trend | never | random | covering: trend | never | random | Kendall τ | autocorrelation \
         | levels |"
            .to_owned(),
    );
    lines.push("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|".to_owned());
    lines.extend(results.iter().map(series_row));
    lines.join("\n")
}

fn of_shape(results: &[SeriesResult], wanted: Option<bool>) -> Vec<&SeriesResult> {
    results.iter().filter(|result| result.shape.is_level() == wanted).collect()
}

fn group_row(title: &str, group: &[&SeriesResult]) -> String {
    let mean =
        |score: fn(&SeriesResult) -> AgreementScore| AgreementScore::mean(&group.iter().map(|result| score(result)).collect::<Vec<_>>());
    let sum = |number: fn(&SeriesResult) -> usize| group.iter().map(|result| number(result)).sum::<usize>();
    let scores = cells([mean(|of| of.trend), mean(|of| of.never), mean(|of| of.random)]);
    let labelled: f64 = group.iter().map(|result| result.labelled).sum();
    format!("| {title} | {} | {scores} | {labelled:.1} | {} | {} |", group.len(), sum(|of| of.reported), sum(|of| of.right))
}

fn series_row(of: &SeriesResult) -> String {
    let scores = cells([of.trend, of.never, of.random]);
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
    let levels = match of.shape.is_level() {
        Some(true) => "yes",
        Some(false) => "no",
        None => "–",
    };
    let (trend, dependence) = (number(of.shape.trend), number(of.shape.dependence));
    let SeriesResult { name, points, labelled, reported, right, .. } = of;
    format!("| {name} | {points} | {labelled:.1} | {reported} | {right} | {scores} | {trend} | {dependence} | {levels} |")
}

/// F1 of each, then the covering of each.
fn cells(scores: [AgreementScore; 3]) -> String {
    let cells = scores.map(|score| score.f1).into_iter().chain(scores.map(|score| score.covering));
    cells.map(|value| format!("{value:.3}")).collect::<Vec<_>>().join(" | ")
}
