//! `loadstone export`: a run's measurements as tables.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use run_directory::export::{Format, flows, per_second, signals};

use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};
use crate::flags::StoredRunArgs;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    run: StoredRunArgs,
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    format: ExportFormat,
    /// What to write.
    #[arg(long, value_enum, default_value_t = ExportTable::Seconds)]
    table: ExportTable,
    /// File to write; `-` is standard output (not for Parquet).
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportTable {
    /// A row per second and series.
    Seconds,
    /// A row per series.
    Totals,
    /// A row per second and flow.
    Flows,
    /// A row per reading of an observer's signal.
    Signals,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    Csv,
    Jsonl,
    Parquet,
}

impl ExportArgs {
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        let (_, run, summary) = self.run.read()?;
        let table = match self.table {
            ExportTable::Seconds => per_second(&run),
            ExportTable::Totals => analysis::totals_table(&summary),
            ExportTable::Flows => flows(&run),
            ExportTable::Signals => signals(&run),
        };
        let format = match self.format {
            ExportFormat::Csv => Format::Csv,
            ExportFormat::Jsonl => Format::JsonLines,
            ExportFormat::Parquet => Format::Parquet,
        };
        if self.output != Path::new("-") {
            run_directory::export::write(&table, format, &self.output)?;
            return Ok(Exit::Passed);
        }
        let mut out = std::io::stdout();
        if format == Format::Parquet && out.is_terminal() {
            return Err(UsageError("Parquet is not for a terminal: name a file with --output".to_owned()).into());
        }
        out.write_all(&run_directory::export::encode(&table, format)?)?;
        Ok(Exit::Passed)
    }
}
