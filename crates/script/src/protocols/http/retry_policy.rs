//! When a failed request is sent again, as the script writes it.

use std::rc::Rc;

use loadstone_metrics::Outcome;
use rquickjs::{Ctx, Value};

use super::expect::StatusPattern;
use crate::error::ScriptError;
use crate::protocols::options::{duration, each, not_in, wrong};
use crate::settings::RetrySetting;
use crate::unknown_options::OptionSet;

pub(super) static RETRY: OptionSet = OptionSet::new("retry", &["times", "on", "wait"]);

/// Bounds the attempts of a request that never passes.
const TIMES_MAX: u32 = 10;
/// Before the first retry. The wait doubles with each further one.
const WAIT_DEFAULT_NS: u64 = 100_000_000;
/// What load balancers and rate limits answer if the same request may pass later, and lost connections.
const ON_DEFAULT: [RetryCause; 5] = [
    RetryCause::Connection,
    RetryCause::Status(StatusPattern::Exact(429)),
    RetryCause::Status(StatusPattern::Exact(502)),
    RetryCause::Status(StatusPattern::Exact(503)),
    RetryCause::Status(StatusPattern::Exact(504)),
];

/// When a failed request is sent again.
#[derive(Debug, Clone)]
pub(in crate::protocols) struct RetryPolicy {
    pub(super) times: u32,
    on: Rc<[RetryCause]>,
    pub(super) wait_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RetryCause {
    Status(StatusPattern),
    /// No connection, or one that was lost.
    Connection,
    Timeout,
}

impl RetryCause {
    fn parse(text: &str) -> Result<Self, String> {
        match text.as_bytes() {
            b"connection" => Ok(Self::Connection),
            b"timeout" => Ok(Self::Timeout),
            [class @ b'1'..=b'5', b'x', b'x'] => Ok(Self::Status(StatusPattern::Class(u16::from(class - b'0')))),
            _ => match text.parse() {
                Ok(status @ 100..=999) => Ok(Self::Status(StatusPattern::Exact(status))),
                _ => Err("expected a status, a class such as \"5xx\", \"connection\", \"timeout\", or a list of them".to_owned()),
            },
        }
    }

    fn applies(self, outcome: Outcome, status: u16) -> bool {
        match self {
            Self::Status(pattern) => outcome == Outcome::Status && pattern.holds(status),
            Self::Connection => matches!(outcome, Outcome::Dns | Outcome::Refused | Outcome::Reset | Outcome::Connect | Outcome::Tls),
            Self::Timeout => outcome == Outcome::Timeout,
        }
    }
}

impl RetryPolicy {
    /// `false` switches the test's policy off.
    pub(super) fn read<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<Option<Self>> {
        if value.as_bool() == Some(false) {
            return Ok(None);
        }
        let (mut times, mut on, mut wait_ns) = (None, None, WAIT_DEFAULT_NS);
        each(ctx, Some(value), RETRY.of, |key, value| {
            match key {
                "times" => times = value.as_number(),
                "on" => {
                    let list = match value.as_array() {
                        Some(list) => list.iter::<Value<'js>>().collect::<rquickjs::Result<Vec<_>>>()?,
                        None => vec![value],
                    };
                    let texts = list.into_iter().map(|cause| cause.get::<rquickjs::Coerced<String>>().map(|text| text.0));
                    on = Some(texts.collect::<rquickjs::Result<Vec<_>>>()?);
                }
                "wait" => wait_ns = duration(ctx, &value, "retry.wait")?,
                other => return Err(not_in(ctx, other, &RETRY)),
            }
            Ok(())
        })?;
        let times =
            times.filter(|times| times.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(times)).map_or(0, |times| times as u32);
        Self::new(times, on.as_deref(), wait_ns).map(Some).map_err(|problem| wrong(ctx, &problem))
    }

    /// The test's policy.
    pub(super) fn of(setting: &RetrySetting) -> Result<Self, ScriptError> {
        let RetrySetting { times, on, wait_ns } = setting;
        Self::new(*times, on.as_deref(), wait_ns.unwrap_or(WAIT_DEFAULT_NS)).map_err(ScriptError::new)
    }

    fn new(times: u32, on: Option<&[String]>, wait_ns: u64) -> Result<Self, String> {
        if !(1..=TIMES_MAX).contains(&times) {
            return Err(format!("retry.times: expected the number of retries, from 1 to {TIMES_MAX}"));
        }
        let causes = on.map(|on| on.iter().map(|cause| RetryCause::parse(cause)).collect::<Result<Rc<[_]>, _>>()).transpose();
        let on = causes.map_err(|problem| format!("retry.on: {problem}"))?.unwrap_or_else(|| Rc::new(ON_DEFAULT));
        Ok(Self { times, on, wait_ns })
    }

    /// Whether the result of an attempt asks for another one.
    pub(super) fn applies(&self, outcome: Outcome, status: u16) -> bool {
        self.on.iter().any(|cause| cause.applies(outcome, status))
    }
}
