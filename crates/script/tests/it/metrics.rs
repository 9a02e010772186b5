//! Custom metrics, from the script to the recorder.

use loadstone_metrics::{GaugeValue, MetricValue, Snapshot, Tags};
use loadstone_plan::{Aggregate, Metric, MetricKind};
use loadstone_script::Inputs;

use crate::folder::Folder;
use crate::running::TestWorker;

const DECLARED: &str = r#"
    import { iterations, metric, param, scenario, signal, test } from "loadstone";
    param.string("target", { default: "" });
    const value = metric.trend("Order value", { unit: "EUR" });
    const orders = metric.counter("Orders");
    const queue = metric.gauge("Queue");
    const cached = metric.rate("Cached");
"#;

fn with_body(body: &str) -> String {
    format!(
        r#"{DECLARED}
        const one = scenario("One", async (user) => {{ {body} }});
        export default test({{ load: one.run(iterations(1)) }});"#
    )
}

async fn recorded(body: &str) -> Snapshot {
    let worker = TestWorker::open(&with_body(body), "", &[]);
    worker.with(worker.iterate(0)).await;
    worker.drain()
}

fn of<'a>(snapshot: &'a Snapshot, name: &str, tags: &Tags) -> &'a MetricValue {
    let found = snapshot.metrics.iter().find(|metric| *metric.name == *name && metric.tags == *tags);
    &found.unwrap_or_else(|| panic!("no {name} with {tags} in {:?}", snapshot.metrics)).value
}

#[tokio::test]
async fn each_kind_aggregates_its_values() {
    let snapshot = recorded(
        "value.add(12.5); value.add(-3); orders.add(); orders.add(2.5); queue.set(7); queue.set(4); cached.add(true); cached.add(false); cached.add(true);",
    )
    .await;
    let whole = Tags::default();
    let MetricValue::Trend(values) = of(&snapshot, "Order value", &whole) else { panic!("{snapshot:?}") };
    assert_eq!((values.count(), values.min(), values.max(), values.mean()), (2, Some(-3.0), Some(12.5), Some(4.75)));
    assert_eq!(*of(&snapshot, "Orders", &whole), MetricValue::Counter { count: 2, sum: 3.5 });
    let MetricValue::Gauge(GaugeValue { count, last, min, max, .. }) = of(&snapshot, "Queue", &whole) else { panic!("{snapshot:?}") };
    assert_eq!((*count, *last, *min, *max), (2, 4.0, 4.0, 7.0));
    assert_eq!(*of(&snapshot, "Cached", &whole), MetricValue::Rate { count: 3, hits: 2 });
    let units: Vec<&str> = snapshot.metrics.iter().map(|metric| &*metric.unit).collect();
    assert_eq!(units, ["EUR", "", "", ""]);
}

#[tokio::test]
async fn tagged_values_count_for_the_whole_and_for_their_part() {
    let snapshot = recorded(
        r#"orders.add(1, { tags: { country: "DE", items: 3 } }); orders.add(2, { tags: { items: "3", country: "DE" } });
           orders.add(4, { tags: { country: "FR" } }); orders.add(8);"#,
    )
    .await;
    let count = |tags: &Tags| of(&snapshot, "Orders", tags).clone();
    assert_eq!(count(&Tags::default()), MetricValue::Counter { count: 4, sum: 15.0 });
    assert_eq!(count(&Tags::new([("country", "DE"), ("items", "3")])), MetricValue::Counter { count: 2, sum: 3.0 });
    assert_eq!(count(&Tags::new([("country", "FR")])), MetricValue::Counter { count: 1, sum: 4.0 });
}

#[tokio::test]
async fn an_invalid_value_is_an_error_that_names_the_metric() {
    for (body, expected) in [
        ("value.add(Number.NaN)", r#"metric "Order value": NaN is not a number"#),
        (r#"value.add("5")"#, r#"metric "Order value": "5" is not a number"#),
        ("orders.add(-1)", r#"metric "Orders": -1 is not a number of at least 0"#),
        ("cached.add(1)", r#"metric "Cached": 1 is neither true nor false"#),
        ("orders.add(1, { tag: {} })", "has no option `tag` (did you mean `tags`?)"),
        ("orders.add(1, { tags: { a: {} } })", "the tag `a` must be a string, a number or a boolean"),
        (r#"metric.counter("Late")"#, "declare metrics at the top level of the test"),
        ("orders.set(1)", "there is no `set` here"),
    ] {
        let snapshot = recorded(body).await;
        let errors: Vec<&str> = snapshot.errors.iter().map(|error| &*error.message).collect();
        assert!(errors.len() == 1 && errors[0].contains(expected), "{body}: {errors:?}");
        assert!(snapshot.metrics.is_empty(), "{body}");
    }
}

#[test]
fn the_plan_has_the_metrics_and_their_thresholds() {
    let text = format!(
        r#"{DECLARED}
        const one = scenario("One", async (user) => {{}});
        export default test({{ load: one.run(iterations(1)), thresholds: [
            value.p95.below(200), value.where({{ tags: {{ country: "DE", items: 3 }} }}).mean.above(-1.5), orders.sum.atLeast(10),
            orders.rate.above("90/m"), queue.last.atMost(3), cached.rate.above("80%"), cached.count.equals(4), value.count.atLeast(1),
            signal("a/b").p99.below(3),
        ] }});"#
    );
    let folder = Folder::new(&[("t.load.ts", &text)]);
    let plan =
        loadstone_script::load(&folder.path("t.load.ts"), &Inputs::default()).unwrap_or_else(|error| panic!("{}", error.render())).plan;
    let declared: Vec<(&str, MetricKind, &str)> =
        plan.metrics.iter().map(|metric| (metric.name.as_str(), metric.kind, metric.unit.as_str())).collect();
    assert_eq!(
        declared,
        [
            ("Order value", MetricKind::Trend, "EUR"),
            ("Orders", MetricKind::Counter, ""),
            ("Queue", MetricKind::Gauge, ""),
            ("Cached", MetricKind::Rate, "")
        ]
    );
    let asked: Vec<(&str, Aggregate, f64)> =
        plan.thresholds.iter().map(|threshold| (threshold.label.as_str(), threshold.aggregate, threshold.bound.value)).collect();
    assert_eq!(
        asked[..9],
        [
            ("Order value p95 below 200", Aggregate::Quantile(0.95), 200.0),
            ("Order value mean with country=DE with items=3 above -1.5", Aggregate::Mean, -1.5),
            ("Orders sum at least 10", Aggregate::Count, 10.0),
            ("Orders rate above 90/m", Aggregate::Rate, 1.5),
            ("Queue last value at most 3", Aggregate::Last, 3.0),
            ("Cached share above 80%", Aggregate::Rate, 0.8),
            ("Cached count equal to 4", Aggregate::Count, 4.0),
            ("Order value count at least 1", Aggregate::Count, 1.0),
            ("signal \"a/b\" p99 below 3", Aggregate::Quantile(0.99), 3.0),
        ]
    );
    let Metric::Own { name, kind, unit } = &plan.thresholds[1].metric else { panic!("{:?}", plan.thresholds[1]) };
    assert_eq!((name.as_str(), *kind, unit.as_str()), ("Order value", MetricKind::Trend, "EUR"));
    let tags: Vec<(&str, &str)> = plan.thresholds[1].selector.tags.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(tags, [("country", "DE"), ("items", "3")]);
}

#[test]
fn duplicate_names_and_recording_at_the_top_level_are_rejected() {
    for (line, expected) in [
        (r#"metric.trend("Orders");"#, "two metrics have this name"),
        ("orders.add();", "record metrics inside scenarios"),
        (r#"metric.trend("X", { units: "s" });"#, "did you mean `unit`?"),
    ] {
        let text = format!("{DECLARED} {line} export default test({{ load: scenario(\"One\", () => {{}}).run(iterations(1)) }});");
        let folder = Folder::new(&[("t.load.ts", &text)]);
        let error = loadstone_script::load(&folder.path("t.load.ts"), &Inputs::default()).unwrap_err();
        assert!(error.render().contains(expected), "{line}: {}", error.render());
    }
}
