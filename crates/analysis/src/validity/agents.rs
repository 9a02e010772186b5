//! Of a run over a fleet: did every agent make its part to the end, and at the same time as the others?

use super::check::{CheckInfo, CheckInput, grade_of};
use super::offered_rate;
use crate::{Grade, ValidityCheck};

/// Of a second, which is the grain of every number: as much of it may count in the one beside it.
const SKEW_SUSPECT: f64 = 0.05;
const SKEW_INVALID: f64 = 0.5;

const INFO: CheckInfo = CheckInfo {
    id: "agents",
    title: "Agents",
    limits: "suspect when an agent was lost, or its clock may have gone 50 ms from where it was at the start; invalid above 500 ms",
};

/// `None`: no agents made the load.
pub(super) fn check(input: &CheckInput<'_>) -> Option<ValidityCheck> {
    let agents = input.tally.agents();
    let furthest = agents.iter().max_by_key(|agent| agent.skew_max_ns())?;
    let lost: Vec<String> = agents.iter().filter(|agent| agent.lost).map(|agent| input.agent(agent.agent)).collect();
    let skew_s = furthest.skew_max_ns() as f64 / 1e9;
    let clocks =
        format!("the clock of agent {} went {} at most from where it was", input.agent(furthest.agent), loadstone_units::seconds(skew_s));
    if !lost.is_empty() {
        let which = if lost.len() == 1 { format!("agent {} was", lost[0]) } else { format!("agents {} were", lost.join(", ")) };
        let (asked, made) = offered_rate::asked_and_made(input);
        let missing = match asked.saturating_sub(made) {
            0 => String::new(),
            missing => format!(", and {} of {} arrivals were not made", loadstone_units::count(missing), loadstone_units::count(asked)),
        };
        let evidence = format!("{which} lost, of {}{missing}; {clocks}", agents.len());
        let advice = "Less load was made than was asked for; the run's warnings say when and why. Run again with all agents.";
        return Some(INFO.graded(Grade::Suspect.max(grade_of(skew_s, SKEW_SUSPECT, SKEW_INVALID)), evidence, advice));
    }
    let advice = "What began together on the controller's clock did not on the agents'. Look at what sets their clocks (NTP), and at the way \
                  to them.";
    Some(INFO.graded(grade_of(skew_s, SKEW_SUSPECT, SKEW_INVALID), format!("{} stayed to the end; {clocks}", agents.len()), advice))
}
