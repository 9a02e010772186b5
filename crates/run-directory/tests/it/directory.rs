//! Written data is read back. Leftovers of a crash and manual changes are detected and distinguished.

use std::fs::{self, OpenOptions};
use std::io::Write;

use loadstone_metrics::{NoticeKind, Role, Signal, SignalKind, SignalNotice, SignalPoint, unit};
use loadstone_run_directory::{Reader, RunEnd, RunError, SignalSeries, Writer, files};

use crate::fixtures;

fn signal(metric: &str, at: &[u64]) -> SignalSeries {
    let signal = Signal::new("process:8080", metric, SignalKind::Gauge, unit::COUNT).help("cores busy");
    SignalSeries {
        signal: signal.role(Role::ProcessCpu).part("worker").label("core", "0"),
        points: at.iter().map(|at| SignalPoint { at: *at, value: *at as f64 / 4.0 }).collect(),
    }
}

#[test]
fn a_run_reads_back_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let plan = fixtures::plan("shop");
    let mut writer = Writer::create(&folder.path().join("runs"), fixtures::info(), &plan).unwrap();
    let slices: Vec<_> = (0..3).map(|n| fixtures::slice(n, &["List", "Buy"], 100)).collect();
    for slice in &slices {
        writer.snapshot(slice).unwrap();
    }
    writer.signals(&[signal("cpu", &[1, 2]), signal("memory", &[1])]).unwrap();
    writer.signals(&[signal("memory", &[3]), signal("cpu", &[3])]).unwrap();
    let notice = |at, kind| SignalNotice::silence(&"process:8080".into(), at, kind, "gone".to_owned());
    let notices = [notice(2, NoticeKind::Failed), notice(3, NoticeKind::Recovered { since: 2 })];
    notices.iter().for_each(|notice| writer.notice(notice).unwrap());
    writer.console("hello").unwrap();
    let directory = writer.finish(&RunEnd::Aborted("p99 above 50 ms".to_owned())).unwrap();

    let run = Reader::open(&directory).unwrap().run().unwrap();
    assert_eq!(run.slices, slices);
    assert_eq!(run.plan, plan);
    assert_eq!(run.signals, [signal("cpu", &[1, 2, 3]), signal("memory", &[1, 3])]);
    assert_eq!(run.notices, notices);
    assert_eq!(run.end, Some(RunEnd::Aborted("p99 above 50 ms".to_owned())));
    assert_eq!((run.info.id.as_str(), run.info.format), ("2026-11-20T18-30-05-shop", files::FORMAT));
    assert_eq!(fs::read_to_string(directory.join(files::CONSOLE)).unwrap(), "hello\n");
}

/// Format 1 had no roles, parts and labels: signals were their names.
#[test]
fn a_run_from_before_there_were_roles_still_reads() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), fixtures::info(), &fixtures::plan("shop")).unwrap();
    writer.snapshot(&fixtures::slice(0, &["List"], 100)).unwrap();
    let directory = writer.finish(&RunEnd::Completed).unwrap();
    let of_run = directory.join(files::RUN);
    let info = fs::read_to_string(&of_run).unwrap();
    let present = format!("\"format\":{}", files::FORMAT);
    assert!(info.replace(": ", ":").contains(&present), "{info}");
    fs::write(&of_run, info.replace(": ", ":").replace(&present, "\"format\":1")).unwrap();
    let old = concat!(
        r#"{"signal":{"id":0,"name":"host/cpu{mode=idle}","observer":"host","kind":"counter","unit":"seconds","help":"CPU time"}}"#,
        "\n",
        r#"{"points":{"id":0,"at":[1,2],"value":[0.5,1.5]}}"#,
        "\n"
    );
    fs::write(directory.join(files::SIGNALS), old).unwrap();
    let run = Reader::open(&directory).unwrap().run().unwrap();
    let [series] = &run.signals[..] else { panic!("{:?}", run.signals) };
    assert_eq!((run.info.format, series.points.len(), series.signal.name.as_str()), (1, 2, "host/cpu{mode=idle}"));
    assert_eq!((series.signal.role, series.signal.part.as_str(), series.signal.labels.len()), (None, "", 0));
}

#[test]
fn an_existing_directory_is_never_written_into() {
    let folder = tempfile::tempdir().unwrap();
    let ids: Vec<String> =
        (0..3).map(|_| Writer::create(folder.path(), fixtures::info(), &fixtures::plan("shop")).unwrap().info().id.clone()).collect();
    assert_eq!(ids, ["2026-11-20T18-30-05-shop", "2026-11-20T18-30-05-shop-2", "2026-11-20T18-30-05-shop-3"]);
}

#[test]
fn a_run_cut_off_anywhere_keeps_every_whole_second() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), fixtures::info(), &fixtures::plan("shop")).unwrap();
    let slices: Vec<_> = (0..2).map(|n| fixtures::slice(n, &["List"], 1)).collect();
    slices.iter().for_each(|slice| writer.snapshot(slice).unwrap());
    let path = writer.directory().join(files::SNAPSHOTS);
    let directory = writer.directory().to_owned();
    drop(writer);
    let bytes = fs::read(&path).unwrap();
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let near_an_end = |length: usize| length.abs_diff(first) < 9 || bytes.len() - length < 9;
    for length in (0..=bytes.len()).rev().filter(|length| length % 17 == 0 || near_an_end(*length)) {
        fs::write(&path, &bytes[..length]).unwrap();
        let run = Reader::open(&directory).unwrap().run().unwrap();
        let whole = usize::from(length >= first) + usize::from(length == bytes.len());
        assert_eq!((run.slices.len(), run.end), (whole, None), "cut at {length}");
    }
}

#[test]
fn a_damaged_line_in_the_middle_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), fixtures::info(), &fixtures::plan("shop")).unwrap();
    (0..3).for_each(|n| writer.snapshot(&fixtures::slice(n, &["List"], 5)).unwrap());
    let path = writer.directory().join(files::SNAPSHOTS);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&path, format!("{}\n{}\n{}\n", lines[0], &lines[1][..lines[1].len() / 2], lines[2])).unwrap();
    let error = Reader::open(writer.directory()).unwrap().run().unwrap_err();
    assert!(matches!(error, RunError::Corrupt { line: 2, .. }), "{error}");
    assert!(error.to_string().contains("snapshots.jsonl:2: "), "{error}");
}

#[test]
fn a_newer_format_and_a_folder_that_is_no_run_are_clear_errors() {
    let folder = tempfile::tempdir().unwrap();
    let error = Reader::open(folder.path()).unwrap_err();
    assert!(matches!(error, RunError::NotARun { .. }), "{error}");
    fs::write(folder.path().join(files::RUN), r#"{"format": 7, "loadstone": "3.1.0", "all": "else differs"}"#).unwrap();
    let error = Reader::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("run format 7") && error.contains("3.1.0") && error.contains("update Loadstone"), "{error}");
}

#[test]
fn a_running_run_with_a_torn_line_is_readable() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), fixtures::info(), &fixtures::plan("shop")).unwrap();
    writer.snapshot(&fixtures::slice(0, &["List"], 5)).unwrap();
    let mut file = OpenOptions::new().append(true).open(writer.directory().join(files::SIGNALS)).unwrap();
    file.write_all(br#"{"points":{"id":0,"at":[1"#).unwrap();
    assert_eq!(Reader::open(writer.directory()).unwrap().run().unwrap().slices.len(), 1);
}

#[test]
fn a_run_whose_writer_was_killed_is_completed_behind_its_last_whole_second() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), fixtures::info(), &fixtures::plan("shop")).unwrap();
    let slices: Vec<_> = (0..4).map(|n| fixtures::slice(n, &["List"], 5)).collect();
    slices[..2].iter().for_each(|slice| writer.snapshot(slice).unwrap());
    let directory = writer.directory().to_owned();
    drop(writer);
    let mut file = OpenOptions::new().append(true).open(directory.join("snapshots.jsonl")).unwrap();
    file.write_all(br#"{"slice":2,"star"#).unwrap();
    let end = RunEnd::Failed("the controller was killed".to_owned());
    Writer::continue_after(&directory, &slices[2..], &end).unwrap();
    let run = Reader::open(&directory).unwrap().run().unwrap();
    assert_eq!((run.slices, run.end), (slices, Some(end)));
}

/// Once its directory has gone, a run cannot be ended; what was measured reads as a run that was cut off.
#[test]
fn a_run_that_cannot_be_ended_still_reads() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), fixtures::info(), &fixtures::plan("shop")).unwrap();
    writer.snapshot(&fixtures::slice(0, &["List"], 5)).unwrap();
    let moved = folder.path().join("elsewhere");
    fs::rename(writer.directory(), &moved).unwrap();
    let error = writer.finish(&RunEnd::Completed).unwrap_err();
    assert!(error.to_string().contains("end.json"), "{error}");
    let run = Reader::open(&moved).unwrap().run().unwrap();
    assert_eq!((run.slices.len(), run.end), (1, None));
}

/// 20 series of 100 requests per second each, with answers spread over a factor of four: about as much as a test has.
#[test]
fn an_hour_of_a_large_test_stays_reasonable() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), fixtures::info(), &fixtures::plan("shop")).unwrap();
    let names: Vec<String> = (0..20).map(|n| format!("GET /v1/products/{n}/details")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (0..10).for_each(|n| writer.snapshot(&fixtures::slice(n, &names, 100)).unwrap());
    let bytes_per_second = fs::metadata(writer.directory().join(files::SNAPSHOTS)).unwrap().len() / 10;
    println!("{bytes_per_second} bytes per second");
    assert!(bytes_per_second < 50_000, "{bytes_per_second} bytes per second");
}
