//! A request and its response for display, as `try` shows them.

use std::sync::Arc;

use loadstone_metrics::Outcome;
use loadstone_protocol::http::{Exchange, Hop, Request, header_shown};

use crate::runtime::user::UserState;
use crate::sinks::{TracedExchange, TracedExpectation, TracedRequest, TracedResponse};

/// How the last of a chain of requests ended.
#[derive(Debug)]
pub struct TracedEnd<'a> {
    /// `None` if the request was not stored: then the last one is not shown.
    pub request: Option<&'a Request>,
    pub exchange: &'a Exchange,
    pub outcome: Outcome,
    pub error: Option<&'a str>,
    pub expectations: Vec<TracedExpectation>,
}

/// Whose request it is.
#[derive(Debug, Clone, Copy)]
pub struct TracedOwner<'a> {
    pub scenario: &'a str,
    pub user: u64,
    /// The name it is recorded under.
    pub name: &'a str,
}

/// Shows the redirects and the last request, under the name they are measured by.
pub(super) fn trace(user: &UserState, name: &Arc<str>, before: &[Hop], end: TracedEnd<'_>) {
    if let Some(sink) = &user.worker.sinks.exchanges {
        show(&**sink, TracedOwner { scenario: &user.scenario.name, user: user.number, name }, before, end);
    }
}

/// Shows redirects and the request that they led to.
pub(crate) fn show(sink: &dyn Fn(&TracedExchange<'_>), owner: TracedOwner<'_>, before: &[Hop], end: TracedEnd<'_>) {
    let show = |request: &Request, exchange: &Exchange, outcome: Outcome, error: Option<&str>, expectations: Vec<TracedExpectation>| {
        sink(&TracedExchange {
            scenario: owner.scenario,
            user: owner.user,
            name: owner.name,
            outcome,
            error,
            expectations,
            request: request_of(request, exchange),
            response: exchange.response().map(|response| TracedResponse {
                status: response.status,
                fields: response.headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
                body: response.body.to_vec(),
                bytes_received: exchange.bytes_received,
            }),
            service_ns: exchange.ended.saturating_sub(exchange.started),
            phases: exchange.phases,
            connected: exchange.connected,
        });
    };
    before.iter().for_each(|hop| show(&hop.request, &hop.exchange, Outcome::Passed, None, Vec::new()));
    if let Some(request) = end.request {
        show(request, end.exchange, end.outcome, end.error, end.expectations);
    }
}

fn request_of(request: &Request, exchange: &Exchange) -> TracedRequest {
    let shown = |(name, value): &(String, String)| (name.clone(), header_shown(value).into_owned());
    // An empty value declines the line that the client would add: it is not sent.
    let is_sent = |(name, value): &&(String, String)| !(value.is_empty() && name.eq_ignore_ascii_case("accept-encoding"));
    let mut fields: Vec<_> = request.headers.iter().filter(is_sent).map(shown).collect();
    if let Some(trace) = &exchange.trace
        && !fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("traceparent"))
    {
        fields.push(("traceparent".to_owned(), trace.value()));
    }
    let origin = &request.origin;
    let scheme = if origin.tls { "https" } else { "http" };
    let host = if origin.host.contains(':') { format!("[{}]", origin.host) } else { origin.host.clone() };
    TracedRequest {
        method: request.method.to_string(),
        address: format!("{scheme}://{host}:{}{}", origin.port, request.path),
        fields,
        body: request.body.to_vec(),
    }
}
