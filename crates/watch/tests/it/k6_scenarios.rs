//! k6's scenarios, tags and planned rates, from records whose truth the test computes.

use std::fmt::Write;

use loadstone_metrics::{RecordSlice, SeriesKind, Snapshot};
use loadstone_plan::LoadModel;
use loadstone_watch::{ReaderChoices, read_all};

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// 2026-11-28T18:00:00Z.
const ZERO_NS: u64 = 1_795_888_800 * S;

fn time(at: u64) -> String {
    let (minutes, rest) = (at / (60 * S), at % (60 * S));
    format!("2026-11-28T18:{minutes:02}:{:02}.{:09}Z", rest / S, rest % S)
}

fn point(metric: &str, at: u64, value: f64, tags: &str) -> String {
    format!("{{\"metric\":\"{metric}\",\"type\":\"Point\",\"data\":{{\"time\":\"{}\",\"value\":{value},\"tags\":{{{tags}}}}}}}\n", time(at))
}

/// An iteration of one request, as k6 writes it at its end.
fn iteration(scenario: &str, started: u64, took: u64, more: &str) -> (u64, String) {
    let ended = started + took;
    let tags = format!(
        "\"expected_response\":\"true\",\"group\":\"::Shop::Cart\",\"method\":\"GET\",\"name\":\"http://shop/items/${{}}\",\"scenario\":\"{scenario}\",\
         \"status\":\"200\",\"url\":\"http://shop/items/{started}\"{more}"
    );
    let ms = took as f64 / 1e6;
    let values = [("http_reqs", 1.0), ("http_req_duration", ms), ("http_req_blocked", 0.0), ("http_req_failed", 0.0)];
    let mut lines: String = values.map(|(metric, value)| point(metric, ended, value, &tags)).concat();
    lines += &point("group_duration", ended, ms, &format!("\"group\":\"::Shop::Cart\",\"scenario\":\"{scenario}\""));
    lines += &point("iteration_duration", ended, ms, &format!("\"group\":\"\",\"scenario\":\"{scenario}\"{more}"));
    (ended, lines)
}

fn in_order(mut ended: Vec<(u64, String)>) -> String {
    ended.sort_by_key(|(at, _)| *at);
    ended.into_iter().map(|(_, lines)| lines).collect()
}

const OPTIONS: &str = r#"{"scenarios": {
    "browse": {"executor": "constant-arrival-rate", "rate": 100, "timeUnit": "1s", "duration": "20s"},
    "buy": {"executor": "constant-vus", "startTime": "5s", "vus": 3, "duration": "10s"}}}"#;

fn read(options: Option<&str>, record: &str) -> Vec<Snapshot> {
    let choices = ReaderChoices { k6_options: options, ..ReaderChoices::default() };
    read_all("k6-json", choices, LoadModel::Users, ZERO_NS, record.as_bytes()).expect("the format exists")
}

fn record(slices: &[Snapshot]) -> RecordSlice {
    let mut sum = None;
    slices.iter().for_each(|slice| RecordSlice::add(&mut sum, slice.record.clone()));
    sum.expect("a slice has one")
}

/// Scenario, group, name and count of each series of a kind.
fn series(slices: &[Snapshot], kind: SeriesKind) -> Vec<(String, String, String, u64)> {
    let mut all = std::collections::BTreeMap::new();
    for series in slices.iter().flat_map(|slice| &slice.series).filter(|series| series.key.kind == kind) {
        let key = &series.key;
        *all.entry((key.scenario.to_string(), key.group.to_string(), key.name.to_string())).or_insert(0) += series.count;
    }
    all.into_iter().map(|((scenario, group, name), count)| (scenario, group, name, count)).collect()
}

fn row(scenario: &str, group: &str, name: &str, count: u64) -> (String, String, String, u64) {
    (scenario.to_owned(), group.to_owned(), name.to_owned(), count)
}

/// Browsers arrive from the second 1 on; three buyers loop from the second 6 to the second 16. The set-up has sent one request before.
#[test]
fn scenarios_have_their_own_requests_iterations_and_load() {
    let browse = (0..2_000).map(|number| iteration("browse", S + number * 10 * MS, 20 * MS, ""));
    let buy = (0..60).map(|number| iteration("buy", 6 * S + number / 3 * 500 * MS, 500 * MS, ""));
    let tags = "\"group\":\"::setup\",\"method\":\"POST\",\"name\":\"http://shop/login\",\"status\":\"200\",\"expected_response\":\"true\"";
    let set_up = point("http_reqs", S / 2, 1.0, tags) + &point("http_req_failed", S / 2, 0.0, tags);
    let slices = read(Some(OPTIONS), &(set_up + &in_order(browse.chain(buy).collect())));
    let requests =
        [row("browse", "Cart", "GET /items/${}", 2_000), row("buy", "Cart", "GET /items/${}", 60), row("setup", "setup", "POST /login", 1)];
    assert_eq!(series(&slices, SeriesKind::Request), requests);
    assert_eq!(series(&slices, SeriesKind::Iteration), [row("browse", "", "browse", 2_000), row("buy", "", "buy", 60)]);
    assert_eq!(series(&slices, SeriesKind::Group), [row("browse", "Shop", "Cart", 2_000), row("buy", "Shop", "Cart", 60)]);
    let sum = |leaf: usize, of: fn(&loadstone_metrics::LeafSlice) -> u64| slices.iter().map(|slice| of(&slice.leaves[leaf])).sum::<u64>();
    assert_eq!((sum(0, |leaf| leaf.arrivals_due), sum(1, |leaf| leaf.arrivals_due)), (2_000, 0));
    assert_eq!((sum(0, |leaf| leaf.started), sum(1, |leaf| leaf.started)), (2_000, 60));
    // The users of the second scenario are those that it plans.
    let users: Vec<u64> = slices.iter().map(|slice| slice.leaves[1].users_asked).collect();
    assert_eq!(users, [&[0; 6][..], &[3; 10], &[0; 6]].concat()[..slices.len()]);
    // Two requests at a time, and three more.
    let in_flight = |second: usize, leaf: usize| slices[second].leaves[leaf].active_ns as f64 / S as f64;
    assert!((in_flight(10, 0) - 2.0).abs() < 0.01 && (in_flight(10, 1) - 3.0).abs() < 0.01, "{} {}", in_flight(10, 0), in_flight(10, 1));
}

/// Without `k6 inspect`, nothing is known about the load of each scenario: all requests are those of k6.
#[test]
fn a_record_alone_has_one_load() {
    let slices = read(None, &in_order(["browse", "buy"].map(|scenario| iteration(scenario, S, 20 * MS, "")).to_vec()));
    assert_eq!(series(&slices, SeriesKind::Request), [row("k6", "Cart", "GET /items/${}", 2)]);
    assert_eq!(slices.iter().map(|slice| slice.leaves.len()).max(), Some(1));
}

fn tagged(slices: &[Snapshot]) -> Vec<(String, u64)> {
    let mut all = std::collections::BTreeMap::new();
    for part in slices.iter().flat_map(|slice| &slice.tagged).filter(|part| part.series.key.kind == SeriesKind::Request) {
        *all.entry(part.tags.to_string()).or_insert(0) += part.series.count;
    }
    all.into_iter().collect()
}

#[test]
fn tags_of_the_user_are_counted_apart_up_to_a_bound() {
    let kind = |number: u64| if number.is_multiple_of(4) { "static" } else { "API" };
    let one =
        |number: u64| iteration("browse", S + number * 10 * MS, 20 * MS, &format!(",\"team\":\"shop\",\"type\":\"{}\"", kind(number)));
    let slices = read(Some(OPTIONS), &in_order((0..100).map(one).collect()));
    assert_eq!(tagged(&slices), [("team=shop, type=API".to_owned(), 75), ("team=shop, type=static".to_owned(), 25)]);
    // A tag with another value for each request: 500 sets of the series of requests and iterations are kept, and the rest is counted.
    let one = |number: u64| iteration("browse", S + number * 10 * MS, 20 * MS, &format!(",\"order\":\"{number}\""));
    let slices = read(Some(OPTIONS), &in_order((0..1_000).map(one).collect()));
    let parts: usize = tagged(&slices).len();
    let overflow: u64 = slices.iter().map(|slice| slice.tags_overflow).sum();
    assert_eq!((parts, overflow), (250, 2 * 1_000 - 500));
    assert_eq!(series(&slices, SeriesKind::Request)[0].3, 1_000);
}

/// 100 iterations a second. From 10 s to 11 s k6 stands still, and starts what was due at 11 s. Every twentieth takes four seconds, every fiftieth
/// never ends, and from 15 s to 16 s every second one is dropped: none of that is late.
#[test]
fn late_starts_are_those_that_k6_caught_up_with() {
    let mut lines = Vec::new();
    let mut started_late = 0;
    for number in 0..2_000_u64 {
        let due = S + number * 10 * MS;
        let is_late = (10 * S..11 * S).contains(&due);
        let started = if is_late { 11 * S } else { due };
        if (15 * S..16 * S).contains(&due) && number % 2 == 1 {
            lines.push((due, point("dropped_iterations", due, 1.0, "\"scenario\":\"browse\"")));
        } else if number % 50 != 7 {
            started_late += u64::from(is_late);
            lines.push(iteration("browse", started, if number % 20 == 3 { 4 * S } else { 30 * MS }, ""));
        }
    }
    let found = record(&read(Some(OPTIONS), &in_order(lines)));
    let late = |over_ms: u64| found.late_starts.count() - found.late_starts.count_at_or_below(over_ms * MS);
    assert_eq!(found.dropped, 50);
    // Half of them by more than half a second.
    let (all, half) = (late(30), late(500));
    let mut shown = String::new();
    let _ = write!(shown, "{all} of {started_late}, {half}, longest {}", found.late_starts.max() / MS);
    assert!(
        all.abs_diff(started_late) <= 5 && half.abs_diff(started_late / 2) <= 3 && (950..=1_020).contains(&(found.late_starts.max() / MS)),
        "{shown}"
    );
}
