//! Runs over a fleet: did every agent run its part to the end, and did all agents share one clock?

use super::check::{CheckInfo, CheckInput, grade_of};
use super::offered_rate;
use crate::{Grade, ValidityCheck};

/// Clock skew in seconds. All numbers have a resolution of one second: this part of a second may be counted in the neighbouring second.
const SKEW_SUSPECT: f64 = 0.05;
const SKEW_INVALID: f64 = 0.5;

const INFO: CheckInfo = CheckInfo {
    id: "agents",
    title: "Agents",
    limits: "suspect when an agent was lost, or its clock may have drifted more than 50 ms since the start; invalid above 500 ms",
};

/// `None`: no agents generated the load.
pub(super) fn check(input: &CheckInput<'_>) -> Option<ValidityCheck> {
    let agents = input.tally.agents();
    let furthest = agents.iter().max_by_key(|agent| agent.skew_max_ns())?;
    let lost: Vec<String> = agents.iter().filter(|agent| agent.lost).map(|agent| input.agent(agent.agent)).collect();
    let skew_s = furthest.skew_max_ns() as f64 / 1e9;
    let clocks = format!("the clock of agent {} drifted by at most {}", input.agent(furthest.agent), loadstone_units::seconds(skew_s));
    if !lost.is_empty() {
        let which = if lost.len() == 1 { format!("agent {} was", lost[0]) } else { format!("agents {} were", lost.join(", ")) };
        let (requested, started) = offered_rate::requested_and_started(input);
        let missing = match requested.saturating_sub(started) {
            0 => String::new(),
            missing => format!(", and {} of {} arrivals did not start", loadstone_units::count(missing), loadstone_units::count(requested)),
        };
        let evidence = format!("{which} lost, of {}{missing}; {clocks}", agents.len());
        let advice = "The fleet generated less load than the test asks for. The run's warnings show when and why the agent was lost. Run \
         again with all agents.";
        return Some(INFO.graded(Grade::Suspect.max(grade_of(skew_s, SKEW_SUSPECT, SKEW_INVALID)), evidence, advice));
    }
    let advice = "Load that should begin at the same time began at different times on the agents. Check the agents' clock synchronisation \
     (NTP) and the network between controller and agents.";
    Some(INFO.graded(
        grade_of(skew_s, SKEW_SUSPECT, SKEW_INVALID),
        format!("{} completed the run; {clocks}", loadstone_units::counted(agents.len() as u64, "agent")),
        advice,
    ))
}
