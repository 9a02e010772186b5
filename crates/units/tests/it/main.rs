//! Tests the formatters and the parsers with `cases.json`. The page's tests use the same file.

#![expect(clippy::unwrap_used, reason = "a malformed table must fail the test")]

use loadstone_units::UnitError;
use serde_json::Value;

fn cases(group: &str, name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../cases.json")).unwrap();
    all[group][name].as_array().unwrap().clone()
}

fn writes(name: &str, write: impl Fn(f64) -> String) {
    for case in cases("write", name) {
        assert_eq!(write(case[0].as_f64().unwrap_or(f64::NAN)), case[1].as_str().unwrap(), "{name} of {}", case[0]);
    }
}

#[test]
fn numbers_are_formatted_as_the_table_defines() {
    writes("seconds", loadstone_units::seconds);
    writes("rate", loadstone_units::rate);
    writes("number", loadstone_units::number);
    writes("share", loadstone_units::share);
    writes("percentile", loadstone_units::percentile);
    writes("change", loadstone_units::change);
    writes("factor", loadstone_units::factor);
    for (name, write) in
        [("count", loadstone_units::count as fn(u64) -> String), ("bytes", loadstone_units::bytes), ("memory", loadstone_units::memory)]
    {
        for case in cases("write", name) {
            assert_eq!(write(case[0].as_u64().unwrap()), case[1].as_str().unwrap(), "{name} of {}", case[0]);
        }
    }
    for (name, write) in [("seconds_to", loadstone_units::seconds_to as fn(f64, usize) -> String), ("share_to", loadstone_units::share_to)]
    {
        for case in cases("write", name) {
            let (value, digits) = (case[0].as_f64().unwrap(), case[1].as_u64().unwrap() as usize);
            assert_eq!(write(value, digits), case[2].as_str().unwrap(), "{name} of {value}");
        }
    }
    assert_eq!([12.0, 100.0, 9_999.0, 1e4].map(loadstone_units::digits_of), [1, 2, 2, 3]);
    for case in cases("write", "in_unit") {
        assert_eq!(loadstone_units::in_unit(case[0].as_f64().unwrap(), case[1].as_str().unwrap()), case[2].as_str().unwrap());
    }
}

#[test]
fn formats_that_the_page_does_not_use() {
    assert_eq!(loadstone_units::bytes(u64::MAX), "18,446,744 TB");
    assert_eq!([loadstone_units::counted(1, "request"), loadstone_units::counted(1204, "request")], ["1 request", "1,204 requests"]);
    assert_eq!(loadstone_units::seconds_or_none(None), loadstone_units::NONE);
}

fn reads(name: &str, parse: impl Fn(&str) -> Result<f64, UnitError>) {
    for case in cases("read", name) {
        let text = case[0].as_str().unwrap();
        assert_eq!(parse(text).ok(), case[1].as_f64(), "{name} \"{text}\"");
    }
}

#[test]
fn strings_are_parsed_as_the_table_defines() {
    reads("duration_ns", |text| loadstone_units::duration::parse(text).map(|ns| ns as f64));
    reads("rate_per_second", loadstone_units::rate::parse);
    reads("share", loadstone_units::share::parse);
}

#[test]
fn a_parse_error_states_the_expected_format() {
    let refusals = [
        loadstone_units::duration::parse("5").unwrap_err(),
        loadstone_units::rate::parse("fast").unwrap_err(),
        loadstone_units::share::parse("lots").unwrap_err(),
    ];
    for (refusal, (input, example)) in refusals.iter().zip([("\"5\"", "\"500ms\""), ("\"fast\"", "\"360/s\""), ("\"lots\"", "\"1%\"")]) {
        let text = refusal.to_string();
        assert!(text.starts_with(input) && text.contains("expected") && text.contains(example), "{text}");
    }
    assert!(loadstone_units::duration::parse("99999999999d").unwrap_err().to_string().contains("longer than any run"));
}
