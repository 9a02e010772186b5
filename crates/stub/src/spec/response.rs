//! A response as plain data, and the behaviour that it describes.
//!
//! Read [`ResponseSpec`]; [`ResponseSpec::behaviour`] checks it and creates the value that a server runs.

use loadstone_units::duration;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{
    Behaviour, BehaviourError, BodyPace, BodySource, Concurrency, ContentEncoding, Delay, Empirical, Fault, RateLimit, StubError, Wait,
};

/// How an endpoint responds. Every field is optional. Default: status 200 at once, without a body.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct ResponseSpec {
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
    /// At most one of the following five.
    pub body: Option<String>,
    pub json: Option<Value>,
    /// Text with placeholders such as `{{json.amount}}`.
    pub template: Option<String>,
    /// Bytes of filler.
    pub size: Option<usize>,
    pub echo: bool,
    pub gzip: bool,
    pub faults: Vec<FaultSpec>,
    pub limit: Option<LimitSpec>,
    /// Bytes per second, shared by all responses.
    pub bandwidth: Option<u64>,
    pub slow: Option<SlowSpec>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageSpec {
    /// Age of the stub up to which this stage applies: `"30s"`. The last stage never ends.
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
    /// Requests at once after a pause. Default: 1.
    pub burst: Option<f64>,
    /// Requests served at once.
    pub concurrent: Option<usize>,
    /// Requests that may wait for a permit. Default: unlimited.
    pub queue: Option<usize>,
    /// Status of rejected requests. Default: 429 above the rate and 503 above the concurrency.
    pub reject: Option<u16>,
    /// `Retry-After` of requests above the rate, in whole seconds: `"30s"`. Default: the time until there is room again.
    pub retry_after: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowSpec {
    pub bytes: usize,
    /// Pause between pieces: `"100ms"`.
    pub every: String,
}

fn headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum HeaderForm {
        Pairs(Vec<(String, String)>),
        Object(serde_json::Map<String, Value>),
    }
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(match HeaderForm::deserialize(deserializer)? {
        HeaderForm::Pairs(pairs) => pairs,
        HeaderForm::Object(object) => object.into_iter().map(|(name, value)| (name, text(value))).collect(),
    })
}

impl ResponseSpec {
    /// Takes missing fields from `base`. A delay or a body replaces the base's, whichever kind that is. Headers of both are sent.
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

    /// Replaces a file of delays by its content.
    ///
    /// # Errors
    /// An error of `read`, or the line that is not a delay.
    pub(crate) fn read_file<E: std::fmt::Display>(&mut self, read: impl Fn(&str) -> Result<String, E>) -> Result<(), StubError> {
        if let Some(file) = self.delays_from.take() {
            let text = read(&file).map_err(|problem| StubError::File { problem: problem.to_string() })?;
            let wrong = |problem| StubError::Description(BehaviourError::DelayFile { file: file.clone(), problem: Box::new(problem) });
            self.delays_ms = Empirical::values_ms(&text).map_err(wrong)?;
        }
        Ok(())
    }

    /// The behaviour described. A caller may add what data cannot describe.
    ///
    /// # Errors
    /// The invalid field.
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
            behaviour.pace = Some(BodyPace { bytes: slow.bytes, pause_ns: duration::parse(&slow.every)? });
        }
        if self.gzip {
            behaviour.encoding = ContentEncoding::Gzip;
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

    fn content(&self) -> Result<BodySource, BehaviourError> {
        let bodies = [
            self.body.clone().map(|text| BodySource::Fixed(text.into())),
            self.json.as_ref().map(|json| BodySource::Fixed(json.to_string().into())),
            self.template.clone().map(BodySource::Template),
            self.size.map(BodySource::Size),
            self.echo.then_some(BodySource::Echo),
        ];
        let mut bodies = bodies.into_iter().flatten();
        let content = bodies.next().unwrap_or_default();
        if bodies.next().is_some() {
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
        Value::String(text) => Ok(loadstone_units::rate::parse(text)?),
        other => other.as_f64().ok_or_else(|| BehaviourError::Rate(other.clone())),
    }
}

fn parse_share(value: &Value) -> Result<f64, BehaviourError> {
    match value {
        Value::String(text) => Ok(loadstone_units::share::parse(text)?),
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

    fn behaviour(response: Value) -> Result<Behaviour, String> {
        serde_json::from_value::<ResponseSpec>(response)
            .map_err(|problem| problem.to_string())?
            .behaviour()
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn every_field_is_read() {
        let behaviour = behaviour(json!({
            "delay": "loguniform(100ms, 2s)", "status": 202, "headers": { "x-a": 1 }, "json": { "ok": true }, "gzip": true,
            "faults": [{ "share": "1%", "fault": 503 }, { "share": 0.5, "fault": "reset" }], "bandwidth": 1000,
            "limit": { "rate": "360/m", "concurrent": 5, "queue": 7, "reject": 429, "retryAfter": "30s" }, "slow": { "bytes": 10, "every": "1s" }
        }))
        .unwrap();
        assert_eq!(behaviour.faults, [(0.01, Fault::Status(503)), (0.5, Fault::Reset)]);
        assert_eq!(behaviour.rate, Some(RateLimit { per_second: 6.0, burst: 1.0, status: 429, retry_after_ns: Some(30_000_000_000) }));
        assert_eq!(behaviour.concurrency, Some(Concurrency { most: 5, queue_most: 7, status: 429 }));
        assert_eq!(behaviour.pace, Some(BodyPace { bytes: 10, pause_ns: 1_000_000_000 }));
        assert_eq!(format!("{:?} {:?}", behaviour.wait, behaviour.body), "Drawn(loguniform(100ms, 2000ms)) Fixed(11 bytes)");
        assert_eq!(behaviour.headers[1], ("content-type".to_owned(), "application/json".to_owned()));
    }

    #[test]
    fn errors_name_the_field() {
        for (response, part) in [
            (json!({ "dealy": "1s" }), "dealy"),
            (json!({ "delay": "soon" }), "soon"),
            (json!({ "delay": "1s", "delaysMs": [1.0] }), "one of delay"),
            (json!({ "body": "x", "echo": true }), "one of body"),
            (json!({ "limit": { "rate": "fast" } }), "is not a rate"),
            (json!({ "faults": [{ "share": "lots", "fault": 500 }] }), "is not a share"),
            (json!({ "faults": [{ "share": 0.1, "fault": "explode" }] }), "is not a fault"),
            (json!({ "slow": { "bytes": 1, "every": "often" } }), "often"),
        ] {
            let problem = behaviour(response).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
