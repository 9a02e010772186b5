//! Seconds from entries: where requests count, and what happens to lines that are wrong or late.

use loadstone_metrics::{RecordSlice, Recorder, SeriesKind, Snapshot};
use loadstone_plan::LoadModel;
use loadstone_watch::{ReaderChoices, read_all};

const S: u64 = 1_000_000_000;
const ZERO_NS: u64 = 1_795_889_000 * S;

/// A line of vegeta: a request that began so many milliseconds after the start of the run and took so long.
fn line(began_ms: u64, took_ms: u64) -> String {
    format!("{},200,{},0,2,,,,1,GET,http://127.0.0.1/a,\n", ZERO_NS + began_ms * 1_000_000, took_ms * 1_000_000)
}

fn read(model: LoadModel, record: &str) -> Vec<Snapshot> {
    read_all("vegeta-csv", ReaderChoices::default(), model, ZERO_NS, record.as_bytes()).expect("the format exists")
}

fn record(slices: &[Snapshot]) -> RecordSlice {
    let mut sum = None;
    slices.iter().for_each(|slice| RecordSlice::add(&mut sum, slice.record.clone()));
    sum.expect("a slice has one")
}

fn by_second(slices: &[Snapshot], of: impl Fn(&Snapshot) -> u64) -> Vec<u64> {
    slices.iter().map(of).collect()
}

#[test]
fn requests_count_where_they_started_and_where_they_ended() {
    let slices = read(LoadModel::Arrivals, &(line(500, 10) + &line(900, 2_300) + &line(3_100, 5)));
    assert_eq!(by_second(&slices, |slice| slice.leaves[0].arrivals_due), [2, 0, 0, 1]);
    assert_eq!(by_second(&slices, |slice| slice.series.iter().map(|series| series.count).sum()), [1, 0, 0, 2]);
    // Little's law: the time integral of the requests in flight is the sum of their times.
    let in_flight: u64 = slices.iter().map(|slice| slice.generator[0].in_flight_ns).sum();
    assert_eq!(in_flight, (10 + 2_300 + 5) * 1_000_000);
    assert_eq!(by_second(&slices, |slice| slice.generator[0].in_flight_ns / 1_000_000), [110, 1_000, 1_000, 205]);
}

#[test]
fn no_request_is_lost_when_it_took_longer_than_seconds_stay_open() {
    let fast: String = (0..30).map(|second| line(second * 1_000, 1)).collect();
    let slices = read(LoadModel::Arrivals, &(fast + &line(200, 29_900) + &line(2_000, 3)));
    let sum = |of: fn(&Snapshot) -> u64| slices.iter().map(of).sum::<u64>();
    assert_eq!((sum(|slice| slice.leaves[0].started), sum(|slice| slice.leaves[0].ended)), (32, 32));
    assert_eq!(sum(|slice| slice.series.iter().map(|series| series.count).sum()), 32);
    let RecordSlice { started_early, ended_early, .. } = record(&slices);
    assert_eq!((started_early, ended_early), (2, 1));
}

#[test]
fn lines_of_another_format_and_times_outside_of_the_run_are_counted_apart() {
    let old = format!("{},200,5,0,2,,,,1,GET,http://127.0.0.1/a,\n", ZERO_NS - 3_600 * S);
    let slices = read(LoadModel::Arrivals, &("garbage \u{1b}[31m\n".to_owned() + &old + &line(1_000, 5) + "1,2\n"));
    let found = record(&slices);
    assert_eq!((found.entries, found.unreadable, found.outside), (1, 2, 1));
    assert_eq!(found.unreadable_line.as_deref(), Some("garbage ␛[31m"));
}

#[test]
fn a_closed_load_without_a_number_of_users_has_those_in_flight() {
    let slices = read(LoadModel::Users, &(line(0, 2_000) + &line(0, 2_000) + &line(0, 2_000)));
    assert_eq!(by_second(&slices, |slice| slice.leaves[0].users_active), [3, 3, 0]);
    assert!(slices.iter().all(|slice| slice.leaves[0].arrivals_due == 0));
}

/// A request that was sent late counts from the instant at which it was due, if the rate is known.
#[test]
fn late_sends_of_vegeta_count_from_the_schedule() {
    let sent_ms = [0, 100, 200, 900, 901, 500];
    let numbered = |(number, at): (usize, &u64)| line(*at, 10).replacen(",1,GET", &format!(",{number},GET"), 1);
    let record: String = sent_ms.iter().enumerate().map(numbered).collect();
    let read =
        |rate| read_all("vegeta-csv", ReaderChoices { rate, ..ReaderChoices::default() }, LoadModel::Arrivals, ZERO_NS, record.as_bytes());
    let longest = |slices: &[Snapshot]| slices[0].series[0].response.max() / 1_000_000;
    let slices = read(Some(10.0)).unwrap();
    // Due at 300 ms, sent at 900 ms, answered at 910 ms.
    assert_eq!((longest(&slices), slices[0].series[0].lag.max() / 1_000_000), (610, 600));
    assert_eq!(slices[0].leaves[0].arrivals_due, 6);
    assert_eq!(longest(&read(None).unwrap()), 10);
}

/// A record in another unit of time than its format's has entries centuries ahead, which must not open each second up to them.
#[test]
fn entries_in_the_future_open_no_seconds() {
    let slices = read(LoadModel::Arrivals, &(line(1_000, 5) + &line(500 * 365 * 86_400_000, 5) + &line(2_000, 5)));
    let found = record(&slices);
    assert_eq!((found.entries, found.outside, slices.len()), (2, 1, 3));
}

/// A tool may state its users without a request: the proxy does so each second.
#[test]
fn a_number_of_users_is_no_entry_of_the_record() {
    let record = br#"["u",1795889001.5,1,8]"#;
    let slices = read_all("locust", ReaderChoices::default(), LoadModel::Users, ZERO_NS, record).expect("the format exists");
    assert_eq!((self::record(&slices).entries, slices.last().map(|slice| slice.leaves[0].users_active)), (0, Some(8)));
}

/// Names beyond the limit share `(other)` in every second, whatever comes first in a second. No name is counted partly here and partly there.
#[test]
fn a_name_is_its_own_series_in_all_seconds_or_in_none() {
    const NAMES: usize = 600;
    let path = |number: usize| {
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"][number % 10].repeat(1 + number / 10 % 10) + &"x".repeat(1 + number / 100)
    };
    let of_second = |second: usize| -> String {
        // Each second begins with other names.
        let numbers = (0..NAMES).map(|number| if second == 0 { number } else { (number + 200 * second) % NAMES });
        let line = |number| format!("{},200,1000000,0,2,,,,1,GET,http://127.0.0.1/{},\n", ZERO_NS + second as u64 * S, path(number));
        numbers.map(line).collect()
    };
    let slices = read(LoadModel::Arrivals, &(of_second(0) + &of_second(1) + &of_second(2)));
    let mut counts = std::collections::BTreeMap::<&str, Vec<u64>>::new();
    for series in slices.iter().flat_map(|slice| &slice.series).filter(|series| series.key.kind == SeriesKind::Request) {
        counts.entry(&*series.key.name).or_default().push(series.count);
    }
    assert_eq!(counts.remove(Recorder::OTHER), Some(vec![100, 100, 100]));
    assert_eq!((counts.len(), counts.values().all(|counts| *counts == [1, 1, 1])), (500, true));
    assert_eq!(slices.iter().map(|slice| slice.series_overflow).sum::<u64>(), 300);
}
