//! Recorded runs of the diagnosis benchmark (`cargo xtask diagnose --record`), concluded and judged again: it shows the gain and loss of a
//! changed rule.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use flate2::read::GzDecoder;
use loadstone_analysis::{Summary, conclude};
use loadstone_run_directory::Reader;

#[path = "../../../../trials/src/diagnose/judging/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the benchmark itself uses all of it")]
mod judging;

use judging::{Catalogue, Cell, CellConclusion, Rating, judge};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");

/// The current conclusions from a run whose files are stored compressed.
pub(crate) fn concluded(folder: &Path) -> Summary {
    let unpacked = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let packed = entry.unwrap().path();
        let mut file = File::create(unpacked.path().join(packed.file_stem().unwrap())).unwrap();
        io::copy(&mut GzDecoder::new(File::open(packed).unwrap()), &mut file).unwrap();
    }
    conclude(&Reader::open(unpacked.path()).unwrap().run().unwrap())
}

/// The score is a snapshot: `INSTA_UPDATE=always cargo test -p loadstone-analysis corpus` accepts a change, which then appears in the
/// commit.
#[test]
fn the_score_of_the_corpus() {
    let catalogue = Catalogue::read(Path::new(ROOT)).unwrap();
    let mut folders: Vec<_> = fs::read_dir(CORPUS).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let (mut lines, mut counts) = (String::new(), BTreeMap::<Rating, usize>::new());
    for folder in &folders {
        let cell = Cell::parse(&folder.file_name().unwrap().to_string_lossy().replace('.', "/")).unwrap();
        let fault = catalogue.fault(&cell.fault).unwrap();
        let summary = serde_json::to_value(concluded(folder)).unwrap();
        let conclusion = CellConclusion::of(&cell.name(), &summary, "", "");
        let rating = judge(&catalogue, fault, fault.severity(&cell.severity).unwrap(), &cell, &conclusion);
        *counts.entry(rating).or_default() += 1;
        let rule = conclusion.findings.first().map_or("none".to_owned(), |first| format!("{}, {}", first.rule, first.confidence));
        // Only the first sentence of a remark: the rest has observations and advice.
        let sentence = conclusion.first().split(". ").next().unwrap_or_default();
        lines += &format!("{}: {} ({rule})\n  {sentence}\n", cell.name(), rating.name());
    }
    let score: Vec<String> = counts.iter().map(|(rating, count)| format!("{count} {}", rating.name())).collect();
    let text = format!("{} runs: {}\n\n{lines}", folders.len(), score.join(", "));
    println!("{text}");
    assert!(folders.len() > 5, "the corpus is gone");
    insta::assert_snapshot!("the_score_of_the_corpus", text);
}

/// The numbers of a claim are data, too: finite, and within their interval.
#[test]
fn each_finding_of_the_corpus_has_its_numbers_as_data() {
    for folder in fs::read_dir(CORPUS).unwrap().map(|entry| entry.unwrap().path()) {
        for finding in concluded(&folder).verdict.findings.findings {
            assert!(!finding.quantities.is_empty(), "{}: {}", finding.rule, finding.claim);
            for quantity in &finding.quantities {
                let is_within = quantity.interval.is_none_or(|(low, high)| low <= quantity.value && quantity.value <= high);
                assert!(quantity.value.is_finite() && is_within, "{}: {quantity:?}", finding.claim);
            }
        }
    }
}

/// A run with several requests per iteration that are read late: their sum must not depend on the order in which they are processed.
#[test]
fn the_same_run_gives_the_same_summary() {
    let folder = Path::new(CORPUS).join("node.row-lock.gross.ramp.all.1");
    let summary = || serde_json::to_string(&concluded(&folder)).unwrap();
    let first = summary();
    for _ in 0..8 {
        assert_eq!(summary(), first);
    }
}
