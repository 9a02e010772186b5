//! One route that is ready to serve: its behaviour checked, parsed and combined with the state of its limits.
//!
//! Read [`Endpoint::new`]. Deliberately absent: the order of limits, faults and waits, which is in `serve`.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use bytes::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, VARY};
use tokio::sync::{mpsc, oneshot};

use crate::behaviour::ContentEncoding;
use crate::body::filler;
use crate::limit::{Gate, Link, TokenBucket};
use crate::recording::GRPC_STATUS_BASE;
use crate::route::RoutePattern;
use crate::template::BodyTemplate;
use crate::{
    Behaviour, BehaviourError, BodyPace, BodySource, Call, Fault, GrpcContent, RateLimit, Reply, SeededRandom, StubRequest, StubResponse,
    Wait,
};

pub(crate) struct Endpoint {
    pub(crate) route: RoutePattern,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) content: PreparedBody,
    /// Replaces the content.
    pub(crate) grpc: Option<GrpcContent>,
    pub(crate) calls: Option<mpsc::Sender<Call>>,
    pub(crate) wait: RefCell<Wait>,
    faults: Vec<(f64, Fault)>,
    pub(crate) pace: Option<BodyPace>,
    pub(crate) link: Option<Rc<Link>>,
    pub(crate) rate: Option<(RateLimit, TokenBucket)>,
    pub(crate) gate: Option<(u16, Gate)>,
    pub(crate) encoding: ContentEncoding,
}

pub(crate) enum PreparedBody {
    /// The bytes, and a gzipped copy if the behaviour requires it.
    Fixed(Bytes, Option<Bytes>),
    Echo,
    Template(BodyTemplate),
    Function(Box<dyn Fn(&StubRequest) -> StubResponse + Send>),
}

impl Endpoint {
    /// # Errors
    /// The invalid part of the behaviour.
    pub(crate) fn new(route: RoutePattern, behaviour: Behaviour, now_ns: u64) -> Result<Self, BehaviourError> {
        behaviour.check()?;
        let headers = header_map(&behaviour.headers)?;
        let zipped = |bytes: Bytes| match behaviour.encoding {
            ContentEncoding::Identity => PreparedBody::Fixed(bytes, None),
            ContentEncoding::Gzip => {
                let packed = gzip(&bytes);
                PreparedBody::Fixed(bytes, Some(packed))
            }
        };
        let content = match behaviour.body {
            BodySource::Empty => PreparedBody::Fixed(Bytes::new(), None),
            BodySource::Fixed(bytes) => zipped(bytes),
            BodySource::Size(size) => zipped(filler(size)),
            BodySource::Echo => PreparedBody::Echo,
            BodySource::Template(text) => PreparedBody::Template(BodyTemplate::parse(&text)?),
            BodySource::Function(function) => PreparedBody::Function(function),
        };
        Ok(Self {
            route,
            status: behaviour.status,
            headers,
            content,
            grpc: behaviour.grpc,
            calls: behaviour.calls,
            wait: RefCell::new(behaviour.wait),
            faults: behaviour.faults,
            pace: behaviour.pace,
            link: behaviour.bandwidth.map(|bytes_per_second| Rc::new(Link::new(bytes_per_second))),
            rate: behaviour.rate.map(|limit| (limit, TokenBucket::new(&limit, now_ns))),
            gate: behaviour.concurrency.map(|limit| (limit.status, Gate::new(limit, behaviour.places))),
            encoding: behaviour.encoding,
        })
    }

    /// Whether any code reads the request. If not, none is built.
    pub(crate) fn reads_request(&self) -> bool {
        let by_content = match &self.grpc {
            Some(grpc) => grpc.source.reads_request(),
            None => !matches!(self.content, PreparedBody::Fixed(..)),
        };
        self.calls.is_some() || by_content
    }

    /// A status as the recording stores it.
    pub(crate) fn recorded(&self, status: u16) -> u16 {
        if self.grpc.is_some() { GRPC_STATUS_BASE + status } else { status }
    }

    /// Sends the request to the receiver of calls, and waits for the reply.
    pub(crate) async fn ask(&self, calls: &mpsc::Sender<Call>, server: usize, route: usize, request: StubRequest) -> Reply {
        let (answer, reply) = oneshot::channel();
        match calls.send(Call { server, route, request, answer }).await {
            Ok(()) => reply.await.unwrap_or_else(|_| Reply::failed("the function of this endpoint returned no response\n")),
            Err(_) => Reply::failed("the function of this endpoint has ended\n"),
        }
    }

    /// Draws whether, and how, this request fails.
    pub(crate) fn fault(&self, random: &mut SeededRandom) -> Option<Fault> {
        if self.faults.is_empty() {
            return None;
        }
        let mut draw = random.uniform();
        self.faults
            .iter()
            .find(|(share, _)| {
                draw -= share;
                draw < 0.0
            })
            .map(|(_, fault)| *fault)
    }
}

impl PreparedBody {
    /// The response to a request: status, own headers, body.
    pub(crate) fn answer(&self, status: u16, request: StubRequest, random: &RefCell<SeededRandom>) -> StubResponse {
        match self {
            PreparedBody::Fixed(bytes, _) => StubResponse::new(status, bytes.clone()),
            PreparedBody::Echo => {
                let content_type = request.header("content-type").unwrap_or("application/octet-stream").to_owned();
                StubResponse::new(status, request.body).header("content-type", content_type)
            }
            PreparedBody::Template(template) => StubResponse::new(status, template.fill(&request, &mut random.borrow_mut())),
            PreparedBody::Function(function) => function(&request),
        }
    }
}

/// Headers as HTTP types.
pub(crate) fn header_map(list: &[(String, String)]) -> Result<HeaderMap, BehaviourError> {
    let mut map = HeaderMap::with_capacity(list.len());
    for (name, value) in list {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| BehaviourError::HeaderName(name.clone()))?;
        let value = HeaderValue::from_str(value).map_err(|_| BehaviourError::HeaderValue(name.to_string()))?;
        map.append(name, value);
    }
    Ok(map)
}

pub(crate) fn mark_gzip(headers: &mut HeaderMap) {
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
}

pub(crate) fn plain_text(headers: &mut HeaderMap) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
}

pub(crate) fn gzip(bytes: &[u8]) -> Bytes {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    // Writing into a Vec cannot fail.
    let written = encoder.write_all(bytes);
    debug_assert!(written.is_ok());
    encoder.finish().unwrap_or_default().into()
}
