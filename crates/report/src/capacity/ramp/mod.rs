//! The estimate of the highest throughput from one run under rising load, for people and machines. Read [`ramp`]; `cells` formats the parts that all
//! renderers share.

mod cells;
mod markdown;
mod view;

use loadstone_analysis::{RampEstimate, Summary};

use crate::terminal::{Paint, Style, hang};

pub use markdown::ramp_markdown;
pub use view::RampView;

/// The complete output, ending in a line break.
pub fn ramp(estimate: &RampEstimate, summary: &Summary, style: &Style) -> String {
    let mut lines = vec![("Throughput", estimate.remark.clone())];
    lines.extend(cells::facts(estimate, summary));
    lines.extend(cells::resources(estimate));
    lines.iter().map(|(title, text)| hang(&style.paint(Paint::Bold, &format!("{title:<13}")), 13, text, style.width)).collect()
}

/// The estimate as JSON, ending in a line break. docs/capacity.md describes every field.
pub fn ramp_json(estimate: &RampEstimate) -> String {
    crate::json::pretty(estimate)
}

/// The estimate as a page: one file that opens from disk.
pub fn ramp_html(estimate: &RampEstimate, summary: &Summary) -> String {
    crate::html::answer_page("ramp", &RampView::of(estimate, summary))
}
