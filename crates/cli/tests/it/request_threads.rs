//! A real service whose request threads are all busy, and its metrics endpoint with them.

use crate::harness::{Folder, server};

/// The first finding of a run with a third of the limit of 46 requests per second for five seconds, and then more than twice the limit for eight.
fn first_finding(address: &str, metrics: &str) -> String {
    let port = address.rsplit_once(':').expect("an address with a port").1;
    let script = format!(
        r#"import {{ arrivals, observe, scenario, test }} from "loadstone";
const visit = scenario("Visit", (user) => user.get(user.random.boolean(0.65) ? "/report" : "/quick"));
export default test({{
  target: "{address}",
  options: {{ gracefulStop: "0s" }},
  load: visit.run(arrivals(15).for("5s").then(arrivals(120).for("8s"))),
  observe: [observe.prometheus("{metrics}", {{ name: "app", every: "500ms" }}), observe.process({{ port: {port} }})],
}});
"#
    );
    let summary = Folder::new().file("a.load.ts", &script).run(&["run", "a.load.ts"]).summary();
    let first = &summary["verdict"]["findings"]["findings"][0];
    assert!(first["claim"].is_string(), "{:#}", summary["verdict"]);
    format!("{first:#}")
}

#[test]
fn busy_request_threads_are_named_if_the_metrics_endpoint_waits_with_the_requests() {
    let service = server::three_threads();
    let first = first_finding(&service.address, &service.metrics);
    // Threads that waited for a core of a busy test machine may be what everything waits for.
    let is_named = first.contains(r#"the endpoint that \"app\" reads"#) && first.contains("request thread");
    assert!(is_named || first.contains("its threads waited for a core"), "{first}");
}

/// The same service and load. An endpoint with its own thread answers, so that the queue may be behind the request threads.
#[test]
fn an_endpoint_that_answers_is_no_evidence_of_busy_request_threads() {
    let service = server::three_threads();
    let first = first_finding(&service.address, &service.separate_metrics);
    assert!(!first.contains(r#"\"app\""#) && !first.contains("request threads or workers are all busy"), "{first}");
}
