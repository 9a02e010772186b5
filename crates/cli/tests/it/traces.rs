//! Traces of real services: Node's automatic instrumentation sends its spans over HTTP and gRPC under load.

use serde_json::Value;

use crate::harness::{Folder, server};

fn spans<'a>(summary: &'a Value, request: &str) -> &'a Vec<Value> {
    let requests = summary["spans"].as_array().expect("spans");
    let found = requests.iter().find(|row| row["name"] == request).unwrap_or_else(|| panic!("no spans of {request}: {requests:#?}"));
    found["spans"].as_array().expect("a list")
}

fn row<'a>(spans: &'a [Value], service: &str, kind: &str) -> &'a Value {
    let is_it = |row: &&Value| row["service"] == service && row["kind"] == kind;
    spans.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} span of {service}: {spans:#?}"))
}

/// Of ten arrivals per second at the end, five go to the checkout. It has two places and takes 20 ms in each, far below its limit. The list requests twelve
/// prices, one after another.
#[test]
fn spans_of_real_services_show_where_the_time_goes() {
    let traced = server::traced();
    let script = format!(
        r#"import {{ arrivals, observe, scenario, test }} from "loadstone";
const shop = scenario("Shop", async (user) => {{
  await user.get("/list", {{ name: "List" }});
  await user.get("/checkout", {{ name: "Check out" }});
  await user.get(`/broken?${{user.id}}`, {{ name: "Broken", expect: {{ status: 500 }} }});
}});
export default test({{ target: "{}", load: shop.run(arrivals(10).for("6s")), observe: [observe.traces({{ listen: "{}" }})] }});
"#,
        traced.address, traced.spans_to
    );
    let folder = Folder::new().file("traced.load.ts", &script);
    let ended = folder.run(&["run", "traced.load.ts"]);
    let summary = ended.summary();
    for (request, traces) in [("List", 60), ("Check out", 60), ("Broken", 60)] {
        let requests = summary["spans"].as_array().expect("spans");
        let found = requests.iter().find(|row| row["name"] == request).unwrap_or_else(|| panic!("{}", ended.everything()));
        assert_eq!((&found["scenario"], &found["traces"]), (&"Shop".into(), &traces.into()), "{}", ended.everything());
    }
    let list = spans(&summary, "List");
    let (entry, call, answer) = (row(list, "shop", "server"), row(list, "shop", "client"), row(list, "prices", "server"));
    assert_eq!([entry, call, answer].map(|row| row["calls"].as_f64().expect("a number")), [1.0, 12.0, 12.0], "{list:#?}");
    assert_eq!([entry, call, answer].map(|row| row["depth"].as_u64().expect("a number")), [0, 1, 2], "{list:#?}");
    let checkout = row(spans(&summary, "Check out"), "prices", "server");
    let waits = checkout["path_seconds"].as_f64().expect("seconds");
    assert!(waits >= 0.019, "a price takes 20 ms there: {checkout:#?}");
    assert_eq!(row(spans(&summary, "Broken"), "shop", "server")["errors"], 60);
    let findings = summary["verdict"]["findings"]["findings"].as_array().expect("a list");
    let repeated = findings.iter().find(|finding| finding["rule"] == "repeated-calls").unwrap_or_else(|| panic!("{}", ended.everything()));
    assert!(
        repeated["claim"].as_str().expect("a string").starts_with("\"List\" calls `GET` 12 times per request, one after another"),
        "{repeated}"
    );
    let ended = ended.says("shop: GET");
    assert!(findings.iter().all(|finding| finding["rule"] != "span-growth"), "{}", ended.everything());
}
