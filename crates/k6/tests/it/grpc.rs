//! `k6/net/grpc` against a stub, whose messages are encoded by hand.

use std::net::SocketAddr;
use std::sync::OnceLock;

use bytes::Bytes;
use loadstone_engine::IterationEnd;
use loadstone_metrics::{MetricValue, Outcome, SeriesKind, Snapshot};
use loadstone_stub::{Behaviour, GrpcAnswer, GrpcContent, GrpcSource, GrpcTurns, Server, TlsOptions};

use crate::harness::refused;
use crate::real_time::{Ran, run_with};

const PROTO: &str = r#"syntax = "proto3"; package talk.v1; import "line.proto";
service Talk { rpc Say(Line) returns (Line); rpc Fail(Line) returns (Line); rpc Count(Line) returns (stream Line); rpc Chat(stream Line) returns (stream Line);
  rpc Break(Line) returns (stream Line); }"#;
const LINE: &str = r#"syntax = "proto3"; package talk.v1; message Line { string text = 1; int64 big_number = 2; }"#;

/// `{ text }`, encoded.
fn line(text: &str) -> Bytes {
    [&[0x0a, text.len() as u8], text.as_bytes()].concat().into()
}

fn server() -> SocketAddr {
    static SERVER: OnceLock<Server> = OnceLock::new();
    let method = |content| Behaviour::new().grpc(content);
    let echo = || GrpcSource::Function(Box::new(|messages: &[Bytes]| GrpcAnswer::message(messages[0].clone())));
    let server = SERVER.get_or_init(|| {
        let lines = GrpcAnswer {
            messages: vec![line("one"), line("two")],
            trailers: vec![("left".to_owned(), "0".to_owned())],
            ..GrpcAnswer::default()
        };
        let broken = GrpcAnswer { messages: vec![line("one")], status: 9, details: "not now".to_owned(), ..GrpcAnswer::default() };
        Server::builder()
            .grpc_method("talk.v1.Talk/Say", method(GrpcContent { source: echo(), turns: GrpcTurns::AtEnd }))
            .grpc_method("talk.v1.Talk/Fail", method(GrpcContent::fixed(GrpcAnswer::status(5, "no such line"))))
            .grpc_method("talk.v1.Talk/Count", method(GrpcContent::fixed(lines)))
            .grpc_method("talk.v1.Talk/Break", method(GrpcContent::fixed(broken)))
            .grpc_method("talk.v1.Talk/Chat", method(GrpcContent { source: echo(), turns: GrpcTurns::EachMessage }))
            .start()
            .unwrap()
    });
    server.address()
}

/// Runs the body of a default function, after `client.load`.
fn call(body: &str) -> Ran {
    let address = server();
    let script = format!(
        "import grpc, {{ Client, Stream, StatusOK }} from 'k6/net/grpc'; import {{ check }} from 'k6';
        export const options = {{ thresholds: {{ grpc_req_duration: ['max>0'], 'grpc_req_duration{{method:Say}}': ['max>0'], grpc_streams: ['count>0'],
          grpc_streams_msgs_sent: ['count>0'], grpc_streams_msgs_received: ['count>0'] }} }};
        const A = '{address}';
        const client = new Client();
        client.load(['protos'], 'talk.proto');
        export default async function () {{ {body} }}"
    );
    run_with(&[("script.js", &script), ("protos/talk.proto", PROTO), ("protos/line.proto", LINE)])
}

fn counted(snapshot: &Snapshot, name: &str) -> f64 {
    let found = snapshot.metrics.iter().find(|metric| &*metric.name == name && metric.tags.is_empty());
    match &found.unwrap_or_else(|| panic!("no {name}")).value {
        MetricValue::Counter { sum, .. } => *sum,
        MetricValue::Trend(values) => values.count() as f64,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_call_returns_k6s_response() {
    let ran = call(
        "client.connect(A, { plaintext: true });
        const metadata = { 'x-a': 'b', 'y-bin': new Uint8Array([1]) };
        const said = client.invoke('talk.v1.Talk/Say', { text: 'hi', bigNumber: '9007199254740993' }, { metadata });
        console.log(said.status === StatusOK, JSON.stringify(said.message), said.error, said.headers['content-type'][0]);
        const later = await client.asyncInvoke('/talk.v1.Talk/Say', { text: 'later' });
        console.log(later.message.text);
        const failed = client.invoke('talk.v1.Talk/Fail', {});
        console.log(failed.status === grpc.StatusNotFound, failed.message, JSON.stringify(failed.error));
        client.close();",
    );
    assert_eq!(ran.ended, IterationEnd::Ended(Outcome::Passed), "{:?}", ran.printed);
    assert_eq!(
        ran.printed,
        [
            r#"true {"text":"hi","bigNumber":"9007199254740993"} null application/grpc"#,
            "later",
            r#"true null {"code":5,"message":"no such line","details":[]}"#
        ]
    );
    assert_eq!(counted(&ran.snapshot, "grpc_req_duration"), 3.0);
    let of_method = ran.snapshot.metrics.iter().find(|metric| metric.tags.get("method") == Some("Say")).unwrap();
    assert_eq!(of_method.value.count(), 2);
    let mut requests: Vec<_> = ran
        .snapshot
        .series
        .iter()
        .filter(|series| series.key.kind == SeriesKind::Request)
        .map(|series| series.key.name.to_string())
        .collect();
    requests.sort();
    assert_eq!(requests, ["Talk/Fail", "Talk/Say"]);
}

#[test]
fn streams_deliver_events_and_the_iteration_waits_for_their_end() {
    let ran = call(
        "client.connect(A, { plaintext: true });
        const count = new Stream(client, 'talk.v1.Talk/Count');
        const lines = [];
        count.on('data', (line) => lines.push(line.text));
        count.on('error', (error) => lines.push('error'));
        count.on('end', () => console.log('count', lines.join()));
        count.write({ text: 'go' });
        count.end();
        const chat = new grpc.Stream(client, 'talk.v1.Talk/Chat', { tags: { kind: 'chat' } });
        chat.on('data', (line) => { console.log('chat', line.text); if (line.text === 'second') chat.end(); else chat.write({ text: 'second' }); });
        chat.on('end', () => console.log('chat ended'));
        chat.write({ text: 'first' });
        const broken = new Stream(client, 'talk.v1.Talk/Break');
        broken.on('error', (error) => console.log('broken', error.code, error.message));
        broken.on('end', () => console.log('broken ended'));
        broken.write({ text: '' });
        broken.end();",
    );
    assert_eq!(ran.ended, IterationEnd::Ended(Outcome::Passed), "{:?}", ran.printed);
    let of = |name: &str| ran.printed.iter().filter(|line| line.starts_with(name)).cloned().collect::<Vec<_>>();
    assert_eq!(of("count"), ["count one,two"]);
    assert_eq!(of("chat"), ["chat first", "chat second", "chat ended"]);
    assert_eq!(of("broken"), ["broken 9 not now", "broken ended"]);
    assert_eq!((counted(&ran.snapshot, "grpc_streams"), counted(&ran.snapshot, "grpc_req_duration")), (3.0, 3.0));
    assert_eq!((counted(&ran.snapshot, "grpc_streams_msgs_sent"), counted(&ran.snapshot, "grpc_streams_msgs_received")), (4.0, 5.0));
}

/// Status and text are those of grpc-go, the client of k6, by its source.
#[test]
fn a_message_beyond_the_limit_is_not_sent() {
    let ran = call(
        "client.connect(A, { plaintext: true, maxSendSize: 10 });
        const [small, large] = ['short', 'longer than ten'].map((text) => client.invoke('talk.v1.Talk/Say', { text }));
        console.log(small.status, small.message.text, large.status, large.message, JSON.stringify(large.error));
        const chat = new Stream(client, 'talk.v1.Talk/Chat');
        chat.on('data', (line) => { console.log('chat', line.text); chat.write({ text: 'longer than ten' }); });
        chat.on('error', (error) => console.log('chat', error.code, error.message));
        chat.on('end', () => console.log('chat ended'));
        chat.write({ text: 'first' });",
    );
    assert_eq!(ran.ended, IterationEnd::Ended(Outcome::Passed), "{:?}", ran.printed);
    let problem = "trying to send message larger than max (17 vs. 10)";
    assert_eq!(
        ran.printed,
        [
            format!(r#"0 short 8 null {{"code":8,"message":"{problem}","details":[]}}"#),
            "chat first".to_owned(),
            format!("chat 8 {problem}"),
            "chat ended".to_owned()
        ]
    );
}

#[test]
fn try_shows_the_messages_of_streams() {
    let ran = call(
        "client.connect(A, { plaintext: true });
        const chat = new Stream(client, 'talk.v1.Talk/Chat');
        chat.on('data', () => chat.end());
        chat.write({ text: 'first', bigNumber: 5 });",
    );
    assert_eq!(ran.messages.len(), 2, "{:?}", ran.messages);
    for (shown, direction) in ran.messages.iter().zip(["Sent", "Received"]) {
        assert!(shown.starts_with(&format!("Talk/Chat {direction} {{")) && shown.contains("first"), "{shown}");
    }
}

#[test]
fn a_connection_without_plaintext_speaks_tls() {
    let echo = GrpcSource::Function(Box::new(|messages: &[Bytes]| GrpcAnswer::message(messages[0].clone())));
    let say = Behaviour::new().grpc(GrpcContent { source: echo, turns: GrpcTurns::AtEnd });
    let server = Server::builder().tls(TlsOptions::default()).grpc_method("talk.v1.Talk/Say", say).start().unwrap();
    let with = |options: &str| {
        let script = format!(
            "import {{ Client }} from 'k6/net/grpc';
            export const options = {{ {options} }};
            const client = new Client();
            client.load(['protos'], 'talk.proto');
            export default function () {{
              try {{
                client.connect('{}');
                console.log(client.invoke('talk.v1.Talk/Say', {{ text: 'hello' }}).message.text);
              }} catch (error) {{ console.log(error.message); }}
            }}",
            server.address()
        );
        run_with(&[("script.js", &script), ("protos/talk.proto", PROTO), ("protos/line.proto", LINE)]).printed
    };
    assert_eq!(with("insecureSkipTLSVerify: true"), ["hello"]);
    let refused = with("");
    assert!(refused[0].contains("not trusted"), "{refused:?}");
}

#[test]
fn wrong_use_is_an_exception_that_names_the_remedy() {
    let ran = call(
        "const thrown = (act) => { try { act(); return 'nothing'; } catch (error) { return error.message; } };
        console.log(thrown(() => client.invoke('talk.v1.Talk/Say', {})));
        console.log(thrown(() => client.connect('127.0.0.1:1', { plaintext: true })));
        console.log(thrown(() => client.connect(A, { tls: 5 })));
        console.log(thrown(() => client.load([], 'x.proto')));
        client.connect(A, { plaintext: true });
        console.log(thrown(() => client.invoke('talk.v1.Talk/Nothing', {})));
        console.log(thrown(() => client.invoke('other.Service/Say', {})));
        console.log(thrown(() => client.invoke('talk.v1.Talk/Say', { txt: 1 })));
        console.log(thrown(() => client.invoke('talk.v1.Talk/Chat', {})));
        console.log(thrown(() => new Stream(client, 'talk.v1.Talk/Say')));",
    );
    for (printed, expected) in ran.printed.iter().zip([
        "you must call connect first",
        "connect(\"127.0.0.1:1\"): ",
        "invalid tls value: '5', expected (optional) keys: cert, key, password, and cacerts",
        "init context",
        "talk.v1.Talk has no call \"Nothing\"",
        "not found",
        "txt",
        "new grpc.Stream(client, …)",
        "client.invoke(…)",
    ]) {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
    assert_eq!(ran.printed.len(), 9, "{:?}", ran.printed);
}

#[test]
fn a_file_that_cannot_be_loaded_fails_the_test_before_its_load() {
    let load = |files: &str| {
        refused(&format!(
            "import {{ Client }} from 'k6/net/grpc'; const c = new Client(); c.load({files}); export default function () {{}}"
        ))
    };
    assert_eq!(load("[], 'none.proto'").matches("none.proto: ").count(), 1, "{}", load("[], 'none.proto'"));
    assert!(load("['/etc'], 'passwd'").contains("--allow-read"));
}
