//! The readings of one signal over stretches of a run.

use loadstone_metrics::{Signal, SignalKind};
use loadstone_run_directory::SignalSeries;

/// Readings of one signal, or of a counter its growth per second, as `(seconds since the run began, value)` in order.
#[derive(Debug, Clone)]
pub(crate) struct SignalReadings<'a> {
    pub(crate) signal: &'a Signal,
    points: Vec<(f64, f64)>,
}

impl<'a> SignalReadings<'a> {
    pub(crate) fn of(series: &'a SignalSeries) -> Self {
        let at = |ns: u64| ns as f64 / 1e9;
        let points = match series.signal.kind {
            SignalKind::Gauge => series.points.iter().map(|point| (at(point.at), point.value)).collect(),
            SignalKind::Counter => {
                series.points.windows(2).filter_map(|pair| Some((at(pair[1].at), pair[1].growth_since(&pair[0])?))).collect()
            }
        };
        Self { signal: &series.signal, points }
    }

    /// The sum of several gauges that were read at the same instants. Its signal is the one with the largest part. `None` without any.
    pub(crate) fn sum(each: &[SignalReadings<'a>]) -> Option<Self> {
        let whole = |readings: &SignalReadings<'_>| readings.points.iter().map(|(_, value)| value).sum::<f64>();
        let most = each.iter().max_by(|a, b| whole(a).total_cmp(&whole(b)))?;
        let mut points: Vec<(f64, f64)> = each.iter().flat_map(|readings| readings.points.iter().copied()).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let together = points.chunk_by(|a, b| a.0 == b.0).map(|same| (same[0].0, same.iter().map(|(_, value)| value).sum()));
        Some(Self { signal: most.signal, points: together.collect() })
    }

    /// Places in use, of this many places of which these are free.
    pub(crate) fn used_of(&self, places: f64) -> Self {
        let points = self.points.iter().map(|(at, free)| (*at, (places - free).max(0.0)));
        Self { signal: self.signal, points: points.collect() }
    }

    /// How many exceed this many places.
    pub(crate) fn beyond(&self, places: f64) -> Self {
        let points = self.points.iter().map(|(at, count)| (*at, (count - places).max(0.0)));
        Self { signal: self.signal, points: points.collect() }
    }

    /// Each reading plus the reading of another signal at the same instant.
    pub(crate) fn plus(&self, other: &SignalReadings<'_>) -> Self {
        let mut others = other.points.iter().peekable();
        let points = self.points.iter().map(|(at, value)| {
            while others.next_if(|(earlier, _)| earlier < at).is_some() {}
            (*at, value + others.peek().filter(|(same, _)| same == at).map_or(0.0, |(_, added)| *added))
        });
        Self { signal: self.signal, points: points.collect() }
    }

    /// The name of its signal, as evidence lists it.
    pub(crate) fn name(&self) -> String {
        self.signal.name.clone()
    }

    pub(crate) fn label(&self, label: &str) -> Option<&'a str> {
        self.signal.labels.iter().find(|(name, _)| name == label).map(|(_, value)| value.as_str())
    }

    pub(crate) fn between(&self, from: f64, to: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.iter().copied().filter(move |(at, _)| *at >= from && *at <= to)
    }

    pub(crate) fn count(&self, from: f64, to: f64) -> usize {
        self.between(from, to).count()
    }

    /// Pairs of its values and those of another signal at the same instants.
    pub(crate) fn paired_with(&self, other: &SignalReadings<'_>, from: f64, to: f64) -> Vec<(f64, f64)> {
        let mut others = other.between(from, to).peekable();
        let together = self.between(from, to).filter_map(|(at, value)| {
            while others.next_if(|(earlier, _)| *earlier < at).is_some() {}
            others.next_if(|(same, _)| *same <= at).map(|(_, paired)| (value, paired))
        });
        together.collect()
    }

    /// `None` without readings in the stretch.
    pub(crate) fn mean(&self, from: f64, to: f64) -> Option<f64> {
        let count = self.count(from, to);
        (count > 0).then(|| self.between(from, to).map(|(_, value)| value).sum::<f64>() / count as f64)
    }

    /// Values in stretches of time. The end of a stretch does not belong to it.
    pub(crate) fn inside(&self, spans: &[(f64, f64)]) -> Vec<f64> {
        let is_inside = |at: f64| spans.iter().any(|(from, to)| at >= *from && at < *to);
        self.points.iter().filter(|(at, _)| is_inside(*at)).map(|(_, value)| *value).collect()
    }

    /// `None` without readings in them.
    pub(crate) fn mean_inside(&self, spans: &[(f64, f64)]) -> Option<f64> {
        let values = self.inside(spans);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// All readings.
    pub(crate) fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The longest stretch of readings for which a condition on instant and value holds, as [`longest_run`] finds it.
    pub(crate) fn longest_where(&self, readings_min: usize, length_min: f64, holds: impl Fn(f64, f64) -> bool) -> Option<(f64, f64)> {
        let flags: Vec<(f64, f64)> = self.points.iter().map(|(at, value)| (*at, f64::from(u8::from(holds(*at, *value))))).collect();
        longest_run(&flags, readings_min, length_min, |held| held > 0.5)
    }

    /// The value that all readings of the stretch have.
    pub(crate) fn steady(&self, from: f64, to: f64) -> Option<f64> {
        let (_, first) = self.between(from, to).next()?;
        (self.share(from, to, |value| (value - first).abs() < 1e-9) == Some(1.0)).then_some(first)
    }

    /// Share of the readings for which a condition holds; `None` without any.
    pub(crate) fn share(&self, from: f64, to: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
        let count = self.count(from, to);
        (count > 0).then(|| self.between(from, to).filter(|(_, value)| holds(*value)).count() as f64 / count as f64)
    }
}

/// Consecutive readings that may miss the condition within a stretch for which it holds.
const CONSECUTIVE_DIPS_MAX: usize = 2;
/// Share of the readings of such a stretch that may miss it.
const DIP_SHARE_MAX: f64 = 0.2;

/// The longest stretch of `(at, value)` in which a condition holds, with short dips allowed. `None` where it holds for fewer readings or seconds than required.
/// A reading represents the time since the one before it.
pub(crate) fn longest_run(points: &[(f64, f64)], readings_min: usize, length_min: f64, holds: impl Fn(f64) -> bool) -> Option<(f64, f64)> {
    let mut best: Option<(f64, f64)> = None;
    // First and last reading of the current stretch, and how many meet the condition.
    let mut open: Option<(usize, usize, usize)> = None;
    for (index, (at, value)) in points.iter().enumerate() {
        if !holds(*value) {
            continue;
        }
        open = match open {
            Some((first, last, held))
                if index - last <= CONSECUTIVE_DIPS_MAX + 1 && (held + 1) as f64 >= (1.0 - DIP_SHARE_MAX) * (index - first + 1) as f64 =>
            {
                Some((first, index, held + 1))
            }
            _ => Some((index, index, 1)),
        };
        if let Some((first, _, held)) = open {
            let (from, since) = (points[first].0, points[first.saturating_sub(1)].0);
            if held >= readings_min && at - since >= length_min && best.is_none_or(|(a, b)| at - from > b - a) {
                best = Some((from, *at));
            }
        }
    }
    best
}

/// The most frequent value; 0 without any.
pub(crate) fn most_frequent(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map_or(0.0, |same| same[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_represents_the_time_since_the_one_before() {
        // Five readings of a full core, about one second apart.
        let points: Vec<(f64, f64)> = [(1.0, 0.2), (2.1, 1.0), (3.0, 1.0), (4.1, 1.0), (5.0, 1.0), (6.0, 1.0), (7.0, 0.3)].to_vec();
        assert_eq!(longest_run(&points, 5, 5.0, |used| used >= 0.95), Some((2.1, 6.0)));
        assert_eq!(longest_run(&points, 6, 5.0, |used| used >= 0.95), None);
        assert_eq!(longest_run(&points[1..], 5, 5.0, |used| used >= 0.95), None, "its begin is not known");
    }
}
