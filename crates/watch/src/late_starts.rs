//! How late a tool started its iterations, by its plan: the starts of the record against the instants at which they were due.
//!
//! The record has a start only after its iteration has ended, and never one that was cut off. Starts are therefore counted in short bins. Only a backlog
//! that the tool caught up with while its second was open is late: starts that stay missing are not. A dropped iteration is not late either.

use std::collections::VecDeque;

use loadstone_metrics::{Histogram, Nanos};

use crate::tool_scenarios::ToolScenario;

/// Bins of one second.
const BINS: usize = 50;
/// Lateness is exact to one bin. Nanoseconds.
pub(crate) const BIN_NS: Nanos = 1_000_000_000 / BINS as Nanos;
/// Starts of one bin whose lateness is computed. Each stands for as many of its neighbours.
const STEPS_MAX: u64 = 64;
/// Starts from which their usual distance to the due instants is known.
const STARTS_MIN: usize = 10;
/// Part of an arrival that is rounding.
const ROUNDING: f64 = 1e-6;

#[derive(Debug, Clone, Copy, Default)]
struct StartBin {
    started: u64,
    dropped: u64,
}

/// The starts of one scenario, in order.
#[derive(Debug, Default)]
pub(crate) struct StartCounts {
    /// Started and dropped in completed seconds.
    before: u64,
    /// Of open seconds.
    open: VecDeque<[StartBin; BINS]>,
    /// By how much most starts are before their due instants, because the first one, from which these count, was late. Seconds. `None`: too few
    /// starts, so that no lateness below the time between two arrivals is seen.
    ahead_s: Option<f64>,
}

impl StartCounts {
    /// `first`: the first open second.
    pub(crate) fn started(&mut self, at: Nanos, first: u32) {
        match self.bin(at, first) {
            Some(bin) => bin.started += 1,
            // It is too late for its bin.
            None => self.before += 1,
        }
    }

    /// The same for dropped iterations.
    pub(crate) fn dropped(&mut self, at: Nanos, first: u32, count: u64) {
        match self.bin(at, first) {
            Some(bin) => bin.dropped += count,
            None => self.before += count,
        }
    }

    fn bin(&mut self, at: Nanos, first: u32) -> Option<&mut StartBin> {
        let bin = at / BIN_NS;
        let index = (bin / BINS as u64).checked_sub(u64::from(first))? as usize;
        if self.open.len() <= index {
            self.open.resize(index + 1, [StartBin::default(); BINS]);
        }
        Some(&mut self.open[index][bin as usize % BINS])
    }

    /// Completes the first open second, and adds how late its starts were. `began`: when the scenario began, by its plan; `None`: unknown.
    pub(crate) fn complete(&mut self, second: u32, scenario: &ToolScenario, began: Option<Nanos>, late: &mut Histogram) {
        let begin = u64::from(second) * BINS as u64 * BIN_NS;
        if let Some(began) = began.filter(|_| self.open.front().is_some_and(|bins| bins.iter().any(|bin| bin.started > 0))) {
            let begin_s = (begin as f64 - began as f64) / 1e9;
            self.ahead_s = self.ahead_s.or_else(|| self.ahead(scenario, begin_s));
            self.add_late(scenario, begin_s + self.ahead_s.unwrap_or(0.0), late);
        }
        let completed = self.open.pop_front();
        self.before += completed.map_or(0, |bins| bins.iter().map(|bin| bin.started + bin.dropped).sum());
    }

    /// The median of what the starts of the open seconds are before the nearest due instants. `begin_s` as below.
    fn ahead(&self, scenario: &ToolScenario, begin_s: f64) -> Option<f64> {
        let bin_s = BIN_NS as f64 / 1e9;
        let filled = self.open.iter().flatten().zip(0_u32..).filter(|(bin, _)| bin.started > 0);
        let at = filled.map(|(_, number)| begin_s + (f64::from(number) + 0.5) * bin_s);
        let mut after: Vec<f64> = at
            .map(|at_s| {
                let last = scenario.due_by(at_s).floor();
                let (since_s, until_s) = (at_s - scenario.due_at(last), scenario.due_at(last + 1.0) - at_s);
                if since_s <= until_s { since_s } else { -until_s }
            })
            .collect();
        after.sort_by(f64::total_cmp);
        let ahead_s = -*after.get(after.len() / 2).filter(|_| after.len() >= STARTS_MIN)?;
        // Less is the error of a bin.
        Some(if ahead_s > bin_s / 2.0 { ahead_s } else { 0.0 })
    }

    /// How late a start is that came before the next arrival was due, if that is more than the error of its bin. Seconds. A tool that starts more than it
    /// planned follows another plan.
    fn late_within_gap(&self, scenario: &ToolScenario, at_s: f64, arrival: f64) -> f64 {
        let bin_s = BIN_NS as f64 / 1e9;
        let last = scenario.due_by(at_s).floor();
        let (due_s, next_s) = (scenario.due_at(last), scenario.due_at(last + 1.0));
        let follows_plan = (0.0..=1.0).contains(&(last - arrival));
        let is_late = self.ahead_s.is_some() && follows_plan && last >= 1.0 && at_s - due_s > bin_s && next_s - at_s > bin_s;
        if is_late { at_s - due_s } else { 0.0 }
    }

    /// `begin_s`: the begin of the first open second, counted from the begin of the scenario.
    fn add_late(&self, scenario: &ToolScenario, begin_s: f64, late: &mut Histogram) {
        let bin_s = BIN_NS as f64 / 1e9;
        // For each bin: how many more were due before its end than had started. None starts before it is due: a smaller number is an error of the begin.
        let mut so_far = self.before;
        let missing = self.open.iter().flatten().zip(1_u32..).map(|(bin, number)| {
            so_far += bin.started + bin.dropped;
            let due = (scenario.due_by(begin_s + f64::from(number) * bin_s) - ROUNDING).ceil() - 1.0;
            (due - so_far as f64).max(0.0)
        });
        // What is still missing later was cut off, or has not ended yet: it is not late.
        let mut lasting: Vec<f64> = missing.collect();
        for at in (1..lasting.len()).rev() {
            lasting[at - 1] = lasting[at - 1].min(lasting[at]);
        }
        let mut so_far = self.before;
        for ((bin, lasting), number) in self.open.iter().flatten().zip(lasting).take(BINS).zip(0_u32..) {
            let at_s = begin_s + (f64::from(number) + 0.5) * bin_s;
            let steps = bin.started.min(STEPS_MAX);
            for step in 0..steps {
                let (from, to) = (bin.started * step / steps, bin.started * (step + 1) / steps);
                let arrival = so_far as f64 + lasting + (from + 1).midpoint(to) as f64;
                // Which of them were cut off is not known, so this may be the next one.
                let late_s = at_s - scenario.due_at(arrival + 1.0);
                let late_s = if late_s > bin_s { late_s } else { self.late_within_gap(scenario, at_s, arrival) };
                late.record_n((late_s * 1e9) as u64, to - from);
            }
            so_far += bin.started + bin.dropped;
        }
    }
}

#[cfg(test)]
mod tests {
    use loadstone_plan::LoadModel;

    use super::*;
    use crate::tool_scenarios::PlannedStage;

    const MS: Nanos = 1_000_000;

    /// The lateness of these starts, in order of their ends. The scenario begins at 5 s.
    fn late(stages: &[(f64, f64, f64)], due_at_start: f64, starts: impl Iterator<Item = Nanos>) -> Histogram {
        let stages = stages.iter().map(|&(from, to, duration_s)| PlannedStage { from, to, duration_s }).collect();
        let scenario = ToolScenario { stages, due_at_start, ..ToolScenario::unplanned("s", LoadModel::Arrivals) };
        let (mut counts, mut late, mut first) = (StartCounts::default(), Histogram::new(), 0);
        for at in starts {
            while at / (1_000 * MS) > u64::from(first) + 10 {
                counts.complete(first, &scenario, Some(5_000 * MS), &mut late);
                first += 1;
            }
            counts.started(at, first);
        }
        (first..first + 11).for_each(|second| counts.complete(second, &scenario, Some(5_000 * MS), &mut late));
        late
    }

    const CONSTANT: &[(f64, f64, f64)] = &[(100.0, 100.0, 20.0)];

    /// 100 a second, and the tool stands still from 10 s to 11 s. Those that were due meanwhile are between 0 and 1 s late.
    #[test]
    fn starts_after_a_standstill_are_late_by_the_rest_of_it() {
        let due = (0..2_000).map(|number| (5_000 + number * 10) * MS);
        let found = late(CONSTANT, 1.0, due.map(|at| if (10_000 * MS..11_000 * MS).contains(&at) { 11_000 * MS } else { at }));
        let share = |over_ms: u64| 1.0 - found.count_at_or_below(over_ms * MS) as f64 / found.count() as f64;
        assert_eq!(found.count(), 2_000);
        // 100 of 2,000 are late, evenly spread over a second.
        assert!(
            (share(25) - 0.05).abs() < 0.004 && (share(500) - 0.025).abs() < 0.004 && share(1_020) == 0.0,
            "{} {}",
            share(25),
            share(500)
        );
    }

    /// The same, but the tool catches up at four times its rate: the k-th of the waiting ones is late by 1 s − k · 7.5 ms, up to the 133rd.
    #[test]
    fn starts_while_a_tool_catches_up_are_late_by_what_it_is_behind() {
        let started = |number: u64| (5_000 * MS + number * 10 * MS).max(11_000 * MS + number.saturating_sub(500) * 5 * MS / 2);
        let found = late(CONSTANT, 1.0, (0..2_000).map(|number| if number < 500 { (5_000 + number * 10) * MS } else { started(number) }));
        let over = |ms: u64| found.count() - found.count_at_or_below(ms * MS);
        assert!(over(500).abs_diff(67) <= 3 && over(100).abs_diff(120) <= 4 && over(1_020) == 0, "{} {}", over(500), over(100));
    }

    #[test]
    fn starts_in_time_are_not_late_also_on_ramps() {
        let jitter = |number: u64| (number * 7_919 % 13) * MS;
        let found = late(CONSTANT, 1.0, (0..2_000).map(|number| (5_000 + number * 10) * MS + jitter(number)));
        assert_eq!((found.count(), found.max()), (2_000, 0));
        // From 0 to 400 a second in 20 s: the n-th is due at √(n/10) s. Then back.
        let up = (1..=4_000_u64).map(|number| 5_000 * MS + ((number as f64 / 10.0).sqrt() * 1e9) as u64);
        let down = (1..4_000_u64).rev().map(|number| 45_000 * MS - ((number as f64 / 10.0).sqrt() * 1e9) as u64);
        let found = late(&[(0.0, 400.0, 20.0), (400.0, 0.0, 20.0)], 0.0, up.chain(down));
        assert_eq!(found.max(), 0);
    }

    /// 10 a second, of which every tenth starts 60 ms late, before the next one is due.
    #[test]
    fn starts_that_are_late_by_less_than_a_gap_are_late() {
        let due = (0..200_u64).map(|number| (5_000 + number * 100) * MS + if number % 10 == 3 { 60 * MS } else { number % 3 * MS });
        let found = late(&[(10.0, 10.0, 20.0)], 1.0, due.clone());
        assert_eq!((found.count(), found.count_at_or_below(0)), (200, 180));
        assert!(found.max().abs_diff(60 * MS) <= BIN_NS / 2 + MS, "{}", found.max());
        // The first one was late, too, so all others seem to start before they are due.
        let found = late(&[(10.0, 10.0, 20.0)], 1.0, due.skip(1).map(|at| at - 35 * MS));
        assert!(found.count() - found.count_at_or_below(0) == 20 && found.max().abs_diff(60 * MS) <= BIN_NS + MS, "{}", found.max());
    }

    /// A tool that sends 50 a second follows no plan of 10 a second.
    #[test]
    fn starts_of_another_plan_are_not_late() {
        let found = late(&[(10.0, 10.0, 20.0)], 1.0, (0..1_000).map(|number| (5_000 + number * 20) * MS));
        assert_eq!((found.count(), found.max()), (1_000, 0));
    }

    /// Iterations that were cut off are in no record. The others started in time.
    #[test]
    fn missing_starts_make_no_other_late() {
        let kept = (0..2_000).filter(|number| !(500..600).contains(number) && number % 20 != 3);
        assert_eq!(late(CONSTANT, 1.0, kept.map(|number| (5_000 + number * 10) * MS)).max(), 0);
    }
}
