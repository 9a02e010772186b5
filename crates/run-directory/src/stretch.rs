//! Gathers the seconds of a long run that were kept, for looking closely.

use metrics::{SeriesKey, SeriesKind, SeriesSlice, SignalPoint, Snapshot};

use crate::{SignalSeries, Stretch};

/// A shorter one is an edge of the load among minutes.
const SECONDS_MIN: usize = 60;

/// Gathers stretches from slices that come in order.
#[derive(Debug, Default)]
pub(crate) struct Stretches {
    stretches: Vec<Stretch>,
}

impl Stretches {
    pub(crate) fn push(&mut self, slice: &Snapshot) {
        if slice.seconds() > 1 {
            return;
        }
        match self.stretches.last_mut().filter(|stretch| end(stretch) == Some(slice.slice)) {
            Some(stretch) => stretch.seconds.push(outline(slice)),
            None => {
                self.close();
                self.stretches.push(Stretch { seconds: vec![outline(slice)], signals: Vec::new() });
            }
        }
    }

    /// Readings come after the slices.
    pub(crate) fn push_signal(&mut self, id: usize, series: &SignalSeries, point: SignalPoint) {
        let second = u32::try_from(point.at / 1_000_000_000).unwrap_or(u32::MAX);
        let Some(stretch) = self.stretches.iter_mut().find(|stretch| contains(stretch, second)) else { return };
        while stretch.signals.len() <= id {
            stretch.signals.push(SignalSeries { signal: series.signal.clone(), points: Vec::new() });
        }
        stretch.signals[id].points.push(point);
    }

    pub(crate) fn close(&mut self) {
        self.stretches.retain(|stretch| stretch.seconds.len() >= SECONDS_MIN);
    }

    pub(crate) fn finish(self) -> Vec<Stretch> {
        self.stretches
    }
}

/// The second after its last.
fn end(stretch: &Stretch) -> Option<u32> {
    stretch.seconds.last().map(|slice| slice.slice + 1)
}

fn contains(stretch: &Stretch, second: u32) -> bool {
    stretch.seconds.first().is_some_and(|slice| slice.slice <= second) && end(stretch).is_some_and(|end| second < end)
}

fn outline(slice: &Snapshot) -> Snapshot {
    let mut all = SeriesSlice::new(SeriesKey::new(SeriesKind::Request, "", ""));
    let mut failing = Vec::new();
    for series in slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request) {
        all.count += series.count;
        all.response.merge(&series.response);
        all.lag.merge(&series.lag);
        all.phases.merge(&series.phases);
        all.bytes_sent += series.bytes_sent;
        all.bytes_received += series.bytes_received;
        if series.failed > 0 {
            failing.push(SeriesSlice { outcomes: series.outcomes.clone(), ..SeriesSlice::new(series.key.clone()) });
        }
    }
    let mut outline = Snapshot {
        slice: slice.slice,
        start: slice.start,
        end: slice.end,
        series: std::iter::once(all).chain(failing).collect(),
        leaves: slice.leaves.clone(),
        generator: slice.generator.clone(),
        flows: slice.flows.clone(),
        ..Snapshot::default()
    };
    outline.pack();
    outline
}
