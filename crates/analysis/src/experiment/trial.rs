//! An experiment under way: which block comes next, and whether it is decided. Read [`KnobTrial`].
//!
//! A round has one block with each value. The order turns round from one round to the next (A B, B A, …), so that a drift cancels over two of them; it
//! stops after an even number only. Blocks of a round share their seed: the same arrivals and the same draws meet every value.

use loadstone_run_directory::Run;

use super::block::{self, Block, SubjectKey};
use super::contrast::{self, Deciding};
use super::model::{BlockNumber, BlockRecord, Experiment, ExperimentStop, KnobContrast};
use super::settings::TrialSettings;
use super::{proof, sensitivity, warm_up};
use crate::{ComparedMetric, RowVerdict, SubjectKind, Validity};

/// Of all response times, the share from which on a request decides: nobody waits for the others.
const SHARE_MIN: f64 = 0.1;
/// Failures decide where there are any to speak of.
const FAILURES_MIN: f64 = 0.01;
/// Rounds that count without which nothing is decided.
const ROUNDS_MIN: usize = 4;
/// Rounds that are left out before it is given up.
const LEFT_OUT_MAX: usize = 6;

/// The block to run next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextBlock {
    /// From 0.
    pub round: usize,
    /// Place among the values.
    pub value: usize,
}

/// An experiment under way.
#[derive(Debug)]
pub struct KnobTrial {
    settings: TrialSettings,
    /// Blocks of the first round, until they have shown the warm-up.
    opening: Vec<(BlockRecord, Run)>,
    warm_up: Option<warm_up::WarmUp>,
    deciding: Deciding,
    /// In the order in which they ran.
    blocks: Vec<(NextBlock, Block)>,
}

impl KnobTrial {
    pub fn new(settings: TrialSettings) -> Self {
        Self { settings, opening: Vec::new(), warm_up: None, deciding: Deciding(Vec::new()), blocks: Vec::new() }
    }

    /// `None`: it is decided, or has run as long as it may.
    pub fn next(&self) -> Option<NextBlock> {
        let values = self.settings.values.len();
        let ran = self.blocks.len() + self.opening.len();
        let (round, place) = (ran / values, ran % values);
        if place == 0 && self.stop() != ExperimentStop::Running {
            return None;
        }
        Some(NextBlock { round, value: if round.is_multiple_of(2) { place } else { values - 1 - place } })
    }

    /// What was measured in the block that was to come, and how far it can be trusted.
    pub fn add(&mut self, run: Run, validity: &Validity) {
        let Some(next) = self.next() else { return };
        let value = self.settings.values[next.value].label.clone();
        let (id, grade, invalid_because) = (run.info.id.clone(), validity.grade, validity.invalid_because());
        let record = BlockRecord { round: next.round, value, run: id, grade, invalid_because, numbers: Vec::new() };
        match self.warm_up {
            Some(warm_up) => self.blocks.push((next, Block::of(record, run, warm_up.seconds, self.settings.block_seconds))),
            None => {
                self.opening.push((record, run));
                if self.opening.len() == self.settings.values.len() {
                    self.open();
                }
            }
        }
    }

    /// The first round shows the warm-up, and what takes the time. Neither is looked at again: what is left out must not depend on what it does to the result.
    fn open(&mut self) {
        let seconds = self.settings.block_seconds;
        let courses: Vec<Vec<f64>> = self.opening.iter().map(|(_, run)| block::course(run, seconds)).collect();
        let warm_up = warm_up::of_blocks(&courses);
        for (value, (record, run)) in std::mem::take(&mut self.opening).into_iter().enumerate() {
            self.blocks.push((NextBlock { round: 0, value }, Block::of(record, run, warm_up.seconds, seconds)));
        }
        self.warm_up = Some(warm_up);
        let first: Vec<&Block> = self.blocks.iter().map(|(_, block)| block).collect();
        self.deciding = deciding(&first, &self.settings);
    }

    /// Whether it is over, and why.
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

    /// Rounds that are still to come, if what was seen stays as it is; at most as many as are allowed.
    pub fn rounds_left(&self) -> usize {
        let (rounds, left_out) = self.rounds();
        let most = self.settings.rounds_max.saturating_sub(rounds.len() + left_out);
        let contrasts = self.contrasts(&rounds);
        let open = contrasts.iter().flat_map(|contrast| &contrast.subjects).flat_map(|subject| &subject.rows);
        let needed = open.filter(|row| row.decides && row.verdict == RowVerdict::CannotTell).map(|row| row.rounds_needed);
        let needed = needed.map(|needed| needed.unwrap_or(usize::MAX)).max().unwrap_or(if rounds.is_empty() { ROUNDS_MIN } else { 0 });
        let left = needed.saturating_sub(rounds.len()).min(most);
        // It stops after an even number.
        left.max(usize::from(self.stop() == ExperimentStop::Running)).next_multiple_of(2).min(most)
    }

    /// What can be said so far. `stop`: why it ended, where that was not its own decision.
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
                .chain(self.opening.iter().map(|(record, _)| record.clone()))
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
                "response times still moved at the end of a block (a queue that grows, or a warm-up longer than half a block): how large the change is \
                 depends on the block's length"
                    .to_owned(),
            );
        }
        if left_out > 0 {
            let last = self.blocks.iter().rev().find_map(|(_, block)| block.record.invalid_because.as_ref());
            let why = last.map_or_else(String::new, |why| format!(" ({why})"));
            remarks.push(format!("{} left out: a measurement in it was INVALID{why}", loadstone_units::counted(left_out as u64, "round")));
        }
        remarks
    }

    /// The rounds that are complete and count, each with its blocks in the order of the values; and how many were left out.
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

/// No row that decides is open. What is missing in a block can never be told; with nothing else to decide, it goes on.
fn is_decided(contrast: &KnobContrast) -> bool {
    let rows = || contrast.subjects.iter().flat_map(|subject| &subject.rows).filter(|row| row.decides && row.change.is_some());
    rows().next().is_some() && rows().all(|row| row.verdict != RowVerdict::CannotTell)
}

/// Throughput, and of each request that takes a tenth of the time its 95th percentile, or its mean where blocks hold too few for that.
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
    if first.iter().any(|block| block.number(&all, ComparedMetric::Failures).is_some_and(|share| share >= FAILURES_MIN)) {
        found.push((all.clone(), ComparedMetric::Failures));
    }
    let takes_time = |key: &SubjectKey| {
        let share = |block: &&&Block| {
            let whole: f64 =
                block.subjects.iter().filter(|subject| subject.key.kind == SubjectKind::Request).map(|subject| subject.time()).sum();
            block.subject(key).is_some_and(|subject| subject.time() >= SHARE_MIN * whole && subject.count > 0)
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
