//! `connectionsPerUser` over HTTP/2 and in gRPC: the server counts the connections.

use std::sync::Arc;
use std::time::Duration;

use loadstone_engine::IterationEnd;
use loadstone_metrics::Outcome;
use loadstone_script::{Inputs, Stubs};

use crate::folder::{Folder, at, load_error};
use crate::running::TestWorker;

const SHOP: &str = include_str!("../grpc/shop.proto");

/// Number of a server's connections from one user whose scenario has this body, in a test with these options, and whether all requests
/// passed.
fn connections(stub: &str, body: &str, options: &str) -> u64 {
    let server = format!(
        "import {{ test, scenario, once, proto, stub }} from \"loadstone\";\nproto(\"shop.proto\");\n{stub}\n\
         const s = scenario(\"S\", async () => {{}});\nexport default test({{ load: s.run(once()) }});\n"
    );
    let folder = Folder::new(&[("t.load.ts", &server), ("shop.proto", SHOP)]);
    let loaded = loadstone_script::load(&folder.path("t.load.ts"), &Inputs::default()).unwrap_or_else(|error| panic!("{}", error.render()));
    let url = loaded.stub_urls()[0].clone();
    let stubs = Stubs::start(&Arc::new(loaded), Box::new(|_| {})).unwrap();
    let text = format!(
        "import {{ test, scenario, once, param, proto }} from \"loadstone\";\nproto(\"shop.proto\");\n\
         const s = scenario(\"S\", async (user) => {{\n{body}\n}});\n\
         export default test({{ target: param.url(\"target\"), load: s.run(once()), options: {{ {options} }} }});\n"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let worker = TestWorker::open(&text, &url, &[("shop.proto", SHOP)]);
        let end = tokio::time::timeout(Duration::from_secs(20), worker.with(worker.iterate(0))).await.unwrap();
        assert_eq!(end, IterationEnd::Ended(Outcome::Passed), "{:?}", worker.drain().errors);
    });
    let recording = stubs.recordings().remove(0).1;
    assert!(recording.routes.iter().map(|route| route.answered()).sum::<u64>() >= 4);
    recording.connections
}

/// Longer than opening all connections takes, so that the calls overlap.
const GRPC: &str = "stub.grpc({ delay: \"400ms\" }).on(\"shop.v1.Shop/GetProduct\", {}).on(\"shop.v1.Shop/Watch\", { messages: [{}] });";
const HTTP: &str = "stub.http({ delay: \"400ms\" });";
const CALLS: &str = "await Promise.all(Array.from({ length: 12 }, () => user.grpc(\"shop.v1.Shop/GetProduct\")));";
const GETS: &str = "await Promise.all(Array.from({ length: 12 }, () => user.get(\"/\")));";

#[test]
fn concurrent_calls_use_all_permitted_connections() {
    assert_eq!(connections(GRPC, CALLS, ""), 1, "the default");
    assert_eq!(connections(GRPC, CALLS, "connectionsPerUser: 1"), 1);
    assert_eq!(connections(GRPC, CALLS, "connectionsPerUser: 4"), 4);
    let streams = "await Promise.all(Array.from({ length: 4 }, async () => {\n\
                   const prices = await user.grpcStream(\"shop.v1.Shop/Watch\", {}); for await (const _ of prices.messages()) {} }));";
    assert_eq!(connections(GRPC, streams, "connectionsPerUser: 3"), 3);
}

#[test]
fn http2_requests_use_all_permitted_connections_and_http1_requests_six() {
    assert_eq!(connections(HTTP, GETS, "http2: \"only\""), 1, "the default");
    assert_eq!(connections(HTTP, GETS, "http2: \"only\", connectionsPerUser: 3"), 3);
    assert_eq!(connections(HTTP, GETS, ""), 6, "the default over HTTP/1.1");
}

#[test]
fn sequential_calls_use_one_connection() {
    let calls = "for (let n = 0; n < 4; n += 1) await user.grpc(\"shop.v1.Shop/GetProduct\");";
    assert_eq!(connections(&GRPC.replace("400ms", "1ms"), calls, "connectionsPerUser: 4"), 1);
}

#[test]
fn an_invalid_number_is_an_error_with_its_place() {
    for wrong in ["0", "2.5", "\"4\""] {
        let error = load_error(&format!(
            "import {{ test, scenario, once }} from \"loadstone\";\nconst s = scenario(\"S\", () => {{}});\n\
             export default test({{ load: s.run(once()), options: {{ connectionsPerUser: {wrong} }} }});\n"
        ));
        assert!(error.message.contains(&format!("connectionsPerUser: {wrong} is not a whole number of at least 1")), "{}", error.render());
        assert_eq!(at(&error), "t.load.ts:3:35");
    }
}
