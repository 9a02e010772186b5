//! `stub.grpc`, called by grpc-js and by `user.grpc`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loadstone_engine::IterationEnd;
use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{FlowStep, Outcome};
use loadstone_script::{Inputs, Stubs};
use serde_json::{Value, json};

use crate::folder::{Folder, at, load_with};
use crate::running::TestWorker;

const SHOP: &str = include_str!("../grpc/shop.proto");
const HEAD: &str = "import { test, scenario, once, proto, stub, flow } from \"loadstone\";\nproto(\"shop.proto\");\n";
const END: &str = "const s = scenario(\"S\", async () => {});\nexport default test({ load: s.run(once()) });\n";

/// A test's running stubs, and grpc-js that calls the first of them.
struct Called {
    stubs: Stubs,
    url: String,
    lines: Arc<Mutex<Vec<String>>>,
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    _folder: Folder,
}

impl Called {
    fn of(body: &str) -> Self {
        let folder = Folder::new(&[("t.load.ts", &format!("{HEAD}{body}\n{END}")), ("shop.proto", SHOP)]);
        let loaded =
            loadstone_script::load(&folder.path("t.load.ts"), &Inputs::default()).unwrap_or_else(|error| panic!("{}", error.render()));
        let url = loaded.stub_urls()[0].clone();
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let written = Arc::clone(&lines);
        let stubs = Stubs::start(&Arc::new(loaded), Box::new(move |line| written.lock().unwrap().push(line.text.clone()))).unwrap();
        stubs.begin(Monotonic::start());
        let port = url.rsplit(':').next().unwrap();
        let mut client = Command::new("node");
        client.args(["client.mjs", port]).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grpc"));
        let mut process =
            client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("node is missing: `cargo xtask setup` installs it");
        let (input, output) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        Self { stubs, url, lines, process, input, output, _folder: folder }
    }

    /// How each of these calls ended, in order.
    #[expect(clippy::needless_pass_by_value, reason = "callers pass literals")]
    fn call(&mut self, calls: Value) -> Vec<Value> {
        writeln!(self.input.as_mut().unwrap(), "{calls}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("grpc-js printed {line:?}: `cargo xtask setup` installs it"))
    }
}

impl Drop for Called {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.process.wait();
    }
}

#[test]
fn another_client_receives_the_described_answers() {
    let mut called = Called::of(
        r#"
        stub.grpc({ trailers: { "x-of": "all" } })
          .on("shop.v1.Shop/GetProduct", {
            message: { id: 7, name: "Lamp", state: "SOLD_OUT", tags: ["a"] }, metadata: { "x-region": "eu", "x-raw-bin": new Uint8Array([1, 255]) },
            trailers: { "x-cost": "3" },
          })
          .on("shop.v1.Shop/Fail", { status: "NOT_FOUND", details: "no shöp 100%" })
          .on("shop.v1.Shop/Watch", { messages: [{ cents: 1 }, { cents: 2 }, { cents: 3 }], every: "100ms", delay: "150ms" });
        "#,
    );
    let ends = called.call(json!([
        { "method": "GetProduct" }, { "method": "Fail" }, { "method": "Watch" }, { "method": "Echo" },
        { "client": "health", "method": "Check" },
        { "client": "reflection", "method": "ServerReflectionInfo", "send": [
            { "listServices": "" }, { "fileContainingSymbol": "shop.v1.Shop.Echo" }, { "fileByFilename": "none.proto" },
        ] },
    ]));
    let product = &ends[0];
    assert_eq!(product["messages"], json!([{ "id": 7, "name": "Lamp", "state": "SOLD_OUT", "tags": ["a"], "metadata": {} }]));
    assert_eq!((&product["metadata"]["x-region"], &product["metadata"]["x-raw-bin"]), (&json!("eu"), &json!("01ff")));
    assert_eq!((&product["status"], &product["trailers"]), (&json!("OK"), &json!({ "x-cost": "3", "x-of": "all" })));
    assert_eq!((&ends[1]["status"], &ends[1]["details"]), (&json!("NOT_FOUND"), &json!("no shöp 100%")));
    let (watched, arrived) = (&ends[2], ends[2]["at"].as_array().unwrap().iter().map(|ms| ms.as_u64().unwrap()).collect::<Vec<_>>());
    assert_eq!((&watched["messages"], &watched["status"]), (&json!([{ "cents": 1 }, { "cents": 2 }, { "cents": 3 }]), &json!("OK")));
    // Each is due a pause after the previous one was due, however late the client reads that. Milliseconds since before the call, rounded.
    assert!(arrived[0] >= 149 && arrived[1] >= 249 && arrived[2] >= 349, "{arrived:?}");
    assert_eq!(ends[3]["status"], "UNIMPLEMENTED");
    assert!(
        ends[3]["details"].as_str().unwrap().starts_with("no method shop.v1.Shop/Echo; this stub serves: shop.v1.Shop/GetProduct, "),
        "{}",
        ends[3]
    );
    assert_eq!(ends[4]["messages"][0]["status"], "SERVING");
    let received = &ends[5]["messages"];
    assert_eq!(received[0]["listServicesResponse"]["service"], json!([{ "name": "grpc.health.v1.Health" }, { "name": "shop.v1.Shop" }]));
    // The file, and the timestamps that it imports.
    assert_eq!(received[1]["fileDescriptorResponse"]["fileDescriptorProto"].as_array().unwrap().len(), 2);
    assert_eq!((&received[2]["errorResponse"]["errorCode"], &ends[5]["status"]), (&json!(5), &json!("OK")));
}

#[test]
fn functions_read_calls_and_choose_their_answers() {
    let mut called = Called::of(
        r#"
        const sale = flow("Sale");
        const inCapitals = (call: any) => ({ message: { text: call.message.text.toUpperCase() } });
        stub.grpc({ name: "shop", delay: "20ms" })
          .on("shop.v1.Shop/GetProduct", (call) => {
            const id = call.message.productId;
            sale.finish(String(id));
            if (id === 404) return { status: "NOT_FOUND", details: `no ${id}`, trailers: { "x-why": call.metadata["x-tenant"] }, delay: "1ms" };
            if (id === 500) throw new Error("broken");
            if (id === 600) return { message: { nmae: "x" } };
            return { message: { id: call.json("$.productId"), name: call.regex(/productId":(\d+)/)[1] }, metadata: { "x-id": String(id) } };
          }, { trailers: { "x-cost": "9" } })
          .on("shop.v1.Shop/Echo", (call) => ({ message: call.message }))
          .on("shop.v1.Shop/Upload", ({ messages }) => {
            return { message: { count: messages.length, cents: messages.reduce((sum: number, price: any) => sum + price.cents, 0) } };
          })
          .on("shop.v1.Shop/Watch", (call) => ({ messages: Array.from({ length: call.message.count }, (_, n) => ({ cents: n })) }))
          .on("shop.v1.Shop/Chat", (call) => (call.message.text === "stop" ? { status: "ABORTED" } : inCapitals(call)));
        "#,
    );
    let everything = json!({ "yes": true, "big": "9007199254740993", "raw": "AQI=", "counts": { "a": 1 }, "right": 3 });
    let ends = called.call(json!([
        { "method": "GetProduct", "send": [{ "productId": 7 }] },
        { "method": "GetProduct", "send": [{ "productId": 404 }], "metadata": { "x-tenant": ["t1", "t2"] } },
        { "method": "GetProduct", "send": [{ "productId": 500 }] },
        { "method": "GetProduct", "send": [{ "productId": 600 }] },
        { "client": "packed", "method": "Upload", "send": [{ "cents": 1 }, { "cents": 20 }, { "cents": 300 }] },
        { "method": "Watch", "send": [{ "count": 3 }] },
        { "method": "Chat", "send": [{ "text": "a" }, { "text": "b" }, { "text": "c" }] },
        { "method": "Chat", "send": [{ "text": "a" }, { "text": "stop" }, { "text": "c" }] },
        { "method": "Echo", "send": [everything] },
    ]));
    let lines = called.lines.lock().unwrap().clone();
    assert_eq!((&ends[0]["messages"][0]["id"], &ends[0]["messages"][0]["name"]), (&json!(7), &json!("7")), "{lines:?}");
    assert_eq!((&ends[0]["metadata"]["x-id"], &ends[0]["trailers"]["x-cost"]), (&json!("7"), &Value::Null));
    assert_eq!(
        (&ends[1]["status"], &ends[1]["details"], &ends[1]["trailers"]),
        (&json!("NOT_FOUND"), &json!("no 404"), &json!({ "x-why": "t1, t2" }))
    );
    assert!(ends[0]["elapsed"].as_u64() >= Some(20));
    assert_eq!((&ends[2]["status"], &ends[2]["details"]), (&json!("INTERNAL"), &json!("the function of this endpoint failed: broken")));
    assert!(ends[3]["details"].as_str().unwrap().contains("shop.v1.Product has no field `nmae` (did you mean `name`?)"), "{}", ends[3]);
    assert!(lines.iter().any(|line| line.contains("broken") && line.contains("t.load.ts:")), "{lines:?}");
    assert_eq!(ends[4]["messages"], json!([{ "count": 3, "cents": "321" }]));
    assert_eq!(ends[5]["messages"], json!([{ "cents": 0 }, { "cents": 1 }, { "cents": 2 }]));
    assert_eq!((&ends[6]["messages"], &ends[6]["status"]), (&json!([{ "text": "A" }, { "text": "B" }, { "text": "C" }]), &json!("OK")));
    assert_eq!((&ends[7]["messages"], &ends[7]["status"]), (&json!([{ "text": "A" }]), &json!("ABORTED")));
    let echoed = &ends[8]["messages"][0];
    assert_eq!(
        (&echoed["big"], &echoed["raw"]["data"], &echoed["right"]),
        (&json!("9007199254740993"), &json!([1, 2]), &json!(3)),
        "{}",
        ends[8]
    );
    let received = called.stubs.flow_events();
    assert!(received.len() == 4 && received.iter().all(|event| event.step == FlowStep::Finish && event.at > 0), "{received:?}");
    let (name, recording) = called.stubs.recordings().remove(0);
    let ended: Vec<(String, Vec<String>)> = recording.routes.iter().map(|route| (route.route.clone(), route.endings().collect())).collect();
    assert_eq!(name, "shop");
    assert_eq!(
        ended[0],
        ("shop.v1.Shop/GetProduct".to_owned(), vec!["1 × OK".to_owned(), "1 × NOT_FOUND".to_owned(), "2 × INTERNAL".to_owned()])
    );
    // In bidirectional streams, each message is a call.
    assert_eq!(ended[4], ("shop.v1.Shop/Chat".to_owned(), vec!["4 × OK".to_owned(), "1 × ABORTED".to_owned()]));
}

#[test]
fn faults_and_limits_are_statuses_and_the_recording_counts_them() {
    let mut called = Called::of(
        r#"
        stub.grpc({ name: "shop", seed: 7 })
          .on("shop.v1.Shop/GetProduct", { faults: [{ share: "50%", fault: "UNAVAILABLE" }, { share: 0.2, fault: "reset" }] })
          .on("shop.v1.Shop/Fail", { limit: { rate: "1/h" } })
          .on("shop.v1.Shop/Sleep", { faults: { share: 1, fault: "silence" } })
          .on("shop.v1.Shop/Chat", { message: { text: "x" }, faults: { share: 1, fault: "reset" } });
        "#,
    );
    let ends = called.call(json!([
        { "method": "GetProduct", "times": 100 }, { "method": "Fail", "times": 2 }, { "method": "Sleep", "timeout": 300 }, { "method": "Chat" },
    ]));
    let count = |status: &str| ends[..100].iter().filter(|end| end["status"] == status).count();
    let (ok, unavailable, reset) = (count("OK"), count("UNAVAILABLE"), count("INTERNAL"));
    // Three standard deviations of a binomial share.
    assert!(ok + unavailable + reset == 100 && (35..=65).contains(&unavailable) && (8..=32).contains(&reset), "{ok} {unavailable} {reset}");
    let statuses: Vec<&Value> = ends[100..].iter().map(|end| &end["status"]).collect();
    assert_eq!(statuses, ["OK", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "INTERNAL"]);
    let (_, recording) = called.stubs.recordings().remove(0);
    let ended: Vec<String> = recording.routes[0].endings().collect();
    assert_eq!(ended, [format!("{reset} reset"), format!("{ok} × OK"), format!("{unavailable} × UNAVAILABLE")]);
    assert_eq!(recording.routes[1].endings().collect::<Vec<_>>(), ["1 × OK", "1 × RESOURCE_EXHAUSTED"]);
    let clock = Monotonic::start();
    while called.stubs.recordings()[0].1.routes[2].abandoned == 0 && clock.now() < 10_000_000_000 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut seen = Vec::new();
    while seen.is_empty() && clock.now() < 10_000_000_000 {
        std::thread::sleep(Duration::from_millis(5));
        seen = called.stubs.seconds().remove(0).1;
    }
    let (answered, faulted): (u64, u64) = seen.iter().fold((0, 0), |sum, second| (sum.0 + second.answered, sum.1 + second.faulted));
    assert!(answered <= ok as u64 + 1 && faulted <= (unavailable + reset) as u64 + 1 && answered + faulted > 0, "{seen:?}");
    assert_eq!(called.stubs.recordings()[0].1.routes[2].abandoned, 1);
}

/// grpc-js decompresses them. Node's own HTTP/2 shows the bytes on the wire.
#[test]
fn answers_are_compressed_for_clients_that_accept_it() {
    let mut called = Called::of(
        r#"
        const name = "lamp ".repeat(2000);
        stub.grpc({ gzip: true })
          .on("shop.v1.Shop/GetProduct", { message: { name } })
          .on("shop.v1.Shop/Chat", (call) => ({ message: { text: call.message.text.repeat(2000) } }));
        "#,
    );
    let ends = called.call(json!([{ "method": "GetProduct" }, { "method": "Chat", "send": [{ "text": "lamp " }, { "text": "b" }] }]));
    let name = "lamp ".repeat(2000);
    assert_eq!((&ends[0]["messages"][0]["name"], &ends[0]["status"]), (&json!(name), &json!("OK")));
    assert_eq!(ends[1]["messages"], json!([{ "text": name }, { "text": "b".repeat(2000) }]));
    let received = |accepts: &str| -> (Value, usize) {
        let program = r#"
            const [url, accepts] = process.argv.slice(1);
            const session = require("node:http2").connect(url);
            const about = { "content-type": "application/grpc", "grpc-accept-encoding": accepts };
            const call = session.request({ ":method": "POST", ":path": "/shop.v1.Shop/GetProduct", ...about });
            let [coding, bytes] = [null, 0];
            call.on("response", (headers) => (coding = headers["grpc-encoding"] ?? null));
            call.on("data", (piece) => (bytes += piece.length));
            call.on("end", () => { console.log(JSON.stringify([coding, bytes])); session.close(); });
            call.end(Buffer.alloc(5));
        "#;
        let received = Command::new("node").args(["-e", program, &called.url, accepts]).output().unwrap();
        serde_json::from_slice(&received.stdout).unwrap_or_else(|_| panic!("{received:?}"))
    };
    let (coding, packed_bytes) = received("deflate, gzip");
    assert!(coding == "gzip" && packed_bytes < 300, "{coding} {packed_bytes}");
    let (coding, plain_bytes) = received("identity");
    assert!(coding.is_null() && plain_bytes > 10_000, "{coding} {plain_bytes}");
}

#[test]
fn health_is_watched_until_the_client_leaves() {
    let mut called = Called::of("stub.grpc().on(\"shop.v1.Shop/GetProduct\", {});");
    let ends = called.call(json!([{ "client": "health", "method": "Watch", "timeout": 500 }, { "client": "health", "method": "Check" }]));
    assert_eq!((&ends[0]["messages"], &ends[0]["status"]), (&json!([{ "status": "SERVING" }]), &json!("DEADLINE_EXCEEDED")), "{}", ends[0]);
    assert!(ends[0]["at"][0].as_u64() < Some(400), "{}", ends[0]);
    assert_eq!(ends[1]["messages"][0]["status"], "SERVING");
}

#[test]
fn users_of_loadstone_call_it_by_reflection() {
    let called = Called::of(
        r#"
        stub.grpc({ metadata: { "x-region": "eu" } })
          .on("shop.v1.Shop/GetProduct", (call) => ({ message: { id: call.message.productId, name: call.header("x-tenant") } }))
          .on("shop.v1.Shop/Watch", { messages: [{ cents: 5 }, { cents: 6 }] });
        "#,
    );
    let text = r#"import { test, scenario, once, param } from "loadstone";
        const s = scenario("S", async (user) => {
          const r = await user.grpc("shop.v1.Shop/GetProduct", { productId: 7 }, { metadata: { "x-tenant": "t1" }, compression: "gzip" });
          user.log(JSON.stringify([r.status, r.message.id, r.message.name, r.metadata["x-region"]]));
          const prices = await user.grpcStream("shop.v1.Shop/Watch", {});
          for await (const price of prices.messages()) user.log(price.text);
          user.log(JSON.stringify((await user.grpc("grpc.health.v1.Health/Check")).message));
        });
        export default test({ target: param.url("target"), load: s.run(once()), options: { grpcReflection: true } });"#;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let lines = tokio::task::LocalSet::new().block_on(&runtime, async {
        let worker = TestWorker::open(text, &called.url, &[]);
        let end = tokio::time::timeout(Duration::from_secs(20), worker.with(worker.iterate(0))).await.unwrap();
        assert_eq!(end, IterationEnd::Ended(Outcome::Passed), "{:?}", worker.drain().errors);
        worker.texts()
    });
    assert_eq!(lines, [r#"["OK",7,"t1","eu"]"#, r#"{"cents":5}"#, r#"{"cents":6}"#, r#"{"status":"SERVING"}"#]);
}

#[test]
fn misfits_are_errors_with_their_place() {
    for (stub, place, expected) in [
        ("stub.grpc().on(\"shop.v1.Shop/GetProdukt\", {});", "t.load.ts:3:13", "has no call \"GetProdukt\" (did you mean `GetProduct`?)"),
        ("stub.grpc()\n  .on(\"shop.v1.Shop/GetProduct\", { message: { nmae: \"\" } });", "t.load.ts:4:4", "(did you mean `name`?)"),
        (
            "stub.grpc().on(\"shop.v1.Shop/GetProduct\", { message: { id: \"x\" } });",
            "t.load.ts:3:13",
            "message.id is \"x\", expected a whole number",
        ),
        ("stub.grpc().on(\"shop.v1.Shop/GetProduct\", { messages: [{}] });", "t.load.ts:3:13", "returns one message: write `message`"),
        ("stub.grpc().on(\"shop.v1.Shop/GetProduct\", { status: \"NOTFOUND\" });", "t.load.ts:3:13", "(did you mean \"NOT_FOUND\"?)"),
        (
            "stub.grpc().on(\"shop.v1.Shop/GetProduct\", { faults: { share: 1, fault: 503 } });",
            "t.load.ts:3:13",
            "503 is not a status of gRPC",
        ),
        ("stub.grpc().on(\"shop.v1.Shop/GetProduct\", { dealy: \"1s\" });", "t.load.ts:3:45", "(did you mean `delay`?)"),
        ("stub.grpc({ listen: \"here\" });", "t.load.ts:3:6", "stub.grpc(…) listen: "),
        ("stub.grpc({ metadata: { \"x-a\": new Uint8Array([1]) } });", "t.load.ts:3:36", "only names that end in -bin hold bytes"),
        ("stub.grpc().on(\"shop.v1.Shop/GetProduct\", { delay: \"soon\" });", "", "stub.grpc(…), stub number 1: "),
        ("stub.grpc().on(\"shop.v1.Shop/GetProduct\", { message: {}, status: \"ABORTED\" });", "", "has no message"),
        (
            "stub.grcp();",
            "t.load.ts:3:6",
            "there is no `stub.grcp` (did you mean `stub.grpc`?); there is: stub.http, stub.grpc, stub.tcp, stub.dns",
        ),
    ] {
        let error = load_with(&format!("{HEAD}{stub}\n{END}"), &[("shop.proto", SHOP)], &Inputs::default()).expect_err(stub);
        assert!(error.message.contains(expected), "{stub}: {}", error.render());
        assert_eq!(at(&error), place, "{}", error.render());
    }
}
