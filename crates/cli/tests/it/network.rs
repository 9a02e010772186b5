//! How the target is reached: HTTP/2, Unix sockets, proxies, source addresses, the rate of new connections.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::harness::{Folder, server};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

type Seen<T> = Arc<Mutex<BTreeSet<T>>>;

/// Answers every request with [`OK`], after `see` has seen its head.
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

/// A TCP server; its port, and the heads and client addresses that it sees.
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
fn a_proxy_stands_between() {
    let (port, heads, _) = tcp();
    let proxy = format!("http://me:secret@127.0.0.1:{port}");
    Folder::new().run(&["run", "http://203.0.113.9/x", "--proxy", &proxy, "--rate", "5", "--for", "1s"]).passes().does_not_say("secret");
    script(&format!("target: \"http://203.0.113.9\", options: {{ proxy: \"{proxy}\" }}"), "once()").run(&["run", "t.load.ts"]).passes();
    for head in &*heads.lock().expect("no panic") {
        assert!(head.starts_with("GET http://203.0.113.9/x HTTP/1.1\r\n") && head.contains("Proxy-Authorization: Basic "), "{head}");
    }
    Folder::new().run(&["run", "http://h/", "--proxy", "socks5://h:1"]).code(2).says("proxies are spoken to by HTTP");
    let closed = format!("http://127.0.0.1:{}", server::free_port("127.0.0.1"));
    Folder::new().run(&["run", "http://h/", "--proxy", &closed]).code(5).says("the proxy 127.0.0.1:");
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
    script("target: \"http://h\", options: { sources: [\"somewhere\"] }", "once()")
        .run(&["run", "t.load.ts"])
        .code(2)
        .says("sources: \"somewhere\"");
}

#[test]
fn new_connections_come_at_their_rate_and_the_wait_is_in_no_time() {
    let (port, ..) = tcp();
    let (parts, url) =
        (format!("target: \"http://127.0.0.1:{port}\", options: {{ connectionsPerSecond: 20 }}"), format!("http://127.0.0.1:{port}/x"));
    for ended in [
        script(&parts, "iterations(1).users(41).perUser()").run(&["run", "t.load.ts", "--workers", "2"]),
        Folder::new().run(&["run", &url, "--users", "41", "--for", "1s", "--connect-rate", "20", "--workers", "2"]),
    ] {
        let summary = ended.summary();
        // 41 slots are two seconds apart from first to last, whatever the machine does; a worker takes every other one.
        assert_eq!(summary["totals"]["connections_opened"], 41, "{}", ended.everything());
        let seconds = summary["totals"]["duration_seconds"].as_f64().expect("a duration");
        assert!(seconds >= 1.9, "{seconds}");
        // 41 requests would have waited a second on average.
        let mean = summary["requests"][0]["service"]["mean"].as_f64().expect("a mean");
        assert!(mean < 0.5, "{mean}");
    }
    script("target: \"http://h\", options: { connectionsPerSecond: 0 }", "once()")
        .run(&["run", "t.load.ts"])
        .code(2)
        .says("with none at all");
}
