//! Where results of a run are written, and how it is displayed.

use std::path::PathBuf;

use clap::Args;
use loadstone_outputs::{Destination, DestinationError};
use loadstone_report::terminal::TimeColumns;
use loadstone_session::OutputSettings;

use super::AgainstArgs;
use crate::argument;
use crate::exit::UsageError;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Folder of run directories.
    #[arg(long, value_name = "FOLDER", default_value = "runs", env = "LOADSTONE_RUNS")]
    pub(crate) runs: PathBuf,
    /// Write nothing to disk.
    #[arg(long)]
    pub(crate) no_save: bool,
    /// Serve a page on loopback that shows the run in progress, and can pause, stop and scale it. Findings appear during the run.
    #[arg(long, help_heading = "Observe")]
    pub(crate) live: bool,
    /// Also write the live page's address to this file, for programs that start runs.
    #[arg(long, help_heading = "Observe", value_name = "FILE", requires = "live")]
    pub(crate) live_address: Option<PathBuf>,
    /// Also send each second's numbers here. Can be repeated. KIND is prometheus, prometheus-native (both remote write), otlp, influx, statsd or dogstatsd.
    /// See docs/outputs.md.
    #[arg(short, long, help_heading = "Observe", value_name = "KIND=ADDRESS", env = "LOADSTONE_OUT", value_delimiter = ' ')]
    pub(crate) out: Vec<String>,
    /// Header for outputs over HTTP, such as an authorization. Can be repeated, or listed one per line in the variable.
    #[arg(
        long = "out-header",
        help_heading = "Observe",
        value_name = "NAME: VALUE",
        env = "LOADSTONE_OUT_HEADERS",
        hide_env_values = true,
        value_delimiter = '\n'
    )]
    pub(crate) out_headers: Vec<String>,
    /// Serve /metrics on this address for Prometheus to scrape during the run.
    #[arg(long, help_heading = "Observe", value_name = "ADDRESS:PORT")]
    pub(crate) metrics_listen: Option<std::net::SocketAddr>,
    /// Print only the summary, no progress.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Also write JUnit XML to this file (the run directory always has one).
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Also write the HTML report to this file (the run directory always has one).
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also write the Markdown summary to this file. GITHUB_STEP_SUMMARY is honoured.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Columns of the summary's table, such as count,failed,p50,p99.9,max. Also: rate, mean, min, p75, p90, p95, p99, p99.99, interval (of p99).
    #[arg(long = "summary", value_name = "COLUMNS")]
    pub(crate) columns: Option<TimeColumns>,

    /// Show every request in the summary's table, not only the ten most important ones.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the summary as JSON (summary.json) instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) against: AgainstArgs,
}

impl OutputArgs {
    /// Checks whether the requested files can be written.
    ///
    /// # Errors
    /// [`UsageError`]: the parent folder of a file does not exist.
    pub(crate) fn check_files(&self) -> Result<(), UsageError> {
        argument::check_files(
            &self.runs,
            &[
                ("--junit", self.junit.as_deref()),
                ("--html", self.html.as_deref()),
                ("--markdown", self.markdown.as_deref()),
                ("--comparison-markdown", self.against.comparison_markdown.as_deref()),
            ],
        )
    }

    /// Outputs for the run's numbers in addition to its directory. An empty environment variable counts as unset.
    ///
    /// # Errors
    /// [`UsageError`]: an unknown kind, an invalid address, or a line that is not a header.
    pub(crate) fn settings(&self) -> Result<OutputSettings, UsageError> {
        let destinations = self.out.iter().filter(|text| !text.is_empty()).map(|text| text.parse::<Destination>());
        let destinations = destinations.collect::<Result<Vec<_>, _>>().map_err(wrong_output)?;
        let headers = self.out_headers.iter().filter(|line| !line.trim().is_empty()).map(|line| header(line)).collect::<Result<_, _>>()?;
        Ok(OutputSettings { destinations, headers, listen: self.metrics_listen })
    }
}

/// A name of a file or folder means another flag.
fn wrong_output(problem: DestinationError) -> UsageError {
    let remedy = match &problem {
        DestinationError::Form(given) => {
            format!(". Run directories go to a folder with `--runs {given}`, reports to a file with `--html`, `--markdown` or `--junit`")
        }
        _ => String::new(),
    };
    UsageError(format!("--out: {problem}{remedy}"))
}

fn header(line: &str) -> Result<(String, String), UsageError> {
    // The value may be a secret, so it is not shown.
    let wrong = || UsageError("--out-header: write it as \"NAME: VALUE\"".to_owned());
    let (name, value) = line.split_once(':').ok_or_else(wrong)?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_without_a_colon_is_refused_without_showing_it() {
        assert_eq!(header("Authorization: Bearer a:b").unwrap(), ("Authorization".to_owned(), "Bearer a:b".to_owned()));
        assert!(!header("s3cret").unwrap_err().to_string().contains("s3cret"));
    }
}
