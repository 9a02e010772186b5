//! `cargo xtask site`: the documentation as a site with search, in `target/site`.
//!
//! docs/README.md is the table of contents, so there is no second list: its headings become the parts, its list items the pages. Pages in a folder that is
//! named like a page (docs/findings/ and docs/findings.md) follow that page. Every other Markdown file that a page links to follows under "More". The pages
//! are copied because mdBook takes all files of its source folder into the site.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;

/// The table of contents.
const INDEX: &str = "docs/README.md";

/// The version whose output was checked by eye.
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
    let index = fs::read_to_string(workspace.root.join(INDEX)).with_context(|| format!("cannot read {INDEX}"))?;
    fs::write(source.join("SUMMARY.md"), summary(&index, &pages, |page| Ok(fs::read_to_string(workspace.root.join(page))?))?)?;
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

/// mdBook's table of contents: the README, the index, the pages of the index, and the other pages.
fn summary(index: &str, pages: &[PathBuf], read: impl Fn(&Path) -> Result<String>) -> Result<String> {
    let mut text = format!("# Summary\n\n[Loadstone](README.md)\n[Documentation]({INDEX})\n");
    let mut listed = vec![PathBuf::from("README.md"), PathBuf::from(INDEX)];
    for part in parts(index) {
        write!(text, "\n# {}\n\n", part.title)?;
        for (title, path) in part.links {
            writeln!(text, "- [{title}]({})", path.display())?;
            for child in pages.iter().filter(|page| is_page(page) && page.starts_with(path.with_extension("")) && !listed.contains(page)) {
                writeln!(text, "  - [{}]({})", title_of(&read(child)?), child.display())?;
            }
            listed.extend(pages.iter().filter(|page| page.starts_with(path.with_extension(""))).cloned());
            listed.push(path);
        }
    }
    text.push_str("\n# More\n\n");
    for page in pages.iter().filter(|page| is_page(page) && !listed.contains(page)) {
        writeln!(text, "- [{}]({})", title_of(&read(page)?), page.display())?;
    }
    Ok(text)
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// A heading of the index and the pages below it. Paths are relative to the repository.
struct IndexPart<'a> {
    title: &'a str,
    links: Vec<(&'a str, PathBuf)>,
}

/// Parts without a page are left out.
fn parts(index: &str) -> Vec<IndexPart<'_>> {
    let mut parts = Vec::new();
    for line in index.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            parts.push(IndexPart { title, links: Vec::new() });
        } else if let (Some(part), Some((title, path))) = (parts.last_mut(), link(line)) {
            part.links.push((title, from_root(path)));
        }
    }
    parts.retain(|part| !part.links.is_empty());
    parts
}

/// Title and target of a list item that begins with a link.
fn link(line: &str) -> Option<(&str, &str)> {
    let (title, rest) = line.strip_prefix("- [")?.split_once("](")?;
    Some((title, rest.split_once(')')?.0))
}

/// A path of the index, which is in docs/, as one that begins at the repository's root.
fn from_root(path: &str) -> PathBuf {
    path.strip_prefix("../").map_or_else(|| Path::new("docs").join(path), PathBuf::from)
}

fn title_of(page: &str) -> &str {
    page.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("Untitled")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Pages of docs/, without those in a folder that is named like a page.
    fn documents(root: &Path, folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = folder.join(entry.unwrap().file_name());
            if root.join(&path).is_dir() {
                if !root.join(path.with_extension("md")).is_file() {
                    found.extend(documents(root, &path));
                }
            } else if is_page(&path) && path != Path::new(INDEX) {
                found.push(path);
            }
        }
        found
    }

    #[test]
    fn the_index_leads_to_every_document_there_is() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let index = fs::read_to_string(root.join(INDEX)).unwrap();
        let listed: BTreeSet<PathBuf> = parts(&index).into_iter().flat_map(|part| part.links).map(|(_, path)| path).collect();
        let unlisted: Vec<PathBuf> = documents(&root, Path::new("docs")).into_iter().filter(|path| !listed.contains(path)).collect();
        assert_eq!(unlisted, Vec::<PathBuf>::new());
        let missing: Vec<&PathBuf> = listed.iter().filter(|path| !root.join(path).is_file()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn a_heading_becomes_a_part_and_unlisted_pages_come_last() {
        let other = |_: &Path| Ok("<!-- -->\n# Another\n".to_owned());
        let index =
            "# Docs\n\n## Reference\n\n- [Rules](findings.md): every rule\n- [Examples](../examples/README.md)\n\n## Empty\n\n- text\n";
        let pages =
            ["README.md", "docs/findings.md", "docs/findings/change.md", "docs/findings/shape.png", "examples/README.md", "other.md"];
        let expected = "# Summary\n\n[Loadstone](README.md)\n[Documentation](docs/README.md)\n\n\
            # Reference\n\n- [Rules](docs/findings.md)\n  - [Another](docs/findings/change.md)\n- [Examples](examples/README.md)\n\n\
            # More\n\n- [Another](other.md)\n";
        assert_eq!(summary(index, &pages.map(PathBuf::from), other).unwrap(), expected);
    }
}
