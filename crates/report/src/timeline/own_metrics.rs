//! Custom metrics as lines of charts: a band like that of an observer, a panel for each metric.

use loadstone_metrics::{MetricSlice, MetricValue, Signal, SignalKind, SignalPoint, Snapshot};

use crate::view::Band;

/// Name of the band, in place of an observer's name.
const BAND: &str = "metrics";

/// The lines for one second. Each part by tags has one line.
pub(crate) fn lines(slice: &Snapshot) -> Vec<(Signal, SignalPoint)> {
    let seconds = f64::from(slice.seconds());
    let mut lines = Vec::new();
    for metric in &slice.metrics {
        let figures = metric.value.figures();
        let (wanted, unit): (&[&str], String) = match metric.value {
            MetricValue::Trend(_) => (&["p50", "p95", "max"], metric.unit.to_string()),
            MetricValue::Counter { .. } => (&["sum"], format!("{}/s", metric.unit)),
            MetricValue::Gauge(_) => (&["last"], metric.unit.to_string()),
            MetricValue::Rate { .. } => (&["share"], "share".to_owned()),
        };
        let wanted = if metric.tags.is_empty() { wanted } else { &wanted[wanted.len() / 2..=wanted.len() / 2] };
        for (figure, value) in figures.into_iter().filter(|(figure, _)| wanted.contains(figure)) {
            let value = if matches!(metric.value, MetricValue::Counter { .. }) { value / seconds } else { value };
            lines.push((signal(metric, figure, &unit), SignalPoint { at: slice.start, value }));
        }
    }
    lines
}

fn signal(metric: &MetricSlice, figure: &str, unit: &str) -> Signal {
    // Braces delimit the label.
    let plain = |text: &str| text.replace('{', "(").replace('}', ")");
    let figure = if figure == "sum" { "per second" } else { figure };
    let label = if metric.tags.is_empty() { figure.to_owned() } else { format!("{figure}, {}", metric.tags) };
    Signal {
        name: format!("{BAND}/{}{{{}}}", plain(&metric.name), plain(&label)),
        observer: BAND.to_owned(),
        kind: SignalKind::Gauge,
        unit: if unit.is_empty() { loadstone_metrics::unit::COUNT.to_owned() } else { unit.to_owned() },
        help: metric.name.to_string(),
        ..Signal::default()
    }
}

/// Percentiles and parts are not layers of a whole.
pub(crate) fn side_by_side(mut bands: Vec<Band>) -> Vec<Band> {
    bands.iter_mut().flat_map(|band| &mut band.panels).for_each(|panel| panel.stacked = false);
    bands
}
