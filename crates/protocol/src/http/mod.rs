//! HTTP for a load generator: exact instants, prepared requests, bodies kept only on demand.
//!
//! Read [`Client`] first: one user's connections. Inside, `in_flight` moves one request over one connection, `pool` selects that connection, `h2`
//! shares one, and `exchange` assembles the measurements. `http1` reads responses. [`HttpSession`] adds what a browser adds, and `takeover` transfers
//! connections to protocols that begin as HTTP.

mod address;
mod body;
mod client;
mod content;
mod cookies;
mod exchange;
mod h2;
mod h2_head;
mod headers;
mod idle_close;
mod in_flight;
mod message;
mod multipart;
mod multiplex;
mod places;
mod pool;
mod raw_bytes;
mod redirect;
mod request_trailers;
mod session;
mod state;
mod takeover;
mod trace;
mod trace_choice;
mod wire;

pub use crate::credentials::basic_authorization;
pub use address::{UrlError, add_query, form, path_of, path_prefix, resolve, resolve_below};
pub use body::SharedBody;
pub use client::{Client, ClientOptions};
pub use content::Coding;
pub use cookies::{CallCookie, CookieError, CookieJar};
pub(crate) use h2::{Http2Request, OpenStream};
pub(crate) use h2_head::Http2Head;
pub use headers::Headers;
pub use message::{BodyUse, Exchange, Origin, Request, Response};
pub use multipart::Multipart;
pub(crate) use multiplex::StreamPermit;
pub use raw_bytes::shown as header_shown;
pub use request_trailers::RequestTrailers;
pub(crate) use session::CookieUse;
pub use session::{Hop, Hops, HttpSession, SessionOptions};
pub use state::{HttpOptions, Versions};
pub(crate) use takeover::{Purpose, Takeover, take_over};
pub use trace::{TraceParent, TraceSeed};
pub use wire::{PreparedRequest, check_header};

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    use url::Url;

    pub(crate) use super::content::decode;
    use super::cookies::CookieJar;
    pub(crate) use super::headers::Headers;

    fn base() -> Option<Url> {
        Url::parse("https://shop.test/a/b").ok()
    }

    /// The `Cookie` line of the next request to the same server.
    pub(crate) fn stored_cookies(headers: &Headers) -> Option<String> {
        let (jar, url) = (CookieJar::default(), base()?);
        jar.take_from(headers, &url);
        jar.value_for(&url, None)
    }

    /// Where the response redirects to.
    pub(crate) fn resolved_location(headers: &Headers) -> Option<Url> {
        super::address::resolve(base().as_ref(), &headers.location()?).ok()
    }
}
