//! What a run said of itself, and what became of its numbers.

use anyhow::{Context, Result};
use serde_json::Value;

/// Percentiles that are held against the server's own.
const COMPARED: [(f64, &str); 3] = [(0.5, "p50"), (0.95, "p95"), (0.99, "p99")];
/// A number was moved by more than this part of it, and by more than this many seconds: the limits of docs/validity.md.
const MOVED: f64 = 0.05;
const MOVED_S: f64 = 0.000_5;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SelfVerdict {
    /// `valid`, `suspect`, `invalid`, or `refused`: it said beforehand that it could not make the load.
    pub(super) grade: String,
    /// Checks that were worse than valid.
    pub(super) checks: Vec<String>,
    /// Which numbers were moved, as in `p99 +42 %`; empty where none was.
    pub(super) moved: Vec<String>,
}

impl SelfVerdict {
    pub(super) fn refused() -> Self {
        let why = |text: &str| vec![text.to_owned()];
        Self { grade: "refused".to_owned(), checks: why("before the load"), moved: why("no load") }
    }

    /// `account`: what the server did, where it could be asked; `asked`: requests that the load asks for, under open load; `added_s`: what a response
    /// takes beyond its first byte.
    pub(super) fn read(summary: &Value, account: Option<&Value>, asked: Option<f64>, added_s: f64) -> Result<Self> {
        let validity = &summary["verdict"]["validity"];
        let checks = validity["checks"].as_array().context("no checks in the summary")?;
        let spoke = checks.iter().filter(|check| check["grade"].as_str().is_some_and(|grade| grade != "valid"));
        let mut moved: Vec<String> = account.into_iter().flat_map(|account| times_moved(summary, account, added_s)).collect();
        let requests = summary["totals"]["requests"].as_f64().context("no count of requests")?;
        if let Some(asked) = asked
            && requests < asked * (1.0 - MOVED)
        {
            moved.push(format!("load −{:.0} %", (1.0 - requests / asked) * 100.0));
        }
        // The server of a trial fails none.
        if summary["totals"]["requests_failed"].as_f64().unwrap_or(0.0) > MOVED * requests {
            moved.push("failures".to_owned());
        }
        Ok(Self {
            grade: validity["grade"].as_str().context("no grade in the summary")?.to_owned(),
            checks: spoke.filter_map(|check| Some(check["id"].as_str()?.to_owned())).collect(),
            moved,
        })
    }

    /// The run says that not all of its numbers can be trusted.
    pub(super) fn doubts(&self) -> bool {
        self.grade != "valid"
    }

    /// Doubted if and only if something was moved.
    pub(super) fn is_right(&self) -> bool {
        self.doubts() != self.moved.is_empty()
    }
}

fn times_moved(summary: &Value, account: &Value, added_s: f64) -> Vec<String> {
    let percentiles = summary["response"]["percentiles"].as_array().map_or(&[][..], Vec::as_slice);
    let of = |quantile: f64| percentiles.iter().find(|p| p["quantile"].as_f64().is_some_and(|q| (q - quantile).abs() < 1e-9));
    let moved = |(quantile, name): &(f64, &str)| {
        let reported = of(*quantile)?["value"].as_f64()?;
        let did = account["done_ns"][*name].as_f64()? / 1e9 + added_s;
        let by = reported - did;
        (by.abs() > MOVED_S && by.abs() > MOVED * did).then(|| format!("{name} {:+.0} %", by / did * 100.0))
    };
    COMPARED.iter().filter_map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(grade: &str, p99: f64, requests: u64, failed: u64) -> Value {
        serde_json::json!({
            "totals": { "requests": requests, "requests_failed": failed },
            "response": { "percentiles": [{ "quantile": 0.5, "value": 0.005 }, { "quantile": 0.95, "value": null }, { "quantile": 0.99, "value": p99 }] },
            "verdict": { "validity": { "grade": grade, "checks": [
                { "id": "doubt", "grade": grade }, { "id": "series", "grade": "valid" }, { "id": "samples", "grade": null } ] } },
        })
    }

    fn read(grade: &str, p99: f64, requests: u64, failed: u64) -> SelfVerdict {
        let account = serde_json::json!({ "done_ns": { "p50": 5_000_000, "p95": 5_100_000, "p99": 6_000_000 } });
        SelfVerdict::read(&summary(grade, p99, requests, failed), Some(&account), Some(1_000.0), 0.0).unwrap()
    }

    #[test]
    fn what_was_moved_is_what_differs_from_the_servers_own_record() {
        assert_eq!(read("valid", 0.0064, 1_000, 0).moved, [] as [&str; 0]);
        assert_eq!(read("valid", 0.0090, 1_000, 0).moved, ["p99 +50 %"]);
        assert_eq!(read("valid", 0.0060, 900, 0).moved, ["load −10 %"]);
        assert_eq!(read("valid", 0.0060, 1_000, 100).moved, ["failures"]);
    }

    #[test]
    fn a_run_is_right_to_doubt_what_was_moved_and_nothing_else() {
        assert!(read("suspect", 0.0090, 1_000, 0).is_right() && read("valid", 0.0060, 1_000, 0).is_right());
        assert!(!read("valid", 0.0090, 1_000, 0).is_right() && !read("invalid", 0.0060, 1_000, 0).is_right());
        assert_eq!(read("suspect", 0.0090, 1_000, 0).checks, ["doubt"]);
        assert!(SelfVerdict::refused().is_right());
    }
}
