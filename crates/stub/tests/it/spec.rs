//! A stub from plain data.

use loadstone_stub::StubSpec;
use serde_json::json;

use crate::client;
use crate::server::tls_answer;

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
fn a_wrong_description_names_the_part() {
    let problem = |value| spec(value).start().map(|_| ()).unwrap_err().to_string();
    assert!(problem(json!({ "listen": "here" })).contains("\"here\" is not an address"));
    assert!(problem(json!({ "routes": [{ "route": "GET /a", "delay": "1" }] })).contains("\"GET /a\""));
}

/// A certificate for this name, and its key, as PEM.
fn certificate(name: &str) -> (String, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    (rcgen::CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key).unwrap().pem(), key.serialize_pem())
}

#[test]
fn a_supplied_certificate_is_sent() {
    let (mine, other) = (certificate("bank.example"), certificate("bank.example"));
    let with_key = |key: &str| {
        let mut spec = spec(json!({ "tls": { "certificate": "bank.pem", "key": "bank.key" }, "body": "hello" }));
        spec.read_files(|file| match file {
            "bank.pem" => Ok(mine.0.clone()),
            "bank.key" => Ok(key.to_owned()),
            file => Err(format!("there is no {file}")),
        })
        .unwrap();
        spec
    };
    let server = with_key(&mine.1).start().unwrap();
    assert_eq!(server.certificate_pem(), Some(mine.0.as_str()));
    client::run(async {
        assert_eq!(tls_answer(&server, "bank.example", b"h2").await.unwrap(), (true, "hello".to_owned()));
        assert!(tls_answer(&server, "localhost", b"h2").await.is_err());
    });
    let hidden = serde_json::from_value::<StubSpec>(json!({ "routes": [{ "route": "* /a/*" }, { "route": "GET /a/b" }] })).unwrap();
    for problem in [hidden.check().unwrap_err(), hidden.start().err().unwrap()] {
        let problem = problem.to_string();
        assert!(problem.contains("GET /a/b") && problem.contains("\"* /a/*\" comes before it"), "{problem}");
    }
    for key in [&*other.1, "no key"] {
        let problem = with_key(key).check().unwrap_err().to_string();
        assert!(problem.starts_with("stub: cannot ") && problem.contains("key"), "{problem}");
    }
    assert!(serde_json::from_value::<StubSpec>(json!({ "tls": { "certificate": "bank.pem" } })).is_err());
}
