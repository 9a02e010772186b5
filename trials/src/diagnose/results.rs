//! The file of results: a line for each run, so that a benchmark that is cut short has lost nothing.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

use super::judging::CellConclusion;

/// The results so far. If a cell was run twice, the later result counts. A truncated last line is dropped.
pub(super) fn read(file: &Path) -> Result<Vec<CellConclusion>> {
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let mut all: Vec<CellConclusion> = Vec::new();
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    for conclusion in text.lines().filter_map(|line| CellConclusion::from_line(line).ok()) {
        all.retain(|earlier| earlier.cell != conclusion.cell);
        all.push(conclusion);
    }
    Ok(all)
}

pub(super) fn append(file: &Path, conclusion: &CellConclusion) -> Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(file).with_context(|| format!("opening {}", file.display()))?;
    Ok(file.write_all(conclusion.line().as_bytes())?)
}

/// Replaces the file with these results.
pub(super) fn write(file: &Path, all: &[CellConclusion]) -> Result<()> {
    let mut out = File::create(file).with_context(|| format!("creating {}", file.display()))?;
    Ok(out.write_all(all.iter().map(CellConclusion::line).collect::<String>().as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_result_counts_and_a_cut_line_is_dropped() {
        let [earlier, later] = ["a", "b"].map(|run| CellConclusion {
            cell: "node/healthy/plain/ramp/all/1".into(),
            run: run.into(),
            ..CellConclusion::default()
        });
        let file = std::env::temp_dir().join(format!("loadstone-results-{}", std::process::id()));
        let cut: String = later.line().chars().take(40).collect();
        fs::write(&file, earlier.line() + &later.line() + &cut).unwrap();
        let read = read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert_eq!(read, [later]);
    }
}
