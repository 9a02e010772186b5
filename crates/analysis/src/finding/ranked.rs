//! A finding in the making, with what ranks it among the others.

use crate::facts::Facts;
use crate::facts::waiting::WaitingStretch;
use crate::finding::{Alternative, Finding, Quantity, RuleId, Subject};
use crate::{Confidence, Evidence, Grade};

/// How many times the generator's lateness requests must take longer to leave it out.
const BEYOND: f64 = 10.0;

/// What kind of statement a finding makes; findings are listed in this order, but for causes of low confidence, which come after symptoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// Why the system cannot do more, while more was asked of it all along.
    Cause,
    /// What began to fail or to take longer: certain, but only what was seen from outside.
    Symptom,
    /// What is wrong, though the system carries the load.
    Fault,
    /// What limited the system for a while, and then no longer.
    Passing,
    /// What follows from a cause.
    Consequence,
}

/// What a load generator at its limit means for a finding; findings are listed in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GeneratorUncertainty {
    /// Nothing: it rests on waits far longer than the generator was late.
    None,
    /// It is the finding that says so for certain.
    Itself,
    /// The generator may have caused what it rests on.
    Possible,
}

/// A finding and its rank.
pub(crate) struct RankedFinding {
    pub(crate) standing: Standing,
    pub(crate) uncertainty: GeneratorUncertainty,
    /// Order between findings of equal rank, lower first: [`Rule::precedence`](super::rule::Rule::precedence).
    pub(crate) precedence: u16,
    pub(crate) finding: Finding,
}

impl Standing {
    /// Of what held work up: passing, where journeys only waited for a while.
    pub(crate) fn during(waiting: &WaitingStretch) -> Self {
        if waiting.is_unstable() || waiting.flow.is_none() { Self::Cause } else { Self::Passing }
    }
}

impl RankedFinding {
    /// Findings are sorted by it, ascending.
    pub(crate) fn rank(&self) -> impl Ord + use<> {
        let is_guess = self.standing == Standing::Cause && self.finding.confidence == Confidence::Low;
        let standing = if is_guess { Standing::Symptom } else { self.standing };
        (self.uncertainty, standing, is_guess, std::cmp::Reverse(self.finding.confidence), self.precedence)
    }

    /// Without evidence so far.
    pub(crate) fn new(standing: Standing, rule: &'static str, subject: Subject, confidence: Confidence, claim: String) -> Self {
        Self::of(standing, Finding::new(RuleId::new(rule), subject, confidence, claim))
    }

    pub(crate) fn of(standing: Standing, finding: Finding) -> Self {
        Self { standing, uncertainty: GeneratorUncertainty::Possible, precedence: 0, finding }
    }

    /// Not behind the generator's own finding where requests took longer in a stretch by far more than the generator was late in it.
    pub(crate) fn beyond_the_generator(self, facts: &Facts<'_>, (from, to): (f64, f64)) -> Self {
        let growth = facts.responses.iter().filter_map(|response| response.growth(from, to)).fold(0.0, f64::max);
        let is_invalid = facts.generator.grade() == Grade::Invalid;
        let is_beyond = is_invalid
            && growth > 0.0
            && facts.generator.generated_the_load()
            && growth >= BEYOND * facts.generator.lateness((from, to)).read;
        let uncertainty = if is_beyond { GeneratorUncertainty::None } else { self.uncertainty };
        Self { uncertainty, ..self }
    }

    /// What it rests on: a sentence, the columns or signals that show it, and the stretch in seconds.
    pub(crate) fn rests_on(mut self, text: String, series: Vec<String>, (from, to): (f64, f64)) -> Self {
        self.finding.evidence.push(Evidence { text, series, from_seconds: from, to_seconds: to });
        self
    }

    /// Names what would limit the system next.
    pub(crate) fn limited_next(mut self, sentence: &str) -> Self {
        self.finding.next_limit = Some(sentence.to_owned());
        self
    }

    /// A number in the claim, as data.
    pub(crate) fn with(mut self, quantity: Quantity) -> Self {
        self.finding.quantities.push(quantity);
        self
    }

    /// Weighs another cause. One that is not ruled out leaves no high confidence. There is no other way to list one.
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
