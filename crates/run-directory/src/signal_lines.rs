//! Writes the readings of the observers. Those of the current minute are also gathered, so that a long run stores them in fewer bytes.

use std::collections::HashMap;
use std::path::Path;

use loadstone_metrics::SignalNotice;
use loadstone_secrets::Secrets;

use crate::json::{fill, push_line};
use crate::line::SignalLine;
use crate::parts::{FIRST_S, MINUTE_S, PART_S, PartedLines};
use crate::{RunError, SignalSeries, files};

/// `signals.jsonl` and its later parts.
#[derive(Debug)]
pub(crate) struct SignalLines {
    lines: PartedLines,
    ids: HashMap<String, u32>,
    /// Whether old parts are removed, so that the minutes must contain their readings.
    removes: bool,
    /// The last announced second.
    second: u32,
    /// The current minute: definitions and notices, and points by series.
    minute: Vec<SignalLine>,
    points: Vec<(Vec<u64>, Vec<f64>)>,
    buffer: Vec<u8>,
}

impl SignalLines {
    pub(crate) fn create(directory: &Path, removes: bool) -> Result<Self, RunError> {
        let lines = PartedLines::create(directory, files::SIGNAL_STEM)?;
        Ok(Self { lines, ids: HashMap::new(), removes, second: 0, minute: Vec::new(), points: Vec::new(), buffer: Vec::new() })
    }

    /// Appends the points; a batch is one write.
    pub(crate) fn points(&mut self, batch: &[SignalSeries], secrets: &Secrets) -> Result<(), RunError> {
        let mut text = std::mem::take(&mut self.buffer);
        text.clear();
        for series in batch {
            let id = match self.ids.get(&series.signal.name) {
                Some(id) => *id,
                None => {
                    let id = self.ids.len() as u32;
                    let line = SignalLine::Signal { id, signal: series.signal.hiding(secrets) };
                    push_line(&mut text, &line)?;
                    if self.gathers() {
                        self.minute.push(line);
                    }
                    self.ids.insert(series.signal.name.clone(), id);
                    self.points.push((Vec::new(), Vec::new()));
                    id
                }
            };
            if series.points.is_empty() {
                continue;
            }
            let finite = series.points.iter().filter(|point| point.value.is_finite());
            let (at, value): (Vec<u64>, Vec<f64>) = finite.map(|point| (point.at, point.value)).unzip();
            if self.gathers() {
                let gathered = &mut self.points[id as usize];
                gathered.0.extend_from_slice(&at);
                gathered.1.extend_from_slice(&value);
            }
            push_line(&mut text, &SignalLine::Points { id, at, value })?;
        }
        let written = if text.is_empty() { Ok(()) } else { self.lines.append(&text) };
        self.buffer = text;
        written
    }

    pub(crate) fn notice(&mut self, notice: SignalNotice) -> Result<(), RunError> {
        let line = SignalLine::Notice(notice);
        fill(&mut self.buffer, &line)?;
        if self.gathers() {
            self.minute.push(line);
        }
        self.lines.append(&self.buffer)
    }

    /// A second after the first hour is about to be written.
    pub(crate) fn second(&mut self, second: u32) -> Result<(), RunError> {
        if self.gathers() && second / MINUTE_S != self.second / MINUTE_S {
            // The minutes lack readings whose write failed, so from here on, parts are kept.
            self.close_minute().inspect_err(|_| self.removes = false)?;
        }
        if self.removes && self.lines.is_due(second) {
            fill(&mut self.buffer, &SignalLine::Part(second / PART_S * PART_S))?;
            self.lines.append_minute(&self.buffer)?;
        }
        self.second = second;
        self.lines.roll(second, self.removes)
    }

    fn close_minute(&mut self) -> Result<(), RunError> {
        let mut text = std::mem::take(&mut self.buffer);
        text.clear();
        for line in self.minute.drain(..) {
            push_line(&mut text, &line)?;
        }
        for (id, (at, value)) in self.points.iter_mut().enumerate() {
            if !at.is_empty() {
                push_line(&mut text, &SignalLine::Points { id: id as u32, at: std::mem::take(at), value: std::mem::take(value) })?;
            }
        }
        let written = if text.is_empty() { Ok(()) } else { self.lines.append_minute(&text) };
        self.buffer = text;
        written
    }

    fn gathers(&self) -> bool {
        self.removes && self.second >= FIRST_S
    }

    pub(crate) fn move_to(&mut self, directory: &Path) -> Result<(), RunError> {
        self.lines.move_to(directory)
    }

    pub(crate) fn sync(&self) -> Result<(), RunError> {
        self.lines.sync()
    }
}
