//! One OTLP message as received: HTTP with protobuf, or a unary gRPC call, with or without gzip.

use std::convert::Infallible;
use std::io::Read;

use flate2::read::GzDecoder;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use prost::bytes::Bytes;

/// Larger messages are refused, before and after decompression. Bytes.
const PACKED_MAX: usize = 16 << 20;
const MESSAGE_MAX: u64 = 64 << 20;

const GRPC: &str = "application/grpc";
const PROTOBUF: &str = "application/x-protobuf";
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// gRPC status codes.
const OK: &str = "0";
const INVALID_ARGUMENT: &str = "3";
const UNIMPLEMENTED: &str = "12";

pub(crate) type AnswerBody = UnsyncBoxBody<Bytes, Infallible>;

/// The signal type of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtlpSignal {
    Traces,
    /// Accepted and not read, so that exporters which send all signal types to one address do not fail.
    Metrics,
    Logs,
}

impl OtlpSignal {
    const ALL: [(OtlpSignal, &'static str, &'static str); 3] = [
        (OtlpSignal::Traces, "/v1/traces", "/opentelemetry.proto.collector.trace.v1.TraceService/Export"),
        (OtlpSignal::Metrics, "/v1/metrics", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"),
        (OtlpSignal::Logs, "/v1/logs", "/opentelemetry.proto.collector.logs.v1.LogsService/Export"),
    ];

    /// Its path over HTTP.
    pub(crate) fn path(self) -> &'static str {
        Self::ALL.iter().find(|(signal, _, _)| *signal == self).map_or("/", |(_, path, _)| path)
    }
}

/// Reasons to refuse a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error("there is nothing at {0}")]
    Path(String),
    #[error("OTLP as JSON is not supported: set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf or grpc")]
    Json,
    #[error("the encoding {0} is not supported: use gzip or no compression")]
    Encoding(String),
    #[error("it is too long, truncated, or not OTLP")]
    Unreadable,
}

/// Reads a message. The second result is the decompressed protobuf message.
///
/// # Errors
/// Why the message is refused.
pub(crate) async fn read(request: Request<Incoming>) -> Result<(OtlpSignal, Bytes), MessageError> {
    let path = request.uri().path().to_owned();
    let is_grpc = is_grpc(request.headers());
    let known = OtlpSignal::ALL.iter().find(|(_, http, grpc)| path == if is_grpc { *grpc } else { *http });
    let Some((signal, _, _)) = known.filter(|_| request.method() == Method::POST) else { return Err(MessageError::Path(path)) };
    let headers = request.headers().clone();
    let collected = Limited::new(request.into_body(), PACKED_MAX).collect().await.map_err(|_| MessageError::Unreadable)?;
    let body = collected.to_bytes();
    let message = if is_grpc { of_call(&headers, &body)? } else { of_post(&headers, body)? };
    Ok((*signal, message))
}

pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    text(headers, &CONTENT_TYPE).starts_with(GRPC)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn of_post(headers: &HeaderMap, body: Bytes) -> Result<Bytes, MessageError> {
    if text(headers, &CONTENT_TYPE).starts_with("application/json") {
        return Err(MessageError::Json);
    }
    match text(headers, &CONTENT_ENCODING) {
        "" | "identity" => Ok(body),
        "gzip" => unzipped(&body),
        other => Err(MessageError::Encoding(other.to_owned())),
    }
}

/// A unary call has one message: a compression flag, its length, and its bytes (gRPC over HTTP/2, "Length-Prefixed-Message").
fn of_call(headers: &HeaderMap, body: &Bytes) -> Result<Bytes, MessageError> {
    let (prefix, rest) = body.split_first_chunk::<5>().ok_or(MessageError::Unreadable)?;
    let [is_compressed, length @ ..] = *prefix;
    if u32::from_be_bytes(length) as usize != rest.len() {
        return Err(MessageError::Unreadable);
    }
    let message = body.slice(prefix.len()..);
    match (is_compressed, text(headers, &HeaderName::from_static("grpc-encoding"))) {
        (0, _) => Ok(message),
        (1, "gzip") => unzipped(&message),
        (_, other) => Err(MessageError::Encoding(other.to_owned())),
    }
}

fn unzipped(packed: &[u8]) -> Result<Bytes, MessageError> {
    let mut message = Vec::with_capacity(packed.len().saturating_mul(4).min(1 << 20));
    let read = GzDecoder::new(packed).take(MESSAGE_MAX + 1).read_to_end(&mut message);
    match read {
        Ok(length) if length as u64 <= MESSAGE_MAX => Ok(message.into()),
        _ => Err(MessageError::Unreadable),
    }
}

/// The response to a message: accepted, or the reason for the refusal.
pub(crate) fn answer(is_grpc: bool, taken: &Result<(), MessageError>) -> Response<AnswerBody> {
    if is_grpc { answer_to_call(taken) } else { answer_to_post(taken) }
}

/// An empty response message means that everything was accepted.
fn answer_to_post(taken: &Result<(), MessageError>) -> Response<AnswerBody> {
    let (status, text) = match taken {
        Ok(()) => (StatusCode::OK, String::new()),
        Err(MessageError::Path(_)) => (StatusCode::NOT_FOUND, String::new()),
        Err(problem @ (MessageError::Json | MessageError::Encoding(_))) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, problem.to_string()),
        Err(problem) => (StatusCode::BAD_REQUEST, problem.to_string()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)).boxed_unsync());
    *response.status_mut() = status;
    let media_type = if taken.is_ok() { PROTOBUF } else { "text/plain" };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn answer_to_call(taken: &Result<(), MessageError>) -> Response<AnswerBody> {
    let code = match taken {
        Ok(()) => OK,
        Err(MessageError::Path(_) | MessageError::Json | MessageError::Encoding(_)) => UNIMPLEMENTED,
        Err(MessageError::Unreadable) => INVALID_ARGUMENT,
    };
    let mut trailers = HeaderMap::new();
    trailers.insert(GRPC_STATUS, HeaderValue::from_static(code));
    let problem = taken.as_ref().err().and_then(|problem| HeaderValue::from_str(&problem.to_string()).ok());
    if let Some(problem) = problem {
        trailers.insert(GRPC_MESSAGE, problem);
    }
    // One empty message where there is an answer at all.
    let body = if taken.is_ok() { Bytes::from_static(&[0; 5]) } else { Bytes::new() };
    let body = Full::new(body).with_trailers(std::future::ready(Some(Ok(trailers)))).boxed_unsync();
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(GRPC));
    response
}
