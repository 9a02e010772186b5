//! `loadstone mcp --http`, and the official SDK's client for it.
//!
//! The SDK's own HTTP client connects to a socket file, so a relay passes its bytes on to the server's port unchanged.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixListener;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;

use axum::http::{HeaderName, HeaderValue, header};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, UnixSocketHttpClient};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{Folder, McpClient};

/// A server with the tests of a folder. It ends with this value.
pub(crate) struct McpHttpServer {
    child: Child,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    pub(crate) token: String,
    sockets: TempDir,
}

impl McpHttpServer {
    pub(crate) fn start(folder: &Folder) -> Self {
        let mut command = folder.command(&["mcp", ".", "--http", "127.0.0.1:0"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut lines = BufReader::new(child.stderr.take().expect("asked for as a pipe")).lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains("http://")).expect("the address is printed");
        let address = line.split("http://").nth(1).and_then(|rest| rest.split("/mcp").next()).expect("an address").to_owned();
        let token = lines.find_map(|line| line.split("Bearer ").nth(1).map(str::to_owned)).expect("the token is printed");
        // Its later messages must not fill the pipe.
        thread::spawn(move || lines.for_each(drop));
        let sockets = TempDir::new().expect("a temporary folder");
        relay(UnixListener::bind(sockets.path().join("mcp")).expect("a socket"), address.clone());
        Self { child, address, token, sockets }
    }

    /// A client that has completed the handshake, or why the server refuses it.
    pub(crate) fn client(&self, token: &str, origin: Option<&'static str>) -> Result<McpClient, String> {
        let uri = format!("http://{}/mcp", self.address);
        let socket = self.sockets.path().join("mcp");
        let http = UnixSocketHttpClient::new(socket.to_str().expect("a path in UTF-8"), &uri);
        let origin = origin.map(|origin| (header::ORIGIN, HeaderValue::from_static(origin)));
        let headers: HashMap<HeaderName, HeaderValue> = origin.into_iter().collect();
        let config = StreamableHttpClientTransportConfig::with_uri(uri).auth_header(token).custom_headers(headers);
        McpClient::connect(move || StreamableHttpClientTransport::with_client(http, config), None)
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn interrupt(mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("it runs");
        self.child.wait().expect("it ends")
    }
}

impl Drop for McpHttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connects each client of the socket with the server, until the test ends.
fn relay(listener: UnixListener, address: String) {
    thread::spawn(move || {
        for ours in listener.incoming().map_while(Result::ok) {
            let Ok(theirs) = TcpStream::connect(&address) else { continue };
            let (from_ours, from_theirs) = (ours.try_clone().expect("a copy"), theirs.try_clone().expect("a copy"));
            thread::spawn(move || copy(from_ours, &theirs, || _ = theirs.shutdown(Shutdown::Write)));
            thread::spawn(move || copy(from_theirs, &ours, || _ = ours.shutdown(Shutdown::Write)));
        }
    });
}

fn copy(mut from: impl Read, mut to: impl Write, end: impl FnOnce()) {
    let _ = io::copy(&mut from, &mut to);
    end();
}
