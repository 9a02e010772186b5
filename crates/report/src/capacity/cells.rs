//! Formats the parts of a capacity that all renderers share.

use loadstone_analysis::{Capacity, CapacityProbe, CapacityVerdict, LoadUnit, ObjectiveReading, ProbeLean};

use crate::terminal::Paint;

pub(super) fn word(verdict: CapacityVerdict) -> (&'static str, &'static str, Paint) {
    match verdict {
        CapacityVerdict::Found => ("✓", "FOUND", Paint::Good),
        CapacityVerdict::Rough => ("!", "ROUGHLY", Paint::Warning),
        CapacityVerdict::AtLeast => ("!", "AT LEAST", Paint::Warning),
        CapacityVerdict::Below => ("✗", "FAILS", Paint::Bad),
        CapacityVerdict::CannotTell => ("?", "CANNOT TELL", Paint::Warning),
    }
}

pub(super) fn lean(probe: &CapacityProbe) -> (&'static str, &'static str, Paint) {
    match probe.lean {
        ProbeLean::Holds => ("✓", "holds", Paint::Good),
        ProbeLean::Fails if probe.reading.backlog_grows => ("✗", "does not keep up", Paint::Bad),
        ProbeLean::Fails => ("✗", "fails", Paint::Bad),
        ProbeLean::Unusable => ("?", "measurement invalid", Paint::Warning),
    }
}

/// `212 ms (198 ms to 230 ms)`.
pub(super) fn reading(reading: &ObjectiveReading) -> String {
    let value = |value: f64| value_of(reading, value);
    let Some(measured) = reading.measured else { return loadstone_units::NONE.to_owned() };
    match (reading.low, reading.high) {
        (Some(low), Some(high)) => format!("{} ({} to {})", value(measured), value(low), value(high)),
        (Some(low), None) => format!("{} (above {})", value(measured), value(low)),
        _ => value(measured),
    }
}

/// Formats a value like those of the objective: a time, a share if the bound is a share, or a number.
pub(super) fn value_of(reading: &ObjectiveReading, value: f64) -> String {
    if reading.is_time {
        loadstone_units::seconds(value)
    } else if reading.bound <= 1.0 {
        loadstone_units::share(value)
    } else {
        loadstone_units::number(value)
    }
}

/// `✓ 160/s holds; p99 < 300ms: 212 ms (198 ms to 230 ms)`, during a search. Of several objectives it shows the one closest to its bound.
pub fn probe_line(unit: LoadUnit, probe: &CapacityProbe) -> String {
    let (sign, word, _) = lean(probe);
    let used = |of: &&ObjectiveReading| of.measured.map_or(0.0, |measured| measured / of.bound.max(1e-12));
    let nearest = probe.reading.objectives.iter().max_by(|a, b| used(a).total_cmp(&used(b)));
    let read = nearest.map_or_else(String::new, |of| format!("; {}: {}", of.objective, reading(of)));
    format!("{sign} {} {word}{read}", unit.words(probe.load))
}

/// The probes by load, so that a table reads as a curve.
pub(super) fn by_load(capacity: &Capacity) -> Vec<&CapacityProbe> {
    let mut probes: Vec<&CapacityProbe> = capacity.probes.iter().collect();
    probes.sort_by(|a, b| a.load.total_cmp(&b.load));
    probes
}

pub(super) fn cost(capacity: &Capacity) -> String {
    format!(
        "{} in {}",
        loadstone_units::counted(capacity.probes.len() as u64, "probe"),
        loadstone_units::seconds(capacity.cost_seconds.round())
    )
}

/// Which objective fails first, what limits the system there, and what limits it next, each with its title.
pub(super) fn limits(capacity: &Capacity) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(binding) = &capacity.binding {
        lines.push(("fails first", binding.clone()));
    }
    if let (Some(claim), Some(run)) = (&capacity.limited_by, &capacity.limit_run) {
        lines.push(("limited by", format!("{claim} ({run})")));
    } else if let Some(run) = &capacity.limit_run {
        lines.push(("limited by", format!("unknown: no cause was found in {run}")));
    }
    if let Some(next) = &capacity.next_limit {
        lines.push(("then", next.clone()));
    }
    if let Some(disturbed_by) = &capacity.disturbed_by {
        lines.push(("disturbed", disturbed_by.clone()));
    }
    lines
}
