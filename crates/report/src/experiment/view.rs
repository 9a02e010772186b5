//! The experiment as a page draws it: every string is formatted and every value has its position.

use loadstone_analysis::{BlockNumber, Experiment, ExperimentRow, ExperimentStop, ExperimentSubject, KnobContrast};
use serde::Serialize;

use super::cells;
use crate::comparison::cells::paint as paint_of;
use crate::picture::{AxisTick, Interval, PlotAxis, Tone};

/// The axis of ratios extends at least this far to each side.
const RATIO_WIDEST: f64 = 1.5;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct ExperimentView {
    pub test: String,
    pub knob: String,
    pub values: Vec<String>,
    /// The verdict of the first contrast, and its sentence.
    pub word: String,
    pub tone: Tone,
    pub headline: String,
    /// The procedure, and why it ended.
    pub how: String,
    pub remarks: Vec<String>,
    /// The result for the finding that the experiment tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofView>,
    pub contrasts: Vec<ContrastView>,
    /// Ticks for the ratios, on a logarithmic axis.
    pub ratios: Vec<AxisTick>,
    /// The range of changes that do not matter.
    pub same: Interval,
    /// The cost of each added millisecond.
    pub sensitivities: Vec<String>,
    pub blocks: Vec<BlockView>,
    /// Each deciding number, block by block.
    pub courses: Vec<CourseView>,
    pub promise: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct ProofView {
    pub word: String,
    pub tone: Tone,
    pub claim: String,
    pub because: String,
}

/// One value compared with the first value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct ContrastView {
    pub title: String,
    pub word: String,
    pub tone: Tone,
    pub headline: String,
    pub subjects: Vec<ExperimentSubjectView>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct ExperimentSubjectView {
    pub title: String,
    pub rows: Vec<ExperimentRowView>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct ExperimentRowView {
    pub metric: String,
    pub decides: bool,
    pub from: String,
    pub to: String,
    pub change: String,
    pub interval: String,
    pub verdict: String,
    pub tone: Tone,
    pub why: String,
    /// The interval of a ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bar: Option<Interval>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct BlockView {
    /// Index into `values`.
    pub value: usize,
    /// From 1.
    pub round: usize,
    /// Share of the width.
    pub x: f64,
    pub run: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct CourseView {
    pub title: String,
    pub ticks: Vec<AxisTick>,
    pub points: Vec<CoursePoint>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct CoursePoint {
    /// Index into `blocks`.
    pub block: usize,
    pub y: f64,
    pub text: String,
}

impl ExperimentView {
    pub fn of(experiment: &Experiment) -> Self {
        let axis = ratio_axis(experiment);
        let effect = 1.0 + experiment.effect;
        let (word, tone, headline) = conclusion(experiment);
        Self {
            test: experiment.test.clone(),
            knob: experiment.knob.clone(),
            values: experiment.values.clone(),
            word,
            tone,
            headline,
            how: cells::how(experiment),
            remarks: experiment.remarks.clone(),
            proof: experiment.proof.as_ref().map(|proof| {
                let (word, paint) = cells::proof(proof.state);
                ProofView { word: word.to_owned(), tone: paint.into(), claim: proof.claim.clone(), because: proof.because.clone() }
            }),
            contrasts: experiment.contrasts.iter().map(|one| contrast(experiment, one, &axis)).collect(),
            ratios: axis.ticks(|ratio| format!("× {}", loadstone_units::number(ratio))),
            same: axis.interval(Some(1.0 / effect), 1.0, Some(effect)),
            sensitivities: experiment.sensitivities.iter().map(|of| of.sentence.clone()).filter(|sentence| !sentence.is_empty()).collect(),
            blocks: blocks(experiment),
            courses: courses(experiment),
            promise: cells::PROMISE.to_owned(),
        }
    }
}

fn conclusion(experiment: &Experiment) -> (String, Tone, String) {
    let Some(first) = experiment.contrasts.first() else {
        let word = if experiment.stop == ExperimentStop::Running { "RUNNING" } else { "UNDECIDED" };
        return (word.to_owned(), Tone::None, String::new());
    };
    let (_, word, paint) = cells::word(first.verdict);
    (word.to_owned(), paint.into(), first.headline.clone())
}

fn rows(experiment: &Experiment) -> impl Iterator<Item = &ExperimentRow> {
    let shown = experiment.contrasts.iter().flat_map(cells::shown);
    shown.flat_map(|(_, rows)| rows).filter(|row| !row.metric.is_difference())
}

fn ratio_axis(experiment: &Experiment) -> PlotAxis {
    PlotAxis::of_ratios(rows(experiment).flat_map(|row| [row.change, row.low, row.high]).flatten(), RATIO_WIDEST)
}

fn contrast(experiment: &Experiment, of: &KnobContrast, axis: &PlotAxis) -> ContrastView {
    let (_, word, paint) = cells::word(of.verdict);
    let subject = |(of, rows): (&ExperimentSubject, Vec<&ExperimentRow>)| ExperimentSubjectView {
        title: cells::title(of),
        rows: rows.into_iter().map(|of| row(experiment, of, axis)).collect(),
    };
    ContrastView {
        title: format!("{} {} → {}", experiment.knob, of.from, of.to),
        word: word.to_owned(),
        tone: paint.into(),
        headline: of.headline.clone(),
        subjects: cells::shown(of).into_iter().map(subject).collect(),
    }
}

fn row(experiment: &Experiment, of: &ExperimentRow, axis: &PlotAxis) -> ExperimentRowView {
    let has_ends = of.low.is_some() || of.high.is_some();
    ExperimentRowView {
        metric: of.metric.name().to_owned(),
        decides: of.decides,
        from: cells::value(of, of.from),
        to: cells::value(of, of.to),
        change: cells::change(of),
        interval: cells::interval(of),
        verdict: cells::verdict(of, experiment.effect),
        tone: paint_of(of.verdict).map_or(Tone::None, Tone::from),
        why: of.why.clone(),
        bar: of.change.filter(|_| has_ends && !of.metric.is_difference()).map(|change| axis.interval(of.low, change, of.high)),
    }
}

fn blocks(experiment: &Experiment) -> Vec<BlockView> {
    let count = experiment.blocks.len().max(1) as f64;
    let block = |(at, of): (usize, &loadstone_analysis::BlockRecord)| {
        let why = of.invalid_because.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
        let invalid =
            if of.grade == loadstone_analysis::Grade::Invalid { format!(", its measurement is INVALID{why}") } else { String::new() };
        BlockView {
            value: experiment.values.iter().position(|value| *value == of.value).unwrap_or(0),
            round: of.round + 1,
            x: (at as f64 + 0.5) / count,
            run: of.run.clone(),
            text: format!("round {}, {} {}{invalid}", of.round + 1, experiment.knob, of.value),
        }
    };
    experiment.blocks.iter().enumerate().map(block).collect()
}

/// Each number of the first block that has any. All blocks measure the same numbers.
fn courses(experiment: &Experiment) -> Vec<CourseView> {
    let numbers = experiment.blocks.first().map_or(&[] as &[_], |block| block.numbers.as_slice());
    numbers.iter().enumerate().map(|(which, number)| course(experiment, which, number)).collect()
}

fn course(experiment: &Experiment, which: usize, number: &BlockNumber) -> CourseView {
    let values = || experiment.blocks.iter().enumerate().filter_map(|(at, block)| Some((at, block.numbers.get(which)?.value?)));
    let axis = PlotAxis::around(values().map(|(_, value)| value), 0.0);
    let write = |value: f64| cells::number(number.metric, value);
    let subject = ExperimentSubject {
        kind: number.kind,
        name: number.name.clone(),
        scenario: String::new(),
        group: number.group.clone(),
        rows: Vec::new(),
    };
    let point = |(block, value): (usize, f64)| {
        let of = &experiment.blocks[block];
        CoursePoint {
            block,
            y: axis.place(value),
            text: format!("round {}, {} {}: {}", of.round + 1, experiment.knob, of.value, write(value)),
        }
    };
    CourseView {
        title: format!("{} of {}", number.metric.name(), cells::title_in_sentence(&subject)),
        ticks: axis.ticks(write),
        points: values().map(point).collect(),
    }
}
