//! Forwards every message to its original destination, so that no existing store loses data.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use loadstone_http_client::{HttpTarget, HttpTargetError, Method, header, within};
use prost::bytes::Bytes;
use url::Url;

use crate::otlp::OtlpSignal;

/// Maximum number of messages in transit; further ones are counted and not forwarded.
const UNDER_WAY_MAX: usize = 32;
const LIMIT: Duration = Duration::from_secs(10);

/// Another OTLP receiver, over HTTP.
pub(super) struct ForwardTarget {
    target: HttpTarget,
    /// The path prefix before `/v1/traces`.
    base: String,
    under_way: Cell<usize>,
    lost: Cell<u64>,
    problem: RefCell<Option<String>>,
}

/// Reasons why a URL cannot be a forward target.
#[derive(Debug, thiserror::Error)]
pub(super) enum ForwardError {
    #[error("it is not a URL: {0}")]
    NotAUrl(#[from] url::ParseError),
    #[error(transparent)]
    Target(#[from] HttpTargetError),
}

impl ForwardTarget {
    pub(super) fn parse(text: &str) -> Result<Self, ForwardError> {
        let url = Url::parse(text)?;
        let base = url.path().trim_end_matches('/').to_owned();
        Ok(Self { target: HttpTarget::of(&url)?, base, under_way: Cell::new(0), lost: Cell::new(0), problem: RefCell::new(None) })
    }

    /// Sends a message without waiting for it.
    pub(super) fn pass_on(self: &Rc<Self>, signal: OtlpSignal, message: Bytes) {
        if self.under_way.get() >= UNDER_WAY_MAX {
            self.lost(format!("{UNDER_WAY_MAX} messages are already in transit"));
            return;
        }
        self.under_way.set(self.under_way.get() + 1);
        let this = Rc::clone(self);
        tokio::task::spawn_local(async move {
            if let Err(problem) = this.send(signal, message).await {
                this.lost(problem);
            }
            this.under_way.set(this.under_way.get() - 1);
        });
    }

    async fn send(&self, signal: OtlpSignal, message: Bytes) -> Result<(), String> {
        let mut request = self.target.request(Method::POST, message);
        *request.uri_mut() = format!("{}{}", self.base, signal.path()).parse().unwrap_or_default();
        request.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/x-protobuf"));
        let response = within(LIMIT, self.target.send(request)).await.map_err(|problem| problem.to_string())?;
        let status = response.status();
        if status.is_success() { Ok(()) } else { Err(format!("{} responded with {status}", self.target.authority())) }
    }

    fn lost(&self, problem: String) {
        self.lost.set(self.lost.get() + 1);
        self.problem.replace(Some(problem));
    }

    /// Messages that did not arrive, so far.
    pub(super) fn lost_so_far(&self) -> u64 {
        self.lost.get()
    }

    /// The problem of the last lost message, returned once.
    pub(super) fn take_problem(&self) -> Option<String> {
        self.problem.take()
    }
}
