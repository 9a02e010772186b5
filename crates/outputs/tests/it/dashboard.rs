//! The Grafana dashboard: every query of it is answered by a Prometheus that our outputs wrote to.

use loadstone_outputs::Outputs;
use serde_json::Value;

use crate::fixtures;
use crate::prometheus::{Server, wait_until};

#[test]
fn every_query_of_the_dashboard_finds_data() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana/loadstone.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("the dashboard")).expect("JSON");
    let server = Server::start(None);
    let to = format!("prometheus=http://{}/api/v1/write", server.address).parse().expect("a destination");
    let mut outputs = Outputs::start(&[to], &[], None, &fixtures::plan(), &fixtures::run("r1")).expect("it starts");
    // A rate needs two points: the second is sent once the first has arrived.
    fixtures::push(&mut outputs, 0);
    wait_until("the first second to arrive", || !server.query("loadstone_requests_total").is_empty());
    fixtures::push(&mut outputs, 15);
    outputs.finish();
    let targets = dashboard["panels"].as_array().expect("panels").iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let queries: Vec<&str> = targets.filter_map(|target| target["expr"].as_str()).collect();
    assert!(queries.len() >= 8, "{queries:?}");
    for query in queries {
        let filled = query.replace("$run", "r1").replace("$test", "Shop").replace("$__rate_interval", "1m").replace("$observer", ".*");
        assert!(!filled.contains('$'), "{query}");
        assert!(!server.query(&filled).is_empty(), "{query} finds nothing");
    }
}
