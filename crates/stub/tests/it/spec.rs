//! A stub from plain data.

use serde_json::json;
use stub::StubSpec;

use crate::client;

fn spec(value: serde_json::Value) -> StubSpec {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_described_stub_serves() {
    let server = spec(json!({ "routes": [
        { "route": "POST /webhook", "delay": "1ms", "status": 201, "template": "{\"seen\": {{json.id}}}" },
        { "route": "GET /limited", "limit": { "rate": "1/h" } },
    ]}))
    .start()
    .unwrap();
    let any = spec(json!({ "json": [1, 2], "status": 418 })).start().unwrap();
    client::run(async {
        let hook = client::once(server.address(), "POST", "/webhook", r#"{"id": 7}"#).await;
        assert_eq!((hook.status().as_u16(), client::json(&hook)), (201, json!({ "seen": 7 })));
        assert_eq!(client::once(server.address(), "GET", "/limited", "").await.status(), 200);
        let limited = client::once(server.address(), "GET", "/limited", "").await;
        assert_eq!(limited.status(), 429);
        let again: u64 = limited.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((3500..=3600).contains(&again), "{again}");
        let answer = client::once(any.address(), "DELETE", "/what/ever", "").await;
        assert_eq!((answer.status().as_u16(), client::json(&answer)), (418, json!([1, 2])));
    });
}

#[test]
fn a_wrong_description_says_where() {
    let problem = |value| spec(value).start().map(|_| ()).unwrap_err().to_string();
    assert!(problem(json!({ "listen": "here" })).contains("\"here\" is not an address"));
    assert!(problem(json!({ "routes": [{ "route": "GET /a", "delay": "1" }] })).contains("\"GET /a\""));
}
