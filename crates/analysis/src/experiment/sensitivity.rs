//! The effect of each millisecond of an added delay: dR/dd and dX/dd.
//!
//! Coz estimates how much a program would gain from a faster part by slowing all other parts down (Curtsinger and Berger, "Coz: Finding
//! Code that Counts with Causal Profiling", SOSP 2015). In a whole system, a part can be slowed directly: a request whose time grows by ten
//! milliseconds per added millisecond waits for that part ten times in sequence. Each round gives a slope by least squares over its values,
//! and the slopes of the rounds give the interval.

use super::block::{Block, SubjectKey};
use super::model::{Sensitivity, SensitivityMetric};
use super::sequence::Sequence;
use super::settings::{KnobScale, TrialValue};
use crate::statistics::LeastSquaresLine;
use crate::{ComparedMetric, SubjectKind};

/// Relative resolution of a histogram.
const HISTOGRAM_RESOLUTION: f64 = 0.004;
/// A whole number of round trips is reported if the interval is within this distance of it.
const ROUND_TRIP_TOLERANCE: f64 = 0.35;

/// Empty unless every value is a delay.
pub(super) fn of(values: &[TrialValue], rounds: &[Vec<&Block>]) -> Vec<Sensitivity> {
    let delay = |value: &TrialValue| if let KnobScale::Delay(seconds) = value.scale { Some(seconds) } else { None };
    let Some(delays) = values.iter().map(delay).collect::<Option<Vec<f64>>>() else { return Vec::new() };
    let Some(first) = rounds.first().and_then(|round| round.first()) else { return Vec::new() };
    let keys = first.subjects.iter().map(|subject| &subject.key);
    let compared = keys.filter(|key| matches!(key.kind, SubjectKind::All | SubjectKind::Request));
    compared
        .flat_map(|key| {
            let metrics: &[SensitivityMetric] = match key.kind {
                SubjectKind::All => &[SensitivityMetric::Rate],
                _ => &[SensitivityMetric::Mean],
            };
            metrics.iter().filter_map(|metric| one(key, *metric, &delays, rounds))
        })
        .collect()
}

fn one(key: &SubjectKey, metric: SensitivityMetric, delays: &[f64], rounds: &[Vec<&Block>]) -> Option<Sensitivity> {
    let measured = match metric {
        SensitivityMetric::Mean => ComparedMetric::Mean,
        SensitivityMetric::Rate => ComparedMetric::Rate,
    };
    let heights: Vec<Vec<f64>> =
        rounds.iter().map(|round| round.iter().map(|block| block.number(key, measured)).collect()).collect::<Option<_>>()?;
    let slopes: Vec<f64> = heights.iter().map(|heights| slope(delays, heights)).collect::<Option<_>>()?;
    let span = delays.iter().fold(0.0_f64, |most, delay| most.max((delay - delays[0]).abs()));
    let largest = heights.iter().flatten().fold(0.0_f64, |most, height| most.max(height.abs()));
    let sequence = Sequence::of(&slopes, HISTOGRAM_RESOLUTION * largest / span);
    // The maximum slope that the time added by a late generator can cause.
    let uncertainty =
        |block: &&Block| block.subject(key).map_or(0.0, |subject| subject.uncertainty(measured) * subject.number(measured).unwrap_or(0.0));
    let tilt = rounds.iter().map(|round| round.iter().map(uncertainty).fold(0.0, f64::max)).sum::<f64>() / (rounds.len() as f64 * span);
    let ends = sequence.ends().map(|(low, high)| (low - tilt, high + tilt));
    let mut found = Sensitivity {
        kind: key.kind,
        name: key.name().to_owned(),
        group: key.series.as_ref().map_or_else(String::new, |key| key.group.to_string()),
        metric,
        slope: sequence.mean,
        low: ends.map(|(low, _)| low),
        high: ends.map(|(_, high)| high),
        sentence: String::new(),
    };
    found.sentence = sentence(&found);
    Some(found)
}

/// Least squares; `None`: all values are equal.
fn slope(at: &[f64], heights: &[f64]) -> Option<f64> {
    let points: Vec<(f64, f64)> = at.iter().copied().zip(heights.iter().copied()).collect();
    LeastSquaresLine::through(&points).map(|line| line.slope)
}

/// Empty if the interval supports no sentence.
fn sentence(found: &Sensitivity) -> String {
    let Some((low, high)) = found.low.zip(found.high) else { return String::new() };
    let crosses = low <= 0.0 && high >= 0.0;
    match found.metric {
        SensitivityMetric::Mean => {
            let name = &found.name;
            if crosses {
                return if high < 1.0 - ROUND_TRIP_TOLERANCE {
                    format!("\"{name}\" does not wait for the delayed part: less than {high:.2} ms per ms of delay")
                } else {
                    String::new()
                };
            }
            let trips = found.slope.round();
            let whole = trips >= 1.0 && low >= trips - ROUND_TRIP_TOLERANCE && high <= trips + ROUND_TRIP_TOLERANCE;
            let round_trips = match trips as u64 {
                1 if whole => ": one round trip",
                trips if whole => &format!(": {trips} sequential round trips"),
                _ => "",
            };
            format!("each ms of delay adds {:.2} ms to \"{name}\" ({low:.2} to {high:.2}){round_trips}", found.slope)
        }
        SensitivityMetric::Rate if crosses => String::new(),
        SensitivityMetric::Rate => {
            let per_ms = |slope: f64| format!("{:.2}", slope / 1e3).replace('-', "−");
            format!("each ms of delay changes the rate by {} requests/s ({} to {})", per_ms(found.slope), per_ms(low), per_ms(high))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_line() {
        assert_eq!(slope(&[0.0, 1.0, 2.0], &[5.0, 15.0, 25.0]), Some(10.0));
        // Least squares by hand: (−1·−1 + 1·2) / 2.
        assert_eq!(slope(&[0.0, 1.0, 2.0], &[1.0, 2.0, 4.0]), Some(1.5));
        assert_eq!(slope(&[1.0, 1.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn sentences_claim_no_more_than_the_interval() {
        let words = |slope: f64, low: f64, high: f64| {
            let found = Sensitivity {
                kind: SubjectKind::Request,
                name: "Check out".to_owned(),
                group: String::new(),
                metric: SensitivityMetric::Mean,
                slope,
                low: Some(low),
                high: Some(high),
                sentence: String::new(),
            };
            sentence(&found)
        };
        assert_eq!(words(9.8, 9.7, 10.1), "each ms of delay adds 9.80 ms to \"Check out\" (9.70 to 10.10): 10 sequential round trips");
        assert_eq!(words(1.0, 0.9, 1.1), "each ms of delay adds 1.00 ms to \"Check out\" (0.90 to 1.10): one round trip");
        assert_eq!(words(9.5, 8.0, 11.0), "each ms of delay adds 9.50 ms to \"Check out\" (8.00 to 11.00)");
        assert_eq!(words(0.0, -0.1, 0.1), "\"Check out\" does not wait for the delayed part: less than 0.10 ms per ms of delay");
        assert_eq!(words(1.0, -3.0, 5.0), "");
    }
}
