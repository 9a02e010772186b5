//! `cargo xtask fuzz`: runs every fuzz target for some time, and prints a table of the results.
//!
//! The targets are in `fuzz/`, outside the workspace; what they call is in the module `fuzzing` of the crates. A run begins with the inputs in
//! `fuzz/seeds` and with those that earlier runs kept in the target folder. `fuzz/README.md` lists all parsers. Read [`fuzz`] first.

mod install;
mod statistics;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::process;
use clap::Args;

use install::nightly;
use statistics::FuzzStatistics;

#[derive(Args)]
pub(crate) struct FuzzOptions {
    /// How long each target runs. Seconds.
    #[arg(long, value_name = "N", default_value_t = 360, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seconds: u32,
    /// Only this target. May be repeated.
    #[arg(long = "only", value_name = "TARGET")]
    only: Vec<String>,
}

/// Longest time for one input, on a busy machine and with a sanitizer. Seconds.
const INPUT_SECONDS_MAX: u32 = 30;
/// Largest memory of the process, and of one allocation. An input has a few KB, so that more is an amplification. MiB.
const MEMORY_MIB_MAX: u32 = 2_048;
const ALLOCATION_MIB_MAX: u32 = 256;

pub(crate) fn fuzz(workspace: &Workspace, options: &FuzzOptions) -> Result<()> {
    let targets = chosen(targets(workspace)?, &options.only)?;
    let cargo_fuzz = install::install(workspace)?;
    let place = FuzzBuild::build(workspace, &cargo_fuzz, &targets)?;
    let mut runs = Vec::new();
    for target in &targets {
        println!("{target}: {} s from now on", options.seconds);
        runs.push(place.run(target, options.seconds)?);
    }
    println!("\n{}", table(&runs));
    let problems: Vec<&str> = runs.iter().filter_map(|run| run.problem.as_deref()).collect();
    if !problems.is_empty() {
        bail!("{} of {} targets failed:\n  {}", problems.len(), runs.len(), problems.join("\n  "));
    }
    Ok(())
}

/// The names of all targets, in order.
fn targets(workspace: &Workspace) -> Result<Vec<String>> {
    let folder = workspace.root.join("fuzz/fuzz_targets");
    let entries = fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    let sources = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let mut names: Vec<String> = sources.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    Ok(names)
}

fn chosen(all: Vec<String>, only: &[String]) -> Result<Vec<String>> {
    if let Some(unknown) = only.iter().find(|name| !all.contains(name)) {
        bail!("there is no fuzz target `{unknown}`; the targets are {}", all.join(", "));
    }
    Ok(all.into_iter().filter(|name| only.is_empty() || only.contains(name)).collect())
}

/// The folders in which targets are built and run.
struct FuzzBuild {
    folder: PathBuf,
    seeds: PathBuf,
    binaries: PathBuf,
}

/// A target's run.
struct FuzzRun {
    target: String,
    said: FuzzStatistics,
    /// The failure, and how to reproduce it.
    problem: Option<String>,
}

impl FuzzBuild {
    fn build(workspace: &Workspace, cargo_fuzz: &Path, targets: &[String]) -> Result<Self> {
        let folder = workspace.target.join("fuzz");
        let host = install::host()?;
        for target in targets {
            let mut build = nightly(cargo_fuzz);
            build.current_dir(&workspace.root).args(["fuzz", "build", target, "--target", &host, "--target-dir"]).arg(&folder);
            process::run(&mut build)?;
        }
        Ok(Self { binaries: folder.join(host).join("release"), folder, seeds: workspace.root.join("fuzz/seeds") })
    }

    fn run(&self, target: &str, seconds: u32) -> Result<FuzzRun> {
        let (corpus, crashes) = (self.folder.join("corpus").join(target), self.folder.join("crashes"));
        for folder in [&corpus, &crashes] {
            fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        }
        let log = self.folder.join(format!("{target}.log"));
        let binary = self.binaries.join(target);
        let mut command = Command::new(&binary);
        command
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
            .arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"))
            .arg(format!("-malloc_limit_mb={ALLOCATION_MIB_MAX}"))
            .arg(format!("-artifact_prefix={}/{target}-", crashes.display()))
            .arg("-print_final_stats=1")
            // What the target keeps is written to the first folder.
            .arg(&corpus)
            .args(Some(self.seeds.join(target)).filter(|seeds| seeds.is_dir()));
        let written = File::create(&log).with_context(|| format!("creating {}", log.display()))?;
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(written).status();
        let status = status.with_context(|| format!("cannot start {}", binary.display()))?;
        // After a crash the log may contain any bytes.
        let said = FuzzStatistics::read(&String::from_utf8_lossy(&fs::read(&log)?));
        let problem = (!status.success()).then(|| match &said.crash {
            Some(input) => format!("{target}: `{} {input}` fails again; the log is {}", binary.display(), log.display()),
            None => format!("{target} ended with {status}; the log is {}", log.display()),
        });
        Ok(FuzzRun { target: target.to_owned(), said, problem })
    }
}

fn table(runs: &[FuzzRun]) -> String {
    let mut text =
        "| target | executions | per second | coverage | features | inputs kept | crashes |\n|---|---|---|---|---|---|---|\n".to_owned();
    for FuzzRun { target, said, .. } in runs {
        let crashes = u32::from(said.crash.is_some());
        text += &format!(
            "| {target} | {} | {} | {} | {} | {} | {crashes} |\n",
            said.executions, said.per_second, said.coverage, said.features, said.inputs
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_chosen_by_name() {
        let all = || vec!["answer".to_owned(), "chunked".to_owned()];
        assert_eq!(chosen(all(), &[]).unwrap(), all());
        assert_eq!(chosen(all(), &["chunked".to_owned()]).unwrap(), ["chunked"]);
        let error = chosen(all(), &["chunk".to_owned()]).unwrap_err().to_string();
        assert_eq!(error, "there is no fuzz target `chunk`; the targets are answer, chunked");
    }

    #[test]
    fn the_table_of_parsers_names_every_target_and_no_other() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf();
        let names = targets(&Workspace { target: root.join("target"), root: root.clone() }).unwrap();
        let page = fs::read_to_string(root.join("fuzz/README.md")).unwrap();
        let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(1)).skip(1);
        let mut listed: Vec<&str> =
            cells.flat_map(|cell| cell.split(", ")).filter_map(|name| name.strip_prefix('`')?.strip_suffix('`')).collect();
        listed.sort_unstable();
        listed.dedup();
        assert_eq!(listed, names);
    }

    #[test]
    fn every_target_is_declared_and_every_declared_one_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf();
        let names = targets(&Workspace { target: root.join("target"), root: root.clone() }).unwrap();
        let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
        let mut declared: Vec<&str> =
            manifest.lines().filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\"")).collect();
        declared.sort_unstable();
        assert_eq!(names, declared);
        assert!(!names.is_empty());
    }
}
