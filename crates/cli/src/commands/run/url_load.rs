//! Load on one URL without a script: its flags, and the request and plan that they describe.

use std::ops::RangeInclusive;
use std::path::Path;

use bytes::Bytes;
use clap::Args;
use loadstone_plan::{ClosedStage, Load, LoadProfile, OpenStage, RunOptions, ScenarioId, ScenarioRun, TestPlan, Timing};
use loadstone_protocol::http::check_header;
use loadstone_session::FixedRequest;

use crate::argument;
use crate::exit::{FlagError, UsageError};
use crate::objective;

/// Load on one URL, without a script.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load on a URL (no script)")]
pub(crate) struct UrlArgs {
    /// Arrivals per second, or "90/m": open load.
    #[arg(long, value_name = "RATE", conflicts_with = "users", allow_hyphen_values = true)]
    rate: Option<String>,
    /// Random (Poisson) arrivals instead of evenly spaced ones.
    #[arg(long, requires = "rate")]
    poisson: bool,
    /// Users that repeat the request: closed load.  [default: 10, when there is no rate]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), allow_hyphen_values = true)]
    users: Option<u64>,
    /// Duration.  [default: 10s]
    #[arg(long = "for", value_name = "DURATION")]
    duration: Option<String>,
    /// Ramp-up time, added to --for.
    #[arg(long, value_name = "DURATION")]
    ramp: Option<String>,
    /// Maximum concurrent users of open load. Further arrivals wait, and their wait is recorded.
    #[arg(long, value_name = "N", requires = "rate", value_parser = clap::value_parser!(u64).range(1..))]
    max_users: Option<u64>,
    /// Request method.  [default: GET, or POST with a body]
    #[arg(short = 'X', long)]
    method: Option<String>,
    /// Header line. Can be repeated.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Request body; @FILE reads it from a file.
    #[arg(short = 'd', long = "body", value_name = "TEXT|@FILE")]
    body: Option<String>,
    /// Time limit of one request.  [default: 30s]
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
    /// How long requests may continue after the load has ended.  [default: 30s]
    #[arg(long, value_name = "DURATION")]
    graceful_stop: Option<String>,
    /// Arrivals due within this time of the first start together, with the last: less CPU time, more lag; at most 10ms.  [default: 70us]
    #[arg(long, value_name = "DURATION", requires = "rate")]
    start_window: Option<String>,
    /// Status that counts as passed, such as 204, or a class such as 2xx.  [default: any below 400]
    #[arg(long, value_name = "STATUS", value_parser = status)]
    expect_status: Option<RangeInclusive<u16>>,
    /// Objective such as 'p99<50ms', 'p95 of Buy<200ms', 'failures<1%', 'rate>=500/s'. Can be repeated.
    #[arg(long = "threshold", value_name = "OBJECTIVE")]
    thresholds: Vec<String>,
    /// Open a new connection for every request.
    #[arg(long)]
    no_keep_alive: bool,
}

impl UrlArgs {
    /// The value of `-d`, which is k6's flag for the duration.
    pub(crate) fn body(&self) -> Option<&str> {
        self.body.as_deref()
    }

    /// The first of these flags that is set.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        self.first_set_except_body().or(self.body.is_some().then_some("--body"))
    }

    /// The same without `--body`.
    pub(crate) fn first_set_except_body(&self) -> Option<&'static str> {
        [
            (self.rate.is_some(), "--rate"),
            (self.users.is_some(), "--users"),
            (self.duration.is_some(), "--for"),
            (self.ramp.is_some(), "--ramp"),
            (self.method.is_some(), "--method"),
            (!self.headers.is_empty(), "--header"),
            (self.timeout.is_some(), "--timeout"),
            (self.graceful_stop.is_some(), "--graceful-stop"),
            (self.start_window.is_some(), "--start-window"),
            (self.expect_status.is_some(), "--expect-status"),
            (!self.thresholds.is_empty(), "--threshold"),
            (self.no_keep_alive, "--no-keep-alive"),
        ]
        .into_iter()
        .find_map(|(given, flag)| given.then_some(flag))
    }

    /// The first flag about the load's length that is set.
    pub(crate) fn length_flag_set(&self) -> Option<&'static str> {
        [(self.duration.is_some(), "--for"), (self.ramp.is_some(), "--ramp")].into_iter().find_map(|(given, flag)| given.then_some(flag))
    }

    /// The request to a URL that these flags describe.
    pub(crate) fn request(&self, text: &str) -> anyhow::Result<FixedRequest> {
        let url = argument::url("", text)?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(UsageError(format!("\"{text}\": only http:// and https:// URLs can be loaded without a script")).into());
        }
        let headers: Vec<(String, String)> = self.headers.iter().map(|line| header(line)).collect::<Result<_, _>>()?;
        let body = match self.body.as_deref().map(|body| (body, body.strip_prefix('@'))) {
            None => Bytes::new(),
            Some((_, Some(path))) => {
                std::fs::read(path).map_err(|problem| FlagError::new("body", argument::cannot_read(Path::new(path), &problem)))?.into()
            }
            Some((text, None)) => Bytes::copy_from_slice(text.as_bytes()),
        };
        let default_method = if self.body.is_some() { "POST" } else { "GET" };
        let method = self.method.as_deref().unwrap_or(default_method).to_owned();
        if let Some((name, _)) = headers.iter().find(|(name, value)| has_wrong_length(name, value, &body)) {
            return Err(FlagError::new("header", format!("{name} is set by Loadstone, from the length of the body: remove it")).into());
        }
        if method.is_empty() || !method.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
            return Err(FlagError::new("method", format!("\"{method}\" is not an HTTP method")).into());
        }
        Ok(FixedRequest { url, method, headers, body, expect_status: self.expect_status.clone(), keep_alive: !self.no_keep_alive })
    }

    /// The plan that these flags describe.
    pub(crate) fn plan(&self, request: &FixedRequest, seed: u64) -> anyhow::Result<TestPlan> {
        let defaults = RunOptions::default();
        let host = request.url.host_str().unwrap_or("target").to_owned();
        let name = match request.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host,
        };
        let target = request.url.origin().ascii_serialization();
        let load = Load::Run(ScenarioRun { users_max: self.max_users, ..ScenarioRun::new(ScenarioId(0), profile(self)?) });
        let plan = TestPlan {
            target: Some(target),
            thresholds: self.thresholds.iter().map(|text| objective::parse("threshold", text)).collect::<Result<_, _>>()?,
            options: RunOptions {
                seed,
                graceful_stop_ns: duration("graceful-stop", self.graceful_stop.as_deref(), defaults.graceful_stop_ns)?,
                request_timeout_ns: duration("timeout", self.timeout.as_deref(), defaults.request_timeout_ns)?,
                start_window_ns: duration("start-window", self.start_window.as_deref(), defaults.start_window_ns)?,
                ..defaults
            },
            secrets: request.secrets(),
            ..TestPlan::new(name, [request.name()], load)
        };
        plan.validate().map_err(|problem| UsageError(problem.to_string()))?;
        Ok(plan)
    }
}

/// `204` or `2xx`, as in `expect` of scripts.
fn status(text: &str) -> Result<RangeInclusive<u16>, String> {
    let class = |class: u16| class * 100..=class * 100 + 99;
    match (text.as_bytes(), text.parse()) {
        ([digit @ b'1'..=b'9', b'x' | b'X', b'x' | b'X'], _) => Ok(class(u16::from(digit - b'0'))),
        (_, Ok(exact @ 100..=999)) => Ok(exact..=exact),
        _ => Err("write a status such as 204, or a class such as 2xx".to_owned()),
    }
}

/// Whether a header contradicts the length with which the body is sent.
fn has_wrong_length(name: &str, value: &str, body: &[u8]) -> bool {
    name.eq_ignore_ascii_case("transfer-encoding") || name.eq_ignore_ascii_case("content-length") && value.parse() != Ok(body.len())
}

fn header(line: &str) -> Result<(String, String), FlagError> {
    match line.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            let (name, value) = (name.trim(), value.trim());
            check_header(name, value).map_err(|problem| FlagError::new("header", problem))?;
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(FlagError::new("header", format!("\"{line}\" is not a header line: write 'Name: value'"))),
    }
}

fn profile(args: &UrlArgs) -> Result<LoadProfile, FlagError> {
    let duration_ns = duration("for", args.duration.as_deref(), 10_000_000_000)?;
    if duration_ns == 0 {
        return Err(FlagError::new("for", "load needs time, such as 30s"));
    }
    let ramp_ns = duration("ramp", args.ramp.as_deref(), 0)?;
    match &args.rate {
        Some(text) => {
            let rate = loadstone_units::rate::parse(text).map_err(|problem| FlagError::new("rate", problem))?;
            if rate == 0.0 {
                return Err(FlagError::new("rate", format!("{text} generates no load: use a rate above 0, such as 50 or 90/min")));
            }
            let timing = if args.poisson { Timing::Poisson } else { Timing::Even };
            let hold = OpenStage::Rate { from: rate, to: rate, duration_ns, timing };
            let ramp = (ramp_ns > 0).then_some(OpenStage::Rate { from: 0.0, to: rate, duration_ns: ramp_ns, timing });
            Ok(LoadProfile::Open { stages: ramp.into_iter().chain([hold]).collect() })
        }
        None => {
            let users = args.users.unwrap_or(10);
            let hold = ClosedStage { from: users, to: users, duration_ns };
            let ramp = (ramp_ns > 0).then_some(ClosedStage { from: 0, to: users, duration_ns: ramp_ns });
            Ok(LoadProfile::Closed { stages: ramp.into_iter().chain([hold]).collect() })
        }
    }
}

fn duration(flag: &'static str, text: Option<&str>, default_ns: u64) -> Result<u64, FlagError> {
    text.map_or(Ok(default_ns), |text| loadstone_units::duration::parse(text).map_err(|problem| FlagError::new(flag, problem)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_exact_or_a_class() {
        assert_eq!(status("204"), Ok(204..=204));
        assert_eq!((status("2xx"), status("5XX")), (Ok(200..=299), Ok(500..=599)));
        for text in ["", "2x", "20x", "99", "1000", "0xx", "ok"] {
            assert_eq!(status(text).unwrap_err(), "write a status such as 204, or a class such as 2xx", "{text}");
        }
    }
}
