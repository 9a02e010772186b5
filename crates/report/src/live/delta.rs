//! The difference between two views of a page. A view of an hour is close to a megabyte, and a second adds little to it.

use serde::Serialize;

use crate::view::{ChartColumn, Panel, ReportView, RequestCharts, Timeline};

/// The present view, without the steps of its timeline that the reader already has.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub(crate) struct Delta {
    /// Number of leading steps of the previous view that are unchanged.
    kept: usize,
    /// The same for the charts of each request.
    kept_charts: Vec<usize>,
    /// All data over time begins at step `kept`.
    view: ReportView,
}

impl Delta {
    /// The difference from one view to a later one. `None` if more than the last steps differ (coarser steps, another column).
    pub(super) fn between(before: &ReportView, now: &ReportView) -> Option<Self> {
        let (old, new) = (&before.timeline, &now.timeline);
        if old.step_seconds != new.step_seconds || old.heat.edges != new.heat.edges || !same_shape(old, new) {
            return None;
        }
        let columns = columns(old).zip(columns(new)).map(|(old, new)| common(&old.values, &new.values));
        let kept = columns.fold(common(&old.seconds, &new.seconds).min(common(&old.heat.steps, &new.heat.steps)), usize::min);
        let mut view = now.clone();
        let timeline = &mut view.timeline;
        timeline.seconds.drain(..kept);
        timeline.heat.steps.drain(..kept);
        let bands = timeline.bands.iter_mut().flat_map(|band| &mut band.panels);
        for column in timeline.panels.iter_mut().chain(bands).flat_map(|panel| &mut panel.columns) {
            column.values.drain(..kept);
        }
        let mut kept_charts = Vec::with_capacity(view.request_charts.len());
        for (index, charts) in view.request_charts.iter_mut().enumerate() {
            let kept = before.request_charts.get(index).map_or(0, |old| common_steps(old, charts));
            let columns = charts.panels.iter_mut().flat_map(|panel| &mut panel.columns);
            columns.for_each(|column| drop(column.values.drain(..kept)));
            kept_charts.push(kept);
        }
        Some(Self { kept, kept_charts, view })
    }
}

/// Number of leading steps that are the same in all charts of a request; 0 if more than the last steps differ.
fn common_steps(old: &RequestCharts, new: &RequestCharts) -> usize {
    let is_same = columns_of(&old.panels).map(|column| &column.id).eq(columns_of(&new.panels).map(|column| &column.id));
    if old.step_seconds != new.step_seconds || !is_same {
        return 0;
    }
    let pairs = columns_of(&old.panels).zip(columns_of(&new.panels));
    pairs.map(|(old, new)| common(&old.values, &new.values)).min().unwrap_or(0)
}

fn panels(timeline: &Timeline) -> impl Iterator<Item = &Panel> {
    timeline.panels.iter().chain(timeline.bands.iter().flat_map(|band| &band.panels))
}

fn columns(timeline: &Timeline) -> impl Iterator<Item = &ChartColumn> {
    panels(timeline).flat_map(|panel| &panel.columns)
}

fn columns_of(panels: &[Panel]) -> impl Iterator<Item = &ChartColumn> {
    panels.iter().flat_map(|panel| &panel.columns)
}

/// Whether both have the same columns in the same order, so that they can be joined by position.
fn same_shape(old: &Timeline, new: &Timeline) -> bool {
    let observers = |timeline: &Timeline| timeline.bands.iter().map(|band| band.panels.len()).collect::<Vec<_>>();
    let sizes = |timeline: &Timeline| panels(timeline).map(|panel| panel.columns.len()).collect::<Vec<_>>();
    observers(old) == observers(new)
        && sizes(old) == sizes(new)
        && columns(old).map(|column| &column.id).eq(columns(new).map(|column| &column.id))
}

/// Number of leading elements that are equal.
fn common<T: PartialEq>(old: &[T], new: &[T]) -> usize {
    old.iter().zip(new).take_while(|(old, new)| old == new).count()
}
