//! `cargo xtask site`: the documentation as a site with search, in `target/site`.
//!
//! The README's table of documents is the table of contents, so no second list has to be kept; every other Markdown file that a reader may be led to
//! follows under "More". The pages are copied, as mdBook takes whatever lies beside a page into the site.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;

/// The version whose output was looked at.
const MDBOOK: &str = "0.5.4";

const BOOK: &str = r#"[book]
title = "Loadstone"
description = "Load tests that tell you why"
language = "en"
src = "."

[build]
build-dir = "../site"
create-missing = false

[output.html]
default-theme = "light"
no-section-label = true
"#;

pub(crate) fn site(workspace: &Workspace) -> Result<()> {
    let source = workspace.target.join("site-source");
    if source.exists() {
        fs::remove_dir_all(&source).with_context(|| format!("cannot empty {}", source.display()))?;
    }
    let pages: Vec<PathBuf> = workspace.files()?.into_iter().filter(|path| is_read(path)).collect();
    for path in &pages {
        let copy = source.join(path);
        fs::create_dir_all(copy.parent().context("a copy lies in a folder")?)?;
        fs::copy(workspace.root.join(path), &copy).with_context(|| format!("cannot copy {}", path.display()))?;
    }
    let readme = fs::read_to_string(workspace.root.join("README.md")).context("cannot read README.md")?;
    fs::write(source.join("SUMMARY.md"), summary(&readme, &pages, |page| Ok(fs::read_to_string(workspace.root.join(page))?))?)?;
    fs::write(source.join("book.toml"), BOOK)?;
    let mdbook = installed(workspace)?;
    process::run_aside(workspace.command(&mdbook.to_string_lossy()).arg("build").arg(&source))?;
    println!("{}", workspace.target.join("site/index.html").display());
    Ok(())
}

fn installed(workspace: &Workspace) -> Result<PathBuf> {
    let tools = workspace.tools();
    let mdbook = tools.join("bin/mdbook");
    let version = process::attempt(workspace.command(&mdbook.to_string_lossy()).arg("--version"));
    if !version.is_some_and(|version| version.trim().ends_with(MDBOOK)) {
        let mut install = workspace.command("cargo");
        install.args(["install", "mdbook", "--version", MDBOOK, "--locked", "--no-default-features", "--features", "search", "--root"]);
        process::run_aside(install.arg(&tools))?;
    }
    Ok(mdbook)
}

/// Pages, and what they show or link to.
fn is_read(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let linked = ["docs", "examples", "labs", "ci"].iter().any(|folder| path.starts_with(folder))
        && ["png", "svg", "ts", "yml", "json"].contains(&extension);
    (extension == "md" && !path.starts_with(".github")) || linked
}

/// The table of contents: the README, its table of documents, and the other pages.
fn summary(readme: &str, pages: &[PathBuf], read: impl Fn(&Path) -> Result<String>) -> Result<String> {
    let mut text = String::from("# Summary\n\n[Loadstone](README.md)\n");
    let mut listed = vec![PathBuf::from("README.md")];
    for row in table(readme) {
        write!(text, "\n# {}\n\n", row.purpose)?;
        for (title, path) in row.links {
            writeln!(text, "- [{title}]({path})")?;
            listed.push(PathBuf::from(path));
        }
    }
    text.push_str("\n# More\n\n");
    for page in pages.iter().filter(|page| page.extension().is_some_and(|extension| extension == "md") && !listed.contains(page)) {
        writeln!(text, "- [{}]({})", title(&read(page)?).unwrap_or("Untitled"), page.display())?;
    }
    Ok(text)
}

/// A row of the README's table: what a reader wants, and where it is told.
struct DocumentsRow<'a> {
    purpose: String,
    links: Vec<(&'a str, &'a str)>,
}

fn table(readme: &str) -> impl Iterator<Item = DocumentsRow<'_>> {
    let rows = readme.lines().skip_while(|line| *line != "| you want to | read |").skip(2).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        let (purpose, links) = row.trim_matches('|').split_once('|')?;
        let mut purpose: Vec<char> = purpose.trim().chars().collect();
        purpose.first_mut()?.make_ascii_uppercase();
        let links = links.split(" · ").filter_map(|link| link.trim().strip_prefix('[')?.strip_suffix(')')?.split_once("](")).collect();
        Some(DocumentsRow { purpose: purpose.into_iter().collect(), links })
    })
}

fn title(page: &str) -> Option<&str> {
    page.lines().find_map(|line| line.strip_prefix("# "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_readme_leads_to_every_document_there_is() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let readme = fs::read_to_string(root.join("README.md")).unwrap();
        let listed: BTreeSet<PathBuf> = table(&readme).flat_map(|row| row.links).map(|(_, path)| PathBuf::from(path)).collect();
        let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| Path::new("docs").join(entry.unwrap().file_name()));
        let unlisted: Vec<PathBuf> = docs.filter(|path| path.extension().is_some_and(|e| e == "md") && !listed.contains(path)).collect();
        assert_eq!(unlisted, Vec::<PathBuf>::new());
        let missing: Vec<&PathBuf> = listed.iter().filter(|path| !root.join(path).is_file()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn a_row_becomes_a_part_and_what_no_row_names_comes_last() {
        let other = |_: &Path| Ok("<!-- -->\n# The other one\n".to_owned());
        let readme = "# x\n\n| you want to | read |\n|---|---|\n\
            | run it | [Install](docs/install.md) · [k6, curl](docs/import.md) |\n\n| no | [a](b) |\n";
        let pages =
            [PathBuf::from("README.md"), PathBuf::from("docs/install.md"), PathBuf::from("docs/import.md"), PathBuf::from("other.md")];
        let expected = "# Summary\n\n[Loadstone](README.md)\n\n\
            # Run it\n\n- [Install](docs/install.md)\n- [k6, curl](docs/import.md)\n\n# More\n\n- [The other one](other.md)\n";
        assert_eq!(summary(readme, &pages, other).unwrap(), expected);
    }
}
