//! `loadstone export`: a run's measurements as tables.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use loadstone_run_directory::export::{self, TableFormat, flows, metrics, per_second, signals};

use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};
use crate::flags::StoredRunArgs;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    run: StoredRunArgs,
    #[arg(long, value_parser = table_format(), default_value = "csv")]
    format: TableFormat,
    /// Table to write.
    #[arg(long, value_enum, default_value_t = ExportTable::Seconds)]
    table: ExportTable,
    /// Output file; `-` is standard output (not for Parquet).
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportTable {
    /// One row per second and series.
    Seconds,
    /// One row per series.
    Totals,
    /// One row per second and flow.
    Flows,
    /// One row per second and custom metric, and per tag set of the metric.
    Metrics,
    /// One row per reading of an observer's signal.
    Signals,
    /// Not a table: CPU time of observed runtimes by function, in milliseconds, as folded stacks for flame graphs.
    Folded,
    /// Not a table: the same data as a gzipped pprof profile.
    Pprof,
}

fn table_format() -> impl TypedValueParser<Value = TableFormat> {
    PossibleValuesParser::new(export::FORMATS.iter().map(|format| format.extension))
        .try_map(|name| export::format(&name).ok_or_else(|| format!("there is no format {name}")))
}

impl ExportArgs {
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        let table = match self.table {
            ExportTable::Folded => return self.write_profile(export::folded(&self.run.as_kept()?.signals).into_bytes(), true),
            ExportTable::Pprof => return self.write_profile(export::pprof(&self.run.as_kept()?.signals)?.unwrap_or_default(), false),
            ExportTable::Seconds => per_second(&self.run.as_kept()?),
            ExportTable::Totals => loadstone_analysis::totals_table(&self.run.read()?.2),
            ExportTable::Flows => flows(&self.run.as_kept()?),
            ExportTable::Metrics => metrics(&self.run.as_kept()?),
            ExportTable::Signals => signals(&self.run.as_kept()?),
        };
        if self.output != Path::new("-") {
            export::write(&table, self.format, &self.output)?;
            return Ok(Exit::Passed);
        }
        let mut out = std::io::stdout();
        if !self.format.is_text && out.is_terminal() {
            return Err(UsageError(format!("{} is not for a terminal: name a file with --output", self.format.extension)).into());
        }
        out.write_all(&self.format.encode(&table)?)?;
        Ok(Exit::Passed)
    }

    fn write_profile(&self, bytes: Vec<u8>, is_text: bool) -> anyhow::Result<Exit> {
        if bytes.is_empty() {
            return Err(UsageError("no runtime with a profile was observed: observe.node, observe.go or observe.python".to_owned()).into());
        }
        if self.output == Path::new("-") {
            let mut out = std::io::stdout();
            if !is_text && out.is_terminal() {
                return Err(UsageError("a pprof profile is not for a terminal: name a file with --output".to_owned()).into());
            }
            out.write_all(&bytes)?;
        } else {
            export::write_bytes(&bytes, &self.output)?;
        }
        Ok(Exit::Passed)
    }
}
