//! A server whose true response times are known, to test the accuracy of a measurement.
//!
//! Read [`Truth`] first: each kind of server has a closed form in the docs or in the literature. `GET /` is measured. `GET /truth` returns
//! the intended and the actual response times, and `DELETE /truth` clears them. The server spins for the last [`SPIN_NS`] before an answer,
//! so its lateness is that of a thread wake-up. With a core for itself it need not sleep at all.
//!
//! Deliberately absent: load and comparison.

mod log;
mod pattern;
mod queue;

pub use pattern::Pattern;
pub use queue::{QueueModel, Stall};

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::{Behaviour, BodySource, Delay, DelayError, Recording, SeededRandom, Server, StubError, StubRequest, StubResponse, Wait};
use log::Log;

/// How long before an answer the server stops sleeping.
pub const SPIN_NS: u64 = 50_000;

/// The rule of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Truth {
    /// Answers at once.
    Instant,
    /// Answers at once, but stalls for `length_ns`, `after_ns` after the first request. At a constant rate for a time T, the excess at
    /// quantile q is `length − (1−q)·T`.
    Stall { after_ns: u64, length_ns: u64 },
    /// One server, exponential service of this mean: with Poisson arrivals of rate λ and μ = 1/mean, R_q = −ln(1−q)/(μ−λ).
    SingleServer { mean_service_ns: u64 },
    /// `servers` equal servers with service times of this distribution, first in, first out.
    Queue { servers: usize, service: String },
    /// Each request takes this long, independently of the others.
    Delay { delay: String },
    /// A share of the requests takes the slow delay, the rest the fast one.
    Bimodal { fast: String, slow: String, slow_share: f64 },
    /// The head at once, then `piece_bytes` every `pause_ns` until `bytes` are sent: (⌈bytes/piece⌉ − 1)·pause in all.
    SlowBody { bytes: usize, piece_bytes: usize, pause_ns: u64 },
    /// Service times that follow the time since the first request: with unlimited servers a closed form of the pattern, otherwise a queue
    /// (first in, first out) in front of this many.
    Timed { pattern: Pattern, servers: Option<usize> },
}

/// Its address, the seed of its draws, and what a load generator needs around the measured time.
#[derive(Debug, Clone)]
pub struct TruthOptions {
    pub listen: SocketAddr,
    pub seed: u64,
    /// Never sleep ([`crate::ServerBuilder::awake`]).
    pub awake: bool,
    /// The rule begins this long after the first request. Before, the server answers at once and logs nothing, for load generators that
    /// discard their first seconds.
    pub lead_ns: u64,
    /// Streams that a connection of HTTP/2 may have open at a time ([`crate::ServerBuilder::streams_max`]).
    pub streams_max: Option<u32>,
}

impl Default for TruthOptions {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 0)), seed: 1, awake: false, lead_ns: 0, streams_max: None }
    }
}

/// The truth server, on its own thread. Dropping it stops it.
#[derive(Debug)]
pub struct TruthServer {
    server: Server,
    log: Arc<Mutex<Log>>,
}

impl TruthServer {
    /// # Errors
    /// A delay in `truth` is invalid, or the address is not free.
    pub fn start(truth: Truth, options: TruthOptions) -> Result<Self, StubError> {
        let rule = rule(&truth, options.seed).map_err(|problem| StubError::Description(problem.into()))?;
        let log = Arc::new(Mutex::new(Log::new(truth.clone())));
        let measured = match truth {
            Truth::SlowBody { bytes, piece_bytes, pause_ns } => {
                let body = crate::body::filler(bytes);
                answering(&log, rule, options.lead_ns, body).pace(piece_bytes.max(1), pause_ns)
            }
            _ => answering(&log, rule, options.lead_ns, "ok\n".into()),
        };
        let (reading, clearing) = (Arc::clone(&log), Arc::clone(&log));
        let builder = match options.streams_max {
            Some(streams) => Server::builder().streams_max(streams),
            None => Server::builder(),
        };
        let server = builder
            .listen(options.listen)
            .seed(options.seed)
            .spin_ns(SPIN_NS)
            .awake(options.awake)
            .route("GET /truth", Behaviour::function(move |_| StubResponse::json(200, &lock(&reading).report())))
            .route(
                "DELETE /truth",
                Behaviour::function(move |_| {
                    lock(&clearing).clear();
                    StubResponse::new(204, "")
                }),
            )
            .route("* /*", measured)
            .start()?;
        Ok(Self { server, log })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn url(&self) -> String {
        self.server.url("/")
    }

    /// The answer to `GET /truth`.
    pub fn report(&self) -> serde_json::Value {
        lock(&self.log).report()
    }

    pub fn recording(&self) -> Recording {
        self.server.recording()
    }
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

type DepartureRule = Box<dyn FnMut(u64) -> u64 + Send>;

fn answering(log: &Arc<Mutex<Log>>, mut rule: DepartureRule, lead_ns: u64, body: bytes::Bytes) -> Behaviour {
    let (asked, done) = (Arc::clone(log), Arc::clone(log));
    let mut begin_ns = None;
    let wait = Wait::Departure(Box::new(move |arrival_ns: u64| {
        if arrival_ns < *begin_ns.get_or_insert(arrival_ns.saturating_add(lead_ns)) {
            return arrival_ns;
        }
        let departure_ns = rule(arrival_ns);
        lock(&asked).asked(arrival_ns, departure_ns);
        departure_ns
    }));
    let answer = move |request: &StubRequest| {
        lock(&done).answered(request.arrived_ns, request.due_ns, crate::now_ns());
        StubResponse::new(200, body.clone())
    };
    Behaviour::new().wait(wait).body(BodySource::Function(Box::new(answer)))
}

/// From arrivals to departures.
fn rule(truth: &Truth, seed: u64) -> Result<DepartureRule, DelayError> {
    let parse = |text: &str| text.parse::<Delay>();
    Ok(match truth {
        Truth::Instant | Truth::SlowBody { .. } => Box::new(|arrival_ns| arrival_ns),
        Truth::Stall { after_ns, length_ns } => {
            let mut stall = Stall::new(*after_ns, *length_ns);
            Box::new(move |arrival_ns| stall.departure_ns(arrival_ns))
        }
        Truth::SingleServer { mean_service_ns } => {
            let mut queue = QueueModel::new(1, Delay::Exponential { mean_ns: *mean_service_ns as f64 }, seed);
            Box::new(move |arrival_ns| queue.departure_ns(arrival_ns))
        }
        Truth::Queue { servers, service } => {
            let mut queue = QueueModel::new(*servers, parse(service)?, seed);
            Box::new(move |arrival_ns| queue.departure_ns(arrival_ns))
        }
        Truth::Timed { pattern, servers } => {
            let (pattern, mut first_ns) = (*pattern, None);
            let mut queue = servers.map(|servers| QueueModel::new(servers, Delay::Fixed { ns: 0.0 }, seed));
            Box::new(move |arrival_ns: u64| {
                let service_ns = pattern.service_ns(arrival_ns - *first_ns.get_or_insert(arrival_ns));
                match &mut queue {
                    Some(queue) => queue.departure_after_ns(arrival_ns, service_ns),
                    None => arrival_ns.saturating_add(service_ns),
                }
            })
        }
        Truth::Delay { delay } => {
            let (delay, mut random) = (parse(delay)?, SeededRandom::from_seed(seed));
            Box::new(move |arrival_ns| arrival_ns.saturating_add(delay.sample_ns(|| random.next_u64())))
        }
        Truth::Bimodal { fast, slow, slow_share } => {
            let (fast, slow, share, mut random) = (parse(fast)?, parse(slow)?, *slow_share, SeededRandom::from_seed(seed));
            Box::new(move |arrival_ns| {
                let delay = if random.uniform() < share { slow } else { fast };
                arrival_ns.saturating_add(delay.sample_ns(|| random.next_u64()))
            })
        }
    })
}
