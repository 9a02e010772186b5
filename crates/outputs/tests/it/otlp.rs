//! OTLP, decoded with OpenTelemetry's own messages.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, Metric, NumberDataPoint, metric::Data, number_data_point::Value};
use prost::Message;

use crate::fixtures::{self, REQUESTS};
use crate::receiver;

fn last_request(seconds: u32) -> ExportMetricsServiceRequest {
    let (address, received) = receiver::start("200 OK");
    fixtures::send(&format!("otlp=http://me:pw@{address}"), "r1", seconds);
    let last = received.try_iter().last().expect("a request");
    assert!(last.head.starts_with("post /v1/metrics http/1.1"), "{}", last.head);
    assert!(
        last.head.contains("content-type: application/x-protobuf") && last.head.contains("authorization: basic bwu6chc="),
        "{}",
        last.head
    );
    ExportMetricsServiceRequest::decode(last.body.as_slice()).expect("a request that OpenTelemetry can decode")
}

fn metric<'a>(metrics: &'a [Metric], name: &str) -> &'a Metric {
    metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn the_state_of_the_run_is_exported_as_sums_and_exponential_histograms() {
    let request = last_request(3);
    let resource = &request.resource_metrics[0];
    let attributes: Vec<&str> = resource.resource.as_ref().unwrap().attributes.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(attributes, ["service.name", "loadstone.run", "loadstone.test"]);
    let metrics = &resource.scope_metrics[0].metrics;

    let Some(Data::Sum(sum)) = &metric(metrics, "loadstone.requests").data else { panic!("requests are a sum") };
    assert!(sum.is_monotonic && sum.aggregation_temporality == AggregationTemporality::Cumulative as i32);
    let total: f64 =
        sum.data_points.iter().map(|point| if let Some(Value::AsDouble(value)) = point.value { value } else { f64::NAN }).sum();
    assert_eq!(total, 3.0 * REQUESTS as f64);

    let Some(Data::Gauge(levels)) = &metric(metrics, "loadstone.signal").data else { panic!("levels are a gauge") };
    let level = |point: &NumberDataPoint| if let Some(Value::AsDouble(value)) = point.value { value } else { f64::NAN };
    let keys = |point: &NumberDataPoint| point.attributes.iter().map(|one| one.key.clone()).collect::<Vec<_>>();
    let sessions = levels.data_points.iter().find(|point| point.attributes.len() == 4).expect("the one with a series");
    assert_eq!((keys(sessions).join(" "), level(sessions)), ("observer signal series unit".to_owned(), 1.0));
    let Some(Data::Sum(counters)) = &metric(metrics, "loadstone.signal_counter").data else { panic!("counters are sums") };
    assert_eq!(
        counters.data_points.iter().map(level).collect::<Vec<_>>(),
        [40.0, 1.0, 1e7],
        "commits, CPU, bytes read: grown since the first second"
    );

    let times = metric(metrics, "loadstone.response_time");
    assert_eq!(times.unit, "s");
    let Some(Data::ExponentialHistogram(histogram)) = &times.data else { panic!("response times are an exponential histogram") };
    let point = &histogram.data_points[0];
    assert!(point.time_unix_nano > point.start_time_unix_nano);
    assert_eq!((point.count, point.zero_count, point.min, point.max), (3 * REQUESTS, 0, Some(0.001), Some(0.1)));
    assert!((point.sum.unwrap() - 3.0 * 5.05).abs() < 1e-6);
    // Bucket i holds what lies above base^(offset + i), up to base^(offset + i + 1): the specification's own definition.
    let base = 2f64.powf(2f64.powi(-point.scale));
    let buckets = point.positive.as_ref().unwrap();
    assert_eq!(buckets.bucket_counts.iter().sum::<u64>(), point.count);
    let rank = (0.99 * point.count as f64).ceil() as u64;
    let mut seen = 0;
    let at = buckets
        .bucket_counts
        .iter()
        .position(|count| {
            seen += count;
            seen >= rank
        })
        .unwrap();
    let lower = base.powi(buckets.offset + at as i32);
    assert!(lower < 0.099 * 1.002 && 0.099 <= lower * base * 1.002, "p99 lies in {lower}..{}", lower * base);
}
