//! Runs of hours: what is folded, what is not, and that nothing is lost by it.

use std::fs;
use std::path::{Path, PathBuf};

use loadstone_metrics::{Histogram, LeafChange, LeafSlice, Signal, SignalKind, SignalPoint, Snapshot};
use loadstone_plan::{Aggregate, Comparison, Metric, TestPlan, Threshold, Window};
use loadstone_run_directory::{Reader, RunEnd, SignalSeries, Writer};

use crate::fixtures;

const HOUR: u32 = 3600;

fn threshold(window: Window, after_seconds: u32) -> Threshold {
    let p95 = Threshold::new("p95 below 1 s", Metric::ResponseTime, Aggregate::Quantile(0.95), Comparison::Below, 1.0);
    Threshold { window, after_seconds, ..p95 }
}

fn plan(thresholds: Vec<Threshold>) -> TestPlan {
    TestPlan { thresholds, ..fixtures::plan("long") }
}

fn second(number: u32) -> Snapshot {
    let mut slice = fixtures::slice(number, &["Buy", "Look"], 3);
    let waiting = u64::from(number % 7);
    slice.leaves = vec![LeafSlice { started: 3, waiting, ..LeafSlice::default() }];
    slice
}

fn readings(number: u32) -> [SignalSeries; 2] {
    let at = u64::from(number) * 1_000_000_000 + 500_000_000;
    let of =
        |kind, name: &str, value| SignalSeries { signal: Signal::new("host", name, kind, ""), points: vec![SignalPoint { at, value }] };
    [of(SignalKind::Gauge, "memory", f64::from(number % 10)), of(SignalKind::Counter, "bytes", f64::from(number) * 3.0)]
}

/// A run of so many seconds that was killed then.
fn killed_after(folder: &Path, plan: &TestPlan, seconds: u32, of: impl Fn(u32) -> Snapshot) -> Writer {
    let mut writer = Writer::create(folder, fixtures::info(), plan).unwrap();
    for number in 0..seconds {
        writer.signals(&readings(number)).unwrap();
        writer.snapshot(&of(number)).unwrap();
    }
    writer
}

fn kept(directory: &Path) -> Vec<Snapshot> {
    let mut slices = Vec::new();
    Reader::open(directory).unwrap().each_slice(|slice| slices.push(slice)).unwrap();
    slices
}

fn response(slices: &[Snapshot], name: &str) -> Histogram {
    let mut all = Histogram::new();
    slices.iter().flat_map(|slice| &slice.series).filter(|series| &*series.key.name == name).for_each(|series| all.merge(&series.response));
    all
}

/// Every second is there once, in order.
fn is_gapless(slices: &[Snapshot]) -> bool {
    slices.windows(2).all(|pair| pair[0].slice + pair[0].seconds() == pair[1].slice) && slices.first().is_some_and(|slice| slice.slice == 0)
}

fn files(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn older_seconds_become_minutes_and_no_time_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let length = 3 * HOUR + 100;
    let writer = killed_after(folder.path(), &plan(vec![threshold(Window::WholeRun, 0)]), length, second);
    let directory = writer.finish(&RunEnd::Completed).unwrap();
    let slices = kept(&directory);
    assert!(is_gapless(&slices));
    assert_eq!(slices.last().map(|slice| slice.slice + 1), Some(length));

    // The first hour and the last one's second half at least are there in seconds; what lies between, in minutes.
    let longest = |from: u32, to: u32| {
        let inside = slices.iter().filter(|slice| slice.slice >= from && slice.slice < to);
        inside.map(Snapshot::seconds).max()
    };
    assert_eq!((longest(0, HOUR), longest(HOUR, 2 * HOUR), longest(length - 1800, length)), (Some(1), Some(60), Some(1)));

    let truth: Vec<Snapshot> = (0..length).map(second).collect();
    for name in ["Buy", "Look"] {
        assert_eq!(response(&slices, name), response(&truth, name));
    }
    let most = slices.iter().find(|slice| slice.seconds() > 1).map(|slice| (slice.leaves[0].waiting_most(), slice.leaves[0].started));
    assert_eq!(most, Some((6, 180)));

    let signals = Reader::open(&directory).unwrap().signals().unwrap();
    for (series, index) in signals.iter().zip(0..) {
        let all: Vec<SignalPoint> = (0..length).map(|number| readings(number)[index].points[0]).collect();
        assert!(series.points == all, "{}: {} of {}", series.signal.name, series.points.len(), all.len());
    }
    let parts = files(&directory).into_iter().filter(|name| name.starts_with("snapshots-")).collect::<Vec<_>>();
    assert_eq!(parts, ["snapshots-10800.jsonl.zst", "snapshots-9000.jsonl.zst", "snapshots-minutes.jsonl.zst"]);
}

#[test]
fn killed_in_any_second_all_before_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), fixtures::info(), &plan(Vec::new())).unwrap();
    for number in 0..9002 {
        if [HOUR - 1, HOUR, HOUR + 1, 5399, 5400, 5401, 5459, 5461, 7200, 7201, 9001].contains(&number) {
            let slices = kept(writer.directory());
            assert!(is_gapless(&slices), "{number}");
            assert_eq!(slices.iter().map(Snapshot::seconds).sum::<u32>(), number);
            assert_eq!(response(&slices, "Buy").count(), u64::from(number) * 3);
            let signals = Reader::open(writer.directory()).unwrap().signals().unwrap();
            let is_whole =
                |series: &SignalSeries| series.points.len() == number as usize && series.points.is_sorted_by_key(|point| point.at);
            assert!(signals.iter().all(is_whole), "{number}");
        }
        writer.signals(&readings(number)).unwrap();
        writer.snapshot(&second(number)).unwrap();
    }
}

#[test]
fn a_torn_last_second_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let directory = killed_after(folder.path(), &plan(Vec::new()), 7300, second).directory().to_owned();
    for torn in ["snapshots-7200.jsonl.zst", "signals-7200.jsonl.zst"] {
        let path: PathBuf = directory.join(torn);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
    }
    assert_eq!(kept(&directory).iter().map(Snapshot::seconds).sum::<u32>(), 7299);
    let signals = Reader::open(&directory).unwrap().signals().unwrap();
    assert!(signals.iter().all(|series| series.points.len() == 7299));
}

#[test]
fn damage_in_a_part_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let directory = killed_after(folder.path(), &plan(Vec::new()), 3700, second).directory().to_owned();
    let path = directory.join("snapshots-3600.jsonl.zst");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 40].fill(0x55);
    fs::write(&path, &bytes).unwrap();
    let error = Reader::open(&directory).unwrap().each_slice(|_| {}).unwrap_err();
    assert!(error.to_string().contains("snapshots-3600.jsonl.zst"), "{error}");
}

#[test]
fn what_windows_are_judged_on_stays() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(vec![threshold(Window::Every { seconds: 10 }, 0)]);
    let directory = killed_after(folder.path(), &plan, 7400, second).directory().to_owned();
    let run = Reader::open(&directory).unwrap().run().unwrap();
    assert!(is_gapless(&run.slices));
    assert_eq!((run.slices.len(), run.signals[0].points.len()), (7400, 7400));
    assert!(files(&directory).iter().all(|name| !name.contains("minutes")));
}

#[test]
fn seconds_at_edges_stay_apart() {
    let folder = tempfile::tempdir().unwrap();
    let with_edge = |number| {
        let mut slice = second(number);
        if number == 3630 {
            slice.leaves[0].changes.push(LeafChange::Scaled { at: slice.start, factor: 2.0 });
        }
        slice
    };
    let plan = plan(vec![threshold(Window::WholeRun, 3700)]);
    let directory = killed_after(folder.path(), &plan, 7300, with_edge).directory().to_owned();
    let slices = kept(&directory);
    assert!(is_gapless(&slices));
    let starting = |from: u32| slices.iter().find(|slice| slice.slice == from).map(Snapshot::seconds);
    assert_eq!((starting(3600), starting(3630), starting(3631)), (Some(30), Some(1), Some(29)));
    // The warm-up ends in mid-minute.
    assert_eq!((starting(3660), starting(3700), starting(3720)), (Some(40), Some(20), Some(60)));
}

#[test]
fn a_long_run_is_read_in_steps_that_fit() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..60).map(|n| format!("Request {n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let plan = plan(Vec::new());
    let writer = killed_after(folder.path(), &plan, 9100, |number| fixtures::slice(number, &names, 1));
    let directory = writer.finish(&RunEnd::Completed).unwrap();
    let mut run = Reader::open(&directory).unwrap().run().unwrap();
    assert!(is_gapless(&run.slices));
    let held: usize = run.slices.iter_mut().map(Snapshot::held_bytes).sum();
    assert!(held <= 128 << 20 && run.slices.len() < 9100 / 4, "{held} bytes in {} slices", run.slices.len());
    assert_eq!(response(&run.slices, "Request 7").count(), 9100);
    // The mean of each step of a level, the last of a total.
    // From 0 to 9 again and again, in steps of five seconds.
    assert!(run.signals[0].points.iter().all(|point| [2.0, 7.0].contains(&point.value)), "{:?}", &run.signals[0].points[..10]);
    assert_eq!(run.signals[1].points.last().map(|point| point.value), Some(9099.0 * 3.0));
    assert_eq!(Reader::open(&directory).unwrap().run_unfolded().unwrap().signals[0].points.len(), 9100);
}
