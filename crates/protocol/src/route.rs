//! How connections reach their targets: directly, through a Unix socket, or through an HTTP proxy.

use std::future::poll_fn;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use metrics::Outcome;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use url::Url;

use crate::connect::Target;
use crate::http::{ConnectReader, basic_authorization};
use crate::stream::Socket;
use crate::{Failure, Network};

/// The way to every target of a network.
#[derive(Debug, Clone, Default)]
pub enum Route {
    #[default]
    Direct,
    /// A Unix socket stands for all hosts and ports, as with curl's `--unix-socket`.
    Unix(PathBuf),
    /// An HTTP proxy: plain requests are forwarded by it, all else goes through its tunnels.
    Proxy(Proxy),
}

impl Route {
    /// The proxy that forwards plain requests, if there is one.
    pub(crate) fn forwards(&self, tls: bool) -> Option<&Proxy> {
        match self {
            Self::Proxy(proxy) if !tls => Some(proxy),
            _ => None,
        }
    }
}

/// An HTTP proxy.
#[derive(Debug, Clone)]
pub struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    authorization: Option<String>,
}

impl Proxy {
    /// From a URL such as `http://user:password@proxy.example:3128`. `None` when it is no `http` URL.
    pub fn of(url: &Url) -> Option<Self> {
        if url.scheme() != "http" {
            return None;
        }
        let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']').to_owned();
        Some(Self { host, port: url.port_or_known_default()?, authorization: basic_authorization(url) })
    }

    /// Like [`Proxy::of`], from a text.
    ///
    /// # Errors
    /// What is wrong with it, without its credentials.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|problem| format!("it is not a URL ({problem}): write it as http://proxy.example:3128"))?;
        Self::of(&url).ok_or_else(|| format!("{}: proxies are spoken to by HTTP: write http://proxy.example:3128", url.scheme()))
    }

    /// Host and port, for messages.
    pub fn authority(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    pub(crate) fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// Whether a connection to this target needs a tunnel.
    pub(crate) fn tunnels(&self, target: Target<'_>) -> bool {
        target.tls.is_some() || target.tunnel
    }

    /// Asks for a tunnel (RFC 9110, section 9.3.6).
    pub(crate) async fn open_tunnel(&self, network: &Network, socket: &mut Socket, target: Target<'_>) -> Result<(), Failure> {
        let host = if target.host.contains(':') { format!("[{}]", target.host) } else { target.host.to_owned() };
        let authority = format!("{host}:{}", target.port);
        let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
        if let Some(authorization) = &self.authorization {
            request.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
        }
        request.push_str("\r\n");
        socket.write_all(request.as_bytes()).await.map_err(|error| Failure::broken(&error))?;
        let mut answer = ConnectReader::new();
        let status = poll_fn(|context| {
            let mut scratch = network.scratch();
            loop {
                let mut buffer = ReadBuf::new(&mut scratch);
                let read = std::task::ready!(Pin::new(&mut *socket).poll_read(context, &mut buffer));
                let status = read
                    .and_then(|()| if buffer.filled().is_empty() { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(()) })
                    .map_err(|error| Failure::broken(&error))
                    .and_then(|()| answer.feed(buffer.filled()));
                match status {
                    Ok(None) => {}
                    Ok(Some(status)) => return std::task::Poll::Ready(Ok(status)),
                    Err(failure) => return std::task::Poll::Ready(Err(failure)),
                }
            }
        })
        .await
        .map_err(|failure: Failure| Failure::new(failure.outcome, format!("proxy: {}", failure.message)))?;
        match status {
            200..300 => Ok(()),
            407 => Err(Failure::new(Outcome::Connect, "the proxy wants a user name and password; put them into its URL")),
            status => Err(Failure::new(Outcome::Connect, format!("the proxy did not open a tunnel: status {status}"))),
        }
    }
}
