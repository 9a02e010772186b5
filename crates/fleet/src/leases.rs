//! Assigns the numbers of a feeder, or of iterations that all agents share, to agents: in blocks, each number once.
//!
//! An agent requests about as many as it uses in a second, so that few are uncertain if it dies. If the numbers are finite, a block is at most a
//! fraction of the rest (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Computers C-36, 1987). If nothing is left and an agent needs
//! a number, the others return what they have not used. Numbers are therefore exhausted only when all are used.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use crate::message::ToAgent;
use crate::numbers::{HeldNumbers, NumberRequest, NumberSource};

/// All numbers that were lent in a run.
#[derive(Debug, Default)]
pub(crate) struct NumberLeases(BTreeMap<NumberSource, LentNumbers>);

/// A message, and the agent that receives it.
pub(crate) type LeaseAnswer = (usize, ToAgent);

#[derive(Debug, Default)]
struct LentNumbers {
    end: Option<u64>,
    next: u64,
    returned: VecDeque<Range<u64>>,
    by_agent: BTreeMap<usize, LoansOfAgent>,
    /// Agents that have no number and need some, in the order of their requests, with the number they want.
    waiting: VecDeque<(usize, u64)>,
    /// Agents that were asked to return unused numbers, and have not answered yet.
    recalled: BTreeSet<usize>,
}

/// The numbers that one agent may not have used.
#[derive(Debug, Default)]
struct LoansOfAgent {
    /// Number of loans so far.
    loans: u64,
    /// Ranges, each with the number of its loan. 0: the agent has reported that it holds the range.
    held: Vec<(u64, Range<u64>)>,
}

impl LoansOfAgent {
    fn lend(&mut self, numbers: Range<u64>) {
        self.loans += 1;
        self.held.push((self.loans, numbers));
    }

    fn holds(&self) -> u64 {
        self.held.iter().map(|(_, numbers)| numbers.end - numbers.start).sum()
    }

    /// Forgets the loans up to this number, since the agent has reported what remains of them.
    fn forget(&mut self, loans: u64) {
        self.held.retain(|(number, _)| *number > loans);
    }
}

impl NumberLeases {
    /// `agents`: the number of agents that share the numbers.
    pub(crate) fn ask(&mut self, agent: usize, agents: usize, request: NumberRequest) -> Vec<LeaseAnswer> {
        let lent = self.0.entry(request.source).or_insert_with(|| LentNumbers { end: request.end, ..LentNumbers::default() });
        let mut answers = Vec::new();
        if lent.left() != Some(0) {
            answers.push(lent.lend(request.source, agent, agents, request.wanted));
        } else if request.urgent {
            lent.waiting.push_back((agent, request.wanted));
            lent.serve_waiting(request.source, agents, &mut answers);
        } else {
            answers.push((agent, ToAgent::Numbers { source: request.source, from: 0, to: 0, left: 0 }));
        }
        answers
    }

    /// Records which numbers an agent holds, as it reported.
    pub(crate) fn record_held(&mut self, agent: usize, held: HeldNumbers) {
        if let Some(loans) = self.0.get_mut(&held.source).and_then(|lent| lent.by_agent.get_mut(&agent)) {
            loans.forget(held.loans);
            loans.held.extend(held.ranges.into_iter().map(|range| (0, range)));
        }
    }

    /// Takes the numbers that an agent returns on request.
    pub(crate) fn give_back(&mut self, agent: usize, agents: usize, back: HeldNumbers) -> Vec<LeaseAnswer> {
        let (mut answers, source) = (Vec::new(), back.source);
        if let Some(lent) = self.0.get_mut(&source) {
            lent.recalled.remove(&agent);
            lent.by_agent.entry(agent).or_default().forget(back.loans);
            lent.returned.extend(back.ranges.into_iter().filter(|range| !range.is_empty()));
            lent.serve_waiting(source, agents, &mut answers);
        }
        answers
    }

    /// Takes the numbers of an agent that ends and has reported what it holds. Nobody there uses them any more, so they go to others.
    pub(crate) fn take_back(&mut self, agent: usize, agents: usize) -> Vec<LeaseAnswer> {
        let mut answers = Vec::new();
        for (source, lent) in &mut self.0 {
            let held = lent.by_agent.remove(&agent).unwrap_or_default().held;
            lent.returned.extend(held.into_iter().map(|(_, numbers)| numbers).filter(|numbers| !numbers.is_empty()));
            lent.forget(agent);
            lent.serve_waiting(*source, agents, &mut answers);
        }
        answers
    }

    /// Forgets a lost agent. Returns how many rows and iterations it may or may not have used. They are assigned to nobody, as none may be used
    /// twice.
    pub(crate) fn lose(&mut self, agent: usize, agents: usize) -> (UncertainNumbers, Vec<LeaseAnswer>) {
        let (mut uncertain, mut answers) = (UncertainNumbers::default(), Vec::new());
        for (source, lent) in &mut self.0 {
            let held = lent.by_agent.remove(&agent).map_or(0, |loans| loans.holds());
            match source {
                NumberSource::Feeder(_) => uncertain.rows += held,
                NumberSource::Leaf(_) => uncertain.iterations += held,
            }
            lent.forget(agent);
            lent.serve_waiting(*source, agents, &mut answers);
        }
        (uncertain, answers)
    }
}

/// Numbers that a lost agent may or may not have used.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct UncertainNumbers {
    pub(crate) rows: u64,
    pub(crate) iterations: u64,
}

impl LentNumbers {
    /// Removes an agent that neither waits nor is waited for any more.
    fn forget(&mut self, agent: usize) {
        self.waiting.retain(|(of, _)| *of != agent);
        self.recalled.remove(&agent);
    }

    /// Numbers that no agent has. `None`: unlimited.
    fn left(&self) -> Option<u64> {
        let returned: u64 = self.returned.iter().map(|range| range.end - range.start).sum();
        self.end.map(|end| end.saturating_sub(self.next) + returned)
    }

    fn lend(&mut self, source: NumberSource, agent: usize, agents: usize, wanted: u64) -> LeaseAnswer {
        let part = self.left().map_or(u64::MAX, |left| left.div_ceil(2 * agents.max(1) as u64));
        let block = wanted.min(part).max(1);
        let numbers = match self.returned.pop_front() {
            Some(range) if range.end - range.start > block => {
                self.returned.push_front(range.start + block..range.end);
                range.start..range.start + block
            }
            Some(range) => range,
            None => {
                let to = (self.next + block).min(self.end.unwrap_or(u64::MAX));
                std::mem::replace(&mut self.next, to)..to
            }
        };
        self.by_agent.entry(agent).or_default().lend(numbers.clone());
        (agent, ToAgent::Numbers { source, from: numbers.start, to: numbers.end, left: self.left().unwrap_or(u64::MAX) })
    }

    /// Serves waiting agents from the available numbers. If these do not suffice, it asks the other agents to return unused ones. If no agent has
    /// any, all numbers are used.
    fn serve_waiting(&mut self, source: NumberSource, agents: usize, answers: &mut Vec<LeaseAnswer>) {
        while self.left() != Some(0)
            && let Some((agent, wanted)) = self.waiting.pop_front()
        {
            answers.push(self.lend(source, agent, agents, wanted));
        }
        if self.waiting.is_empty() || !self.recalled.is_empty() {
            return;
        }
        let waits = |agent: &usize| self.waiting.iter().any(|(of, _)| of == agent);
        self.recalled = self.by_agent.iter().filter(|(agent, loans)| loans.holds() > 0 && !waits(agent)).map(|(agent, _)| *agent).collect();
        if self.recalled.is_empty() {
            let none = |agent| (agent, ToAgent::Numbers { source, from: 0, to: 0, left: 0 });
            answers.extend(self.waiting.drain(..).map(|(agent, _)| none(agent)));
        }
        answers.extend(self.recalled.iter().map(|agent| (*agent, ToAgent::Recall(source))));
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "the list may contain several ranges")]
mod tests {
    use super::*;

    const SOURCE: NumberSource = NumberSource::Feeder(3);

    fn request(end: Option<u64>, wanted: u64, urgent: bool) -> NumberRequest {
        NumberRequest { source: SOURCE, end, wanted, urgent }
    }

    fn lent(answers: &[LeaseAnswer]) -> Vec<(usize, Range<u64>)> {
        let numbers = |(agent, answer): &LeaseAnswer| match answer {
            ToAgent::Numbers { from, to, .. } => Some((*agent, *from..*to)),
            _ => None,
        };
        answers.iter().filter_map(numbers).collect()
    }

    fn recalled(answers: &[LeaseAnswer]) -> Vec<usize> {
        answers.iter().filter(|(_, answer)| matches!(answer, ToAgent::Recall(_))).map(|(agent, _)| *agent).collect()
    }

    fn held(loans: u64, ranges: &[Range<u64>]) -> HeldNumbers {
        HeldNumbers { source: SOURCE, loans, ranges: ranges.to_vec() }
    }

    #[test]
    fn a_block_is_limited_to_a_fraction_of_the_rest() {
        let mut leases = NumberLeases::default();
        assert_eq!(lent(&leases.ask(0, 2, request(Some(100), 10, true))), [(0, 0..10)]);
        assert_eq!(lent(&leases.ask(1, 2, request(Some(100), 1_000, false))), [(1, 10..33)]);
        assert_eq!(lent(&leases.ask(0, 2, request(None, 7, true))), [(0, 33..40)], "the end of the source is already known");
    }

    #[test]
    fn unlimited_numbers_never_end() {
        let mut leases = NumberLeases::default();
        let received: Vec<_> = (0..3).flat_map(|agent| lent(&leases.ask(agent % 2, 2, request(None, 3, true)))).collect();
        assert_eq!(received, [(0, 0..3), (1, 3..6), (0, 6..9)]);
    }

    #[test]
    fn unused_numbers_return_to_agents_that_need_them() {
        let mut leases = NumberLeases::default();
        assert_eq!(lent(&leases.ask(0, 1, request(Some(4), 2, true))), [(0, 0..2)]);
        assert_eq!(lent(&leases.ask(1, 1, request(Some(4), 9, true))), [(1, 2..3)]);
        assert_eq!(lent(&leases.ask(1, 1, request(Some(4), 9, true))), [(1, 3..4)]);
        let ahead = leases.ask(1, 1, request(Some(4), 9, false));
        assert_eq!((lent(&ahead), recalled(&ahead)), (vec![(1, 0..0)], vec![]), "a request ahead takes nothing from others");
        let answers = leases.ask(1, 2, request(Some(4), 9, true));
        assert_eq!((lent(&answers), recalled(&answers)), (vec![], vec![0]));
        assert!(leases.ask(2, 2, request(Some(4), 9, true)).iter().all(|(agent, _)| *agent != 0), "agent 0 was asked once");
        let back = leases.give_back(0, 2, held(1, &[1..2]));
        assert_eq!((lent(&back), recalled(&back)), (vec![(1, 1..2)], vec![1]), "agent 2 still waits");
        assert_eq!(lent(&leases.give_back(1, 2, held(3, &[]))), [(2, 0..0)], "all are used");
    }

    #[test]
    fn a_loan_in_transit_is_not_returned() {
        let mut leases = NumberLeases::default();
        leases.ask(0, 1, request(Some(2), 1, true));
        leases.ask(0, 1, request(Some(2), 1, true));
        leases.ask(1, 2, request(Some(2), 1, true));
        // The agent had received the first of its two loans when it answered.
        let back = leases.give_back(0, 2, held(1, &[0..1]));
        assert_eq!(lent(&back), [(1, 0..1)]);
        assert_eq!(leases.lose(0, 2).0.rows, 1);
    }

    #[test]
    fn unused_numbers_of_an_agent_that_ends_go_to_others() {
        let mut leases = NumberLeases::default();
        leases.ask(0, 2, request(Some(6), 6, true));
        leases.ask(0, 2, request(Some(6), 6, true));
        let mut received: Vec<u64> = Vec::new();
        loop {
            let answers = leases.ask(1, 2, request(Some(6), 6, true));
            received.extend(lent(&answers).into_iter().flat_map(|(_, range)| range));
            if lent(&answers).is_empty() {
                break;
            }
        }
        assert_eq!(received, [3, 4, 5], "agent 1 waits now");
        // It has used one number of its first loan; the second loan has not arrived yet.
        leases.record_held(0, held(1, &[1..2]));
        assert_eq!(lent(&leases.take_back(0, 2)), [(1, 2..3)]);
        assert_eq!(lent(&leases.ask(1, 1, request(Some(6), 6, true))), [(1, 1..2)]);
        assert_eq!(leases.lose(0, 1).0, UncertainNumbers::default(), "no number is uncertain");
    }

    #[test]
    fn numbers_of_a_lost_agent_are_uncertain_and_not_reused() {
        let mut leases = NumberLeases::default();
        leases.ask(0, 2, request(Some(40), 10, true));
        leases.ask(0, 2, request(Some(40), 5, false));
        leases.record_held(0, held(1, &[8..10]));
        let waits = |leases: &mut NumberLeases| leases.ask(1, 2, request(Some(40), 1_000, true));
        let mut received: Vec<u64> = Vec::new();
        loop {
            let answers = waits(&mut leases);
            if lent(&answers).is_empty() {
                assert_eq!(recalled(&answers), [0]);
                break;
            }
            received.extend(lent(&answers).into_iter().flat_map(|(_, range)| range));
        }
        assert!(received.into_iter().eq(15..40));
        let (uncertain, answers) = leases.lose(0, 2);
        assert_eq!((uncertain.rows, uncertain.iterations), (7, 0));
        assert_eq!(lent(&answers), [(1, 0..0)], "the waiting agent learns that nothing is left");
    }
}
