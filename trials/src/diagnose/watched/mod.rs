//! `cargo xtask watch-findings`: does the load of another tool show the cause that Loadstone's own load shows?
//!
//! Each tool sends the visits of the benchmark of diagnosis to a system with a fault, or to its healthy twin, and `loadstone watch` reads its record. The
//! first finding must be that of a run of Loadstone with the same load. Read [`watch_findings`] first, then `tools`. Deliberately absent: the faults and
//! what counts as naming them, which are those of `cargo xtask diagnose`.

mod nginx_proxy;
mod table;
mod tools;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::machine;
use clap::Args;
use serde_json::{Value, json};

use self::table::ToolRun;
use self::tools::{SCRIPT, SECONDS, TOOLS, ToolUse, VISITS, WatchedTool};
use super::judging::{Catalogue, Cell, CellConclusion, judge};
use super::results;
use crate::lab::system::LabSystem;

const STACKS: [&str; 2] = ["node", "python"];
const FAULTS: [&str; 3] = ["healthy", "pool", "row-lock"];

#[derive(Args, Default)]
pub(crate) struct WatchFindingsOptions {
    /// Only this tool. May be repeated, as all that follow.
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// Only this stack of the benchmark.  [default: node and python]
    #[arg(long = "stack", value_name = "STACK")]
    stacks: Vec<String>,
    /// Only this fault, or `healthy`.
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<String>,
    /// Keep the results of an earlier command: what has one is not run again.
    #[arg(long)]
    resume: bool,
    /// Only say what would run, and which tools are missing.
    #[arg(long)]
    list: bool,
    /// Put the table into bench/results/watch-findings.md.
    #[arg(long)]
    write: bool,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "FILE")]
    loadstone: Option<PathBuf>,
}

/// One row: a system, and the tools that run against it.
struct Matrix<'a> {
    workspace: &'a Workspace,
    catalogue: Catalogue,
    binary: PathBuf,
    folder: PathBuf,
    date: String,
    commit: String,
}

pub(crate) fn watch_findings(workspace: &Workspace, options: &WatchFindingsOptions) -> Result<()> {
    let tools: Vec<(&WatchedTool, Option<PathBuf>)> = chosen(options)?.map(|tool| (tool, (tool.find)(workspace))).collect();
    let missing: Vec<&str> = tools.iter().filter(|(_, found)| found.is_none()).map(|(tool, _)| tool.name).collect();
    missing.iter().for_each(|name| eprintln!("skipped: {name} is not installed (`cargo xtask bench --install`, or the search path)"));
    let tools: Vec<(&WatchedTool, PathBuf)> = tools.into_iter().filter_map(|(tool, found)| Some((tool, found?))).collect();
    let cells = cells(options);
    if options.list {
        cells.iter().for_each(|cell| tools.iter().for_each(|(tool, _)| println!("{} {}", tool.name, with_load(cell, tool.load).name())));
        return Ok(());
    }
    if tools.is_empty() {
        bail!("no tool is installed");
    }
    let binary = match &options.loadstone {
        Some(binary) => fs::canonicalize(binary).with_context(|| format!("there is no {}", binary.display()))?,
        None => machine::development_binary(workspace)?,
    };
    let folder = workspace.target.join("watch-findings");
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let matrix = Matrix {
        workspace,
        catalogue: Catalogue::read(&workspace.root)?,
        binary,
        folder: fs::canonicalize(&folder)?,
        date: machine::today()?,
        commit: super::commit(workspace)?,
    };
    let file = matrix.folder.join("results.jsonl");
    if !options.resume && file.is_file() {
        fs::rename(&file, file.with_extension("jsonl.before"))?;
    }
    matrix.run_all(&cells, &tools, &file)?;
    let runs = matrix.compared(&cells, &tools, &results::read(&file)?)?;
    let text = table::text(&runs, &missing);
    println!("{text}");
    if options.write { table::write(workspace, &text) } else { Ok(()) }
}

fn chosen(options: &WatchFindingsOptions) -> Result<impl Iterator<Item = &'static WatchedTool>> {
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    if let Some(unknown) = options.tools.iter().find(|name| !names.contains(&name.as_str())) {
        bail!("there is no tool {unknown}: {}", names.join(", "));
    }
    Ok(TOOLS.iter().filter(|tool| options.tools.is_empty() || options.tools.iter().any(|name| name == tool.name)))
}

/// The systems, with the load that most tools have.
fn cells(options: &WatchFindingsOptions) -> Vec<Cell> {
    let wanted = |list: &[String], default: &[&str]| -> Vec<String> {
        if list.is_empty() { default.iter().map(|&one| one.to_owned()).collect() } else { list.to_vec() }
    };
    let (stacks, faults) = (wanted(&options.stacks, &STACKS), wanted(&options.faults, &FAULTS));
    let of = |stack: &String, fault: &String| Cell {
        stack: stack.clone(),
        fault: fault.clone(),
        severity: "plain".to_owned(),
        load: "ramp".to_owned(),
        observe: "all".to_owned(),
        repeat: 1,
    };
    stacks.iter().flat_map(|stack| faults.iter().map(move |fault| of(stack, fault))).collect()
}

fn with_load(cell: &Cell, load: &str) -> Cell {
    Cell { load: load.to_owned(), ..cell.clone() }
}

impl Matrix<'_> {
    /// For each system and load: Loadstone's own run, then those of the tools.
    fn run_all(&self, cells: &[Cell], tools: &[(&WatchedTool, PathBuf)], file: &Path) -> Result<()> {
        let mut lab = LabSystem::serve(self.workspace, "diagnose")?;
        for cell in cells {
            for load in ["ramp", "closed", "constant"] {
                let cell = with_load(cell, load);
                let of_load: Vec<_> = tools.iter().filter(|(tool, _)| tool.load == load).collect();
                if !of_load.is_empty() {
                    self.run_once(&cell.name(), file, || self.own(&mut lab, &cell))?;
                }
                for (tool, program) in of_load {
                    self.run_once(&format!("{} {}", tool.name, cell.name()), file, || self.watched(&mut lab, &cell, tool, program))?;
                }
            }
        }
        Ok(())
    }

    /// Runs what has no result yet. A run that fails is reported, and has none.
    fn run_once(&self, name: &str, file: &Path, run: impl FnOnce() -> Result<Value>) -> Result<()> {
        if results::read(file)?.iter().any(|known| known.cell == name) {
            return Ok(());
        }
        eprintln!("{name}");
        match run() {
            Ok(summary) => {
                let conclusion = CellConclusion::of(name, &summary, &self.date, &self.commit);
                eprintln!("  {}, {}", conclusion.grade, conclusion.first());
                results::append(file, &conclusion)
            }
            Err(error) => {
                eprintln!("  did not run: {error:#}");
                Ok(())
            }
        }
    }

    fn set_up(&self, lab: &mut LabSystem, cell: &Cell) -> Result<()> {
        let fault = self.catalogue.fault(&cell.fault).context("no such fault")?;
        let settings = &fault.severity(&cell.severity).context("no such severity")?.settings;
        lab.switch(&json!({ "stack": cell.stack, "fault": settings }).to_string())
    }

    fn own(&self, lab: &mut LabSystem, cell: &Cell) -> Result<Value> {
        self.set_up(lab, cell)?;
        let mut command = self.loadstone("run");
        command.arg(self.workspace.root.join(SCRIPT));
        let parameters =
            [("target", lab.address("shop")?), ("load", &cell.load), ("watch", &cell.observe), ("length", &format!("{SECONDS}s"))];
        let parts = ["database", "provider", "metrics"].into_iter().filter_map(|part| Some((part, lab.address(part).ok()?)));
        for (name, value) in parameters.into_iter().chain(parts) {
            command.arg("-p").arg(format!("{name}={value}"));
        }
        command.arg("-p").arg(format!("visits={VISITS}"));
        self.summary(&mut command)
    }

    /// The same by another tool.
    fn watched(&self, lab: &mut LabSystem, cell: &Cell, tool: &WatchedTool, program: &Path) -> Result<Value> {
        self.set_up(lab, cell)?;
        let target = lab.address("shop")?.to_owned();
        let scratch = self.folder.join("tool");
        let _ = fs::remove_dir_all(&scratch);
        fs::create_dir_all(&scratch)?;
        let tool_use = ToolUse { workspace: self.workspace, loadstone: &self.binary, program, target: &target, scratch: &scratch };
        let started = (tool.start)(&tool_use)?;
        let mut command = self.loadstone("watch");
        let ports = ["shop", "provider"].into_iter().filter_map(|part| lab.address(part).ok()?.rsplit(':').next());
        ports.for_each(|port| _ = command.arg("--process").arg(port));
        for (flag, part) in [("--postgres", "database"), ("--prometheus", "metrics")] {
            if let Ok(address) = lab.address(part) {
                command.arg(flag).arg(address);
            }
        }
        command.arg("--host").args(&started.flags).arg("--").args(&started.command);
        self.summary(command.current_dir(&scratch))
    }

    fn loadstone(&self, name: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg(name).arg("--json").arg("--quiet").arg("--runs").arg(self.folder.join("runs"));
        command
    }

    /// What it concludes, with whatever code it ends: a tool has its own.
    fn summary(&self, command: &mut Command) -> Result<Value> {
        let output = self.folder.join("last.json");
        let log = File::create(self.folder.join("last.log"))?;
        let status = command.stdin(Stdio::null()).stdout(File::create(&output)?).stderr(log).status();
        let status = status.with_context(|| format!("starting {}", self.binary.display()))?;
        serde_json::from_slice(&fs::read(&output)?).with_context(|| format!("it {status}: see {}", self.folder.join("last.log").display()))
    }

    /// Each tool's run next to Loadstone's own.
    fn compared(&self, cells: &[Cell], tools: &[(&WatchedTool, PathBuf)], all: &[CellConclusion]) -> Result<Vec<ToolRun>> {
        let of = |name: &str| all.iter().find(|one| one.cell == name);
        let mut runs = Vec::new();
        for (tool, _) in tools {
            for cell in cells {
                let cell = with_load(cell, tool.load);
                let fault = self.catalogue.fault(&cell.fault).context("no such fault")?;
                let severity = fault.severity(&cell.severity).context("no such severity")?;
                let (Some(own), Some(watched)) = (of(&cell.name()), of(&format!("{} {}", tool.name, cell.name()))) else { continue };
                let rating = judge(&self.catalogue, fault, severity, &cell, watched);
                runs.push(ToolRun::new(tool.name, &cell, (own, watched), rating));
            }
        }
        Ok(runs)
    }
}
