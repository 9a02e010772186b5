//! Exported tables hold what was measured, and Parquet reads back as what was written.

use std::fs::File;

use loadstone_metrics::{Signal, SignalKind, SignalPoint, unit};
use loadstone_run_directory::export::{self, ColumnTable, FORMATS, format};
use loadstone_run_directory::{Run, RunEnd, SignalSeries};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;

use crate::fixtures;

fn run() -> Run {
    let slices = (0..3).map(|n| fixtures::slice(n, &["List", "Buy, now"], 100)).collect();
    let signal = Signal::new("process", "cpu", SignalKind::Gauge, unit::COUNT);
    let signals = vec![SignalSeries { signal, points: vec![SignalPoint { at: 500_000_000, value: 0.25 }] }];
    Run { signals, end: Some(RunEnd::Completed), ..Run::new(fixtures::info(), fixtures::plan("shop"), slices) }
}

fn text(table: &ColumnTable, extension: &str) -> String {
    String::from_utf8(format(extension).unwrap().encode(table).unwrap()).unwrap()
}

#[test]
fn a_spreadsheet_does_not_execute_a_name() {
    let names = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "\tx", "GET /=1"];
    let run = Run::new(fixtures::info(), fixtures::plan("shop"), vec![fixtures::slice(0, &names, 1)]);
    let table = text(&export::per_second(&run), "csv");
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let name = rows.headers().unwrap().iter().position(|column| column == "name").unwrap();
    let read: Vec<String> = rows.records().map(|row| row.unwrap()[name].to_owned()).collect();
    assert_eq!(read, ["'=cmd|' /C calc'!A0", "'+1", "'-1", "'@SUM(1)", "'\tx", "GET /=1"]);
}

#[test]
fn parquet_reads_back_row_by_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconds.parquet");
    let run = run();
    export::write(&export::per_second(&run), format("parquet").unwrap(), &path).unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let columns = reader.metadata().file_metadata().schema_descr();
    let position = |name: &str| columns.columns().iter().position(|column| column.name() == name).unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 6);
    for (row, (slice, series)) in rows.iter().zip(run.slices.iter().flat_map(|slice| slice.series.iter().map(move |s| (slice, s)))) {
        assert_eq!(row.get_long(position("second")).unwrap(), i64::from(slice.slice));
        assert_eq!(row.get_string(position("name")).unwrap().as_str(), &*series.key.name);
        assert_eq!(row.get_long(position("count")).unwrap(), 100);
        assert_eq!(row.get_long(position("failed")).unwrap(), 2);
        assert_eq!(row.get_double(position("max_s")).unwrap(), series.response.max() as f64 / 1e9);
        let begin: jiff::Timestamp = "2026-11-20T18:30:05Z".parse().unwrap();
        assert_eq!(row.get_timestamp_micros(position("time")).unwrap(), begin.as_microsecond() + i64::from(slice.slice) * 1_000_000);
        // Only the first name's requests had their own schedule.
        assert_eq!(row.get_double(position("lag_p99_s")).is_ok(), &*series.key.name == "List");
    }
}

#[test]
fn metrics_are_a_row_per_second_and_part() {
    let mut run = run();
    let mut values = loadstone_metrics::ValueHistogram::default();
    [2.5, 10.0].into_iter().for_each(|value| values.record(value));
    let metric = |name: &str, tags: loadstone_metrics::Tags, value| loadstone_metrics::MetricSlice {
        name: name.into(),
        unit: "EUR".into(),
        tags,
        value,
    };
    run.slices[1].metrics = vec![
        metric("Order value", loadstone_metrics::Tags::default(), loadstone_metrics::MetricValue::Trend(values)),
        metric("Orders", loadstone_metrics::Tags::new([("country", "DE")]), loadstone_metrics::MetricValue::Counter { count: 2, sum: 3.0 }),
    ];
    let table = text(&export::metrics(&run), "csv");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(
        lines,
        [
            "second,time,metric,unit,tags,count,sum,share,last,mean,min,p50,p95,p99,max",
            "1,2026-11-20T18:30:06Z,Order value,EUR,,2,,,,6.25,2.5,2.5,10,10,10",
            "1,2026-11-20T18:30:06Z,Orders,EUR,country=DE,2,3,,,,,,,,"
        ]
    );
}

#[test]
fn flows_are_a_row_per_second() {
    let mut run = run();
    let mut time = loadstone_metrics::Histogram::new();
    time.record(250);
    run.slices[1].flows.push(loadstone_metrics::FlowSlice {
        name: "Send".into(),
        started: 3,
        finished: 1,
        backlog: 2,
        oldest_ns: 500_000_000,
        time,
        ..loadstone_metrics::FlowSlice::default()
    });
    let csv = text(&export::flows(&run), "csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "second,time,flow,started,finished,timed_out,open,oldest_s,mean_s,p50_s,p95_s,p99_s,max_s,overtaken");
    assert!(lines[1].starts_with("1,2026-11-20T18:30:06") && lines[1].contains(",Send,3,1,0,2,0.5,"), "{}", lines[1]);
    assert_eq!(lines.len(), 2);
}

#[test]
fn csv_and_json_lines_hold_the_same() {
    let table = export::per_second(&run());
    let csv = text(&table, "csv");
    let json = text(&table, "jsonl");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names = reader.headers().unwrap().clone();
    let mut lines = json.lines();
    for record in reader.records() {
        let record = record.unwrap();
        let object: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        for (name, text) in names.iter().zip(&record) {
            let value = &object[name];
            let same = match value {
                serde_json::Value::Null => text.is_empty(),
                serde_json::Value::String(string) => text == string,
                number => text.parse::<f64>().unwrap() == number.as_f64().unwrap(),
            };
            assert!(same, "{name}: {text} and {value}");
        }
    }
    assert!(lines.next().is_none());
    assert!(csv.lines().nth(1).unwrap().starts_with("0,2026-11-20T18:30:05Z,request,Buy,,List,100,2,"), "{csv}");
}

#[test]
fn signals_have_a_table_and_nothing_gives_an_empty_one() {
    let mut run = run();
    let csv = text(&export::signals(&run), "csv");
    assert_eq!(csv, "at_s,time,signal,unit,value\n0.5,2026-11-20T18:30:05.5Z,process/cpu,1,0.25\n");
    run.slices.clear();
    for format in &FORMATS {
        assert!(format.encode(&export::per_second(&run)).is_ok(), "{format:?}");
    }
}
