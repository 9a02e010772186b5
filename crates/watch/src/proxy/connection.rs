//! One connection of a client, and its own connection to the target: the target sees as many as without the proxy, and their ends.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Nanos, Outcome, Phases};
use tokio::io::{AsyncWriteExt, split};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use super::exchange::ProxiedExchange;
use super::forward::{self, Inlet};
use super::framing::{MessageFraming, MessageHead, MessageKind};
use super::record::{ProxiedRequest, ProxyRecord};
use super::stamped::StampedTcp;
use super::target::{CONNECT_WITHIN, ConnectFailure, ProxyDestination, ProxySide, ProxyStream};

/// Time for the request of a client that cannot be forwarded.
const REQUEST_WITHIN: Duration = Duration::from_secs(10);

/// What all connections of a proxy share. Single-threaded.
pub(super) struct ServingProxy {
    pub(super) zero: Monotonic,
    pub(super) destination: ProxyDestination,
    pub(super) authority: Option<String>,
    /// Bytes are passed on unread.
    pub(super) is_opaque: bool,
    pub(super) acceptor: Option<TlsAcceptor>,
    pub(super) records: mpsc::Sender<ProxyRecord>,
    /// Connections of clients that are open.
    pub(super) open: Arc<AtomicU64>,
    pub(super) has_refused_tls: Cell<bool>,
}

/// Counts a connection while it is open.
struct OpenConnection<'a>(&'a AtomicU64);

impl<'a> OpenConnection<'a> {
    fn new(open: &'a AtomicU64) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(open)
    }
}

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ServingProxy {
    /// Serves a connection until its end.
    pub(super) async fn serve(&self, stream: TcpStream) {
        let _open = OpenConnection::new(&self.open);
        let accepted_at = self.zero.now();
        let (stream, socket) = StampedTcp::new(stream);
        let client: Box<dyn ProxyStream> = match &self.acceptor {
            None => Box::new(stream),
            Some(acceptor) => match tokio::time::timeout(CONNECT_WITHIN, acceptor.accept(stream)).await {
                Ok(Ok(secured)) => Box::new(secured),
                Ok(Err(error)) => return self.tls_refused(&error.to_string()).await,
                Err(_) => return,
            },
        };
        match self.destination.connect().await {
            Ok(target) => self.converse((client, socket), target, accepted_at).await,
            Err(failure) => {
                let answer = tokio::time::timeout(REQUEST_WITHIN, self.refuse((client, socket), failure, accepted_at));
                let _ = answer.await;
            }
        }
    }

    /// A client did not trust the authority, or spoke no TLS. One report is enough.
    async fn tls_refused(&self, problem: &str) {
        if !self.has_refused_tls.replace(true) {
            let why = format!("a client's TLS handshake with the proxy failed ({problem}): let the tool trust the file of --proxy-ca");
            let _ = self.records.send(ProxyRecord::NotRecorded(why)).await;
        }
    }

    async fn converse(&self, client: ProxySide, target: ProxySide, accepted_at: Nanos) {
        let exchange = ProxiedExchange::new(self.records.clone(), self.zero, Some(Rc::clone(&client.1)));
        if self.is_opaque {
            exchange.passes_all();
        }
        let ((client_in, mut client_out), (target_in, mut target_out)) = (split(client.0), split(target.0));
        let mut from_client = Inlet::new(client_in, Some(client.1), self.zero);
        let mut from_target = Inlet::new(target_in, Some(target.1), self.zero);
        let ended = tokio::try_join!(
            forward::requests(&mut from_client, &mut target_out, &exchange, self.authority.as_deref()),
            forward::responses(&mut from_target, &mut client_out, &exchange),
        );
        if self.is_opaque {
            let (outcome, message) = match ended {
                Ok(_) => (Outcome::Passed, ""),
                Err(_) => (Outcome::Reset, "the connection was reset"),
            };
            let connection = ProxiedRequest {
                bytes_sent: from_client.bytes,
                bytes_received: from_target.bytes,
                message: message.to_owned(),
                ..self.connection(accepted_at, exchange.connected_at, outcome)
            };
            exchange.record(connection).await;
        }
        if ended.is_err() {
            from_client.into_inner().unsplit(client_out).resets_at_end();
            from_target.into_inner().unsplit(target_out).resets_at_end();
        }
    }

    /// A whole connection as an entry of the record.
    fn connection(&self, accepted_at: Nanos, connected_at: Nanos, outcome: Outcome) -> ProxiedRequest {
        ProxiedRequest {
            name: "connection".to_owned(),
            sent_at: accepted_at,
            ended_at: self.zero.now(),
            phases: Phases { connect: connected_at.saturating_sub(accepted_at), ..Phases::default() },
            outcome,
            status: 0,
            message: String::new(),
            bytes_sent: 0,
            bytes_received: 0,
            delay: None,
            is_aborted: false,
        }
    }

    /// Records the request that cannot be forwarded, and answers as a gateway does.
    async fn refuse(&self, (client, socket): ProxySide, failure: ConnectFailure, accepted_at: Nanos) {
        let ConnectFailure { outcome, message } = failure;
        let failed = |name: String, sent_at: Nanos, bytes_sent: u64| ProxiedRequest {
            name,
            bytes_sent,
            message: message.clone(),
            ..self.connection(sent_at, self.zero.now(), outcome)
        };
        if self.is_opaque {
            let _ = self.records.send(ProxyRecord::Request(Box::new(failed("connection".to_owned(), accepted_at, 0)))).await;
            return client.resets_at_end();
        }
        let mut inlet = Inlet::new(client, Some(socket), self.zero);
        let mut sent_at = None;
        loop {
            let Ok(Some(arrived_at)) = inlet.read().await else { return };
            let sent_at = *sent_at.get_or_insert(arrived_at);
            match MessageFraming::default().next(inlet.received(), MessageKind::Request) {
                Ok(Some(part)) => {
                    if let Some(MessageHead::Request { name, .. }) = part.head {
                        let _ = self.records.send(ProxyRecord::Request(Box::new(failed(name, sent_at, part.bytes as u64)))).await;
                    }
                    break;
                }
                Ok(None) => {}
                Err(_) => return,
            }
        }
        let text = format!("Loadstone's proxy: {message}\n");
        let head = "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nConnection: close";
        let mut client = inlet.into_inner();
        let _ = client.write_all(format!("{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len()).as_bytes()).await;
        let _ = client.shutdown().await;
    }
}
