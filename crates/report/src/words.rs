//! Describes the load, the machine and the flows in words, for every renderer. Read [`load`] and [`flow`].

use loadstone_analysis::{
    CheckRow, FlowRow, Grade, MetricRow, RequestRow, ResourceKind, ResourceRow, ResourceUse, RunTotals, Summary, TimeStats,
    UNUSABLE_SHARE_MIN,
};
use loadstone_metrics::SeriesKey;
use loadstone_plan::{IterationSplit, Load, LoadModel, LoadProfile, OpenStage, Parameter, RunRole, ScenarioRun, TestPlan, Timing};
use loadstone_run_directory::{HostFacts, RunInfo};
use loadstone_units::duration;

/// The percentiles of the headline.
const HEADLINE: [f64; 3] = [0.5, 0.95, 0.99];

/// One line per scenario run of the load: `Buy a ticket: 4 arrivals/s for 1m`. A later part begins with `then`, a parallel part with `and`.
pub fn load(plan: &TestPlan) -> Vec<String> {
    let mut lines = Vec::new();
    describe(&plan.load, plan, "", &mut lines);
    if let Some(tear_down) = &plan.tear_down {
        describe(&Load::Run(tear_down.clone()), plan, "at the end ", &mut lines);
    }
    lines
}

/// The value of a parameter, masked if it is secret.
pub(crate) fn parameter(parameter: &Parameter) -> &str {
    if parameter.secret { Parameter::MASK } else { &parameter.value }
}

/// The commit of the sources: `39dbcdc0…, with uncommitted changes`.
pub(crate) fn commit(info: &RunInfo) -> Option<String> {
    let more = if info.dirty { ", with uncommitted changes" } else { "" };
    info.commit.as_ref().map(|commit| format!("{commit}{more}"))
}

/// The number of resent requests, which the server had not processed; `None` if there are none.
pub(crate) fn retried(totals: &RunTotals) -> Option<String> {
    (totals.retried > 0).then(|| format!("{} resent", loadstone_units::counted(totals.retried, "unprocessed request")))
}

/// The name of a check. If another check has the same name, the group and the scenario distinguish them.
pub(crate) fn check(row: &CheckRow, all: &[CheckRow]) -> String {
    let SeriesKey { name, group, scenario, .. } = &row.key;
    let namesakes = || all.iter().filter(|other| other.key.name == *name && other.key != row.key);
    let group = if !group.is_empty() && namesakes().any(|other| other.key.group != *group) { format!("{group} / ") } else { String::new() };
    let scenario = if namesakes().any(|other| other.key.scenario != *scenario) { format!(" ({scenario})") } else { String::new() };
    format!("{group}{name}{scenario}")
}

/// A custom metric with its unit, and its tags if the row is a part: `Order value (EUR)`.
pub(crate) fn metric(row: &MetricRow) -> String {
    let unit = if row.unit.is_empty() { String::new() } else { format!(" ({})", row.unit) };
    let tags = if row.tags.is_empty() { String::new() } else { format!(", {}", row.tags) };
    format!("{}{unit}{tags}", row.name)
}

/// The values of a custom metric, in one line.
pub(crate) fn metric_line(row: &MetricRow) -> String {
    let mut figures = vec![("count", loadstone_units::count(row.count))];
    let numbers = [("sum", row.sum), ("per second", row.rate), ("last", row.last), ("mean", row.mean), ("p50", row.at(0.5))];
    let numbers = numbers.into_iter().chain([("p95", row.at(0.95)), ("p99", row.at(0.99)), ("min", row.min), ("max", row.max)]);
    figures.extend(numbers.filter_map(|(name, value)| Some((name, loadstone_units::number(value?)))));
    figures.extend(row.share.map(|share| ("share", loadstone_units::share(share))));
    let figures = figures.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ");
    format!("{}: {figures}", metric(row))
}

fn describe(load: &Load, plan: &TestPlan, join: &str, lines: &mut Vec<String>) {
    let (parts, next) = match load {
        Load::Sequence(parts) => (parts, "then "),
        Load::Parallel(parts) => (parts, "and "),
        Load::Run(run) => {
            let name = plan.scenarios.get(run.scenario.0 as usize).map_or("?", |scenario| scenario.name.as_str());
            lines.push(format!("{join}{name}: {}", leaf(run)));
            return;
        }
    };
    for (index, part) in parts.iter().enumerate() {
        describe(part, plan, if index == 0 { join } else { next }, lines);
    }
}

fn leaf(run: &ScenarioRun) -> String {
    let mut text = match run.role {
        RunRole::Load => profile(&run.profile),
        RunRole::SetUp | RunRole::TearDown => "once, not measured".to_owned(),
    };
    if run.start_after_ns > 0 {
        text = format!("after {}, {text}", duration::format(run.start_after_ns));
    }
    if let Some(users_max) = run.users_max {
        text.push_str(&format!(" (at most {} at once)", loadstone_units::counted(users_max, "user")));
    }
    text
}

fn profile(profile: &LoadProfile) -> String {
    match profile {
        LoadProfile::Open { stages } if stages.is_empty() => "no load".to_owned(),
        LoadProfile::Open { stages } => stages.iter().map(open_stage).collect::<Vec<_>>().join(", then "),
        LoadProfile::Closed { stages } if stages.is_empty() => "no load".to_owned(),
        LoadProfile::Closed { stages } => {
            let stage = |stage: &loadstone_plan::ClosedStage| match (stage.from, stage.to) {
                (from, to) if from == to => format!("{}{}", loadstone_units::counted(to, "user"), lasting("for", stage.duration_ns)),
                (from, to) => {
                    format!("{} → {} users{}", loadstone_units::count(from), loadstone_units::count(to), lasting("over", stage.duration_ns))
                }
            };
            stages.iter().map(stage).collect::<Vec<_>>().join(", then ")
        }
        LoadProfile::Iterations { users, count, split, duration_max_ns } => {
            let whose = match split {
                IterationSplit::Shared => format!("{} shared by", loadstone_units::counted(*count, "iteration")),
                IterationSplit::PerUser => format!("{} by each of", loadstone_units::counted(*count, "iteration")),
            };
            let limit = duration_max_ns.map_or_else(String::new, |ns| format!(", within {}", duration::format(ns)));
            format!("{whose} {}{limit}", loadstone_units::counted(*users, "user"))
        }
        LoadProfile::Recorded { model: LoadModel::Arrivals } => "arrivals, from the tool's record".to_owned(),
        LoadProfile::Recorded { model: LoadModel::Users } => "users, from the tool's record".to_owned(),
    }
}

fn open_stage(stage: &OpenStage) -> String {
    match stage {
        OpenStage::Burst { count: 1 } => "once".to_owned(),
        OpenStage::Burst { count } => format!("{} at once", loadstone_units::counted(*count, "arrival")),
        OpenStage::Replay(replay) => {
            let speed =
                if replay.speed == 1.0 { String::new() } else { format!(" at {} × its speed", loadstone_units::number(replay.speed)) };
            let arrivals = loadstone_units::counted(replay.count, "arrival");
            format!("replay of {}: {arrivals}{}{speed}", replay.file, lasting("over", replay.duration_ns))
        }
        OpenStage::Rate { from, to, duration_ns, timing } => {
            let timing = if *timing == Timing::Poisson { " (Poisson)" } else { "" };
            if from == to {
                format!("{} arrivals/s{timing}{}", loadstone_units::number(*from), lasting("for", *duration_ns))
            } else {
                format!(
                    "{} → {} arrivals/s{timing}{}",
                    loadstone_units::number(*from),
                    loadstone_units::number(*to),
                    lasting("over", *duration_ns)
                )
            }
        }
    }
}

fn lasting(word: &str, duration_ns: u64) -> String {
    if duration_ns == 0 { String::new() } else { format!(" {word} {}", duration::format(duration_ns)) }
}

/// `host-1 · AMD EPYC · 2 cores · 24 GiB · Linux 6.1`; what is not known is left out.
pub(crate) fn host(facts: &HostFacts) -> String {
    let mut parts = vec![facts.hostname.clone(), facts.cpu.clone()];
    if facts.cores > 0 {
        parts.push(loadstone_units::counted(u64::from(facts.cores), "core"));
    }
    if facts.memory_bytes > 0 {
        parts.push(loadstone_units::memory(facts.memory_bytes));
    }
    parts.push(facts.kernel.clone());
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

/// The maximum: `3.2 s`, or `≥ 3.2 s` if the longest wait was cut off.
pub(crate) fn longest(times: &TimeStats) -> String {
    let bound = if times.max_is_bound { "≥ " } else { "" };
    times.max.map_or_else(|| loadstone_units::NONE.to_owned(), |max| format!("{bound}{}", marked(max, times.max_uncertainty)))
}

/// A time, with a mark if the generator may have added to it.
pub(crate) fn marked(value: f64, uncertainty: Option<f64>) -> String {
    format!("{}{}", if uncertainty.is_some() { "~" } else { "" }, loadstone_units::seconds(value))
}

/// A rate, with a mark if the generator may have started less load than planned.
pub(crate) fn rate(row: &RequestRow) -> String {
    format!("{}{}", if row.rate_uncertainty.is_some() { "~" } else { "" }, loadstone_units::rate(row.rate))
}

/// The number of failures, with a mark if the generator may have read some responses too late.
pub(crate) fn failed(row: &RequestRow) -> String {
    format!("{}{}", if row.failed_uncertainty.is_some() { "~" } else { "" }, loadstone_units::count(row.failed))
}

/// A percentile of a flow: `3.2 s`, or `≥ 3.2 s` if it lies among journeys that did not finish.
pub(crate) fn percentile(times: &TimeStats, quantile: f64) -> String {
    let Some(percentile) = times.percentiles.iter().find(|p| (p.quantile - quantile).abs() < 1e-9) else {
        return loadstone_units::NONE.to_owned();
    };
    match (percentile.value, percentile.low) {
        (Some(value), _) => marked(value, percentile.uncertainty),
        (None, Some(bound)) => format!("≥ {}", loadstone_units::seconds(bound)),
        (None, None) => loadstone_units::NONE.to_owned(),
    }
}

/// A number that is marked as uncertain.
struct UncertainNumber {
    /// The share of it that may come from the generator.
    part: f64,
    /// `p99 of "Buy" was 41 ms, of which the load generator may have added up to 9 ms`.
    note: String,
}

/// Notes on the uncertain numbers: how much of each may come from the generator. The largest share is first.
pub(crate) fn uncertainties(summary: &Summary) -> Vec<String> {
    uncertain_numbers(summary).into_iter().map(|number| number.note).collect()
}

/// The headline percentiles that may consist of noise for a large part: `p50`, `p95`. The verdict excepts them.
pub(crate) fn unusable_percentiles(summary: &Summary) -> Vec<String> {
    let unusable = uncertain_headline(summary).filter(|(_, value, noise)| *noise > UNUSABLE_SHARE_MIN * value);
    unusable.map(|(name, ..)| name).collect()
}

/// The headline percentiles that are uncertain, each with its own bound: `generator noise adds at most 4.60 ms to p95, 9.00 ms to p99 of all requests`.
/// `None` if all are certain: numbers of single requests are marked, and need no headline.
pub(crate) fn uncertainty_in_short(summary: &Summary) -> Option<String> {
    let bounds: Vec<String> =
        uncertain_headline(summary).map(|(name, _, noise)| format!("{} to {name}", loadstone_units::seconds(noise))).collect();
    let noise = if summary.source.is_own() { "generator noise" } else { summary.source.name.as_str() };
    (!bounds.is_empty()).then(|| format!("{noise} adds at most {} of all requests", bounds.join(", ")))
}

/// Name, value and noise of the uncertain headline percentiles. Seconds.
fn uncertain_headline(summary: &Summary) -> impl Iterator<Item = (String, f64, f64)> {
    let percentiles = summary.response.percentiles.iter();
    let headline = percentiles.filter(|percentile| HEADLINE.iter().any(|quantile| (percentile.quantile - quantile).abs() < 1e-9));
    headline.filter_map(|percentile| Some((loadstone_units::percentile(percentile.quantile), percentile.value?, percentile.uncertainty?)))
}

/// What the marks of uncertain numbers mean, in one line. `None` if no number has one.
pub(crate) fn noise(summary: &Summary) -> Option<String> {
    let marked = uncertain_numbers(summary).len() as u64;
    let rows = [&summary.requests, &summary.groups, &summary.scenarios].into_iter().flatten();
    let times = std::iter::once(&summary.response).chain(rows.map(|row| &row.response)).chain(summary.flows.iter().map(|flow| &flow.time));
    let most = times.flat_map(|times| &times.percentiles).filter_map(|percentile| percentile.uncertainty).reduce(f64::max);
    let values = loadstone_units::counted(marked, "value");
    let source = &summary.source;
    let noise = if source.is_own() { "generator noise".to_owned() } else { format!("time that {} may have added", source.name) };
    (marked > 0).then(|| match most {
        Some(most) => format!("{noise} ≤ {}: {values} may be affected; the report lists them", loadstone_units::seconds(most)),
        None => format!("{values} may be affected by {}; the report lists them", source.name),
    })
}

/// What the grade means for a reader of the numbers.
pub(crate) fn meaning(summary: &Summary) -> String {
    match summary.verdict.validity.grade {
        Grade::Valid => {
            let uncertain = uncertainty_in_short(summary).map_or_else(String::new, |uncertain| format!("; {uncertain}"));
            let what = if unusable_percentiles(summary).is_empty() { "the measurement" } else { "the other numbers" };
            format!("{what} can be trusted{uncertain}")
        }
        Grade::Suspect => "read the numbers with care".to_owned(),
        Grade::Invalid => "do not use these numbers".to_owned(),
    }
}

fn uncertain_numbers(summary: &Summary) -> Vec<UncertainNumber> {
    // A scenario often has the same name as its only request.
    let kinds = [(&summary.requests, ""), (&summary.groups, "the group "), (&summary.scenarios, "iterations of ")];
    let rows = kinds.into_iter().flat_map(|(rows, kind)| rows.iter().map(move |row| (kind, row)));
    let together = (summary.requests.len() > 1).then(|| ("all requests".to_owned(), &summary.response));
    let named = rows.map(|(kind, row)| (format!("{kind}\"{}\"", row.key.name), &row.response)).chain(together);
    let named = named.chain(summary.flows.iter().map(|flow| (format!("journeys of \"{}\"", flow.name), &flow.time)));
    let source = &summary.source.name;
    let mut all: Vec<UncertainNumber> = named.flat_map(|(name, times)| uncertain_times(&name, times, source)).collect();
    for row in &summary.requests {
        let name = &row.key.name;
        if let Some(missing) = row.rate_uncertainty {
            let (rate, missing_text) = (loadstone_units::rate(row.rate), loadstone_units::rate(missing));
            let note = format!(
                "the rate of \"{name}\" was {rate} and may be up to {missing_text} too low: {source} started less load than planned"
            );
            all.push(UncertainNumber { part: missing / row.rate, note });
        }
        if let Some(late) = row.failed_uncertainty {
            let (failed, late_text) = (loadstone_units::counted(row.failed, "failure"), loadstone_units::count(late));
            let note = format!("up to {late_text} of {failed} of \"{name}\" may have been answered in time: {source} read them late");
            all.push(UncertainNumber { part: late as f64 / row.failed as f64, note });
        }
    }
    all.sort_by(|a, b| b.part.total_cmp(&a.part));
    all
}

fn uncertain_times(of: &str, times: &TimeStats, source: &str) -> Vec<UncertainNumber> {
    let uncertain = |percentile: &loadstone_analysis::Percentile| {
        let (value, uncertainty) = (percentile.value?, percentile.uncertainty?);
        let name = format!("{} of {of}", loadstone_units::percentile(percentile.quantile));
        let (value_text, uncertainty_text) = (loadstone_units::seconds(value), loadstone_units::seconds(uncertainty));
        let note = format!("{name} was {value_text}, of which {source} may have added up to {uncertainty_text}");
        Some(UncertainNumber { part: uncertainty / value, note })
    };
    times.percentiles.iter().filter_map(uncertain).collect()
}

/// Notes on a flow, in addition to its numbers: how it drained, whether order was preserved, which events did not match.
pub(crate) fn flow(flow: &FlowRow) -> Vec<String> {
    let mut lines = Vec::new();
    if flow.started == 0 {
        lines.push("no journey started: does a scenario call `start(key)`?".to_owned());
    }
    if let Some(drain) = &flow.drain
        && drain.open + drain.left > 0
    {
        let after = format!("{} open when the load ended", loadstone_units::count(drain.open.max(drain.left)));
        lines.push(match drain.seconds {
            Some(seconds) => format!("{after}; drained in {}", loadstone_units::seconds(seconds)),
            None => {
                format!("{after}; {} still open when the run ended: counted as slower than all others", loadstone_units::count(drain.left))
            }
        });
    } else if flow.open > 0 {
        lines.push(format!("{} still open when the run ended: counted as slower than all others", loadstone_units::count(flow.open)));
    }
    if flow.oldest_max > 0.0 && flow.backlog_max > 1 {
        let (most, oldest) = (loadstone_units::count(flow.backlog_max), loadstone_units::seconds(flow.oldest_max));
        let (when, then) = (loadstone_units::seconds(flow.backlog_max_at_seconds), loadstone_units::seconds(flow.oldest_max_at_seconds));
        lines.push(format!("at most {most} were open (at {when}); the oldest was open for {oldest} (at {then})"));
    }
    if let Some(worst) = flow.overtaken_worst {
        let share = loadstone_units::share(flow.overtaken_share);
        lines.push(format!("{share} were overtaken, at worst by one that started {} later", loadstone_units::seconds(worst)));
    }
    let odd = [
        (flow.late, "finished after the timeout"),
        (flow.duplicates, "repeated events"),
        (flow.unmatched - flow.unclear.min(flow.unmatched), "finished without a start"),
        (flow.unclear, "finished without a start, or repeated long after the end"),
        (flow.unfollowed, "starts not tracked: too many journeys were open"),
    ];
    let odd: Vec<String> =
        odd.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{} {what}", loadstone_units::count(*count))).collect();
    if !odd.is_empty() {
        lines.push(odd.join(", "));
    }
    lines
}

/// Whether to show the table of resources: a limit was found, or cannot be determined.
pub(crate) fn shows_resources(summary: &Summary) -> bool {
    let findings = &summary.verdict.findings;
    !summary.resources.is_empty() && (!findings.findings.is_empty() || findings.remark.is_unknown())
}

/// The name of a resource in the table of resources.
pub(crate) fn resource(row: &ResourceRow) -> String {
    let name = &row.name;
    match row.kind {
        ResourceKind::Process | ResourceKind::Group if row.high.is_some() => format!("{name}: CPU"),
        ResourceKind::Thread => format!("{name}: busiest thread"),
        ResourceKind::Sessions if row.high.is_some() => format!("{name}: sessions"),
        ResourceKind::Pool if row.high.is_some() => format!("{name}: pool"),
        ResourceKind::Heap => format!("{name}: collecting garbage"),
        ResourceKind::EventLoop => format!("{name}: event loop"),
        ResourceKind::Descriptors => format!("{name}: descriptors"),
        ResourceKind::Disk => format!("{name}: disk"),
        ResourceKind::Network => format!("{name}: network"),
        ResourceKind::Queue => format!("{name}: queue"),
        ResourceKind::Machine if row.high.is_some() => format!("{name}: CPU"),
        _ => name.clone(),
    }
}

/// How much of a resource was in use: `1.95 (98 %)`, or the delay of an event loop. Empty if it was not measured.
pub(crate) fn resource_use(kind: ResourceKind, of: Option<ResourceUse>) -> String {
    let Some(of) = of else { return String::new() };
    let amount = |used: f64| match kind {
        ResourceKind::EventLoop => format!("{} late", loadstone_units::seconds(used)),
        _ => loadstone_units::number(used),
    };
    match (of.used, of.utilisation) {
        (Some(used), Some(share)) => format!("{} ({})", amount(used), loadstone_units::share(share)),
        (Some(used), None) => amount(used),
        (None, Some(share)) => loadstone_units::share(share),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_of_one_name_are_distinguished_and_others_unchanged() {
        let row = |scenario: &str, group: &str, name: &str| CheckRow {
            key: SeriesKey {
                kind: loadstone_metrics::SeriesKind::Check,
                scenario: scenario.into(),
                group: group.into(),
                name: name.into(),
            },
            passed: 1,
            failed: 0,
        };
        let rows = [row("Buy", "", "status"), row("Look", "", "status"), row("Look", "Cart", "status"), row("Look", "Cart", "total")];
        let names: Vec<String> = rows.iter().map(|row| check(row, &rows)).collect();
        assert_eq!(names, ["status (Buy)", "status (Look)", "Cart / status (Look)", "total"]);
    }

    fn run(scenario: u32, profile: LoadProfile) -> Load {
        Load::Run(ScenarioRun::new(loadstone_plan::ScenarioId(scenario), profile))
    }

    #[test]
    fn the_load_reads_as_a_person_would_say_it() {
        let rate = |from, to, seconds: u64, timing| OpenStage::Rate { from, to, duration_ns: seconds * 1_000_000_000, timing };
        let users = |from, to, seconds: u64| loadstone_plan::ClosedStage { from, to, duration_ns: seconds * 1_000_000_000 };
        let buy = LoadProfile::Open { stages: vec![rate(1.0, 4.0, 30, Timing::Even), rate(4.0, 4.0, 60, Timing::Poisson)] };
        let validate = LoadProfile::Closed { stages: vec![users(0, 3400, 10), users(3400, 3400, 80)] };
        let count =
            LoadProfile::Iterations { users: 10, count: 1000, split: IterationSplit::Shared, duration_max_ns: Some(60_000_000_000) };
        let load = Load::Sequence(vec![
            run(0, LoadProfile::burst(1)),
            Load::Parallel(vec![run(1, buy), run(2, validate)]),
            run(0, count),
            run(0, LoadProfile::burst(50)),
        ]);
        assert_eq!(
            super::load(&TestPlan::new("tickets", ["Set up", "Buy a ticket", "Validator"], load)),
            [
                "Set up: once",
                "then Buy a ticket: 1 → 4 arrivals/s over 30s, then 4 arrivals/s (Poisson) for 1m",
                "and Validator: 0 → 3,400 users over 10s, then 3,400 users for 1m20s",
                "then Set up: 1,000 iterations shared by 10 users, within 1m",
                "then Set up: 50 arrivals at once",
            ]
        );
    }

    #[test]
    fn the_host_line_leaves_out_what_is_not_known() {
        let facts = HostFacts { hostname: "host-1".to_owned(), cores: 2, memory_bytes: 24 << 30, ..HostFacts::default() };
        assert_eq!(host(&facts), "host-1 · 2 cores · 24.0 GiB");
    }
}
