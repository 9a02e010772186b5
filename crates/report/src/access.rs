//! Who may reach a served page: the token that allows changes, and the host names under which the page is served.
//!
//! Read [`Token`] and [`guard`].

use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// 128 random bits, as hexadecimal digits.
#[derive(Debug, Clone)]
pub struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0u8; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The token as it appears in an address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in constant time: the duration reveals nothing about how much of a guess was right.
    pub fn matches(&self, token: &str) -> bool {
        token.len() == self.0.len() && token.bytes().zip(self.0.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

/// Whether the server listens on this machine only.
#[derive(Debug, Clone, Copy)]
pub struct Loopback(pub bool);

/// On loopback, only names of this machine are accepted. Otherwise a site could point its own name here and read the run.
pub async fn guard(State(Loopback(loopback)): State<Loopback>, request: Request, next: Next) -> Response {
    if loopback && !names_this_machine(request.headers()) {
        return (StatusCode::FORBIDDEN, "This page is served under localhost and IP addresses only.\n").into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(name, _)| name),
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name == "localhost" || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_match_only_themselves() {
        let (a, b) = (Token::random().unwrap(), Token::random().unwrap());
        assert_eq!(a.as_str().len(), 32);
        assert!(a.matches(a.as_str()) && !a.matches(b.as_str()) && !a.matches("") && !a.matches(&a.as_str()[1..]));
    }
}
