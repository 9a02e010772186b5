//! All data over time, aligned to one axis. Read [`axis::Axis`] first, then [`panels`].
//!
//! The ids of the columns are a contract: findings name them as their evidence and the page highlights them. docs/timeline.md lists them, and a test
//! compares that list with the columns that this module builds.

pub(crate) mod axis;
pub(crate) mod bands;
pub(crate) mod bins;
pub(crate) mod close_up;
pub(crate) mod digest;
pub(crate) mod figures;
mod grid;
pub(crate) mod own_metrics;
pub(crate) mod panels;
pub(crate) mod requests;
pub(crate) mod spans;
pub(crate) mod sparks;
pub(crate) mod step;

use loadstone_metrics::Histogram;

use crate::view::ChartColumn;

/// Five significant digits: more than a chart can show, and half the bytes.
pub(crate) fn round(value: f64) -> f64 {
    rounded(value, 5)
}

fn rounded(value: f64, significant: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = significant - 1 - value.abs().log10().floor() as i32;
    // Scaling by a whole power of ten on the side where it is exact yields the shortest text form.
    if digits >= 0 {
        let scale = 10f64.powi(digits);
        if scale.is_finite() { (value * scale).round() / scale } else { value }
    } else {
        let scale = 10f64.powi(-digits);
        (value / scale).round() * scale
    }
}

/// A column of rounded values.
pub(crate) fn column(id: impl Into<String>, label: impl Into<String>, values: impl Iterator<Item = Option<f64>>) -> ChartColumn {
    let values = values.map(|value| value.filter(|v| v.is_finite()).map(round)).collect();
    ChartColumn { id: id.into(), label: label.into(), values, pools: None }
}

/// Columns of the percentiles in `ranks` (name and quantile, ascending), which are pooled if the steps have too few samples. `known` returns the values of
/// single steps by the position in `ranks`, if they were read before.
pub(crate) fn percentile_columns(
    prefix: &str,
    ranks: &[(&str, f64)],
    steps: &[&Histogram],
    step_seconds: u32,
    known: impl Fn(usize) -> Option<Vec<Option<f64>>>,
) -> Vec<ChartColumn> {
    let quantiles: Vec<f64> = ranks.iter().map(|(_, quantile)| *quantile).collect();
    let lines = grid::lines(steps, &quantiles, known);
    let drawn = ranks.iter().zip(lines).map(|((name, _), line)| {
        let pools = line.pools(steps, f64::from(step_seconds));
        ChartColumn { pools, ..column(format!("{prefix}/{name}"), *name, line.values.into_iter()) }
    });
    drawn.collect()
}

/// Three significant digits: a chart about 200 pixels wide shows no more, and there are thousands of these values.
pub(crate) fn shorten(column: &mut ChartColumn) {
    column.values.iter_mut().flatten().for_each(|value| *value = rounded(*value, 3));
}

/// Whether the column has any value other than 0.
pub(crate) fn has_values(column: &ChartColumn) -> bool {
    column.values.iter().any(|value| value.is_some_and(|v| v != 0.0))
}

#[cfg(test)]
mod tests {
    #[test]
    fn rounding_keeps_five_digits_and_short_text() {
        for (value, text) in
            [(0.038_271_999, "0.038272"), (1_234_567.0, "1234600.0"), (1e-7 / 3.0, "3.3333e-8"), (0.0, "0.0"), (12.0, "12.0")]
        {
            assert_eq!(serde_json::to_string(&super::round(value)).unwrap(), text);
        }
    }
}
