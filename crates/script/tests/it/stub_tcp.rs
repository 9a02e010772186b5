//! `stub.tcp`, called by a plain socket and by `user.tcp`.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loadstone_engine::IterationEnd;
use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{FlowStep, Outcome};
use loadstone_script::{Inputs, Stubs};
use loadstone_stub::Recording;

use crate::folder::{Folder, at, load_error};
use crate::running::TestWorker;

const HEAD: &str = "import { test, scenario, once, stub, flow } from \"loadstone\";\n";
const END: &str = "const s = scenario(\"S\", async () => {});\nexport default test({ load: s.run(once()) });\n";

struct Running {
    stubs: Stubs,
    address: String,
    lines: Arc<Mutex<Vec<String>>>,
    _folder: Folder,
}

impl Running {
    fn of(body: &str) -> Self {
        let folder = Folder::new(&[("t.load.ts", &format!("{HEAD}{body}\n{END}"))]);
        let loaded =
            loadstone_script::load(&folder.path("t.load.ts"), &Inputs::default()).unwrap_or_else(|error| panic!("{}", error.render()));
        let address = loaded.stub_urls()[0].trim_start_matches("http://").to_owned();
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let written = Arc::clone(&lines);
        let stubs = Stubs::start(&Arc::new(loaded), Box::new(move |line| written.lock().unwrap().push(line.text.clone()))).unwrap();
        stubs.begin(Monotonic::start());
        Self { stubs, address, lines, _folder: folder }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }

    fn recording(&self) -> Recording {
        self.stubs.recordings().remove(0).1
    }
}

/// Writes `sent` in pieces and reads a number of bytes.
fn exchange(stream: &mut TcpStream, sent: &[&[u8]], length: usize) -> Vec<u8> {
    for piece in sent {
        stream.write_all(piece).unwrap();
        // In a separate segment, which must not matter.
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut read = vec![0; length];
    stream.read_exact(&mut read).unwrap();
    read
}

#[test]
fn requests_end_as_declared_and_are_answered_in_order() {
    let lines = Running::of(
        r#"stub.tcp({ name: "lines", until: "\r\n", greeting: "hello\r\n", delay: "30ms" }, (request) => request.text.toUpperCase());"#,
    );
    let mut stream = lines.connect();
    assert_eq!(exchange(&mut stream, &[], 7), b"hello\r\n");
    let clock = Monotonic::start();
    // Two and a half requests. The delimiter is split in the middle.
    assert_eq!(exchange(&mut stream, &[b"one\r", b"\ntwo\r\nthr"], 10), b"ONE\r\nTWO\r\n");
    assert!(clock.now() >= 60_000_000, "one after the other: {}", clock.now());
    assert_eq!(exchange(&mut stream, &[b"ee\r\n"], 7), b"THREE\r\n");
    let recording = lines.recording();
    assert_eq!((recording.connections, recording.routes[0].body_bytes), (1, 17));
    assert_eq!(recording.routes[0].endings().collect::<Vec<_>>(), ["3 times"]);

    let fixed = Running::of("stub.tcp({ length: 4, answer: new Uint8Array([0, 255]) });");
    assert_eq!(exchange(&mut fixed.connect(), &[b"abcdef", b"gh"], 4), [0, 255, 0, 255]);
    let echo = Running::of("stub.tcp({ echo: true, close: true });");
    let mut stream = echo.connect();
    assert_eq!(exchange(&mut stream, &[b"abc"], 3), b"abc");
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0, "closed behind the answer");
}

#[test]
fn functions_choose_answer_delay_and_end() {
    let running = Running::of(
        r#"
        const passage = flow("Passage");
        stub.tcp({ until: "\n", answer: "as ever\n" }, (request) => {
          const [word, key] = request.text.trim().split(" ");
          if (key !== undefined) passage.finish(key);
          if (word === "bytes") return new Uint8Array([7, request.bytes.length]);
          if (word === "late") return { answer: "late\n", delay: "80ms" };
          if (word === "bye") return { answer: "bye\n", close: true };
          if (word === "fail") throw new Error("broken");
        });
        "#,
    );
    let mut stream = running.connect();
    assert_eq!(exchange(&mut stream, &[b"plain k1\n"], 8), b"as ever\n");
    assert_eq!(exchange(&mut stream, &[b"bytes k2\n"], 2), [7, 9]);
    let clock = Monotonic::start();
    assert_eq!(exchange(&mut stream, &[b"late\n"], 5), b"late\n");
    assert!(clock.now() >= 80_000_000, "{}", clock.now());
    assert_eq!(exchange(&mut stream, &[b"bye\n"], 4), b"bye\n");
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
    let mut stream = running.connect();
    stream.write_all(b"fail\n").unwrap();
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0, "a function that fails closes the connection");
    let lines = running.lines.lock().unwrap().clone();
    assert!(lines.iter().any(|line| line.contains("broken") && line.contains("t.load.ts:")), "{lines:?}");
    let received = running.stubs.flow_events();
    assert!(received.len() == 2 && received.iter().all(|event| event.step == FlowStep::Finish), "{received:?}");
}

#[test]
fn faults_and_limits_end_connections_and_are_counted() {
    let reset = Running::of("stub.tcp({ until: \"\\n\", faults: { share: 1, fault: \"reset\" } });");
    let mut stream = reset.connect();
    stream.write_all(b"x\n").unwrap();
    assert_eq!(stream.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(reset.recording().routes[0].endings().collect::<Vec<_>>(), ["1 reset"]);

    let silent = Running::of("stub.tcp({ until: \"\\n\", faults: { share: 1, fault: \"silence\" } });");
    let mut stream = silent.connect();
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    stream.write_all(b"x\n").unwrap();
    assert!(matches!(stream.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
    assert_eq!((silent.recording().in_flight, silent.recording().connections_open), (1, 1));
    drop(stream);
    let clock = Monotonic::start();
    while silent.recording().connections_open > 0 && clock.now() < 10_000_000_000 {
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!((silent.recording().routes[0].abandoned, silent.recording().connections_open), (1, 0));

    let limited = Running::of("stub.tcp({ until: \"\\n\", answer: \"ok\\n\", limit: { rate: \"1/h\" } });");
    let mut stream = limited.connect();
    assert_eq!(exchange(&mut stream, &[b"x\n"], 3), b"ok\n");
    stream.write_all(b"x\n").unwrap();
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
    assert_eq!(limited.recording().routes[0].endings().collect::<Vec<_>>(), ["1 time", "1 closed"]);
}

#[test]
fn users_of_loadstone_talk_to_it() {
    let running = Running::of(
        r#"stub.tcp({ name: "cache", until: "\r\n" }, (request) => (request.text === "PING\r\n" ? "+PONG\r\n" : "-ERR\r\n"));"#,
    );
    let text = r#"import { test, scenario, once, param } from "loadstone";
        const at = param.url("target").slice(7);
        const s = scenario("S", async (user) => {
          const cache = await user.tcp(at);
          const answers = [await cache.request("PING\r\n", { until: "\r\n" }), await cache.request("PONG\r\n", { until: "\r\n" })];
          user.log(answers.map((answer) => answer.text.trim()).join(" "));
        });
        export default test({ load: s.run(once()) });"#;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let lines = tokio::task::LocalSet::new().block_on(&runtime, async {
        let worker = TestWorker::open(text, &format!("http://{}", running.address), &[]);
        let end = tokio::time::timeout(Duration::from_secs(20), worker.with(worker.iterate(0))).await.unwrap();
        assert_eq!(end, IterationEnd::Ended(Outcome::Passed), "{:?}", worker.drain().errors);
        worker.texts()
    });
    assert_eq!(lines, ["+PONG -ERR"]);
}

#[test]
fn invalid_stubs_are_errors() {
    for (stub, place, expected) in [
        ("stub.tcp({ until: 5 });", "t.load.ts:2:6", "stub.tcp(…) until: expected a string or a Uint8Array, got 5"),
        ("stub.tcp({ untli: \"x\" });", "t.load.ts:2:12", "stub.tcp(…) has no option `untli` (did you mean `until`?)"),
        ("stub.tcp({ answer: \"a\", echo: true });", "t.load.ts:2:6", "only one of answer and echo"),
        ("stub.tcp({ limit: { reject: 503 } });", "t.load.ts:2:6", "leave `reject` out"),
        ("stub.tcp({}, 5);", "t.load.ts:2:6", "5 is not a function that takes a request"),
        ("stub.tcp({ listen: \"here\" });", "t.load.ts:2:6", "stub.tcp(…) listen: "),
        ("stub.tcp({ until: \"\" });", "", "stub.tcp(…), stub number 1: a request has at least one byte"),
        ("stub.tcp({ until: \"x\", length: 1 });", "", "set `until` or `length`, not both"),
        ("stub.tcp({ faults: { share: 1, fault: 503 } });", "", "503 is not a fault of a TCP stub"),
    ] {
        let error = load_error(&format!("{HEAD}{stub}\n{END}"));
        assert!(error.message.contains(expected), "{stub}: {}", error.render());
        assert_eq!(at(&error), place, "{}", error.render());
    }
}
