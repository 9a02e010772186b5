//! From a request's head to an HTTP response: route, `visit`, body, in that order. Read [`serve`].

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::{Request as HttpRequest, Response as HttpResponse, StatusCode};

use crate::behaviour::ContentEncoding;
use crate::body::{OutgoingBody, Reset};
use crate::clock::now_ns;
use crate::endpoint::{Endpoint, PreparedBody, gzip, header_map, mark_gzip, plain_text};
use crate::exchange::{Answer, ExchangeGuards, REQUEST_BODY_MAX, request_value};
use crate::grpc;
use crate::visit::{ArrivedRequest, Decision, DueRequest, ServerState, pass};
use crate::{Reply, StubRequest};

/// Serves one request. `reset` makes the socket close with a reset.
pub(crate) async fn serve(state: Rc<ServerState>, request: HttpRequest<Incoming>, reset: Rc<Cell<bool>>) -> Result<Answer, Reset> {
    let at_ns = now_ns();
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
    if let Some(content) = &endpoint.grpc {
        return grpc::serve(&state, (index, content), head, incoming, (at_ns, held)).await;
    }
    let body = match read_body(incoming).await {
        Ok(body) => body,
        Err(status) => return Ok(finish(&state, status, HeaderMap::new(), Bytes::new(), None, (None, None))),
    };
    let arrival = ArrivedRequest { at_ns, bytes: body.len(), held };
    let DueRequest { visit, permit, decision } =
        pass(&state, index, arrival, |moments| request_value(&head, parameters, body, moments)).await;
    let plain = |status: u16, headers: HeaderMap, held: ExchangeGuards| Ok(finish(&state, status, headers, Bytes::new(), None, held));
    match decision {
        Decision::Rejected { status, retry_after_s } => {
            let after = retry_after_s.map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds)));
            plain(status, after.into_iter().collect(), (Some(visit), permit))
        }
        Decision::Silence => std::future::pending().await,
        Decision::Reset => {
            reset.set(true);
            Err(Reset)
        }
        Decision::Failed(status) => plain(status, HeaderMap::new(), (Some(visit), permit)),
        Decision::Answered(reply, request) => {
            let accepts_gzip = endpoint.encoding == ContentEncoding::Gzip && accepts_gzip(&head.headers);
            let (status, headers, bytes) = content(&state, endpoint, accepts_gzip, reply, request);
            visit.answered(status);
            Ok(finish(&state, status, headers, bytes, Some(endpoint), (Some(visit), permit)))
        }
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

fn finish(state: &ServerState, status: u16, headers: HeaderMap, bytes: Bytes, endpoint: Option<&Endpoint>, held: ExchangeGuards) -> Answer {
    let (pace, link) = endpoint.map_or((None, None), |endpoint| (endpoint.pace, endpoint.link.clone()));
    let mut answer = HttpResponse::new(OutgoingBody::new(bytes, pace, link, &state.timer, held));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *answer.headers_mut() = headers;
    answer
}

fn no_route(state: &ServerState, head: &hyper::http::request::Parts) -> Answer {
    if grpc::is_grpc(&head.headers) {
        return grpc::no_method(state, head.uri.path());
    }
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
