//! Verdicts on another tool's measurement, from constructed records.

use loadstone_analysis::{Grade, Summary, ValidityCheck, conclude};
use loadstone_metrics::{
    CommandEnd, GeneratorSlice, LeafSlice, Outcome, ProxyDelays, RecordSlice, Snapshot, StatedPercentile, StatedTimes,
};
use loadstone_plan::{Load, LoadModel, LoadProfile, RecordedLoad, ScenarioId, ScenarioRun, TestPlan};

use crate::draws::Draws;
use crate::synthetic::{MS, SECOND, Slice, plan, run_of};

fn recorded(model: LoadModel, knows_schedule: bool) -> TestPlan {
    let recorded = RecordedLoad {
        tool: "vegeta".to_owned(),
        format: "vegeta-csv".to_owned(),
        command: Vec::new(),
        resolution_ns: MS,
        knows_schedule,
        planned_requests: None,
        lacks: vec!["connection phases".to_owned(), "users".to_owned()],
    };
    TestPlan { recorded: Some(recorded), ..plan(LoadProfile::Recorded { model }) }
}

fn check(summary: &Summary, id: &str) -> ValidityCheck {
    summary.verdict.validity.checks.iter().find(|check| check.id == id).unwrap().clone()
}

/// Ten seconds of 100 requests of 10 ms each, the last two of each second this late.
fn late(plan: TestPlan, lag: u64) -> Summary {
    let second = |number: u32| {
        let slice = (0..98).fold(Slice::new(number), |slice, _| slice.request("A", 0, 10 * MS, Outcome::Passed));
        (0..2).fold(slice, |slice, _| slice.request("A", lag, 10 * MS, Outcome::Passed)).arrivals(100).done()
    };
    conclude(&run_of(plan, (0..10).map(second).collect()))
}

#[test]
fn late_sends_are_judged_by_what_they_hide_from_the_p99() {
    let open = || recorded(LoadModel::Arrivals, true);
    assert_eq!(check(&late(open(), 0), "late-sends").grade, Some(Grade::Valid));
    assert_eq!(check(&late(open(), 10 * MS), "late-sends").grade, Some(Grade::Suspect));
    let found = check(&late(open(), 90 * MS), "late-sends");
    assert_eq!(found.grade, Some(Grade::Invalid));
    // From the send 10 ms, from the due instant 10 + 90 ms.
    assert!(
        found.evidence.contains("p99 is 10.0 ms from the send") && found.evidence.contains("100 ms from the instant"),
        "{}",
        found.evidence
    );
}

#[test]
fn without_a_schedule_late_sends_are_not_judged_and_the_check_says_so() {
    let summary = late(recorded(LoadModel::Arrivals, false), 90 * MS);
    let found = check(&summary, "late-sends");
    assert_eq!((found.grade, found.evidence.as_str()), (None, "not judged: the record does not show when a request was due"));
}

/// k6 with a planned rate: 20 s of 100 iterations a second, of which so many are late by so much. Its requests take 30 ms.
fn late_starts(late: u64, by: u64) -> ValidityCheck {
    let second = |number: u32| {
        let mut record = RecordSlice::default();
        record.late_starts.record_n(0, 100 - late);
        record.late_starts.record_n(by, late);
        Snapshot { record: Some(record), ..Slice::new(number).requests("A", 100, 30 * MS).arrivals(100).done() }
    };
    check(&conclude(&run_of(recorded(LoadModel::Arrivals, false), (0..20).map(second).collect())), "late-sends")
}

#[test]
fn starts_after_the_planned_rate_are_judged_by_what_they_add_to_the_p99() {
    let in_time = late_starts(0, 0);
    assert_eq!((in_time.grade, in_time.evidence.as_str()), (Some(Grade::Valid), "vegeta started 2,000 of 2,000 iterations as planned"));
    let few = late_starts(1, 40 * MS);
    assert_eq!(few.grade, Some(Grade::Valid));
    assert!(few.evidence.ends_with("1,980 of 2,000 iterations as planned; the latest was 40.0 ms late"), "{}", few.evidence);
    assert_eq!(late_starts(2, 7 * MS).grade, Some(Grade::Valid));
    assert_eq!(late_starts(2, 40 * MS).grade, Some(Grade::Suspect));
    let long = late_starts(2, 900 * MS);
    assert_eq!(long.grade, Some(Grade::Invalid));
    assert!(long.evidence.contains("p99 is 30.0 ms from the send, and up to 930 ms from the instant"), "{}", long.evidence);
}

/// An access log with so many lines that are no request, of 1,000.
fn no_requests(count: u64) -> ValidityCheck {
    let record = RecordSlice {
        entries: 1_000,
        no_requests: count,
        no_request_line: (count > 0).then(|| "<BADREQ>".to_owned()),
        ..RecordSlice::default()
    };
    let last = Snapshot { record: Some(record), ..Slice::new(0).requests("A", 1_000 - count, 30 * MS).arrivals(1_000).done() };
    check(&conclude(&run_of(recorded(LoadModel::Arrivals, true), vec![last])), "lines-without-request")
}

#[test]
fn a_few_lines_without_a_request_do_not_matter_and_many_do() {
    assert_eq!(no_requests(0).grade, None);
    let few = no_requests(10);
    assert_eq!((few.grade, few.advice.as_str()), (Some(Grade::Valid), ""));
    assert!(few.evidence.starts_with("10 of 1,000 lines (1.00 %) are no request, such as \"<BADREQ>\""), "{}", few.evidence);
    assert_eq!(no_requests(11).grade, Some(Grade::Suspect));
    assert_eq!(no_requests(501).grade, Some(Grade::Invalid));
}

/// 30 s of k6 with three scenarios: users whose requests of 10 ms stall for 3 s, users that go on, and arrivals that keep their rate.
fn mixed(stalls: bool) -> ValidityCheck {
    let leaf = |scenario: u32, model| Load::Run(ScenarioRun::new(ScenarioId(scenario), LoadProfile::Recorded { model }));
    let load = Load::Parallel(vec![leaf(0, LoadModel::Users), leaf(1, LoadModel::Users), leaf(2, LoadModel::Arrivals)]);
    let plan = TestPlan {
        recorded: recorded(LoadModel::Users, false).recorded,
        ..TestPlan::new("mixed", ["buy", "browse", "search"].map(str::to_owned), load)
    };
    let second = |number: u32| {
        let is_stalled = stalls && (10..13).contains(&number);
        let started = [if is_stalled { 0 } else { 50 }, 100, 200];
        let of_each = ["buy", "browse", "search"].into_iter().zip(started);
        let slice = of_each.fold(Slice::new(number), |slice, (scenario, count)| slice.requests_of(scenario, "A", count, 10 * MS));
        let mut slice = Snapshot { record: Some(RecordSlice { entries: 350, ..RecordSlice::default() }), ..slice.done() };
        let leaf = |leaf: u32, started| LeafSlice { leaf, started, ended: started, users_active: 10, ..LeafSlice::default() };
        slice.leaves = (0..).zip(started).map(|(number, started)| leaf(number, started)).collect();
        slice
    };
    check(&conclude(&run_of(plan, (0..30).map(second).collect())), "coordinated-omission")
}

#[test]
fn the_pace_of_each_scenario_that_waits_for_responses_is_judged() {
    let steady = mixed(false);
    let pace = "vegeta kept its pace of 50/s in \"buy\", 100/s in \"browse\"";
    assert_eq!((steady.grade, steady.evidence.as_str()), (Some(Grade::Valid), pace));
    let stalled = mixed(true);
    assert_eq!(stalled.grade, Some(Grade::Suspect), "{}", stalled.evidence);
    let stall =
        "in scenario \"buy\", the system stalled for 3.00 s from 10.0 s on, and vegeta, which waits for responses, sent 150 requests fewer";
    assert!(stalled.evidence.starts_with(stall), "{}", stalled.evidence);
}

/// A run of 800 planned requests with so many in its record.
fn planned(found: u64, end: CommandEnd) -> ValidityCheck {
    let mut plan = recorded(LoadModel::Arrivals, true);
    plan.recorded.as_mut().unwrap().planned_requests = Some(800);
    let record = RecordSlice { entries: found, command_end: Some(end), ..RecordSlice::default() };
    let last = Snapshot { record: Some(record), ..Slice::new(0).requests("A", found, 30 * MS).arrivals(found).done() };
    check(&conclude(&run_of(plan, vec![last])), "planned-requests")
}

#[test]
fn planned_requests_that_are_not_in_the_record_are_reported() {
    let found = planned(792, CommandEnd::Exited(0));
    assert_eq!(found.grade, Some(Grade::Suspect));
    assert!(found.evidence.starts_with("8 of 800 requests that vegeta was to send are not in its record"), "{}", found.evidence);
    assert_eq!(planned(700, CommandEnd::Exited(0)).grade, Some(Grade::Invalid));
    // Whether the last request is due before the end depends on rounding.
    for complete in [799, 800, 801] {
        assert_eq!(planned(complete, CommandEnd::Exited(0)).grade, Some(Grade::Valid));
    }
    // A command that was stopped has no full plan.
    assert_eq!(planned(400, CommandEnd::Stopped).grade, None);
}

fn stated(percentiles: &[(f64, u64, u64)]) -> ValidityCheck {
    stated_by(None, percentiles)
}

fn stated_by(tool: Option<&str>, percentiles: &[(f64, u64, u64)]) -> ValidityCheck {
    let percentiles =
        percentiles.iter().map(|&(quantile, stated_ns, recorded_ns)| StatedPercentile { quantile, stated_ns, recorded_ns }).collect();
    let times = StatedTimes { tool: tool.map(str::to_owned), metric: "http_req_duration".to_owned(), percentiles };
    let record = RecordSlice { stated: Some(times), ..RecordSlice::default() };
    let last = Snapshot { record: Some(record), ..Slice::new(0).requests("A", 1_000, 30 * MS).arrivals(1_000).done() };
    check(&conclude(&run_of(recorded(LoadModel::Users, false), vec![last])), "stated-percentiles")
}

/// wrk2 prints eight percentiles, up to p99.999, of any number of requests. These are 1,000.
#[test]
fn a_percentile_beyond_the_number_of_requests_is_not_shown() {
    let all = stated_by(Some("wrk2"), &[(0.5, 20 * MS, 20 * MS), (0.99, 30 * MS, 25 * MS), (0.99999, 90 * MS, 25 * MS)]);
    assert!(all.evidence.contains("wrk2 states p99 30.0 ms for http_req_duration; it is 25.0 ms"), "{}", all.evidence);
}

#[test]
fn percentiles_of_the_tool_are_compared_with_those_of_its_record() {
    let same = stated(&[(0.5, 20 * MS, 20 * MS), (0.95, 25 * MS, 25 * MS)]);
    assert_eq!(same.grade, Some(Grade::Valid));
    assert!(same.evidence.contains("vegeta states p95 25.0 ms for http_req_duration, and its record has 25.0 ms"), "{}", same.evidence);
    // 30 ms as the users saw it: the tool's own times leave something out.
    assert!(same.evidence.contains("it is 30.0 ms"), "{}", same.evidence);
    let longest = stated(&[(1.0, 31 * MS, 30 * MS)]);
    assert!(longest.evidence.contains("vegeta states a maximum of 31.0 ms for http_req_duration"), "{}", longest.evidence);
    let other = stated(&[(0.5, 20 * MS, 20 * MS), (0.95, 25 * MS, 60 * MS)]);
    assert_eq!(other.grade, Some(Grade::Suspect));
    assert!(other.evidence.contains("p95 25.0 ms") && other.evidence.contains("60.0 ms"), "{}", other.evidence);
}

/// wrk next to the server's access log: a difference is a matter of the place, not an error of wrk.
#[test]
fn percentiles_of_a_tool_next_to_the_record_of_another_have_no_grade() {
    let far = stated_by(Some("wrk"), &[(0.99, 250 * MS, 40 * MS), (1.0, 300 * MS, 50 * MS)]);
    assert_eq!(far.grade, None);
    assert!(
        far.evidence.starts_with("wrk states p99 250 ms") && far.evidence.contains("it is 40.0 ms for the requests of the record"),
        "{}",
        far.evidence
    );
    assert!(far.advice.contains("accept queue"), "{}", far.advice);
    assert_eq!(stated_by(Some("wrk"), &[(0.99, 41 * MS, 40 * MS)]).advice, "");
}

/// Within two steps of a record in milliseconds, every tool rounds.
#[test]
fn rounding_is_no_difference() {
    assert_eq!(stated(&[(0.5, 2 * MS, 3 * MS)]).grade, Some(Grade::Valid));
    assert_eq!(stated(&[(0.5, 147 * MS, 150 * MS)]).grade, Some(Grade::Valid));
}

/// A tool with one busy thread, and one whose threads share the work.
#[test]
fn a_tool_at_its_cpu_limit_is_suspect() {
    let with_cpu = |busy: u64, thread: u64| {
        let second = |number: u32| {
            let slice = Slice::new(number).requests("A", 100, 30 * MS).arrivals(100).generator(|generator| generator.busy_ns = busy).done();
            Snapshot { record: Some(RecordSlice { thread_busy_ns: thread, ..RecordSlice::default() }), ..slice }
        };
        check(&conclude(&run_of(recorded(LoadModel::Users, false), (0..20).map(second).collect())), "tool-cpu")
    };
    let at = |share: f64| (SECOND as f64 * share) as u64;
    assert_eq!(with_cpu(at(0.3), at(0.3)).grade, None);
    // The machine has two cores.
    assert_eq!(with_cpu(at(0.99), at(0.98)).grade, Some(Grade::Suspect));
    assert_eq!(with_cpu(at(1.97), at(0.98)).grade, Some(Grade::Suspect));
    let notable = with_cpu(at(1.5), at(0.9));
    assert!(notable.grade.is_none() && !notable.advice.is_empty(), "{notable:?}");
}

/// 20 s of 100 requests of 10 ms each, of which the tool may have read so many a second this late.
fn read_late(late: u64, by: u64) -> Summary {
    let second = |number: u32| {
        let measured = |generator: &mut GeneratorSlice| {
            (generator.busy_ns, generator.run_queue_ns) = (SECOND / 5, SECOND / 4);
            generator.read_lag.record_n(by, late);
            generator.read_lag.record_n(0, 100 - late);
        };
        Slice::new(number).requests("A", 100, 10 * MS).arrivals(100).generator(measured).done()
    };
    conclude(&run_of(recorded(LoadModel::Users, false), (0..20).map(second).collect()))
}

/// A tool that waits for a core delays its own reading, and the record counts that as the system's.
#[test]
fn the_wait_of_a_tool_for_a_core_makes_its_times_uncertain() {
    let summary = read_late(100, 6 * MS);
    let found = check(&summary, "uncertainty");
    assert_eq!(found.grade, Some(Grade::Invalid), "{}", found.evidence);
    assert!(found.advice.contains("taskset") && !found.advice.contains("--workers"), "{}", found.advice);
    let wait = check(&summary, "tool-wait");
    assert!(
        wait.evidence.starts_with("vegeta's thread with the most work waited for a core for 25.0 % of the time")
            && wait.evidence.contains("was up to 6.00 ms on average"),
        "{}",
        wait.evidence
    );
    let p50 = summary.response.percentiles.iter().find(|percentile| percentile.quantile == 0.5).unwrap();
    // The bound lies on a ladder whose next level is 8.192 ms.
    assert!((0.006..0.0082).contains(&p50.uncertainty.unwrap()), "{p50:?}");
    // A short wait, and one of few requests, leave the median as it is.
    assert_eq!(check(&read_late(100, MS / 10), "uncertainty").grade, Some(Grade::Valid));
    let few = read_late(2, 6 * MS);
    let p50 = few.response.percentiles.iter().find(|percentile| percentile.quantile == 0.5).unwrap();
    assert_eq!(p50.uncertainty, None);
}

/// An access log has the server's times: the tool's wait is no part of them, and nothing is claimed about it.
#[test]
fn without_a_measured_delay_no_time_is_called_certain() {
    let second = |number: u32| {
        let slice = Slice::new(number).requests("A", 100, 30 * MS).arrivals(100);
        slice.generator(|generator| (generator.busy_ns, generator.run_queue_ns) = (SECOND / 5, SECOND / 4)).done()
    };
    let summary = conclude(&run_of(recorded(LoadModel::Users, false), (0..20).map(second).collect()));
    let found = check(&summary, "uncertainty");
    assert!(found.grade.is_none() && found.evidence.starts_with("not judged"), "{found:?}");
    assert!(check(&summary, "tool-wait").evidence.contains("do not contain it"));
}

/// The record of a closed-loop tool has neither arrivals nor phases: no rule that needs them reports, and the table says what is missing.
/// Requests of 10 ms through Loadstone's proxy, ten seconds of 100, to which it adds so much.
fn proxied(added: u64) -> Summary {
    proxied_with(added, 10 * MS)
}

/// The same, with two more requests a second that take this long.
fn proxied_with(added: u64, long: u64) -> Summary {
    let mut plan = recorded(LoadModel::Arrivals, false);
    plan.recorded.as_mut().unwrap().format = "proxy".to_owned();
    let second = |number: u32| {
        let slice = (0..100).fold(Slice::new(number), |slice, _| slice.request("A", added, 10 * MS, Outcome::Passed));
        let slice = slice.request("B", added, long, Outcome::Passed).request("B", added, long, Outcome::Passed);
        let mut delays = ProxyDelays::default();
        delays.of_requests.record_n(added / 4, 100);
        delays.of_responses.record_n(added / 4 * 3, 100);
        delays.of_both.record_n(added, 100);
        let record = RecordSlice { entries: 100, proxy: Some(Box::new(delays)), ..RecordSlice::default() };
        Snapshot { record: Some(record), ..slice.arrivals(100).done() }
    };
    conclude(&run_of(plan, (0..10).map(second).collect()))
}

#[test]
fn what_the_proxy_adds_is_stated_and_makes_times_uncertain_if_it_is_much() {
    let little = proxied(80_000);
    let delay = check(&little, "proxy-delay");
    assert!(delay.advice.is_empty() && delay.grade.is_none(), "{delay:?}");
    assert!(delay.evidence.starts_with("it held a request for 20.0 µs (p50) and 20.0 µs (p99), and a response for 60.0 µs and 60.0 µs"));
    let certain = check(&little, "uncertainty");
    assert_eq!(certain.grade, Some(Grade::Valid), "{certain:?}");
    assert!(certain.evidence.starts_with("the proxy added less than 5 %"), "{certain:?}");
    // 1 ms of 11 ms, then 30 ms of 40 ms, of each percentile.
    for (added, grade) in [(MS, Grade::Suspect), (30 * MS, Grade::Invalid)] {
        let much = proxied(added);
        let (delay, uncertain) = (check(&much, "proxy-delay"), check(&much, "uncertainty"));
        assert!(delay.advice.starts_with("The times contain this delay"), "{delay:?}");
        assert_eq!((uncertain.grade, uncertain.advice), (Some(grade), delay.advice), "{added}");
        assert!(uncertain.evidence.contains("of which the proxy may have added up to"), "{}", uncertain.evidence);
    }
    // Next to long requests, the delay is a small part of the p99 of all, and a large one of the short requests.
    let next_to_long = proxied_with(2 * MS, 900 * MS);
    assert_eq!(check(&next_to_long, "proxy-delay").advice, "");
    assert!(check(&next_to_long, "uncertainty").advice.starts_with("The times contain this delay"));
    assert_eq!(check(&late(recorded(LoadModel::Arrivals, false), 0), "proxy-delay").grade, None);
}

#[test]
fn what_the_record_lacks_is_stated_and_no_rule_concludes_from_it() {
    let slices = (0..30).map(|number| Slice::new(number).requests("A", 100, 30 * MS).leaf(|leaf| leaf.started = 100).done()).collect();
    let summary = conclude(&run_of(recorded(LoadModel::Users, false), slices));
    assert!(check(&summary, "record-lacks").evidence.contains("vegeta does not record connection phases; users"));
    for id in ["schedule-lag", "offered-rate", "in-flight", "connecting"] {
        assert!(summary.verdict.validity.checks.iter().all(|check| check.id != id), "{id} needs what the record lacks");
    }
    let found = summary.verdict.findings.findings;
    assert!(found.is_empty(), "{found:?}");
}

/// Two scenarios have a request of the same name, and only one of them becomes slow: findings, changes and evidence name its scenario, and the summary keeps
/// the names of the test.
#[test]
fn a_request_is_named_with_its_scenario_where_another_one_has_its_name() {
    let leaf = |scenario: u32| Load::Run(ScenarioRun::new(ScenarioId(scenario), LoadProfile::Recorded { model: LoadModel::Arrivals }));
    let plan = TestPlan {
        recorded: recorded(LoadModel::Arrivals, false).recorded,
        ..TestPlan::new("two", ["buy", "browse"].map(str::to_owned), Load::Parallel(vec![leaf(0), leaf(1)]))
    };
    let second = |number: u32| {
        let slower = if number < 30 { 10 * MS } else { 200 * MS };
        let slice = Slice::new(number).requests_of("buy", "List", 100, 10 * MS).requests_of("browse", "List", 100, slower);
        let mut slice = slice.requests_of("browse", "Item", 100, 10 * MS).done();
        let leaf = |leaf: u32, started| LeafSlice { leaf, started, ended: started, arrivals_due: started, ..LeafSlice::default() };
        slice.leaves = vec![leaf(0, 100), leaf(1, 200)];
        slice
    };
    let summary = conclude(&run_of(plan, (0..60).map(second).collect()));
    let found = &summary.verdict.findings.findings[0];
    assert!(found.claim.contains("\"List (browse)\"") && !found.claim.contains("List (buy)"), "{}", found.claim);
    assert!(found.evidence.iter().all(|evidence| !evidence.requests.iter().any(|name| name == "List")), "{found:#?}");
    let names: Vec<&str> = summary.requests.iter().map(|row| &*row.key.name).collect();
    assert_eq!(names, ["Item", "List", "List"]);
}

/// The users of a system do not arrive evenly, and no plan states their rate. Their random number is no change of the load.
#[test]
fn a_step_of_times_under_random_arrivals_of_a_record_is_a_change() {
    let first = |slow: u64, step: u64| {
        let mut draws = Draws::new(7);
        let mut next = 0.0;
        let mut second = |number: u32, rate: f64| {
            let mut arrivals = 0;
            while next < f64::from(number + 1) {
                arrivals += 1;
                next += draws.exponential(1.0 / rate);
            }
            let time = if number < 30 { 20 * MS } else { slow };
            Slice::new(number).arrivals(arrivals).requests("GET /cart", arrivals, time + u64::from(number % 3) * MS).done()
        };
        let slices = (0..60).map(|number| second(number, if number < 30 { 12.0 } else { 12.0 * step as f64 })).collect();
        let found = conclude(&run_of(recorded(LoadModel::Arrivals, false), slices)).verdict.findings.findings;
        found.into_iter().next().map(|first| (first.rule, first.claim))
    };
    let (rule, claim) = first(90 * MS, 1).unwrap();
    assert!(rule == "change" && claim.contains("at 0:30 while the load was constant"), "{claim}");
    assert_eq!(first(20 * MS, 1), None);
    // A rate that triples is a change of the load.
    assert!(first(90 * MS, 3).is_none_or(|(_, claim)| !claim.contains("while the load was constant")));
}
