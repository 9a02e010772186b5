//! The table of Loadstone's own errors.

use anyhow::Result;
use checkout::machine;

use super::case::QUANTILES;
use super::ours::ReportedPercentile;
use super::result::CaseResult;
use crate::stillness;

/// An error that is always within the target: 100 µs.
const FLOOR_S: f64 = 100e-6;
/// Or this share of the truth.
const SHARE: f64 = 0.01;

pub(super) fn ours(outcomes: &[CaseResult]) -> Result<String> {
    let mut text = format!(
        "# Accuracy, {}\n\n{}\n\nGenerator on one core, a server that never sleeps on another. `formula`: the closed form. `server`: for random \
         processes, the quantile of the delays that the server applied, which excludes random variation. The error is relative to `server` if \
         there is one, otherwise to `formula`. Within: at most 1 % or 100 µs. Interval: the reported 95 % interval, and whether it contains the \
         formula's value (for random processes). Away: the share of the time in which a timer at real-time priority did not run. A case is \
         repeated up to {} times, until this share is below half of what p99 leaves out.\n\n",
        machine::today()?,
        machine::facts()?,
        stillness::TRIES,
    );
    text += "| case | away | quantile | formula | server | reported | error | within | interval |\n|---|---|---|---|---|---|---|---|---|\n";
    let mut count = Score::default();
    for outcome in outcomes {
        for quantile in QUANTILES {
            text += &row(outcome, quantile, &mut count);
        }
    }
    text += &format!(
        "\n{} of {} percentiles within 1 % or 100 µs; where the machine was away for less than half of what the percentile leaves out, {} of {}",
        count.within, count.judged, count.still_within, count.still
    );
    if count.intervals > 0 {
        text += &format!("; {} of {} intervals contain the formula's value", count.covering, count.intervals);
    }
    let grades: Vec<String> = ["valid", "suspect", "invalid"]
        .iter()
        .map(|grade| format!("{} {grade}", outcomes.iter().filter(|o| o.reported.grade == *grade).count()))
        .collect();
    text += &format!(". Runs by their own verdict: {}.\n\n", grades.join(", "));
    for (index, outcome) in outcomes.iter().enumerate() {
        if !outcomes[..index].iter().any(|before| before.case.name == outcome.case.name) {
            let case = &outcome.case;
            let timing = if case.poisson { " (Poisson)" } else { "" };
            text += &format!("- {}: {}/s{timing} for {} s; {}\n", case.name, case.rate, case.seconds, case.formula);
        }
    }
    Ok(text)
}

#[derive(Default)]
struct Score {
    judged: u32,
    within: u32,
    /// Of those, where the machine held still.
    still: u32,
    still_within: u32,
    intervals: u32,
    covering: u32,
}

fn row(outcome: &CaseResult, quantile: f64, count: &mut Score) -> String {
    let case = &outcome.case;
    let (formula, away) = (case.truth_s(quantile), outcome.stillness.shown());
    let did = outcome.account["asked_ns"][name(quantile)].as_f64().filter(|_| case.is_random()).map(|ns| ns / 1e9);
    let Some(ReportedPercentile { value, interval }) = outcome.reported.at(quantile) else {
        return format!("| {} | {away} | {} | {} | {} | too few samples | | | |\n", case.name, name(quantile), ms(Some(formula)), ms(did));
    };
    let truth = if case.is_random() { did.unwrap_or(formula) } else { formula };
    let error = value - truth;
    let within = error.abs() <= FLOOR_S.max(SHARE * truth);
    count.judged += 1;
    count.within += u32::from(within);
    let still = outcome.stillness.holds_for(quantile);
    count.still += u32::from(still);
    count.still_within += u32::from(still && within);
    let covers = interval.filter(|_| case.is_random()).map(|(low, high)| (low..=high).contains(&formula));
    count.intervals += u32::from(covers.is_some());
    count.covering += u32::from(covers == Some(true));
    let shown = interval.map_or_else(String::new, |(low, high)| {
        let mark = covers.map_or("", |covers| if covers { ", holds it" } else { ", misses it" });
        format!("{} to {}{mark}", ms(Some(low)), ms(Some(high)))
    });
    format!(
        "| {} | {away} | {} | {} | {} | {} | {:+.0} µs ({:+.2} %) | {} | {shown} |\n",
        case.name,
        name(quantile),
        ms(Some(formula)),
        ms(did),
        ms(Some(value)),
        error * 1e6,
        error / truth.max(FLOOR_S) * 100.0,
        if within { "yes" } else { "no" },
    )
}

/// `p99.9`
fn name(quantile: f64) -> String {
    format!("p{}", (quantile * 1e6).round() / 1e4)
}

/// Milliseconds; a dash for what was not reported.
pub(super) fn ms(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "–".to_owned(), |seconds| format!("{:.3} ms", seconds * 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_have_their_usual_names() {
        assert_eq!(QUANTILES.map(name), ["p50", "p90", "p99", "p99.9"]);
    }
}
