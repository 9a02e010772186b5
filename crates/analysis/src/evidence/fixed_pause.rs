//! Requests that take a fixed time longer, or a multiple of it: a pause before a call is repeated, or a time limit.
//!
//! A queue, a lock or a loaded resource adds times that scatter. A pause of a client adds the same time to each request, once for each repetition.

use loadstone_run_directory::Run;

use crate::facts::changes::{Change, Shape};
use crate::statistics::median;

/// Slow requests that must show it, and the share of them that must.
const SLOW_MIN: u64 = 10;
const SHARE_MIN: f64 = 0.85;
/// Part of the pause by which an added time may miss a multiple of it.
const WITHIN_PART: f64 = 0.12;
/// Repetitions that are distinguished.
const MULTIPLES_MAX: f64 = 8.0;
/// The pause as a multiple of the usual time, so that the scatter of the rest hides nothing.
const USUAL_TIMES_MIN: f64 = 3.0;
/// Slow requests that are examined.
const EXAMINED_MAX: u64 = 500;

/// A fixed time that slow requests take longer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FixedPause {
    /// Seconds.
    pub(crate) pause_s: f64,
    /// Whether some take a multiple of it longer.
    pub(crate) is_repeated: bool,
    /// Examined slow requests, and those of which it is true.
    pub(crate) slow: u64,
    pub(crate) fitting: u64,
}

impl FixedPause {
    /// Of the slow requests after a change in a part of them.
    pub(crate) fn after(run: &Run, change: &Change) -> Option<Self> {
        let Shape::Part { from_s, .. } = change.shape else { return None };
        let at = |seconds: f64| run.slices.partition_point(|slice| (slice.start as f64) / 1e9 < seconds - 1e-3);
        let times = change.of.times(run, at(change.at), at(change.until.unwrap_or(change.to)));
        let slow = times.count() - times.count_at_or_below(((from_s * 1e9) as u64).saturating_sub(1));
        let first = times.count() - slow + 1;
        let step = slow.div_ceil(EXAMINED_MAX).max(1) as usize;
        let added = (first..=times.count()).step_by(step).map(|rank| times.value_at_rank(rank) as f64 / 1e9 - change.before.median);
        Self::of(&added.collect::<Vec<f64>>()).filter(|found| found.pause_s >= USUAL_TIMES_MIN * change.before.median)
    }

    /// `added`: times by which requests exceed the usual one, ascending. Seconds. A few may be slow for another reason, and be shorter than the pause.
    fn of(added: &[f64]) -> Option<Self> {
        let candidates = added.iter().take(added.len() / 4 + 1).filter(|time| **time > 0.0);
        let fits = candidates.map(|shortest| {
            let near: Vec<f64> =
                added.iter().copied().filter(|time| (*shortest..=(1.0 + 2.0 * WITHIN_PART) * shortest).contains(time)).collect();
            let pause_s = near[near.len() / 2];
            let multiples: Vec<f64> = added.iter().filter_map(|time| multiple(*time, pause_s)).collect();
            (multiples, pause_s)
        });
        let (fitting, pause_s) = fits.max_by(|a, b| a.0.len().cmp(&b.0.len()).then(a.1.total_cmp(&b.1)))?;
        let once: Vec<f64> = added.iter().copied().filter(|time| multiple(*time, pause_s) == Some(1.0)).collect();
        let pause_s = median(&once);
        let is_shown = added.len() as u64 >= SLOW_MIN && fitting.len() as f64 >= SHARE_MIN * added.len() as f64;
        let is_repeated = fitting.iter().any(|times| *times > 1.0);
        is_shown.then_some(Self { pause_s, is_repeated, slow: added.len() as u64, fitting: fitting.len() as u64 })
    }

    /// Completes "… of the requests took longer: ".
    pub(crate) fn claim(self) -> String {
        let pause = loadstone_units::seconds(self.pause_s);
        if self.is_repeated {
            format!("{pause} longer, or a multiple of it, as with a pause before a call is repeated")
        } else {
            format!("{pause} longer each, as with a time limit or a pause before a call is repeated")
        }
    }

    /// Evidence.
    pub(crate) fn text(self) -> String {
        format!("{} of {} slow ones exceed the usual time by {}", self.fitting, self.slow, self.multiples())
    }

    pub(crate) fn next(self) -> String {
        format!(
            "Look for a call that is repeated after {}, or a time limit of that length: in the settings of the service's clients (retries, back-off, \
             timeouts) and in its log.",
            loadstone_units::seconds(self.pause_s)
        )
    }

    fn multiples(self) -> String {
        let pause = loadstone_units::seconds(self.pause_s);
        if self.is_repeated { format!("{pause} or a multiple of it") } else { pause }
    }
}

/// Which multiple of a pause a time is. `None`: it is none.
fn multiple(time: f64, pause_s: f64) -> Option<f64> {
    let times = (time / pause_s).round().clamp(1.0, MULTIPLES_MAX);
    ((time - times * pause_s).abs() <= WITHIN_PART * pause_s).then_some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_and_its_multiples_are_found_and_scattered_times_are_not() {
        let repeated: Vec<f64> = (0..12).map(|n| 1.05 + f64::from(n) / 200.0).chain([2.1, 2.12, 3.2, 4.25]).collect();
        let found = FixedPause::of(&repeated).unwrap();
        assert!((found.pause_s - 1.08).abs() < 0.03 && found.is_repeated && found.fitting == 16, "{found:?}");
        let with_outlier: Vec<f64> = std::iter::once(0.24).chain(repeated).collect();
        assert!(FixedPause::of(&with_outlier).is_some_and(|found| found.fitting == 16), "{with_outlier:?}");
        let once: Vec<f64> = (0..12).map(|n| 5.0 + f64::from(n) / 100.0).collect();
        assert!(FixedPause::of(&once).is_some_and(|found| !found.is_repeated));
        let scattered: Vec<f64> = (0..30).map(|n| 0.5 * 1.1_f64.powi(n)).collect();
        assert_eq!(FixedPause::of(&scattered), None);
        let even: Vec<f64> = (0..40).map(|n| 1.0 + f64::from(n) / 10.0).collect();
        assert_eq!(FixedPause::of(&even), None);
        assert_eq!(FixedPause::of(&once[..5]), None);
    }
}
