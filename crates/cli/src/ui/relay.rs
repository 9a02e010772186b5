//! Forwards requests to the live page of a run, so that one address and one token are enough.

use std::net::SocketAddr;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use loadstone_http_client::{HttpTarget, Request, RequestBody, Response};
use url::Url;

/// Content types that a live page returns. Others could be displayed or executed under the address of `loadstone ui`.
const CONTENT_TYPES: [&str; 2] = ["text/event-stream", "text/plain"];

/// Forwards the request to `address` and streams the response back, however long it takes.
///
/// # Errors
/// A sentence if nothing listens there any more, or a different program does.
pub(crate) async fn pass(address: SocketAddr, request: Request<RequestBody>) -> Result<Response<Body>, String> {
    let gone = |problem: &dyn std::fmt::Display| format!("The run's page does not respond: {problem}\n");
    let url = Url::parse(&format!("http://{address}/")).map_err(|problem| gone(&problem))?;
    let target = HttpTarget::of(&url).map_err(|problem| gone(&problem))?;
    // The connection ends with the response body, or when the reader disconnects and drops it.
    let answer = target.send(request).await.map_err(|problem| gone(&problem))?;
    let content_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !CONTENT_TYPES.contains(&content_type.split(';').next().unwrap_or_default().trim()) {
        return Err("The response does not come from the run's page.\n".to_owned());
    }
    Ok(answer.map(Body::new))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    /// The response to a request whose server uses this content type.
    fn passed(content_type: &str) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines.take_while(|line| !line.as_ref().unwrap().is_empty()).for_each(drop);
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let request = Request::get("/events").body(RequestBody::default()).unwrap();
        let passed = runtime.block_on(pass(address, request)).map(drop);
        server.join().unwrap();
        passed
    }

    #[test]
    fn only_content_types_of_a_live_page_are_forwarded() {
        for own in ["text/event-stream", "text/plain; charset=utf-8"] {
            assert_eq!(passed(own), Ok(()), "{own}");
        }
        for foreign in ["text/html", "text/javascript", "image/svg+xml", "text/plainly"] {
            assert_eq!(passed(foreign), Err("The response does not come from the run's page.\n".to_owned()), "{foreign}");
        }
    }
}
