//! A `nats-server` for one test, which can be killed and restarted, and a proxy to it that can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::server;

pub(crate) struct Nats {
    child: Option<Child>,
    port: u16,
    pub(crate) address: String,
}

impl Nats {
    pub(crate) fn start() -> Self {
        let mut nats = Self::not_yet();
        nats.come();
        nats
    }

    /// Its address, which refuses connections until it starts.
    pub(crate) fn not_yet() -> Self {
        let port = server::free_port("127.0.0.1");
        Self { child: None, port, address: format!("nats://127.0.0.1:{port}") }
    }

    /// Starts it, or restarts it at the same address.
    pub(crate) fn come(&mut self) {
        let mut command = Command::new("nats-server");
        command.args(["--addr", "127.0.0.1", "--port", &self.port.to_string()]).stderr(Stdio::null());
        self.child = Some(command.spawn().expect("nats-server starts: `cargo xtask setup` installs it"));
        server::wait_until("nats-server to listen", || TcpStream::connect(("127.0.0.1", self.port)).is_ok());
    }

    /// Kills it. All messages in transit are lost.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
    }

    /// A separate proxy to it.
    pub(crate) fn way(&self) -> NatsWay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("nats://{}", listener.local_addr().expect("it is bound"));
        let (is_cut, to) = (Arc::new(AtomicBool::new(false)), self.port);
        let cut = Arc::clone(&is_cut);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) = (from.try_clone().expect("a socket"), to.try_clone().expect("a socket"));
                    let cut = Arc::clone(&cut);
                    thread::spawn(move || carry(from, to, &cut));
                }
            }
        });
        NatsWay { address, is_cut }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Forwards bytes between a client and a server, or holds them back: neither end sees that the other is unreachable.
pub(crate) struct NatsWay {
    pub(crate) address: String,
    is_cut: Arc<AtomicBool>,
}

impl NatsWay {
    pub(crate) fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::SeqCst);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        while is_cut.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(10));
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // The other direction ends with it.
    let _gone = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
