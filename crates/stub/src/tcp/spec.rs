//! A TCP stub as plain data: the delays, faults, limits and bodies of an HTTP stub, and where requests end.
//!
//! Read [`TcpSpec`]; [`TcpSpec::start_at`] runs it.

use std::net::SocketAddr;

use serde_json::Value;

use super::{RequestEnd, TcpTalk};
use crate::endpoint::Endpoint;
use crate::route::RoutePattern;
use crate::spec::{listen_address, part};
use crate::{Behaviour, BehaviourError, BodySource, Fault, ResponseSpec, Server, StubError, StubWiring, TlsSpec, tls};

/// A TCP server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TcpSpec {
    /// Name in reports.
    pub name: Option<String>,
    /// `"127.0.0.1:9100"`. Empty: 127.0.0.1 on any free port.
    pub listen: String,
    pub tls: TlsSpec,
    /// Seed of every draw; 0 counts as 1.
    pub seed: u64,
    pub talk: TcpTalk,
    /// The answer, which replaces the response's body.
    pub answer: Vec<u8>,
    /// A function of a test file responds.
    pub handler: bool,
    /// Delays, faults, limits, and a text as the answer.
    pub response: ResponseSpec,
}

impl TcpSpec {
    /// # Errors
    /// Names the part that is wrong, or the address that is not free.
    pub fn start_at(&self, wiring: StubWiring) -> Result<Server, StubError> {
        let mut behaviour = self.behaviour().map_err(StubError::Description)?;
        if self.handler {
            behaviour.calls = Some(wiring.calls.clone().ok_or(StubError::Description(BehaviourError::NoTestFile))?);
        }
        let mut builder = wiring.builder(|| self.address())?.seed(self.seed.max(1));
        if let Some(options) = self.tls.options()? {
            builder = builder.tls(options);
        }
        builder.tcp(self.talk.clone(), behaviour).start()
    }

    /// Checks everything except whether the address is free.
    ///
    /// # Errors
    /// As [`TcpSpec::start_at`].
    pub fn check(&self) -> Result<(), StubError> {
        self.address()?;
        self.tls.options()?.as_ref().map(tls::acceptor).transpose()?;
        let endpoint = self.behaviour().and_then(|behaviour| Endpoint::new(RoutePattern::any(), behaviour, 0));
        endpoint.map(drop).map_err(StubError::Description)
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
        self.response.read_file(&read)
    }

    fn behaviour(&self) -> Result<Behaviour, BehaviourError> {
        let mut behaviour = self.response.behaviour()?;
        if let Some((_, Fault::Status(status))) = behaviour.faults.iter().find(|(_, fault)| matches!(fault, Fault::Status(_))) {
            return Err(BehaviourError::TcpFault(*status));
        }
        if !self.answer.is_empty() {
            behaviour.body = BodySource::Fixed(self.answer.clone().into());
        }
        Ok(behaviour)
    }
}

impl TryFrom<Value> for TcpSpec {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let Value::Object(mut fields) = value else { return Err("expected an object that describes a stub".to_owned()) };
        let mut take = |name: &str| fields.remove(name).unwrap_or(Value::Null);
        let (name, listen, tls, seed) = (take("name"), take("listen"), take("tls"), take("seed"));
        let (until, length, greeting) = (take("until"), take("length"), take("greeting"));
        let (closes, answer, handler) = (take("close"), take("answer"), take("handler"));
        let (until, length) = (part::<Option<Vec<u8>>>("until", until)?, part::<Option<usize>>("length", length)?);
        let end = match (until, length) {
            (None, None) => RequestEnd::Arrival,
            (Some(delimiter), None) if !delimiter.is_empty() => RequestEnd::Delimiter(delimiter),
            (None, Some(length)) if length > 0 => RequestEnd::Length(length),
            (Some(_), Some(_)) => return Err("a request has only one end: set `until` or `length`, not both".to_owned()),
            _ => return Err("a request has at least one byte".to_owned()),
        };
        let greeting = part::<Option<_>>("greeting", greeting)?.unwrap_or_default();
        Ok(Self {
            name: part("name", name)?,
            listen: part::<Option<_>>("listen", listen)?.unwrap_or_default(),
            tls: part::<Option<_>>("tls", tls)?.unwrap_or_default(),
            seed: part::<Option<_>>("seed", seed)?.unwrap_or_default(),
            talk: TcpTalk { end, greeting, closes: part::<Option<_>>("close", closes)?.unwrap_or_default() },
            answer: part::<Option<_>>("answer", answer)?.unwrap_or_default(),
            handler: part::<Option<_>>("handler", handler)?.unwrap_or_default(),
            response: serde_json::from_value(Value::Object(fields)).map_err(|problem| problem.to_string())?,
        })
    }
}
