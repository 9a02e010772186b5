//! Each rule's example is what the rule reports about a recorded run.
//!
//! A new rule needs such a run: one of the corpus, or the run of its test. `RECORD_EXAMPLE=RULE cargo test -p loadstone-analysis TEST` stores the run of
//! a test in `tests/examples` if RULE is among the findings.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use loadstone_analysis::{Finding, rules};
use loadstone_metrics::span::TraceBatch;
use loadstone_run_directory::{Run, RunEnd, Writer};

use crate::corpus;

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/findings");
/// Columns of a source line.
const WIDTH: usize = 150;

/// `UPDATE_EXAMPLES=1 cargo test -p loadstone-analysis examples` writes the current claims into the rules; `cargo xtask gen` then updates their pages.
#[test]
fn each_rule_reports_its_example() {
    let mut concluded: BTreeMap<&str, Vec<Finding>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for rule in rules() {
        let (id, example) = (rule.ids[0], &rule.example);
        let folder = Path::new(TESTS).join(example.run);
        assert!(
            folder.is_dir(),
            "{id}: there is no run {}; `RECORD_EXAMPLE={id}` records one, as described in this file",
            folder.display()
        );
        let found = concluded.entry(example.run).or_insert_with(|| corpus::concluded(&folder).verdict.findings.findings);
        let of_this_rule: Vec<&str> =
            found.iter().filter(|finding| rule.ids.contains(&finding.rule.as_str())).map(|finding| finding.claim.as_str()).collect();
        if of_this_rule.contains(&example.claim) {
            continue;
        }
        wrong.push(format!("{id}, {}:\n  example: {}\n  reported: {}", example.run, example.claim, of_this_rule.join("\n  reported: ")));
        if let (Some(claim), true) = (of_this_rule.first(), env::var_os("UPDATE_EXAMPLES").is_some()) {
            replace_claim(example.claim, claim);
        }
    }
    let advice = "`UPDATE_EXAMPLES=1 cargo test -p loadstone-analysis examples` writes the reported claims into the rules";
    assert!(wrong.is_empty(), "{}\n\n{advice}", wrong.join("\n\n"));
}

/// Replaces the literal of a claim in the file of its rule.
fn replace_claim(old: &str, new: &str) {
    const FIELD: &str = "claim: \"";
    for file in fs::read_dir(RULES).unwrap().map(|entry| entry.unwrap().path()) {
        let source = fs::read_to_string(&file).unwrap();
        let Some(begin) = source.find("const RULE: Rule").and_then(|at| Some(at + source[at..].find(FIELD)? + FIELD.len())) else {
            continue;
        };
        let Some(length) = source[begin..].match_indices('"').map(|(at, _)| at).find(|at| !source[..begin + at].ends_with('\\')) else {
            continue;
        };
        if value(&source[begin..begin + length]) == old {
            fs::write(&file, format!("{}{}{}", &source[..begin], literal(new), &source[begin + length..])).unwrap();
        }
    }
}

/// The value of a string literal without its quotes.
fn value(literal: &str) -> String {
    let joined: String =
        literal.split("\\\n").enumerate().map(|(number, line)| if number == 0 { line } else { line.trim_start() }).collect();
    joined.replace("\\\"", "\"").replace("\\\\", "\\")
}

/// The string as a literal without its quotes, in lines.
fn literal(value: &str) -> String {
    const INDENT: &str = "                ";
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    let mut lines = vec![String::new()];
    for word in escaped.split_inclusive(' ') {
        let line = lines.last_mut().unwrap();
        if INDENT.len() + line.chars().count() + word.chars().count() < WIDTH {
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join(&format!("\\\n{INDENT}"))
}

#[test]
fn a_claim_survives_its_literal() {
    let claim = "\"Buy\" is \\ long: ".repeat(20);
    assert_eq!(value(&literal(&claim)), claim);
}

/// Records the run of a test as an example. Only the first run with a finding of the requested rule is stored, if there is no example yet.
pub(crate) fn record_if_requested(run: &Run, found: &[Finding]) {
    let Ok(rule) = env::var("RECORD_EXAMPLE") else { return };
    let folder: PathBuf = [TESTS, "examples", &rule].iter().collect();
    if found.iter().any(|finding| finding.rule == *rule) && !folder.exists() {
        record(run, &folder);
    }
}

#[expect(clippy::print_stdout, reason = "for the developer who asked to record it")]
fn record(run: &Run, folder: &Path) {
    let unpacked = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(unpacked.path(), run.info.clone(), &run.plan).unwrap();
    run.slices.iter().for_each(|slice| writer.snapshot(slice).unwrap());
    writer.signals(&run.signals).unwrap();
    run.notices.iter().for_each(|notice| writer.notice(notice).unwrap());
    if !run.traces.is_empty() {
        let traces = run.traces.clone();
        writer.traces(&TraceBatch { paths: traces.paths, slices: traces.slices, kept: traces.kept }).unwrap();
    }
    let written = writer.finish(run.end.as_ref().unwrap_or(&RunEnd::Completed)).unwrap();
    fs::create_dir_all(folder).unwrap();
    for file in fs::read_dir(written).unwrap().map(|entry| entry.unwrap()).filter(|file| file.metadata().unwrap().len() > 0) {
        let packed = File::create(folder.join(format!("{}.gz", file.file_name().to_string_lossy()))).unwrap();
        let mut packer = GzEncoder::new(packed, Compression::best());
        std::io::copy(&mut File::open(file.path()).unwrap(), &mut packer).unwrap();
        packer.finish().unwrap();
    }
    println!("recorded {}", folder.display());
}
