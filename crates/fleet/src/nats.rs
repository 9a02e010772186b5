//! The real bus: a NATS server. A separate thread maintains the connection and reconnects when it breaks.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, ServerAddr, Subscriber};
use bytes::Bytes;
use futures_util::{StreamExt, future, stream};
use percent_encoding::percent_decode_str;
use tokio::sync::mpsc;

use crate::bus::{Bus, BusError};
use crate::subjects::Outgoing;

/// Limit on the packets that wait on either side. Further packets are lost, and sent again later.
const QUEUED_PACKETS_MAX: usize = 4_096;
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Limit on the time for sending the last packets.
const LINGER_MAX: Duration = Duration::from_secs(1);

/// The address of a NATS server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsServer {
    /// `nats://` or `tls://`, with `user:password@` if the server requires it.
    pub address: String,
    /// A PEM file with the authorities that sign its certificate. `None`: the trusted authorities of this machine.
    pub authorities: Option<PathBuf>,
}

impl NatsServer {
    pub fn new(address: impl Into<String>, authorities: Option<PathBuf>) -> Self {
        Self { address: address.into(), authorities }
    }

    /// The address without its password.
    pub(crate) fn shown(&self) -> String {
        without_password(&self.address)
    }
}

/// Why the connection failed.
struct NoConnection {
    problem: String,
    /// No server responded. One may respond later.
    is_absence: bool,
}

impl From<ConnectError> for NoConnection {
    fn from(error: ConnectError) -> Self {
        // An untrusted certificate is reported as an input error with invalid data.
        let io = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
        let is_absence = match error.kind() {
            ConnectErrorKind::Dns | ConnectErrorKind::TimedOut => true,
            ConnectErrorKind::Io => io.is_none_or(|io| !matches!(io.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)),
            _ => false,
        };
        Self { problem: with_causes(&error), is_absence }
    }
}

impl NoConnection {
    /// An error that a retry cannot resolve.
    fn for_good(error: &dyn std::error::Error) -> Self {
        Self { problem: with_causes(error), is_absence: false }
    }
}

/// A connection to a NATS server.
pub struct NatsBus {
    /// `None` while the bus is being dropped.
    outgoing: Option<mpsc::Sender<Outgoing>>,
    arrived: Receiver<Incoming>,
    nudge: SyncSender<Incoming>,
    /// Closed when everything has been sent and the thread has ended.
    ended: Receiver<()>,
}

enum Incoming {
    Packet(Bytes),
    /// There is other work than the bus.
    Nudge,
}

/// Ends a wait in [`Bus::take`].
#[derive(Clone)]
pub struct Nudge(SyncSender<Incoming>);

impl Nudge {
    pub fn nudge(&self) {
        // If there is no room, the receiver already has something to do.
        let _ = self.0.try_send(Incoming::Nudge);
    }
}

impl NatsBus {
    /// Connects, and subscribes to these subjects.
    ///
    /// # Errors
    /// [`BusError`]: there is no server, or it refuses.
    pub fn connect(server: &NatsServer, subjects: Vec<String>) -> Result<Self, BusError> {
        let (outgoing, to_publish) = mpsc::channel(QUEUED_PACKETS_MAX);
        let (nudge, arrived) = sync_channel(QUEUED_PACKETS_MAX);
        let (result_sender, connected) = sync_channel(1);
        let (ending, ended) = sync_channel(0);
        let (thread_server, packets) = (server.clone(), nudge.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("nats".to_owned()).spawn(move || {
            let _ending = ending;
            runtime.block_on(async move {
                match open(thread_server, subjects).await {
                    Ok((client, subscriptions)) => {
                        let _ = result_sender.send(Ok(()));
                        carry(client, subscriptions, to_publish, packets).await;
                    }
                    Err(problem) => _ = result_sender.send(Err(problem)),
                }
            });
        })?;
        let address = server.shown();
        match connected.recv() {
            Ok(Ok(())) => Ok(Self { outgoing: Some(outgoing), arrived, nudge, ended }),
            Ok(Err(NoConnection { problem, is_absence: true })) => Err(BusError::Absent { address, problem }),
            Ok(Err(NoConnection { problem, is_absence: false })) => Err(BusError::Connect { address, problem }),
            Err(_) => Err(BusError::Connect { address, problem: "its thread ended".to_owned() }),
        }
    }

    pub fn nudge(&self) -> Nudge {
        Nudge(self.nudge.clone())
    }
}

impl Bus for NatsBus {
    fn publish(&mut self, packet: Outgoing) {
        // The queue is full while the server is away. The packet is lost, which every receiver must tolerate.
        let _ = self.outgoing.as_ref().map(|outgoing| outgoing.try_send(packet));
    }

    fn take(&mut self, wait: Duration) -> Option<Vec<u8>> {
        match self.arrived.recv_timeout(wait) {
            Ok(Incoming::Packet(bytes)) => Some(bytes.into()),
            Ok(Incoming::Nudge) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }
}

/// The packets published last are usually dismissals, and the process may end at once. Without them, agents would wait for a controller that has
/// gone.
impl Drop for NatsBus {
    fn drop(&mut self) {
        drop(self.outgoing.take());
        // Whether it closed or timed out makes no difference here.
        let _: Result<(), RecvTimeoutError> = self.ended.recv_timeout(LINGER_MAX);
    }
}

async fn open(server: NatsServer, subjects: Vec<String>) -> Result<(Client, Vec<Subscriber>), NoConnection> {
    let options = ConnectOptions::new().name("loadstone").connection_timeout(CONNECT_MAX).max_reconnects(None);
    let options = options.reconnect_delay_callback(|tries| Duration::from_millis((tries as u64 * 50).min(500)));
    let address: ServerAddr = server.address.parse().map_err(|error| NoConnection::for_good(&error))?;
    let options = with_credentials(options, &address);
    let options = match server.authorities {
        Some(file) => options.add_root_certificates(file).require_tls(true),
        None => options,
    };
    let client = options.connect(address).await?;
    let mut subscriptions = Vec::new();
    for subject in subjects {
        subscriptions.push(client.subscribe(subject).await.map_err(|error| NoConnection::for_good(&error))?);
    }
    client.flush().await.map_err(|error| NoConnection::for_good(&error))?;
    Ok((client, subscriptions))
}

/// Sets the credentials, which the client library does not read from the address: a user with a password, or a token alone, in NATS notation.
fn with_credentials(options: ConnectOptions, address: &ServerAddr) -> ConnectOptions {
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    match (address.username(), address.password()) {
        (Some(user), Some(password)) => options.user_and_password(plain(user), plain(password)),
        (Some(token), None) => options.token(plain(token)),
        (None, _) => options,
    }
}

/// Runs until the bus is dropped.
async fn carry(client: Client, subscriptions: Vec<Subscriber>, mut to_publish: mpsc::Receiver<Outgoing>, packets: SyncSender<Incoming>) {
    let publish = async {
        while let Some(Outgoing { subject, bytes }) = to_publish.recv().await {
            // A lost packet is sent again.
            let _ = client.publish(subject, bytes.into()).await;
        }
        let _ = client.flush().await;
    };
    let listen = stream::select_all(subscriptions).for_each(|message| {
        let _ = packets.try_send(Incoming::Packet(message.payload));
        future::ready(())
    });
    tokio::select! {
        () = publish => {}
        () = async { listen.await; future::pending::<()>().await } => {}
    }
}

/// The error and its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text_so_far = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !text_so_far.contains(&text) {
            text_so_far += &format!(": {text}");
        }
        cause = error.source();
    }
    text_so_far
}

/// An address without its password.
pub fn without_password(address: &str) -> String {
    match (address.find("://"), address.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 < at => format!("{}{}", &address[..scheme + 3], &address[at + 1..]),
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        assert_eq!(without_password("nats://joe:s3cret@10.0.0.1:4222"), "nats://10.0.0.1:4222");
        assert_eq!(without_password("nats://10.0.0.1:4222"), "nats://10.0.0.1:4222");
    }

    #[test]
    fn an_absent_server_is_named() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("nats://{}", socket.local_addr().unwrap());
        drop(socket);
        let error = NatsBus::connect(&NatsServer::new(&address, None), Vec::new()).err().unwrap().to_string();
        assert!(error.contains(&address) && error.contains("is it running"), "{error}");
    }
}
