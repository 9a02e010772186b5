//! Observers of runtimes during a load: however a run ends, the service is restored.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{Folder, server};

/// The service from the observer's own tests.
struct App {
    child: Child,
    port: u16,
}

impl App {
    fn start() -> Self {
        let port = server::free_port("127.0.0.1");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../observe/tests/it/runtimes/app.mjs");
        let mut command = Command::new("node");
        // The inspectors of several tests must not use the same port.
        command.args(["--inspect-port=0", script]).env("PORT", port.to_string());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap_or_else(|error| panic!("node: {error}"));
        let app = Self { child, port };
        server::wait_until("the service", || app.says().is_some());
        app
    }

    /// Traces of an observer in it.
    fn says(&self) -> Option<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()
    }

    /// A load that lasts until it is interrupted.
    fn load(&self) -> Folder {
        let port = self.port;
        let script = format!(
            r#"import {{ arrivals, observe, scenario, test }} from "loadstone";
const visit = scenario("Visit", (user) => user.get("/"));
export default test({{ target: "http://127.0.0.1:{port}", load: visit.run(arrivals(5).for("100s")), observe: [observe.node({{ port: {port} }})] }});
"#
        );
        Folder::new().file("watched.load.ts", &script)
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn node_is_left_as_it_was_however_the_run_ends() {
    for signal in [Signal::INT, Signal::KILL] {
        let app = App::start();
        let folder = app.load();
        let run = folder.start(&["run", "watched.load.ts"]);
        server::wait_until("the meter", || app.says().is_some_and(|says| says["meter"] == true && says["inspector"].is_string()));
        run.signal(signal);
        // After a kill, the meter waits for ten seconds.
        server::wait_until("the service to be as it was", || app.says() == Some(json!({ "meter": false, "inspector": null })));
        let _ended = run.ended();
    }
}
