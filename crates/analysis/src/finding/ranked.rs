//! A finding while a rule builds it, with its rank among the others.

use crate::facts::Facts;
use crate::facts::waiting::WaitingStretch;
use crate::finding::{Alternative, Finding, Quantity, RuleId, Subject};
use crate::{Confidence, Evidence, Grade};

/// Minimum ratio of the requests' added time to the generator's lateness, from which the generator cannot explain the finding.
const ADDED_TIME_OVER_LATENESS_MIN: f64 = 10.0;

/// Score of a finding, as a part of the best score among causes and symptoms, below which it follows the others.
pub(crate) const SCORE_PART_MIN: f64 = 1.0 / 3.0;

/// The kind of a finding. Findings are listed in this order, except that causes of low confidence or of little added time follow symptoms.
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

/// Determines the gain of each cause and symptom, and which of them are minor.
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
        let is_guess = self.standing == Standing::Cause && self.finding.confidence == Confidence::Low;
        let is_cause = self.standing == Standing::Cause;
        let standing = if is_cause && (is_guess || self.is_minor) { Standing::Symptom } else { self.standing };
        (self.uncertainty, standing, self.is_minor, is_guess, std::cmp::Reverse(self.finding.confidence), self.precedence)
    }

    /// Without evidence so far.
    pub(crate) fn new(standing: Standing, rule: &'static str, subject: Subject, confidence: Confidence, claim: String) -> Self {
        Self::of(standing, Finding::new(RuleId::new(rule), subject, confidence, claim))
    }

    pub(crate) fn of(standing: Standing, finding: Finding) -> Self {
        Self { standing, uncertainty: GeneratorUncertainty::Possible, precedence: 0, gain: 1.0, is_minor: false, outline: None, finding }
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
        let growth = facts.responses.iter().filter_map(|response| response.growth(from, to)).fold(0.0, f64::max);
        let is_invalid = facts.generator.grade() == Grade::Invalid;
        let is_beyond = is_invalid
            && growth > 0.0
            && facts.generator.generated_the_load()
            && growth >= ADDED_TIME_OVER_LATENESS_MIN * facts.generator.lateness((from, to)).read;
        let uncertainty = if is_beyond { GeneratorUncertainty::None } else { self.uncertainty };
        Self { uncertainty, ..self }
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
