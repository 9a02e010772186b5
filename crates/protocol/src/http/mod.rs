//! HTTP as a load generator needs it: exact instants, prepared requests, bodies kept only when wanted.
//!
//! Read [`Client`] first: one user's connections. Inside, `in_flight` moves one request over one connection, `pool` decides which
//! connection that is, `h2` shares one, `exchange` puts together what was measured; responses are read by `http1`. [`HttpSession`] adds
//! what a browser adds, and `takeover` lends connections to protocols that begin as HTTP.

mod address;
mod carried;
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
mod redirect;
mod session;
mod state;
mod takeover;
mod trace;
mod wire;

pub use crate::credentials::basic_authorization;
pub use address::{UrlError, add_query, form, path_of, resolve};
pub use client::{Client, ClientOptions};
pub(crate) use h2::{Http2Request, OpenStream, failure as stream_failure};
pub(crate) use h2_head::{Http2Head, fields_bytes};
pub use headers::Headers;
pub use message::{BodyUse, Exchange, Origin, Request, Response};
pub use multipart::Multipart;
pub(crate) use multiplex::StreamPermit;
pub use session::{Hop, Hops, HttpSession, SessionOptions};
pub use state::{HttpOptions, Versions};
pub(crate) use takeover::{Purpose, Takeover, take_over};
pub use trace::{TraceParent, TraceSeed};
pub use wire::PreparedRequest;
