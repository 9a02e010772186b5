//! Users for a run without a script: each repeats one fixed request.

use std::cell::RefCell;
use std::future::Future;
use std::ops::RangeInclusive;
use std::rc::Rc;

use bytes::Bytes;
use loadstone_engine::{Iteration, IterationEnd, UserError, UserFactory, VirtualUser, WorkerContext};
use loadstone_metrics::clock::Clock;
use loadstone_metrics::span::RequestLabel;
use loadstone_metrics::{
    FailureSample, GeneratorSlice, Nanos, Outcome, Phases, Recorder, Sample, SeriesId, SeriesKey, SeriesKind, late_read_max_ns,
};
use loadstone_plan::{RunOptions, ScenarioId};
use loadstone_protocol::Network;
use loadstone_protocol::http::{BodyUse, Client, ClientOptions, Exchange, Origin, PreparedRequest, Request, basic_authorization};
use loadstone_secrets::Secrets;

/// The one request of a run without a script.
#[derive(Debug, Clone)]
pub struct FixedRequest {
    pub url: url::Url,
    pub method: String,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// Statuses that count as passed; `None`: any below 400.
    pub expect_status: Option<RangeInclusive<u16>>,
    pub keep_alive: bool,
}

impl FixedRequest {
    /// Name of the request in all reports: method and path, as in scripts.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.url.path())
    }

    /// The password and credentials of its URL and headers.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        secrets.learn_urls(self.url.as_str());
        self.headers.iter().for_each(|(name, value)| secrets.learn_header(name, value));
        secrets
    }
}

/// Creates users that all send the same request.
pub struct FixedRequestUsers {
    shared: Rc<RequestContext>,
    keep_alive: bool,
}

/// State that all users of a worker share.
struct RequestContext {
    network: Rc<Network>,
    recorder: Rc<RefCell<Recorder>>,
    clock: Clock,
    request: PreparedRequest,
    series: SeriesId,
    expect_status: Option<RangeInclusive<u16>>,
}

impl FixedRequestUsers {
    /// # Errors
    /// The request cannot be encoded (a line break in a header).
    pub fn new(context: &WorkerContext, network: Rc<Network>, request: &FixedRequest, options: &RunOptions) -> Result<Self, String> {
        let name: std::sync::Arc<str> = request.name().into();
        let key = SeriesKey { kind: SeriesKind::Request, scenario: name.clone(), group: "".into(), name };
        let series = context.recorder.borrow_mut().series(&key);
        let url = &request.url;
        let tls = url.scheme() == "https";
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let mut headers = request.headers.clone();
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("user-agent")) {
            headers.push(("User-Agent".to_owned(), format!("loadstone/{}", env!("CARGO_PKG_VERSION"))));
        }
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            headers.extend(basic_authorization(url).map(|value| ("Authorization".to_owned(), value)));
        }
        let wire = Request {
            origin: Rc::new(Origin {
                tls,
                host: url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned(),
                port: url.port_or_known_default().unwrap_or(80),
            }),
            method: request.method.as_str().into(),
            path,
            headers,
            body: request.body.clone().into(),
            trailers: None,
            timeout_ns: options.request_timeout_ns,
            body_use: BodyUse::Discard,
            body_bytes_max: options.body_bytes_max,
            label: RequestLabel::of(&key.scenario, &key.name),
            source: None,
        };
        network.limit_late_reads(late_read_max_ns(options.start_window_ns));
        let prepared = PreparedRequest::new(&wire).map_err(|failure| failure.message.to_string())?.without_headers();
        Ok(Self {
            shared: Rc::new(RequestContext {
                network,
                recorder: Rc::clone(&context.recorder),
                clock: context.clock.clone(),
                request: prepared,
                series,
                expect_status: request.expect_status.clone(),
            }),
            keep_alive: request.keep_alive,
        })
    }
}

impl UserFactory for FixedRequestUsers {
    type User = FixedRequestUser;

    fn new_user(&self, _leaf: u32, _scenario: ScenarioId, _number: u64) -> Result<FixedRequestUser, UserError> {
        let options = ClientOptions { keep_alive: self.keep_alive, ..ClientOptions::default() };
        let client = Client::new(Rc::clone(&self.shared.network), options);
        Ok(FixedRequestUser { client, shared: Rc::clone(&self.shared), ended: None })
    }

    fn needs_iteration_numbers(&self) -> bool {
        false
    }

    fn count_into(&self, slice: &mut GeneratorSlice) {
        self.shared.network.count_into(slice);
    }

    /// Nothing follows from a response except the end of the iteration, so every response may be read late.
    fn reads_can_wait(&self) -> bool {
        let late = self.shared.network.late_reads();
        late > 0 && late == self.shared.recorder.borrow().in_flight()
    }

    fn drive(&self) -> impl Future<Output = ()> + 'static {
        std::future::ready(())
    }
}

/// One user, with its own connections.
pub struct FixedRequestUser {
    shared: Rc<RequestContext>,
    client: Client,
    ended: Option<Nanos>,
}

impl VirtualUser for FixedRequestUser {
    async fn iterate(&mut self, iteration: Iteration) -> IterationEnd {
        let shared = &*self.shared;
        let limits_connections = shared.network.limits_connections();
        if limits_connections {
            self.client.admit(shared.request.request()).await;
        }
        // In closed load, reading this response starts the next request. The same holds for a request that waits for its connection.
        shared.network.allow_late_reads(iteration.open && !limits_connections);
        let scheduled = iteration.open.then_some(iteration.arrival.scheduled);
        // In closed load, the engine has just read the clock for the start of this iteration, and nothing has been awaited since.
        let now = if iteration.open || limits_connections { shared.clock.now() } else { iteration.arrival.scheduled };
        let flight = RequestInFlight::begin(shared, scheduled, now);
        let exchange = self.client.send_prepared_at(&shared.request, flight.began).await;
        self.ended = iteration.open.then_some(exchange.ended);
        IterationEnd::Ended(flight.end(&exchange))
    }

    fn ended(&self) -> Option<Nanos> {
        self.ended
    }
}

/// A request in progress. If it is dropped before its end, it counts as interrupted.
struct RequestInFlight<'a> {
    shared: &'a RequestContext,
    scheduled: Option<Nanos>,
    began: Nanos,
    ended: bool,
}

impl<'a> RequestInFlight<'a> {
    fn begin(shared: &'a RequestContext, scheduled: Option<Nanos>, began: Nanos) -> Self {
        shared.recorder.borrow_mut().request_began(began);
        Self { shared, scheduled, began, ended: false }
    }

    fn end(mut self, exchange: &Exchange) -> Outcome {
        self.ended = true;
        let mut recorder = self.shared.recorder.borrow_mut();
        let is_expected = |status: u16| self.shared.expect_status.as_ref().map_or(status < 400, |wanted| wanted.contains(&status));
        let (outcome, status) = match &exchange.result {
            Ok(response) if is_expected(response.status) => (Outcome::Passed, response.status),
            Ok(response) => (Outcome::Status, response.status),
            Err(failure) => (failure.outcome, exchange.response().map_or(0, |response| response.status)),
        };
        recorder.request_ended(exchange.ended);
        let sample = Sample {
            scheduled: self.scheduled.unwrap_or(exchange.started),
            started: exchange.started,
            ended: exchange.ended,
            phases: exchange.phases,
            outcome,
            status,
            bytes_sent: exchange.bytes_sent,
            bytes_received: exchange.bytes_received,
            retried: exchange.retried,
            trace: exchange.trace.as_ref().map(|parent| parent.trace),
        };
        recorder.record(self.shared.series, &sample);
        match &exchange.result {
            Ok(response) if outcome == Outcome::Status => {
                let answer = || FailureSample::new(status, response.headers.iter(), &response.body);
                recorder.failed_with(self.shared.series, &sample, &format!("status {status}"), answer);
            }
            Ok(_) => {}
            Err(failure) => match exchange.response() {
                Some(response) => {
                    let answer = || FailureSample::new(status, response.headers.iter(), &response.body);
                    recorder.failed_with(self.shared.series, &sample, &failure.message, answer);
                }
                None => recorder.failed(self.shared.series, &sample, &failure.message),
            },
        }
        outcome
    }
}

impl Drop for RequestInFlight<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let ended = self.shared.clock.now();
        let mut recorder = self.shared.recorder.borrow_mut();
        recorder.request_ended(ended);
        let sample = Sample {
            scheduled: self.scheduled.unwrap_or(self.began),
            started: self.began,
            ended,
            phases: Phases::default(),
            outcome: Outcome::Interrupted,
            status: 0,
            bytes_sent: 0,
            bytes_received: 0,
            retried: 0,
            trace: None,
        };
        recorder.record(self.shared.series, &sample);
    }
}
