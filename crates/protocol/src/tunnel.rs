//! Tunnels through HTTP proxies (RFC 9110, section 9.3.6).

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Poll, ready};

use loadstone_metrics::Outcome;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};

use crate::failure::Failure;
use crate::http1::{ReadPlan, ResponseReader};
use crate::network::Network;
use crate::proxy::Proxy;
use crate::stream::RawSocket;
use crate::target::ConnectTarget;

/// Whether a connection to this target needs a tunnel.
pub(crate) fn is_needed(target: ConnectTarget<'_>) -> bool {
    target.alpn.is_some() || target.tunnel
}

/// Requests a tunnel from the proxy at the other end of the socket.
pub(crate) async fn open(network: &Network, proxy: &Proxy, socket: &mut RawSocket, target: ConnectTarget<'_>) -> Result<(), Failure> {
    let host = if target.host.contains(':') { format!("[{}]", target.host) } else { target.host.to_owned() };
    let authority = format!("{host}:{}", target.port);
    let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
    if let Some(authorization) = proxy.authorization() {
        request.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
    }
    request.push_str("\r\n");
    socket.write_all(request.as_bytes()).await.map_err(|error| Failure::broken(&error))?;
    let mut response = ConnectReader::new();
    let status = poll_fn(|context| {
        let mut scratch = network.scratch();
        loop {
            let mut buffer = ReadBuf::new(&mut scratch);
            let read = ready!(Pin::new(&mut *socket).poll_read(context, &mut buffer));
            let status = read
                .and_then(|()| if buffer.filled().is_empty() { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(()) })
                .map_err(|error| Failure::broken(&error))
                .and_then(|()| response.feed(buffer.filled()));
            match status {
                Ok(None) => {}
                Ok(Some(status)) => return Poll::Ready(Ok(status)),
                Err(failure) => return Poll::Ready(Err(failure)),
            }
        }
    })
    .await
    .map_err(|failure: Failure| Failure::new(failure.outcome, format!("proxy: {}", failure.message)))?;
    match status {
        200..300 => Ok(()),
        407 => Err(proxy.wants_credentials()),
        status => {
            let (host, port) = proxy.authority();
            Err(Failure::new(Outcome::Connect, format!("the proxy {host}:{port} did not open a tunnel: status {status}")))
        }
    }
}

/// Reads a proxy's response to CONNECT. A successful one has no body.
struct ConnectReader {
    response: ResponseReader,
}

impl ConnectReader {
    fn new() -> Self {
        let plan =
            ReadPlan { to_head: true, upgrade: false, stream_type: None, headers: false, body: false, keep_from: None, body_bytes_max: 0 };
        Self { response: ResponseReader::new(plan) }
    }

    /// The status, when the head is complete.
    fn feed(&mut self, bytes: &[u8]) -> Result<Option<u16>, Failure> {
        let used = self.response.feed(bytes)?;
        if !self.response.is_done() {
            return Ok(None);
        }
        if used < bytes.len() && (200..300).contains(&self.response.status) {
            return Err(Failure::protocol("the tunnel carried bytes before it was used"));
        }
        Ok(Some(self.response.status))
    }
}
