//! What the workers of a pool do while all of them are busy, as the observed endpoints and databases show.

use loadstone_metrics::Role;

use crate::facts::Facts;

/// Part of the workers that must do the same for it to be what they do.
const PART_MIN: f64 = 0.6;

/// What most workers do.
pub(crate) struct WorkerOccupation {
    /// As the end of a claim: `9.8 of them are in a call to "provider"`.
    pub(crate) claim: String,
    pub(crate) evidence: String,
    /// What to do about it.
    pub(crate) advice: String,
    pub(crate) series: Vec<String>,
}

/// `None`: nothing that was observed keeps most of the workers busy.
pub(crate) fn of(facts: &Facts<'_>, workers: f64, span: (f64, f64)) -> Option<WorkerOccupation> {
    let found = calls(facts, span).or_else(|| sessions(facts, span));
    found.filter(|(count, _)| *count >= PART_MIN * workers).map(|(_, found)| found)
}

/// The endpoint with the most calls in progress.
fn calls(facts: &Facts<'_>, (from, to): (f64, f64)) -> Option<(f64, WorkerOccupation)> {
    let each = facts.called.iter().filter_map(|endpoint| Some((endpoint.in_flight.as_ref()?.mean(from, to)?, endpoint)));
    let (calls, endpoint) = each.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(calls, _)| *calls >= 0.5)?;
    let number = loadstone_units::number(calls);
    let hold = endpoint.hold.as_ref().and_then(|hold| hold.mean(from, to));
    let each = hold.map_or_else(String::new, |hold| format!(", and each took {}", loadstone_units::seconds(hold)));
    Some((
        calls,
        WorkerOccupation {
            claim: format!("{number} of them are in a call to \"{}\" on average", endpoint.name),
            evidence: format!("{number} calls to \"{}\" were in progress on average{each}", endpoint.name),
            advice: format!("Shorten the calls to \"{}\" or take them out of the request, or", endpoint.name),
            series: endpoint.in_flight.iter().chain(&endpoint.hold).map(|readings| readings.name()).collect(),
        },
    ))
}

/// The database with the most busy sessions.
fn sessions(facts: &Facts<'_>, (from, to): (f64, f64)) -> Option<(f64, WorkerOccupation)> {
    let signals = &facts.signals;
    let each = signals.parts_with(Role::SessionsActive).filter_map(|part| {
        let active = signals.read(part, Role::SessionsActive)?;
        let waiting: f64 =
            signals.read_each(part, Role::SessionsWaitingForLock).iter().filter_map(|readings| readings.mean(from, to)).sum();
        Some((active.mean(from, to)?, waiting, part, active))
    });
    let (active, waiting, part, readings) = each.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(active, ..)| *active >= 0.5)?;
    let number = loadstone_units::number(active);
    let (claim, locks) = if waiting >= PART_MIN * active {
        (
            format!("{} of them wait for a lock in \"{}\" on average", loadstone_units::number(waiting), part.observer),
            format!(", {} of them waiting for a lock", loadstone_units::number(waiting)),
        )
    } else {
        (format!("{number} of them wait for a statement in \"{}\" on average", part.observer), String::new())
    };
    Some((
        active,
        WorkerOccupation {
            claim,
            evidence: format!("{number} sessions of \"{}\" had a statement on average{locks}", part.observer),
            advice: format!("Make the statements in \"{}\" faster, or", part.observer),
            series: vec![readings.name()],
        },
    ))
}
