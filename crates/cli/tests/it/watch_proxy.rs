//! Loadstone's own proxy as the record of a run. The tool is Loadstone itself, whose run shows how many requests there were and how long they took.

use loadstone_stub::{Behaviour, Delay, Server, TlsOptions};
use serde_json::Value;

use crate::harness::{Ended, Folder, server};

const WAIT_NS: f64 = 20e6;

fn check(summary: &Value, id: &str) -> Value {
    let checks = summary["verdict"]["validity"]["checks"].as_array().expect("the checks");
    checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no {id}")).clone()
}

fn stub() -> Server {
    Server::builder().route("GET /orders/7", Behaviour::new().wait(Delay::Fixed { ns: WAIT_NS })).start().expect("the stub")
}

/// `loadstone run` as the tool, whose own run is stored apart.
fn tool<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let program = [env!("CARGO_BIN_EXE_loadstone"), "run", url, "--runs", "own", "--quiet"];
    [&["--"], &program[..], more].concat()
}

fn own_requests(folder: &Folder) -> Value {
    let newest = std::fs::read_dir(folder.path().join("own")).expect("the tool's runs").flatten().map(|entry| entry.path());
    let file = newest.map(|run| run.join("summary.json")).find(|file| file.exists()).expect("the tool's run");
    serde_json::from_str::<Value>(&std::fs::read_to_string(file).expect("a summary")).expect("JSON")["totals"].clone()
}

#[test]
fn each_request_through_the_proxy_is_one_of_the_record() {
    let (target, folder, port) = (stub(), Folder::new(), server::free_port("127.0.0.1"));
    let (record, url) = (format!("proxy:{port}={}", target.url("")), format!("http://127.0.0.1:{port}/orders/7"));
    let ended =
        folder.run(&[&["watch", "--record", &record, "--load", "users"][..], &tool(&url, &["--users", "4", "--for", "2s"])].concat());
    let summary = ended.summary();
    ended.says("Requests through the proxy are the record").says("at most 4 users");
    let (own, request) = (own_requests(&folder), &summary["requests"][0]);
    assert_eq!((&request["name"], &request["failed"]), (&"GET /orders/{id}".into(), &0.into()), "{summary:#}");
    // Of the four that the end of the tool cut off, the proxy may have sent responses on that the tool did not read.
    let (found, own) = (request["count"].as_u64().expect("a count"), own["requests"].as_u64().expect("a count"));
    assert!(own >= 4 && (own..=own + 4).contains(&found), "{found} of {own}");
    assert!(request["response"]["min"].as_f64().is_some_and(|seconds| seconds >= WAIT_NS / 1e9), "{summary:#}");
    let delay = check(&summary, "proxy-delay");
    assert_eq!(summary["source"]["name"], "the proxy");
    // Advice names the system, not the proxy.
    let advice = format!("--process {}", target.address().port());
    assert!(summary["verdict"]["findings"].to_string().contains(&advice), "{summary:#}");
    assert!(delay["evidence"].as_str().is_some_and(|text| text.starts_with("it held a request for ")), "{delay}");
}

#[test]
fn tls_ends_at_the_proxy_and_begins_again() {
    let target = Server::builder().tls(TlsOptions::default()).route("GET /orders/7", Behaviour::new()).start().expect("the stub");
    let (folder, port) = (Folder::new().file("target.pem", target.certificate_pem().expect("TLS")), server::free_port("127.0.0.1"));
    let url = format!("https://127.0.0.1:{port}/orders/7");
    let watch = |record: &str, more: &[&str], flags: &[&str]| {
        let load = ["--rate", "20", "--for", "1s"];
        let arguments = [&["watch", "--record", record], more, &tool(&url, &[flags, &load[..]].concat())].concat();
        let mut command = folder.command(&arguments);
        command.env("SSL_CERT_FILE", folder.path().join("target.pem"));
        folder.start_command(command).ended()
    };
    let ends = format!("proxy:{port}=https://127.0.0.1:{}", target.address().port());
    let ended = watch(&ends, &["--proxy-ca", "ca.pem"], &["--root", "ca.pem"]);
    let summary = ended.summary();
    assert_eq!((&summary["requests"][0]["count"], &summary["requests"][0]["failed"]), (&20.into(), &0.into()), "{}", ended.everything());
    // A client that does not trust the authority fails, and the run says why.
    let ended = watch(&ends, &["--proxy-ca", "ca.pem"], &[]);
    ended.says("let the tool trust the file of --proxy-ca");
    // Passed on, the handshake is the target's, and only connections are recorded.
    let passes = format!("proxy:{port}=tcp://127.0.0.1:{}", target.address().port());
    let summary = watch(&passes, &[], &["--insecure"]).summary();
    assert_eq!((&summary["requests"][0]["name"], &check(&summary, "proxy-delay")["grade"]), (&"connection".into(), &"suspect".into()));
    let folder = folder.file("notes.pem", "mine");
    folder.run(&["watch", "--record", &ends, "--proxy-ca", "notes.pem", "--for", "1s"]).code(2).says("this file has something else");
}

#[test]
fn the_proxy_of_a_file_is_the_record() {
    let (target, port) = (stub(), server::free_port("127.0.0.1"));
    let (to, url) = (target.url(""), format!("http://127.0.0.1:{port}/orders/7"));
    let file = |record: &str| {
        let imports = "import { failures, proxy, watch } from \"loadstone\";";
        Folder::new().file(
            "shop.watch.ts",
            &format!("{imports}\nexport default watch({{ {record}, thresholds: [failures().rate.below(\"1%\")] }});"),
        )
    };
    let folder = file(&format!("record: proxy.http({{ listen: \"127.0.0.1:{port}\", to: \"{to}\" }})"));
    let ended = folder.run(&[&["watch", "shop.watch.ts"][..], &tool(&url, &["--rate", "20", "--for", "1s"])].concat());
    let summary = ended.code(0).summary();
    assert_eq!(
        (&summary["requests"][0]["name"], &summary["requests"][0]["count"]),
        (&"GET /orders/{id}".into(), &20.into()),
        "{summary:#}"
    );
    assert_eq!((&summary["source"]["name"], &summary["source"]["lag"]), (&"the proxy".into(), &"delay of the proxy".into()));
    folder
        .run(&["watch", "shop.watch.ts", "--record", "otlp", "--for", "1s"])
        .code(2)
        .says("from shop.watch.ts or from --record, not from both");
    folder.run(&["run", "shop.watch.ts"]).code(2);
    file("record: \"proxy\"").run(&["watch", "shop.watch.ts", "--for", "1s"]).code(2).says("write `proxy.http({ listen, to })`");
    let unused = "thresholds: (proxy.http({ listen: \"127.0.0.1:1\", to: \"http://h\" }), [])";
    let unused =
        Folder::new().file("a.ts", &format!("import {{ proxy, watch }} from \"loadstone\";\nexport default watch({{ {unused} }});"));
    unused.run(&["watch", "a.ts", "--for", "1s"]).code(2).says("watch({ record: proxy.http(…) })");
    let address = file("record: proxy.http({ listen: \"18080\", to: \"127.0.0.1:8080\" })");
    address.run(&["watch", "shop.watch.ts", "--for", "1s"]).code(2).says("is not an address");
}

/// HTTP/2 passes through the proxy, and every surface says that its requests are missing.
#[test]
fn http2_through_the_proxy_makes_the_run_invalid() {
    let (target, folder, port) = (stub(), Folder::new(), server::free_port("127.0.0.1"));
    let (record, url) = (format!("proxy:{port}={}", target.url("")), format!("http://127.0.0.1:{port}/orders/7"));
    let ended = folder.run(&[&["watch", "--record", &record][..], &tool(&url, &["--http2=only", "--rate", "20", "--for", "1s"])].concat());
    let found = check(&ended.summary(), "record");
    assert_eq!(found["grade"], "invalid", "{found}");
    assert!(found["evidence"].as_str().is_some_and(|text| text.contains("not in the record: a client sends HTTP/2")), "{found}");
    ended.code(4).says("HTTP/2");
}

fn misused(arguments: &[&str]) -> Ended {
    Folder::new().run(&[&["watch"], arguments, &["--for", "1s"]].concat())
}

#[test]
fn wrong_proxies_name_the_remedy() {
    misused(&["--record", "proxy"]).code(2).says("--record proxy:18080=http://127.0.0.1:8080");
    misused(&["--record", "proxy:0=http://127.0.0.1:1", "--follow", "a.log"]).code(2).says("the proxy is the record");
    misused(&["--record", "proxy:0=http://127.0.0.1:1", "--listen", "1"]).code(2).says("part of --record");
    misused(&["--record", "otlp", "--proxy-ca", "ca.pem"]).code(2).says("add --record proxy:PORT=URL");
    misused(&["--record", "proxy:0=http://no-such-host.invalid"]).code(2).says("cannot be resolved");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let record = format!("proxy:{}=http://127.0.0.1:1", taken.local_addr().expect("an address").port());
    misused(&["--record", &record]).code(2).says("give the proxy a free port");
    misused(&["--record", "proxy:0=http://127.0.0.1:1"]).code(4).says("No request reached the proxy");
}
