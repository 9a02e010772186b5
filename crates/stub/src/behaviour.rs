//! How an endpoint handles a request, as a value.

use tokio::sync::mpsc;

use crate::grpc::GRPC_STATUS_MAX;
use crate::{BehaviourError, BodyPace, BodySource, Call, Concurrency, GrpcContent, PlaceCount, RateLimit, Wait};

/// Built with [`Behaviour::new`] and the methods that follow. The defaults are: status 200, no body, no delay, no faults, no limits. A
/// request passes through these steps in order: rate limit, concurrency limit, fault draw, call, wait, body.
#[derive(Debug)]
pub struct Behaviour {
    pub status: u16,
    /// Added to every response, in this order. Names may repeat.
    pub headers: Vec<(String, String)>,
    pub body: BodySource,
    /// Replaces the body: the endpoint is a gRPC method, and every status here is one of its codes (0 to 16).
    pub grpc: Option<GrpcContent>,
    /// Receives every request that no limit rejects and no fault affects, and may choose the response. When the channel is full, the
    /// request waits for room.
    pub calls: Option<mpsc::Sender<Call>>,
    pub wait: Wait,
    /// Each with its share of requests, 0 to 1. The sum of the shares must not exceed 1.
    pub faults: Vec<(f64, Fault)>,
    /// Sends the body in pieces with pauses between them.
    pub pace: Option<BodyPace>,
    pub rate: Option<RateLimit>,
    pub concurrency: Option<Concurrency>,
    /// Replaces the fixed `concurrency` with a limit that can change while the stub serves.
    pub places: Option<PlaceCount>,
    /// Shared by all responses of this endpoint. Bytes of body per second.
    pub bandwidth: Option<u64>,
    /// How the body is encoded for a client that accepts it.
    pub encoding: ContentEncoding,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ContentEncoding {
    #[default]
    Identity,
    Gzip,
}

/// A fault that affects a share of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// After the wait, this status and no body; gRPC: this code.
    Status(u16),
    /// After the wait, the connection is reset (HTTP/2 and gRPC: the stream).
    Reset,
    /// The request never receives a response.
    Silence,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self::new()
    }
}

impl Behaviour {
    pub fn new() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: BodySource::Empty,
            grpc: None,
            calls: None,
            wait: Wait::None,
            faults: Vec::new(),
            pace: None,
            rate: None,
            concurrency: None,
            places: None,
            bandwidth: None,
            encoding: ContentEncoding::Identity,
        }
    }

    /// Status 200 with a JSON body.
    pub fn json(value: &serde_json::Value) -> Self {
        Self::new().header("content-type", "application/json").body(BodySource::Fixed(value.to_string().into()))
    }

    /// Responds with the result of `function`. It runs on the server's thread and must not block.
    pub fn function(function: impl Fn(&crate::StubRequest) -> crate::StubResponse + Send + 'static) -> Self {
        Self::new().body(BodySource::Function(Box::new(function)))
    }

    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn body(mut self, body: BodySource) -> Self {
        self.body = body;
        self
    }

    /// Turns the endpoint into a gRPC method with the status OK.
    pub fn grpc(mut self, content: GrpcContent) -> Self {
        self.grpc = Some(content);
        self.status(0)
    }

    /// A [`Wait`], or a [`crate::Delay`] as users write it: `"loguniform(100ms, 2s)".parse()?`.
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.wait = wait.into();
        self
    }

    pub fn fault(mut self, share: f64, fault: Fault) -> Self {
        self.faults.push((share, fault));
        self
    }

    pub fn pace(mut self, bytes: usize, pause_ns: u64) -> Self {
        self.pace = Some(BodyPace { bytes, pause_ns });
        self
    }

    /// At most this many requests per second with no burst. Others receive 429.
    pub fn rate_limit(mut self, per_second: f64) -> Self {
        self.rate = Some(RateLimit { per_second, burst: 1.0, status: 429, retry_after_ns: None });
        self
    }

    /// At most `most` requests at once. Others queue.
    pub fn concurrency(mut self, most: usize) -> Self {
        self.concurrency = Some(Concurrency { most, queue_most: usize::MAX, status: 503 });
        self
    }

    /// The same, with a limit that can change while the stub serves.
    pub fn places(mut self, places: PlaceCount) -> Self {
        self.places = Some(places.clone());
        self.concurrency(places.get().max(1))
    }

    pub fn bandwidth(mut self, bytes_per_second: u64) -> Self {
        self.bandwidth = Some(bytes_per_second);
        self
    }

    pub fn gzip(mut self) -> Self {
        self.encoding = ContentEncoding::Gzip;
        self
    }

    /// # Errors
    /// The first invalid value.
    pub(crate) fn check(&self) -> Result<(), BehaviourError> {
        let statuses = [Some(self.status), self.rate.map(|rate| rate.status), self.concurrency.map(|limit| limit.status)];
        let faulty = self.faults.iter().filter_map(|(_, fault)| if let Fault::Status(status) = fault { Some(*status) } else { None });
        let allowed = if self.grpc.is_some() { 0..=GRPC_STATUS_MAX } else { 200..=999 };
        if let Some(status) = statuses.into_iter().flatten().chain(faulty).find(|status| !allowed.contains(status)) {
            return Err(BehaviourError::Status(u64::from(status)));
        }
        let shares: f64 = self.faults.iter().map(|(share, _)| share).sum();
        if self.faults.iter().any(|(share, _)| !(0.0..=1.0).contains(share)) || shares > 1.0 + 1e-9 {
            return Err(BehaviourError::FaultShares);
        }
        if self.rate.is_some_and(|rate| rate.per_second.is_nan() || rate.per_second <= 0.0) {
            return Err(BehaviourError::RateLimit);
        }
        if self.concurrency.is_some_and(|limit| limit.most == 0) {
            return Err(BehaviourError::ConcurrencyLimit);
        }
        if self.pace.is_some_and(|pace| pace.bytes == 0) {
            return Err(BehaviourError::SlowBody);
        }
        Ok(())
    }
}
