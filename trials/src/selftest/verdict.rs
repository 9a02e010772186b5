//! A run's verdict on itself, and the true errors of its numbers.

use anyhow::{Context, Result};
use serde_json::Value;

/// A number was moved by more than this part of it, and by more than this many seconds: the limits of docs/validity.md.
const MOVED: f64 = 0.05;
const MOVED_S: f64 = 0.000_5;

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct SelfVerdict {
    /// `valid`, `suspect`, `invalid`, or `refused`: it reported beforehand that it could not generate the load.
    pub(super) grade: String,
    /// Checks that were worse than valid.
    pub(super) checks: Vec<String>,
    /// Numbers that were moved and carry their mark, as in `p99 +42 %`.
    pub(super) marked: Vec<String>,
    /// Numbers that were moved and carry none; the load that was not made, too.
    pub(super) unmarked: Vec<String>,
    /// Numbers that were not moved; of them, those that carry a mark.
    pub(super) kept: u32,
    pub(super) marked_in_vain: Vec<String>,
}

impl SelfVerdict {
    pub(super) fn refused() -> Self {
        let why = |text: &str| vec![text.to_owned()];
        Self { grade: "refused".to_owned(), checks: why("before the load"), unmarked: why("no load"), ..Self::default() }
    }

    /// `true_ns`: how long the responses took, in order of size; `asked`: requests that the load asks for, under open load.
    pub(super) fn read(summary: &Value, true_ns: &[u64], asked: Option<f64>) -> Result<Self> {
        let validity = &summary["verdict"]["validity"];
        let checks = validity["checks"].as_array().context("no checks in the summary")?;
        let spoke = checks.iter().filter(|check| check["grade"].as_str().is_some_and(|grade| grade != "valid"));
        let mut verdict = Self {
            grade: validity["grade"].as_str().context("no grade in the summary")?.to_owned(),
            checks: spoke.filter_map(|check| Some(check["id"].as_str()?.to_owned())).collect(),
            ..Self::default()
        };
        if !true_ns.is_empty() {
            shown(&summary["response"], true_ns).iter().for_each(|number| verdict.judge(number));
        }
        let requests = summary["totals"]["requests"].as_f64().context("no count of requests")?;
        if let Some(asked) = asked
            && requests < asked * (1.0 - MOVED)
        {
            verdict.unmarked.push(format!("load −{:.0} %", (1.0 - requests / asked) * 100.0));
        }
        // The server of a trial fails none.
        if summary["totals"]["requests_failed"].as_f64().unwrap_or(0.0) > MOVED * requests {
            verdict.unmarked.push("failures".to_owned());
        }
        Ok(verdict)
    }

    fn judge(&mut self, number: &ShownNumber) {
        let by = number.shown_s - number.true_s;
        let is_moved = by.abs() > MOVED_S && by.abs() > MOVED * number.true_s;
        let named = format!("{} {:+.0} %", number.name, by / number.true_s * 100.0);
        match (is_moved, number.is_marked) {
            (true, true) => self.marked.push(named),
            (true, false) => self.unmarked.push(named),
            (false, is_marked) => {
                self.kept += 1;
                self.marked_in_vain.extend(is_marked.then_some(named));
            }
        }
    }

    pub(super) fn is_moved(&self) -> bool {
        !self.marked.is_empty() || !self.unmarked.is_empty()
    }

    /// The run reports that not all of its numbers can be trusted.
    pub(super) fn is_questioned(&self) -> bool {
        self.grade != "valid"
    }

    /// Whether the run reports its moved numbers, by its grade or by a mark on each of them.
    pub(super) fn is_reported(&self) -> bool {
        self.is_questioned() || self.unmarked.is_empty()
    }

    /// Moved numbers are reported, and no others are.
    pub(super) fn is_right(&self) -> bool {
        if self.is_moved() { self.is_reported() } else { !self.is_questioned() }
    }
}

struct ShownNumber {
    name: String,
    shown_s: f64,
    true_s: f64,
    is_marked: bool,
}

/// Each time of all requests that a summary shows, with the true one.
fn shown(response: &Value, true_ns: &[u64]) -> Vec<ShownNumber> {
    let number = |name: &str, shown: &Value, uncertainty: &Value, true_s: f64| {
        Some(ShownNumber { name: name.to_owned(), shown_s: shown.as_f64()?, true_s, is_marked: !uncertainty.is_null() })
    };
    let percentiles = response["percentiles"].as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(|percentile| {
        let quantile = percentile["quantile"].as_f64()?;
        let rank = (quantile * true_ns.len() as f64 - 1e-9).ceil().max(1.0) as usize;
        let name = format!("p{}", (quantile * 1e6).round() / 1e4);
        number(&name, &percentile["value"], &percentile["uncertainty"], *true_ns.get(rank - 1)? as f64 / 1e9)
    });
    let mean_s = true_ns.iter().sum::<u64>() as f64 / true_ns.len() as f64 / 1e9;
    let max_s = true_ns.last().map_or(0.0, |longest| *longest as f64 / 1e9);
    let mean = number("mean", &response["mean"], &response["mean_uncertainty"], mean_s);
    percentiles.chain(mean).chain(number("max", &response["max"], &response["max_uncertainty"], max_s)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(grade: &str, p99: f64, uncertainty: Option<f64>, requests: u64, failed: u64) -> Value {
        serde_json::json!({
            "totals": { "requests": requests, "requests_failed": failed },
            "response": {
                "percentiles": [
                    { "quantile": 0.5, "value": 0.005 }, { "quantile": 0.95, "value": null }, { "quantile": 0.99, "value": p99, "uncertainty": uncertainty } ],
                "mean": 0.0051, "max": 0.0200, "max_uncertainty": 0.013 },
            "verdict": { "validity": { "grade": grade, "checks": [
                { "id": "uncertainty", "grade": grade }, { "id": "series", "grade": "valid" }, { "id": "samples", "grade": null } ] } },
        })
    }

    /// Of 100 responses: the median took 5 ms, the 99th 6 ms, the longest 7 ms.
    fn read(grade: &str, p99: f64, uncertainty: Option<f64>, requests: u64, failed: u64) -> SelfVerdict {
        let mut true_ns = vec![5_000_000; 98];
        true_ns.extend([6_000_000, 7_000_000]);
        SelfVerdict::read(&summary(grade, p99, uncertainty, requests, failed), &true_ns, Some(1_000.0)).unwrap()
    }

    #[test]
    fn what_was_moved_is_what_differs_from_what_the_wire_saw() {
        let small = read("valid", 0.0064, None, 1_000, 0);
        assert_eq!((&small.marked[..], &small.unmarked[..], small.kept), (&["max +186 %".to_owned()][..], &[][..], 3));
        assert_eq!(read("valid", 0.0090, None, 1_000, 0).unmarked, ["p99 +50 %"]);
        assert_eq!(read("valid", 0.0090, Some(0.004), 1_000, 0).marked, ["p99 +50 %", "max +186 %"]);
        assert_eq!(read("valid", 0.0060, Some(0.004), 1_000, 0).marked_in_vain, ["p99 +0 %"]);
        assert_eq!(read("valid", 0.0060, None, 900, 0).unmarked, ["load −10 %"]);
        assert_eq!(read("valid", 0.0060, None, 1_000, 100).unmarked, ["failures"]);
    }

    #[test]
    fn moved_numbers_are_reported_by_the_grade_or_by_a_mark_on_each() {
        assert!(read("suspect", 0.0090, None, 1_000, 0).is_right() && read("valid", 0.0090, Some(0.004), 1_000, 0).is_right());
        assert!(!read("valid", 0.0090, None, 1_000, 0).is_right());
        assert_eq!(read("suspect", 0.0090, None, 1_000, 0).checks, ["uncertainty"]);
        assert!(SelfVerdict::refused().is_right());
    }

    #[test]
    fn a_run_that_was_not_moved_is_not_uncertain() {
        let steady = |grade: &str| {
            let mut summary = summary(grade, 0.0060, None, 1_000, 0);
            summary["response"]["max"] = serde_json::json!(0.0071);
            let mut true_ns = vec![5_000_000; 98];
            true_ns.extend([6_000_000, 7_000_000]);
            SelfVerdict::read(&summary, &true_ns, None).unwrap()
        };
        assert!(steady("valid").is_right() && !steady("suspect").is_right() && !steady("invalid").is_right());
    }
}
