//! Name servers, from a test file to their answers.

use std::sync::Arc;

use loadstone_metrics::clock::Monotonic;
use loadstone_script::{Inputs, Stubs};

use crate::folder::{load_error, load_with};

const TEST: &str = r#"
import { once, scenario, stub, test } from "loadstone";
const only = scenario("Only", async () => {});
export default test({ load: only.run(once()) });
"#;

#[test]
fn a_name_server_serves_while_the_test_runs() {
    let source = format!(
        r#"{TEST}
stub.dns({{ listen: "127.0.0.1:0", delay: "uniform(1ms, 2ms)", loss: "1%", names: {{
  "db.test": ["127.0.0.1", "::1"],
  "statsd.test": {{ address: "127.0.0.2", ttl: "5s", moves: [{{ after: "1m", address: "127.0.0.3" }}] }},
}} }});
"#
    );
    let loaded = Arc::new(load_with(&source, &[], &Inputs::default()).unwrap());
    assert!(loaded.has_stubs() && loaded.reachable_here_only().is_none(), "the users do not ask it");
    let stubs = Stubs::start(&loaded, Box::new(|_| {})).unwrap();
    stubs.begin(Monotonic::start());
    assert_eq!(stubs.seconds().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["dns"]);
}

#[test]
fn mistakes_are_errors() {
    for (wrong, expected) in [
        (r#"stub.dns({ listen: "127.0.0.1", names: {} });"#, "is not an address"),
        (r#"stub.dns({ listen: "127.0.0.1:0" });"#, "`names` is an object"),
        (r#"stub.dns({ listen: "127.0.0.1:0", names: { a: "localhost" } });"#, "is not an address"),
        (r#"stub.dns({ listen: "127.0.0.1:0", names: { a: { adress: "127.0.0.1" } } });"#, "did you mean `address`"),
        (r#"stub.dns({ listen: "127.0.0.1:0", delay: "soon", names: {} });"#, "not a delay"),
        (
            r#"const moves = [{ after: "2s", address: "127.0.0.2" }, { after: "1s", address: "127.0.0.3" }];
               stub.dns({ listen: "127.0.0.1:0", names: { a: { address: "127.0.0.1", moves } } });"#,
            "are not in order of time",
        ),
    ] {
        let error = load_error(&format!("{TEST}\n{wrong}"));
        assert!(error.to_string().contains(expected), "{wrong}: {error}");
    }
}
