//! The examples as shown in their README, against the systems that they are written for.

use std::fs;

use crate::harness::{Ended, Folder, server};

fn run(file: &str, parameters: &[String]) -> Ended {
    let path = server::examples().join(file);
    let mut arguments = vec!["run", path.to_str().expect("a path in UTF-8")];
    for parameter in parameters {
        arguments.extend(["-p", parameter]);
    }
    Folder::new().run(&arguments)
}

#[test]
fn customers_order_from_the_shop_over_tls() {
    let shop = server::shop();
    let parameters = [
        format!("target={}", shop.address),
        format!("certificate={}", shop.certificate),
        "customersPerSecond=8".to_owned(),
        "runTime=4s".to_owned(),
        "thinkTime=20ms".to_owned(),
    ];
    // Its thresholds on times assume a dedicated machine. On any machine, every step must succeed.
    let ended = run("shop.load.ts", &parameters);
    assert!(matches!(ended.status.code(), Some(0 | 3 | 4)), "{}", ended.everything());
    let summary = ended.summary();
    let totals = &summary["totals"];
    assert_eq!((&totals["requests_failed"], &totals["iterations_failed"]), (&0.into(), &0.into()), "{}", ended.everything());
    assert_eq!((&totals["checks_failed"], &summary["errors"]), (&0.into(), &serde_json::json!([])), "{}", ended.everything());
    let iterations = totals["iterations"].as_u64().unwrap();
    assert!((10..80).contains(&iterations), "Poisson arrivals at 8/s for 4 s: {iterations}");
    for name in ["Log in", "List products", "Create order", "Read order", "Delete order", "List orders"] {
        let row = summary["requests"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(row["count"], iterations, "{name}");
    }
    let groups = summary["groups"].as_array().unwrap();
    assert_eq!((groups.len(), &groups[0]["name"], &groups[0]["count"]), (1, &"Order and look".into(), &iterations.into()));
}

#[test]
fn customers_are_notified_of_their_orders() {
    let shop = server::shop();
    let ended = run(
        "events.load.ts",
        &[
            format!("target={}", shop.address),
            format!("certificate={}", shop.certificate),
            "customers=3".to_owned(),
            "runTime=3s".to_owned(),
        ],
    );
    assert!(matches!(ended.status.code(), Some(0 | 3 | 4)), "{}", ended.everything());
    let summary = ended.summary();
    let totals = &summary["totals"];
    assert_eq!((&totals["requests_failed"], &totals["iterations_failed"]), (&0.into(), &0.into()), "{}", ended.everything());
    assert_eq!((&totals["checks_failed"], &summary["errors"]), (&0.into(), &serde_json::json!([])), "{}", ended.everything());
    let rows = summary["requests"].as_array().unwrap();
    let count = |name: &str| rows.iter().find(|row| row["name"] == name).and_then(|row| row["count"].as_u64()).unwrap_or_default();
    let (streams, orders) = (count("Watch"), count("Create order"));
    assert!(streams >= 3 && orders >= streams, "{streams} streams, {orders} orders\n{}", ended.everything());
    assert_eq!(count("Order event"), orders, "{}", ended.everything());
}

#[test]
fn visitors_read_static_files() {
    let ended = run("files.load.ts", &[format!("target={}", server::nginx()), "visitors=5".to_owned(), "runTime=2s".to_owned()]);
    assert!(matches!(ended.status.code(), Some(0 | 3 | 4)), "{}", ended.everything());
    assert_eq!(ended.summary()["totals"]["requests_failed"], 0, "{}", ended.everything());
    assert_eq!(ended.summary()["errors"], serde_json::json!([]), "{}", ended.everything());
    assert!(ended.outcomes("passed") > 15, "{}", ended.everything());
}

/// Runs an example against a data store: each iteration sends this many requests, and none fails.
fn serves(example: &str, store: String, requests: u64) {
    let ended = run(example, &[store, "perSecond=20".to_owned(), "runTime=2s".to_owned()]);
    assert!(matches!(ended.status.code(), Some(0 | 3 | 4)), "{}", ended.everything());
    let summary = ended.summary();
    let totals = &summary["totals"];
    assert_eq!((&totals["requests_failed"], &totals["checks_failed"]), (&0.into(), &0.into()), "{}", ended.everything());
    let counted = |name: &str| totals[name].as_u64().expect("a total is a count");
    assert_eq!(counted("requests"), requests * counted("iterations"), "{}", ended.everything());
    assert!(ended.outcomes("passed") >= requests, "{}", ended.everything());
}

#[test]
fn carts_are_kept_in_redis() {
    serves("redis.load.ts", format!("redis=redis://{}/3", server::redis()), 3);
}

#[test]
fn orders_are_written_to_the_shops_database() {
    serves("sql.load.ts", format!("database={}", server::shop().database), 5);
}

#[test]
fn seats_are_booked_in_mariadb() {
    serves("mysql.load.ts", format!("database={}", server::mariadb()), 5);
}

#[test]
fn orders_are_written_to_kafka_and_read_again() {
    let broker = format!("broker=kafka://{}", server::kafka());
    let tried = Folder::new().run(&["try", server::examples().join("kafka.load.ts").to_str().unwrap(), "-p", &broker]);
    tried.code(0).says("KAFKA").says("topic orders: 1 record consumed");
    let ended = run("kafka.load.ts", &[broker, "perSecond=20".to_owned(), "runTime=2s".to_owned()]);
    assert!(matches!(ended.status.code(), Some(0 | 3 | 4)), "{}", ended.everything());
    let summary = ended.summary();
    let (totals, flow) = (&summary["totals"], &summary["flows"][0]);
    assert_eq!((&totals["requests_failed"], &totals["checks_failed"]), (&0.into(), &0.into()), "{}", ended.everything());
    assert!(totals["requests"].as_u64() >= Some(30) && totals["requests"] == totals["iterations"], "{}", ended.everything());
    assert_eq!((&flow["started"], &flow["finished"]), (&totals["iterations"], &totals["iterations"]), "{}", ended.everything());
}

#[test]
fn the_initial_test_runs() {
    let folder = Folder::new();
    folder.run(&["init", "--target", server::nginx()]).code(0).says("first.load.ts");
    for file in ["first.load.ts", "loadstone.d.ts", "tsconfig.json"] {
        assert!(folder.path().join(file).is_file(), "{file}");
    }
    let tried = folder.run(&["try", "first.load.ts"]).code(0).says("GET ").says("200");
    assert!(folder.runs().is_empty(), "a try records nothing\n{}", tried.everything());

    // The first test exceeds the time limit of tests, so its times are shortened.
    let script = fs::read_to_string(folder.path().join("first.load.ts")).unwrap();
    assert!(script.contains(server::nginx()), "{script}");
    let plan = folder.run(&["inspect", "first.load.ts"]).code(0);
    let plan: serde_json::Value = serde_json::from_str(&plan.stdout).expect("the plan as JSON");
    assert!(plan.to_string().contains(server::nginx()), "{plan}");
}

#[test]
fn the_demo_finds_the_planted_bottleneck() {
    let folder = Folder::new();
    let ended = folder.run(&["demo", "--for", "6s"]);
    assert!(ended.summary()["totals"]["requests"].as_u64().unwrap() > 50, "{}", ended.everything());
    assert!(folder.runs()[0].join("report.html").is_file());
    ended.says("loadstone experiment demo").says("loadstone capacity demo");
}

#[test]
fn grpc_and_tcp_stubs_are_called_and_observed() {
    let example = server::examples().join("stubs.load.ts");
    let (example, folder) = (example.to_str().unwrap(), Folder::new());
    let ended = folder.run(&["run", example, "-p", "perSecond=20", "-p", "runTime=3s"]);
    assert!(matches!(ended.status.code(), Some(0 | 3 | 4)), "{}", ended.everything());
    let summary = ended.summary();
    let totals = &summary["totals"];
    assert_eq!((&totals["requests_failed"], &totals["iterations_failed"]), (&0.into(), &0.into()), "{}", ended.everything());
    assert_eq!((&totals["checks_failed"], &summary["errors"]), (&0.into(), &serde_json::json!([])), "{}", ended.everything());
    let (iterations, flow) = (&totals["iterations"], &summary["flows"][0]);
    // The ledger's function receives each call, and finishes its journey.
    assert!(iterations.as_u64() >= Some(40), "{}", ended.everything());
    assert_eq!((&flow["name"], &flow["started"], &flow["finished"]), (&"Asked".into(), iterations, iterations), "{}", ended.everything());
    let signals = fs::read_to_string(folder.runs()[0].join("signals.jsonl")).unwrap();
    assert!(["stub:ledger/calls", "stub:ledger/hold", "stub:cache/calls"].iter().all(|name| signals.contains(name)), "{signals}");
    let tried = folder.run(&["try", example]).code(0);
    tried.says("stub:ledger ledger.v1.Ledger/Balance: 1 call, answered 1 × OK").says("stub:cache TCP: 1 call, answered 1 time");
}
