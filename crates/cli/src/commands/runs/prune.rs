//! `loadstone runs prune`: deletes runs that nobody needs any more.

use std::collections::HashMap;
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use metrics::clock::wall_ns;
use run_directory::{History, HistoryEntry};

use crate::exit::{Exit, UsageError};
use crate::flags::RunsFolderArgs;

/// A run without an end that was written so lately still goes on.
const GOES_ON: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
#[command(after_help = "\
Runs with a tag and runs that still go on stay. Given both, --keep and --older-than must both allow it.

Examples:
  loadstone runs prune --keep 50 --dry-run
  loadstone runs prune --keep 20 --older-than 30d")]
pub(crate) struct PruneArgs {
    /// Keep the newest N runs of each test.
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Delete only what ended longer ago than this: 30d, 12h.
    #[arg(long, value_name = "DURATION")]
    older_than: Option<String>,
    /// Also delete runs with a tag.
    #[arg(long)]
    tagged: bool,
    /// Only say what would be deleted.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    folder: RunsFolderArgs,
}

/// What may go.
struct Retention {
    keep: usize,
    older_than: Duration,
    tagged: bool,
    now: SystemTime,
}

impl PruneArgs {
    pub(crate) fn perform(&self) -> anyhow::Result<Exit> {
        if self.keep.is_none() && self.older_than.is_none() {
            return Err(UsageError("what may go? Give --keep 50, --older-than 30d, or both".to_owned()).into());
        }
        let older_than = match &self.older_than {
            Some(text) => age(text).map_err(|problem| UsageError(format!("--older-than: {problem}")))?,
            None => Duration::ZERO,
        };
        let retention =
            Retention { keep: self.keep.unwrap_or(0), older_than, tagged: self.tagged, now: UNIX_EPOCH + Duration::from_nanos(wall_ns()) };
        let mut history = History::of(&self.folder.runs).map_err(|error| UsageError(error.to_string()))?;
        let entries: Vec<HistoryEntry> = history.entries().filter_map(Result::ok).collect();
        let names: Vec<String> = retention.chosen(&entries).iter().map(|entry| entry.info.id.clone()).collect();
        let mut out = std::io::stdout();
        for name in &names {
            if !self.dry_run {
                history.remove(name)?;
            }
            writeln!(out, "{name}")?;
        }
        let verb = if self.dry_run { "would be deleted" } else { "deleted" };
        let kept = entries.len() - names.len();
        writeln!(std::io::stderr(), "{} {verb}, {kept} kept", units::counted(names.len() as u64, "run"))?;
        Ok(Exit::Passed)
    }
}

/// Days are usual here, which durations of tests do not have.
fn age(text: &str) -> Result<Duration, String> {
    let days = text.trim().strip_suffix('d').and_then(|days| days.trim().parse::<f64>().ok());
    match days {
        Some(days) if (0.0..1e6).contains(&days) => Ok(Duration::from_secs_f64(days * 86_400.0)),
        _ => units::duration::parse(text).map(Duration::from_nanos).map_err(|problem| problem.to_string()),
    }
}

impl Retention {
    /// `entries`: the newest first.
    fn chosen<'a>(&self, entries: &'a [HistoryEntry]) -> Vec<&'a HistoryEntry> {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let mut chosen = Vec::new();
        for entry in entries {
            let newer = seen.entry(&entry.test).or_default();
            let is_beyond = *newer >= self.keep;
            *newer += 1;
            if is_beyond && self.may_go(entry) {
                chosen.push(entry);
            }
        }
        chosen
    }

    fn may_go(&self, entry: &HistoryEntry) -> bool {
        // A file from the future, or one that cannot be looked at, is not known to be old.
        let age = entry.written.and_then(|written| self.now.duration_since(written).ok()).unwrap_or_default();
        let goes_on = entry.end.is_none() && age < GOES_ON;
        !goes_on && age >= self.older_than && (self.tagged || entry.info.tags.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use run_directory::{RunEnd, RunInfo};

    use super::*;

    fn entry(test: &str, hours_ago: u64, tags: &[&str], has_ended: bool) -> HistoryEntry {
        HistoryEntry {
            directory: test.into(),
            info: RunInfo {
                id: format!("{test}-{hours_ago}"),
                tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
                ..RunInfo::default()
            },
            test: test.to_owned(),
            parameters: Vec::new(),
            end: has_ended.then_some(RunEnd::Completed),
            summary: None,
            note: None,
            written: Some(UNIX_EPOCH + Duration::from_secs(1_000_000 - 3600 * hours_ago)),
        }
    }

    #[test]
    fn only_what_every_rule_allows_goes() {
        let entries = [
            entry("shop", 0, &[], false),
            entry("shop", 1, &[], true),
            entry("pay", 2, &[], true),
            entry("shop", 30, &["main"], true),
            entry("shop", 40, &[], true),
            entry("pay", 50, &[], true),
            entry("shop", 60, &[], true),
        ];
        let chosen = |keep: usize, hours: u64, tagged: bool| {
            let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
            let retention = Retention { keep, older_than: Duration::from_secs(3600 * hours), tagged, now };
            retention.chosen(&entries).iter().map(|entry| entry.info.id.clone()).collect::<Vec<_>>()
        };
        assert_eq!(chosen(2, 0, false), ["shop-40", "shop-60"], "of each test, and none with a tag");
        assert_eq!(chosen(1, 45, false), ["pay-50", "shop-60"]);
        assert_eq!(chosen(0, 0, true), ["shop-1", "pay-2", "shop-30", "shop-40", "pay-50", "shop-60"], "not the one that goes on");
    }

    #[test]
    fn ages_have_days() {
        assert_eq!(age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(age("12h"), Ok(Duration::from_secs(12 * 3600)));
        assert!(age("long").is_err() && age("-1d").is_err());
    }
}
