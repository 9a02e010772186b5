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
pub(super) fn wilson(hits: usize, of: usize) -> (f64, f64) {
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
        text += &confidence(&faulty);
    }
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

/// How often a first finding of each confidence was right. Those that name no cause are not counted.
fn confidence(faulty: &[&Judged<'_>]) -> String {
    let mut text = "| confidence of the first finding | findings | right |\n|---|---|---|\n".to_owned();
    for confidence in ["high", "medium", "low"] {
        let names_a_cause = |one: &&&Judged<'_>| matches!(one.rating, Rating::Right | Rating::InThree | Rating::Wrong);
        let first = |one: &&&Judged<'_>| one.conclusion.findings.first().is_some_and(|finding| finding.confidence == confidence);
        let of: Vec<_> = faulty.iter().filter(names_a_cause).filter(first).collect();
        let right = of.iter().filter(|one| one.rating == Rating::Right).count();
        if !of.is_empty() {
            text += &format!("| {confidence} | {} | {} |\n", of.len(), interval(right, of.len()));
        }
    }
    text + "\n"
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
    use super::*;

    /// Values from Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, method 3.
    #[test]
    fn the_interval_is_wilsons() {
        for (hits, of, low, high) in [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)] {
            let interval = wilson(hits, of);
            assert!((interval.0 - low).abs() < 1e-4 && (interval.1 - high).abs() < 1e-4, "{hits} of {of}: {interval:?}");
        }
    }
}
