//! Which numbers of a feeder, or of iterations that all share, go to which agent: blocks, each number once.
//!
//! An agent asks for about what it uses in a second, so that little is in doubt when it dies. Of numbers that end it is lent no more than a part of
//! what is left (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Computers C-36, 1987). Where nothing is left and one of them needs
//! a number, the others give back what they have not used: numbers are at an end only when all are used.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use crate::message::ToAgent;
use crate::numbers::{HeldNumbers, NumberRequest, NumberSource};

/// Everything that was lent in a run.
#[derive(Debug, Default)]
pub(crate) struct NumberLeases(BTreeMap<NumberSource, LentNumbers>);

/// To whom what is said.
pub(crate) type LeaseAnswer = (usize, ToAgent);

#[derive(Debug, Default)]
struct LentNumbers {
    end: Option<u64>,
    next: u64,
    returned: VecDeque<Range<u64>>,
    by_agent: BTreeMap<usize, LoansOfAgent>,
    /// Agents that have none and need some, in the order in which they asked, with what they want.
    waiting: VecDeque<(usize, u64)>,
    /// Agents that were asked for what they do not use, and have not answered yet.
    recalled: BTreeSet<usize>,
}

/// What one agent may not have used.
#[derive(Debug, Default)]
struct LoansOfAgent {
    /// Loans so far.
    loans: u64,
    /// Each with the number of its loan; 0: it was told to be held.
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

    /// All that came until then is known.
    fn forget(&mut self, loans: u64) {
        self.held.retain(|(number, _)| *number > loans);
    }
}

impl NumberLeases {
    /// `agents`: how many share the numbers.
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

    /// An agent tells what it has.
    pub(crate) fn told(&mut self, agent: usize, held: HeldNumbers) {
        if let Some(loans) = self.0.get_mut(&held.source).and_then(|lent| lent.by_agent.get_mut(&agent)) {
            loans.forget(held.loans);
            loans.held.extend(held.ranges.into_iter().map(|range| (0, range)));
        }
    }

    /// An agent gives back what it has, as it was asked to.
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

    /// An agent ends, and has told what it has. Nobody there uses any of it now: it goes to others.
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

    /// An agent is gone. Returns rows and iterations that it may have used or not; they are given to nobody, as none is to be used twice.
    pub(crate) fn lose(&mut self, agent: usize, agents: usize) -> (NumbersInDoubt, Vec<LeaseAnswer>) {
        let (mut doubt, mut answers) = (NumbersInDoubt::default(), Vec::new());
        for (source, lent) in &mut self.0 {
            let held = lent.by_agent.remove(&agent).map_or(0, |loans| loans.holds());
            match source {
                NumberSource::Feeder(_) => doubt.rows += held,
                NumberSource::Leaf(_) => doubt.iterations += held,
            }
            lent.forget(agent);
            lent.serve_waiting(*source, agents, &mut answers);
        }
        (doubt, answers)
    }
}

/// What an agent that is lost may have used or not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NumbersInDoubt {
    pub(crate) rows: u64,
    pub(crate) iterations: u64,
}

impl LentNumbers {
    /// An agent neither waits nor is waited for any more.
    fn forget(&mut self, agent: usize) {
        self.waiting.retain(|(of, _)| *of != agent);
        self.recalled.remove(&agent);
    }

    /// Numbers that nobody has; `None`: without end.
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

    /// Gives those who wait what there is. Where that is not enough, the others are asked for what they do not use; where they have nothing, all
    /// numbers are used.
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
#[expect(clippy::single_range_in_vec_init, reason = "one range of several that there may be")]
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
    fn blocks_are_what_is_wanted_and_no_more_than_a_part_of_what_is_left() {
        let mut leases = NumberLeases::default();
        assert_eq!(lent(&leases.ask(0, 2, request(Some(100), 10, true))), [(0, 0..10)]);
        assert_eq!(lent(&leases.ask(1, 2, request(Some(100), 1_000, false))), [(1, 10..33)]);
        assert_eq!(lent(&leases.ask(0, 2, request(None, 7, true))), [(0, 33..40)], "its end is known already");
    }

    #[test]
    fn numbers_without_end_never_end() {
        let mut leases = NumberLeases::default();
        let given: Vec<_> = (0..3).flat_map(|agent| lent(&leases.ask(agent % 2, 2, request(None, 3, true)))).collect();
        assert_eq!(given, [(0, 0..3), (1, 3..6), (0, 6..9)]);
    }

    #[test]
    fn what_others_do_not_use_is_given_back_to_whoever_needs_it() {
        let mut leases = NumberLeases::default();
        assert_eq!(lent(&leases.ask(0, 1, request(Some(4), 2, true))), [(0, 0..2)]);
        assert_eq!(lent(&leases.ask(1, 1, request(Some(4), 9, true))), [(1, 2..3)]);
        assert_eq!(lent(&leases.ask(1, 1, request(Some(4), 9, true))), [(1, 3..4)]);
        let ahead = leases.ask(1, 1, request(Some(4), 9, false));
        assert_eq!((lent(&ahead), recalled(&ahead)), (vec![(1, 0..0)], vec![]), "who asks ahead takes nothing from others");
        let asked = leases.ask(1, 2, request(Some(4), 9, true));
        assert_eq!((lent(&asked), recalled(&asked)), (vec![], vec![0]));
        assert!(leases.ask(2, 2, request(Some(4), 9, true)).iter().all(|(agent, _)| *agent != 0), "asked once");
        let back = leases.give_back(0, 2, held(1, &[1..2]));
        assert_eq!((lent(&back), recalled(&back)), (vec![(1, 1..2)], vec![1]), "agent 2 waits on");
        assert_eq!(lent(&leases.give_back(1, 2, held(3, &[]))), [(2, 0..0)], "all are used");
    }

    #[test]
    fn a_loan_on_its_way_is_not_given_back() {
        let mut leases = NumberLeases::default();
        leases.ask(0, 1, request(Some(2), 1, true));
        leases.ask(0, 1, request(Some(2), 1, true));
        leases.ask(1, 2, request(Some(2), 1, true));
        // It had received the first of its two loans when it answered.
        let back = leases.give_back(0, 2, held(1, &[0..1]));
        assert_eq!(lent(&back), [(1, 0..1)]);
        assert_eq!(leases.lose(0, 2).0.rows, 1);
    }

    #[test]
    fn what_an_agent_that_ends_has_not_used_goes_to_others() {
        let mut leases = NumberLeases::default();
        leases.ask(0, 2, request(Some(6), 6, true));
        leases.ask(0, 2, request(Some(6), 6, true));
        let mut given: Vec<u64> = Vec::new();
        loop {
            let answers = leases.ask(1, 2, request(Some(6), 6, true));
            given.extend(lent(&answers).into_iter().flat_map(|(_, range)| range));
            if lent(&answers).is_empty() {
                break;
            }
        }
        assert_eq!(given, [3, 4, 5], "agent 1 waits now");
        // Of its first loan it has used one number, the second is on its way to it.
        leases.told(0, held(1, &[1..2]));
        assert_eq!(lent(&leases.take_back(0, 2)), [(1, 2..3)]);
        assert_eq!(lent(&leases.ask(1, 1, request(Some(6), 6, true))), [(1, 1..2)]);
        assert_eq!(leases.lose(0, 1).0, NumbersInDoubt::default(), "nothing of it is in doubt");
    }

    #[test]
    fn what_a_lost_agent_held_is_in_doubt_and_stays_away() {
        let mut leases = NumberLeases::default();
        leases.ask(0, 2, request(Some(40), 10, true));
        leases.ask(0, 2, request(Some(40), 5, false));
        leases.told(0, held(1, &[8..10]));
        let waits = |leases: &mut NumberLeases| leases.ask(1, 2, request(Some(40), 1_000, true));
        let mut given: Vec<u64> = Vec::new();
        loop {
            let answers = waits(&mut leases);
            if lent(&answers).is_empty() {
                assert_eq!(recalled(&answers), [0]);
                break;
            }
            given.extend(lent(&answers).into_iter().flat_map(|(_, range)| range));
        }
        assert!(given.into_iter().eq(15..40));
        let (doubt, answers) = leases.lose(0, 2);
        assert_eq!((doubt.rows, doubt.iterations), (7, 0));
        assert_eq!(lent(&answers), [(1, 0..0)], "who waited is told that nothing is left");
    }
}
