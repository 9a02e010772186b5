//! A test plan from flags: load on one URL, without a script.

use bytes::Bytes;
use plan::{ClosedStage, Load, LoadProfile, OpenStage, RunOptions, ScenarioId, ScenarioRun, Secrets, TestPlan, Timing};

use crate::args::UrlArgs;
use crate::exit::UsageError;
use crate::objective;

/// The one request of a run without a script.
#[derive(Debug, Clone)]
pub(crate) struct UrlRequest {
    pub(crate) url: url::Url,
    pub(crate) method: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    pub(crate) expect_status: Option<u16>,
    pub(crate) keep_alive: bool,
}

impl UrlRequest {
    /// Name of the request in all reports: method and path, as in scripts.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.url.path())
    }

    /// The password and credentials of its URL and headers.
    fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        secrets.learn_urls(self.url.as_str());
        self.headers.iter().for_each(|(name, value)| secrets.learn_header(name, value));
        secrets
    }

    pub(crate) fn from_args(text: &str, args: &UrlArgs) -> Result<Self, UsageError> {
        let url = url::Url::parse(text).map_err(|problem| UsageError(format!("\"{text}\" is not a URL: {problem}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(UsageError(format!("\"{text}\": only http:// and https:// URLs can be loaded without a script")));
        }
        let headers = args.headers.iter().map(|line| header(line)).collect::<Result<_, _>>()?;
        let body = match args.body.as_deref().map(|body| (body, body.strip_prefix('@'))) {
            None => Bytes::new(),
            Some((_, Some(path))) => {
                std::fs::read(path).map_err(|problem| UsageError(format!("--body: {path} cannot be read: {problem}")))?.into()
            }
            Some((text, None)) => Bytes::copy_from_slice(text.as_bytes()),
        };
        let default_method = if args.body.is_some() { "POST" } else { "GET" };
        let method = args.method.as_deref().unwrap_or(default_method).to_ascii_uppercase();
        if method.is_empty() || !method.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
            return Err(UsageError(format!("--method: \"{method}\" is not an HTTP method")));
        }
        Ok(Self { url, method, headers, body, expect_status: args.expect_status, keep_alive: !args.no_keep_alive })
    }
}

fn header(line: &str) -> Result<(String, String), UsageError> {
    match line.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() && !line.contains(['\r', '\n']) => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(UsageError(format!("--header: \"{line}\" is not a header line: write 'Name: value'"))),
    }
}

/// The plan that the flags describe.
pub(crate) fn plan(request: &UrlRequest, args: &UrlArgs, seed: u64) -> Result<TestPlan, UsageError> {
    let defaults = RunOptions::default();
    let host = request.url.host_str().unwrap_or("target").to_owned();
    let name = match request.url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host,
    };
    let target = request.url.origin().ascii_serialization();
    let load = Load::Run(ScenarioRun { users_max: args.max_users, ..ScenarioRun::new(ScenarioId(0), profile(args)?) });
    let plan = TestPlan {
        target: Some(target),
        thresholds: args.thresholds.iter().map(|text| objective::parse(text)).collect::<Result<_, _>>()?,
        options: RunOptions {
            seed,
            graceful_stop_ns: duration("--graceful-stop", args.graceful_stop.as_deref(), defaults.graceful_stop_ns)?,
            request_timeout_ns: duration("--timeout", args.timeout.as_deref(), defaults.request_timeout_ns)?,
            ..defaults
        },
        secrets: request.secrets(),
        ..TestPlan::new(name, [request.name()], load)
    };
    plan.validate().map_err(|problem| UsageError(problem.to_string()))?;
    Ok(plan)
}

fn profile(args: &UrlArgs) -> Result<LoadProfile, UsageError> {
    let duration_ns = duration("--for", args.duration.as_deref(), 10_000_000_000)?;
    let ramp_ns = duration("--ramp", args.ramp.as_deref(), 0)?;
    match &args.rate {
        Some(text) => {
            let rate = units::rate::parse(text).map_err(|problem| UsageError(format!("--rate: {problem}")))?;
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

fn duration(flag: &str, text: Option<&str>, default_ns: u64) -> Result<u64, UsageError> {
    text.map_or(Ok(default_ns), |text| units::duration::parse(text).map_err(|problem| UsageError(format!("{flag}: {problem}"))))
}
