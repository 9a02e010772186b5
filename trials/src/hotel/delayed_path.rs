//! The path from the services to the store: a proxy that delays what clients send, by a time that can change while it runs.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

/// Bytes that are forwarded at once.
const PIECE_BYTES: usize = 64 * 1024;

/// A proxy that forwards connections until the program ends.
pub(super) struct DelayedPath {
    delay_ms: Arc<AtomicU64>,
}

impl DelayedPath {
    /// Listens on one loopback port and forwards to another one, without a delay at first.
    pub(super) fn open(listen: u16, forward: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", listen)).with_context(|| format!("port {listen} is in use"))?;
        let delay_ms = Arc::new(AtomicU64::new(0));
        let shared = Arc::clone(&delay_ms);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A client whose store does not listen is closed: it tries again.
                let Ok(store) = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], forward))) else { continue };
                let _unforwarded = forward_both(client, store, &shared);
            }
        });
        Ok(Self { delay_ms })
    }

    pub(super) fn set_delay(&self, milliseconds: u64) {
        self.delay_ms.store(milliseconds, Ordering::Relaxed);
    }
}

fn forward_both(client: TcpStream, store: TcpStream, delay_ms: &Arc<AtomicU64>) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    store.set_nodelay(true)?;
    let (client_reader, store_reader) = (client.try_clone()?, store.try_clone()?);
    let delay_ms = Arc::clone(delay_ms);
    thread::spawn(move || forward(client_reader, store, || Duration::from_millis(delay_ms.load(Ordering::Relaxed))));
    thread::spawn(move || forward(store_reader, client, || Duration::ZERO));
    Ok(())
}

/// Forwards until one side ends, and closes both. The wire protocol of MongoDB sends one request at a time on a connection.
fn forward(mut from: TcpStream, mut to: TcpStream, delay: impl Fn() -> Duration) {
    let mut piece = vec![0; PIECE_BYTES];
    while let Ok(count @ 1..) = from.read(&mut piece) {
        thread::sleep(delay());
        if piece.get(..count).is_none_or(|piece| to.write_all(piece).is_err()) {
            break;
        }
    }
    for stream in [from, to] {
        let _already_closed = stream.shutdown(Shutdown::Both);
    }
}
