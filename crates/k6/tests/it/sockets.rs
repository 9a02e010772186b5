//! `k6/ws` and `k6/websockets` against a server of tungstenite.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use loadstone_engine::IterationEnd;
use loadstone_metrics::{MetricValue, Outcome, SeriesKind, Snapshot};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::real_time::{Ran, run};

/// Echoes messages. `bye` makes it close with 1001, `odd` with 4321, and `gone` drops the connection.
fn server() -> SocketAddr {
    let (bound, address) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            bound.send(listener.local_addr().unwrap()).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
                    while let Some(Ok(message)) = socket.next().await {
                        let code = match message.to_text() {
                            Ok("bye") => CloseCode::Away,
                            Ok("odd") => CloseCode::Library(4321),
                            Ok("gone") => return,
                            _ => {
                                if (message.is_text() || message.is_binary()) && socket.send(message).await.is_err() {
                                    return;
                                }
                                continue;
                            }
                        };
                        let _ = socket.send(Message::Close(Some(CloseFrame { code, reason: "because".into() }))).await;
                    }
                });
            }
        });
    });
    address.recv().unwrap()
}

/// Runs one iteration. `W` is the URL of the server.
fn with_server(script: &str) -> Ran {
    let address = server();
    run(&format!("const W = 'ws://{address}';\n{script}"))
}

fn counted(snapshot: &Snapshot, name: &str) -> f64 {
    let found = snapshot.metrics.iter().find(|metric| &*metric.name == name && metric.tags.is_empty());
    match &found.unwrap_or_else(|| panic!("no {name}")).value {
        MetricValue::Counter { sum, .. } => *sum,
        MetricValue::Trend(values) => values.count() as f64,
        other => panic!("{other:?}"),
    }
}

const METRICS: &str =
    "export const options = { thresholds: { ws_sessions: ['count>0'], ws_connecting: ['max>0'], ws_session_duration: ['max>0'],
  ws_msgs_sent: ['count>0'], ws_msgs_received: ['count>0'], ws_ping: ['max>0'] } };";

#[test]
fn a_socket_of_k6_ws_calls_its_handlers_until_it_closes() {
    let ran = with_server(&format!(
        "import ws from 'k6/ws'; import {{ check }} from 'k6';
        {METRICS}
        export default function () {{
          const response = ws.connect(W, {{ headers: {{ 'X-A': '1' }}, tags: {{ kind: 'chat' }} }}, (socket) => {{
            socket.on('open', () => {{ console.log('open'); socket.send('hello'); socket.ping(); }});
            socket.on('message', (text) => {{ console.log('message', text); socket.sendBinary(new Uint8Array([1, 255]).buffer); }});
            socket.on('binaryMessage', (bytes) => console.log('binary', Array.from(new Uint8Array(bytes)).join()));
            socket.on('pong', () => console.log('pong'));
            socket.on('close', (code) => console.log('close', code));
            let ticks = 0;
            socket.setInterval(() => {{ if (++ticks === 3) socket.setTimeout(() => socket.close(1000), 1); }}, 20);
          }});
          check(response, {{ 'status is 101': (r) => r && r.status === 101 }});
          console.log(response.url === W, response.headers.Upgrade, response.error);
        }}"
    ));
    assert_eq!(ran.ended, IterationEnd::Ended(Outcome::Passed), "{:?}", ran.printed);
    let mut printed = ran.printed.clone();
    assert_eq!(printed.remove(0), "open");
    assert_eq!(printed.split_off(3), ["close 1000", "true websocket "]);
    printed.sort();
    assert_eq!(printed, ["binary 1,255", "message hello", "pong"]);
    for (name, count) in [
        ("ws_sessions", 1.0),
        ("ws_msgs_sent", 2.0),
        ("ws_msgs_received", 2.0),
        ("ws_ping", 1.0),
        ("ws_session_duration", 1.0),
        ("ws_connecting", 1.0),
    ] {
        assert_eq!(counted(&ran.snapshot, name), count, "{name}");
    }
    let requests: Vec<_> = ran.snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Request).collect();
    assert_eq!((requests.len(), &*requests[0].key.name), (1, "WS /"));
}

#[test]
fn the_end_of_a_socket_of_k6_ws_is_an_event() {
    for (message, events) in
        [("bye", "close 1001"), ("odd", "error websocket: close 4321: because|close 4321"), ("gone", "error|close 1001")]
    {
        let ran = with_server(&format!(
            "import ws from 'k6/ws';
            export default function () {{
              const events = [];
              ws.connect(W, null, (socket) => {{
                socket.on('open', () => socket.send('{message}'));
                socket.on('error', (e) => events.push('{message}' === 'gone' ? 'error' : `error ${{e.error()}}`));
                socket.on('close', (code) => events.push(`close ${{code}}`));
              }});
              console.log(events.join('|'));
            }}"
        ));
        assert_eq!(ran.printed, [events], "{message}");
    }
}

#[test]
fn a_refused_opening_of_k6_ws_is_a_response_and_a_failed_request() {
    let ran = run("import ws from 'k6/ws';
        export default function () { const r = ws.connect('ws://127.0.0.1:1/', {}, () => console.log('set up')); console.log(r.status, r.error !== ''); }");
    assert_eq!(ran.printed.last().unwrap(), "0 true", "{:?}", ran.printed);
    assert!(!ran.printed.contains(&"set up".to_owned()));
    let request = ran.snapshot.series.iter().find(|series| series.key.kind == SeriesKind::Request).unwrap();
    assert_eq!(request.failed, 1);
}

#[test]
fn an_exception_in_a_handler_of_k6_ws_ends_the_iteration() {
    let ran = with_server(
        "import ws from 'k6/ws';
        export default function () { ws.connect(W, (socket) => socket.on('open', () => { throw new Error('no'); })); console.log('never'); }",
    );
    assert_eq!(ran.ended, IterationEnd::Threw(Outcome::Script));
    assert!(!ran.printed.contains(&"never".to_owned()) && ran.printed[0].contains("no"), "{:?}", ran.printed);
}

#[test]
fn k6_websockets_runs_on_the_event_loop_and_the_iteration_waits_for_it() {
    for module in ["k6/websockets", "k6/experimental/websockets"] {
        let ran = with_server(&format!(
            "import {{ WebSocket, Blob }} from '{module}';
            export default function () {{
              const events = [];
              const one = new WebSocket(W), two = new WebSocket(W, null, {{ headers: {{ A: 'b' }} }});
              two.binaryType = 'arraybuffer';
              events.push(one.readyState, one.binaryType);
              try {{ one.send('early'); }} catch (error) {{ events.push(error.name); }}
              one.onopen = () => {{ events.push(`open ${{one.readyState}}`); one.send('hi'); one.ping(); }};
              one.addEventListener('message', (event) => {{ events.push(event.data); one.close(1000, 'done'); }});
              one.onclose = (event) => {{ console.log([...events, `close ${{event.code}} ${{one.readyState}}`].join(' | ')); }};
              two.addEventListener('open', () => two.send(new Uint8Array([7, 8])));
              two.onmessage = async (event) => {{
                if (event.data instanceof ArrayBuffer) {{ two.binaryType = 'blob'; two.send(event.data); return; }}
                console.log('blob', event.data.size, new Uint8Array(await event.data.arrayBuffer()).join());
                two.close();
              }};
            }}"
        ));
        assert_eq!(ran.ended, IterationEnd::Ended(Outcome::Passed), "{:?}", ran.printed);
        let mut printed = ran.printed;
        printed.sort();
        assert_eq!(printed, ["0 | blob | InvalidStateError | open 1 | hi | close 1000 3", "blob 2 7,8"]);
    }
}

#[test]
fn a_lost_or_refused_socket_of_k6_websockets_is_an_error_and_a_close() {
    let ran = with_server(
        "import { WebSocket } from 'k6/websockets';
        const watch = (name, socket) => {
          socket.onerror = (event) => console.log(name, 'error', event.error !== '');
          socket.onclose = (event) => console.log(name, 'close', socket.readyState, event.wasClean);
          return socket;
        };
        export default function () {
          const lost = watch('lost', new WebSocket(W));
          lost.onopen = () => lost.send('gone');
          watch('refused', new WebSocket('ws://127.0.0.1:1/'));
        }",
    );
    assert_eq!(ran.ended, IterationEnd::Ended(Outcome::Passed));
    let mut printed = ran.printed;
    printed.sort();
    assert_eq!(printed, ["lost close 3 false", "lost error true", "refused close 3 false", "refused error true"]);
}
