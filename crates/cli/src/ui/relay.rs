//! Passes requests on to the live page of a run, so that one address and one token serve for everything.

use std::net::SocketAddr;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use loadstone_http_client::{HttpTarget, Request, RequestBody, Response};
use url::Url;

/// What a live page's requests are answered with. Anything else would be shown, or run, under the address of `loadstone ui`.
const CONTENT_TYPES: [&str; 2] = ["text/event-stream", "text/plain"];

/// Sends the request to `address` and hands back the answer as it comes, however long it goes on.
///
/// # Errors
/// A sentence when there is nobody there any more, or somebody else.
pub(crate) async fn pass(address: SocketAddr, request: Request<RequestBody>) -> Result<Response<Body>, String> {
    let gone = |problem: &dyn std::fmt::Display| format!("The run's own page does not answer: {problem}\n");
    let url = Url::parse(&format!("http://{address}/")).map_err(|problem| gone(&problem))?;
    let target = HttpTarget::of(&url).map_err(|problem| gone(&problem))?;
    // The connection ends with the answer's body, or when the reader goes and drops that.
    let answer = target.send(request).await.map_err(|problem| gone(&problem))?;
    let content_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !CONTENT_TYPES.contains(&content_type.split(';').next().unwrap_or_default().trim()) {
        return Err("What answers is not the run's own page.\n".to_owned());
    }
    Ok(answer.map(Body::new))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    /// What comes of a request to somebody who answers with this content type.
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
    fn only_what_a_live_page_sends_is_passed_on() {
        for own in ["text/event-stream", "text/plain; charset=utf-8"] {
            assert_eq!(passed(own), Ok(()), "{own}");
        }
        for foreign in ["text/html", "text/javascript", "image/svg+xml", "text/plainly"] {
            assert_eq!(passed(foreign), Err("What answers is not the run's own page.\n".to_owned()), "{foreign}");
        }
    }
}
