//! The opening handshake (RFC 6455, section 4).

use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

use super::reader::MessageReader;
use super::socket::WebSocket;
use crate::failure::Failure;
use crate::http::{BodyUse, Exchange, Purpose, Request, Response, take_over};
use crate::network::Network;

/// Appended to the key before hashing (RFC 6455, section 1.3).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The offered compression: without context, so that no connection keeps windows of 40 KB and more.
const DEFLATE_OFFER: &str = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

/// The settings of a socket.
#[derive(Debug, Clone)]
pub struct SocketOptions {
    /// Sub-protocols to offer, in order of preference.
    pub protocols: Vec<String>,
    /// Offer permessage-deflate.
    pub compression: bool,
    /// A larger message, counted after decompression, ends the connection with code 1009. Bytes.
    pub message_bytes_max: u64,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self { protocols: Vec::new(), compression: false, message_bytes_max: 16 << 20 }
    }
}

/// The opening request and its result.
#[derive(Debug)]
pub struct WebSocketOpening {
    /// Its result is a failure if the handshake was invalid. If the server declined, it is a response with a status other than 101.
    pub exchange: Exchange,
    pub socket: Option<WebSocket>,
}

/// Opens a WebSocket on a new connection. `request` is a GET with the caller's header lines. Its time limit applies to the handshake.
pub async fn open(network: &Rc<Network>, mut request: Request, options: &SocketOptions) -> WebSocketOpening {
    let key = key(network);
    add_headers(&mut request, &key, options);
    request.body_use = BodyUse::Keep;
    let (mut exchange, upgraded) = take_over(network, &request, Purpose::Upgrade).await;
    let (Some(upgraded), Ok(response)) = (upgraded, &exchange.result) else { return WebSocketOpening { exchange, socket: None } };
    match agreed(response, &key, options) {
        Ok(agreed) => {
            let reader = MessageReader::new(options.message_bytes_max, agreed.deflate);
            let socket = WebSocket::new(network, upgraded, reader, agreed.deflate, agreed.protocol, exchange.ended);
            WebSocketOpening { exchange, socket: Some(socket) }
        }
        Err(failure) => {
            exchange.fail_answered(failure);
            WebSocketOpening { exchange, socket: None }
        }
    }
}

fn key(network: &Network) -> String {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&network.random().to_ne_bytes());
    bytes[8..].copy_from_slice(&network.random().to_ne_bytes());
    STANDARD.encode(bytes)
}

fn add_headers(request: &mut Request, key: &str, options: &SocketOptions) {
    let mut add = |name: &str, value: &str| request.headers.push((name.to_owned(), value.to_owned()));
    add("Upgrade", "websocket");
    add("Connection", "Upgrade");
    add("Sec-WebSocket-Version", "13");
    add("Sec-WebSocket-Key", key);
    if !options.protocols.is_empty() {
        add("Sec-WebSocket-Protocol", &options.protocols.join(", "));
    }
    if options.compression {
        add("Sec-WebSocket-Extensions", DEFLATE_OFFER);
    }
}

#[derive(Debug, PartialEq, Eq)]
struct AgreedTerms {
    deflate: bool,
    protocol: Option<String>,
}

fn agreed(response: &Response, key: &str, options: &SocketOptions) -> Result<AgreedTerms, Failure> {
    let wrong = |what: &str| Failure::protocol(format!("the WebSocket handshake is invalid: {what}"));
    let headers = &response.headers;
    let has_token =
        |name, wanted: &str| headers.all(name).flat_map(|value| value.split(',')).any(|token| token.trim().eq_ignore_ascii_case(wanted));
    if !has_token("upgrade", "websocket") || !has_token("connection", "upgrade") {
        return Err(wrong("the response does not upgrade to websocket"));
    }
    let accept = STANDARD.encode(Sha1::new().chain_update(key).chain_update(GUID).finalize());
    if headers.get("sec-websocket-accept") != Some(&accept) {
        return Err(wrong("its Sec-WebSocket-Accept does not match the key"));
    }
    let protocol = headers.get("sec-websocket-protocol").map(str::to_owned);
    if protocol.as_ref().is_some_and(|protocol| !options.protocols.contains(protocol)) {
        return Err(wrong("the server chose a sub-protocol that was not offered"));
    }
    let mut deflate = false;
    for extension in headers.all("sec-websocket-extensions").flat_map(|value| value.split(',')) {
        if deflate || !options.compression {
            return Err(wrong("the server chose an extension that was not offered"));
        }
        agrees_to_deflate(extension).map_err(wrong)?;
        deflate = true;
    }
    Ok(AgreedTerms { deflate, protocol })
}

/// RFC 7692, section 7.1.
fn agrees_to_deflate(extension: &str) -> Result<(), &'static str> {
    let mut parts = extension.split(';').map(str::trim);
    if parts.next() != Some("permessage-deflate") {
        return Err("the server chose an extension that was not offered");
    }
    let mut without_context = false;
    for parameter in parts {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match name.trim() {
            "server_no_context_takeover" => without_context = true,
            "client_no_context_takeover" => {}
            // A window that is larger than the server's can decode its messages.
            "server_max_window_bits" if matches!(value.trim().trim_matches('"').parse(), Ok(8..=15u8)) => {}
            _ => return Err("the server chose a compression parameter that was not offered"),
        }
    }
    if without_context { Ok(()) } else { Err("the server compresses with context, which was not offered") }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    // RFC 6455, section 1.3.
    const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
    const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

    fn check(lines: &[(&str, &str)]) -> Result<AgreedTerms, String> {
        let base = [("upgrade", "WebSocket"), ("connection", "keep-alive, Upgrade"), ("sec-websocket-accept", ACCEPT)];
        let kept = base.iter().filter(|(name, _)| !lines.iter().any(|(other, _)| other == name));
        let headers = kept.chain(lines).copied().collect();
        let options = SocketOptions { protocols: vec!["chat".to_owned()], compression: true, ..SocketOptions::default() };
        agreed(&Response { status: 101, headers, body: Bytes::new(), trailers: crate::http::Headers::default() }, KEY, &options)
            .map_err(|failure| failure.message)
    }

    #[test]
    fn a_valid_response_opens() {
        assert_eq!(check(&[]), Ok(AgreedTerms { deflate: false, protocol: None }));
        let full = [
            ("sec-websocket-protocol", "chat"),
            ("sec-websocket-extensions", "permessage-deflate; server_no_context_takeover; server_max_window_bits=\"10\""),
        ];
        assert_eq!(check(&full), Ok(AgreedTerms { deflate: true, protocol: Some("chat".to_owned()) }));
    }

    #[test]
    fn invalid_responses_do_not_open() {
        for line in [
            ("upgrade", "h2c"),
            ("connection", "close"),
            ("sec-websocket-accept", KEY),
            ("sec-websocket-protocol", "other"),
            ("sec-websocket-extensions", "permessage-foo"),
            ("sec-websocket-extensions", "permessage-deflate"),
            ("sec-websocket-extensions", "permessage-deflate; server_no_context_takeover; client_max_window_bits=9"),
            ("sec-websocket-extensions", "permessage-deflate; server_no_context_takeover, permessage-deflate; server_no_context_takeover"),
        ] {
            assert!(check(&[line]).is_err(), "{line:?}");
        }
    }
}
