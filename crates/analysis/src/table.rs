//! The rows of a summary as a table for other tools. `loadstone_run_directory::export` writes it.

use loadstone_run_directory::export::{ColumnTable, kind};

use crate::{RequestRow, Summary, TimeStats};

/// One row per request, group and scenario, with the numbers of the summary. Times are in seconds. A percentile without enough samples is
/// empty.
pub fn totals_table(summary: &Summary) -> ColumnTable {
    let rows: Vec<&RequestRow> = [&summary.requests, &summary.groups, &summary.scenarios].into_iter().flatten().collect();
    let mut table = ColumnTable::default();
    table.text("kind", &rows, |row| kind(row.key.kind).into());
    table.text("scenario", &rows, |row| row.key.scenario.clone());
    table.text("group", &rows, |row| row.key.group.clone());
    table.text("name", &rows, |row| row.key.name.clone());
    table.integer("count", &rows, |row| row.count);
    table.integer("failed", &rows, |row| row.failed);
    table.number("rate_per_s", &rows, |row| Some(row.rate));
    table.number("mean_s", &rows, |row| row.response.mean);
    table.number("min_s", &rows, |row| row.response.min);
    for (name, quantile) in
        [("p50_s", 0.5), ("p75_s", 0.75), ("p90_s", 0.9), ("p95_s", 0.95), ("p99_s", 0.99), ("p999_s", 0.999), ("p9999_s", 0.9999)]
    {
        table.number(name, &rows, |row| row.response.at(quantile));
    }
    table.number("max_s", &rows, |row| row.response.max);
    table.number("p99_low_s", &rows, |row| end(&row.response, |p99| p99.low));
    table.number("p99_high_s", &rows, |row| end(&row.response, |p99| p99.high));
    table.number("service_mean_s", &rows, |row| row.service.mean);
    table.number("service_p50_s", &rows, |row| row.service.at(0.5));
    table.number("service_p99_s", &rows, |row| row.service.at(0.99));
    table.number("lag_p99_s", &rows, |row| row.lag.at(0.99));
    table.integer("sent_bytes", &rows, |row| row.bytes_sent);
    table.integer("received_bytes", &rows, |row| row.bytes_received);
    table.integer("retried", &rows, |row| row.retried);
    table
}

fn end(times: &TimeStats, of: fn(&crate::Percentile) -> Option<f64>) -> Option<f64> {
    times.percentiles.iter().find(|percentile| percentile.quantile == 0.99).and_then(of)
}
