//! Knobs and proxies, from a test file to their changes.

use loadstone_script::{Inputs, KnobChange, KnobTarget};
use loadstone_stub::ProxyEffects;

use crate::folder::{load_error, load_with};

const TEST: &str = r#"
import { knob, once, param, proxy, scenario, test } from "loadstone";
const only = scenario("Only", async () => {});
export default test({ load: only.run(once()) });
"#;

#[test]
fn a_function_returns_the_change_for_each_value() {
    let source = format!(
        r#"{TEST}
const database = proxy.tcp({{ listen: "127.0.0.1:6432", to: "127.0.0.1:5432", bandwidth: 1000 }});
const resize = (size) => [{{ file: "pool.conf", text: `size=${{size}}` }}, {{ command: "reload" }}];
knob("pool", {{ values: [5, 10], apply: resize, ready: "http://u:pass-word@h/up" }});
const headers = {{ authorization: "Bearer t0p-secret" }};
knob("mode", {{ values: ["a", "b"], within: "5s", apply: (mode) => ({{ http: "http://h/mode", json: {{ mode }}, headers }}) }});
knob("delay", {{ values: ["0ms", "2ms"], apply: (delay) => ({{ proxy: database, delay }}) }});
knob("cpus", {{ values: [2, "all"], apply: (cpus) => ({{ cpus, of: {{ port: 8080 }} }}) }});
"#
    );
    let loaded = load_with(&source, &[], &Inputs::default()).unwrap();
    let changes = |knob: usize, value: usize| loaded.knobs[knob].values[value].changes.clone();
    assert_eq!(
        changes(0, 1),
        [
            KnobChange::File { file: "pool.conf".to_owned(), text: "size=10".to_owned() },
            KnobChange::Command { command: "reload".to_owned() }
        ]
    );
    assert_eq!((loaded.knobs[0].values[1].label.as_str(), loaded.knobs[0].values[1].amount), ("10", Some(10.0)));
    assert_eq!((loaded.knobs[1].within_ns, loaded.knobs[1].values[0].amount), (5_000_000_000, None));
    let KnobChange::Http { http, method, headers, body } = changes(1, 1).swap_remove(0) else { panic!("{:?}", changes(1, 1)) };
    assert_eq!((http.as_str(), method.as_str(), body.as_str()), ("http://h/mode", "POST", r#"{"mode":"b"}"#));
    assert!(headers.contains(&("content-type".to_owned(), "application/json".to_owned())), "{headers:?}");
    assert_eq!(changes(2, 1), [KnobChange::Proxy { proxy: 0, delay_ns: 2_000_000, bytes_per_second: None, resets: 0.0 }]);
    assert_eq!(changes(3, 0), [KnobChange::Cpus { cpus: Some(2.0), of: KnobTarget::Port(8080) }]);
    assert_eq!(changes(3, 1), [KnobChange::Cpus { cpus: None, of: KnobTarget::Port(8080) }]);
    let proxy = &loaded.proxies[0];
    assert_eq!((proxy.listen.as_str(), proxy.to.as_str()), ("127.0.0.1:6432", "127.0.0.1:5432"));
    assert_eq!(proxy.effects, ProxyEffects { bytes_per_second: Some(1_000), ..ProxyEffects::default() });
    // Their credentials are shown nowhere.
    let shown = loaded.plan.all_secrets().hide("pass-word t0p-secret").into_owned();
    assert!(!shown.contains("pass-word") && !shown.contains("t0p-secret"), "{shown}");
}

#[test]
fn mistakes_are_errors_with_their_line() {
    for (wrong, expected) in [
        (r#"knob("a", { values: [1], apply: () => ({ command: "x" }) });"#, "two or more"),
        (r#"knob("a", { values: [1, 1], apply: () => ({ command: "x" }) });"#, "the same"),
        (r#"knob("a", { values: [1, 2], apply: "x" });"#, "a function that returns the change"),
        (r#"knob("a", { values: [1, 2], aply: () => ({ command: "x" }) });"#, "did you mean `apply`"),
        (r#"knob("a", { values: [1, 2], apply: () => ({ comand: "x" }) });"#, "expected one of"),
        (r#"knob("a", { values: [1, 2], apply: () => ({ proxy: 1 }) });"#, "the result of proxy.tcp(…)"),
        (r#"knob("a", { values: [1, 2], apply: () => ({ paused: true, of: {} }) });"#, "name one of port, pid, cgroup"),
        (r#"proxy.tcp({ listen: "6432", to: "127.0.0.1:5432" });"#, "is not an address"),
    ] {
        let error = load_error(&format!("{TEST}\n{wrong}\n"));
        assert!(error.message.contains(expected), "{wrong}: {}", error.message);
        assert_eq!(error.place.map(|place| place.line), Some(6), "{wrong}");
    }
}
