//! The table of spans at the end of a run with traces: which services and calls take the time of each request.

use loadstone_analysis::{RequestSpans, SpanRow, Summary};

use super::style::Style;
use super::table::{ColumnHead, Row, TextCell, TextTable};

/// Title and priority, see [`ColumnHead`].
const HEADS: [(&str, u8); 8] =
    [("Spans", 0), ("Calls", 0), ("Each", 0), ("p95", 4), ("Before it", 3), ("Of the time", 0), ("Low load", 2), ("High load", 1)];
/// Upper bounds on the shown requests and spans of each; the page has all.
const REQUESTS_MAX: usize = 4;
const SPANS_MAX: usize = 8;
/// A span with a smaller share of the time is not shown.
const SHARE_MIN: f64 = 0.01;

/// The table; empty without traces.
pub(crate) fn spans(summary: &Summary, style: &Style) -> String {
    if summary.spans.is_empty() {
        return String::new();
    }
    let mut requests: Vec<&RequestSpans> = summary.spans.iter().collect();
    requests.sort_by(|a, b| (b.seconds * b.traces as f64).total_cmp(&(a.seconds * a.traces as f64)));
    // At a steady load there is only one.
    let varies = requests.iter().flat_map(|request| &request.spans).any(|row| row.low_path_seconds.is_some());
    let columns = if varies { HEADS.len() } else { HEADS.len() - 2 };
    let heads = HEADS[..columns].iter().enumerate().map(|(index, (title, keep))| ColumnHead { title, keep: *keep, left: index == 0 });
    let rows = requests.into_iter().take(REQUESTS_MAX).flat_map(|request| rows(request, columns)).collect();
    TextTable { heads: heads.collect(), rows }.render(style)
}

fn rows(request: &RequestSpans, columns: usize) -> Vec<Row> {
    let share = |row: &SpanRow| row.path_seconds / request.seconds.max(1e-12);
    let head = format!(
        "{} · {} of {} each",
        request.name,
        loadstone_units::counted(request.traces, "trace"),
        loadstone_units::seconds(request.seconds)
    );
    // The ancestors of each shown span are shown, too.
    let mut shown = vec![false; request.spans.len()];
    let mut by_share: Vec<usize> = (0..request.spans.len()).filter(|place| share(&request.spans[*place]) >= SHARE_MIN).collect();
    by_share.sort_by(|a, b| share(&request.spans[*b]).total_cmp(&share(&request.spans[*a])));
    for place in by_share.into_iter().take(SPANS_MAX) {
        shown[place] = true;
        let mut depth = request.spans[place].depth;
        for above in (0..place).rev() {
            if request.spans[above].depth < depth {
                depth = request.spans[above].depth;
                shown[above] = true;
            }
        }
    }
    let cells = |row: &SpanRow| {
        let time = |seconds: Option<f64>| TextCell::from(seconds.map_or_else(String::new, loadstone_units::seconds));
        let name = format!("{}{}: {}", "  ".repeat(row.depth as usize), row.service, row.name);
        let mut cells = vec![
            name.into(),
            loadstone_units::number(row.calls).into(),
            loadstone_units::seconds(row.mean_seconds).into(),
            loadstone_units::seconds(row.p95_seconds).into(),
            loadstone_units::seconds(row.before_seconds).into(),
            loadstone_units::share(share(row)).into(),
            time(row.low_path_seconds),
            time(row.high_path_seconds),
        ];
        cells.truncate(columns);
        Row::Cells(cells)
    };
    let spans = request.spans.iter().zip(shown).filter(|(_, is_shown)| *is_shown).map(|(row, _)| cells(row));
    std::iter::once(Row::Heading(head)).chain(spans).collect()
}
