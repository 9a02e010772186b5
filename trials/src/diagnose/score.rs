//! Shares with their intervals, and the tables of the benchmark.

use std::collections::{BTreeMap, BTreeSet};

use super::judging::{Catalogue, Cell, CellConclusion, Rating, judge};
use super::quiet::BUSY_MAX;

/// Half width of a 95 % interval in standard deviations.
const Z: f64 = 1.959_964;

/// One cell with its rating.
pub(super) struct Judged<'a> {
    pub(super) cell: Cell,
    pub(super) conclusion: &'a CellConclusion,
    pub(super) rating: Rating,
    pub(super) is_healthy: bool,
}

/// Conclusions, judged by the current expectations, without cells that the catalogue no longer has.
pub(super) fn judged<'a>(catalogue: &Catalogue, all: &'a [CellConclusion]) -> Vec<Judged<'a>> {
    let one = |conclusion: &'a CellConclusion| {
        let cell = Cell::parse(&conclusion.cell).ok()?;
        let fault = catalogue.fault(&cell.fault)?;
        let rating = judge(catalogue, fault, fault.severity(&cell.severity)?, &cell, conclusion);
        Some(Judged { cell, conclusion, rating, is_healthy: fault.is_healthy })
    };
    all.iter().filter_map(one).collect()
}

/// 95 % interval of a share (Wilson 1927): right also where none or all of a few hit.
pub(crate) fn wilson(hits: usize, of: usize) -> (f64, f64) {
    if of == 0 {
        return (0.0, 1.0);
    }
    let (n, share) = (of as f64, hits as f64 / of as f64);
    let middle = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    (((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0))
}

/// The report: when and with what; faults by observation, stack and fault; confidence; healthy systems.
pub(super) fn tables(judged: &[Judged<'_>]) -> String {
    let (healthy, faulty): (Vec<&Judged<'_>>, Vec<&Judged<'_>>) = judged.iter().partition(|one| one.is_healthy);
    let mut text = origin(judged);
    if !faulty.is_empty() {
        text += "**Planted faults**\n\n";
        text += &by("observed", &faulty, |one| one.cell.observe.clone());
        text += &by("stack", &faulty, |one| one.cell.stack.clone());
        text += &by("load", &faulty, |one| one.cell.load.clone());
        text += &by("severity", &faulty, |one| one.cell.severity.clone());
        text += &by("fault", &faulty, |one| one.cell.fault.clone());
    }
    let all: Vec<&Judged<'_>> = judged.iter().collect();
    text += &reliability("stack", &all, |one| &one.cell.stack);
    text += &reliability("load", &all, |one| &one.cell.load);
    if !healthy.is_empty() {
        text += "**Healthy systems** (wrong: a false accusation)\n\n";
        text += &by("stack", &healthy, |one| one.cell.stack.clone());
        text += &by("observed", &healthy, |one| one.cell.observe.clone());
    }
    text
}

/// When, of which state of the sources, and on how quiet a machine.
fn origin(judged: &[Judged<'_>]) -> String {
    let distinct = |value: fn(&CellConclusion) -> &str| {
        let values: BTreeSet<&str> = judged.iter().map(|one| value(one.conclusion)).collect();
        values.into_iter().collect::<Vec<_>>().join(", ")
    };
    let busy = judged.iter().filter(|one| one.conclusion.busy > BUSY_MAX).count();
    let of = judged.len();
    let warning = if busy > 0 {
        format!("\nBefore {busy} of them the machine was busy with other things for more than a tenth.")
    } else {
        String::new()
    };
    format!(
        "{of} runs of {} by `{}`, commit {}.{warning}\n\n",
        distinct(|conclusion| &conclusion.date),
        distinct(|conclusion| &conclusion.command),
        distinct(|conclusion| &conclusion.commit)
    )
}

/// One row for each value of a column, and one for all.
fn by(column: &str, judged: &[&Judged<'_>], value: impl Fn(&Judged<'_>) -> String) -> String {
    let mut groups: BTreeMap<String, Vec<Rating>> = BTreeMap::new();
    for one in judged {
        groups.entry(value(one)).or_default().push(one.rating);
    }
    let heads: Vec<&str> = Rating::ALL.iter().map(|rating| rating.name()).collect();
    let mut text = format!("| {column} | runs | {} |\n|---|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for (name, ratings) in &groups {
        text += &row(name, ratings);
    }
    if groups.len() > 1 {
        text += &row("together", &judged.iter().map(|one| one.rating).collect::<Vec<_>>());
    }
    text + "\n"
}

fn row(name: &str, ratings: &[Rating]) -> String {
    let share = |rating: Rating| {
        let hits = ratings.iter().filter(|one| **one == rating).count();
        // The two that the targets are about carry their interval.
        let of = ratings.len();
        if matches!(rating, Rating::Right | Rating::Wrong) { format!("{hits}: {}", interval(hits, of)) } else { hits.to_string() }
    };
    format!("| {name} | {} | {} |\n", ratings.len(), Rating::ALL.map(share).join(" | "))
}

/// `83 % (66–93)`
fn interval(hits: usize, of: usize) -> String {
    let (low, high) = wilson(hits, of);
    format!("{:.0} % ({:.0}–{:.0})", hits as f64 / of.max(1) as f64 * 100.0, low * 100.0, high * 100.0)
}

/// Confidences with the share of right findings that each promises (docs/how-findings-work.md).
const CONFIDENCES: [(&str, &str); 3] = [("high", "97 %"), ("medium", "80 %"), ("low", "50 %")];

/// Confidence shown against share right, by one column: of the first findings that name a cause, also those about healthy systems, which are all false.
fn reliability(column: &str, judged: &[&Judged<'_>], value: impl for<'a> Fn(&'a Judged<'_>) -> &'a str) -> String {
    let mut groups: BTreeMap<&str, Vec<&Judged<'_>>> = BTreeMap::new();
    for one in judged.iter().copied().filter(|one| names_a_cause(one)) {
        groups.entry(value(one)).or_default().push(one);
    }
    if groups.is_empty() {
        return String::new();
    }
    let heads: Vec<String> = CONFIDENCES.iter().map(|(confidence, aim)| format!("{confidence}: right in {aim}?")).collect();
    let mut text =
        format!("**Confidence shown against share right**, by {column}\n\n| {column} | {} |\n|---|---|---|---|\n", heads.join(" | "));
    let together: Vec<&Judged<'_>> = groups.values().flatten().copied().collect();
    for (name, of) in groups.iter().map(|(name, of)| (*name, of)).chain([("together", &together)]) {
        let cells: Vec<String> = CONFIDENCES.iter().map(|(confidence, _)| share_right(of, confidence)).collect();
        text += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    text + "\n"
}

/// A symptom is true, and no cause. A healthy system without a finding shows no confidence.
fn names_a_cause(one: &Judged<'_>) -> bool {
    let is_cause = matches!(one.rating, Rating::Right | Rating::InThree | Rating::Wrong);
    is_cause && (!one.is_healthy || one.rating == Rating::Wrong) && !one.conclusion.findings.is_empty()
}

/// `12 of 13: 92 % (67–99), 0 false`
fn share_right(judged: &[&Judged<'_>], confidence: &str) -> String {
    let of: Vec<_> =
        judged.iter().filter(|one| one.conclusion.findings.first().is_some_and(|first| first.confidence == confidence)).collect();
    let count = |rating: Rating| of.iter().filter(|one| one.rating == rating).count();
    match of.len() {
        0 => "none".to_owned(),
        all => {
            let right = count(Rating::Right);
            format!("{right} of {all}: {}, {} false", interval(right, all), count(Rating::Wrong))
        }
    }
}

/// The conclusions that were not right.
pub(super) fn misses(judged: &[Judged<'_>]) -> String {
    let missed: Vec<&Judged<'_>> = judged.iter().filter(|one| one.rating != Rating::Right).collect();
    if missed.is_empty() {
        return String::new();
    }
    let mut text = "**Not right**\n\n| cell | judged | reported first | run |\n|---|---|---|---|\n".to_owned();
    for one in missed {
        let first = one.conclusion.first().replace('|', "\\|");
        text += &format!("| {} | {} | {first} | {} |\n", one.cell.name(), one.rating.name(), one.conclusion.run);
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Values from Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, method 3.
    #[test]
    fn the_interval_is_wilsons() {
        for (hits, of, low, high) in [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)] {
            let interval = wilson(hits, of);
            assert!((interval.0 - low).abs() < 1e-4 && (interval.1 - high).abs() < 1e-4, "{hits} of {of}: {interval:?}");
        }
    }

    /// A vague symptom and a quiet healthy system show no confidence in a cause; an accused healthy system shows a false one.
    #[test]
    fn reliability_counts_findings_that_name_a_cause() {
        let of = |confidence: Option<&str>| {
            let findings: Vec<_> =
                confidence.iter().map(|confidence| json!({ "rule": "cpu", "confidence": confidence, "claim": "a" })).collect();
            CellConclusion::of("", &json!({ "verdict": { "findings": { "findings": findings } } }), "", "")
        };
        let (high, low, quiet) = (of(Some("high")), of(Some("low")), of(None));
        let judged = |stack: &str, conclusion, rating, is_healthy| Judged {
            cell: Cell::parse(&format!("{stack}/x/plain/ramp/all/1")).unwrap(),
            conclusion,
            rating,
            is_healthy,
        };
        let all = [
            judged("node", &high, Rating::Right, false),
            judged("node", &high, Rating::InThree, false),
            judged("node", &high, Rating::Abstained, false),
            judged("go", &low, Rating::Wrong, true),
            judged("go", &quiet, Rating::Right, true),
        ];
        let text = reliability("stack", &all.iter().collect::<Vec<_>>(), |one| &one.cell.stack);
        let rows: Vec<&str> = text.lines().skip(4).collect();
        assert_eq!(rows[0], "| go | none | none | 0 of 1: 0 % (0–79), 1 false |");
        assert_eq!(rows[1], "| node | 1 of 2: 50 % (9–91), 0 false | none | none |");
        assert_eq!(rows[2], "| together | 1 of 2: 50 % (9–91), 0 false | none | 0 of 1: 0 % (0–79), 1 false |");
    }
}
