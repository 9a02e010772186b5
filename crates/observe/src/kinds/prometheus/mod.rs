//! A Prometheus or OpenMetrics endpoint.

mod text;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing {
    use super::{Prometheus, SignalCollector, text};
    use crate::http::Address;

    pub(in crate::kinds) fn exposition(text: &str, out: &mut SignalCollector) {
        let Ok(address) = Address::parse("http://127.0.0.1/") else { return };
        let observer = Prometheus { address, only: vec!["*a*".to_owned(), "*".to_owned()] };
        text::samples(text).for_each(|sample| observer.put(&sample, out));
    }
}

use loadstone_metrics::{SignalKind, unit};

use crate::collector::{MetricSpec, SignalCollector, label};
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::http::{Address, FetchError, get};
use crate::kind::{MacSupport, ObserverKind};
use crate::option::{ADDRESS, ObserverOption, OptionValue};
use crate::reader::{PendingRead, SignalReader};
use crate::{pools, queues, runtimes};
use text::{ExpositionSample, SampleType};

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "prometheus",
    watches: "any exporter of Prometheus metrics",
    example: "observe.prometheus(\"http://127.0.0.1:9100/metrics\", { only: [\"pool_*\"] })",
    alternatives: "",
    reports: "its own names: `prometheus/pool_size`",
    options: &[
        ADDRESS,
        ObserverOption {
            name: "only",
            takes: OptionValue::Texts,
            help: "names of the metrics to read; `*` matches any text; if empty, all",
        },
    ],
    on_macos: MacSupport::Full,
    make: |description| Ok(Box::new(Prometheus::from_description(description)?)),
};

const ACCEPT: &str = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.7,*/*;q=0.1";

#[derive(Debug, thiserror::Error)]
enum ScrapeError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("the response contains no metrics")]
    NoMetrics,
}

#[derive(Debug)]
struct Prometheus {
    address: Address,
    only: Vec<String>,
}

impl SignalReader for Prometheus {
    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async { Ok(self.look(out).await?) })
    }
}

impl Prometheus {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        let address = Address::parse(description.required_text("url")).map_err(|problem| description.problem(problem.to_string()))?;
        Ok(Self { address, only: description.texts("only") })
    }

    /// # Errors
    /// When there is no response, or it contains no sample.
    async fn look(&self, out: &mut SignalCollector) -> Result<(), ScrapeError> {
        let body = get(&self.address, ACCEPT).await?;
        let text = String::from_utf8_lossy(&body);
        let mut any = false;
        for sample in text::samples(&text) {
            any = true;
            self.put(&sample, out);
        }
        if any { Ok(()) } else { Err(ScrapeError::NoMetrics) }
    }

    fn put(&self, sample: &ExpositionSample<'_>, out: &mut SignalCollector) {
        let name = sample.name;
        if !self.only.is_empty() && !self.only.iter().any(|pattern| matches(pattern, name)) {
            return;
        }
        let kind = match sample.sample_type {
            // A histogram's buckets are many series that are not drawn; its count and sum give rate and mean.
            SampleType::Histogram if name.ends_with("_bucket") => return,
            SampleType::Counter => SignalKind::Counter,
            SampleType::Histogram | SampleType::Summary if name.ends_with("_count") || name.ends_with("_sum") => SignalKind::Counter,
            SampleType::Histogram | SampleType::Summary | SampleType::Other => SignalKind::Gauge,
        };
        let clean: Vec<(&str, String)> = sample.labels.iter().map(|(name, value)| (*name, label(value))).collect();
        let labels: Vec<(&str, Option<&str>)> = clean.iter().map(|(name, value)| (*name, Some(value.as_str()))).collect();
        out.put_described(MetricSpec::new(kind, name, unit_of(name), sample.help), &labels, sample.value, |signal| {
            let signal = queues::with_meaning(runtimes::with_meaning(signal));
            if signal.role.is_some() { signal } else { pools::with_meaning(signal) }
        });
    }
}

/// Prometheus names end in their unit.
fn unit_of(name: &str) -> &'static str {
    let plain = name.trim_end_matches("_total").trim_end_matches("_sum");
    match plain.rsplit('_').next() {
        _ if name.ends_with("_count") => unit::COUNT,
        Some("seconds") => unit::SECONDS,
        Some("bytes") => unit::BYTES,
        _ => unit::COUNT,
    }
}

/// A name, or a pattern with `*` for any characters.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    // The leftmost place of each piece leaves the most for those after it, so no other place has to be tried. Names are foreign, and may be long.
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod expositions;

#[cfg(test)]
mod tests {
    use super::*;

    /// The time once grew with the length to the power of the number of stars.
    #[test]
    fn a_pattern_is_compared_with_a_long_name_in_linear_time() {
        let name = "a".repeat(1 << 20);
        assert!(!matches("*a*a*a*b*", &name) && matches("*a*a*a*", &name) && matches("a*a", &name));
        for (pattern, name, is_match) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*a", "a", false),
            ("*", "", true),
            ("*b*", "abc", true),
            ("a*c", "abcb", false),
            ("*bc", "bcbc", true),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }

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
            # TYPE wait_seconds histogram\nwait_seconds_bucket{le=\"1\"} 3\nwait_seconds_sum 1.5\nwait_seconds_count 3\n\
            # TYPE heap_bytes gauge\nheap_bytes 1e6 1700000000000\n\
            loose NaN\n";
        let prometheus = Prometheus { address: Address::parse("http://h/m").unwrap(), only: Vec::new() };
        let mut out = SignalCollector::new("app");
        text::samples(text).for_each(|sample| prometheus.put(&sample, &mut out));
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
