//! A finding as data: which rule reports it, what it is about, the numbers it rests on, and the sentences rendered from them.
//!
//! Identity is data. Code that compares, matches or filters findings uses [`RuleId`] and [`Subject`]; no code reads a sentence back.

pub(crate) mod ranked;
pub(crate) mod rule;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

/// Series and interval that a finding rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Evidence {
    pub text: String,
    /// Names of timeline series or signals to highlight.
    pub series: Vec<String>,
    /// Seconds since the run began.
    pub from_seconds: f64,
    pub to_seconds: f64,
    /// Names of the requests whose own series these are, taken together. Empty: the series of the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<String>,
    /// The numbers of the sentence, as lines to draw with the series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<EvidenceLine>,
}

/// A number of a sentence where a chart shows it: a plateau, a limit, a level before and after a change, a trend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct EvidenceLine {
    /// The series that it is drawn with, in whose unit its values are. `distribution` marks response times in a distribution.
    pub series: String,
    /// What it shows, in a few words: `stopped at`.
    pub label: String,
    /// Seconds since the run began, and values. Two points of the same value are a level.
    pub points: Vec<(f64, f64)>,
}

/// The series of an [`EvidenceLine`] that marks a time in the distribution of response times.
pub(crate) const DISTRIBUTION: &str = "distribution";

impl Evidence {
    pub fn new(text: String, series: Vec<String>, (from_seconds, to_seconds): (f64, f64)) -> Self {
        Self { text, series, from_seconds, to_seconds, requests: Vec::new(), lines: Vec::new() }
    }

    /// Draws the series of these requests alone.
    #[must_use]
    pub fn of_requests<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.requests = names.into_iter().map(str::to_owned).collect();
        self
    }

    #[must_use]
    pub fn line(mut self, series: &str, label: &str, points: Vec<(f64, f64)>) -> Self {
        if points.iter().all(|(at, value)| at.is_finite() && value.is_finite()) {
            self.lines.push(EvidenceLine { series: series.to_owned(), label: label.to_owned(), points });
        }
        self
    }

    /// A value that applies throughout a stretch.
    #[must_use]
    pub fn level(self, series: &str, label: &str, value: f64, (from, to): (f64, f64)) -> Self {
        self.line(series, label, vec![(from, value), (to, value)])
    }

    /// A time in the distribution of response times.
    #[must_use]
    pub(crate) fn time(self, label: &str, seconds: f64) -> Self {
        let span = (self.from_seconds, self.to_seconds);
        self.level(DISTRIBUTION, label, seconds, span)
    }
}

/// The stable identifier of a rule, such as `connection-pool`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(transparent)]
pub struct RuleId(Cow<'static, str>);

impl RuleId {
    pub const fn new(id: &'static str) -> Self {
        Self(Cow::Borrowed(id))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl PartialEq<str> for RuleId {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for RuleId {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// The system or the run as a whole.
    Whole,
    /// One request, or several that share the same cause, by name. The first one leads.
    Requests {
        names: Vec<String>,
    },
    Group {
        name: String,
    },
    Scenario {
        name: String,
    },
    Flow {
        name: String,
    },
    /// An endpoint that the system calls, such as a stub.
    Endpoint {
        name: String,
    },
    /// A service, by the name in its spans.
    Service {
        name: String,
    },
    /// Something that an observer reads: the observer's name, and the part of it, such as a pool or a disk.
    Observed {
        observer: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<String>,
    },
    /// The load generator itself.
    Generator,
}

impl Subject {
    pub fn request(name: &str) -> Self {
        Self::requests([name])
    }

    pub fn requests<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        if names.is_empty() { Self::Whole } else { Self::Requests { names } }
    }

    pub(crate) fn flow(name: &str) -> Self {
        Self::Flow { name: name.to_owned() }
    }

    pub(crate) fn endpoint(name: &str) -> Self {
        Self::Endpoint { name: name.to_owned() }
    }

    pub(crate) fn service(name: &str) -> Self {
        Self::Service { name: name.to_owned() }
    }

    pub(crate) fn observed(observer: &str) -> Self {
        Self::Observed { observer: observer.to_owned(), part: None }
    }

    pub(crate) fn part(observer: &str, part: &str) -> Self {
        let part = Some(part.to_owned()).filter(|part| !part.is_empty());
        Self::Observed { observer: observer.to_owned(), part }
    }

    /// Every name in it.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Whole | Self::Generator => Vec::new(),
            Self::Requests { names } => names.iter().map(String::as_str).collect(),
            Self::Group { name } | Self::Scenario { name } | Self::Flow { name } | Self::Endpoint { name } | Self::Service { name } => {
                vec![name]
            }
            Self::Observed { observer, part } => std::iter::once(observer.as_str()).chain(part.as_deref()).collect(),
        }
    }

    /// Whether it is about a request of this name.
    pub fn is_about_request(&self, name: &str) -> bool {
        matches!(self, Self::Requests { names } if names.iter().any(|one| one == name))
    }

    /// Whether both are about the same thing. Of several requests, the one that leads decides: the others vary from second to second.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Requests { names: a }, Self::Requests { names: b }) => a.first() == b.first(),
            _ => self == other,
        }
    }
}

/// The unit of a [`Quantity`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum QuantityUnit {
    Seconds,
    PerSecond,
    /// From 0 to 1.
    Share,
    Count,
    Bytes,
    BytesPerSecond,
    Cores,
    /// How many times as much.
    Ratio,
}

/// A number that a finding rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Quantity {
    /// What it counts or measures, in snake case: `throughput`, `places`, `waiting`.
    pub name: Cow<'static, str>,
    pub value: f64,
    pub unit: QuantityUnit,
    /// Its 95 % interval, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

impl Quantity {
    pub(crate) const fn new(name: &'static str, value: f64, unit: QuantityUnit) -> Self {
        Self { name: Cow::Borrowed(name), value, unit, interval: None }
    }

    pub(crate) fn seconds(name: &'static str, value: f64) -> Self {
        Self::new(name, value, QuantityUnit::Seconds)
    }

    pub(crate) fn rate(name: &'static str, value: f64) -> Self {
        Self::new(name, value, QuantityUnit::PerSecond)
    }

    pub(crate) fn share(name: &'static str, value: f64) -> Self {
        Self::new(name, value, QuantityUnit::Share)
    }

    pub fn count(name: &'static str, value: f64) -> Self {
        Self::new(name, value, QuantityUnit::Count)
    }

    /// With its 95 % interval. An interval without a finite end is not known.
    pub fn within(self, low: f64, high: f64) -> Self {
        let interval = Some((low, high)).filter(|(low, high)| low.is_finite() && high.is_finite());
        Self { interval, ..self }
    }
}

/// Another cause that was considered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Alternative {
    /// A noun phrase without its full stop.
    pub cause: String,
    pub ruled_out: bool,
    /// What rules it out, or why it cannot be ruled out, without its full stop.
    pub because: String,
    /// The sentence that every surface shows.
    pub text: String,
}

impl Alternative {
    pub fn ruled_out(cause: impl Into<String>, because: impl Into<String>) -> Self {
        Self::of(cause.into(), true, because.into())
    }

    pub fn not_ruled_out(cause: impl Into<String>, because: impl Into<String>) -> Self {
        Self::of(cause.into(), false, because.into())
    }

    fn of(cause: String, ruled_out: bool, because: String) -> Self {
        let text = format!("{cause}. {}uled out: {because}.", if ruled_out { "R" } else { "Not r" });
        Self { cause, ruled_out, because, text }
    }
}

impl fmt::Display for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why the system behaves as it does, as far as the evidence shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Finding {
    pub rule: RuleId,
    pub subject: Subject,
    /// The numbers in the claim, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantities: Vec<Quantity>,
    /// The sentence rendered from the rule, the subject and the quantities. No code reads it back.
    pub claim: String,
    pub confidence: Confidence,
    pub evidence: Vec<Evidence>,
    /// What would limit the system next, as far as was observed. The same sentence is part of the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_limit: Option<String>,
    pub alternatives: Vec<Alternative>,
    /// What to do next, in one or a few sentences.
    pub next: String,
    /// The page of the rule in docs/findings, without `.md`. Two rules may report findings of one id. Empty: concluded by an older version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub page: String,
}

impl Finding {
    /// Without numbers, evidence and advice.
    pub fn new(rule: RuleId, subject: Subject, confidence: Confidence, claim: String) -> Self {
        Self {
            rule,
            subject,
            quantities: Vec::new(),
            claim,
            confidence,
            evidence: Vec::new(),
            next_limit: None,
            alternatives: Vec::new(),
            next: String::new(),
            page: String::new(),
        }
    }

    /// Whether both report the same matter, perhaps with other numbers.
    pub fn is_same_matter(&self, other: &Self) -> bool {
        is_same_matter((&self.rule, &self.subject), (&other.rule, &other.subject))
    }
}

/// Whether two findings, given as rule and subject, report the same matter.
pub(crate) fn is_same_matter(a: (&RuleId, &Subject), b: (&RuleId, &Subject)) -> bool {
    a.0 == b.0 && a.1.is_same(b.1)
}

/// What is missing to name a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum MissingKnowledge {
    /// Too few requests or journeys ended.
    TooFewRequests,
    /// Requests failed, and the failures must be fixed before other limits show.
    FailuresFirst,
    /// The run did not complete, or failed.
    IncompleteRun,
    /// The measurement is not valid.
    InvalidMeasurement,
    /// Work waited, and no observed resource explains it.
    UnexplainedWaiting,
    /// Times grow with the load, and throughput still follows it.
    HigherLoad,
    /// The load was constant, did not vary enough, or varied too fast.
    VariedLoad,
}

/// What the findings as a whole mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RemarkKind {
    /// Nothing to add.
    Nothing,
    /// The run is in progress, and no rule has found anything so far.
    NothingSoFar,
    /// Throughput followed the load, and times did not grow.
    NoLimit,
    /// A constant load was served, and times remained stable.
    Steady,
    /// The limit is unknown.
    CannotTell,
    /// Other observations, next to findings.
    Also,
}

/// What the findings as a whole mean, as data and as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Remark {
    pub kind: RemarkKind,
    /// What is missing to name a limit, where the limit is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingKnowledge>,
    /// All of it. Empty where there is nothing to add.
    pub text: String,
    /// The same, one by one, the conclusion first.
    #[serde(default)]
    pub statements: Vec<String>,
    /// The conclusion alone, for a headline; where the limit is unknown, the reason.
    pub summary: String,
}

impl Default for Remark {
    fn default() -> Self {
        Self::new(RemarkKind::Nothing, String::new())
    }
}

impl Remark {
    pub fn new(kind: RemarkKind, text: String) -> Self {
        let statements = Some(&text).filter(|text| !text.is_empty()).into_iter().cloned().collect();
        Self { kind, missing: None, summary: text.clone(), statements, text }
    }

    pub fn cannot_tell(missing: MissingKnowledge, why: &str, next: &str) -> Self {
        let conclusion = Self::new(RemarkKind::CannotTell, format!("Cannot tell what limits it: {why}."));
        Self { missing: Some(missing), summary: format!("{why}."), ..conclusion }.and([next.to_owned()])
    }

    /// For a run in progress without a finding.
    pub(crate) fn so_far() -> Self {
        Self::new(RemarkKind::NothingSoFar, "No finding so far.".to_owned())
    }

    /// With further statements.
    pub(crate) fn and(mut self, sentences: impl IntoIterator<Item = String>) -> Self {
        self.statements.extend(sentences);
        self.text = self.statements.join(" ");
        self
    }

    /// With a sentence that belongs to the conclusion.
    pub(crate) fn with_answer(mut self, sentence: String) -> Self {
        self.summary = format!("{} {sentence}", self.summary);
        self.statements.insert(self.statements.len().min(1), sentence);
        self.and([])
    }

    pub fn is_unknown(&self) -> bool {
        self.kind == RemarkKind::CannotTell
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Findings {
    /// Most important first.
    pub findings: Vec<Finding>,
    pub remark: Remark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ProofState {
    /// The setting that the finding names was changed, and what the finding explains moved with it.
    Proved,
    /// The setting was changed, and nothing of that moved.
    Refuted,
    Undecided,
}

/// What an experiment showed about a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FindingProof {
    pub rule: RuleId,
    pub subject: Subject,
    pub claim: String,
    pub state: ProofState,
    pub knob: String,
    /// One sentence.
    pub because: String,
    /// Id of the experiment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub experiment: String,
}

impl ProofState {
    pub fn word(self) -> &'static str {
        match self {
            ProofState::Proved => "proved",
            ProofState::Refuted => "refuted",
            ProofState::Undecided => "undecided",
        }
    }
}

impl FindingProof {
    pub fn is_about(&self, finding: &Finding) -> bool {
        is_same_matter((&self.rule, &self.subject), (&finding.rule, &finding.subject))
    }
}
