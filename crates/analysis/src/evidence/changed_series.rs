//! A change of the times of a request or a flow, as the series that changed with its medians before and after.

use loadstone_metrics::SeriesKind;

use crate::Evidence;
use crate::facts::changes::{Change, Shape};
use crate::facts::timeline::TimelineOf;

/// The series that changed, with its medians before and after.
pub(crate) fn drawn(change: &Change, text: String) -> Evidence {
    let (column, requests) = match (&change.of, change.of.kind()) {
        (TimelineOf::Flow(name), _) => (format!("flow/{name}/p50"), None),
        (_, Some(SeriesKind::Request)) => ("service/p50".to_owned(), Some(change.of.name())),
        // The charts have no series of a group or a scenario.
        _ => return Evidence::new(text, Vec::new(), span(change)),
    };
    let (before, after) = match change.shape {
        Shape::Drift => {
            let quarter = (change.to - change.from) / 4.0;
            ((change.from, change.from + quarter), (change.to - quarter, change.to))
        }
        _ => ((change.from, change.at), span(change)),
    };
    Evidence::new(text, vec![column.clone()], span(change))
        .of_requests(requests)
        .level(&column, "before", change.before.median, before)
        .level(&column, "after", change.after.median, after)
}

/// The changed stretch, on which the evidence rests.
pub(crate) fn span(change: &Change) -> (f64, f64) {
    (change.at, change.until.unwrap_or(change.to))
}
