//! How the labs write times and tables for the terminal.

use serde_json::Value;

/// A percentile: `132 ms`, `≥ 12.0 s` where only a bound is known, `–` where there were too few samples.
pub(crate) fn percentile(times: &Value, quantile: f64) -> String {
    let rows = times["percentiles"].as_array();
    let Some(row) = rows.into_iter().flatten().find(|row| row["quantile"].as_f64() == Some(quantile)) else { return "–".to_owned() };
    match (row["value"].as_f64(), row["low"].as_f64()) {
        (Some(value), _) => seconds(value),
        (None, Some(low)) => format!("≥ {}", seconds(low)),
        (None, None) => "–".to_owned(),
    }
}

/// The 95 % interval of a percentile: `120–141 ms`; `–` where there is none.
pub(crate) fn interval(times: &Value, quantile: f64) -> String {
    let rows = times["percentiles"].as_array();
    let row = rows.into_iter().flatten().find(|row| row["quantile"].as_f64() == Some(quantile));
    match row.map(|row| (row["low"].as_f64(), row["high"].as_f64())) {
        Some((Some(low), Some(high))) => format!("{} to {}", seconds(low), seconds(high)),
        _ => "–".to_owned(),
    }
}

/// A time with three significant digits.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        value if value < 0.001 => format!("{:.0} µs", value * 1e6),
        value if value < 0.01 => format!("{:.2} ms", value * 1e3),
        value if value < 0.1 => format!("{:.1} ms", value * 1e3),
        value if value < 1.0 => format!("{:.0} ms", value * 1e3),
        value if value < 10.0 => format!("{value:.2} s"),
        value if value < 100.0 => format!("{value:.1} s"),
        value => format!("{value:.0} s"),
    }
}

/// `Calls to "subscriber" go out 5 at a time` → 5.
pub(crate) fn first_number(claim: &str) -> Option<f64> {
    claim.split_whitespace().find_map(|word| word.parse().ok())
}

/// A table for the terminal: columns as wide as their widest cell.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_bound_is_not_shown_as_a_value() {
        let times = json!({ "percentiles": [
            { "quantile": 0.5, "value": 0.0254, "low": 0.02 }, { "quantile": 0.99, "value": null, "low": 12.04 },
            { "quantile": 0.999, "value": null, "low": null },
        ] });
        assert_eq!([0.5, 0.99, 0.999, 0.75].map(|quantile| percentile(&times, quantile)), ["25.4 ms", "≥ 12.0 s", "–", "–"]);
    }

    #[test]
    fn columns_stand_in_line() {
        let rows = [vec!["a".to_owned(), "µs".to_owned(), "x".to_owned()], vec!["long".to_owned(), "1".to_owned(), "y".to_owned()]];
        assert_eq!(table(&rows), "a     µs  x\nlong  1   y\n");
    }

    #[test]
    fn the_number_of_places_is_read_from_the_claim() {
        assert_eq!(first_number("Calls to \"subscriber\" go out 5 at a time, though 20 workers have one to make"), Some(5.0));
        assert_eq!(first_number("All 10 workers are busy"), Some(10.0));
        assert_eq!(first_number("the database is slow"), None);
    }
}
