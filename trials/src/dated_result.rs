//! Pages in bench/results that are named after their day.
//!
//! Deliberately absent: replacing one. A measurement takes minutes to hours, and the earlier page of a day may not be committed yet.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::machine;

/// More in one day is an error in a loop.
const PAGES_PER_DAY_MAX: u32 = 1000;

/// Writes a page of today: `2026-11-30-accuracy.md`, with no kind `2026-11-30.md`. Another one of the same day is `2026-11-30-accuracy-2.md`.
pub(crate) fn write(workspace: &Workspace, kind: Option<&str>, text: &str) -> Result<()> {
    let today = machine::today()?;
    let stem = kind.map_or_else(|| today.clone(), |kind| format!("{today}-{kind}"));
    let path = write_new(&workspace.root.join("bench/results"), &stem, text)?;
    println!("wrote {}", path.display());
    Ok(())
}

fn write_new(folder: &Path, stem: &str, text: &str) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    for number in 1..=PAGES_PER_DAY_MAX {
        let path = folder.join(if number == 1 { format!("{stem}.md") } else { format!("{stem}-{number}.md") });
        match File::create_new(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes()).with_context(|| format!("writing {}", path.display()))?;
                return Ok(path);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("writing {}", path.display())),
        }
    }
    bail!("{} has {PAGES_PER_DAY_MAX} pages of {stem}; delete some", folder.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_replaces_none_of_the_same_day() {
        let folder = std::env::temp_dir().join(format!("loadstone-dated-{}", std::process::id()));
        let names: Vec<String> = ["first", "second", "third"]
            .map(|text| write_new(&folder, "2026-11-30", text).unwrap().file_name().unwrap().to_string_lossy().into_owned())
            .to_vec();
        let first = fs::read_to_string(folder.join("2026-11-30.md")).unwrap();
        let third = fs::read_to_string(folder.join("2026-11-30-3.md")).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(names, ["2026-11-30.md", "2026-11-30-2.md", "2026-11-30-3.md"]);
        assert_eq!((first.as_str(), third.as_str()), ("first", "third"));
    }
}
