//! A stub as plain data: what `loadstone stub` and scripts describe, and what a file can hold. One vocabulary for all three:
//! the fields of [`AnswerSpec`] stand beside `listen` and `routes`, and beside `route`.
//!
//! Read [`StubSpec`]; [`StubSpec::start`] runs it. Functions are absent here: a route says that it has one, and whoever starts the stub
//! gives the way to it.

use std::net::{SocketAddr, TcpListener};

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokio::sync::mpsc;
use units::duration;

use crate::endpoint::Endpoint;
use crate::route::Route;
use crate::{
    Behaviour, BehaviourError, Body, Call, Concurrency, Delay, Empirical, Encoding, Fault, Pace, RateLimit, Server, StubError, TlsOptions,
    Wait,
};

/// A server. With no routes, its own answer serves every request; with routes, it is what they leave unsaid.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct StubSpec {
    /// Name in reports.
    pub name: Option<String>,
    /// `"127.0.0.1:9099"`; empty for 127.0.0.1 on any free port.
    pub listen: String,
    pub tls: bool,
    /// Of every draw; 0 counts as 1.
    pub seed: u64,
    pub answer: AnswerSpec,
    pub routes: Vec<RouteSpec>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct RouteSpec {
    /// `"POST /webhook"`, `"GET /accounts/:id"`, `"* /files/*"`.
    pub route: String,
    /// A function of a test file answers.
    pub handler: bool,
    pub answer: AnswerSpec,
}

/// How an endpoint answers. Everything may be left out: 200 at once with no body.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct AnswerSpec {
    /// `"100ms"`, `"loguniform(100ms, 2s)"`.
    pub delay: Option<String>,
    /// Measured delays in milliseconds, instead of `delay`.
    pub delays_ms: Vec<f64>,
    /// A file of measured delays, instead of `delay`; see [`StubSpec::read_files`].
    pub delays_from: Option<String>,
    /// Delays that change with the stub's age, instead of `delay`.
    pub stages: Vec<StageSpec>,
    pub status: Option<u16>,
    /// An object, or a list of pairs.
    #[serde(deserialize_with = "headers")]
    pub headers: Vec<(String, String)>,
    /// One of the following five at most.
    pub body: Option<String>,
    pub json: Option<Value>,
    /// Text with holes such as `{{json.amount}}`.
    pub template: Option<String>,
    /// Bytes of filler.
    pub size: Option<usize>,
    pub echo: bool,
    pub gzip: bool,
    pub faults: Vec<FaultSpec>,
    pub limit: Option<LimitSpec>,
    /// Bytes per second that all answers share.
    pub bandwidth: Option<u64>,
    pub slow: Option<SlowSpec>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageSpec {
    /// Age of the stub up to which this holds: `"30s"`. The last stage goes on.
    pub until: String,
    pub delay: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
    /// `0.01` or `"1%"`.
    pub share: Value,
    /// A status, `"reset"` or `"silence"`.
    pub fault: Value,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct LimitSpec {
    /// `360` (per second), `"360/s"`, `"90/m"`, `"5000/h"`.
    pub rate: Option<Value>,
    /// Requests at once after a pause; 1 unless set.
    pub burst: Option<f64>,
    /// Requests served at once.
    pub concurrent: Option<usize>,
    /// Requests that may wait for a place; without it any number may.
    pub queue: Option<usize>,
    /// Status of the rejected: 429 for the rate and 503 for the places unless set.
    pub reject: Option<u16>,
    /// `Retry-After` of those above the rate, in whole seconds: `"30s"`. Without it, the time until there is room again.
    pub retry_after: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowSpec {
    pub bytes: usize,
    /// Pause between pieces: `"100ms"`.
    pub every: String,
}

/// Where a stub listens, and who answers for its functions.
#[derive(Debug, Default)]
pub struct Place {
    /// A socket that listens already, instead of `listen`.
    pub listener: Option<TcpListener>,
    /// Takes the calls to routes with a function.
    pub calls: Option<mpsc::Sender<Call>>,
    /// What [`Call::server`] says.
    pub number: usize,
}

impl StubSpec {
    /// # Errors
    /// Names the part that makes no sense, or the address that is not free.
    pub fn start(&self) -> Result<Server, StubError> {
        self.start_at(Place::default())
    }

    /// # Errors
    /// As [`StubSpec::start`].
    pub fn start_at(&self, place: Place) -> Result<Server, StubError> {
        let mut builder = Server::builder().seed(self.seed.max(1)).number(place.number);
        builder = match place.listener {
            Some(listener) => builder.listener(listener),
            None => builder.listen(self.address()?),
        };
        if self.tls {
            builder = builder.tls(TlsOptions::default());
        }
        for RouteSpec { route, answer, handler } in &self.routes {
            let wrong = |problem| StubError::Endpoint { route: route.clone(), problem };
            let mut behaviour = answer.over(&self.answer).behaviour().map_err(wrong)?;
            if *handler {
                let calls = place.calls.clone().ok_or_else(|| wrong(BehaviourError::NoTestFile))?;
                behaviour.calls = Some(calls);
            }
            builder = builder.route(route, behaviour);
        }
        if self.routes.is_empty() {
            builder = builder.route("* /*", self.answer.behaviour().map_err(StubError::Description)?);
        }
        builder.start()
    }

    /// Checks everything but whether the address is free.
    ///
    /// # Errors
    /// As [`StubSpec::start`].
    pub fn check(&self) -> Result<(), StubError> {
        self.address()?;
        let mut routes: Vec<(&str, AnswerSpec)> =
            self.routes.iter().map(|route| (route.route.as_str(), route.answer.over(&self.answer))).collect();
        routes.push(("* /*", self.answer.clone()));
        for (route, answer) in routes {
            let endpoint = answer.behaviour().and_then(|behaviour| Endpoint::new(Route::parse(route)?, behaviour, 0));
            endpoint.map_err(|problem| match route {
                "* /*" => StubError::Description(problem),
                _ => StubError::Endpoint { route: route.to_owned(), problem },
            })?;
        }
        Ok(())
    }

    /// # Errors
    /// [`StubError::Address`]
    pub fn address(&self) -> Result<SocketAddr, StubError> {
        if self.listen.is_empty() {
            return Ok(SocketAddr::from(([127, 0, 0, 1], 0)));
        }
        self.listen.parse().map_err(|_| StubError::Address { listen: self.listen.clone() })
    }

    /// Replaces every `delaysFrom` by the delays in the file: one per line, in milliseconds.
    ///
    /// # Errors
    /// What `read` gives, or the line that is not a delay.
    pub fn read_files<E: std::fmt::Display>(&mut self, read: impl Fn(&str) -> Result<String, E>) -> Result<(), StubError> {
        let answers = std::iter::once(&mut self.answer).chain(self.routes.iter_mut().map(|route| &mut route.answer));
        for answer in answers {
            if let Some(file) = answer.delays_from.take() {
                let text = read(&file).map_err(|problem| StubError::File { problem: problem.to_string() })?;
                let wrong = |problem| StubError::Description(BehaviourError::DelayFile { file: file.clone(), problem: Box::new(problem) });
                answer.delays_ms = Empirical::values_ms(&text).map_err(wrong)?;
            }
        }
        Ok(())
    }
}

impl TryFrom<Value> for StubSpec {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let Value::Object(mut fields) = value else { return Err("a stub is described by an object".to_owned()) };
        let mut take = |name: &str| fields.remove(name).unwrap_or(Value::Null);
        let (name, listen, tls, seed, routes) = (take("name"), take("listen"), take("tls"), take("seed"), take("routes"));
        Ok(Self {
            name: part("name", name)?,
            listen: part::<Option<_>>("listen", listen)?.unwrap_or_default(),
            tls: part::<Option<_>>("tls", tls)?.unwrap_or_default(),
            seed: part::<Option<_>>("seed", seed)?.unwrap_or_default(),
            routes: part::<Option<_>>("routes", routes)?.unwrap_or_default(),
            answer: serde_json::from_value(Value::Object(fields)).map_err(|problem| problem.to_string())?,
        })
    }
}

impl TryFrom<Value> for RouteSpec {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let Value::Object(mut fields) = value else { return Err("a route is described by an object".to_owned()) };
        let route = part("route", fields.remove("route").unwrap_or_default())?;
        let handler = part::<Option<bool>>("handler", fields.remove("handler").unwrap_or_default())?.unwrap_or_default();
        let answer = serde_json::from_value(Value::Object(fields)).map_err(|problem| format!("\"{route}\": {problem}"))?;
        Ok(Self { route, handler, answer })
    }
}

fn part<T: serde::de::DeserializeOwned>(name: &str, value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|problem| format!("{name}: {problem}"))
}

fn headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Headers {
        Pairs(Vec<(String, String)>),
        Object(serde_json::Map<String, Value>),
    }
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(match Headers::deserialize(deserializer)? {
        Headers::Pairs(pairs) => pairs,
        Headers::Object(object) => object.into_iter().map(|(name, value)| (name, text(value))).collect(),
    })
}

impl AnswerSpec {
    /// What this leaves unsaid is as in `base`; a delay, and a body, of its own replaces whichever kind the base has. Headers of both
    /// are sent.
    pub(crate) fn over(&self, base: &Self) -> Self {
        let mut merged = self.clone();
        let no_delay = self.delay.is_none() && self.delays_ms.is_empty() && self.delays_from.is_none() && self.stages.is_empty();
        if no_delay {
            merged.delay.clone_from(&base.delay);
            merged.delays_ms.clone_from(&base.delays_ms);
            merged.delays_from.clone_from(&base.delays_from);
            merged.stages.clone_from(&base.stages);
        }
        if self.body.is_none() && self.json.is_none() && self.template.is_none() && self.size.is_none() && !self.echo {
            merged.body.clone_from(&base.body);
            merged.json.clone_from(&base.json);
            merged.template.clone_from(&base.template);
            (merged.size, merged.echo) = (base.size, base.echo);
        }
        let is_own = |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        merged.headers = base.headers.iter().filter(|(name, _)| !is_own(name)).chain(&self.headers).cloned().collect();
        if self.faults.is_empty() {
            merged.faults.clone_from(&base.faults);
        }
        merged.status = self.status.or(base.status);
        merged.limit = self.limit.clone().or_else(|| base.limit.clone());
        merged.bandwidth = self.bandwidth.or(base.bandwidth);
        merged.slow = self.slow.clone().or_else(|| base.slow.clone());
        merged.gzip |= base.gzip;
        merged
    }

    /// The same as a behaviour, to which a caller may add what data cannot say.
    ///
    /// # Errors
    /// The field that makes no sense.
    pub fn behaviour(&self) -> Result<Behaviour, BehaviourError> {
        let mut behaviour = Behaviour::new().wait(self.wait()?).status(self.status.unwrap_or(200));
        behaviour.headers = self.headers.clone();
        behaviour.body = self.content()?;
        if self.json.is_some() && !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            behaviour = behaviour.header("content-type", "application/json");
        }
        for FaultSpec { share, fault } in &self.faults {
            behaviour.faults.push((parse_share(share)?, parse_fault(fault)?));
        }
        if let Some(limit) = &self.limit {
            behaviour.rate = limit.rate()?;
            behaviour.concurrency = limit.concurrency();
        }
        behaviour.bandwidth = self.bandwidth;
        if let Some(slow) = &self.slow {
            behaviour.pace = Some(Pace { bytes: slow.bytes, pause_ns: duration::parse(&slow.every)? });
        }
        if self.gzip {
            behaviour.encoding = Encoding::Gzip;
        }
        Ok(behaviour)
    }

    fn wait(&self) -> Result<Wait, BehaviourError> {
        let delay = |text: &str| Ok(Wait::from(text.parse::<Delay>()?));
        if let Some(file) = &self.delays_from {
            return Err(BehaviourError::UnreadFile(file.clone()));
        }
        match (&self.delay, self.delays_ms.is_empty(), self.stages.is_empty()) {
            (None, true, true) => Ok(Wait::None),
            (Some(text), true, true) => delay(text),
            (None, false, true) => Empirical::new(self.delays_ms.iter().map(|ms| ms * 1e6).collect()).map(Wait::Measured),
            (None, true, false) => {
                let stages = self.stages.iter().map(|stage| Ok((duration::parse(&stage.until)?, delay(&stage.delay)?)));
                stages.collect::<Result<_, BehaviourError>>().map(Wait::Stages)
            }
            _ => Err(BehaviourError::OneOf("delay, delaysMs, delaysFrom and stages")),
        }
    }

    fn content(&self) -> Result<Body, BehaviourError> {
        let given = [
            self.body.clone().map(|text| Body::Fixed(text.into())),
            self.json.as_ref().map(|json| Body::Fixed(json.to_string().into())),
            self.template.clone().map(Body::Template),
            self.size.map(Body::Size),
            self.echo.then_some(Body::Echo),
        ];
        let mut given = given.into_iter().flatten();
        let content = given.next().unwrap_or_default();
        if given.next().is_some() {
            return Err(BehaviourError::OneOf("body, json, template, size and echo"));
        }
        Ok(content)
    }
}

impl LimitSpec {
    fn rate(&self) -> Result<Option<RateLimit>, BehaviourError> {
        let Some(rate) = &self.rate else { return Ok(None) };
        let retry_after_ns = self.retry_after.as_deref().map(duration::parse).transpose()?;
        let (burst, status) = (self.burst.unwrap_or(1.0), self.reject.unwrap_or(429));
        let limit = RateLimit { per_second: parse_rate(rate)?, burst, status, retry_after_ns };
        Ok(Some(limit))
    }

    fn concurrency(&self) -> Option<Concurrency> {
        let queue_most = self.queue.unwrap_or(usize::MAX);
        self.concurrent.map(|most| Concurrency { most, queue_most, status: self.reject.unwrap_or(503) })
    }
}

fn parse_rate(value: &Value) -> Result<f64, BehaviourError> {
    match value {
        Value::String(text) => Ok(units::rate::parse(text)?),
        other => other.as_f64().ok_or_else(|| BehaviourError::Rate(other.clone())),
    }
}

fn parse_share(value: &Value) -> Result<f64, BehaviourError> {
    match value {
        Value::String(text) => Ok(units::share::parse(text)?),
        other => other.as_f64().ok_or_else(|| BehaviourError::Share(other.clone())),
    }
}

fn parse_fault(value: &Value) -> Result<Fault, BehaviourError> {
    match (value.as_u64(), value.as_str()) {
        (Some(status), _) => u16::try_from(status).map(Fault::Status).map_err(|_| BehaviourError::Status(status)),
        (_, Some("reset")) => Ok(Fault::Reset),
        (_, Some("silence")) => Ok(Fault::Silence),
        _ => Err(BehaviourError::Fault(value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn behaviour(answer: Value) -> Result<Behaviour, String> {
        serde_json::from_value::<AnswerSpec>(answer)
            .map_err(|problem| problem.to_string())?
            .behaviour()
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn reads_every_field() {
        let behaviour = behaviour(json!({
            "delay": "loguniform(100ms, 2s)", "status": 202, "headers": { "x-a": 1 }, "json": { "ok": true }, "gzip": true,
            "faults": [{ "share": "1%", "fault": 503 }, { "share": 0.5, "fault": "reset" }], "bandwidth": 1000,
            "limit": { "rate": "360/m", "concurrent": 5, "queue": 7, "reject": 429, "retryAfter": "30s" }, "slow": { "bytes": 10, "every": "1s" }
        }))
        .unwrap();
        assert_eq!(behaviour.faults, [(0.01, Fault::Status(503)), (0.5, Fault::Reset)]);
        assert_eq!(behaviour.rate, Some(RateLimit { per_second: 6.0, burst: 1.0, status: 429, retry_after_ns: Some(30_000_000_000) }));
        assert_eq!(behaviour.concurrency, Some(Concurrency { most: 5, queue_most: 7, status: 429 }));
        assert_eq!(behaviour.pace, Some(Pace { bytes: 10, pause_ns: 1_000_000_000 }));
        assert_eq!(format!("{:?} {:?}", behaviour.wait, behaviour.body), "Drawn(loguniform(100ms, 2000ms)) Fixed(11 bytes)");
        assert_eq!(behaviour.headers[1], ("content-type".to_owned(), "application/json".to_owned()));
    }

    #[test]
    fn says_which_field_is_wrong() {
        for (answer, part) in [
            (json!({ "dealy": "1s" }), "dealy"),
            (json!({ "delay": "soon" }), "soon"),
            (json!({ "delay": "1s", "delaysMs": [1.0] }), "one of delay"),
            (json!({ "body": "x", "echo": true }), "one of body"),
            (json!({ "limit": { "rate": "fast" } }), "is not a rate"),
            (json!({ "faults": [{ "share": "lots", "fault": 500 }] }), "is not a share"),
            (json!({ "faults": [{ "share": 0.1, "fault": "explode" }] }), "is not a fault"),
            (json!({ "slow": { "bytes": 1, "every": "often" } }), "often"),
        ] {
            let problem = behaviour(answer).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
