//! Where a run goes, and how it is shown.

use std::path::PathBuf;

use clap::Args;
use loadstone_outputs::Destination;
use loadstone_report::terminal::TimeColumns;
use loadstone_session::OutputSettings;

use super::AgainstArgs;
use crate::exit::UsageError;
use crate::given;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Folder of run directories.
    #[arg(long, value_name = "FOLDER", default_value = "runs", env = "LOADSTONE_RUNS")]
    pub(crate) runs: PathBuf,
    /// Write nothing to disk.
    #[arg(long)]
    pub(crate) no_save: bool,
    /// Serve a page on loopback that shows the run in progress, and can pause, stop and scale it. Findings come while it goes on.
    #[arg(long)]
    pub(crate) live: bool,
    /// Write the live page's address to this file, too: for programs that start runs.
    #[arg(long, value_name = "FILE", requires = "live")]
    pub(crate) live_address: Option<PathBuf>,
    /// Also send each second's numbers here; may be given several times. KIND is prometheus, prometheus-native (both remote
    /// write), otlp, influx, statsd or dogstatsd. See docs/outputs.md.
    #[arg(long, value_name = "KIND=ADDRESS", env = "LOADSTONE_OUT", value_delimiter = ' ')]
    pub(crate) out: Vec<String>,
    /// Header for outputs over HTTP, such as an authorization; may be given several times, or one on each line of the variable.
    #[arg(long = "out-header", value_name = "NAME: VALUE", env = "LOADSTONE_OUT_HEADERS", hide_env_values = true, value_delimiter = '\n')]
    pub(crate) out_headers: Vec<String>,
    /// Serve /metrics here for Prometheus to scrape while the run lasts.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics_listen: Option<std::net::SocketAddr>,
    /// No progress; only the summary.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Also write JUnit XML here (the run directory always has one).
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Also write the HTML report here (the run directory always has one).
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also write the Markdown summary here. GITHUB_STEP_SUMMARY is honoured.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Columns of the summary's table, such as count,failed,p50,p99.9,max; also: rate, mean, min, p75, p90, p95, p99, p99.99, interval (of p99).
    #[arg(long = "summary", value_name = "COLUMNS")]
    pub(crate) columns: Option<TimeColumns>,
    /// Print the summary as JSON (summary.json) instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) against: AgainstArgs,
}

impl OutputArgs {
    /// Whether the files that are asked for can be there.
    ///
    /// # Errors
    /// [`UsageError`]: the folder of one is missing.
    pub(crate) fn check_files(&self) -> Result<(), UsageError> {
        given::check_files(
            &self.runs,
            &[
                ("--junit", self.junit.as_deref()),
                ("--html", self.html.as_deref()),
                ("--markdown", self.markdown.as_deref()),
                ("--comparison-markdown", self.against.comparison_markdown.as_deref()),
            ],
        )
    }

    /// Where the run's numbers go besides its directory. A variable of the environment that is empty asks for nothing.
    ///
    /// # Errors
    /// [`UsageError`]: an unknown kind, a wrong address, a line that is not a header.
    pub(crate) fn settings(&self) -> Result<OutputSettings, UsageError> {
        let destinations = self.out.iter().filter(|text| !text.is_empty()).map(|text| text.parse::<Destination>());
        let destinations = destinations.collect::<Result<Vec<_>, _>>().map_err(|problem| UsageError(format!("--out: {problem}")))?;
        let headers = self.out_headers.iter().filter(|line| !line.trim().is_empty()).map(|line| header(line)).collect::<Result<_, _>>()?;
        Ok(OutputSettings { destinations, headers, listen: self.metrics_listen })
    }
}

fn header(line: &str) -> Result<(String, String), UsageError> {
    // The value may be a secret: it is not shown.
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
