//! `loadstone explain`: the documentation of finding rules, without a network.

use std::io::Write;

use clap::Args;
use loadstone_analysis::rules;
use loadstone_report::{explanation, pages_named};

use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loadstone explain                       # every rule, one per line
  loadstone explain connection-pool
  loadstone explain effective-concurrency change | less")]
pub(crate) struct ExplainArgs {
    /// Rules of findings, as `run`, `show` and the report name them. Without any: list all.
    #[arg(value_name = "RULE")]
    rules: Vec<String>,
}

impl ExplainArgs {
    /// Prints the pages as Markdown, each page once.
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        let mut out = std::io::stdout();
        if self.rules.is_empty() {
            out.write_all(list().as_bytes())?;
            return Ok(Exit::Passed);
        }
        let mut pages: Vec<&str> = Vec::new();
        for name in &self.rules {
            let named = pages_named(name);
            if named.is_empty() {
                return Err(UsageError(unknown(name)).into());
            }
            pages.extend(named.iter().map(|rule| rule.page));
        }
        let mut printed: Vec<&str> = Vec::new();
        for page in pages {
            if printed.contains(&page) {
                continue;
            }
            let separator = if printed.is_empty() { "" } else { "\n" };
            writeln!(out, "{separator}{}", explanation(page).unwrap_or_default())?;
            printed.push(page);
        }
        Ok(Exit::Passed)
    }
}

/// One line per page, by name.
fn list() -> String {
    let mut rows: Vec<(&str, &str)> = rules().iter().map(|rule| (rule.page, rule.says)).collect();
    rows.sort_unstable();
    let width = rows.iter().map(|(page, _)| page.len()).max().unwrap_or(0);
    rows.iter().map(|(page, says)| format!("{page:width$}  {says}\n")).collect()
}

fn unknown(name: &str) -> String {
    let mut known: Vec<&str> = rules().iter().flat_map(|rule| rule.ids.iter().copied().chain([rule.page])).collect();
    known.sort_unstable();
    known.dedup();
    format!("there is no rule \"{name}\"{}; `loadstone explain` lists all", loadstone_units::did_you_mean(name, &known))
}
