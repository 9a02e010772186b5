//! The signals of the observers, aligned to the same axis as the load.

use loadstone_metrics::{Signal, SignalKind, SignalPoint};

use super::axis::{Axis, STEPS_MAX};
use super::{column, has_values};
use crate::view::{Band, ChartColumn, Panel};

/// Readings of one signal within a step. The precision exceeds that of a chart; there may be a thousand signals of 1,200 steps each.
#[derive(Debug, Clone, Copy, Default)]
struct SignalStep {
    mean: f32,
    low: f32,
    high: f32,
    count: u32,
}

impl SignalStep {
    fn one(value: f64) -> Self {
        let value = value.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32;
        Self { mean: value, low: value, high: value, count: 1 }
    }

    fn merge(&mut self, other: SignalStep) {
        if self.count == 0 || other.count == 0 {
            *self = if self.count == 0 { other } else { *self };
            return;
        }
        let count = self.count.saturating_add(other.count);
        let share = f64::from(other.count) / f64::from(count);
        self.mean = (f64::from(self.mean) * (1.0 - share) + f64::from(other.mean) * share) as f32;
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        self.count = count;
    }

    /// `None` if there was no reading.
    fn some(&self, value: impl Fn(&Self) -> f32) -> Option<f64> {
        (self.count > 0).then(|| f64::from(value(self)))
    }
}

/// One signal over the whole run, in steps that are as long as necessary.
#[derive(Debug)]
struct Track {
    signal: Signal,
    step_seconds: u32,
    steps_max: usize,
    cells: Vec<SignalStep>,
    /// The previous reading, for counters.
    previous: Option<SignalPoint>,
}

impl Track {
    fn push(&mut self, point: &SignalPoint) {
        let value = match self.signal.kind {
            SignalKind::Gauge => Some(point.value),
            SignalKind::Counter => self.previous.replace(*point).and_then(|before| point.growth_since(&before)),
        };
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let second = u32::try_from(point.at / 1_000_000_000).unwrap_or(u32::MAX);
        while (second / self.step_seconds) as usize >= self.steps_max {
            self.coarsen();
        }
        let index = (second / self.step_seconds) as usize;
        if self.cells.len() <= index {
            self.cells.resize(index + 1, SignalStep::default());
        }
        self.cells[index].merge(SignalStep::one(value));
    }

    fn coarsen(&mut self) {
        self.step_seconds *= 2;
        let merged = self.cells.chunks(2).map(|pair| {
            let mut cell = pair[0];
            pair.iter().skip(1).for_each(|second| cell.merge(*second));
            cell
        });
        self.cells = merged.collect();
    }

    /// The cells at a coarser (or the same) step length.
    fn at_step(&self, step_seconds: u32, steps: usize) -> Vec<SignalStep> {
        let mut cells = vec![SignalStep::default(); steps];
        let factor = (step_seconds / self.step_seconds).max(1) as usize;
        for (index, cell) in self.cells.iter().enumerate() {
            // The time of a reading may be just after the end of the last slice.
            if let Some(target) = cells.get_mut((index / factor).min(steps.saturating_sub(1))) {
                target.merge(*cell);
            }
        }
        cells
    }

    /// The line of values. If a step merges different readings, also the lines of the lowest and the highest of them.
    fn columns(&self, axis: &Axis) -> Vec<ChartColumn> {
        let cells = self.at_step(axis.step_seconds(), axis.steps().len());
        let id = format!("signal/{}", self.signal.name);
        let label = self.label();
        let mut columns = vec![column(&id, &label, cells.iter().map(|cell| cell.some(|readings| readings.mean)))];
        let differ = |cell: &SignalStep| cell.low != cell.high;
        if cells.iter().any(differ) && self.labels().is_none() {
            let low = cells.iter().map(|cell| cell.some(|readings| readings.low));
            columns.push(column(format!("{id}/min"), format!("{label}, lowest"), low));
            let high = cells.iter().map(|cell| cell.some(|readings| readings.high));
            columns.push(column(format!("{id}/max"), format!("{label}, highest"), high));
        }
        columns
    }

    /// `observer/metric{label}` without the label.
    fn metric(&self) -> &str {
        self.signal.name.split_once('{').map_or(self.signal.name.as_str(), |(metric, _)| metric)
    }

    /// The label of `observer/metric{label}`, if it has one.
    fn labels(&self) -> Option<&str> {
        self.signal.name.split_once('{').map(|(_, label)| label.strip_suffix('}').unwrap_or(label))
    }

    /// The metric without its observer.
    fn short(&self) -> &str {
        self.metric().strip_prefix(self.signal.observer.as_str()).map_or(self.metric(), |rest| rest.trim_start_matches('/'))
    }

    fn label(&self) -> String {
        self.labels().unwrap_or(self.short()).to_owned()
    }

    fn title(&self) -> String {
        if self.signal.help.is_empty() { self.short().to_owned() } else { self.signal.help.clone() }
    }
}

/// All signals of a run.
#[derive(Debug)]
pub(crate) struct Tracks {
    tracks: Vec<Track>,
    steps_max: usize,
}

impl Default for Tracks {
    fn default() -> Self {
        Self { tracks: Vec::new(), steps_max: STEPS_MAX }
    }
}

/// Upper bound on the drawn signals. A source that creates new names without end must not grow the page without end.
const SIGNALS_MAX: usize = 1000;

/// Upper bound on the labelled series of one metric in a panel, the largest first.
const LABELS_MAX: usize = 20;

impl Tracks {
    /// Tracks for this many seconds, with one step for each.
    pub(crate) fn of_seconds(seconds: usize) -> Self {
        Self { tracks: Vec::new(), steps_max: seconds }
    }

    /// Adds a reading. Returns `false` if the signal exceeds the bound and is left out.
    pub(crate) fn push(&mut self, signal: &Signal, point: &SignalPoint) -> bool {
        let index = match self.tracks.iter().position(|track| track.signal.name == signal.name) {
            Some(index) => index,
            None if self.tracks.len() >= SIGNALS_MAX => return false,
            None => {
                let (signal, steps_max) = (signal.clone(), self.steps_max);
                self.tracks.push(Track { signal, step_seconds: 1, steps_max, cells: Vec::new(), previous: None });
                self.tracks.len() - 1
            }
        };
        self.tracks[index].push(point);
        true
    }

    /// One band per observer, one panel per metric, in order of first appearance.
    pub(crate) fn bands(&self, axis: &Axis) -> Vec<Band> {
        let mut bands: Vec<Band> = Vec::new();
        for track in &self.tracks {
            let observer = &track.signal.observer;
            let band = match bands.iter().position(|band| band.observer == *observer) {
                Some(index) => &mut bands[index],
                None => {
                    bands.push(Band { observer: observer.clone(), panels: Vec::new() });
                    let last = bands.len() - 1;
                    &mut bands[last]
                }
            };
            let id = format!("signal/{}", track.metric());
            let columns = track.columns(axis);
            match band.panels.iter_mut().find(|panel| panel.id == id) {
                Some(panel) => panel.columns.extend(columns),
                None => {
                    band.panels.push(Panel {
                        id,
                        title: track.title(),
                        unit: track.signal.unit_shown().to_owned(),
                        stacked: track.labels().is_some(),
                        columns,
                    });
                }
            }
        }
        bands.iter_mut().flat_map(|band| &mut band.panels).for_each(keep_largest);
        bands
    }
}

/// Keeps as many labelled lines as a reader can distinguish: those with the largest sums, in order of appearance.
fn keep_largest(panel: &mut Panel) {
    if !panel.stacked {
        return;
    }
    panel.columns.retain(has_values);
    if panel.columns.len() <= LABELS_MAX {
        return;
    }
    let sum = |column: &ChartColumn| column.values.iter().flatten().sum::<f64>();
    let mut sums: Vec<f64> = panel.columns.iter().map(sum).collect();
    sums.sort_by(|a, b| b.total_cmp(a));
    let least = sums[LABELS_MAX - 1];
    panel.columns.retain(|column| sum(column) >= least);
    panel.columns.truncate(LABELS_MAX);
}
