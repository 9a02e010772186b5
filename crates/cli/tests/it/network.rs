//! How the target is reached: HTTP/2, Unix sockets, proxies, source addresses, the rate of new connections; and `traceparent`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use crate::harness::{Folder, fairly, server};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

type Seen<T> = Arc<Mutex<BTreeSet<T>>>;

/// Responds to every request with [`OK`], after `see` has received its head.
fn attend(mut stream: impl Read + Write, see: impl Fn(&str)) {
    let mut buffer = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        buffer.extend_from_slice(&piece[..count]);
        while let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head: Vec<u8> = buffer.drain(..end + 4).collect();
            see(&String::from_utf8_lossy(&head));
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    }
}

/// A TCP server. Returns its port, and the heads and client addresses that it receives.
fn tcp() -> (u16, Seen<String>, Seen<IpAddr>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let (heads, peers): (Seen<String>, Seen<IpAddr>) = Default::default();
    let (seen, from) = (Arc::clone(&heads), Arc::clone(&peers));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (seen, from) = (Arc::clone(&seen), Arc::clone(&from));
            thread::spawn(move || {
                let peer = stream.peer_addr().expect("a peer").ip();
                attend(stream, |head| {
                    seen.lock().expect("no panic").insert(head.to_owned());
                    from.lock().expect("no panic").insert(peer);
                });
            });
        }
    });
    (port, heads, peers)
}

/// A script with one GET, these parts of `test({…})` and this profile.
fn script(parts: &str, profile: &str) -> Folder {
    let text = format!(
        "import {{ iterations, once, scenario, test, users }} from \"loadstone\";\n\
         const s = scenario(\"S\", async (user) => {{ const r = await user.get(\"/x\"); user.check(\"ok\", r.text === \"ok\"); }});\n\
         export default test({{ load: s.run({profile}), {parts} }});\n"
    );
    Folder::new().file("t.load.ts", &text)
}

#[test]
fn a_unix_socket_is_a_target() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("app.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || attend(stream, |head| assert!(head.starts_with("GET /x HTTP/1.1\r\nHost: "), "{head}")));
        }
    });
    let path = path.display().to_string();
    let ended = Folder::new().run(&["run", "http://docker/x", "--unix", &path, "--rate", "10", "--for", "1s"]).passes();
    assert_eq!(ended.outcomes("passed"), 10, "{}", ended.everything());
    let ended = script(&format!("target: \"unix:{path}\""), "iterations(3)").run(&["run", "t.load.ts"]).passes();
    assert_eq!(ended.summary()["totals"]["checks_passed"], 3, "{}", ended.everything());
    script("target: \"unix:missing.sock\"", "once()")
        .run(&["run", "t.load.ts"])
        .code(5)
        .says("missing.sock: the Unix socket cannot be opened");
}

#[test]
fn requests_pass_through_a_proxy() {
    let (port, heads, _) = tcp();
    let proxy = format!("http://me:secret@127.0.0.1:{port}");
    Folder::new().run(&["run", "http://203.0.113.9/x", "--proxy", &proxy, "--rate", "5", "--for", "1s"]).passes().does_not_say("secret");
    script(&format!("target: \"http://203.0.113.9\", options: {{ proxy: \"{proxy}\" }}"), "once()").run(&["run", "t.load.ts"]).passes();
    for head in &*heads.lock().expect("no panic") {
        assert!(head.starts_with("GET http://203.0.113.9/x HTTP/1.1\r\n") && head.contains("Proxy-Authorization: Basic "), "{head}");
    }
    Folder::new().run(&["run", "http://h/", "--proxy", "socks5://h:1"]).code(2).says("proxies must use HTTP");
    let closed = format!("http://127.0.0.1:{}", server::free_port("127.0.0.1"));
    Folder::new().run(&["run", "http://h/", "--proxy", &closed]).code(5).says("the proxy 127.0.0.1:");
}

#[test]
fn the_environments_proxies_are_only_used_on_request() {
    let (port, heads, _) = tcp();
    let run = |folder: &Folder, arguments: &[&str]| {
        let mut command = folder.command(arguments);
        command
            .env("http_proxy", format!("me:secret@127.0.0.1:{port}"))
            .env("https_proxy", "http://127.0.0.1:1")
            .env("NO_PROXY", "127.0.0.0/8");
        folder.start_command(command).ended()
    };
    let direct = format!("http://127.0.0.1:{port}/x");
    for (url, proxy, line) in [
        ("http://203.0.113.9/x", &["--proxy", "environment"][..], "GET http://203.0.113.9/x HTTP/1.1\r\n"),
        (&direct, &["--proxy", "environment"], "GET /x HTTP/1.1\r\n"),
        (&direct, &[], "GET /x HTTP/1.1\r\n"),
    ] {
        run(&Folder::new(), &[&["run", url, "--rate", "5", "--for", "1s"], proxy].concat()).passes().does_not_say("secret");
        let seen = std::mem::take(&mut *heads.lock().expect("no panic"));
        assert!(!seen.is_empty() && seen.iter().all(|head| head.starts_with(line)), "{url} {proxy:?} {seen:?}");
    }
    let folder = script("target: \"http://203.0.113.9\", options: { proxy: \"environment\" }", "once()");
    run(&folder, &["run", "t.load.ts"]).passes().does_not_say("secret");
    let by_scheme =
        format!("target: \"http://127.0.0.1:{port}\", options: {{ proxy: {{ http: \"http://127.0.0.1:1\", noProxy: [\"127.0.0.1\"] }} }}");
    script(&by_scheme, "once()").run(&["run", "t.load.ts"]).passes();
    script("target: \"http://h\", options: { proxy: { htp: \"x\" } }", "once()").run(&["run", "t.load.ts"]).code(2).says("htp");
    script("target: \"http://h\", options: { proxy: { https: \"socks5://u:p@h\" } }", "once()")
        .run(&["run", "t.load.ts"])
        .code(2)
        .says("proxy.https: socks5: proxies must use HTTP");
    Folder::new().run(&["run", "http://h/", "--no-proxy", "h"]).code(2).says("--proxy");
}

#[test]
fn http2_shares_a_connection_of_each_user() {
    let address = server::http2();
    let ended = Folder::new().run(&["run", address, "--http2=only", "--users", "3", "--for", "1s"]).passes();
    assert_eq!(ended.summary()["totals"]["connections_opened"], 3, "{}", ended.everything());
    let text = format!(
        "import {{ once, scenario, test }} from \"loadstone\";\n\
         const s = scenario(\"S\", async (user) => {{\n\
           const all = await Promise.all([...Array(50)].map((_, n) => user.post(`/${{n}}`, {{ name: \"Post\", body: \"x\".repeat(n * 1000) }})));\n\
           user.check(\"2.0\", all.every((r) => r.status === 200 && r.text === \"2.0\"));\n\
         }});\n\
         export default test({{ target: \"{address}\", load: s.run(once()), options: {{ http2: \"only\" }} }});\n"
    );
    let ended = Folder::new().file("t.load.ts", &text).run(&["run", "t.load.ts"]).passes();
    assert_eq!(ended.summary()["totals"]["checks_passed"], 1, "{}", ended.everything());
    assert_eq!(ended.outcomes("passed"), 50, "{}", ended.everything());
    assert_eq!(ended.summary()["totals"]["connections_opened"], 1, "{}", ended.everything());
    script("target: \"http://h\", options: { http2: \"yes\" }", "once()").run(&["run", "t.load.ts"]).code(2).says("http2: \"yes\" is not");
}

#[test]
fn source_addresses_are_taken_in_turn() {
    let all: BTreeSet<IpAddr> = (2..=5).map(|last| IpAddr::from([127, 0, 0, last])).collect();
    let (port, _, peers) = tcp();
    let url = format!("http://127.0.0.1:{port}/x");
    Folder::new().run(&["run", &url, "--source", "127.0.0.2-127.0.0.5", "--users", "8", "--for", "1s"]).passes();
    assert_eq!(*peers.lock().expect("no panic"), all);
    let (port, _, peers) = tcp();
    let parts = format!("target: \"http://127.0.0.1:{port}\", options: {{ sources: [\"127.0.0.2\", \"127.0.0.3-127.0.0.5\"] }}");
    script(&parts, "users(8).for(\"1s\")").run(&["run", "t.load.ts"]).passes();
    assert_eq!(*peers.lock().expect("no panic"), all);
    Folder::new().run(&["run", &url, "--source", "127.0.0.9-127.0.0.5"]).code(2).says("ends before it begins");
    // TEST-NET-1 (RFC 5737) belongs to no machine.
    Folder::new().run(&["run", &url, "--source", "192.0.2.7"]).code(2).says("192.0.2.7 is not an address of this machine");
    script(&parts.replace("127.0.0.2", "192.0.2.7"), "once()").run(&["run", "t.load.ts"]).code(2).says("192.0.2.7 is not an address");
    Folder::new().run(&["run", &url, "--source", "::1"]).code(5).says("the target has only IPv4 addresses");
    script("target: \"http://h\", options: { sources: [\"somewhere\"] }", "once()")
        .run(&["run", "t.load.ts"])
        .code(2)
        .says("sources: \"somewhere\"");
}

#[test]
fn new_connections_follow_their_rate_and_the_wait_is_not_measured() {
    let (port, ..) = tcp();
    let (parts, url) =
        (format!("target: \"http://127.0.0.1:{port}\", options: {{ connectionsPerSecond: 20 }}"), format!("http://127.0.0.1:{port}/x"));
    for ended in [
        fairly(|| script(&parts, "iterations(1).users(41).perUser()").run(&["run", "t.load.ts", "--workers", "2"])),
        fairly(|| Folder::new().run(&["run", &url, "--users", "41", "--for", "1s", "--connect-rate", "20", "--workers", "2"])),
    ] {
        let summary = ended.summary();
        // 41 slots span two seconds from first to last on any machine. A worker takes every other slot.
        assert_eq!(summary["totals"]["connections_opened"], 41, "{}", ended.everything());
        let seconds = summary["totals"]["duration_seconds"].as_f64().expect("a duration");
        assert!(seconds >= 1.9, "{seconds}");
        // 41 requests would have waited one second on average.
        let mean = summary["requests"][0]["service"]["mean"].as_f64().expect("a mean");
        assert!(mean < 0.5, "{mean}");
    }
    script("target: \"http://h\", options: { connectionsPerSecond: 0 }", "once()")
        .run(&["run", "t.load.ts"])
        .code(2)
        .says("connectionsPerSecond: must be above zero");
}

/// A name server with one name, `shop.test`, whose addresses are 127.0.0.2 and 127.0.0.3 with a TTL of one second. Returns its address and its number of
/// queries.
fn name_server() -> (String, Arc<AtomicUsize>) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("an address").to_string();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut query) {
            // RFC 1035, section 4.1: the header, then one question with labels, type and class.
            let labels = query[12..length].iter().position(|byte| *byte == 0).expect("the end of a name");
            let question = &query[12..12 + labels + 5];
            let (known, is_a) = (question.starts_with(b"\x04shop\x04test\x00"), question[labels + 1..labels + 3] == [0, 1]);
            let addresses: &[u8] = if known && is_a { &[2, 3] } else { &[] };
            count.fetch_add(usize::from(known && is_a), Ordering::Relaxed);
            let code = if known { 0x80 } else { 0x83 };
            let mut answer = vec![query[0], query[1], 0x81, code, 0, 1, 0, addresses.len() as u8, 0, 0, 0, 0];
            answer.extend_from_slice(question);
            for last in addresses {
                answer.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, *last]);
            }
            socket.send_to(&answer, from).expect("loopback takes it");
        }
    });
    (address, asked)
}

#[test]
fn names_are_resolved_again_after_their_ttl_and_all_addresses_are_used() {
    let listener = TcpListener::bind("0.0.0.0:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let reached: Seen<IpAddr> = Arc::default();
    let seen = Arc::clone(&reached);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            thread::spawn(move || {
                let at = stream.local_addr().expect("an address").ip();
                attend(stream, |_| {
                    seen.lock().expect("no panic").insert(at);
                });
            });
        }
    });
    let (server, asked) = name_server();
    let text = format!(
        "import {{ arrivals, scenario, test }} from \"loadstone\";\n\
         const s = scenario(\"S\", (user) => user.get(\"/x\"));\n\
         export default test({{ target: \"http://shop.test:{port}\", load: s.run(arrivals(50).for(\"4s\")), \
         options: {{ keepAlive: false, nameServers: [\"{server}\"] }} }});\n"
    );
    let ended = Folder::new().file("t.load.ts", &text).run(&["run", "t.load.ts", "--workers", "1"]).passes();
    assert_eq!(ended.outcomes("passed"), 200, "{}", ended.everything());
    // Workers with separate descriptor tables resolve names separately.
    let folder = Folder::new().file("t.load.ts", &text.replace("\"4s\"", "\"1s\""));
    let ended = folder.start_command(folder.with_open_files(140, &["run", "t.load.ts", "--workers", "3"])).ended().passes();
    assert_eq!(ended.outcomes("passed"), 50, "{}", ended.everything());
    // Four seconds contain at least three TTLs. A slow machine has more, but never one per request.
    let asked = asked.load(Ordering::Relaxed);
    assert!((3..100).contains(&asked), "{asked}");
    assert_eq!(*reached.lock().expect("no panic"), BTreeSet::from([2, 3].map(|last| IpAddr::from([127, 0, 0, last]))));
    let unknown = text.replace("shop.test", "gone.test").replace("\"4s\"", "\"1s\"");
    let ended = Folder::new().file("t.load.ts", &unknown).run(&["run", "t.load.ts"]).code(5).says("gone.test");
    assert_eq!(ended.outcomes("dns"), 50, "{}", ended.everything());
}

/// Trace and span of a head's only `traceparent`.
fn trace_of(head: &str) -> (String, String) {
    let lines: Vec<_> = head.lines().filter_map(|line| line.strip_prefix("traceparent: ")).collect();
    let [line] = lines[..] else { panic!("not one traceparent: {head}") };
    let [version, trace, span, flags] = line.split('-').collect::<Vec<_>>()[..] else { panic!("{line}") };
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'));
    assert!(version == "00" && trace.len() == 32 && span.len() == 16 && flags == "01" && is_hex(trace) && is_hex(span), "{line}");
    (trace.to_owned(), span.to_owned())
}

#[test]
fn every_request_of_a_url_has_its_own_trace_and_the_report_names_it() {
    let (port, heads, _) = tcp();
    let url = format!("http://127.0.0.1:{port}/x");
    let run = |more: &[&str]| {
        heads.lock().expect("no panic").clear();
        let common = ["run", &url, "--rate", "40", "--for", "2s", "--workers", "2", "--expect-status", "201"];
        let folder = Folder::new();
        let ended = folder.run(&[&common, more].concat());
        let traces: BTreeSet<_> =
            heads.lock().expect("no panic").iter().filter(|head| head.contains("traceparent")).map(|head| trace_of(head)).collect();
        (ended, traces, folder)
    };
    let (ended, traces, _) = run(&[]);
    assert!(traces.is_empty() && ended.summary()["errors"][0].get("trace").is_none(), "{traces:?}");
    let (ended, traces, folder) = run(&["--traceparent", "--seed", "7"]);
    assert_eq!((ended.outcomes("status"), traces.len()), (80, 80), "{}", ended.everything());
    let ids: BTreeSet<_> = traces.iter().map(|(trace, _)| trace.as_str()).collect();
    assert_eq!(ids.len(), 80);
    assert_eq!(traces.iter().map(|(trace, _)| &trace[..16]).collect::<BTreeSet<_>>().len(), 1);
    let error = ended.summary()["errors"][0]["trace"].as_str().expect("a trace").to_owned();
    assert!(ids.contains(error.as_str()));
    ended.says(&format!("trace {error}"));
    let slices = fs::read_to_string(folder.runs()[0].join("snapshots.jsonl")).expect("slices");
    let slices = slices.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let slow: Vec<Value> = slices.filter_map(|slice| slice["slow"].as_array().cloned()).flatten().collect();
    assert!(!slow.is_empty() && slow.iter().all(|slow| ids.contains(slow["trace"].as_str().expect("a trace"))));
    // Another run with the same seed: different traces, whose second halves and spans repeat.
    let (_, again, _) = run(&["--traceparent", "--seed", "7"]);
    let repeated = |traces: &BTreeSet<(String, String)>| {
        traces.iter().map(|(trace, span)| (trace[16..].to_owned(), span.clone())).collect::<BTreeSet<_>>()
    };
    assert!(traces.is_disjoint(&again) && repeated(&traces) == repeated(&again));
}

#[test]
fn a_script_sends_traces_unless_it_gives_its_own() {
    let (port, heads, _) = tcp();
    let own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let text = format!(
        "import {{ iterations, scenario, test }} from \"loadstone\";\n\
         const s = scenario(\"S\", async (user) => {{\n\
           for (let n = 0; n < 3; n++) await user.get(\"/same\", {{ name: \"Same\" }});\n\
           await user.post(\"/own\", {{ body: \"x\", headers: {{ TraceParent: \"{own}\" }}, expect: {{ status: 418 }} }});\n\
           await user.ws(\"/socket\");\n\
         }});\n\
         export default test({{ target: \"http://127.0.0.1:{port}\", load: s.run(iterations(2)), options: {{ traceparent: true }} }});\n"
    );
    let folder = Folder::new().file("t.load.ts", &text);
    let ended = folder.run(&["run", "t.load.ts", "--workers", "1"]);
    let heads: Vec<String> = heads.lock().expect("no panic").iter().cloned().collect();
    let of = |path: &str| heads.iter().filter(|head| head.contains(path)).map(|head| trace_of(head)).collect::<BTreeSet<_>>();
    assert_eq!((of("GET /same").len(), of("GET /socket").len()), (6, 2), "{}", ended.everything());
    let given: Vec<_> = heads.iter().filter(|head| head.starts_with("POST /own")).collect();
    assert!(given.len() == 1 && given[0].contains(own) && given[0].to_lowercase().matches("traceparent").count() == 1, "{given:?}");
    let errors = ended.summary()["errors"].as_array().expect("a list").clone();
    let trace =
        |name: &str| errors.iter().find(|row| row["name"] == name).and_then(|row| row["trace"].as_str()).expect("a trace").to_owned();
    assert_eq!(trace("POST /own"), own[3..35]);
    assert!(of("GET /socket").iter().any(|(id, _)| *id == trace("WS /socket")));
    folder.run(&["try", "t.load.ts"]).says("traceparent: 00-").says(own);
    script("target: \"http://h\", options: { traceparent: \"yes\" }", "once()")
        .run(&["run", "t.load.ts"])
        .code(2)
        .says("traceparent: \"yes\" is not");
}
