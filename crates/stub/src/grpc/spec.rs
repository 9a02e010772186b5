//! A gRPC stub as plain data: the delays, faults and limits of an HTTP stub, and the methods with their answers.
//!
//! Read [`GrpcSpec`]; [`GrpcSpec::start_at`] runs it. Messages are JSON. A caller that knows their types fills
//! [`GrpcMethodSpec::messages`].

use std::net::SocketAddr;

use bytes::Bytes;
use loadstone_units::duration;
use serde_json::{Map, Value};

use super::answer::{GrpcAnswer, GrpcContent, GrpcSource, GrpcTurns, RESOURCE_EXHAUSTED, UNAVAILABLE};
use crate::endpoint::Endpoint;
use crate::route::RoutePattern;
use crate::spec::{listen_address, part};
use crate::{Behaviour, BehaviourError, ResponseSpec, Server, StubError, StubWiring, TlsSpec, tls};

/// A gRPC server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GrpcSpec {
    /// Name in reports.
    pub name: Option<String>,
    /// `"127.0.0.1:50051"`. Empty: 127.0.0.1 on any free port.
    pub listen: String,
    pub tls: TlsSpec,
    /// Seed of every draw; 0 counts as 1.
    pub seed: u64,
    pub methods: Vec<GrpcMethodSpec>,
}

/// A method. The stub's own settings fill in what it leaves out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GrpcMethodSpec {
    /// `package.Service/Method`.
    pub method: String,
    /// A function of a test file responds.
    pub handler: bool,
    pub response: GrpcResponseSpec,
    /// [`GrpcResponseSpec::messages`], encoded.
    pub messages: Vec<Bytes>,
    pub turns: GrpcTurns,
}

/// How a method answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GrpcResponseSpec {
    /// Delays, faults (with codes for statuses), limits; headers are metadata.
    pub common: ResponseSpec,
    /// As JSON.
    pub messages: Option<Vec<Value>>,
    /// Pause between messages: `"100ms"`.
    pub every: Option<String>,
    /// Code.
    pub status: Option<u16>,
    pub details: Option<String>,
    pub trailers: Vec<(String, String)>,
}

impl GrpcSpec {
    /// # Errors
    /// Names the part that is wrong, or the address that is not free.
    pub fn start_at(&self, mut wiring: StubWiring) -> Result<Server, StubError> {
        let (calls, more) = (wiring.calls.clone(), std::mem::take(&mut wiring.grpc_methods));
        let mut builder = wiring.builder(|| self.address())?.seed(self.seed.max(1));
        if let Some(options) = self.tls.options()? {
            builder = builder.tls(options);
        }
        for method in &self.methods {
            let wrong = |problem| StubError::Endpoint { route: method.method.clone(), problem };
            let mut behaviour = method.behaviour().map_err(wrong)?;
            if method.handler {
                behaviour.calls = Some(calls.clone().ok_or_else(|| wrong(BehaviourError::NoTestFile))?);
            }
            builder = builder.grpc_method(&method.method, behaviour);
        }
        // The first method of a name serves.
        for (method, behaviour) in more {
            builder = builder.grpc_method(&method, behaviour);
        }
        builder.start()
    }

    /// Checks everything except whether the address is free.
    ///
    /// # Errors
    /// As [`GrpcSpec::start_at`].
    pub fn check(&self) -> Result<(), StubError> {
        self.address()?;
        self.tls.options()?.as_ref().map(tls::acceptor).transpose()?;
        for method in &self.methods {
            let endpoint = method.behaviour().and_then(|behaviour| Endpoint::new(RoutePattern::of_method(&method.method), behaviour, 0));
            endpoint.map_err(|problem| StubError::Endpoint { route: method.method.clone(), problem })?;
        }
        Ok(())
    }

    /// # Errors
    /// [`StubError::Address`]
    pub fn address(&self) -> Result<SocketAddr, StubError> {
        listen_address(&self.listen)
    }

    /// Replaces the names of files by their content.
    ///
    /// # Errors
    /// An error of `read`, or the line that is wrong.
    pub fn read_files<E: std::fmt::Display>(&mut self, read: impl Fn(&str) -> Result<String, E>) -> Result<(), StubError> {
        self.tls.read_files(&read)?;
        self.methods.iter_mut().try_for_each(|method| method.response.common.read_file(&read))
    }
}

impl GrpcMethodSpec {
    fn behaviour(&self) -> Result<Behaviour, BehaviourError> {
        let GrpcResponseSpec { common, every, status, details, trailers, .. } = &self.response;
        let mut behaviour = common.behaviour()?;
        let has_own = common.limit.as_ref().is_some_and(|limit| limit.reject.is_some());
        if let (Some(rate), false) = (&mut behaviour.rate, has_own) {
            rate.status = RESOURCE_EXHAUSTED;
        }
        if let (Some(limit), false) = (&mut behaviour.concurrency, has_own) {
            limit.status = UNAVAILABLE;
        }
        crate::endpoint::header_map(trailers)?;
        let answer = GrpcAnswer {
            messages: self.messages.clone(),
            pause_ns: every.as_deref().map(duration::parse).transpose()?.unwrap_or_default(),
            status: status.unwrap_or_default(),
            details: details.clone().unwrap_or_default(),
            trailers: trailers.clone(),
        };
        Ok(behaviour.grpc(GrpcContent { source: GrpcSource::Fixed(answer), turns: self.turns }))
    }
}

impl GrpcResponseSpec {
    /// Takes missing fields from `base`. Messages and status belong together: if one of them is set, neither is taken from the base.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        let mut merged = self.clone();
        merged.common = self.common.over(&base.common);
        if self.messages.is_none() && self.status.is_none() {
            merged.messages.clone_from(&base.messages);
            merged.status = base.status;
            merged.details = self.details.clone().or_else(|| base.details.clone());
        }
        merged.every = self.every.clone().or_else(|| base.every.clone());
        let is_own = |name: &str| self.trailers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        merged.trailers = base.trailers.iter().filter(|(name, _)| !is_own(name)).chain(&self.trailers).cloned().collect();
        merged
    }

    fn take(fields: &mut Map<String, Value>) -> Result<Self, String> {
        let mut take = |name: &str| fields.remove(name).unwrap_or(Value::Null);
        let (messages, every, details) = (take("messages"), take("every"), take("details"));
        let (status, trailers) = (take("status"), take("trailers"));
        Ok(Self {
            messages: part("messages", messages)?,
            every: part("every", every)?,
            details: part("details", details)?,
            status: part("status", status)?,
            trailers: part::<Option<_>>("trailers", trailers)?.unwrap_or_default(),
            common: serde_json::from_value(Value::Object(std::mem::take(fields))).map_err(|problem| problem.to_string())?,
        })
    }
}

impl TryFrom<Value> for GrpcSpec {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let Value::Object(mut fields) = value else { return Err("expected an object that describes a stub".to_owned()) };
        let mut take = |name: &str| fields.remove(name).unwrap_or(Value::Null);
        let (name, listen, tls, seed, methods) = (take("name"), take("listen"), take("tls"), take("seed"), take("methods"));
        let base = GrpcResponseSpec::take(&mut fields)?;
        let methods: Vec<Map<String, Value>> = part("methods", methods)?;
        let method = |mut fields: Map<String, Value>| -> Result<GrpcMethodSpec, String> {
            let method: String = part("method", fields.remove("method").unwrap_or_default())?;
            let handler = part::<Option<bool>>("handler", fields.remove("handler").unwrap_or_default())?.unwrap_or_default();
            let response = GrpcResponseSpec::take(&mut fields).map_err(|problem| format!("\"{method}\": {problem}"))?.over(&base);
            Ok(GrpcMethodSpec { method, handler, response, ..GrpcMethodSpec::default() })
        };
        Ok(Self {
            name: part("name", name)?,
            listen: part::<Option<_>>("listen", listen)?.unwrap_or_default(),
            tls: part::<Option<_>>("tls", tls)?.unwrap_or_default(),
            seed: part::<Option<_>>("seed", seed)?.unwrap_or_default(),
            methods: methods.into_iter().map(method).collect::<Result<_, _>>()?,
        })
    }
}
