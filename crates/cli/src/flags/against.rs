//! The baseline of a run, and which changes count as worse.

use std::path::PathBuf;

use clap::Args;

use crate::exit::UsageError;
use crate::gate;

/// How two runs are compared: for `compare`, and for a run with a baseline.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Comparison")]
pub(crate) struct ComparisonArgs {
    /// Fail with exit code 6 if this holds. Can be repeated: 'p99 worse by 5%', 'p95 of Buy worse by 10%', 'failures worse by 1%', 'CPU worse by 5%',
    /// 'anything worse'. See docs/compare.md.
    #[arg(long = "fail-if", value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Relative change that is too small to matter.
    #[arg(long, value_name = "SHARE", default_value = "3%")]
    pub(crate) effect: String,
}

impl ComparisonArgs {
    /// # Errors
    /// [`UsageError`]: a condition has invalid syntax.
    pub(crate) fn gates(&self) -> Result<Vec<loadstone_analysis::ComparisonGate>, UsageError> {
        self.fail_if.iter().map(|text| gate::parse(text)).collect()
    }

    /// # Errors
    /// [`UsageError`]: the share is not between 0 and 1.
    pub(crate) fn effect(&self) -> Result<f64, UsageError> {
        let share = loadstone_units::share::parse(&self.effect).map_err(|problem| UsageError(format!("--effect: {problem}")))?;
        if share > 0.0 && share < 1.0 { Ok(share) } else { Err(UsageError("--effect: give a share above 0 % and below 100 %".to_owned())) }
    }
}

/// The baseline of a run.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Comparison")]
pub(crate) struct AgainstArgs {
    /// Compare with an earlier run when this one has ended: an id or its prefix, a run directory, a tag (the newest run of this test with this tag), a
    /// branch or commit of the sources, or `last`.
    #[arg(long, value_name = "RUN|TAG|BRANCH|last")]
    pub(crate) against: Option<String>,
    /// Also write the comparison as Markdown to this file, for a pull request.
    #[arg(long, value_name = "FILE", requires = "against")]
    pub(crate) comparison_markdown: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) how: ComparisonArgs,
}
