//! What to observe to be able to tell, as a line for the script; never what is observed already.

use metrics::Role;

use crate::facts::Facts;

/// What was observed of the target and how it stood, then the observer that would tell most.
pub(super) fn of(facts: &Facts<'_>) -> String {
    let observed = |role| facts.signals.parts_with(role).next().is_some();
    let seen = seen(facts);
    let seen = if seen.is_empty() { String::new() } else { format!("Seen: {}. ", seen.join("; ")) };
    let next = if !observed(Role::ProcessCpu) {
        format!("Observe the target's process: `observe: [observe.process({{ port: {} }})]`.", port(facts).unwrap_or(8080))
    } else if !observed(Role::SessionsActive) && !observed(Role::PoolInUse) {
        "Observe what it waits for, its database (`observe: [observe.postgres(\"postgres://…\")]`) or its own metrics, which count pools and threads \
         (`observe.prometheus(\"http://…/metrics\")`)."
            .to_owned()
    } else if !observed(Role::MachineIdle) {
        "Observe its machine: `observe: [observe.host()]`.".to_owned()
    } else {
        "Hold the highest load for a minute, so that what is short of something has time to show.".to_owned()
    };
    format!("{seen}{next}")
}

/// The observed processes, machine and sessions, at their highest.
fn seen(facts: &Facts<'_>) -> Vec<String> {
    let end = facts.tally.duration_seconds();
    let words = [(Role::ProcessCpu, "cores in use"), (Role::SessionsActive, "sessions active"), (Role::MachineIdle, "cores idle")];
    let highest = |role, words: &str| {
        let parts: Vec<_> = facts.signals.parts_with(role).collect();
        let readings = parts.into_iter().filter_map(|part| facts.signals.read(part, role)).collect::<Vec<_>>();
        let told = readings.into_iter().filter_map(|readings| {
            let most = readings.between(0.0, end).map(|(_, value)| value);
            let (most, edge) =
                if role == Role::MachineIdle { (most.reduce(f64::min)?, "at least") } else { (most.reduce(f64::max)?, "at most") };
            Some(format!("\"{}\" had {edge} {} {words}", readings.signal.observer, units::number(most)))
        });
        told.collect::<Vec<String>>()
    };
    words.into_iter().flat_map(|(role, words)| highest(role, words)).collect()
}

/// Of the target's URL.
fn port(facts: &Facts<'_>) -> Option<u16> {
    let target = facts.run.plan.target.as_deref()?;
    let (scheme, rest) = target.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let told = authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    told.or(if scheme == "https" { Some(443) } else { Some(80) })
}
