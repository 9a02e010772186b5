//! The real bus: a NATS server. A thread of its own keeps the connection, and makes it again when it breaks.

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

/// Packets that wait on either side. One that finds no room is lost, and comes again.
const QUEUE: usize = 4_096;
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long the last packets may take to leave.
const LINGER_MAX: Duration = Duration::from_secs(1);

/// Where a NATS server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsServer {
    /// `nats://` or `tls://`, with `user:password@` where it asks for it.
    pub address: String,
    /// A file with the authorities that it is trusted by, as PEM; `None`: those of this machine.
    pub authorities: Option<PathBuf>,
}

impl NatsServer {
    pub fn new(address: impl Into<String>, authorities: Option<PathBuf>) -> Self {
        Self { address: address.into(), authorities }
    }

    /// Its address as it may be shown.
    pub(crate) fn shown(&self) -> String {
        without_password(&self.address)
    }
}

/// Why there is no connection.
struct NoConnection {
    problem: String,
    /// Nobody answered: there may be a server a little later.
    is_absence: bool,
}

impl From<ConnectError> for NoConnection {
    fn from(error: ConnectError) -> Self {
        // A certificate that is not trusted comes as an input error of invalid data.
        let io = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
        let is_absence = match error.kind() {
            ConnectErrorKind::Dns | ConnectErrorKind::TimedOut => true,
            ConnectErrorKind::Io => io.is_none_or(|io| !matches!(io.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)),
            _ => false,
        };
        Self { problem: sentence(&error), is_absence }
    }
}

impl NoConnection {
    /// It will not be better later.
    fn for_good(error: &dyn std::error::Error) -> Self {
        Self { problem: sentence(error), is_absence: false }
    }
}

/// A connection to a NATS server.
pub struct NatsBus {
    /// `None` while it is dropped.
    outgoing: Option<mpsc::Sender<Outgoing>>,
    arrived: Receiver<Incoming>,
    nudge: SyncSender<Incoming>,
    /// Closed when all has been sent and its thread has ended.
    ended: Receiver<()>,
}

enum Incoming {
    Packet(Bytes),
    /// There is something to do beside the bus.
    Nudge,
}

/// Ends a wait in [`Bus::take`].
#[derive(Clone)]
pub struct Nudge(SyncSender<Incoming>);

impl Nudge {
    pub fn nudge(&self) {
        // Whoever is to be woken has something to do already where there is no room.
        let _ = self.0.try_send(Incoming::Nudge);
    }
}

impl NatsBus {
    /// Connects, and listens to these subjects.
    ///
    /// # Errors
    /// [`BusError`]: there is no server, or it refuses.
    pub fn connect(server: &NatsServer, subjects: Vec<String>) -> Result<Self, BusError> {
        let (outgoing, to_publish) = mpsc::channel(QUEUE);
        let (nudge, arrived) = sync_channel(QUEUE);
        let (told, connected) = sync_channel(1);
        let (ending, ended) = sync_channel(0);
        let (asked, packets) = (server.clone(), nudge.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("nats".to_owned()).spawn(move || {
            let _ending = ending;
            runtime.block_on(async move {
                match open(asked, subjects).await {
                    Ok((client, subscriptions)) => {
                        let _ = told.send(Ok(()));
                        carry(client, subscriptions, to_publish, packets).await;
                    }
                    Err(problem) => _ = told.send(Err(problem)),
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
        // Full while the server is away: the packet is lost, as any may be.
        let _ = self.outgoing.as_ref().map(|outgoing| outgoing.try_send(packet));
    }

    fn take(&mut self, wait: Duration) -> Option<Vec<u8>> {
        match self.arrived.recv_timeout(wait) {
            Ok(Incoming::Packet(bytes)) => Some(bytes.into()),
            Ok(Incoming::Nudge) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }
}

/// What was published last is mostly a farewell, and the process may end at once: without it, agents would wait for a controller that is gone.
impl Drop for NatsBus {
    fn drop(&mut self) {
        drop(self.outgoing.take());
        // Closed or too late, it makes no difference any more.
        let _: Result<(), RecvTimeoutError> = self.ended.recv_timeout(LINGER_MAX);
    }
}

async fn open(server: NatsServer, subjects: Vec<String>) -> Result<(Client, Vec<Subscriber>), NoConnection> {
    let options = ConnectOptions::new().name("loadstone").connection_timeout(CONNECT_MAX).max_reconnects(None);
    let options = options.reconnect_delay_callback(|tries| Duration::from_millis((tries as u64 * 50).min(500)));
    let address: ServerAddr = server.address.parse().map_err(|error| NoConnection::for_good(&error))?;
    let options = introduce(options, &address);
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

/// Who it is, which the client library does not read from the address: a user with a password, or a token alone, as NATS writes them.
fn introduce(options: ConnectOptions, address: &ServerAddr) -> ConnectOptions {
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    match (address.username(), address.password()) {
        (Some(user), Some(password)) => options.user_and_password(plain(user), plain(password)),
        (Some(token), None) => options.token(plain(token)),
        (None, _) => options,
    }
}

/// Until the bus is dropped.
async fn carry(client: Client, subscriptions: Vec<Subscriber>, mut to_publish: mpsc::Receiver<Outgoing>, packets: SyncSender<Incoming>) {
    let publish = async {
        while let Some(Outgoing { subject, bytes }) = to_publish.recv().await {
            // What is lost comes again.
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
fn sentence(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !said.contains(&text) {
            said += &format!(": {text}");
        }
        cause = error.source();
    }
    said
}

/// An address as it may be shown.
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
    fn a_server_that_is_not_there_is_named() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("nats://{}", socket.local_addr().unwrap());
        drop(socket);
        let error = NatsBus::connect(&NatsServer::new(&address, None), Vec::new()).err().unwrap().to_string();
        assert!(error.contains(&address) && error.contains("is it running"), "{error}");
    }
}
