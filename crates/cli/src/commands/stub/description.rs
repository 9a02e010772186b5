//! The description of a stub: flags, a file, or both.

use std::path::{Path, PathBuf};

use clap::Args;
use loadstone_stub::StubSpec;
use serde_json::{Map, Value, json};

use crate::argument;
use crate::exit::UsageError;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loadstone stub --listen 127.0.0.1:9099 --delay 'loguniform(100ms, 2s)' --limit 360/s
  loadstone stub --status 202 --fault 1%=503 --fault 0.1%=reset
  loadstone stub shop.json

The file holds JSON with the names of `stub.http({…})`, and `routes`:
  { \"listen\": \"127.0.0.1:9099\", \"delay\": \"50ms\", \"routes\": [{ \"route\": \"GET /accounts/:id\", \"json\": { \"open\": true } }] }")]
pub(crate) struct StubArgs {
    /// A description (JSON); flags override it.
    #[arg(value_name = "FILE")]
    spec: Option<PathBuf>,
    /// Address and port.  [default: 127.0.0.1 and any free port]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Time until the response: "100ms", "loguniform(100ms, 2s)", "exponential(50ms)", …
    #[arg(long, value_name = "DELAY")]
    delay: Option<String>,
    /// File of measured delays to draw from, in milliseconds, one per line.
    #[arg(long, value_name = "FILE", conflicts_with = "delay")]
    delays_from: Option<String>,
    /// Status of the response.  [default: 200]
    #[arg(long, value_name = "STATUS")]
    status: Option<u16>,
    /// Header line. Can be repeated.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Body of the response, as text.
    #[arg(short = 'd', long, value_name = "TEXT")]
    body: Option<String>,
    /// Body of the response, as JSON.
    #[arg(long = "json-body", value_name = "JSON")]
    body_json: Option<String>,
    /// Body of the response with placeholders such as {{json.id}}.
    #[arg(long, value_name = "TEXT")]
    template: Option<String>,
    /// Body of this many bytes.
    #[arg(long, value_name = "BYTES")]
    size: Option<usize>,
    /// Respond with the request's body.
    #[arg(long)]
    echo: bool,
    /// Faults for a share of the calls: 1%=503, 0.1%=reset, 1%=silence. Can be repeated.
    #[arg(long = "fault", value_name = "SHARE=FAULT")]
    faults: Vec<String>,
    /// Maximum calls per second ("360/s", "90/m"). Further calls are rejected with 429 and Retry-After.
    #[arg(long, value_name = "RATE")]
    limit: Option<String>,
    /// Calls accepted at once after a pause.  [default: 1]
    #[arg(long, value_name = "N", requires = "limit")]
    burst: Option<f64>,
    /// Value of Retry-After.  [default: the time until a call is accepted again]
    #[arg(long, value_name = "DURATION", requires = "limit")]
    retry_after: Option<String>,
    /// Maximum concurrent calls. Further calls wait in line.
    #[arg(long, value_name = "N")]
    concurrent: Option<usize>,
    /// Maximum calls waiting in line. Further calls are rejected with 503.  [default: no limit]
    #[arg(long, value_name = "N", requires = "concurrent")]
    queue: Option<usize>,
    /// Status of rejected calls, instead of 429 and 503.
    #[arg(long, value_name = "STATUS")]
    reject: Option<u16>,
    /// Bandwidth in bytes per second, shared by all responses.
    #[arg(long, value_name = "BYTES")]
    bandwidth: Option<u64>,
    /// Use TLS, with a certificate generated at the start.
    #[arg(long)]
    tls: bool,
    /// Seed of the random draws.  [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print the summary as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

impl StubArgs {
    /// The file's description. Flags override it.
    pub(super) fn spec(&self) -> Result<StubSpec, UsageError> {
        let wrong = |problem: String| UsageError(problem);
        let mut fields = match &self.spec {
            None => Map::new(),
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| wrong(argument::cannot_read(path, &error)))?;
                match serde_json::from_str(&text).map_err(|error| wrong(format!("{}: {error}", path.display())))? {
                    Value::Object(fields) => fields,
                    _ => return Err(wrong(format!("{}: a stub is described by an object", path.display()))),
                }
            }
        };
        let given = |value: &Option<String>| value.as_ref().map(|text| Value::from(text.as_str()));
        let json = self
            .body_json
            .as_deref()
            .map(|text| serde_json::from_str::<Value>(text).map_err(|error| wrong(format!("--json-body: {error}"))));
        let mut limit = fields.get("limit").and_then(Value::as_object).cloned().unwrap_or_default();
        for (name, value) in [
            ("rate", given(&self.limit)),
            ("burst", self.burst.map(Value::from)),
            ("concurrent", self.concurrent.map(Value::from)),
            ("queue", self.queue.map(Value::from)),
            ("reject", self.reject.map(Value::from)),
            ("retryAfter", given(&self.retry_after)),
        ] {
            limit.extend(value.map(|value| (name.to_owned(), value)));
        }
        for (name, value) in [
            ("listen", given(&self.listen)),
            ("tls", self.tls.then_some(Value::Bool(true))),
            ("seed", self.seed.map(Value::from)),
            ("delay", given(&self.delay)),
            ("delaysFrom", given(&self.delays_from)),
            ("status", self.status.map(Value::from)),
            ("headers", headers(&self.headers)?),
            ("body", given(&self.body)),
            ("json", json.transpose()?),
            ("template", given(&self.template)),
            ("size", self.size.map(Value::from)),
            ("echo", self.echo.then_some(Value::Bool(true))),
            ("faults", faults(&self.faults)?),
            ("bandwidth", self.bandwidth.map(Value::from)),
            ("limit", (!limit.is_empty()).then_some(Value::Object(limit))),
        ] {
            fields.extend(value.map(|value| (name.to_owned(), value)));
        }
        let of_file = |problem: String| self.spec.as_ref().map_or_else(|| problem.clone(), |path| format!("{}: {problem}", path.display()));
        let mut spec = StubSpec::try_from(Value::Object(fields)).map_err(|problem| wrong(of_file(problem)))?;
        // Paths in the file are relative to it.
        let folder = self.spec.as_deref().and_then(Path::parent).unwrap_or_else(|| Path::new(""));
        let read = |file: &str| {
            let path = if self.delays_from.as_deref() == Some(file) { file.into() } else { folder.join(file) };
            std::fs::read_to_string(&path).map_err(|error| argument::cannot_read(&path, &error))
        };
        spec.read_files(read).map_err(|problem| wrong(problem.to_string()))?;
        Ok(spec)
    }
}

fn headers(lines: &[String]) -> Result<Option<Value>, UsageError> {
    let pair = |line: &String| {
        let (name, value) = line.split_once(':').ok_or_else(|| UsageError(format!("--header {line}: write it as 'Name: value'")))?;
        Ok(json!([name.trim(), value.trim()]))
    };
    let pairs = lines.iter().map(pair).collect::<Result<Vec<Value>, UsageError>>()?;
    Ok((!pairs.is_empty()).then_some(Value::Array(pairs)))
}

/// `1%=503`, `0.5%=reset`, `0.01=silence`.
fn faults(written: &[String]) -> Result<Option<Value>, UsageError> {
    let fault = |text: &String| {
        let (share, fault) = text.split_once('=').ok_or_else(|| UsageError(format!("--fault {text}: write it as 1%=503 or 1%=reset")))?;
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let share = number(share).map_or_else(|| Value::from(share.trim()), Value::from);
        let fault = fault.trim().parse::<u16>().map_or_else(|_| Value::from(fault.trim()), Value::from);
        Ok(json!({ "share": share, "fault": fault }))
    };
    let faults = written.iter().map(fault).collect::<Result<Vec<Value>, UsageError>>()?;
    Ok((!faults.is_empty()).then_some(Value::Array(faults)))
}
