//! No sentence contradicts the numbers of the same report, on random runs.

use loadstone_analysis::{Confidence, Finding, Percentile, RemarkKind, Summary, conclude};
use loadstone_metrics::{Histogram, Outcome, Role, SeriesKind};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::changes::noise;
use crate::draws::Draws;
use crate::synthetic::{self, SECOND, Slice, gauge};

/// The behaviour of one request in a random run.
struct Behaviour {
    name: &'static str,
    median: f64,
    sigma: f64,
    /// Start, end and factor of a slow period.
    step: (f64, f64, f64),
    failing: (f64, f64),
    drift: f64,
}

fn behaviour(name: &'static str, seconds: f64, draws: &mut Draws) -> Behaviour {
    let maybe = |chance: f64, draws: &mut Draws| draws.uniform() < chance;
    let from = draws.uniform() * seconds;
    let until = if maybe(0.5, draws) { from + 3.0 + draws.uniform() * seconds } else { seconds };
    let factor = if maybe(0.4, draws) { 1.0 + 50.0 * draws.uniform().powi(3) } else { 1.0 };
    let share = match (draws.uniform() * 6.0) as u32 {
        0 => 0.001,
        1 => 0.05,
        2 => 1.0,
        _ => 0.0,
    };
    Behaviour {
        name,
        median: 0.001 * 200.0_f64.powf(draws.uniform()),
        sigma: 0.1 + 0.8 * draws.uniform(),
        step: (from, until, factor),
        failing: (if maybe(0.5, draws) { from } else { 0.0 }, share),
        drift: if maybe(0.1, draws) { draws.uniform() * 2.0 } else { 0.0 },
    }
}

pub(crate) fn random_run(seed: u64) -> Run {
    let mut draws = Draws::new(seed ^ 0xc0de);
    let seconds = 25 + (draws.uniform() * 60.0) as u32;
    let (low, high) = (5.0 + 20.0 * draws.uniform(), 10.0 + 40.0 * draws.uniform());
    let stage =
        |from: f64, to: f64, seconds: u32| OpenStage::Rate { from, to, duration_ns: u64::from(seconds) * SECOND, timing: Timing::Even };
    let half = seconds / 2;
    let (stages, rate): (Vec<OpenStage>, Box<dyn Fn(u32) -> f64>) = match (draws.uniform() * 3.0) as u32 {
        0 => (vec![stage(low, low, seconds)], Box::new(move |_| low)),
        1 => (vec![stage(low, high, seconds)], Box::new(move |second| low + (high - low) * f64::from(second) / f64::from(seconds))),
        _ => {
            let stages = vec![stage(low, low, half), stage(high, high, seconds - half)];
            (stages, Box::new(move |second| if second < half { low } else { high }))
        }
    };
    let requests: Vec<Behaviour> = ["A", "B", "C"].into_iter().map(|name| behaviour(name, f64::from(seconds), &mut draws)).collect();
    let outcomes = [Outcome::Status, Outcome::Timeout, Outcome::Refused, Outcome::Expect];
    let slices = (0..seconds).map(|second| {
        let count = rate(second).round() as u64;
        let at = f64::from(second);
        let mut slice = Slice::new(second).arrivals(count);
        for (request, outcome) in requests.iter().zip(outcomes) {
            for _ in 0..count {
                let (from, until, factor) = request.step;
                let factor = if (from..until).contains(&at) { factor } else { 1.0 } * (1.0 + request.drift * at / f64::from(seconds));
                let time = request.median * factor * noise(request.sigma, &mut draws);
                let fails = at >= request.failing.0 && draws.uniform() < request.failing.1;
                slice.record(SeriesKind::Request, request.name, 0, (time * 1e9) as u64, if fails { outcome } else { Outcome::Passed });
            }
        }
        slice.done()
    });
    let slices = slices.collect();
    let mut run = synthetic::run_of(synthetic::plan(LoadProfile::Open { stages }), slices);
    let (from, level) = (draws.uniform() * f64::from(seconds), 5.0 * draws.uniform());
    gauge("process", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| if second as f64 >= from { level } else { 0.2 });
    run
}

fn times(run: &Run, name: &str, from: f64, to: f64) -> Histogram {
    let mut times = Histogram::new();
    let inside = run.slices.iter().filter(|slice| slice.start as f64 / 1e9 >= from && slice.end as f64 / 1e9 <= to);
    for series in inside.flat_map(|slice| &slice.series).filter(|series| &*series.key.name == name) {
        times.merge(&series.service);
    }
    times
}

fn median(times: &Histogram) -> f64 {
    times.quantile(0.5).unwrap_or(0) as f64 / 1e9
}

/// All sentences of a report.
pub(crate) fn sentences(summary: &Summary) -> Vec<String> {
    let findings = &summary.verdict.findings;
    let of = |finding: &Finding| {
        let evidence = finding.evidence.iter().map(|evidence| evidence.text.clone());
        std::iter::once(finding.claim.clone())
            .chain(evidence)
            .chain(finding.alternatives.iter().map(ToString::to_string))
            .collect::<Vec<String>>()
    };
    findings.findings.iter().flat_map(of).chain(std::iter::once(findings.remark.text.clone())).collect()
}

fn failed(summary: &Summary, name: &str) -> u64 {
    summary.requests.iter().filter(|row| &*row.key.name == name).map(|row| row.failed).sum()
}

fn number(text: &str) -> u64 {
    text.replace(',', "").parse().unwrap()
}

/// Seconds whose slowest request took four times as long as in the usual second, plus 20 ms.
fn pauses(run: &Run) -> usize {
    let longest = |slice: &loadstone_metrics::Snapshot| {
        let requests = slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request);
        requests.map(|series| series.service.max()).max().filter(|most| *most > 0)
    };
    let mut all: Vec<u64> = run.slices.iter().filter_map(longest).collect();
    all.sort_unstable();
    let usual = all[(all.len() - 1) / 2];
    all.into_iter().filter(|longest| *longest >= (4 * usual).max(usual + 20_000_000)).count()
}

/// The error of a change that is reported as larger than the effect of the load, or as sudden.
fn exceeds_the_load(run: &Run, finding: &Finding) -> Option<String> {
    let (is_more, is_sudden) = (finding.claim.contains("more than the load explains"), finding.claim.contains("all at once"));
    let name = finding.claim.split('"').nth(1).filter(|_| (is_more || is_sudden) && !finding.claim.contains("% of"))?;
    let (from, to) = (finding.evidence[0].from_seconds, finding.evidence[0].to_seconds);
    let inside = median(&times(run, name, from, to));
    let load = |slice: &loadstone_metrics::Snapshot| slice.leaves.iter().map(|leaf| leaf.arrivals_due).sum::<u64>();
    let is_inside = |slice: &&loadstone_metrics::Snapshot| slice.start as f64 / 1e9 >= from && slice.end as f64 / 1e9 <= to;
    let mut loads: Vec<u64> = run.slices.iter().filter(is_inside).map(load).collect();
    loads.sort_unstable();
    let usual = *loads.get(loads.len() / 2)?;
    // Some second with the same load was faster, or, for a sudden step, the seconds before it were.
    let took_less = |slice: &loadstone_metrics::Snapshot| {
        let (start, end) = (slice.start as f64 / 1e9, slice.end as f64 / 1e9);
        let times = times(run, name, start, end);
        times.count() > 0 && median(&times) < inside
    };
    let is_outside = |slice: &&loadstone_metrics::Snapshot| !is_inside(slice);
    let holds = match is_more {
        true => run.slices.iter().filter(is_outside).any(|slice| load(slice) + 1 >= usual && took_less(slice)),
        false => median(&times(run, name, from - 10.0, from)) < inside,
    };
    (!holds).then(|| format!("{inside} from {from} to {to}"))
}

/// Quantities that are no number, or lie outside their own interval.
fn quantities_outside_their_interval(summary: &Summary) -> impl Iterator<Item = String> + '_ {
    let each =
        summary.verdict.findings.findings.iter().flat_map(|finding| finding.quantities.iter().map(move |quantity| (finding, quantity)));
    let outside = each.filter(|(_, quantity)| {
        let is_inside = quantity.interval.is_none_or(|(low, high)| low <= quantity.value && quantity.value <= high);
        !(quantity.value.is_finite() && is_inside)
    });
    outside.map(|(finding, quantity)| format!("{quantity:?}: {}", finding.claim))
}

/// Intervals of percentiles that do not contain their value, or that end above the longest request of the same row.
fn intervals_beyond_the_longest(summary: &Summary) -> impl Iterator<Item = String> + '_ {
    let rows = summary.requests.iter().map(|row| (&*row.key.name, &row.response)).chain([("all", &summary.response)]);
    rows.flat_map(|(name, times)| {
        let longest = times.max.filter(|_| !times.max_is_bound).unwrap_or(f64::INFINITY);
        let is_wrong = move |percentile: &&Percentile| {
            let value = percentile.value.unwrap_or_default();
            percentile.high.is_some_and(|high| high > longest * 1.000_001 || high < value) || percentile.low.is_some_and(|low| low > value)
        };
        let wrong = times.percentiles.iter().filter(|percentile| percentile.value.is_some()).filter(is_wrong);
        wrong.map(move |percentile| format!("{name}, at most {longest}: {percentile:?}"))
    })
}

/// The contradictions of one run.
fn contradictions(run: &Run) -> Vec<String> {
    let summary = conclude(run);
    let mut found = Vec::new();
    let mut hold = |holds: bool, what: String| {
        if !holds {
            found.push(what);
        }
    };
    for sentence in sentences(&summary) {
        hold(
            !sentence.contains("nothing failed") || summary.totals.requests_failed == 0,
            format!("{} failed: {sentence}", summary.totals.requests_failed),
        );
        if let Some(names) = sentence.strip_prefix("none of ").and_then(|rest| rest.strip_suffix(" failed")) {
            let named = ["A", "B", "C"].into_iter().filter(|name| names.contains(&format!("\"{name}\"")));
            named.for_each(|name| hold(failed(&summary, name) == 0, format!("{name} failed: {sentence}")));
        }
        if let Some((_, rest)) = sentence.split_once("median remained within ") {
            let within: f64 = rest.split(' ').next().unwrap().parse().unwrap();
            let third = run.slices.len() as f64 / 3.0;
            for name in ["A", "B", "C"] {
                let thirds: Vec<f64> =
                    (0..3).map(|part| median(&times(run, name, f64::from(part) * third, f64::from(part + 1) * third))).collect();
                let (low, high) = (thirds.iter().copied().fold(f64::INFINITY, f64::min), thirds.iter().copied().fold(0.0, f64::max));
                // The thirds of the report exclude the first and the last second.
                let is_share = !rest.starts_with("1 ms") && high / low - 1.0 <= 0.3 && high / low - 1.0 <= within / 100.0 + 0.1;
                hold(is_share || high - low <= 0.0015, format!("{name} {low} to {high}: {sentence}"));
            }
        }
        if let Some(names) = sentence.strip_prefix("the times of ").and_then(|rest| rest.strip_suffix(" remained stable")) {
            let named = summary.requests.iter().filter(|row| names.contains(&format!("\"{}\"", row.key.name)));
            let changed = |name: &str| summary.changes.iter().any(|change| change.name == name && change.metric.starts_with("service"));
            named.for_each(|row| hold(!changed(&row.key.name), format!("it did: {sentence}")));
        }
    }
    for change in summary.changes.iter().filter(|change| change.metric == "service.p50" && change.until_seconds.is_none()) {
        let around = |from: f64, to: f64| median(&times(run, &change.name, from, to));
        let (before, after) = (around(change.at_seconds - 6.0, change.at_seconds), around(change.at_seconds, change.at_seconds + 6.0));
        let is_drift = change.before.max(change.after) < 4.0 * change.before.min(change.after);
        hold(is_drift || (after > before) == (change.after > change.before), format!("{before} to {after}: {change:?}"));
    }
    for finding in summary.verdict.findings.findings.iter().filter(|finding| finding.rule == "change") {
        let held = exceeds_the_load(run, finding);
        hold(held.is_none(), format!("{held:?}: {}", finding.claim));
    }
    for finding in summary.verdict.findings.findings.iter().filter(|finding| finding.rule.as_str().ends_with("stall")) {
        let seconds = pauses(run);
        let reported: usize = number(finding.evidence[0].text.split(' ').next().unwrap()) as usize;
        hold(reported >= 3 && seconds >= reported, format!("{seconds} slow seconds: {}", finding.claim));
    }
    for finding in summary.verdict.findings.findings.iter().filter(|finding| finding.confidence == Confidence::High) {
        let open = finding.alternatives.iter().find(|other| other.text.contains("Not ruled out"));
        hold(open.is_none(), format!("high, and {open:?}: {}", finding.claim));
    }
    quantities_outside_their_interval(&summary).for_each(|problem| hold(false, problem));
    intervals_beyond_the_longest(&summary).for_each(|problem| hold(false, problem));
    for finding in summary.verdict.findings.findings.iter().filter(|finding| finding.rule == "failures") {
        let words: Vec<&str> = finding.evidence[0].text.split(' ').collect();
        let (count, all, name) = (number(words[0]), number(words[2]), words[3].trim_matches('"'));
        let row = summary.requests.iter().find(|row| &*row.key.name == name).unwrap();
        hold(
            count <= row.failed && all <= row.count && count * 2 >= row.failed,
            format!("{} of {}: {:?}", row.failed, row.count, finding.evidence[0]),
        );
    }
    let reported: Vec<String> = sentences(&summary);
    for row in summary.requests.iter().filter(|row| row.failed >= 3) {
        let is_named = reported.iter().any(|sentence| sentence.contains(&format!("\"{}\"", row.key.name)) && sentence.contains("failed"));
        hold(is_named, format!("{} of \"{}\" failed and nobody says so: {reported:#?}", row.failed, row.key.name));
    }
    found
}

#[test]
fn no_sentence_contradicts_a_number_of_the_same_report() {
    let all: Vec<String> =
        (0..300).flat_map(|seed| contradictions(&random_run(seed)).into_iter().map(move |what| format!("{seed}: {what}"))).collect();
    assert!(all.is_empty(), "{}:\n{}", all.len(), all.join("\n"));
}

/// Other programs fill the machine in each of these runs. Where the answer is that no limit was reached, that is no objection to it.
#[test]
fn a_full_machine_is_no_objection_to_the_answer_that_no_limit_was_reached() {
    let mut answered = 0;
    for seed in 0..60 {
        let mut run = random_run(seed);
        run.signals.clear();
        gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
        gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |_| 0.01);
        let remark = conclude(&run).verdict.findings.remark;
        let statement = remark.statements.iter().find(|text| text.contains("all 2 cores of the machine were busy"));
        let is_answered = matches!(remark.kind, RemarkKind::NoLimit | RemarkKind::Steady);
        answered += u32::from(is_answered && statement.is_some());
        let begin = if is_answered { "From " } else { "But from " };
        assert!(statement.is_none_or(|text| text.starts_with(begin)), "{seed}: {remark:?}");
    }
    assert!(answered >= 3, "{answered}");
}
