//! What HTTP messages contain beyond their framing: header fields, cookies, redirects, content codings, and the heads of HTTP/2.

use bytes::Bytes;
use h2::client;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::runtime::Builder;
use tokio::time::{Duration, timeout};

use crate::http::fuzzing::{Headers, decode, resolved_location, stored_cookies};

/// Output of a decoded body. Bytes.
const DECODED_BYTES_MAX: u64 = 1 << 20;
/// The longest prefix of the input that names codings. Bytes.
const CODINGS_BYTES_MAX: usize = 40;

/// A head: its fields, cookies and redirect.
pub fn head(input: &[u8]) {
    let headers = Headers::from_head(Bytes::copy_from_slice(input), true);
    let lines: Vec<(&str, &str)> = headers.iter().collect();
    for (name, value) in &lines {
        assert!(!value.contains(['\n', '\r']) || name.contains('\r') || value.contains('\r'), "a line feed in {name}");
    }
    let sent = stored_cookies(&headers);
    assert!(sent.as_deref().is_none_or(|value| !value.contains(['\n', '\0'])), "a cookie splits the request: {sent:?}");
    if let Some(url) = resolved_location(&headers) {
        assert!(!url.as_str().contains([' ', '\r', '\n']), "a location splits the request: {url}");
    }
}

/// A compressed body. The first line has the codings, and the rest is the body.
pub fn codings(input: &[u8]) {
    let end = input.iter().take(CODINGS_BYTES_MAX).position(|byte| *byte == b'\n').unwrap_or(0);
    let (codings, body) = input.split_at(end);
    let body = Bytes::copy_from_slice(body.get(1..).unwrap_or_default());
    if let Ok(decoded) = decode(body.clone(), &String::from_utf8_lossy(codings), DECODED_BYTES_MAX) {
        assert!(decoded.len() as u64 <= DECODED_BYTES_MAX.max(body.len() as u64));
    }
}

/// What a server sends on a connection of HTTP/2: it ends, whatever the frames are.
pub fn http2(input: &[u8]) {
    // An input is not worth more than this.
    const LIMIT: Duration = Duration::from_secs(10);
    let Ok(runtime) = Builder::new_current_thread().enable_time().build() else { return };
    let exchange = async {
        let (near, mut far) = duplex(1 << 16);
        let server = async {
            // The client may have closed the connection.
            let _ = far.write_all(input).await;
            let _ = far.shutdown().await;
            let mut rest = Vec::new();
            let _ = far.read_to_end(&mut rest).await;
            assert!(rest.len() < 1 << 20, "the client answers {} bytes with {}", input.len(), rest.len());
        };
        let client = async {
            let builder = client::Builder::new().max_header_list_size(1 << 16).handshake::<_, Bytes>(near).await;
            let Ok((mut sender, connection)) = builder else { return };
            let request = http::Request::get("http://127.0.0.1/").body(());
            let asked = request.ok().and_then(|request| sender.send_request(request, true).ok());
            let answered = async {
                let Some((response, _)) = asked else { return };
                let Ok(response) = response.await else { return };
                let (head, mut body) = response.into_parts();
                let _ = Headers::from_map(head.headers).iter().count();
                while let Some(Ok(piece)) = body.data().await {
                    let _ = body.flow_control().release_capacity(piece.len());
                }
                if let Ok(Some(trailers)) = body.trailers().await {
                    let _ = Headers::from_map(trailers).iter().count();
                }
            };
            tokio::select! {
                () = answered => {}
                _ = connection => {}
            }
        };
        tokio::join!(client, server)
    };
    assert!(runtime.block_on(async { timeout(LIMIT, exchange).await }).is_ok(), "the connection does not end");
}
