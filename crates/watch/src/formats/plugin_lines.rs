//! Locust, Artillery and autocannon: the lines of the plugins that Loadstone adds to them, which are in `plugins/`. Each line is a JSON list.
//!
//! `["r", end, milliseconds, method, name, status, bytes, error, stated]` is a request, where `stated` is missing, null, or its milliseconds as the tool
//! counts them. `["u", time, process, users]` is a number of users, and `["p", [[quantile, milliseconds], …]]` what Locust states at its end.
//! Times are seconds since 1970.

use std::borrow::Cow;

use loadstone_metrics::Outcome;
use loadstone_plan::LoadModel;
use serde::Deserialize;

use super::request_name;
use crate::entry::{Entry, RecordTime, Timed, outcome_of, outcome_of_error};
use crate::record_format::{RecordFormat, RecordParts, RecordReader, UnreadableLine};

pub(super) const LOCUST: RecordFormat = RecordFormat {
    name: "locust",
    tool: "Locust",
    resolution_ns: 1_000,
    model: LoadModel::Users,
    is_of_server: false,
    has_iterations: false,
    comes_at_end: false,
    parts: RecordParts::Lines,
    lacks: &["connection phases", "requests in flight when Locust was killed", "iterations"],
    make: |_| Ok(Box::new(PluginReader { is_of_node: false })),
};

pub(super) const ARTILLERY: RecordFormat = RecordFormat {
    name: "artillery",
    tool: "Artillery",
    resolution_ns: 1_000,
    model: LoadModel::Arrivals,
    is_of_server: false,
    has_iterations: false,
    comes_at_end: false,
    parts: RecordParts::Lines,
    lacks: &["connection phases", "requests in flight when Artillery was killed", "virtual users and scenarios"],
    make: |_| Ok(Box::new(PluginReader { is_of_node: true })),
};

pub(super) const AUTOCANNON: RecordFormat = RecordFormat {
    name: "autocannon",
    tool: "autocannon",
    resolution_ns: 1_000,
    model: LoadModel::Users,
    is_of_server: false,
    has_iterations: false,
    comes_at_end: false,
    parts: RecordParts::Lines,
    lacks: &["connection phases", "requests in flight when autocannon was killed"],
    make: |_| Ok(Box::new(PluginReader { is_of_node: true })),
};

struct PluginReader {
    /// Of Artillery and autocannon: names are paths of URLs, and a status from 400 is a failure, which neither calls an error. Locust names and judges
    /// its requests itself.
    is_of_node: bool,
}

#[derive(Deserialize)]
struct RequestLine<'a>(
    &'a str,
    f64,
    f64,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    u16,
    u64,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(default)] Option<f64>,
);

#[derive(Deserialize)]
struct UsersLine<'a>(#[serde(borrow)] Cow<'a, str>, f64, u32, u64);

#[derive(Deserialize)]
struct StatedLine<'a>(#[serde(borrow)] Cow<'a, str>, Vec<(f64, f64)>);

impl RecordReader for PluginReader {
    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        if line.starts_with(b"[\"p\"") {
            let StatedLine(_kind, stated) = serde_json::from_slice(line).map_err(|_| UnreadableLine)?;
            let percentiles: Vec<(f64, u64)> = stated.iter().map(|(quantile, ms)| (*quantile, (ms.max(0.0) * 1e6) as u64)).collect();
            take(&Entry::Stated { metric: "Aggregated", percentiles: &percentiles });
            return Ok(());
        }
        if line.starts_with(b"[\"u\"") {
            let UsersLine(_kind, at, source, count) = serde_json::from_slice(line).map_err(|_| UnreadableLine)?;
            take(&Entry::Users { at: wall(at)?, source, count });
            return Ok(());
        }
        let RequestLine(kind, ended, milliseconds, method, name, status, bytes, error, stated) =
            serde_json::from_slice(line).map_err(|_| UnreadableLine)?;
        if kind != "r" || !milliseconds.is_finite() || milliseconds < 0.0 {
            return Err(UnreadableLine);
        }
        let outcome = match (error.is_empty(), status) {
            (true, status) if self.is_of_node => outcome_of(status),
            (true, _) => Outcome::Passed,
            (false, 0) => outcome_of_error(&error),
            (false, status) if outcome_of(status) == Outcome::Passed => Outcome::Expect,
            (false, status) => outcome_of(status),
        };
        let name = if self.is_of_node { request_name::of_url(&method, &name) } else { format!("{method} {name}") };
        take(&Entry::Request(Timed {
            outcome,
            status,
            message: if outcome == Outcome::Status { "" } else { &error },
            bytes_received: bytes,
            stated_ns: stated.filter(|ms| *ms >= 0.0).map(|ms| (ms * 1e6) as u64),
            ..Timed::new(&name, wall(ended)?, (milliseconds * 1e6).round() as u64)
        }));
        Ok(())
    }
}

fn wall(seconds: f64) -> Result<RecordTime, UnreadableLine> {
    (seconds.is_finite() && seconds > 0.0).then_some(RecordTime::Wall((seconds * 1e9) as u64)).ok_or(UnreadableLine)
}
