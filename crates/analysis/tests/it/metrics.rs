//! Custom metrics and tags, in thresholds and in the summary.

use loadstone_analysis::{ThresholdResult, ThresholdState, conclude, evaluate};
use loadstone_metrics::{
    GaugeValue, MetricSlice, MetricValue, Outcome, SeriesKind, SeriesSlice, Snapshot, TaggedSlice, Tags, ValueHistogram,
};
use loadstone_plan::{Aggregate, Comparison, Metric, MetricKind, Threshold, Window};

use crate::synthetic::{self, MS, Slice, threshold};
use Aggregate::{Count, Last, Max, Mean, Min, Quantile, Rate};
use Comparison::{Above, AtLeast, AtMost, Below, Equals};
use ThresholdState::{Failed, NoData, Passed};

fn metric(name: &str, tags: &Tags, value: MetricValue) -> MetricSlice {
    MetricSlice { name: name.into(), unit: "EUR".into(), tags: tags.clone(), value }
}

fn trend(values: impl IntoIterator<Item = f64>) -> MetricValue {
    let mut histogram = ValueHistogram::default();
    values.into_iter().for_each(|value| histogram.record(value));
    MetricValue::Trend(histogram)
}

/// 20 seconds, each with: "Value" from 1 to 100, those up to 40 with a tag; 5 orders; a queue as long as the second's number; half of
/// "Cached". One request "A" of 10 ms and one of 90 ms, the second with tags.
fn slices() -> Vec<Snapshot> {
    let (whole, de) = (Tags::default(), Tags::new([("country", "DE"), ("kind", "book")]));
    (0..20)
        .map(|second| {
            let mut slice = Slice::new(second);
            slice.record(SeriesKind::Request, "A", 0, 10 * MS, Outcome::Passed);
            slice.record(SeriesKind::Request, "A", 0, 90 * MS, Outcome::Status);
            let mut slow = Slice::new(second);
            slow.record(SeriesKind::Request, "A", 0, 90 * MS, Outcome::Status);
            let slow: SeriesSlice = slow.done().series.remove(0);
            let mut snapshot = slice.done();
            snapshot.tagged = vec![TaggedSlice { tags: de.clone(), series: slow }];
            let level = f64::from(second);
            snapshot.metrics = vec![
                metric("Value", &whole, trend((1..=100).map(f64::from))),
                metric("Value", &de, trend((1..=40).map(f64::from))),
                metric("Orders", &whole, MetricValue::Counter { count: 2, sum: 5.0 }),
                metric(
                    "Queue",
                    &whole,
                    MetricValue::Gauge(GaugeValue { count: 1, sum: level, min: level, max: level, last: level, last_at: snapshot.end }),
                ),
                metric("Cached", &whole, MetricValue::Rate { count: 4, hits: 2 }),
            ];
            snapshot
        })
        .collect()
}

fn own(name: &str, kind: MetricKind, aggregate: Aggregate, comparison: Comparison, bound: f64) -> Threshold {
    threshold(Metric::Own { name: name.to_owned(), kind, unit: "EUR".to_owned() }, aggregate, comparison, bound)
}

fn tagged(mut threshold: Threshold, tags: &[(&str, &str)]) -> Threshold {
    threshold.selector.tags = tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    threshold
}

fn judge(threshold: Threshold) -> ThresholdResult {
    let mut plan = synthetic::plan(synthetic::open(2.0, 20));
    plan.thresholds = vec![threshold];
    evaluate(&synthetic::run_of(plan, slices())).remove(0)
}

#[test]
fn every_kind_is_judged_by_its_aggregates() {
    use MetricKind::{Counter, Gauge, Rate as Share, Trend};
    for (name, kind, aggregate, comparison, bound, state, measured) in [
        ("Value", Trend, Quantile(0.5), AtMost, 50.0, Passed, 50.0),
        ("Value", Trend, Quantile(0.99), Below, 99.0, Failed, 99.0),
        ("Value", Trend, Mean, Equals, 50.5, Passed, 50.5),
        ("Value", Trend, Min, AtLeast, 1.0, Passed, 1.0),
        ("Value", Trend, Max, Below, 100.0, Failed, 100.0),
        ("Value", Trend, Count, Equals, 2000.0, Passed, 2000.0),
        ("Orders", Counter, Count, AtLeast, 100.0, Passed, 100.0),
        ("Orders", Counter, Rate, Above, 5.0, Failed, 5.0),
        ("Queue", Gauge, Last, Equals, 19.0, Passed, 19.0),
        ("Queue", Gauge, Max, Below, 19.0, Failed, 19.0),
        ("Queue", Gauge, Mean, Equals, 9.5, Passed, 9.5),
        ("Cached", Share, Rate, AtLeast, 0.5, Passed, 0.5),
        ("Cached", Share, Count, Equals, 40.0, Passed, 40.0),
    ] {
        let result = judge(own(name, kind, aggregate, comparison, bound));
        assert_eq!((result.state, result.measured), (state, Some(measured)), "{name} {aggregate:?}: {}", result.detail);
    }
    assert!(judge(own("Value", Trend, Max, Below, 100.0)).detail.contains("the maximum was 100 EUR; bound below 100 EUR"));
}

#[test]
fn windows_judge_what_was_recorded_in_them() {
    let mut queue = own("Queue", MetricKind::Gauge, Max, Below, 15.0);
    queue.window = Window::Every { seconds: 5 };
    let result = judge(queue);
    assert_eq!((result.state, result.measured, result.at_seconds), (Failed, Some(19.0), Some(15.0)));
    let mut orders = own("Orders", MetricKind::Counter, Count, AtMost, 25.0);
    orders.window = Window::Every { seconds: 5 };
    assert_eq!((judge(orders.clone()).state, judge(orders).measured), (Passed, Some(25.0)));
}

#[test]
fn a_metric_without_values_has_no_data_and_a_counter_is_zero() {
    let result = judge(own("Other", MetricKind::Trend, Max, Below, 100.0));
    assert_eq!((result.state, result.detail.as_str()), (NoData, "no value was recorded for the metric \"Other\""));
    let result = judge(own("Other", MetricKind::Counter, Count, Equals, 0.0));
    assert_eq!((result.state, result.measured), (Passed, Some(0.0)));
    let result = judge(own("Other", MetricKind::Counter, Rate, Below, 1.0));
    assert_eq!((result.state, result.measured), (Passed, Some(0.0)));
}

#[test]
fn tags_select_parts_of_metrics_and_requests() {
    let de = |tags: &[(&str, &str)]| judge(tagged(own("Value", MetricKind::Trend, Max, AtMost, 40.0), tags));
    assert_eq!((de(&[("country", "DE")]).state, de(&[("kind", "book"), ("country", "DE")]).measured), (Passed, Some(40.0)));
    assert_eq!(de(&[("country", "FR")]).detail, "no value was recorded for the metric \"Value\" with country=FR");
    let slowest = |comparison, tags: &[(&str, &str)]| judge(tagged(threshold(Metric::ResponseTime, Min, comparison, 0.09), tags));
    assert_eq!((slowest(AtLeast, &[("country", "DE")]).state, slowest(AtLeast, &[]).state), (Passed, Failed));
    let failed = |tags: &[(&str, &str)]| judge(tagged(threshold(Metric::Failures, Rate, AtMost, 0.6), tags)).measured;
    assert_eq!((failed(&[("kind", "book")]), failed(&[])), (Some(1.0), Some(0.5)));
    assert_eq!(slowest(AtLeast, &[("country", "FR")]).detail, "no request that the threshold selects has the tags country=FR");
}

#[test]
fn the_summary_has_a_row_for_each_metric_and_part() {
    let summary = conclude(&synthetic::run_of(synthetic::plan(synthetic::open(2.0, 20)), slices()));
    let named: Vec<(&str, String)> = summary.metrics.iter().map(|row| (row.name.as_str(), row.tags.to_string())).collect();
    let parts = "country=DE, kind=book".to_owned();
    assert_eq!(
        named,
        [("Cached", String::new()), ("Orders", String::new()), ("Queue", String::new()), ("Value", String::new()), ("Value", parts)]
    );
    let [cached, orders, queue, value, of_de] = &summary.metrics[..] else { panic!() };
    assert_eq!((cached.share, cached.hits, cached.count), (Some(0.5), Some(40), 80));
    assert_eq!((orders.sum, orders.rate), (Some(100.0), Some(5.0)));
    assert_eq!((queue.last, queue.min, queue.max, queue.mean), (Some(19.0), Some(0.0), Some(19.0), Some(9.5)));
    assert_eq!((value.at(0.5), value.at(0.99), value.at(0.9999), value.mean), (Some(50.0), Some(99.0), None, Some(50.5)));
    assert_eq!((of_de.count, of_de.max), (800, Some(40.0)));
    assert_eq!((summary.requests.len(), summary.requests[0].count, summary.totals.requests), (1, 40, 40), "parts are not counted twice");
    assert_eq!((summary.tagged.len(), summary.tagged[0].row.count, summary.tagged[0].row.failed), (1, 20, 20));
}

#[test]
fn tags_beyond_the_limit_make_a_run_suspect() {
    let mut slices = slices();
    slices[3].tags_overflow = 7;
    let summary = conclude(&synthetic::run_of(synthetic::plan(synthetic::open(2.0, 20)), slices));
    let check = summary.verdict.validity.checks.iter().find(|check| check.id == "series").unwrap();
    assert_eq!(check.grade, Some(loadstone_analysis::Grade::Suspect));
    assert!(check.evidence.starts_with("7 samples had a new set of tags after the limit of 500"), "{}", check.evidence);
}
