//! `user.grpc` and `user.grpcStream` against servers of grpc-js and grpc-go, and the errors for calls that do not fit their service.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use loadstone_engine::IterationEnd;
use loadstone_metrics::{Outcome, SeriesKind, SeriesSlice, Snapshot};
use loadstone_script::Inputs;

use crate::folder::{Folder, at};
use crate::running::TestWorker;

const PASSED: IterationEnd = IterationEnd::Ended(Outcome::Passed);
const FAILED: IterationEnd = IterationEnd::Ended(Outcome::Step);
const SHOP: &str = include_str!("../grpc/shop.proto");

/// A server of `tests/grpc`, in a separate process that ends with its standard input.
struct Server {
    process: Child,
    output: BufReader<ChildStdout>,
    port: u16,
}

impl Server {
    /// The server of grpc-js.
    fn node() -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grpc");
        Self::start(Command::new("node").arg("server.mjs").current_dir(folder))
    }

    /// The server of grpc-go, from `tools` in the target folder.
    fn go() -> Self {
        let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools");
        Self::start(&mut Command::new(tools.join("grpc-go")))
    }

    fn start(command: &mut Command) -> Self {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = started.expect("the gRPC server is missing: `cargo xtask setup` installs it");
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("port ").and_then(|port| port.parse().ok());
        Self { process, output, port: port.expect("the gRPC server did not start: `cargo xtask setup` installs what it needs") }
    }

    /// The next line that the server prints.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// One server for the tests that do not read its lines.
fn server() -> String {
    static NODE: OnceLock<Server> = OnceLock::new();
    format!("http://127.0.0.1:{}", NODE.get_or_init(Server::node).port)
}

fn test_of(body: &str) -> String {
    format!(
        "import {{ test, scenario, once, param, proto }} from \"loadstone\";\nproto(\"shop.proto\");\n\
         const s = scenario(\"S\", async (user) => {{\n{body}\n}});\n\
         export default test({{ target: param.url(\"target\"), load: s.run(once()), options: {{ requestTimeout: \"10s\" }} }});\n"
    )
}

/// The same without the file of its services.
fn reflecting(body: &str, options: &str) -> String {
    test_of(body).replace("proto(\"shop.proto\");\n", "\n").replace("requestTimeout: \"10s\"", options)
}

/// Runs a scenario of this body once: how it ended, its log, its measurements.
fn run_at(target: &str, body: &str) -> (IterationEnd, Vec<String>, Snapshot) {
    run_test(target, &test_of(body))
}

fn run_test(target: &str, text: &str) -> (IterationEnd, Vec<String>, Snapshot) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let worker = TestWorker::open(text, target, &[("shop.proto", SHOP)]);
        let run = async {
            let end = worker.iterate(0).await;
            (end, worker.texts(), worker.drain())
        };
        tokio::time::timeout(Duration::from_secs(20), worker.with(run)).await.expect("the scenario should end")
    })
}

fn run(body: &str) -> (IterationEnd, Vec<String>, Snapshot) {
    run_at(&server(), body)
}

fn requests(snapshot: &Snapshot) -> Vec<&SeriesSlice> {
    snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Request).collect()
}

fn request<'a>(snapshot: &'a Snapshot, name: &str) -> &'a SeriesSlice {
    requests(snapshot).into_iter().find(|series| &*series.key.name == name).unwrap_or_else(|| panic!("no request {name}"))
}

/// The error that a script threw.
fn thrown(body: &str) -> String {
    let (_, _, snapshot) = run(body);
    snapshot.errors.first().map(|error| error.message.to_string()).unwrap_or_default()
}

#[test]
fn a_call_sends_metadata_and_returns_message_status_and_trailers() {
    let (end, lines, snapshot) = run(r#"
        const r = await user.grpc("shop.v1.Shop/GetProduct", { productId: 7 }, { metadata: { "x-tenant": "t1", "x-raw-bin": new Uint8Array([1, 255]) } });
        const { id, name, state, tags, metadata } = r.message;
        user.log(JSON.stringify([r.ok, r.status, r.error, id, name, state, tags, metadata["x-tenant"], metadata["x-raw-bin"], metadata.te]));
        user.log(JSON.stringify([r.metadata["x-region"], r.trailers["x-cost"], r.json("$.name"), r.regex(/Product (\d)/)[1], r.times.total > 0]));
        const due = new Date(metadata.deadline).getTime() || Number(metadata.deadline);
        user.log(String(Math.abs(due - Date.now() - 10000) < 5000));
        "#);
    assert_eq!(end, PASSED, "{:?}", snapshot.errors);
    assert_eq!(lines[0], r#"[true,"OK",null,7,"Product 7","IN_STOCK",["a","b"],"t1","01ff",null]"#);
    assert_eq!(lines[1], r#"["eu","7","Product 7","7",true]"#);
    let measured = request(&snapshot, "Shop/GetProduct");
    assert_eq!((measured.count, measured.statuses.as_slice()), (1, &[(200, 1)][..]));
    assert!(measured.bytes_received > 0 && measured.phases.connect.count() > 0);
}

#[test]
fn every_kind_of_field_is_sent_and_received() {
    let (end, lines, snapshot) = run(r#"
        const sent = {
          yes: true, big: 9007199254740993n, raw: new Uint8Array([0, 1, 254]), number: 0.25, products: [{ id: 1, state: "SOLD_OUT" }],
          counts: { a: 1, b: 2 }, at: "2026-01-31T10:00:00Z", maybe: "", right: 3, state: 1,
        };
        const { message } = await user.grpc("shop.v1.Shop/Echo", sent);
        user.log(JSON.stringify(message));
        user.log(JSON.stringify((await user.grpc("/shop.v1.Shop/Echo")).message));
        "#);
    assert_eq!(end, PASSED, "{:?}", snapshot.errors);
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let product = r#"{ "id": 1, "name": "", "state": "SOLD_OUT", "tags": [], "metadata": {} }"#;
    assert_eq!(
        value(&lines[0]),
        value(&format!(
            r#"{{ "yes": true, "big": "9007199254740993", "raw": "AAH+", "number": 0.25, "products": [{product}], "counts": {{ "a": 1, "b": 2 }},
                "at": "2026-01-31T10:00:00Z", "maybe": "", "right": 3, "state": "IN_STOCK" }}"#
        ))
    );
    assert_eq!(
        value(&lines[1]),
        value(r#"{ "yes": false, "big": "0", "raw": "", "number": 0, "products": [], "counts": {}, "state": "UNKNOWN" }"#)
    );
}

#[test]
fn a_status_other_than_ok_is_a_failure_by_name_unless_it_is_expected() {
    let (end, lines, snapshot) = run(r#"
        const r = await user.grpc("shop.v1.Shop/Fail", { status: "UNAVAILABLE", details: "no shöp today" }, { name: "Broken" });
        user.log(JSON.stringify([r.ok, r.status, r.details, r.error, r.message === undefined, r.trailers["x-why"]]));
        const expected = await user.grpc("shop.v1.Shop/Fail", { status: "NOT_FOUND" }, { expect: { status: ["NOT_FOUND", "OK"] } });
        user.log(JSON.stringify([expected.ok, expected.status]));
        const wrong = await user.grpc("shop.v1.Shop/GetProduct", { productId: 7 }, { expect: { json: { "$.id": 8 }, header: { "x-cost": "7" } } });
        user.log(JSON.stringify([wrong.ok, wrong.error]));
        "#);
    assert_eq!(end, FAILED);
    assert_eq!(lines[0], r#"[false,"UNAVAILABLE","no shöp today","status UNAVAILABLE",true,"noticed"]"#);
    assert_eq!(lines[1], r#"[true,"NOT_FOUND"]"#);
    assert_eq!(lines[2], r#"[false,"$.id is 7, expected 8"]"#);
    assert_eq!(request(&snapshot, "Broken").outcomes, [(Outcome::Status, 1)]);
    assert_eq!(request(&snapshot, "Shop/Fail").outcomes, [(Outcome::Passed, 1)]);
    assert_eq!(request(&snapshot, "Shop/GetProduct").outcomes, [(Outcome::Expect, 1)]);
    assert!(snapshot.errors.iter().any(|error| &*error.message == "status UNAVAILABLE"));
}

#[test]
fn a_call_that_takes_too_long_is_a_timeout_and_is_cancelled_at_the_server() {
    let mut node = Server::node();
    let target = format!("http://127.0.0.1:{}", node.port);
    let (end, lines, snapshot) = run_at(
        &target,
        r#"
        const r = await user.grpc("shop.v1.Shop/Sleep", { productId: 7 }, { timeout: "300ms" });
        user.log(JSON.stringify([r.ok, r.status, r.error]));
        const next = await user.grpc("shop.v1.Shop/GetProduct", { productId: 8 });
        user.log(JSON.stringify([next.ok, next.times.connect]));
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(node.line(), "cancelled Sleep");
    let ended = &request(&snapshot, "Shop/Sleep").outcomes;
    // The side that detects the deadline first reports it.
    assert!(matches!(ended[..], [(Outcome::Timeout | Outcome::Status, 1)]), "{ended:?} {lines:?}");
    assert_eq!(lines[1], "[true,0]", "the connection goes on");
}

#[test]
fn concurrent_calls_share_a_connection() {
    let (end, lines, snapshot) = run(r#"
        const all = await Promise.all([...Array(20).keys()].map((id) => user.grpc("shop.v1.Shop/GetProduct", { product_id: id })));
        user.log(JSON.stringify([all.map((r) => r.message.id), new Set(all.map((r) => r.message.metadata.connection)).size]));
        "#);
    assert_eq!((end, snapshot.generator[0].connections_opened), (PASSED, 1));
    let ids: Vec<usize> = (0..20).collect();
    assert_eq!(lines[0], format!("[{},1]", serde_json::to_string(&ids).unwrap()));
}

#[test]
fn messages_are_sent_compressed() {
    let text = r#"const text = "x".repeat(20000);
        const r = await user.grpc("shop.v1.Shop/Echo", { maybe: text }, { compression: "COMPRESSION" });
        user.check("as it was", r.message.maybe === text);"#;
    let sent = |compression: &str| {
        let (end, _, snapshot) = run(&text.replace("COMPRESSION", compression));
        assert_eq!(end, PASSED, "{:?}", snapshot.errors);
        request(&snapshot, "Shop/Echo").bytes_sent
    };
    assert!(sent("none") > 20_000 && sent("gzip") < 2_000);
}

#[test]
fn a_server_stream_is_read_to_its_status() {
    let (end, lines, snapshot) = run(r#"
        const stream = await user.grpcStream("shop.v1.Shop/Watch", { count: 3 }, { name: "Watch" });
        const prices = [];
        for await (const price of stream.messages()) prices.push(price.json("$.cents"));
        const { status, trailers } = await stream.closed;
        user.log(JSON.stringify([prices, status, trailers["x-count"], stream.received, stream.sent, stream.open, stream.error]));
        const failing = await user.grpcStream("shop.v1.Shop/Watch", { count: 1, status: "DATA_LOSS" }, { name: "Lost" });
        const first = await failing.receive();
        const end = await failing.closed;
        user.log(JSON.stringify([first.json("$.cents"), end.status, end.details, failing.error]));
        "#);
    assert_eq!(end, FAILED);
    assert_eq!(lines[0], r#"[[1,2,3],"OK","3",3,1,false,null]"#);
    assert_eq!(lines[1], r#"[1,"DATA_LOSS","as asked","status DATA_LOSS"]"#);
    assert_eq!(request(&snapshot, "Watch").outcomes, [(Outcome::Passed, 1)]);
    assert_eq!(request(&snapshot, "Watch first message").outcomes, [(Outcome::Passed, 1)]);
    assert_eq!(request(&snapshot, "Lost").outcomes, [(Outcome::Status, 1)]);
    assert_eq!(snapshot.errors.len(), 1, "reported once: {:?}", snapshot.errors);
}

#[test]
fn client_and_bidirectional_streams() {
    let (end, lines, snapshot) = run(r#"
        const upload = await user.grpcStream("shop.v1.Shop/Upload");
        for (const cents of [1, 20, 300]) await upload.send({ cents });
        await upload.end();
        const total = await upload.receive();
        user.log(JSON.stringify([total.json(), (await upload.closed).status, upload.sent]));
        const chat = await user.grpcStream("shop.v1.Shop/Chat", { text: "hello" }, { name: "Chat" });
        const hello = await chat.receive({ name: "Hello", within: "5s" });
        await chat.send({ text: "you" });
        const you = await chat.receive({ match: "YOU" });
        await chat.end();
        user.log(JSON.stringify([hello.json("$.text"), you.json("$.text"), (await chat.closed).status]));
        "#);
    assert_eq!(end, PASSED, "{:?}", snapshot.errors);
    assert_eq!(lines[0], r#"[{"count":3,"cents":"321"},"OK",3]"#);
    assert_eq!(lines[1], r#"["HELLO","YOU","OK"]"#);
    let names: Vec<&str> = requests(&snapshot).iter().map(|series| &*series.key.name).collect();
    assert!(!names.contains(&"Shop/Upload first message"), "{names:?}");
    assert_eq!((request(&snapshot, "Hello").count, request(&snapshot, "Shop/Upload").count), (1, 1));
}

#[test]
fn a_stream_that_the_script_leaves_is_cancelled_without_a_failure() {
    let mut node = Server::node();
    let target = format!("http://127.0.0.1:{}", node.port);
    let (end, lines, snapshot) = run_at(
        &target,
        r#"
        const stream = await user.grpcStream("shop.v1.Shop/Watch", { count: 2, endless: true }, { name: "Endless" });
        await stream.receive();
        await stream.cancel();
        user.log(JSON.stringify([stream.open, stream.status, stream.error]));
        const left = await user.grpcStream("shop.v1.Shop/Watch", { count: 1, endless: true }, { name: "Left" });
        await left.receive();
        "#,
    );
    assert_eq!(end, PASSED, "{:?}", snapshot.errors);
    assert_eq!(lines[0], r#"[false,"CANCELLED",null]"#);
    assert_eq!((node.line(), node.line()), ("cancelled Watch".to_owned(), "cancelled Watch".to_owned()));
    assert_eq!(request(&snapshot, "Endless").outcomes, [(Outcome::Passed, 1)]);
    assert_eq!(request(&snapshot, "Left").outcomes, [(Outcome::Passed, 1)]);
}

#[test]
fn a_server_that_is_absent_or_does_not_speak_grpc_is_reported() {
    let (end, lines, snapshot) = run_at(
        "http://127.0.0.1:1",
        r#"
        const r = await user.grpc("shop.v1.Shop/GetProduct", {});
        const stream = await user.grpcStream("shop.v1.Shop/Chat");
        const message = await stream.receive();
        user.log(JSON.stringify([r.ok, r.status, r.message, stream.open, message.ok]));
        "#,
    );
    assert_eq!((end, &*lines[0]), (FAILED, "[false,null,null,false,false]"));
    assert_eq!(request(&snapshot, "Shop/GetProduct").outcomes, [(Outcome::Refused, 1)]);
    assert_eq!(request(&snapshot, "Shop/Chat").outcomes, [(Outcome::Refused, 1)]);
}

#[test]
fn a_server_describes_its_services_if_the_test_requests_it() {
    let body = r#"
        const calls = [1, 2, 3].map((productId) => user.grpc("shop.v1.Shop/GetProduct", { productId }));
        user.log(JSON.stringify((await Promise.all(calls)).map((r) => r.message.name)));
        const prices = await user.grpcStream("shop.v1.Shop/Watch", { count: 2 });
        await prices.closed;
        user.log(String(prices.received));
        await user.grpc("shop.v1.Shopp/GetProduct", {});
    "#;
    let (end, lines, snapshot) = run_test(&server(), &reflecting(body, "grpcReflection: true"));
    assert_eq!(lines, [r#"["Product 1","Product 2","Product 3"]"#, "2"], "{:?}", snapshot.errors);
    assert_eq!((end, request(&snapshot, "Shop/GetProduct").count), (IterationEnd::Threw(Outcome::Script), 3));
    let message = &snapshot.errors[0].message;
    assert!(message.contains("asking the server for \"shop.v1.Shopp\" by reflection"), "{message}");
    let (_, _, snapshot) = run_test(&server(), &reflecting(body, ""));
    let message = &snapshot.errors[0].message;
    assert!(message.contains("declare it at the top level of the test: `proto(\"shop.proto\")`"), "{message}");
}

/// The interoperability service of the gRPC project (grpc/grpc, doc/interop-test-descriptions.md), known only by reflection.
#[test]
fn grpc_go_agrees() {
    let go = Server::go();
    let body = r#"
        const service = "grpc.testing.TestService";
        const empty = await user.grpc(`${service}/EmptyCall`);
        const large = await user.grpc(`${service}/UnaryCall`, { responseSize: 314159, payload: { body: new Uint8Array(271828) } }, { compression: "gzip" });
        user.log(JSON.stringify([empty.status, empty.message, large.status, large.message.payload.body.length]));
        const broken = { responseStatus: { code: 2, message: "test status message ☺" } };
        const failed = await user.grpc(`${service}/UnaryCall`, broken, { expect: { status: "UNKNOWN" } });
        user.log(JSON.stringify([failed.ok, failed.details]));
        const upload = await user.grpcStream(`${service}/StreamingInputCall`);
        for (const size of [27182, 8, 1828, 45904]) await upload.send({ payload: { body: new Uint8Array(size) } });
        await upload.end();
        user.log(JSON.stringify((await upload.receive()).json()));
        const download = await user.grpcStream(`${service}/StreamingOutputCall`, { responseParameters: [31415, 9, 2653, 58979].map((size) => ({ size })) });
        const sizes = [];
        for await (const part of download.messages()) sizes.push(Math.floor(part.json("$.payload.body").replaceAll("=", "").length * 3 / 4));
        user.log(JSON.stringify([sizes, (await download.closed).status]));
        const both = await user.grpcStream(`${service}/FullDuplexCall`);
        for (const size of [9, 3]) {
          await both.send({ responseParameters: [{ size }] });
          user.log(String((await both.receive()).json("$.payload.body").length));
        }
        await both.end();
        user.log((await both.closed).status, (await user.grpc("grpc.health.v1.Health/Check")).message.status);
        const unknown = await user.grpc(`${service}/UnimplementedCall`, {}, { expect: { status: "UNIMPLEMENTED" } });
        const late = await user.grpcStream(`${service}/FullDuplexCall`, undefined, { timeout: "200ms", name: "Late", expect: { status: "DEADLINE_EXCEEDED" } });
        await late.closed;
        user.log(JSON.stringify([unknown.ok, late.open]));
    "#;
    let (_, lines, snapshot) = run_test(&format!("http://127.0.0.1:{}", go.port), &reflecting(body, "grpcReflection: true"));
    let expected = [
        // Base64 has four characters for three bytes.
        &*format!(r#"["OK",{{}},"OK",{}]"#, 314_159_usize.div_ceil(3) * 4),
        r#"[true,"test status message ☺"]"#,
        r#"{"aggregatedPayloadSize":74922}"#,
        r#"[[31415,9,2653,58979],"OK"]"#,
        "12",
        "4",
        "OK SERVING",
        "[true,false]",
    ];
    assert_eq!(lines, expected, "{:?}", snapshot.errors);
}

#[test]
fn the_health_check_is_known_without_a_file() {
    let (end, lines, snapshot) = run(r#"
        const asked = (service) => user.grpc("grpc.health.v1.Health/Check", { service });
        user.log((await asked("")).message.status, (await asked("shop.v1.Shop")).message.status);
        "#);
    assert_eq!((end, lines), (PASSED, vec!["SERVING NOT_SERVING".to_owned()]), "{:?}", snapshot.errors);
}

#[test]
fn misfits_are_errors_with_place_and_remedy() {
    let call = |rest: &str| thrown(&format!("await user.grpc({rest});"));
    for (rest, expected) in [
        (
            r#""shop.v1.Shop/GetProdukt", {}"#,
            "shop.v1.Shop has no call \"GetProdukt\" (did you mean `GetProduct`?); its calls are: GetProduct, Echo",
        ),
        (
            r#""shop.v1.Shops/GetProduct", {}"#,
            "there is no service \"shop.v1.Shops\" (did you mean `shop.v1.Shop`?); the services are: shop.v1.Shop",
        ),
        (r#""GetProduct", {}"#, "\"GetProduct\" is not the name of a call: write \"package.Service/Method\""),
        (
            r#""shop.v1.Shop/GetProduct", { produktId: 7 }"#,
            "Shop/GetProduct: message: shop.v1.ProductRequest has no field `produktId` (did you mean `productId`?); its fields are: productId",
        ),
        (r#""shop.v1.Shop/GetProduct", { productId: "seven" }"#, "message.productId is \"seven\", expected a whole number (int32)"),
        (
            r#""shop.v1.Shop/Echo", { products: [{ id: 1 }, { nam: "x" }] }"#,
            "message.products[1]: shop.v1.Product has no field `nam` (did you mean `name`?)",
        ),
        (
            r#""shop.v1.Shop/Echo", { state: "SOLDOUT" }"#,
            "message.state is \"SOLDOUT\" (did you mean `SOLD_OUT`?), expected one of UNKNOWN, IN_STOCK, SOLD_OUT",
        ),
        (r#""shop.v1.Shop/Echo", { counts: { a: true } }"#, "message.counts.a is true, expected a whole number (int32)"),
        (r#""shop.v1.Shop/Watch", {}"#, "Shop/Watch streams its messages: call it with `user.grpcStream(…)`"),
        (r#""shop.v1.Shop/Echo", {}, { metadat: {} }"#, "a call has no option `metadat` (did you mean `metadata`?)"),
        (r#""shop.v1.Shop/Echo", {}, { expect: { status: "NOTFOUND" } }"#, "such as \"NOT_FOUND\" (did you mean `NOT_FOUND`?)"),
        (r#""shop.v1.Shop/Echo", {}, { metadata: { "grpc-timeout": "1S" } }"#, "metadata: `grpc-timeout` is set by gRPC"),
        (r#""shop.v1.Shop/Echo", {}, { metadata: { "a-bin": "x" } }"#, "metadata: `a-bin` ends in -bin, so its value must be a Uint8Array"),
    ] {
        let message = call(rest);
        assert!(message.contains(expected), "{rest}\n  actual: {message}\n  expected: {expected}");
        assert!(message.contains("t.load.ts:4:"), "{message}");
    }
}

/// The path of a call is that of its method, so that a target's path would not be sent.
#[test]
fn a_target_with_a_path_is_refused_and_a_call_may_have_its_own() {
    let call = |options: &str| format!("await user.grpc(\"shop.v1.Shop/Echo\", {{}}{options});");
    let problem = |target: &str, options: &str| {
        let (_, _, snapshot) = run_at(target, &call(options));
        snapshot.errors.first().map(|error| error.message.to_string()).unwrap_or_default()
    };
    let server = server();
    let remedy =
        format!("Shop/Echo: the target has the path `/api`, which a gRPC call cannot have: set the call's option `target: \"{server}\"`");
    for message in [problem(&format!("{server}/api/"), ""), problem(&server, &format!(", {{ target: \"{server}/api\" }}"))] {
        assert!(message.contains(&remedy) && message.contains("t.load.ts:4:"), "{message}");
    }
    assert_eq!(run_at(&format!("{server}/api"), &call(&format!(", {{ target: \"{server}\" }}"))).0, PASSED);
}

#[test]
fn a_proto_file_that_cannot_be_used_stops_the_start() {
    let refused = |files: &[(&str, &str)]| {
        let text = test_of("");
        let mut all = vec![("t.load.ts", text.as_str())];
        all.extend_from_slice(files);
        let folder = Folder::new(&all);
        let error = loadstone_script::load(&folder.path("t.load.ts"), &Inputs::default()).expect_err("the file should be refused");
        (at(&error), error.message)
    };
    let (place, message) = refused(&[]);
    assert!(place.ends_with("t.load.ts:2:1") && message.contains("shop.proto: cannot be read"), "{place} {message}");
    let (place, message) = refused(&[("shop.proto", "syntax = \"proto3\";\nmessage A { int32 a = ; }\n")]);
    assert!(place.ends_with("t.load.ts:2:1") && message.contains("shop.proto:2:23"), "{place} {message}");
}
