//! Divides the load among agents by their labels.
//!
//! Workers take arrivals and users in turn: of *w* consecutive arrivals, each worker generates one. A fraction of the workers therefore generates
//! exactly that fraction of the load. A share is therefore a number of workers, and affects nothing else in a fleet. The numbers of shared iterations
//! go to agents in turn, and therefore not by share.

use crate::facts::AgentFacts;

/// Agents with this label, and their weight relative to the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelShare {
    pub label: String,
    pub value: String,
    pub weight: u32,
}

impl std::fmt::Display for LabelShare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.label, self.value)
    }
}

/// Why the agents cannot have these shares.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ShareError {
    #[error(
        "agent {agent} has {found} of the labels with a share ({labels}), but needs exactly one: set it with `loadstone agent --label`"
    )]
    Labels { agent: String, found: usize, labels: String },
    #[error("no agent has the label {share}, which has a share of the load")]
    Nobody { share: String },
    #[error(
        "the agents with {share} have {here} workers together and need {needed}: raise `loadstone agent --workers`, or use rounder shares"
    )]
    TooFew { share: String, here: u32, needed: u32 },
    #[error("the share of {share} is {workers} workers, fewer than its {agents} agents: use fewer agents, or give the others more workers")]
    Idle { share: String, workers: u32, agents: usize },
}

/// How many workers of each agent generate load, so that the shares are exact. Uses as many workers as possible.
///
/// # Errors
/// [`ShareError`]
pub fn workers_by_share(agents: &[AgentFacts], shares: &[LabelShare]) -> Result<Vec<u32>, ShareError> {
    let groups = groups(agents, shares)?;
    let divisor = shares.iter().fold(0, |divisor, share| common_divisor(divisor, share.weight)).max(1);
    let counts: Vec<(&LabelShare, u32, u32)> = shares
        .iter()
        .zip(&groups)
        .map(|(share, group)| (share, share.weight / divisor, group.iter().map(|agent| agents[*agent].workers).sum()))
        .collect();
    let times = counts.iter().map(|(_, part, here)| here / part).min().unwrap_or(0);
    let mut workers = vec![0; agents.len()];
    for ((share, part, here), group) in counts.into_iter().zip(&groups) {
        let wanted = times * part;
        if times == 0 && here < part {
            return Err(ShareError::TooFew { share: share.to_string(), here, needed: part });
        }
        if times > 0 && (wanted as usize) < group.len() {
            return Err(ShareError::Idle { share: share.to_string(), workers: wanted, agents: group.len() });
        }
        deal(wanted, group, agents, &mut workers);
    }
    Ok(workers)
}

/// The agents of each share.
fn groups(agents: &[AgentFacts], shares: &[LabelShare]) -> Result<Vec<Vec<usize>>, ShareError> {
    let has = |agent: &AgentFacts, share: &LabelShare| agent.labels.get(&share.label) == Some(&share.value);
    for agent in agents {
        let found = shares.iter().filter(|share| has(agent, share)).count();
        if found != 1 {
            let labels = shares.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(ShareError::Labels { agent: agent.name.clone(), found, labels });
        }
    }
    let group = |share: &LabelShare| (0..agents.len()).filter(|agent| has(&agents[*agent], share)).collect::<Vec<_>>();
    let groups: Vec<Vec<usize>> = shares.iter().map(group).collect();
    match shares.iter().zip(&groups).find(|(_, group)| group.is_empty()) {
        Some((share, _)) => Err(ShareError::Nobody { share: share.to_string() }),
        None => Ok(groups),
    }
}

/// Assigns workers one by one, each to the agent of the group with the fewest assigned and a free worker.
fn deal(wanted: u32, group: &[usize], agents: &[AgentFacts], workers: &mut [u32]) {
    for _ in 0..wanted {
        let free = group.iter().copied().filter(|agent| workers[*agent] < agents[*agent].workers);
        if let Some(next) = free.min_by_key(|agent| workers[*agent]) {
            workers[next] += 1;
        }
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str, region: &str, workers: u32) -> AgentFacts {
        AgentFacts { name: name.to_owned(), workers, labels: [("region".to_owned(), region.to_owned())].into(), ..AgentFacts::default() }
    }

    fn shares(weights: &[(&str, u32)]) -> Vec<LabelShare> {
        let share = |(value, weight): &(&str, u32)| LabelShare { label: "region".to_owned(), value: (*value).to_owned(), weight: *weight };
        weights.iter().map(share).collect()
    }

    fn refusal(agents: &[AgentFacts], weights: &[(&str, u32)]) -> String {
        workers_by_share(agents, &shares(weights)).unwrap_err().to_string()
    }

    #[test]
    fn shares_are_exact_and_use_as_many_workers_as_possible() {
        let agents = [agent("a", "eu", 4), agent("b", "us", 4), agent("c", "eu", 4)];
        assert_eq!(workers_by_share(&agents, &shares(&[("eu", 700), ("us", 300)])), Ok(vec![4, 3, 3]));
        assert_eq!(workers_by_share(&agents, &shares(&[("eu", 2), ("us", 1)])), Ok(vec![4, 4, 4]));
        assert_eq!(workers_by_share(&agents, &shares(&[("us", 500), ("eu", 500)])), Ok(vec![2, 4, 2]));
        let uneven = [agent("a", "eu", 1), agent("b", "eu", 5), agent("c", "us", 2)];
        assert_eq!(
            workers_by_share(&uneven, &shares(&[("eu", 3), ("us", 1)])),
            Ok(vec![1, 5, 2]),
            "an agent with more workers contributes more"
        );
    }

    #[test]
    fn inexact_shares_are_refused_with_their_requirements() {
        let agents = [agent("a", "eu", 4), agent("b", "us", 4)];
        assert!(refusal(&agents, &[("eu", 7), ("us", 3)]).contains("region=eu have 4 workers together and need 7"));
        assert!(refusal(&agents, &[("eu", 1)]).contains("agent b has 0 of the labels"));
        assert!(refusal(&agents, &[("eu", 1), ("us", 1), ("moon", 1)]).contains("no agent has the label region=moon"));
        assert!(refusal(&agents, &[("eu", 1), ("eu", 1), ("us", 1)]).contains("agent a has 2 of the labels"));
        let many = [agent("a", "eu", 9), agent("b", "us", 1), agent("c", "us", 1)];
        assert!(refusal(&many, &[("eu", 9), ("us", 1)]).contains("the share of region=us is 1 workers, fewer than its 2 agents"));
    }
}
