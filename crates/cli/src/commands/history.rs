//! `loadstone runs`, `show`, `report`, `export`: runs that are over, read from their directories.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use analysis::Summary;
use anyhow::Context;
use report::terminal::{Closing, ColorChoice, Style};
use report::{RunRow, RunState};
use run_directory::export::{flows, per_second, signals};
use run_directory::{History, Reader, Run, RunError};

use crate::args::{ExportArgs, ExportTable, ReportArgs, RunsArgs, ShowArgs};
use crate::conclusions::Conclusions;
use crate::exit::{Exit, UsageError};
use crate::session::shown;

/// A run directory by id, beginning, `latest`, or path.
fn find(folder: &Path, asked: &str) -> anyhow::Result<PathBuf> {
    let path = Path::new(asked);
    if path.join(run_directory::files::RUN).is_file() {
        return Ok(path.to_owned());
    }
    Ok(History::of(folder).and_then(|history| history.find(asked)).map_err(|error| UsageError(error.to_string()))?)
}

fn read(folder: &Path, asked: &str) -> anyhow::Result<(PathBuf, Run, Summary)> {
    let directory = find(folder, asked)?;
    let run = Reader::open(&directory).and_then(Reader::run)?;
    let summary = analysis::conclude(&run);
    Ok((directory, run, summary))
}

pub(crate) fn runs(args: &RunsArgs, color: ColorChoice, out: &mut impl Write) -> anyhow::Result<Exit> {
    let history = History::of(&args.folder.runs).map_err(usage)?;
    let mut rows = Vec::new();
    for entry in history.entries() {
        match entry {
            Ok(entry) => rows.push(RunRow::of(&entry)),
            Err(problem) => rows.extend(unreadable(&problem)),
        }
    }
    let style = Style::detect(color, std::io::stdout().is_terminal());
    let text = if args.json { report::runs_json(&rows) } else { report::runs_table(&rows, &style) };
    out.write_all(text.as_bytes())?;
    Ok(Exit::Passed)
}

/// A directory that cannot be read is said, and does not hide the others.
fn unreadable(problem: &RunError) -> Option<RunRow> {
    let _ = writeln!(std::io::stderr(), "warning: {problem}");
    None
}

fn usage(error: RunError) -> UsageError {
    UsageError(error.to_string())
}

pub(crate) fn show(args: &ShowArgs, color: ColorChoice, out: &mut impl Write) -> anyhow::Result<Exit> {
    let (directory, run, summary) = read(&args.folder.runs, &args.run)?;
    if args.json {
        out.write_all(report::summary_json(&summary).as_bytes())?;
        return Ok(Exit::Passed);
    }
    let style = Style::detect(color, std::io::stdout().is_terminal());
    let (state, state_detail) = RunState::of(run.end.as_ref());
    let places = [("Run", shown(&directory))];
    out.write_all(report::terminal::summary(&summary, &Closing { state, state_detail, places: &places }, &style).as_bytes())?;
    Ok(Exit::Passed)
}

pub(crate) fn report(args: &ReportArgs, out: &mut impl Write) -> anyhow::Result<Exit> {
    let (directory, run, summary) = read(&args.folder.runs, &args.run)?;
    let conclusions = Conclusions::of(&run, &summary);
    let path = match &args.output {
        Some(path) => {
            std::fs::write(path, conclusions.text(run_directory::files::REPORT))
                .with_context(|| format!("{} cannot be written", path.display()))?;
            path.clone()
        }
        None => conclusions.write(&directory)?,
    };
    writeln!(out, "{}", shown(&path))?;
    Ok(Exit::Passed)
}

pub(crate) fn export(args: &ExportArgs, out: &mut impl Write) -> anyhow::Result<Exit> {
    let (_, run, summary) = read(&args.folder.runs, &args.run)?;
    let table = match args.table {
        ExportTable::Seconds => per_second(&run),
        ExportTable::Totals => analysis::totals_table(&summary),
        ExportTable::Flows => flows(&run),
        ExportTable::Signals => signals(&run),
    };
    if args.output != Path::new("-") {
        run_directory::export::write(&table, args.format, &args.output)?;
        return Ok(Exit::Passed);
    }
    if !args.format.is_text && std::io::stdout().is_terminal() {
        return Err(UsageError(format!("{} is not for a terminal: name a file with --output", args.format.extension)).into());
    }
    out.write_all(&args.format.encode(&table)?)?;
    Ok(Exit::Passed)
}
