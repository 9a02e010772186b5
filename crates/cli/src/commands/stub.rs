//! `loadstone stub`: a simulated HTTP server from flags or a file, what it sees while it serves, and a summary at Ctrl-C.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Map, Value, json};
use stub::{Recording, RouteCounts, SecondCounts, StubSpec, now_ns};

use crate::args::StubArgs;
use crate::exit::{Exit, UsageError};
use crate::interrupt;

/// Without a terminal, a line for so many seconds together.
const LINE_SECONDS: usize = 10;

pub(crate) fn stub(args: &StubArgs) -> anyhow::Result<Exit> {
    let spec = spec(args)?;
    let server = spec.start().map_err(|problem| UsageError(problem.to_string()))?;
    let (told, interrupted) = sync_channel(1);
    let watch = std::thread::Builder::new().name("interrupt".to_owned());
    watch.spawn(move || drop(told.send(interrupt::wait()))).context("Ctrl-C cannot be watched")?;
    let mut err = std::io::stderr();
    let terminal = err.is_terminal();
    // A closed standard error is no reason not to serve.
    let _ = writeln!(err, "Stub listens on {}. Ctrl-C ends it.", server.url(""));
    server.count_seconds(now_ns());
    let mut pending = Vec::new();
    let mut total = SecondCounts::default();
    loop {
        match interrupted.recv_timeout(Duration::from_secs(1)) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(watched) => {
                watched.context("Ctrl-C cannot be watched")?;
                break;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
        pending.extend(server.seconds());
        if terminal || pending.len() >= LINE_SECONDS {
            for second in &pending {
                add(&mut total, second);
            }
            if let Some(line) = live(&std::mem::take(&mut pending), &total) {
                let _ = if terminal { write!(err, "\r\x1b[K{line}") } else { writeln!(err, "{line}") };
                let _ = err.flush();
            }
        }
    }
    if terminal {
        let _ = write!(err, "\r\x1b[K");
    }
    let recording = server.recording();
    let mut out = std::io::stdout();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &recording)?;
        writeln!(out)?;
    } else {
        out.write_all(summary(&recording, now_ns().saturating_sub(recording.started_ns)).as_bytes())?;
    }
    Ok(Exit::Passed)
}

/// The file, with the flags in its place where both say something.
fn spec(args: &StubArgs) -> Result<StubSpec, UsageError> {
    let wrong = |problem: String| UsageError(problem);
    let mut fields = match &args.spec {
        None => Map::new(),
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("{} cannot be read: {error}", path.display())))?;
            match serde_json::from_str(&text).map_err(|error| wrong(format!("{}: {error}", path.display())))? {
                Value::Object(fields) => fields,
                _ => return Err(wrong(format!("{}: a stub is described by an object", path.display()))),
            }
        }
    };
    let given = |value: &Option<String>| value.as_ref().map(|text| Value::from(text.as_str()));
    let json =
        args.body_json.as_deref().map(|text| serde_json::from_str::<Value>(text).map_err(|error| wrong(format!("--json-body: {error}"))));
    let mut limit = fields.get("limit").and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, value) in [
        ("rate", given(&args.limit)),
        ("burst", args.burst.map(Value::from)),
        ("concurrent", args.concurrent.map(Value::from)),
        ("queue", args.queue.map(Value::from)),
        ("reject", args.reject.map(Value::from)),
        ("retryAfter", given(&args.retry_after)),
    ] {
        limit.extend(value.map(|value| (name.to_owned(), value)));
    }
    for (name, value) in [
        ("listen", given(&args.listen)),
        ("tls", args.tls.then_some(Value::Bool(true))),
        ("seed", args.seed.map(Value::from)),
        ("delay", given(&args.delay)),
        ("delaysFrom", given(&args.delays_from)),
        ("status", args.status.map(Value::from)),
        ("headers", headers(&args.headers)?),
        ("body", given(&args.body)),
        ("json", json.transpose()?),
        ("template", given(&args.template)),
        ("size", args.size.map(Value::from)),
        ("echo", args.echo.then_some(Value::Bool(true))),
        ("faults", faults(&args.faults)?),
        ("bandwidth", args.bandwidth.map(Value::from)),
        ("limit", (!limit.is_empty()).then_some(Value::Object(limit))),
    ] {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    }
    let of_file = |problem: String| args.spec.as_ref().map_or_else(|| problem.clone(), |path| format!("{}: {problem}", path.display()));
    let mut spec = StubSpec::try_from(Value::Object(fields)).map_err(|problem| wrong(of_file(problem)))?;
    // Files that a file names lie beside it.
    let folder = args.spec.as_deref().and_then(Path::parent).unwrap_or_else(|| Path::new(""));
    let read = |file: &str| {
        let path = if args.delays_from.as_deref() == Some(file) { file.into() } else { folder.join(file) };
        std::fs::read_to_string(&path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
    };
    spec.read_files(read).map_err(|problem| wrong(problem.to_string()))?;
    Ok(spec)
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

fn add(total: &mut SecondCounts, second: &SecondCounts) {
    total.calls += second.calls;
    total.answered += second.answered;
    total.rejected += second.rejected;
    total.faulted += second.faulted;
    total.abandoned += second.abandoned;
}

/// The last seconds, and everything so far; `None` without seconds.
fn live(seconds: &[SecondCounts], total: &SecondCounts) -> Option<String> {
    let last = seconds.last()?;
    let of = seconds.len() as f64;
    let calls = seconds.iter().map(|second| second.calls).sum::<u64>() as f64 / of;
    let in_flight = seconds.iter().map(|second| second.in_flight_ns as f64 / 1e9).sum::<f64>() / of;
    let most = seconds.iter().map(|second| second.in_flight_max).max().unwrap_or(0);
    Some(format!(
        "{} s · {} · {} in flight (at most {}) · {} answered · {} rejected · {} faulted",
        last.number + 1,
        units::rate(calls),
        units::number(in_flight),
        units::count(most),
        units::count(total.answered),
        units::count(total.rejected),
        units::count(total.faulted),
    ))
}

fn summary(recording: &Recording, served_ns: u64) -> String {
    let seconds = served_ns as f64 / 1e9;
    let calls: u64 = recording.routes.iter().map(|route| route.requests).sum();
    let mut out = format!(
        "Served for {}: {} over {}, at most {} at once\n",
        units::seconds(seconds),
        units::counted(calls, "call"),
        units::counted(recording.connections, "connection"),
        units::count(recording.in_flight_max)
    );
    for route in &recording.routes {
        out.push_str(&format!("  {}\n", describe(route, seconds)));
    }
    if recording.unmatched > 0 {
        out.push_str(&format!("  no route matched {}: they were answered with 404\n", units::counted(recording.unmatched, "call")));
    }
    out
}

fn describe(route: &RouteCounts, seconds: f64) -> String {
    let mut parts = vec![units::counted(route.requests, "call"), units::rate(route.requests as f64 / seconds.max(1e-9))];
    let status = |(status, count): (&u16, &u64)| match status {
        0 => format!("{} reset", units::count(*count)),
        status => format!("{} × {status}", units::count(*count)),
    };
    parts.extend(route.statuses.iter().map(status));
    if route.abandoned > 0 {
        parts.push(format!("{} given up by their caller", units::count(route.abandoned)));
    }
    if route.answered() > 0 {
        parts.push(format!("{} on average", units::seconds(route.served_ns / route.answered() as f64 / 1e9)));
        parts.push(format!("at most {} at once", units::count(route.in_flight_max)));
    }
    format!("{}: {}", route.route, parts.join(" · "))
}
