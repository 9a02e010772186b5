//! Services that `k6/net/grpc` knows by reflection only, of the servers of grpc-go and grpc-js.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::real_time::run;

/// A server in a separate process, which ends with its standard input.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    /// The interoperability server of grpc-go, from `tools` in the target folder.
    fn go() -> Self {
        Self::start(&mut Command::new(Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools").join("grpc-go")))
    }

    /// The shop of `crates/script/tests/grpc`, by grpc-js.
    fn node() -> Self {
        Self::start(Command::new("node").arg("server.mjs").current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../script/tests/grpc")))
    }

    fn start(command: &mut Command) -> Self {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = started.expect("the gRPC server is missing: `cargo xtask setup` installs it");
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("port ").and_then(|port| port.parse().ok());
        Self { process, port: port.expect("the gRPC server did not start: `cargo xtask setup` installs what it needs") }
    }

    /// Prints what a default function prints, with `client` and the server's address `A`.
    fn printed(&self, body: &str) -> Vec<String> {
        let script = format!(
            "import grpc, {{ Client, Stream }} from 'k6/net/grpc';
             const client = new Client();
             const A = '127.0.0.1:{}';
             const thrown = (act) => {{ try {{ act(); return 'nothing'; }} catch (error) {{ return error.message; }} }};
             export default async function () {{ {body} }}",
            self.port
        );
        run(&script).printed
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

#[test]
fn services_of_grpc_go_are_called_without_a_file() {
    let printed = Server::go().printed(
        "client.connect(A, { plaintext: true, reflect: true });
        const service = 'grpc.testing.TestService';
        console.log(client.invoke(`${service}/EmptyCall`, {}).status === grpc.StatusOK);
        const unary = client.invoke(`/${service}/UnaryCall`, { responseSize: 7, payload: { body: 'AAEC' } });
        console.log(unary.status, unary.message.payload.body);
        const failed = client.invoke(`${service}/UnaryCall`, { responseStatus: { code: 9, message: 'not now' } });
        console.log(failed.status === grpc.StatusFailedPrecondition, failed.error.message);
        console.log(thrown(() => client.invoke(`${service}/NoCall`, {})));
        console.log(thrown(() => client.invoke('grpc.testing.NoService/EmptyCall', {})));
        console.log(client.healthCheck().message.status === grpc.HealthcheckServing);
        const stream = new Stream(client, `${service}/StreamingOutputCall`);
        const sizes = [];
        stream.on('data', (answer) => sizes.push(answer.payload.body.length));
        stream.on('end', () => console.log('sizes', sizes.join()));
        stream.write({ responseParameters: [{ size: 3 }, { size: 30 }] });
        stream.end();",
    );
    let [empty, unary, failed, no_call, no_service, health, sizes] = &printed[..] else { panic!("{printed:?}") };
    assert_eq!([empty, unary, failed], ["true", "0 AAAAAAAAAA==", "true not now"]);
    assert!(no_call.contains("grpc.testing.TestService has no call \"NoCall\""), "{no_call}");
    assert!(no_service.contains("grpc.testing.NoService"), "{no_service}");
    assert_eq!([health, sizes], ["true", "sizes 4,40"]);
}

#[test]
fn messages_with_imported_types_and_metadata_pass_grpc_js() {
    let printed = Server::node().printed(
        "console.log(thrown(() => { client.connect(A, { plaintext: true }); client.invoke('shop.v1.Shop/GetProduct', {}); }));
        client.close();
        client.connect(A, { plaintext: true, reflect: true, reflectMetadata: { 'x-who': 'me' } });
        const sent = client.invoke('shop.v1.Shop/GetProduct', { productId: 4 }, { metadata: { 'x-a': 'b' } });
        console.log(sent.message.name, sent.message.metadata['x-a'], sent.headers['x-region'][0], sent.trailers['x-cost'][0]);
        const echoed = client.invoke('shop.v1.Shop/Echo', { big: '9007199254740993', at: '2026-01-02T03:04:05Z', counts: { a: 1 }, left: 'l' });
        console.log(JSON.stringify(echoed.message));",
    );
    let [unknown, product, echoed] = &printed[..] else { panic!("{printed:?}") };
    assert!(unknown.contains("not found"), "{unknown}");
    assert_eq!(product, "Product 4 b eu 7");
    for part in [r#""big":"9007199254740993""#, r#""at":"2026-01-02T03:04:05Z""#, r#""counts":{"a":1}"#, r#""left":"l""#] {
        assert!(echoed.contains(part), "{echoed}");
    }
}
