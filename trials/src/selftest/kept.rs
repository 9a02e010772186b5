//! Results on disk, one a line, so that a self-test that was cut off goes on where it was.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::verdict::SelfVerdict;

/// The results of one binary, with runs of one length.
pub(super) struct KeptResults {
    file: File,
    results: Vec<(String, SelfVerdict)>,
}

impl KeptResults {
    /// Those that the file holds of the same binary and length; without any, or where none are wanted, it begins anew.
    pub(super) fn open(path: &Path, binary: &Path, seconds: u64, afresh: bool) -> Result<Self> {
        let facts = fs::metadata(binary).with_context(|| format!("there is no {}", binary.display()))?;
        let written = facts.modified()?.duration_since(UNIX_EPOCH)?.as_nanos();
        let of = json!({ "binary": binary, "bytes": facts.len(), "written": written.to_string(), "seconds": seconds }).to_string();
        let text = fs::read_to_string(path).unwrap_or_default();
        let results = match text.split_once('\n') {
            Some((head, rest)) if head == of && !afresh => rest.lines().filter_map(parsed).collect(),
            _ => {
                fs::write(path, format!("{of}\n")).with_context(|| format!("writing {}", path.display()))?;
                Vec::new()
            }
        };
        let file = OpenOptions::new().append(true).open(path).with_context(|| format!("opening {}", path.display()))?;
        Ok(Self { file, results })
    }

    pub(super) fn of<'a>(&'a self, trial: &'a str) -> impl Iterator<Item = &'a SelfVerdict> {
        self.results.iter().filter(move |(name, _)| name == trial).map(|(_, verdict)| verdict)
    }

    pub(super) fn add(&mut self, trial: &str, verdict: SelfVerdict) -> Result<()> {
        let SelfVerdict { grade, checks, marked, unmarked, kept, marked_in_vain } = &verdict;
        let line = json!({
            "trial": trial, "grade": grade, "checks": checks, "marked": marked, "unmarked": unmarked, "kept": kept, "marked_in_vain": marked_in_vain });
        writeln!(self.file, "{line}")?;
        self.results.push((trial.to_owned(), verdict));
        Ok(())
    }
}

/// `None`: the line was cut off.
fn parsed(line: &str) -> Option<(String, SelfVerdict)> {
    let line: Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| line[name].as_str().map(str::to_owned);
    let list = |name: &str| Some(line[name].as_array()?.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect());
    let verdict = SelfVerdict {
        grade: text("grade")?,
        checks: list("checks")?,
        marked: list("marked")?,
        unmarked: list("unmarked")?,
        kept: u32::try_from(line["kept"].as_u64()?).ok()?,
        marked_in_vain: list("marked_in_vain")?,
    };
    Some((text("trial")?, verdict))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_kept_until_the_binary_or_the_length_changes() {
        let folder = std::env::temp_dir().join(format!("loadstone-kept-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, binary) = (folder.join("results"), folder.join("binary"));
        fs::write(&binary, "one").unwrap();
        let words = |text: &str| vec![text.to_owned()];
        let verdict = SelfVerdict {
            grade: "suspect".to_owned(),
            checks: words("uncertainty"),
            marked: words("p99 +42 %"),
            unmarked: words("max +7 %"),
            kept: 3,
            marked_in_vain: words("p95 +3 %"),
        };
        KeptResults::open(&file, &binary, 2, false).unwrap().add("a", verdict.clone()).unwrap();
        // Cut off in the middle of the next one.
        write!(OpenOptions::new().append(true).open(&file).unwrap(), "{{\"trial\": \"b\", \"gra").unwrap();
        let kept = KeptResults::open(&file, &binary, 2, false).unwrap();
        assert_eq!((kept.of("a").cloned().collect::<Vec<_>>(), kept.of("b").count()), (vec![verdict], 0));
        assert_eq!(KeptResults::open(&file, &binary, 5, false).unwrap().of("a").count(), 0);
        fs::write(&binary, "another").unwrap();
        assert_eq!(KeptResults::open(&file, &binary, 2, false).unwrap().of("a").count(), 0);
        fs::remove_dir_all(&folder).unwrap();
    }
}
