//! A Prometheus or OpenMetrics endpoint.

mod text;

use metrics::SignalKind;

use crate::ObserveError;
use crate::description::Description;
use crate::http::{Address, get};
use crate::readings::{Readings, label};
use text::{Family, Item};

const ACCEPT: &str = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.7,*/*;q=0.1";

#[derive(Debug)]
pub(crate) struct Prometheus {
    address: Address,
    only: Vec<String>,
}

impl Prometheus {
    pub(crate) fn from_description(description: &mut Description<'_>) -> Result<Self, ObserveError> {
        let address = Address::parse(description.required_text("url")?).map_err(|problem| description.problem(problem))?;
        Ok(Self { address, only: description.texts("only")? })
    }

    /// # Errors
    /// When there is no answer, or it holds not a single sample.
    pub(crate) async fn read(&mut self, out: &mut Readings) -> Result<(), String> {
        let body = get(&self.address, ACCEPT).await?;
        let text = String::from_utf8_lossy(&body);
        let mut any = false;
        for item in text::items(&text) {
            any = true;
            self.put(&item, out);
        }
        if any { Ok(()) } else { Err("the answer holds no metrics".to_owned()) }
    }

    fn put(&self, item: &Item<'_>, out: &mut Readings) {
        if !self.only.is_empty() && !self.only.iter().any(|pattern| matches(pattern, item.name)) {
            return;
        }
        let kind = match item.family {
            // A histogram's buckets are many series that nobody draws; its count and sum say rate and mean.
            Family::Histogram if item.name.ends_with("_bucket") => return,
            Family::Counter => SignalKind::Counter,
            Family::Histogram | Family::Summary if item.name.ends_with("_count") || item.name.ends_with("_sum") => SignalKind::Counter,
            Family::Histogram | Family::Summary | Family::Other => SignalKind::Gauge,
        };
        let labels: Vec<String> = item.labels.iter().map(|(name, value)| format!("{name}={}", label(value))).collect();
        let metric = if labels.is_empty() { item.name.to_owned() } else { format!("{}{{{}}}", item.name, labels.join(",")) };
        out.push(kind, &metric, unit_of(item.name), item.help, item.value);
    }
}

/// Prometheus names end in their unit.
fn unit_of(name: &str) -> &'static str {
    let plain = name.trim_end_matches("_total").trim_end_matches("_sum");
    match plain.rsplit('_').next() {
        _ if name.ends_with("_count") => "1",
        Some("seconds") => "seconds",
        Some("bytes") => "bytes",
        _ => "1",
    }
}

/// A name, or a pattern with `*` for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            let Some(rest) = name.strip_prefix(before) else { return false };
            (0..=rest.len()).filter(|at| rest.is_char_boundary(*at)).any(|at| matches(after, &rest[at..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("http_requests_total", "http_requests_total", true),
            ("http_*", "http_requests_total", true),
            ("*_total", "http_requests_total", true),
            ("http_*_seconds_*", "http_wait_seconds_count", true),
            ("http", "http_requests_total", false),
            ("*x", "http", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn kinds_units_and_labels() {
        let text = "# HELP jobs_done_total Jobs done.\n# TYPE jobs_done_total counter\njobs_done_total{queue=\"a{b}\",le=\"1\"} 5\n\
            # TYPE wait_seconds histogram\nwait_seconds_bucket{le=\"1\"} 3\nwait_seconds_sum 1.5\nwait_seconds_count 3\n# TYPE heap_bytes gauge\nheap_bytes 1e6 1700000000000\n\
            loose NaN\n";
        let prometheus = Prometheus { address: Address::parse("http://h/m").unwrap(), only: Vec::new() };
        let mut out = Readings::new("app");
        text::items(text).for_each(|item| prometheus.put(&item, &mut out));
        let seen: Vec<_> = out.finish(0).into_iter().map(|(s, p)| (s.name.clone(), s.kind, s.unit.clone(), p.value)).collect();
        assert_eq!(
            seen,
            [
                ("app/jobs_done_total{queue=a(b),le=1}".to_owned(), SignalKind::Counter, "1".to_owned(), 5.0),
                ("app/wait_seconds_sum".to_owned(), SignalKind::Counter, "seconds".to_owned(), 1.5),
                ("app/wait_seconds_count".to_owned(), SignalKind::Counter, "1".to_owned(), 3.0),
                ("app/heap_bytes".to_owned(), SignalKind::Gauge, "bytes".to_owned(), 1e6),
            ]
        );
    }
}
