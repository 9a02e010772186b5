//! An experiment in progress: the next block, and whether the result is decided. Read [`KnobTrial`].
//!
//! A round has one block with each value. The order alternates from round to round (A B, B A, …), so that a drift cancels over two rounds;
//! the experiment stops only after an even number. Blocks of a round share their seed: every value gets the same arrivals and the same
//! random numbers.

use loadstone_run_directory::Run;

use super::block::{self, Block, SubjectKey};
use super::contrast::{self, Deciding};
use super::model::{BlockNumber, BlockRecord, Experiment, ExperimentStop, KnobContrast};
use super::settings::TrialSettings;
use super::{proof, sensitivity, warm_up};
use crate::{ComparedMetric, RowVerdict, SubjectKind, Validity};

/// A request decides if it has at least this share of all response times. Users hardly wait for the others.
const DECIDING_TIME_SHARE_MIN: f64 = 0.1;
/// Failures decide if they have at least this share in any block.
const DECIDING_FAILURES_MIN: f64 = 0.01;
/// Minimum number of rounds that count before a decision.
const ROUNDS_MIN: usize = 4;
/// The experiment stops after this many excluded rounds.
const LEFT_OUT_MAX: usize = 6;
/// Excluded rounds that the remark names.
const EXCLUDED_NAMED_MAX: usize = 2;

/// The block to run next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextBlock {
    /// Counted from 0.
    pub round: usize,
    /// Index of the value.
    pub value: usize,
}

/// An experiment in progress.
#[derive(Debug)]
pub struct KnobTrial {
    settings: TrialSettings,
    /// Blocks of the round in progress, until the warm-up is known.
    opening: Vec<(NextBlock, BlockRecord, Run)>,
    warm_up: Option<warm_up::WarmUp>,
    deciding: Deciding,
    /// In the order in which they ran.
    blocks: Vec<(NextBlock, Block)>,
}

impl KnobTrial {
    pub fn new(settings: TrialSettings) -> Self {
        Self { settings, opening: Vec::new(), warm_up: None, deciding: Deciding(Vec::new()), blocks: Vec::new() }
    }

    /// `None`: the experiment is decided, or has reached its limit.
    pub fn next(&self) -> Option<NextBlock> {
        let values = self.settings.values.len();
        let ran = self.blocks.len() + self.opening.len();
        let (round, place) = (ran / values, ran % values);
        if place == 0 && self.stop() != ExperimentStop::Running {
            return None;
        }
        Some(NextBlock { round, value: if round.is_multiple_of(2) { place } else { values - 1 - place } })
    }

    /// Adds the measurement of the next block and its validity.
    pub fn add(&mut self, run: Run, validity: &Validity) {
        let Some(next) = self.next() else { return };
        let value = self.settings.values[next.value].label.clone();
        let (id, grade, invalid_because) = (run.info.id.clone(), validity.grade, validity.invalid_because());
        let record = BlockRecord { round: next.round, value, run: id, grade, invalid_because, numbers: Vec::new() };
        match self.warm_up {
            Some(warm_up) => self.blocks.push((next, Block::of(record, run, warm_up.seconds, self.settings.block_seconds))),
            None => {
                self.opening.push((next, record, run));
                if self.opening.len() == self.settings.values.len() {
                    self.open();
                }
            }
        }
    }

    /// The first round that counts determines the warm-up and the deciding numbers. Neither is determined again: the exclusion must not
    /// depend on its effect on the result.
    fn open(&mut self) {
        let seconds = self.settings.block_seconds;
        let courses: Vec<Vec<f64>> = self.opening.iter().map(|(_, _, run)| block::course(run, seconds)).collect();
        let warm_up = warm_up::of_blocks(&courses);
        let round = std::mem::take(&mut self.opening).into_iter();
        let round: Vec<_> = round.map(|(next, record, run)| (next, Block::of(record, run, warm_up.seconds, seconds))).collect();
        let blocks: Vec<&Block> = round.iter().map(|(_, block)| block).collect();
        self.deciding = deciding(&blocks, &self.settings);
        if blocks.iter().all(|block| block.counts()) {
            self.warm_up = Some(warm_up);
        }
        self.blocks.extend(round);
    }

    /// Whether a round counts and has no number that `measure` names. More rounds do not help.
    pub fn lacks_measure(&self) -> bool {
        self.warm_up.is_some() && self.settings.measure.is_some() && self.deciding.0.is_empty()
    }

    /// Whether the experiment is over, and why.
    pub fn stop(&self) -> ExperimentStop {
        let (rounds, left_out) = self.rounds();
        let ran = rounds.len() + left_out;
        if ran.is_multiple_of(2) && !rounds.is_empty() && self.contrasts(&rounds).iter().all(is_decided) {
            ExperimentStop::Decided
        } else if left_out >= LEFT_OUT_MAX {
            ExperimentStop::Spoilt
        } else if ran >= self.settings.rounds_max {
            ExperimentStop::Limit
        } else {
            ExperimentStop::Running
        }
    }

    /// The expected number of remaining rounds, assuming the same change and variance; at most the limit.
    pub fn rounds_left(&self) -> usize {
        let (rounds, left_out) = self.rounds();
        let most = self.settings.rounds_max.saturating_sub(rounds.len() + left_out);
        let contrasts = self.contrasts(&rounds);
        let open = contrasts.iter().flat_map(|contrast| &contrast.subjects).flat_map(|subject| &subject.rows);
        let needed = open.filter(|row| row.decides && row.verdict == RowVerdict::CannotTell).map(|row| row.rounds_needed);
        let needed = needed.map(|needed| needed.unwrap_or(usize::MAX)).max().unwrap_or(if rounds.is_empty() { ROUNDS_MIN } else { 0 });
        let left = needed.saturating_sub(rounds.len()).min(most);
        // The experiment stops after an even number of rounds.
        left.max(usize::from(self.stop() == ExperimentStop::Running)).next_multiple_of(2).min(most)
    }

    /// The result so far. `stop`: why it ended, if that was not decided by the experiment itself.
    pub fn experiment(&self, stop: Option<ExperimentStop>) -> Experiment {
        let (rounds, left_out) = self.rounds();
        let contrasts = self.contrasts(&rounds);
        let proof = self.settings.finding.as_ref().map(|finding| proof::of(finding, &self.settings, &contrasts));
        Experiment {
            schema: 1,
            test: self.settings.test.clone(),
            knob: self.settings.knob.clone(),
            values: self.settings.values.iter().map(|value| value.label.clone()).collect(),
            rounds: rounds.len(),
            left_out,
            block_seconds: self.settings.block_seconds as u64,
            warm_up_seconds: self.warm_up.map_or(0, |warm_up| warm_up.seconds as u64),
            effect: self.settings.effect,
            stop: stop.unwrap_or_else(|| self.stop()),
            sensitivities: sensitivity::of(&self.settings.values, &rounds),
            proof,
            remarks: self.remarks(left_out),
            contrasts,
            blocks: self
                .blocks
                .iter()
                .map(|(_, block)| self.recorded(block))
                .chain(self.opening.iter().map(|(_, record, _)| record.clone()))
                .collect(),
        }
    }

    fn recorded(&self, block: &Block) -> BlockRecord {
        let number = |(key, metric): &(SubjectKey, ComparedMetric)| BlockNumber {
            kind: key.kind,
            name: key.name().to_owned(),
            group: key.series.as_ref().map_or_else(String::new, |key| key.group.to_string()),
            metric: *metric,
            value: block.number(key, *metric),
        };
        BlockRecord { numbers: self.deciding.0.iter().map(number).collect(), ..block.record.clone() }
    }

    fn remarks(&self, left_out: usize) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.warm_up.is_some_and(|warm_up| warm_up.never_settles) {
            remarks.push(
                "response times had not settled at the end of a block (a growing queue, or a warm-up longer than half a block): the size \
                 of the change depends on the length of the blocks"
                    .to_owned(),
            );
        }
        if left_out > 0 {
            let rounds = loadstone_units::counted(left_out as u64, "round");
            remarks.push(format!("{rounds} excluded because of an INVALID measurement: {}", self.excluded(left_out)));
        }
        remarks
    }

    /// The excluded rounds, each with its first invalid block: `round 1 with 8 (waiting for a core: 23 % of the time)`.
    fn excluded(&self, left_out: usize) -> String {
        let rounds = self.blocks.chunks_exact(self.settings.values.len());
        let invalid = rounds.filter_map(|round| round.iter().map(|(_, block)| block).find(|block| !block.counts()));
        let named = invalid.take(EXCLUDED_NAMED_MAX).map(|block| {
            let why = block.record.invalid_because.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
            format!("round {} with {}{why}", block.record.round + 1, block.record.value)
        });
        let more = left_out.saturating_sub(EXCLUDED_NAMED_MAX);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        named.collect::<Vec<_>>().join(", ") + &more
    }

    /// The complete rounds that count, each with its blocks in the order of the values, and the number of excluded rounds.
    fn rounds(&self) -> (Vec<Vec<&Block>>, usize) {
        let values = self.settings.values.len();
        let complete = self.blocks.chunks_exact(values).map(|round| {
            let mut ordered: Vec<&(NextBlock, Block)> = round.iter().collect();
            ordered.sort_by_key(|(next, _)| next.value);
            ordered.into_iter().map(|(_, block)| block).collect::<Vec<_>>()
        });
        let (counted, left_out): (Vec<_>, Vec<_>) = complete.partition(|round| round.iter().all(|block| block.counts()));
        (counted, left_out.len())
    }

    fn contrasts(&self, rounds: &[Vec<&Block>]) -> Vec<KnobContrast> {
        let labels: Vec<&str> = self.settings.values.iter().map(|value| value.label.as_str()).collect();
        let against = |other: usize| {
            let pairs: Vec<contrast::Pair<'_>> = rounds.iter().map(|round| (round[0], round[other])).collect();
            contrast::of((labels[0], labels[other]), &pairs, &self.deciding, self.settings.effect)
        };
        (1..labels.len()).map(against).collect()
    }
}

/// All deciding rows are decided. A number that is missing in a block can never be decided, so it is ignored; without any other number, the
/// experiment continues.
fn is_decided(contrast: &KnobContrast) -> bool {
    let rows = || contrast.subjects.iter().flat_map(|subject| &subject.rows).filter(|row| row.decides && row.change.is_some());
    rows().next().is_some() && rows().all(|row| row.verdict != RowVerdict::CannotTell)
}

/// The deciding numbers: the rate, and for each request with at least a tenth of the time its p95, or its mean if blocks have too few
/// samples.
fn deciding(first: &[&Block], settings: &TrialSettings) -> Deciding {
    let all = SubjectKey { kind: SubjectKind::All, series: None };
    let keys = || first.iter().flat_map(|block| block.subjects.iter().map(|subject| &subject.key));
    if let Some((metric, name)) = &settings.measure {
        let named = |key: &&SubjectKey| match name {
            Some(name) => key.series.is_some() && key.name() == name,
            None => key.kind == SubjectKind::All,
        };
        return Deciding(keys().find(named).map(|key| vec![(key.clone(), *metric)]).unwrap_or_default());
    }
    let mut found = vec![(all.clone(), ComparedMetric::Rate)];
    if first.iter().any(|block| block.number(&all, ComparedMetric::Failures).is_some_and(|share| share >= DECIDING_FAILURES_MIN)) {
        found.push((all.clone(), ComparedMetric::Failures));
    }
    let takes_time = |key: &SubjectKey| {
        let share = |block: &&&Block| {
            let whole: f64 =
                block.subjects.iter().filter(|subject| subject.key.kind == SubjectKind::Request).map(|subject| subject.time()).sum();
            block.subject(key).is_some_and(|subject| subject.time() >= DECIDING_TIME_SHARE_MIN * whole && subject.count > 0)
        };
        first.iter().any(|block| share(&block))
    };
    for key in keys().filter(|key| key.kind == SubjectKind::Request) {
        let known = found.iter().any(|(known, _)| known == key);
        if !known && takes_time(key) {
            let enough = first.iter().all(|block| block.number(key, ComparedMetric::P95).is_some());
            found.push((key.clone(), if enough { ComparedMetric::P95 } else { ComparedMetric::Mean }));
        }
    }
    Deciding(found)
}
