//! House rules that neither the compiler nor clippy knows: sizes, names, leftovers, circles, commits.
//!
//! Each rule is a file with a function from its inputs to complaints; [`tidy`] gathers the inputs. Exceptions are in
//! `xtask/tidy-exceptions.txt`, each with its reason. The length of functions is clippy's `too_many_lines` (see clippy.toml).

mod circles;
pub(crate) mod commits;
mod dependencies;
mod each_file;
mod exceptions;
mod finding_rules;
mod prose;
mod type_names;
mod unused_files;
mod width;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use checkout::Workspace;

use crate::metadata::{self, Package};
use crate::sources::graph::FileGraph;
use crate::sources::module_tree::ModuleTree;
use crate::sources::{imports, resolve};
use exceptions::{Exceptions, FILE as EXCEPTIONS};

/// The folder of the page's own sources, and the file they start from.
const PAGE: &str = "web/src/";
const PAGE_ENTRY: &str = "web/src/main.ts";

/// Every text file of the repository by its path, relative to the workspace.
type TextFiles = BTreeMap<String, String>;

pub(crate) fn tidy(workspace: &Workspace) -> Result<()> {
    let exceptions = Exceptions::read(workspace)?;
    let (texts, mut complaints) = each_file(workspace, &exceptions)?;
    let packages = metadata::packages(workspace)?;
    complaints.extend(rust(&packages, &texts, &exceptions)?);
    complaints.extend(dependencies(&packages, &texts, &exceptions)?);
    complaints.extend(page(&texts, &exceptions));
    if prose::IS_ENFORCED {
        complaints.extend(texts.iter().flat_map(|(path, text)| prose::complaints(path, text, &exceptions)));
    }
    complaints.extend(commits::complaints(workspace)?);
    complaints.extend(exceptions.stale());
    if !complaints.is_empty() {
        let places = complaints.join("\n  ");
        bail!(
            "{} untidy places:\n  {places}\n{EXCEPTIONS} lists the rules with exceptions, and how to write one with its reason.",
            complaints.len()
        );
    }
    println!("{} files are tidy", texts.len());
    Ok(())
}

/// Prints how many avoided words each folder has; or, of one folder or file, each place.
pub(crate) fn prose(workspace: &Workspace, below: Option<&str>) -> Result<()> {
    let exceptions = Exceptions::read(workspace)?;
    let (texts, _) = each_file(workspace, &exceptions)?;
    if let Some(below) = below {
        let chosen = texts.iter().filter(|(path, _)| path.starts_with(below));
        chosen.flat_map(|(path, text)| prose::complaints(path, text, &exceptions)).for_each(|place| println!("{place}"));
        return Ok(());
    }
    let counts = prose::counts(texts.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    counts.iter().for_each(|(folder, count)| println!("{count:>6}  {folder}"));
    println!("{:>6}  in all", counts.iter().map(|(_, count)| count).sum::<usize>());
    Ok(())
}

/// Reads all files that are not generated, and applies the rules for single files.
fn each_file(workspace: &Workspace, exceptions: &Exceptions) -> Result<(TextFiles, Vec<String>)> {
    let checkout = workspace.root.to_string_lossy().into_owned();
    let (mut texts, mut complaints) = (TextFiles::new(), Vec::new());
    for path in workspace.files()? {
        let bytes = fs::read(workspace.root.join(&path)).with_context(|| format!("reading {}", path.display()))?;
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if let Some(found) = each_file::complaints(&path, &text, &checkout, exceptions) {
            complaints.extend(found);
            texts.insert(path.to_string_lossy().into_owned(), text);
        }
    }
    Ok((texts, complaints))
}

/// Circles, names of types, rules of findings, and files that belong to no crate.
fn rust(packages: &[Package], texts: &TextFiles, exceptions: &Exceptions) -> Result<Vec<String>> {
    let read = |path: &str| texts.get(path).cloned();
    let (mut shipped, mut reached, mut complaints) = (Vec::new(), BTreeSet::new(), Vec::new());
    for root in packages.iter().flat_map(|package| &package.roots) {
        let tree = ModuleTree::read(&root.file, &read)?;
        reached.extend(tree.modules.iter().map(|module| module.file.clone()));
        if root.is_shipped {
            shipped.push(tree);
        }
    }
    for tree in &shipped {
        let graph = resolve::uses(tree);
        complaints.extend(circles::complaints(&graph, exceptions));
        complaints.extend(finding_rules::complaints(&graph));
    }
    complaints.extend(type_names::complaints(shipped.iter(), exceptions));
    let is_ours = |path: &&str| path.ends_with(".rs") && packages.iter().any(|package| Path::new(path).starts_with(&package.folder));
    complaints.extend(unused_files::complaints(texts.keys().map(String::as_str).filter(is_ours), &reached, exceptions));
    Ok(complaints)
}

fn dependencies(packages: &[Package], texts: &TextFiles, exceptions: &Exceptions) -> Result<Vec<String>> {
    let manifest = texts.get("Cargo.toml").context("there is no Cargo.toml")?;
    let mut complaints = dependencies::unclaimed(manifest, packages)?;
    complaints.extend(dependencies::undocumented(manifest, texts.get("DEPENDENCIES.md").context("there is no DEPENDENCIES.md")?)?);
    for package in packages {
        let sources = texts.iter().filter(|(path, _)| path.ends_with(".rs")).map(|(path, text)| (path.as_str(), text.as_str()));
        complaints.extend(dependencies::unused(package, sources, exceptions));
    }
    Ok(complaints)
}

/// Circles between the files of the page, and files that it does not import.
fn page(texts: &TextFiles, exceptions: &Exceptions) -> Vec<String> {
    let is_source =
        |path: &&String| path.starts_with(PAGE) && (path.ends_with(".ts") || path.ends_with(".svelte")) && !path.ends_with(".test.ts");
    let mut graph = FileGraph::default();
    for (path, text) in texts.iter().filter(|(path, _)| is_source(path)) {
        for file in imports::of(path, text, |file| texts.contains_key(file)) {
            graph.add(path, &file, "import");
        }
    }
    let reached: BTreeSet<String> = texts.keys().filter(|path| *path == PAGE_ENTRY || graph.reaches(PAGE_ENTRY, path)).cloned().collect();
    let mut complaints = circles::complaints(&graph, exceptions);
    complaints.extend(unused_files::complaints(texts.keys().filter(is_source).map(String::as_str), &reached, exceptions));
    complaints
}
