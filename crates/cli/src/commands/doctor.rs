//! `loadstone doctor`: how much load this machine can generate.

use std::io::{IsTerminal, Write};

use clap::Args;
use loadstone_report::DoctorGrade;
use loadstone_report::terminal::Style;

use crate::argument;
use crate::context::CommandContext;
use crate::doctor::{IntendedLoad, examine, read_machine};
use crate::exit::{Exit, UsageError};
use crate::flags::RunsFolderArgs;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loadstone doctor
  loadstone doctor http://shop.test/ --rate 5000
  loadstone doctor --users 20000 --json

Exit codes: 0 no limit is too low, 4 this machine cannot generate the requested load.")]
pub(crate) struct DoctorArgs {
    /// Target whose name is resolved.
    #[arg(value_name = "URL")]
    target: Option<String>,
    /// Intended arrival rate: 500, 90/min.
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Intended number of concurrent users.
    #[arg(long, value_name = "N")]
    users: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    folder: RunsFolderArgs,
}

impl DoctorArgs {
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        let rate = self
            .rate
            .as_deref()
            .map(loadstone_units::rate::parse)
            .transpose()
            .map_err(|problem| UsageError(format!("--rate: {problem}")))?;
        let target = self.target.as_deref().map(|target| argument::url("", target)).transpose()?;
        let lines = examine(&read_machine(target.as_ref(), &self.folder.runs), IntendedLoad { rate, users: self.users });
        let mut out = std::io::stdout();
        let style = Style::detect(context.color, out.is_terminal());
        let text = if self.json { loadstone_report::doctor_json(&lines) } else { loadstone_report::doctor_table(&lines, &style) };
        out.write_all(text.as_bytes())?;
        let is_in_the_way = lines.iter().any(|line| line.grade == DoctorGrade::TooLittle);
        Ok(if is_in_the_way { Exit::Invalid } else { Exit::Passed })
    }
}
