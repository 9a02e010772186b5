//! Scripted TCP servers: byte-exact responses with pauses, and every kind of connection end.
//!
//! For tests of how a client handles bytes that no correct server sends. Read [`RawStep`]. The first connection runs the first script, the
//! second the second, and so on. The last script serves all later connections.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::StubError;

/// Received bytes stored per connection. Later bytes are read and discarded.
const RECEIVED_MAX: usize = 1 << 20;
/// Connections whose bytes are stored.
const CONNECTIONS_MAX: usize = 1024;

/// One step of a scripted connection. The end of the script closes the connection (FIN).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawStep {
    /// Reads until these bytes have arrived since the last read step.
    ReadUntil(Vec<u8>),
    /// Reads this many bytes.
    Read(usize),
    Send(Vec<u8>),
    /// Sends one byte at a time, each in its own segment, with a pause after each.
    Trickle(Vec<u8>, Duration),
    Pause(Duration),
    /// Closes the sending side and continues to read.
    HalfClose,
    /// Reads until the client closes.
    ReadToEnd,
    /// Closes with RST.
    Reset,
}

impl RawStep {
    /// Reads a request's head.
    pub fn read_head() -> Self {
        RawStep::ReadUntil(b"\r\n\r\n".to_vec())
    }

    pub fn send(bytes: impl AsRef<[u8]>) -> Self {
        RawStep::Send(bytes.as_ref().to_vec())
    }
}

/// A scripted server on its own thread. Dropping it closes every connection.
#[derive(Debug)]
pub struct RawServer {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Vec<u8>>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RawServer {
    /// Listens on 127.0.0.1 on any free port.
    ///
    /// # Errors
    /// There is no script, or the thread or socket cannot be created.
    pub fn start(scripts: Vec<Vec<RawStep>>) -> Result<Self, StubError> {
        if scripts.is_empty() {
            return Err(StubError::NoScript);
        }
        let wanted = SocketAddr::from(([127, 0, 0, 1], 0));
        let listen = || {
            let listener = std::net::TcpListener::bind(wanted)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = listen().map_err(|source| StubError::Listen { address: wanted, source })?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(StubError::Thread)?;
        let received = Arc::new(Mutex::new(Vec::new()));
        let (stop, stopped) = oneshot::channel();
        let kept = Arc::clone(&received);
        let thread = std::thread::Builder::new().name("raw stub".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    _ = accept(listener, scripts, kept) => {}
                }
            });
        });
        Ok(Self { address, received, stop: Some(stop), thread: Some(thread.map_err(StubError::Thread)?) })
    }

    /// Every connection runs the same script.
    ///
    /// # Errors
    /// As [`RawServer::start`].
    pub fn each(script: Vec<RawStep>) -> Result<Self, StubError> {
        Self::start(vec![script])
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT` followed by this path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The bytes that each connection has sent so far, in the order of accepting.
    pub fn received(&self) -> Vec<Vec<u8>> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: std::net::TcpListener, scripts: Vec<Vec<RawStep>>, received: Arc<Mutex<Vec<Vec<u8>>>>) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    for number in 0.. {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let script = scripts[usize::min(number, scripts.len() - 1)].clone();
        received.lock().unwrap_or_else(PoisonError::into_inner).resize((number + 1).min(CONNECTIONS_MAX), Vec::new());
        let received = Arc::clone(&received);
        // A script ends early when its client has left.
        tokio::spawn(async move { drop(Conversation { stream, number, received, unread: Vec::new() }.run(script).await) });
    }
    Ok(())
}

struct Conversation {
    stream: TcpStream,
    number: usize,
    received: Arc<Mutex<Vec<Vec<u8>>>>,
    /// Bytes received beyond the end of the last read step.
    unread: Vec<u8>,
}

impl Conversation {
    async fn run(mut self, script: Vec<RawStep>) -> io::Result<()> {
        for step in script {
            match step {
                RawStep::ReadUntil(end) => loop {
                    if let Some(at) = self.unread.windows(end.len().max(1)).position(|bytes| bytes == end) {
                        self.unread.drain(..at + end.len());
                        break;
                    }
                    self.receive().await?;
                },
                RawStep::Read(count) => {
                    while self.unread.len() < count {
                        self.receive().await?;
                    }
                    self.unread.drain(..count);
                }
                RawStep::Send(bytes) => self.stream.write_all(&bytes).await?,
                RawStep::Trickle(bytes, pause) => {
                    for byte in bytes {
                        self.stream.write_all(&[byte]).await?;
                        tokio::time::sleep(pause).await;
                    }
                }
                RawStep::Pause(pause) => tokio::time::sleep(pause).await,
                RawStep::HalfClose => self.stream.shutdown().await?,
                RawStep::ReadToEnd => while self.receive().await.is_ok() {},
                RawStep::Reset => return self.stream.set_zero_linger(),
            }
        }
        // With unread bytes in the socket, closing would send RST. A script that wants RST uses `Reset`.
        self.stream.shutdown().await?;
        while self.receive().await.is_ok() {}
        Ok(())
    }

    /// Reads once. Returns an error at the end of the stream.
    async fn receive(&mut self) -> io::Result<()> {
        let mut buffer = [0; 8192];
        let count = self.stream.read(&mut buffer).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.unread.extend_from_slice(&buffer[..count]);
        self.unread.drain(..self.unread.len().saturating_sub(RECEIVED_MAX));
        if let Some(kept) = self.received.lock().unwrap_or_else(PoisonError::into_inner).get_mut(self.number) {
            kept.extend_from_slice(&buffer[..count.min(RECEIVED_MAX.saturating_sub(kept.len()))]);
        }
        Ok(())
    }
}
