//! `source`: the local address of one call's connection.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use loadstone_engine::IterationEnd;
use loadstone_metrics::{Outcome, Snapshot};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

use crate::running::{TestWorker, scenario_with};

const PROTO: &str = "syntax = \"proto3\";\npackage t.v1;\nmessage M { int32 n = 1; }\n\
    service T { rpc Echo(M) returns (M); rpc Chat(stream M) returns (stream M); }\n";

/// Runs a scenario of this body. Returns the client's address of each connection, the console's lines and the measurements.
fn run(body: &str) -> (IterationEnd, Vec<String>, Vec<String>, Snapshot) {
    let top = "import { proto } from \"loadstone\";\nproto(\"t.proto\");\nconst nothing: any = undefined;";
    let text = scenario_with(top, body, "");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = format!("http://{}", listener.local_addr().unwrap());
        let peers: Rc<RefCell<Vec<String>>> = Rc::default();
        let seen = Rc::clone(&peers);
        tokio::task::spawn_local(async move {
            while let Ok((stream, peer)) = listener.accept().await {
                seen.borrow_mut().push(peer.ip().to_string());
                tokio::task::spawn_local(answer(stream));
            }
        });
        let worker = TestWorker::open(&text, &target, &[("t.proto", PROTO)]);
        let iterated = worker.with(worker.iterate(0));
        let end = tokio::time::timeout(Duration::from_secs(20), iterated).await.expect("the scenario should end");
        let peers = peers.borrow().clone();
        (end, peers, worker.texts(), worker.drain())
    })
}

/// Answers every head with an empty response. It redirects `/there` to `/`, and ends the connection of a client that speaks HTTP/2.
async fn answer(stream: TcpStream) {
    let mut stream = BufReader::new(stream);
    let (mut line, mut redirects) = (String::new(), false);
    while stream.read_line(&mut line).await.unwrap_or(0) > 0 {
        redirects |= line.starts_with("GET /there ");
        if line.starts_with("PRI ") {
            return;
        }
        if line == "\r\n" {
            let head = if std::mem::take(&mut redirects) { "302 Found\r\nLocation: /" } else { "200 OK" };
            stream.write_all(format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n").as_bytes()).await.unwrap();
        }
        line.clear();
    }
}

#[test]
fn calls_connect_from_their_address_and_keep_their_connections() {
    let (_, peers, texts, _) = run(r#"
        const [two, three] = ["127.0.0.2", "127.0.0.3"];
        for (let n = 0; n < 3; n++) for (const source of [two, three]) await user.get("/", { source });
        await user.get("/there", { source: three });
        await user.get("/");
        await user.ws("/", { source: two });
        await user.events("/", { source: three });
        const call = await user.grpc("t.v1.T/Echo", { n: 1 }, { source: two });
        const stream = await user.grpcStream("t.v1.T/Chat", undefined, { source: three });
        await stream.receive({ within: "5s" });
        user.log(call.ok, stream.open);
        "#);
    assert_eq!(
        peers,
        ["127.0.0.2", "127.0.0.3", "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.2", "127.0.0.3"],
        "two addresses with one connection each, none, WebSocket, events, gRPC, stream: {texts:?}"
    );
}

/// The call cannot be sent as written. Nothing reaches the target, and no time is recorded.
#[test]
fn an_address_of_another_family_or_machine_is_an_error_of_the_script() {
    let family = "but `source` is ::1, an IPv6 address: name one of IPv4";
    for (call, problem) in [
        ("user.get('/', { name: 'A', source: '::1' })", family),
        ("user.ws('/', { name: 'A', source: '::1' })", family),
        ("user.events('/', { name: 'A', source: '::1' })", family),
        ("user.grpc('t.v1.T/Echo', {}, { name: 'A', source: '::1' })", family),
        ("user.grpcStream('t.v1.T/Chat', {}, { name: 'A', source: '::1' })", family),
        ("user.get('/', { name: 'A', source: '192.0.2.7' })", "a source address is not an address of this machine"),
        ("user.get('/', { name: 'A', source: '127.0.0.0/8' })", "\"127.0.0.0/8\" is not an address; write one local address"),
        ("user.ws('/', { name: 'A', source: nothing ?? 7 } as any)", "source: expected"),
    ] {
        let body = format!("try {{ await {call}; user.log('sent'); }} catch (error) {{ user.log(error.message); }}");
        let (_, peers, texts, snapshot) = run(&body);
        assert!(texts.len() == 1 && texts[0].contains(problem), "{call}: {texts:?}");
        assert!(peers.is_empty(), "{call}: {peers:?}");
        let series = snapshot.series.iter().find(|series| &*series.key.name == "A").unwrap_or_else(|| panic!("{call}"));
        assert_eq!(&*series.outcomes, [(Outcome::Unsendable, 1)], "{call}");
        assert_eq!((series.count, series.response.count()), (0, 0), "{call}");
    }
}
