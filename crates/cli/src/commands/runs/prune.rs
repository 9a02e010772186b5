//! `loadstone runs prune`: deletes old runs, experiments and searches.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use clap::Args;
use loadstone_metrics::clock::wall_ns;
use loadstone_run_directory::{History, HistoryEntry};

use crate::answers::{AnswerFolder, FoundAnswer};
use crate::exit::{Exit, UsageError};
use crate::flags::RunsFolderArgs;

/// An entry without an end that was written this recently may still be in progress.
const IN_PROGRESS_SILENCE_MAX: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
#[command(after_help = "\
Experiments and searches are deleted as a whole, with their runs. Tagged runs, and entries in progress, are not deleted. If several of --keep, --older-than \
and --keep-size are set, each of them must allow the deletion.

Examples:
  loadstone runs prune --keep 50 --dry-run
  loadstone runs prune --keep 20 --older-than 30d
  loadstone runs prune --keep-size 2GB")]
pub(crate) struct PruneArgs {
    /// Keep the newest N runs of each test, and the newest N experiments and searches.
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Delete only entries that ended longer ago than this: 30d, 12h.
    #[arg(long, value_name = "DURATION")]
    older_than: Option<String>,
    /// Keep the newest entries that fit into this size: 2GB, 500MB.
    #[arg(long, value_name = "SIZE")]
    keep_size: Option<String>,
    /// Also delete runs with a tag.
    #[arg(long)]
    tagged: bool,
    /// Only list what would be deleted.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    folder: RunsFolderArgs,
}

/// An entry that may be deleted.
struct Retention {
    keep: usize,
    older_than: Duration,
    /// Bytes.
    keep_size: u64,
    tagged: bool,
    now: SystemTime,
}

/// A run, an experiment or a search.
#[derive(Debug)]
struct Prunable {
    id: String,
    directory: PathBuf,
    /// Entries of one family are counted together.
    family: String,
    has_tag: bool,
    has_ended: bool,
    written: Option<SystemTime>,
    bytes: u64,
}

impl PruneArgs {
    pub(crate) fn perform(&self) -> anyhow::Result<Exit> {
        if self.keep.is_none() && self.older_than.is_none() && self.keep_size.is_none() {
            return Err(
                UsageError("nothing selected: give --keep 50, --older-than 30d or --keep-size 2GB, or several of them".to_owned()).into()
            );
        }
        let older_than = match &self.older_than {
            Some(text) => age(text).map_err(|problem| UsageError(format!("--older-than: {problem}")))?,
            None => Duration::ZERO,
        };
        let keep_size = match &self.keep_size {
            Some(text) => loadstone_units::size::parse(text).map_err(|problem| UsageError(format!("--keep-size: {problem}")))?,
            None => 0,
        };
        let now = UNIX_EPOCH + Duration::from_nanos(wall_ns());
        let retention = Retention { keep: self.keep.unwrap_or(0), older_than, keep_size, tagged: self.tagged, now };
        let all = found(&self.folder.runs)?;
        let chosen = retention.chosen(&all);
        let mut out = std::io::stdout();
        for kept in &chosen {
            if !self.dry_run {
                std::fs::remove_dir_all(&kept.directory).with_context(|| format!("cannot delete {}", kept.directory.display()))?;
            }
            writeln!(out, "{}", kept.id)?;
        }
        let gone: u64 = chosen.iter().map(|kept| kept.bytes).sum();
        let left = all.iter().map(|kept| kept.bytes).sum::<u64>() - gone;
        let verb = if self.dry_run { "would be deleted" } else { "deleted" };
        let (gone, left) = (loadstone_units::bytes(gone), loadstone_units::bytes(left));
        let (count, rest) = (chosen.len(), all.len() - chosen.len());
        writeln!(std::io::stderr(), "{count} {verb} ({gone}), {rest} kept ({left})")?;
        Ok(Exit::Passed)
    }
}

/// Days are common here, but durations in tests have no unit for them.
fn age(text: &str) -> Result<Duration, String> {
    let days = text.trim().strip_suffix('d').and_then(|days| days.trim().parse::<f64>().ok());
    match days {
        Some(days) if (0.0..1e6).contains(&days) => Ok(Duration::from_secs_f64(days * 86_400.0)),
        _ => loadstone_units::duration::parse(text).map(Duration::from_nanos).map_err(|problem| problem.to_string()),
    }
}

/// All entries of the folder, newest first.
fn found(runs: &Path) -> anyhow::Result<Vec<Prunable>> {
    let history = History::of(runs).map_err(|error| UsageError(error.to_string()))?;
    let mut all: Vec<Prunable> = history.entries().filter_map(Result::ok).map(of_run).collect();
    all.extend(AnswerFolder::all(runs).into_iter().map(of_answer));
    // Runs arrive newest first. They keep this order where timestamps are too coarse.
    all.sort_by_key(|prunable| std::cmp::Reverse(prunable.written));
    Ok(all)
}

fn of_run(entry: HistoryEntry) -> Prunable {
    Prunable {
        id: entry.info.id,
        family: format!("run {}", entry.test),
        has_tag: !entry.info.tags.is_empty(),
        has_ended: entry.end.is_some(),
        written: entry.written,
        bytes: size(&entry.directory),
        directory: entry.directory,
    }
}

/// The directory does not record whether an experiment or search has ended. One that was written recently may still be in progress.
fn of_answer(folder: AnswerFolder) -> Prunable {
    let family = match folder.read() {
        Ok(Some(answer @ FoundAnswer::Experiment(_))) => format!("experiment {}", answer.test()),
        Ok(Some(answer @ FoundAnswer::Capacity(_))) => format!("capacity {}", answer.test()),
        // An unreadable entry does not count as the newest.
        Ok(None) | Err(_) => String::new(),
    };
    let written = std::fs::metadata(&folder.directory).and_then(|facts| facts.modified()).ok();
    let bytes = size(&folder.directory);
    Prunable { id: folder.id, family, has_tag: false, has_ended: false, written, bytes, directory: folder.directory }
}

/// Total size of all files below. Files that disappear meanwhile count as 0.
fn size(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let of = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(facts) if facts.is_dir() => size(&entry.path()),
        Ok(facts) => facts.len(),
        Err(_) => 0,
    };
    entries.map(of).sum()
}

impl Retention {
    /// `all`: newest first.
    fn chosen<'a>(&self, all: &'a [Prunable]) -> Vec<&'a Prunable> {
        let mut newer_of: HashMap<&str, usize> = HashMap::new();
        let mut bytes = 0;
        let mut chosen = Vec::new();
        for kept in all {
            let newer = newer_of.entry(&kept.family).or_default();
            let is_beyond = *newer >= self.keep;
            *newer += 1;
            bytes += kept.bytes;
            if is_beyond && bytes > self.keep_size && self.may_go(kept) {
                chosen.push(kept);
            }
        }
        chosen
    }

    fn may_go(&self, kept: &Prunable) -> bool {
        // A file with a future or unreadable timestamp is not known to be old.
        let age = kept.written.and_then(|written| self.now.duration_since(written).ok()).unwrap_or_default();
        let goes_on = !kept.has_ended && age < IN_PROGRESS_SILENCE_MAX;
        !goes_on && age >= self.older_than && (self.tagged || !kept.has_tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prunable(family: &str, hours_ago: u64, has_tag: bool, has_ended: bool) -> Prunable {
        Prunable {
            id: format!("{family}-{hours_ago}"),
            directory: family.into(),
            family: family.to_owned(),
            has_tag,
            has_ended,
            written: Some(UNIX_EPOCH + Duration::from_secs(1_000_000 - 3600 * hours_ago)),
            bytes: 100,
        }
    }

    fn all() -> [Prunable; 7] {
        [
            prunable("shop", 0, false, false),
            prunable("shop", 1, false, true),
            prunable("pay", 2, false, true),
            prunable("shop", 30, true, true),
            prunable("shop", 40, false, true),
            prunable("pay", 50, false, true),
            prunable("shop", 60, false, true),
        ]
    }

    fn chosen(keep: usize, hours: u64, keep_size: u64, tagged: bool) -> Vec<String> {
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let retention = Retention { keep, older_than: Duration::from_secs(3600 * hours), keep_size, tagged, now };
        retention.chosen(&all()).iter().map(|kept| kept.id.clone()).collect()
    }

    #[test]
    fn only_entries_that_every_rule_allows_are_deleted() {
        assert_eq!(chosen(2, 0, 0, false), ["shop-40", "shop-60"], "of each test, and none with a tag");
        assert_eq!(chosen(1, 45, 0, false), ["pay-50", "shop-60"]);
        assert_eq!(chosen(0, 0, 0, true), ["shop-1", "pay-2", "shop-30", "shop-40", "pay-50", "shop-60"], "not the one in progress");
    }

    #[test]
    fn the_newest_entries_that_fit_remain_for_any_test() {
        assert_eq!(chosen(0, 0, 500, false), ["pay-50", "shop-60"], "what stays for its tag takes room, too");
        assert_eq!(chosen(0, 0, 499, false), ["shop-40", "pay-50", "shop-60"]);
        assert_eq!(chosen(0, 55, 500, false), ["shop-60"]);
        assert!(chosen(0, 0, 700, true).is_empty());
    }

    #[test]
    fn ages_may_be_in_days() {
        assert_eq!(age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(age("12h"), Ok(Duration::from_secs(12 * 3600)));
        assert!(age("long").is_err() && age("-1d").is_err());
    }
}
