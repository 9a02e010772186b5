//! The database's sessions: who holds a transaction, who waits for a lock, and what the active ones wait for.

use super::draft::{Draft, Standing};
use super::{Scene, downstream};
use crate::Confidence;

/// Mean sessions that must wait for one thing, and their share of the active ones, for it to be what holds work up.
const WAITING_MIN: f64 = 1.0;
const WAITING_SHARE_MIN: f64 = 0.4;
/// Waits that are none of the database's: for the client, for a timer, for work.
const IDLE_WAITS: [&str; 4] = ["Client:", "Timeout:", "Activity:", "Extension:"];
/// Waits for what a commit writes.
const COMMIT_WAITS: [&str; 6] = ["IO:WALSync", "IO:WALWrite", "LWLock:WALWrite", "LWLock:WALInsert", "IPC:SyncRep", "IO:WalSync"];
/// Commits per operation that are worth a word.
const COMMITS_PER_OPERATION: f64 = 3.0;

/// What the sessions of one database did over a stretch of time.
pub(super) struct Workers<'a> {
    pub(super) observer: &'a str,
    /// Transactions open without a statement running, on average.
    pub(super) in_transaction: f64,
    pub(super) transactions_series: String,
    /// Sessions that waited for a lock, on average.
    pub(super) waiting_for_locks: f64,
    /// Share of the readings in which any did.
    pub(super) locked_share: f64,
    pub(super) lock_series: Vec<String>,
}

impl<'a> Workers<'a> {
    /// Of the database with the most open transactions and waiting sessions; `None` where no database was observed.
    pub(super) fn between(scene: &'a Scene<'a>, from: f64, to: f64) -> Option<Self> {
        let of = |observer: &'a str| {
            let open = scene.signals.readings(observer, "connections{state=idle in transaction}")?;
            let locks: Vec<_> = locks(scene, observer).collect();
            let at: Vec<f64> = open.between(from, to).map(|(at, _)| at).collect();
            let waiting =
                |from: f64, to: f64| locks.iter().filter_map(|readings| readings.mean(from, to)).fold(0.0, |sum, mean| sum + mean);
            // A reading stands between its neighbours' halves.
            let locked = at.iter().filter(|at| waiting(*at - 0.5, *at + 0.5) >= 0.5).count();
            Some(Self {
                observer,
                in_transaction: open.mean(from, to)?,
                transactions_series: open.name.clone(),
                waiting_for_locks: waiting(from, to),
                locked_share: locked as f64 / at.len().max(1) as f64,
                lock_series: locks.iter().map(|readings| readings.name.clone()).collect(),
            })
        };
        let size = |workers: &Self| workers.in_transaction + workers.waiting_for_locks;
        scene.signals.observers_with("blocked").filter_map(of).max_by(|a, b| size(a).total_cmp(&size(b)))
    }
}

/// Sessions that wait for a lock, by kind.
fn locks<'a>(scene: &'a Scene<'_>, observer: &str) -> impl Iterator<Item = super::signals::Readings> + use<'a> {
    let waits = scene.signals.labelled(observer, "sessions", "wait");
    waits.into_iter().filter(|(wait, _)| wait.starts_with("Lock:")).map(|(_, readings)| readings)
}

/// The statement that waits most and the one it waits for, as a phrase, and the name of the signal.
pub(super) fn blocked_by(scene: &Scene<'_>, observer: &str, from: f64, to: f64) -> Option<(String, String)> {
    let pairs = scene.signals.labelled(observer, "blocked_by", "statement");
    let means = pairs.into_iter().filter_map(|(pair, readings)| Some((pair, readings.mean(from, to)?, readings.name)));
    let (pair, _, name) = means.filter(|(_, mean, _)| *mean > 0.0).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let phrase = match pair.split_once(",by=") {
        Some((waits, by)) if waits != by => format!("`{waits}` behind `{by}`"),
        Some((waits, _)) => format!("`{waits}` behind another of the same"),
        None => format!("`{pair}`"),
    };
    Some((phrase, name))
}

/// Work waits, and so do the database's sessions, for one thing most of all.
pub(super) fn waits(scene: &Scene<'_>) -> Option<Draft> {
    if downstream::ceiling(scene).is_some_and(|ceiling| ceiling.explains_all()) {
        return None;
    }
    let waiting = scene.waiting.first()?;
    let (from, to) = (waiting.from, waiting.to);
    let of = |observer: &str| {
        let active = scene.signals.readings(observer, "active")?.mean(from, to)?;
        let waits = scene.signals.labelled(observer, "sessions", "wait").into_iter();
        let waits = waits.filter(|(wait, _)| wait != "CPU" && !IDLE_WAITS.iter().any(|idle| wait.starts_with(idle)));
        let means = waits.filter_map(|(wait, readings)| Some((wait, readings.mean(from, to)?, readings.name)));
        let (wait, mean, name) = means.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (mean >= WAITING_MIN && mean >= WAITING_SHARE_MIN * active).then_some((observer.to_owned(), wait, mean, active, name))
    };
    let found = scene.signals.observers_with("blocked").filter_map(of).max_by(|a, b| a.2.total_cmp(&b.2));
    let (observer, wait, mean, active, name) = found?;
    let standing = if waiting.is_unstable() || waiting.flow.is_none() { Standing::Cause } else { Standing::Passing };
    let claim = format!("The database holds the work up: {mean:.1} of {active:.1} active sessions wait for {wait}, on average");
    let mut draft = Draft::new(standing, "database-waits", Confidence::Medium, claim).rests_on(
        format!("{mean:.1} sessions in {wait} while {} waited", waiting.what()),
        vec![name],
        (from, to),
    );
    if wait.starts_with("Lock:")
        && let Some((pair, name)) = blocked_by(scene, &observer, from, to)
    {
        draft = draft.rests_on(format!("most wait in {pair}"), vec![name], (from, to));
    }
    let is_commit = COMMIT_WAITS.contains(&wait.as_str());
    if is_commit && let Some((text, series)) = commits_per_operation(scene, &observer, from, waiting.load_to) {
        draft = draft.rests_on(text, series, (from, to));
    }
    Some(draft.or("The database's processor: set aside, because more sessions wait than compute.").try_next(advice(&wait, is_commit)))
}

fn advice(wait: &str, is_commit: bool) -> &'static str {
    if is_commit {
        "Each commit waits until its log is on disk: do with fewer commits per operation (one transaction around what belongs together), or batch them."
    } else if wait.starts_with("Lock:") {
        "Shorten the transactions that hold the lock, take locks in one order, or skip rows that are locked."
    } else if wait.starts_with("IO:DataFile") || wait.starts_with("IO:Buff") {
        "Rows are read from disk: look at the statements that are active (an index that is missing?), and at the size of the buffer cache."
    } else {
        "Look up the wait event in PostgreSQL's manual (monitoring, wait events), and at the statements that are active meanwhile."
    }
}

/// The observer's own transactions are taken off.
fn commits_per_operation(scene: &Scene<'_>, observer: &str, from: f64, to: f64) -> Option<(String, Vec<String>)> {
    let mean = |metric: &str| scene.signals.readings(observer, metric).and_then(|readings| readings.mean(from, to));
    let commits = (mean("commits")? - mean("observer_commits").unwrap_or(0.0)).max(0.0);
    let inside = |slice: &&metrics::Snapshot| slice.start as f64 / 1e9 >= from && slice.end as f64 / 1e9 <= to;
    let ended: u64 = scene.run.slices.iter().filter(inside).flat_map(|slice| &slice.leaves).map(|leaf| leaf.ended).sum();
    let per_operation = commits / (ended as f64 / (to - from)).max(1e-9);
    (ended > 0 && per_operation >= COMMITS_PER_OPERATION).then(|| {
        let text = format!("{} commits a second, {per_operation:.1} for each iteration of the load", units::number(commits));
        (text, vec![format!("{observer}/commits")])
    })
}
