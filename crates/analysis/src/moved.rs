//! The signals that a summary shows: first the signals that findings use as evidence, then the signals that moved, by role and by movement.
//! Definitions: docs/metrics.md.

use loadstone_metrics::{Role, SignalKind};
use loadstone_run_directory::SignalSeries;

use crate::facts::readings::SignalReadings;
use crate::{Findings, SignalRow};

const ROWS_MAX: usize = 8;
/// Number of periods of the run whose means are compared to detect movement.
const PERIODS: usize = 10;
/// With fewer readings (three per period), movement cannot be distinguished from noise.
const READINGS_MIN: usize = 3 * PERIODS;
/// Signals with less movement are omitted, see [`movement`].
const MOVEMENT_MIN: f64 = 0.1;
/// The [`tier`] of a pool that has waiters.
const TIER_OF_POOL_WITH_WAITERS: u8 = 0;

pub(crate) fn rows(signals: &[SignalSeries], findings: &Findings) -> Vec<SignalRow> {
    let evidence: Vec<&String> =
        findings.findings.iter().flat_map(|finding| &finding.evidence).flat_map(|evidence| &evidence.series).collect();
    let mut found: Vec<(usize, u8, f64, SignalRow)> = signals
        .iter()
        .filter_map(|series| {
            let readings = SignalReadings::of(series);
            let points: Vec<(f64, f64)> = readings.between(0.0, f64::INFINITY).filter(|(_, value)| value.is_finite()).collect();
            let place = evidence.iter().position(|name| **name == series.signal.name).unwrap_or(usize::MAX);
            let movement = movement(&points);
            let is_shown = place < usize::MAX || movement >= MOVEMENT_MIN || has_waiters(series, &points);
            if is_shown { Some((place, tier(series, &points), movement, row(series, &points)?)) } else { None }
        })
        .collect();
    found.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| b.2.total_cmp(&a.2)).then_with(|| a.3.name.cmp(&b.3.name)));
    // The pool with the most waiters is always shown, regardless of the number of signals in findings.
    let pool_with_waiters = found.iter().position(|(_, tier, ..)| *tier == TIER_OF_POOL_WITH_WAITERS).filter(|place| *place >= ROWS_MAX);
    if let Some(place) = pool_with_waiters {
        found.swap(place, ROWS_MAX - 1);
    }
    found.into_iter().take(ROWS_MAX).map(|(.., row)| row).collect()
}

/// A pool that has waiters most of the time. If the wait began before the run, the signal never moves.
fn has_waiters(series: &SignalSeries, points: &[(f64, f64)]) -> bool {
    let waited = points.iter().filter(|(_, waiting)| *waiting >= 1.0).count();
    series.signal.role == Some(Role::PoolWaiting) && waited > points.len() / 2
}

/// How relevant a signal is for a limit: first pools with waiters, then resources that work may wait for, then other signals with a role,
/// then signals without one. Last are gauges that only grow: totals that their exporter does not declare as counters.
fn tier(series: &SignalSeries, points: &[(f64, f64)]) -> u8 {
    use Role::{
        EventLoopDelay, GarbageCollection, GroupThrottled, PoolInUse, PoolWaitTime, PoolWaiting, ProcessCpu, ProcessThreadCpuMax,
        QueueLength, SessionsActive, SessionsBlocked, SessionsWaitingForCommit, SessionsWaitingForLock, SessionsWaitingForRead,
    };
    // A total stops growing now and then. A signal that rises once or twice is a level.
    let rises = points.windows(2).filter(|pair| pair[1].1 > pair[0].1).count();
    let only_grows =
        series.signal.kind == SignalKind::Gauge && points.windows(2).all(|pair| pair[1].1 >= pair[0].1) && 4 * rises > points.len();
    match series.signal.role {
        Some(PoolWaiting) if has_waiters(series, points) => TIER_OF_POOL_WITH_WAITERS,
        Some(
            PoolWaiting
            | PoolWaitTime
            | PoolInUse
            | QueueLength
            | SessionsActive
            | SessionsBlocked
            | SessionsWaitingForLock
            | SessionsWaitingForCommit
            | SessionsWaitingForRead
            | ProcessCpu
            | ProcessThreadCpuMax
            | GarbageCollection
            | EventLoopDelay
            | GroupThrottled,
        ) => 1,
        Some(_) => 2,
        None if only_grows => 4,
        None => 3,
    }
}

/// `None`: no readings.
fn row(series: &SignalSeries, points: &[(f64, f64)]) -> Option<SignalRow> {
    let (first_at, first) = *points.first()?;
    let (mut sum, mut min, mut max, mut max_at_seconds) = (0.0_f64, first, first, first_at);
    for (at, value) in points {
        sum += value;
        min = value.min(min);
        if *value > max {
            (max, max_at_seconds) = (*value, *at);
        }
    }
    let (name, unit) = (series.signal.name.clone(), series.signal.unit_shown().to_owned());
    Some(SignalRow { name, unit, mean: sum / points.len() as f64, min, max, max_at_seconds })
}

/// How far a signal moved beyond its noise. This is the share of its variance that lies between ten periods of the run, minus the share
/// expected by chance (epsilon squared; Kelley 1935), times the distance between the highest and the lowest mean of a period as a fraction
/// of the larger. 0 for a signal that is constant or only noisy, 1 for a signal that starts at zero and grows steadily.
fn movement(points: &[(f64, f64)]) -> f64 {
    let (Some((first, _)), Some((last, _))) = (points.first(), points.last()) else { return 0.0 };
    if points.len() < READINGS_MIN || last <= first {
        return 0.0;
    }
    let mut periods = [(0.0_f64, 0.0_f64); PERIODS];
    for (at, value) in points {
        let period = (at - first) / (last - first) * PERIODS as f64;
        let (sum, count) = &mut periods[(period as usize).min(PERIODS - 1)];
        *sum += value;
        *count += 1.0;
    }
    let periods: Vec<(f64, f64)> = periods.iter().filter(|(_, count)| *count > 0.0).map(|(sum, count)| (sum / count, *count)).collect();
    let (all, groups) = (points.len() as f64, periods.len() as f64);
    let mean = points.iter().map(|(_, value)| value).sum::<f64>() / all;
    let total: f64 = points.iter().map(|(_, value)| (value - mean).powi(2)).sum();
    let between: f64 = periods.iter().map(|(period, count)| count * (period - mean).powi(2)).sum();
    let (low, high) =
        periods.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (period, _)| (period.min(low), period.max(high)));
    let size = low.abs().max(high.abs());
    if total <= 0.0 || size <= 0.0 {
        return 0.0;
    }
    let explained = 1.0 - (1.0 - between / total) * (all - 1.0) / (all - groups);
    explained.max(0.0) * (high - low) / size
}

#[cfg(test)]
mod tests {
    use loadstone_metrics::{Signal, SignalKind, SignalPoint};

    use super::*;
    use crate::{Confidence, Evidence, Finding, Remark, RuleId, Subject};

    fn series(name: &str, kind: SignalKind, unit: &str, value: impl Fn(u64) -> f64) -> SignalSeries {
        SignalSeries {
            signal: Signal {
                name: name.to_owned(),
                observer: "o".to_owned(),
                kind,
                unit: unit.to_owned(),
                help: String::new(),
                ..Signal::default()
            },
            points: (0..60).map(|second| SignalPoint { at: second * 1_000_000_000, value: value(second) }).collect(),
        }
    }

    fn gauge(name: &str, value: impl Fn(u64) -> f64) -> SignalSeries {
        series(name, SignalKind::Gauge, "1", value)
    }

    fn findings_with_evidence(name: &str) -> Findings {
        let evidence = Evidence::new(String::new(), vec![name.to_owned()], (0.0, 60.0));
        let finding =
            Finding { evidence: vec![evidence], ..Finding::new(RuleId::new("cpu"), Subject::Whole, Confidence::Low, String::new()) };
        Findings { findings: vec![finding], remark: Remark::default() }
    }

    fn nothing() -> Findings {
        Findings { findings: Vec::new(), remark: Remark::default() }
    }

    fn names(signals: &[SignalSeries], findings: &Findings) -> Vec<String> {
        rows(signals, findings).into_iter().map(|row| row.name).collect()
    }

    #[test]
    fn evidence_of_findings_is_first_and_then_the_signals_that_moved_most() {
        let signals = [
            gauge("steady", |_| 5.0),
            // Each number from 1 to 60 once, in the order of a Lehmer generator.
            gauge("wavering", |second| (0..second).fold(7_u64, |value, _| value * 6 % 61) as f64),
            gauge("a step", |second| if second < 30 { 4.0 } else { 5.0 }),
            gauge("growing", |second| second as f64),
            gauge("named", |_| 1.0),
        ];
        assert_eq!(names(&signals, &findings_with_evidence("named")), ["named", "a step", "growing"]);
        assert_eq!(names(&signals, &nothing()), ["a step", "growing"]);
        let many: Vec<SignalSeries> = (0..20).map(|number| gauge(&format!("{number}"), |second| second as f64)).collect();
        assert_eq!(names(&many, &nothing()).len(), ROWS_MAX);
    }

    /// Eight totals that only grow hide neither the pool with waiters nor signals with a role.
    #[test]
    fn pools_with_waiters_precede_totals_that_only_grow() {
        let with_role = |mut series: SignalSeries, role| {
            series.signal.role = Some(role);
            series
        };
        let mut signals: Vec<SignalSeries> = (0..9).map(|number| gauge(&format!("total {number}"), |second| second as f64)).collect();
        signals.push(with_role(gauge("memory", |second| 100.0 + second as f64), Role::ProcessMemory));
        signals.push(with_role(gauge("waiting", |second| if second < 40 { 0.0 } else { 3.0 }), Role::PoolWaiting));
        assert_eq!(names(&signals, &nothing())[..2], ["waiting", "memory"]);
    }

    /// Three wait from the first to the last reading, and findings use more signals than there are rows.
    #[test]
    fn a_pool_with_waiters_is_shown_even_if_it_never_moved() {
        let mut waiting = gauge("waiting", |_| 3.0);
        waiting.signal.role = Some(Role::PoolWaiting);
        assert_eq!(names(&[gauge("growing", |second| second as f64), waiting.clone()], &nothing())[..1], ["waiting"]);
        let many: Vec<SignalSeries> = (0..12).map(|number| gauge(&format!("named {number}"), |second| second as f64)).collect();
        let mut findings = findings_with_evidence("named 0");
        findings.findings[0].evidence[0].series = many.iter().map(|series| series.signal.name.clone()).collect();
        let shown = names(&[many, vec![waiting]].concat(), &findings);
        assert!(shown.len() == ROWS_MAX && shown.contains(&"waiting".to_owned()), "{shown:?}");
        // A pool whose members are always free is not shown.
        let mut idle = gauge("idle pool", |_| 0.0);
        idle.signal.role = Some(Role::PoolWaiting);
        assert_eq!(names(&[idle], &nothing()), [] as [&str; 0]);
    }

    /// A total of rare events does not change in between.
    #[test]
    fn a_total_that_pauses_for_a_while_is_last() {
        let signals = [gauge("total", |second| (second / 3) as f64), gauge("a step", |second| if second < 30 { 4.0 } else { 2.0 })];
        assert_eq!(names(&signals, &nothing()), ["a step", "total"]);
    }

    #[test]
    fn a_counter_is_shown_by_its_growth() {
        // 2 s of CPU time for each second from the 30th on, 0.5 s before.
        let cpu =
            series("p/cpu", SignalKind::Counter, "seconds", |second| second.min(30) as f64 * 0.5 + second.saturating_sub(30) as f64 * 2.0);
        let rows = rows(&[cpu], &nothing());
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((row.unit.as_str(), row.min, row.max, row.max_at_seconds), ("s/s", 0.5, 2.0, 31.0));
        assert!((row.mean - (30.0 * 0.5 + 29.0 * 2.0) / 59.0).abs() < 1e-9, "{row:?}");
    }

    #[test]
    fn signals_without_numbers_or_with_too_few_readings_are_not_shown() {
        let mut short = gauge("short", |second| second as f64);
        short.points.truncate(READINGS_MIN - 1);
        assert_eq!(names(&[short.clone(), gauge("none", |_| f64::NAN)], &nothing()), [] as [&str; 0]);
        assert_eq!(names(&[short], &findings_with_evidence("short")), ["short"]);
        assert_eq!(names(&[gauge("none", |_| f64::NAN)], &findings_with_evidence("none")), [] as [&str; 0]);
    }
}
