//! A finding while a rule builds it, with its rank among the others.

use crate::facts::Facts;
use crate::facts::waiting::WaitingStretch;
use crate::finding::{Alternative, Finding, Quantity, RuleId, Subject};
use crate::{Confidence, Evidence, Grade};

/// Minimum ratio of the requests' added time to the generator's lateness, from which the generator cannot explain the finding.
const ADDED_TIME_OVER_LATENESS_MIN: f64 = 10.0;

/// Score of a finding, as a part of the best score among causes and symptoms, below which it follows the others.
pub(crate) const SCORE_PART_MIN: f64 = 1.0 / 3.0;
/// Share of the requests' time that a finding must account for, to precede guesses: what is left is less.
const ACCOUNTED_TIME_MIN: f64 = 0.5;
/// Share of the requests that must fail. Fewer failures may well be a side effect of the limit that a guess names.
const ACCOUNTED_FAILURES_MIN: f64 = 0.3;

/// The kind of a finding. Findings are listed in this order, except that causes of low confidence or of little added time follow symptoms, and what accounts
/// for the requests' time or failures precedes guesses ([`Account`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// The reason why the system cannot do more, while the load asked for more.
    Cause,
    /// A request that began to fail or to take longer: certain, but observed from outside only.
    Symptom,
    /// A defect of a system that carries the load.
    Fault,
    /// A limit that applied for a while only.
    Passing,
    /// A consequence of a cause.
    Consequence,
    /// What the system does for each request at any load, next to something that explains its time better. It is never the first finding.
    Habit,
}

/// What a finding accounts for by measurement, as a share from 0 to 1. A defect or a habit accounts for nothing: that it exists does not explain the times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Account {
    /// Of the time that requests spend in the system (Little's law).
    Time(f64),
    /// Of the requests, which failed without waiting for long before. A time-out is what waiting looks like, and does not count.
    Failures(f64),
}

/// What the place of a finding rests on. Findings of one standing are listed in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Basis {
    /// Its standing.
    Standing,
    /// What it accounts for.
    Account,
    /// A cause of low confidence.
    Guess,
}

/// The effect of a load generator at its limit on a finding. Findings are listed in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GeneratorUncertainty {
    /// None: the finding rests on waits that are far longer than the generator's lateness.
    None,
    /// The finding reports the generator's limit.
    Itself,
    /// The generator may have caused the finding's evidence.
    Possible,
}

/// A finding and its rank.
pub(crate) struct RankedFinding {
    pub(crate) standing: Standing,
    pub(crate) uncertainty: GeneratorUncertainty,
    /// Order between findings of equal rank, lower first: [`Rule::precedence`](super::rule::Rule::precedence).
    pub(crate) precedence: u16,
    /// The most of the run's added request time that acting on it can save, from 0 to 1: the part that was spent in the stretch of its evidence.
    pub(crate) gain: f64,
    /// Whether another finding has a far higher score.
    pub(crate) is_minor: bool,
    /// What it accounts for, if that was measured.
    pub(crate) accounts_for: Option<Account>,
    /// Whether it accounts for much, and a guess would otherwise precede it.
    pub(crate) precedes_guesses: bool,
    /// It shows that there is a limit, and not which one: so much of its evidence, from the first, belongs to the cause.
    pub(crate) outline: Option<usize>,
    pub(crate) finding: Finding,
}

impl Standing {
    /// The kind of a cause of waiting: passing, if journeys only waited for a while.
    pub(crate) fn during(waiting: &WaitingStretch) -> Self {
        if waiting.is_unstable() || waiting.flow.is_none() { Self::Cause } else { Self::Passing }
    }
}

impl Account {
    fn is_large(self) -> bool {
        match self {
            Self::Time(share) => share >= ACCOUNTED_TIME_MIN,
            Self::Failures(share) => share >= ACCOUNTED_FAILURES_MIN,
        }
    }
}

/// Determines the gain of each cause and symptom, which of them are minor, and which findings precede guesses.
pub(crate) fn score(found: &mut [RankedFinding], facts: &Facts<'_>) {
    let gain = |one: &RankedFinding| {
        let parts = one.finding.evidence.iter().map(|evidence| facts.strain.added_part((evidence.from_seconds, evidence.to_seconds)));
        // Without a measure, a finding is not minor.
        parts.map(|part| part.unwrap_or(1.0)).reduce(f64::max).unwrap_or(1.0)
    };
    for one in found.iter_mut().filter(|one| one.is_ranked_by_score()) {
        one.gain = gain(one);
    }
    let best = found.iter().filter(|one| one.is_ranked_by_score()).map(RankedFinding::score).fold(0.0, f64::max);
    for one in found.iter_mut().filter(|one| one.is_ranked_by_score()) {
        one.is_minor = one.score() < SCORE_PART_MIN * best;
    }
    place_accounts(found);
}

/// Determines which findings precede guesses by what they account for. Without a guess, each ranks by its standing.
fn place_accounts(found: &mut [RankedFinding]) {
    let has_guess = found.iter().any(RankedFinding::is_guess);
    for one in found.iter_mut() {
        one.precedes_guesses = has_guess && one.is_account();
    }
}

impl Confidence {
    /// The share of findings that should be right. The benchmark measured 94 %, 100 % and 82 % (bench/results/diagnosis.md); the targets are lower for the last
    /// two.
    fn right_share(self) -> f64 {
        match self {
            Self::Low => 0.5,
            Self::Medium => 0.8,
            Self::High => 0.97,
        }
    }
}

impl RankedFinding {
    /// Findings are sorted by it, ascending.
    pub(crate) fn rank(&self) -> impl Ord + use<> {
        let is_lowered = self.standing == Standing::Cause && (self.is_guess() || self.is_minor);
        let is_raised = self.precedes_guesses && self.standing > Standing::Symptom;
        let standing = if is_lowered || is_raised { Standing::Symptom } else { self.standing };
        let basis = match (self.is_guess(), is_raised) {
            (true, _) => Basis::Guess,
            (false, true) => Basis::Account,
            (false, false) => Basis::Standing,
        };
        (self.uncertainty, standing, self.is_minor, basis, std::cmp::Reverse(self.finding.confidence), self.precedence)
    }

    /// A cause that may well be wrong.
    fn is_guess(&self) -> bool {
        self.standing == Standing::Cause && self.finding.confidence == Confidence::Low
    }

    /// Whether it accounts for much of what the requests experienced, with more than low confidence.
    fn is_account(&self) -> bool {
        self.finding.confidence > Confidence::Low && self.accounts_for.is_some_and(Account::is_large)
    }

    /// Without evidence so far.
    pub(crate) fn new(standing: Standing, rule: &'static str, subject: Subject, confidence: Confidence, claim: String) -> Self {
        Self::of(standing, Finding::new(RuleId::new(rule), subject, confidence, claim))
    }

    pub(crate) fn of(standing: Standing, finding: Finding) -> Self {
        Self {
            standing,
            uncertainty: GeneratorUncertainty::Possible,
            precedence: 0,
            gain: 1.0,
            is_minor: false,
            accounts_for: None,
            precedes_guesses: false,
            outline: None,
            finding,
        }
    }

    /// Expected gain of acting on it: its gain, times the share of findings of its confidence that are right.
    fn score(&self) -> f64 {
        self.gain * self.finding.confidence.right_share()
    }

    fn is_ranked_by_score(&self) -> bool {
        matches!(self.standing, Standing::Cause | Standing::Symptom) && self.finding.subject != Subject::Generator
    }

    /// Ranks it before the generator's own finding if requests took longer in a stretch by far more than the generator's lateness in it.
    pub(crate) fn beyond_the_generator(self, facts: &Facts<'_>, (from, to): (f64, f64)) -> Self {
        let by_load = facts.responses.iter().filter_map(|response| response.growth(from, to));
        let changed =
            facts.changes.found.iter().filter(|change| change.is_slower() && change.at < to && change.until.unwrap_or(change.to) > from);
        let growth = by_load.chain(changed.map(|change| change.after.median - change.before.median)).fold(0.0, f64::max);
        let is_invalid = facts.generator.grade() == Grade::Invalid;
        let is_beyond = is_invalid
            && growth > 0.0
            && facts.generator.generated_the_load()
            && growth >= ADDED_TIME_OVER_LATENESS_MIN * facts.generator.lateness((from, to)).read;
        let uncertainty = if is_beyond { GeneratorUncertainty::None } else { self.uncertainty };
        Self { uncertainty, ..self }
    }

    /// States what it accounts for.
    pub(crate) fn accounting_for(self, account: Option<Account>) -> Self {
        Self { accounts_for: account, ..self }
    }

    /// Becomes evidence of a cause, if one is reported.
    pub(crate) fn outlining(self, evidence: usize) -> Self {
        Self { outline: Some(evidence), ..self }
    }

    /// Adds evidence: a sentence, the columns or signals that show it, and the stretch in seconds.
    pub(crate) fn rests_on(self, text: String, series: Vec<String>, stretch: (f64, f64)) -> Self {
        self.rests_on_drawn(Evidence::new(text, series, stretch))
    }

    /// Adds evidence with the numbers that a chart shows.
    pub(crate) fn rests_on_drawn(mut self, evidence: Evidence) -> Self {
        self.finding.evidence.push(evidence);
        self
    }

    /// Draws a number of the last evidence as a level of one of its series.
    pub(crate) fn at_level(mut self, series: &str, label: &str, value: f64) -> Self {
        if let Some(last) = self.finding.evidence.pop() {
            let span = (last.from_seconds, last.to_seconds);
            self.finding.evidence.push(last.level(series, label, value, span));
        }
        self
    }

    /// Names the next limit of the system.
    pub(crate) fn limited_next(mut self, sentence: &str) -> Self {
        self.finding.next_limit = Some(sentence.to_owned());
        self
    }

    /// Adds a number of the claim, as data.
    pub(crate) fn with(mut self, quantity: Quantity) -> Self {
        self.finding.quantities.push(quantity);
        self
    }

    /// Adds an alternative cause. One that is not ruled out limits the confidence to medium. No other function adds alternatives.
    pub(crate) fn weigh(mut self, alternative: Alternative) -> Self {
        if !alternative.ruled_out {
            self.finding.confidence = self.finding.confidence.min(Confidence::Medium);
        }
        self.finding.alternatives.push(alternative);
        self
    }

    pub(crate) fn try_next(mut self, next: impl Into<String>) -> Self {
        self.finding.next = next.into();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(standing: Standing, rule: &'static str, confidence: Confidence) -> RankedFinding {
        RankedFinding::new(standing, rule, Subject::Whole, confidence, String::new())
    }

    fn ranked(mut found: Vec<RankedFinding>) -> Vec<String> {
        place_accounts(&mut found);
        found.sort_by_key(RankedFinding::rank);
        found.iter().map(|found| found.finding.rule.to_string()).collect()
    }

    fn guess() -> RankedFinding {
        finding(Standing::Cause, "guess", Confidence::Low)
    }

    #[test]
    fn what_accounts_for_the_time_or_the_failures_precedes_a_guess() {
        for (standing, account) in [
            (Standing::Fault, Account::Time(0.9)),
            (Standing::Consequence, Account::Failures(0.47)),
            (Standing::Passing, Account::Time(0.5)),
        ] {
            let account = finding(standing, "account", Confidence::High).accounting_for(Some(account));
            let defect = finding(Standing::Fault, "defect", Confidence::High);
            assert_eq!(ranked(vec![guess(), defect, account]), ["account", "guess", "defect"], "{standing:?}");
        }
    }

    #[test]
    fn defects_and_habits_and_small_accounts_follow_a_guess() {
        for (standing, confidence, account) in [
            (Standing::Fault, Confidence::High, None),
            (Standing::Habit, Confidence::High, None),
            (Standing::Fault, Confidence::High, Some(Account::Time(0.2))),
            (Standing::Consequence, Confidence::High, Some(Account::Failures(0.05))),
            // It is a guess as well.
            (Standing::Fault, Confidence::Low, Some(Account::Time(0.9))),
        ] {
            let other = finding(standing, "other", confidence).accounting_for(account);
            assert_eq!(ranked(vec![other, guess()]), ["guess", "other"], "{standing:?} {account:?}");
        }
    }

    /// Without a guess, nothing changes: a cause of medium confidence precedes, and so does a symptom.
    #[test]
    fn an_account_follows_causes_and_symptoms_that_are_no_guesses() {
        let account = || finding(Standing::Consequence, "account", Confidence::High).accounting_for(Some(Account::Failures(0.6)));
        let cause = || finding(Standing::Cause, "cause", Confidence::Medium);
        let symptom = || finding(Standing::Symptom, "symptom", Confidence::Medium);
        assert_eq!(ranked(vec![account(), guess(), symptom(), cause()]), ["cause", "symptom", "account", "guess"]);
        let defect = finding(Standing::Fault, "defect", Confidence::Medium);
        assert_eq!(ranked(vec![account(), defect]), ["defect", "account"]);
    }
}
