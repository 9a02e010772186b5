//! `user.kafka` and `kafka.consume` against a Kafka broker, with a second client of it.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use loadstone_engine::IterationEnd;
use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{FlowEvent, FlowKey, FlowStep, Outcome, SeriesKind, SeriesSlice, Snapshot};
use loadstone_script::{ConsumedCount, Inputs, Stubs};
use serde_json::{Value, json};

use crate::folder::{Folder, at, load_error};
use crate::running::TestWorker;
use crate::shared_server;

const PASSED: IterationEnd = IterationEnd::Ended(Outcome::Passed);
const ANSWER_LIMIT_NS: u64 = 60_000_000_000;
const FAILED: IterationEnd = IterationEnd::Ended(Outcome::Step);

/// One broker for all tests.
static BROKER: LazyLock<Broker> = LazyLock::new(Broker::join);

/// The broker of `kafka.mjs`.
struct Broker {
    address: String,
    secured: String,
    /// PEM of the issuer to trust at the secured address.
    root: String,
    folder: PathBuf,
}

impl Broker {
    fn join() -> Self {
        let prepare = |folder: &Path| {
            let key = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
            let root = key.cert.pem();
            fs::write(folder.join("broker.pem"), key.signing_key.serialize_pem() + &root).unwrap();
            fs::write(folder.join("root.pem"), root).unwrap();
            let mut command = Command::new("node");
            command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/kafka.mjs")).arg(folder.join("broker.pem"));
            command
        };
        let folder = shared_server::join("kafka", prepare, |folder| !lines(folder).is_empty());
        let addresses: Value = serde_json::from_str(&lines(&folder)[0]).expect("the broker's addresses");
        let text = |name: &str| addresses[name].as_str().unwrap().to_owned();
        let root = fs::read_to_string(folder.join("root.pem")).unwrap();
        Self { address: text("address"), secured: text("secured"), root, folder }
    }

    /// One command at a time, of all test processes; the answer is the next line of the output.
    fn ask(&self, command: &Value) -> Value {
        let turn = File::create(self.folder.join("turn")).unwrap();
        turn.lock().unwrap();
        let before = lines(&self.folder).len();
        let mut input = OpenOptions::new().append(true).open(self.folder.join("input")).unwrap();
        writeln!(input, "{command}").unwrap();
        let clock = Monotonic::start();
        while clock.now() < ANSWER_LIMIT_NS {
            if let Some(line) = lines(&self.folder).get(before) {
                return serde_json::from_str(line).unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("{command} failed: {}", fs::read_to_string(self.folder.join("errors")).unwrap_or_default())
    }

    fn create(&self, topic: &str, partitions: u32, settings: &Value) {
        self.ask(&json!({ "does": "create", "topic": topic, "partitions": partitions, "settings": settings }));
    }

    fn write(&self, topic: &str, messages: &Value, gzip: bool) {
        self.ask(&json!({ "does": "write", "topic": topic, "messages": messages, "gzip": gzip }));
    }

    /// As the other client reads it.
    fn read(&self, topic: &str, count: usize) -> Value {
        self.ask(&json!({ "does": "read", "topic": topic, "count": count }))
    }
}

/// Complete lines of the broker's output.
fn lines(folder: &Path) -> Vec<String> {
    let output = fs::read_to_string(folder.join("output")).unwrap_or_default();
    output.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(str::to_owned).collect()
}

/// Runs a scenario of this body once, with options of the test.
fn once_with(body: &str, options: &str, more: &[(&str, &str)]) -> (IterationEnd, Vec<String>, Snapshot) {
    let broker = &*BROKER;
    let text = format!(
        "import {{ test, scenario, once, param }} from \"loadstone\";\nconst target = param.url(\"target\");\n\
         const url = \"kafka://{}\", secured = \"{}\";\n\
         const s = scenario(\"S\", async (user) => {{\n{body}\n}});\n\
         export default test({{ target, load: s.run(once()), options: {{ requestTimeout: \"15s\", {options} }} }});\n",
        broker.address, broker.secured
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let worker = TestWorker::open(&text, "http://127.0.0.1:1", more);
        let run = worker.with(async {
            let end = worker.iterate(0).await;
            (end, worker.texts(), worker.drain())
        });
        tokio::time::timeout(Duration::from_secs(60), run).await.expect("the scenario should end")
    })
}

fn once(body: &str) -> (IterationEnd, Vec<String>, Snapshot) {
    once_with(body, "", &[])
}

fn request<'s>(snapshot: &'s Snapshot, name: &str) -> &'s SeriesSlice {
    let found = snapshot.series.iter().find(|series| series.key.kind == SeriesKind::Request && &*series.key.name == name);
    found.unwrap_or_else(|| panic!("no request {name}"))
}

#[test]
fn records_are_read_by_another_client_as_they_were_written() {
    BROKER.create("written", 1, &json!({}));
    let (end, lines, snapshot) = once(
        r#"
        const k = user.kafka(url);
        const first = await k.produce("written", { key: "k", value: "grün", headers: { a: "1", b: ["x", "y"], n: 7 }, timestamp: 1700000000000 });
        const three = [{ key: 8, json: { id: [1] } }, { key: new Uint8Array([56]), value: null }, { value: "" }];
        const second = await k.produce("written", three, { name: "Three" });
        user.log(JSON.stringify([first.ok, first.partition, first.offset, first.error, first.code, second.offset, second.places, first.times.total > 0]));
        const leader = await k.produce("written", { value: "l" }, { acks: 1, name: "Leader" });
        const nobody = await k.produce("written", { value: "n" }, { acks: 0, name: "Nobody" });
        user.log(JSON.stringify([leader.offset, nobody.ok, nobody.partition, nobody.offset]));
        "#,
    );
    assert_eq!(end, PASSED, "{:?}", snapshot.errors);
    let places = r#"[{"partition":0,"offset":1},{"partition":0,"offset":2},{"partition":0,"offset":3}]"#;
    assert_eq!(lines, [format!("[true,0,0,null,null,1,{places},true]"), "[4,true,0,null]".to_owned()]);
    let read = BROKER.read("written", 6);
    let headers = json!([["a", "1"], ["b", ["x", "y"]], ["n", "7"]]);
    let timestamp = 1_700_000_000_000_u64;
    assert_eq!(read[0], json!({ "partition": 0, "offset": 0, "key": "k", "value": "grün", "headers": headers, "timestamp": timestamp }));
    let rest: Vec<(&Value, &Value)> = read.as_array().unwrap()[1..].iter().map(|record| (&record["key"], &record["value"])).collect();
    let (null, eight) = (&Value::Null, &json!("8"));
    assert_eq!(rest, [(eight, &json!("{\"id\":[1]}")), (eight, null), (null, &json!("")), (null, &json!("l")), (null, &json!("n"))]);
    let counts: Vec<u64> = ["produce written", "Three", "Leader", "Nobody"].map(|name| request(&snapshot, name).count).to_vec();
    assert_eq!(counts, [1; 4]);
    // The first request alone connects and finds the leaders.
    assert!(request(&snapshot, "produce written").phases.connect.max() > 0);
    assert_eq!(request(&snapshot, "Three").phases.connect.max(), 0);
}

/// The other client has Kafka's own partitioner.
#[test]
fn a_key_goes_where_other_producers_send_it() {
    let keys: Vec<String> = (0..40).map(|number| format!("customer-{number}")).collect();
    for topic in ["keyed-here", "keyed-there"] {
        BROKER.create(topic, 7, &json!({}));
    }
    let (end, ..) = once(
        r#"await user.kafka(url).produce("keyed-here", Array.from({ length: 40 }, (_, n) => ({ key: `customer-${n}`, value: "x" })));"#,
    );
    assert_eq!(end, PASSED);
    BROKER.write("keyed-there", &keys.iter().map(|key| json!({ "key": key, "value": "x" })).collect(), false);
    let places = |topic: &str| -> Vec<(Value, Value)> {
        let read = BROKER.read(topic, keys.len());
        read.as_array().unwrap().iter().map(|record| (record["partition"].clone(), record["key"].clone())).collect()
    };
    let here = places("keyed-here");
    assert_eq!(here, places("keyed-there"));
    assert!(here.iter().any(|(partition, _)| *partition != here[0].0), "all in one partition prove nothing");
}

#[test]
fn records_without_a_key_rotate_over_the_partitions() {
    BROKER.create("turns", 3, &json!({}));
    let (end, lines, _) = once(
        r#"
        const k = user.kafka(url), places = [];
        for (let n = 0; n < 6; n++) places.push((await k.produce("turns", [{ value: "a" }, { value: "b" }])).places.map(({ partition }) => partition));
        user.log(JSON.stringify(places.map(([first]) => first).sort()), places.every(([a, b]) => a === b));
        user.log((await k.produce("turns", { value: "c", partition: 2 })).partition);
        "#,
    );
    assert_eq!((end, lines[0].as_str(), lines[1].as_str()), (PASSED, "[0,0,1,1,2,2] true", "2"));
}

#[test]
fn refusals_of_a_broker_are_reported_by_code() {
    BROKER.create("strict", 1, &json!({ "cleanup.policy": "compact" }));
    BROKER.create("small", 1, &json!({ "max.message.bytes": "200" }));
    let (end, lines, snapshot) = once(
        r#"
        const k = user.kafka(url, { timeout: "10s" });
        const results = [
          await k.produce("strict", { value: "x" }, { name: "Strict" }),
          await k.produce("strict", { key: "k", value: "x" }, { name: "With a key", acks: 1 }),
          await k.produce("small", { value: "x".repeat(1000) }, { name: "Small" }),
          await k.produce("absent", { value: "x" }, { name: "Absent" }),
          await k.produce("small", { value: "x", partition: 9 }, { name: "Beyond" }),
          await k.produce("small", { value: "fits" }, { name: "After" }),
        ];
        for (const { ok, code, error, partition } of results) user.log(JSON.stringify([ok, code, error, partition]));
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(
        lines,
        [
            r#"[false,"INVALID_RECORD","INVALID_RECORD (87): partition 0 of strict",null]"#,
            r#"[true,null,null,0]"#,
            r#"[false,"MESSAGE_TOO_LARGE","MESSAGE_TOO_LARGE (10): partition 0 of small",null]"#,
            r#"[false,"UNKNOWN_TOPIC_OR_PARTITION","UNKNOWN_TOPIC_OR_PARTITION (3): the topic absent",null]"#,
            r#"[false,"UNKNOWN_TOPIC_OR_PARTITION","UNKNOWN_TOPIC_OR_PARTITION (3): partition 9 of small",null]"#,
            r#"[true,null,null,0]"#,
        ]
    );
    let messages: Vec<&str> = snapshot.errors.iter().map(|error| error.message.as_ref()).collect();
    assert!(messages.contains(&"error INVALID_RECORD") && messages.contains(&"error MESSAGE_TOO_LARGE"), "{messages:?}");
    assert_eq!(request(&snapshot, "Strict").outcomes, [(Outcome::Status, 1)]);
}

#[test]
fn tls_with_a_valid_and_a_wrong_login() {
    let (end, lines, snapshot) = once_with(
        r#"
        const sent = await user.kafka(`kafkas://app:s3cret-word@${secured}`).produce("orders", { value: "x" }, { name: "Secured" });
        user.log(sent.ok, sent.error);
        const wrong = await user.kafka(`kafkas://app:wrong-word@${secured}`).produce("orders", { value: "x" }, { name: "Wrong" });
        user.log(wrong.code, wrong.error.includes("wrong-word"));
        user.log((await user.kafka(`kafkas://${secured}`, { timeout: "5s" }).produce("orders", { value: "x" })).error);
        "#,
        "roots: [\"root.pem\"]",
        &[("root.pem", &BROKER.root)],
    );
    assert_eq!((end, lines[0].as_str(), lines[1].as_str()), (FAILED, "true undefined", "SASL_AUTHENTICATION_FAILED false"), "{lines:?}");
    assert!(lines[2].contains("closed the connection"), "{lines:?}");
    assert!(request(&snapshot, "Secured").phases.tls.max() > 0);
}

#[test]
fn users_log_in_by_scram_and_wrong_passwords_are_reported() {
    let (end, lines, _) = once_with(
        r#"
        for (const mechanism of ["SCRAM-SHA-256", "SCRAM-SHA-512"]) {
          const sent = await user.kafka(`kafkas://app:s3cret-word@${secured}?mechanism=${mechanism}`).produce("orders", { value: "x" });
          user.log(sent.ok, sent.error);
          const wrong = await user.kafka(`kafkas://app:wrong-word@${secured}?mechanism=${mechanism}`).produce("orders", { value: "x" });
          user.log(wrong.code, wrong.error.includes("wrong-word"));
        }
        "#,
        "roots: [\"root.pem\"]",
        &[("root.pem", &BROKER.root)],
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines, ["true undefined", "SASL_AUTHENTICATION_FAILED false"].repeat(2));
}

#[test]
fn invalid_records_are_rejected_at_the_call() {
    for (record, expected) in [
        ("'x'", "a record is an object"),
        ("[]", "the list of records is empty"),
        ("{ key: 'k' }", "needs a `value`"),
        ("{ value: 'x', json: 1 }", "not both"),
        ("{ value: { id: 7 } }", "pass an object as `json`"),
        ("{ value: 'x', partition: -1 }", "partition: expected a whole number"),
        ("{ value: 'x', vlaue: 'y' }", "`vlaue`"),
    ] {
        let (_, lines, _) = once(&format!(
            "try {{ await user.kafka(url).produce('orders', {record} as any); }} catch (error: any) {{ user.log(error.message); }}"
        ));
        assert!(lines[0].contains(expected), "{record}: {lines:?}");
    }
}

/// A test with a consumer that finishes a flow, started.
fn consuming(topic: &str, take: &str) -> (Stubs, Folder, Arc<Mutex<Vec<String>>>) {
    let folder = Folder::new(&[(
        "t.load.ts",
        &format!(
            "import {{ test, scenario, once, flow, kafka, stub }} from \"loadstone\";\nconst delivery = flow(\"Delivery\");\nstub.http();\n\
             kafka.consume(\"kafka://{}\", \"{topic}\", (record) => {{ {take} }});\n\
             const s = scenario(\"S\", async () => {{}});\nexport default test({{ load: s.run(once()) }});\n",
            BROKER.address
        ),
    )]);
    let loaded = loadstone_script::load(&folder.path("t.load.ts"), &Inputs::default()).unwrap_or_else(|error| panic!("{}", error.render()));
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let written = Arc::clone(&lines);
    let stubs = Stubs::start(&Arc::new(loaded), Box::new(move |line| written.lock().unwrap().push(line.text.clone()))).unwrap();
    (stubs, folder, lines)
}

/// Waits for a number of flow events.
fn events(stubs: &Stubs, count: usize) -> Vec<FlowEvent> {
    let clock = Monotonic::start();
    let mut events = Vec::new();
    while events.len() < count && clock.now() < 60_000_000_000 {
        events.extend(stubs.flow_events());
        std::thread::sleep(Duration::from_millis(5));
    }
    events
}

#[test]
fn records_of_other_clients_finish_journeys_from_the_start_of_the_run() {
    BROKER.create("delivered", 3, &json!({}));
    BROKER.write("delivered", &json!([{ "key": "before", "value": "{}" }]), false);
    let (stubs, _folder, lines) = consuming(
        "delivered",
        "delivery.finish(record.json('$.id')); console.log(record.key, record.text, record.headers.h, record.topic, record.hasValue, record.offset);",
    );
    let clock = Monotonic::start();
    stubs.begin(clock);
    let keys: Vec<String> = (0..50).map(|number| format!("order-{number}")).collect();
    let messages =
        keys.iter().map(|key| json!({ "key": key, "value": json!({ "id": key }).to_string(), "headers": { "h": "v" } })).collect();
    BROKER.write("delivered", &messages, false);
    let received = events(&stubs, keys.len());
    let mut found: Vec<FlowKey> = received.iter().map(|event| event.key).collect();
    let mut expected: Vec<FlowKey> = keys.iter().map(|key| FlowKey::of(key)).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{:?}", lines.lock().unwrap());
    assert!(received.iter().all(|event| event.step == FlowStep::Finish && event.at > 0 && event.at <= clock.now()));
    assert_eq!(stubs.consumed(), [ConsumedCount { source: "topic delivered".to_owned(), unit: "record", count: 50 }]);
    let line = lines.lock().unwrap().iter().find(|line| line.starts_with("order-7 ")).cloned();
    assert!(line.as_ref().is_some_and(|line| line.starts_with("order-7 {\"id\":\"order-7\"} v delivered true ")), "{line:?}");
    stubs.stop();
}

/// The broker compresses records as the topic requires.
#[test]
fn records_that_a_broker_compressed_are_read() {
    for packing in ["gzip", "snappy", "zstd", "lz4"] {
        let topic = format!("packed-{packing}");
        BROKER.create(&topic, 1, &json!({ "compression.type": packing }));
        let (stubs, _folder, lines) = consuming(&topic, "delivery.finish(record.text.slice(0, 7));");
        stubs.begin(Monotonic::start());
        let message = |number: usize| json!({ "value": format!("order-{number}{}", "-and-so-on".repeat(50)) });
        BROKER.write(&topic, &(0..5).map(message).collect(), packing == "gzip");
        assert_eq!(events(&stubs, 5).len(), 5, "{packing}: {:?}", lines.lock().unwrap());
        stubs.stop();
    }
}

/// The broker decompresses them with Kafka's own libraries, as the topic requires, and the other client reads the result.
#[test]
fn a_broker_can_read_compressed_records() {
    BROKER.create("unpacked", 1, &json!({ "compression.type": "uncompressed" }));
    let (end, lines, snapshot) = once(
        r#"
        const k = user.kafka(url, { compression: "gzip" });
        const records = Array.from({ length: 300 }, (_, number) => ({ key: number, value: `order ${number} `.repeat(40) }));
        for (const compression of ["none", "gzip", "snappy", "lz4", "zstd"] as const) {
          const sent = await k.produce("unpacked", records, { compression, name: compression });
          user.log(JSON.stringify([sent.ok, sent.error, sent.offset]));
        }
        await k.produce("unpacked", { value: "x" }, { name: "the cluster's" });
        await k.produce("unpacked", { value: "x" }, { compression: "lz4", acks: 0, name: "nobody" });
        try { await k.produce("unpacked", { value: "x" }, { compression: "brotli" as any }); } catch (error: any) { user.log(error.message); }
        "#,
    );
    assert_eq!(end, PASSED, "{lines:?} {:?}", snapshot.errors);
    assert_eq!(lines[..5], ["0", "300", "600", "900", "1200"].map(|offset| format!("[true,null,{offset}]")));
    assert_eq!(lines[5], "compression: expected \"none\", \"gzip\", \"snappy\", \"lz4\" or \"zstd\"");
    let read = BROKER.read("unpacked", 1_502);
    for (place, record) in read.as_array().unwrap()[..1_500].iter().enumerate() {
        let number = place % 300;
        assert_eq!((&record["key"], &record["value"]), (&json!(number.to_string()), &json!(format!("order {number} ").repeat(40))));
    }
    let sent = |name: &str| request(&snapshot, name).bytes_sent;
    for packing in ["gzip", "snappy", "lz4", "zstd"] {
        assert!(sent(packing) * 4 < sent("none"), "{packing}: {} of {} bytes", sent(packing), sent("none"));
    }
}

#[test]
fn a_consumer_that_cannot_be_opened_stops_the_run_with_its_place() {
    let text = format!(
        "import {{ test, scenario, once, kafka }} from \"loadstone\";\n\n  kafka.consume(\"kafka://{}\", \"nowhere\", () => {{}});\n\
         const s = scenario(\"S\", async () => {{}});\nexport default test({{ load: s.run(once()) }});\n",
        BROKER.address
    );
    let folder = Folder::new(&[("t.load.ts", &text)]);
    let loaded = Arc::new(loadstone_script::load(&folder.path("t.load.ts"), &Inputs::default()).unwrap());
    let error = Stubs::start(&loaded, Box::new(|_| {})).unwrap_err();
    assert_eq!(at(&error), "t.load.ts:3:3");
    assert!(error.message.contains("the topic \"nowhere\" cannot be read: UNKNOWN_TOPIC_OR_PARTITION"), "{error}");
    let wrong = text.replace("kafka://", "http://app:hidden@");
    let error = load_error(&wrong);
    assert_eq!(at(&error), "t.load.ts:3:9");
    assert!(error.message.contains("its scheme is http: write kafka://") && !error.render().contains("hidden"), "{}", error.render());
}
