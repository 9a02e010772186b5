//! InfluxDB's line protocol, parsed by InfluxData's own parser.

use influxdb_line_protocol::{FieldValue, ParsedLine, parse_lines};

use crate::fixtures::{self, REQUESTS};
use crate::receiver;

fn field(line: &ParsedLine<'_>, name: &str) -> f64 {
    match line.field_value(name) {
        Some(FieldValue::I64(value)) => *value as f64,
        Some(FieldValue::F64(value)) => *value,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn every_second_is_a_point_with_what_happened_in_it() {
    let (address, received) = receiver::start("204 No Content");
    let delivery = fixtures::send(&format!("influx=http://{address}/api/v2/write?org=o&bucket=b"), "r 1", 3);
    assert_eq!((delivery.delivered, delivery.lost), (3, 0), "{delivery:?}");
    let requests: Vec<_> = received.try_iter().collect();
    assert!(requests[0].head.starts_with("post /api/v2/write?org=o&bucket=b http/1.1"), "{}", requests[0].head);
    let text: String = requests.iter().map(|request| String::from_utf8(request.body.clone()).expect("UTF-8")).collect();
    let lines: Vec<ParsedLine<'_>> = parse_lines(&text).map(|line| line.expect("a line that InfluxData can parse")).collect();
    let of = |name: &str| lines.iter().filter(|line| line.series.measurement == name).collect::<Vec<_>>();
    let requests = of("loadstone_request");
    assert_eq!((requests.len(), of("loadstone_iteration").len(), of("loadstone_load").len()), (3, 3, 3));
    let first = requests[0];
    let tag = |name: &str| first.tag_value(name).map(ToString::to_string);
    assert_eq!(
        (tag("name").as_deref(), tag("run").as_deref(), tag("scenario").as_deref()),
        (Some(fixtures::NAME), Some("r 1"), Some("Buy"))
    );
    assert_eq!((field(first, "count"), field(first, "failed"), field(first, "received_bytes")), (REQUESTS as f64, 1.0, 9000.0));
    assert!((field(first, "p99") - 0.099).abs() < 0.001 && field(first, "max") == 0.1);
    let apart = requests[1].timestamp.unwrap() - first.timestamp.unwrap();
    assert_eq!(apart, 1_000_000_000);
    assert_eq!(field(of("loadstone_flow")[2], "open"), 3.0);
    assert_eq!(field(of("loadstone_load")[0], "users_active"), 7.0);
    let metrics = of("loadstone_metric");
    let (value, orders) = (metrics[0], metrics[2]);
    assert_eq!((metrics.len(), field(value, "min"), field(value, "max"), field(value, "count")), (9, -2.5, 5.0, 2.0));
    assert_eq!((orders.tag_value("tags").map(ToString::to_string).as_deref(), field(orders, "sum")), (Some("country=DE"), 1.5));
    let signals = of("loadstone_signal");
    let named = |name: &str| signals.iter().filter(|line| line.tag_value("signal").is_some_and(|tag| *tag == name)).collect::<Vec<_>>();
    assert_eq!(named("sessions")[0].tag_value("series").map(ToString::to_string).as_deref(), Some("wait=Lock:tuple"));
    assert_eq!(named("sessions").iter().map(|line| field(line, "value")).collect::<Vec<_>>(), [-1.0, 0.0, 1.0]);
    // A counter's first reading has nothing to have grown from.
    assert_eq!(named("cpu").iter().map(|line| field(line, "per_second")).collect::<Vec<_>>(), [0.5, 0.5]);
}
