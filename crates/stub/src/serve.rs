//! From a request's head to a response: route, limits, fault, wait, body, in that order. Read [`serve`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::{Request as HttpRequest, Response as HttpResponse, StatusCode};

use crate::behaviour::ContentEncoding;
use crate::body::OutgoingBody;
use crate::clock::now_ns;
use crate::endpoint::{Endpoint, PreparedBody, gzip, header_map, mark_gzip, plain_text};
use crate::held::{HeldCall, HeldCalls};
use crate::limit::Permit;
use crate::recording::CallRecorder;
use crate::seconds::CallEnding;
use crate::timer::DeadlineTimer;
use crate::{Fault, Reply, SeededRandom, StubRequest};

/// Request bodies above this get 413. Bytes.
const REQUEST_BODY_MAX: usize = 64 << 20;

/// What the connections of one server share. Single-threaded.
pub(crate) struct ServerState {
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) recorder: RefCell<CallRecorder>,
    pub(crate) random: RefCell<SeededRandom>,
    pub(crate) timer: DeadlineTimer,
    pub(crate) held: Rc<HeldCalls>,
    pub(crate) started_ns: u64,
    /// Of this server, for whoever receives its calls.
    pub(crate) number: usize,
}

/// Ends the connection without a response.
#[derive(Debug, thiserror::Error)]
#[error("the stub resets this connection on purpose")]
pub(crate) struct Reset;

/// A request's entry in the recording, closed when its response has left or its client is gone.
pub(crate) struct Visit {
    state: Rc<ServerState>,
    route: usize,
    arrived_ns: u64,
    status: Cell<Option<u16>>,
    ending: Cell<CallEnding>,
    held_ns: Cell<u64>,
    /// Its answer is waited for when the server stops.
    held: Cell<Option<HeldCall>>,
}

impl Visit {
    fn new(state: &Rc<ServerState>, route: usize, arrived_ns: u64, held: HeldCall) -> Self {
        let (status, ending, held_ns) = (Cell::new(None), Cell::new(CallEnding::Abandoned), Cell::new(0));
        Self { state: Rc::clone(state), route, arrived_ns, status, ending, held_ns, held: Cell::new(Some(held)) }
    }

    fn ends(&self, status: u16, ending: CallEnding) {
        self.status.set(Some(status));
        self.ending.set(ending);
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut recorder = self.state.recorder.borrow_mut();
        let now_ns = now_ns();
        recorder.departed(self.route, self.arrived_ns, now_ns, self.status.get());
        recorder.ended(now_ns, self.ending.get(), self.held_ns.get());
    }
}

pub(crate) type Held = (Option<Visit>, Option<Permit>);
pub(crate) type Answer = HttpResponse<OutgoingBody<Held>>;

/// Serves one request. `reset` tells the socket to close with a reset.
pub(crate) async fn serve(state: Rc<ServerState>, request: HttpRequest<Incoming>, reset: Rc<Cell<bool>>) -> Result<Answer, Reset> {
    let arrived_ns = now_ns();
    let held = state.held.enter();
    let (head, incoming) = request.into_parts();
    let matched =
        state.endpoints.iter().enumerate().find_map(|(index, endpoint)| {
            endpoint.route.matches(head.method.as_str(), head.uri.path()).map(|parameters| (index, parameters))
        });
    let Some((index, parameters)) = matched else {
        state.recorder.borrow_mut().unmatched();
        return Ok(no_route(&state, &head));
    };
    let endpoint = &state.endpoints[index];
    let body = match read_body(incoming).await {
        Ok(body) => body,
        Err(status) => return Ok(finish(&state, status, HeaderMap::new(), Bytes::new(), None, (None, None))),
    };
    let sequence = state.recorder.borrow_mut().arrived(index, arrived_ns, body.len());
    let visit = Visit::new(&state, index, arrived_ns, held);
    let permit = match admit(endpoint, arrived_ns).await {
        Ok(permit) => permit,
        Err((status, headers)) => {
            visit.ends(status, CallEnding::Rejected);
            return Ok(finish(&state, status, headers, Bytes::new(), None, (Some(visit), None)));
        }
    };
    let fault = endpoint.fault(&mut state.random.borrow_mut());
    if fault == Some(Fault::Silence) {
        visit.held.take();
        std::future::pending::<()>().await;
    }
    // A wait begins when the request is served: on arrival, or when its place behind a concurrency limit came free.
    let begin_ns = if permit.is_some() { now_ns() } else { arrived_ns };
    let until_ns = endpoint.wait.borrow_mut().until_ns(begin_ns, state.started_ns, &mut state.random.borrow_mut());
    let is_read = endpoint.calls.is_some() || endpoint.content.reads_request();
    let request = is_read.then(|| request_value(&head, parameters, body, (arrived_ns, until_ns), sequence));
    // A function elsewhere receives the request on arrival, not when its response is due, and may choose its own wait.
    let reply = match (&endpoint.calls, &request) {
        (Some(calls), Some(request)) if fault.is_none() => endpoint.ask(calls, state.number, index, request.clone()).await,
        _ => Reply::default(),
    };
    let until_ns = reply.delay_ns.map_or(until_ns, |delay_ns| begin_ns.saturating_add(delay_ns));
    visit.held_ns.set(until_ns.saturating_sub(begin_ns));
    state.timer.sleep_until(until_ns).await;
    match fault {
        Some(Fault::Reset) => {
            visit.ends(0, CallEnding::Faulted);
            reset.set(true);
            Err(Reset)
        }
        Some(Fault::Status(status)) => {
            visit.ends(status, CallEnding::Faulted);
            Ok(finish(&state, status, HeaderMap::new(), Bytes::new(), None, (Some(visit), permit)))
        }
        Some(Fault::Silence) | None => {
            let accepts_gzip = endpoint.encoding == ContentEncoding::Gzip && accepts_gzip(&head.headers);
            let (status, headers, bytes) = content(&state, endpoint, accepts_gzip, reply, request);
            visit.ends(status, CallEnding::Answered);
            Ok(finish(&state, status, headers, bytes, Some(endpoint), (Some(visit), permit)))
        }
    }
}

/// Admits a request past the endpoint's limits, with its place under the limit on concurrency; or gives the status and headers of its
/// rejection.
async fn admit(endpoint: &Endpoint, arrived_ns: u64) -> Result<Option<Permit>, (u16, HeaderMap)> {
    if let Some((limit, bucket)) = &endpoint.rate
        && let Err(wait_ns) = bucket.take(arrived_ns)
    {
        let mut headers = HeaderMap::new();
        let wait_ns = limit.retry_after_ns.unwrap_or(wait_ns);
        headers.insert(RETRY_AFTER, HeaderValue::from(wait_ns.div_ceil(1_000_000_000).max(1)));
        return Err((limit.status, headers));
    }
    match &endpoint.gate {
        None => Ok(None),
        Some((status, gate)) => gate.enter().await.map(Some).map_err(|_| (*status, HeaderMap::new())),
    }
}

fn content(
    state: &ServerState,
    endpoint: &Endpoint,
    accepts_gzip: bool,
    reply: Reply,
    request: Option<StubRequest>,
) -> (u16, HeaderMap, Bytes) {
    let mut headers = endpoint.headers.clone();
    let mut response = match (reply.body, &endpoint.content) {
        (None, PreparedBody::Fixed(plain, packed)) if reply.headers.is_empty() => {
            let packed = packed.as_ref().filter(|_| accepts_gzip);
            if packed.is_some() {
                mark_gzip(&mut headers);
            }
            return (reply.status.unwrap_or(endpoint.status), headers, packed.unwrap_or(plain).clone());
        }
        (Some(body), _) => crate::StubResponse::new(endpoint.status, body),
        (None, PreparedBody::Fixed(plain, _)) => crate::StubResponse::new(endpoint.status, plain.clone()),
        (None, content) => match request {
            Some(request) => content.answer(endpoint.status, request, &state.random),
            None => crate::StubResponse::new(endpoint.status, Bytes::new()),
        },
    };
    response.headers.extend(reply.headers);
    response.status = reply.status.unwrap_or(response.status);
    match header_map(&response.headers) {
        Ok(own) => {
            for name in own.keys() {
                headers.remove(name);
            }
            own.iter().for_each(|(name, value)| {
                headers.append(name.clone(), value.clone());
            });
        }
        Err(problem) => response = crate::StubResponse::new(500, problem.to_string()),
    }
    if accepts_gzip {
        mark_gzip(&mut headers);
        response.body = gzip(&response.body);
    }
    (response.status, headers, response.body)
}

fn finish(state: &ServerState, status: u16, headers: HeaderMap, bytes: Bytes, endpoint: Option<&Endpoint>, held: Held) -> Answer {
    let (pace, link) = endpoint.map_or((None, None), |endpoint| (endpoint.pace, endpoint.link.clone()));
    let mut answer = HttpResponse::new(OutgoingBody::new(bytes, pace, link, &state.timer, held));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *answer.headers_mut() = headers;
    answer
}

fn no_route(state: &ServerState, head: &hyper::http::request::Parts) -> Answer {
    let mut text = format!("no route for {} {}; this stub serves:\n", head.method, head.uri.path());
    for endpoint in &state.endpoints {
        text.push_str(&format!("  {}\n", endpoint.route.text()));
    }
    let mut headers = HeaderMap::new();
    plain_text(&mut headers);
    finish(state, 404, headers, text.into(), None, (None, None))
}

async fn read_body(incoming: Incoming) -> Result<Bytes, u16> {
    if incoming.is_end_stream() {
        return Ok(Bytes::new());
    }
    match Limited::new(incoming, REQUEST_BODY_MAX).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(problem) if problem.is::<http_body_util::LengthLimitError>() => Err(413),
        Err(_) => Err(400),
    }
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let (name, quality) = coding.split_once(";q=").unwrap_or((coding, "1"));
        name.trim().eq_ignore_ascii_case("gzip") && quality.trim().parse::<f64>().is_ok_and(|quality| quality > 0.0)
    })
}

fn request_value(
    head: &hyper::http::request::Parts,
    parameters: Vec<(String, String)>,
    body: Bytes,
    (arrived_ns, due_ns): (u64, u64),
    sequence: u64,
) -> StubRequest {
    let headers =
        head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    StubRequest {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        parameters,
        headers: headers.collect(),
        body,
        arrived_ns,
        due_ns,
        sequence,
    }
}
