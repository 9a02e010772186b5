//! A stub as plain data, with the same description in `loadstone stub`, in scripts and in files. The fields of [`ResponseSpec`] appear next
//! to `listen` and `routes`, and next to `route`.
//!
//! Read [`StubSpec`]; [`StubSpec::start`] runs it. Deliberately absent: functions. A route declares that it has one, and the caller that
//! starts the stub passes the channel in [`StubWiring`].

mod response;
mod tls;

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;

pub use response::{FaultSpec, LimitSpec, ResponseSpec, SlowSpec, StageSpec};
pub use tls::{CertificateFiles, TlsSpec};

use crate::endpoint::Endpoint;
use crate::route::RoutePattern;
use crate::{Behaviour, BehaviourError, Call, Server, ServerBuilder, StubError, tls as certificates};

/// A server. Without routes, its own response serves every request. With routes, it supplies the values that they leave out.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct StubSpec {
    /// Name in reports.
    pub name: Option<String>,
    /// `"127.0.0.1:9099"`. Empty: 127.0.0.1 on any free port.
    pub listen: String,
    pub tls: TlsSpec,
    /// Seed of every draw; 0 counts as 1.
    pub seed: u64,
    pub response: ResponseSpec,
    pub routes: Vec<RouteSpec>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct RouteSpec {
    /// `"POST /webhook"`, `"GET /accounts/:id"`, `"* /files/*"`.
    pub route: String,
    /// A function of a test file responds.
    pub handler: bool,
    pub response: ResponseSpec,
}

/// What data cannot describe: the socket that a stub listens on, and the receiver of calls to its functions.
#[derive(Debug, Default)]
pub struct StubWiring {
    /// A socket that already listens. Replaces `listen`.
    pub listener: Option<TcpListener>,
    /// Receives the calls to routes with a function.
    pub calls: Option<mpsc::Sender<Call>>,
    /// Methods of gRPC in addition to those of the description. The description's methods win over those of the same name.
    pub grpc_methods: Vec<(String, Behaviour)>,
    /// The value of [`Call::server`].
    pub number: usize,
    /// See [`ServerBuilder::drain`](crate::ServerBuilder::drain). `None`: that default.
    pub drain: Option<Duration>,
}

impl StubSpec {
    /// # Errors
    /// Names the part that is wrong, or the address that is not free.
    pub fn start(&self) -> Result<Server, StubError> {
        self.start_at(StubWiring::default())
    }

    /// # Errors
    /// As [`StubSpec::start`].
    pub fn start_at(&self, wiring: StubWiring) -> Result<Server, StubError> {
        self.check_order()?;
        let calls = wiring.calls.clone();
        let mut builder = wiring.builder(|| self.address())?.seed(self.seed.max(1));
        if let Some(options) = self.tls.options()? {
            builder = builder.tls(options);
        }
        for RouteSpec { route, response, handler } in &self.routes {
            let wrong = |problem| StubError::Endpoint { route: route.clone(), problem };
            let mut behaviour = response.over(&self.response).behaviour().map_err(wrong)?;
            if *handler {
                behaviour.calls = Some(calls.clone().ok_or_else(|| wrong(BehaviourError::NoTestFile))?);
            }
            builder = builder.route(route, behaviour);
        }
        if self.routes.is_empty() {
            builder = builder.route("* /*", self.response.behaviour().map_err(StubError::Description)?);
        }
        builder.start()
    }

    /// Checks everything except whether the address is free.
    ///
    /// # Errors
    /// As [`StubSpec::start`].
    pub fn check(&self) -> Result<(), StubError> {
        self.address()?;
        self.tls.options()?.as_ref().map(certificates::acceptor).transpose()?;
        let mut routes: Vec<(&str, ResponseSpec)> =
            self.routes.iter().map(|route| (route.route.as_str(), route.response.over(&self.response))).collect();
        self.check_order()?;
        routes.push(("* /*", self.response.clone()));
        for (route, response) in routes {
            let endpoint = response.behaviour().and_then(|behaviour| Endpoint::new(RoutePattern::parse(route)?, behaviour, 0));
            endpoint.map_err(|problem| match route {
                "* /*" => StubError::Description(problem),
                _ => StubError::Endpoint { route: route.to_owned(), problem },
            })?;
        }
        Ok(())
    }

    /// The first route that matches answers. A route that no request reaches is a mistake.
    fn check_order(&self) -> Result<(), StubError> {
        let mut earlier: Vec<RoutePattern> = Vec::new();
        for RouteSpec { route, .. } in &self.routes {
            let wrong = |problem| StubError::Endpoint { route: route.clone(), problem };
            let pattern = RoutePattern::parse(route).map_err(wrong)?;
            if let Some(first) = earlier.iter().find(|first| first.covers(&pattern)) {
                return Err(wrong(BehaviourError::Shadowed(first.text().to_owned())));
            }
            earlier.push(pattern);
        }
        Ok(())
    }

    /// # Errors
    /// [`StubError::Address`]
    pub fn address(&self) -> Result<SocketAddr, StubError> {
        listen_address(&self.listen)
    }

    /// Replaces every `delaysFrom` by the delays in the file (one per line, in milliseconds), and the files of a certificate by their
    /// content.
    ///
    /// # Errors
    /// An error of `read`, or the line that is not a delay.
    pub fn read_files<E: std::fmt::Display>(&mut self, read: impl Fn(&str) -> Result<String, E>) -> Result<(), StubError> {
        self.tls.read_files(&read)?;
        let responses = std::iter::once(&mut self.response).chain(self.routes.iter_mut().map(|route| &mut route.response));
        for response in responses {
            response.read_file(&read)?;
        }
        Ok(())
    }
}

impl StubWiring {
    /// A server as described, at this address. It has no socket yet.
    pub(crate) fn builder(self, listen: impl FnOnce() -> Result<SocketAddr, StubError>) -> Result<ServerBuilder, StubError> {
        let mut builder = Server::builder().number(self.number);
        builder = match self.listener {
            Some(listener) => builder.listener(listener),
            None => builder.listen(listen()?),
        };
        Ok(match self.drain {
            Some(drain) => builder.drain(drain),
            None => builder,
        })
    }
}

/// # Errors
/// [`StubError::Address`]
pub(crate) fn listen_address(listen: &str) -> Result<SocketAddr, StubError> {
    if listen.is_empty() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], 0)));
    }
    listen.parse().map_err(|_| StubError::Address { listen: listen.to_owned() })
}

impl TryFrom<Value> for StubSpec {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let Value::Object(mut fields) = value else { return Err("expected an object that describes a stub".to_owned()) };
        let mut take = |name: &str| fields.remove(name).unwrap_or(Value::Null);
        let (name, listen, tls, seed, routes) = (take("name"), take("listen"), take("tls"), take("seed"), take("routes"));
        Ok(Self {
            name: part("name", name)?,
            listen: part::<Option<_>>("listen", listen)?.unwrap_or_default(),
            tls: part::<Option<_>>("tls", tls)?.unwrap_or_default(),
            seed: part::<Option<_>>("seed", seed)?.unwrap_or_default(),
            routes: part::<Option<_>>("routes", routes)?.unwrap_or_default(),
            response: serde_json::from_value(Value::Object(fields)).map_err(|problem| problem.to_string())?,
        })
    }
}

impl TryFrom<Value> for RouteSpec {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let Value::Object(mut fields) = value else { return Err("expected an object that describes a route".to_owned()) };
        let route = part("route", fields.remove("route").unwrap_or_default())?;
        let handler = part::<Option<bool>>("handler", fields.remove("handler").unwrap_or_default())?.unwrap_or_default();
        let response = serde_json::from_value(Value::Object(fields)).map_err(|problem| format!("\"{route}\": {problem}"))?;
        Ok(Self { route, handler, response })
    }
}

pub(crate) fn part<T: serde::de::DeserializeOwned>(name: &str, value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|problem| format!("{name}: {problem}"))
}
