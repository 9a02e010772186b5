//! Active sessions by what they wait for and what they run, averaged over samples; who blocks whom.

use std::collections::{BTreeMap, HashMap, HashSet};

use loadstone_metrics::{Role, unit};

use super::statement::normalise;
use crate::collector::{MetricSpec, SignalCollector, label};

/// Distinct statements in a run; later ones count as `(other)`.
const STATEMENTS_MAX: usize = 100;

/// Distinct pairs of waiting and blocking statement in a run.
const PAIRS_MAX: usize = 200;

/// The wait of sessions that wait for nothing.
pub(crate) const ON_CPU: &str = "CPU";

/// One session that waits for a lock of another.
pub(crate) struct LockWait {
    /// The session's number. A session that waits behind several others still counts once.
    pub(crate) session: i64,
    pub(crate) statement: String,
    /// The last statement of the session that holds the lock; empty if unknown.
    pub(crate) by: String,
    /// That session's application, or its user; empty if unknown.
    pub(crate) holder: String,
    /// How long it has waited.
    pub(crate) seconds: f64,
}

/// Sums over the samples since the last report.
#[derive(Debug, Default)]
pub(crate) struct SessionSamples {
    samples: f64,
    by_wait: BTreeMap<String, f64>,
    by_statement: BTreeMap<String, f64>,
    by_blocker: BTreeMap<BlockingPair, f64>,
    blocked: f64,
    longest_lock_wait_s: f64,
    /// Everything reported once is reported again, as 0, so that its line goes down.
    reported: ReportedBefore,
}

#[derive(Debug, Default)]
struct ReportedBefore {
    waits: HashSet<String>,
    statements: HashSet<String>,
    blockers: HashSet<BlockingPair>,
}

/// A waiting statement, the last one of the session that it waits for, and that session's application or user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct BlockingPair {
    statement: String,
    by: String,
    holder: String,
}

const ACTIVE: MetricSpec<'_> =
    MetricSpec::gauge("active", unit::SESSIONS, "Sessions that run a statement, mean over the samples").role(Role::SessionsActive);
const BY_WAIT: MetricSpec<'_> =
    MetricSpec::gauge("sessions", unit::SESSIONS, "Active sessions by what they wait for, mean over the samples");
const BY_STATEMENT: MetricSpec<'_> =
    MetricSpec::gauge("sessions_by_statement", unit::SESSIONS, "Active sessions by statement, mean over the samples")
        .role(Role::SessionsByStatement);
const BLOCKED: MetricSpec<'_> =
    MetricSpec::gauge("blocked", unit::SESSIONS, "Sessions that wait for a lock another session holds").role(Role::SessionsBlocked);
const LONGEST_LOCK_WAIT: MetricSpec<'_> = MetricSpec::gauge("longest_lock_wait", unit::SECONDS, "Longest of these waits so far");
const BLOCKED_BY: MetricSpec<'_> = MetricSpec::gauge(
    "blocked_by",
    unit::SESSIONS,
    "Sessions that wait for a lock, by their statement, and the last one and the application or user of the session that holds it",
)
.role(Role::SessionsBlockedBy);

impl SessionSamples {
    /// Begins a sample; all later additions belong to it.
    pub(crate) fn begin_sample(&mut self) {
        self.samples += 1.0;
    }

    /// Active sessions that run one statement and wait for one thing.
    pub(crate) fn add(&mut self, wait: String, sql: &str, count: f64) {
        *self.by_wait.entry(wait).or_default() += count;
        let statement = self.known_statement(sql);
        *self.by_statement.entry(statement).or_default() += count;
    }

    /// Who waits for whose lock, looked up once per report.
    pub(crate) fn set_lock_waits(&mut self, waits: &[LockWait]) {
        let mut blockers = HashMap::<i64, f64>::new();
        waits.iter().for_each(|wait| *blockers.entry(wait.session).or_default() += 1.0);
        for wait in waits {
            self.longest_lock_wait_s = self.longest_lock_wait_s.max(wait.seconds);
            let (statement, by) = (self.known_statement(&wait.statement), self.known_statement(&wait.by));
            let pair = BlockingPair { statement, by, holder: label(&wait.holder) };
            if self.reported.blockers.len() >= PAIRS_MAX && !self.reported.blockers.contains(&pair) {
                continue;
            }
            *self.by_blocker.entry(pair).or_default() += 1.0 / blockers[&wait.session];
        }
        self.blocked = blockers.len() as f64;
    }

    fn known_statement(&mut self, sql: &str) -> String {
        let statement = normalise(sql);
        if self.reported.statements.contains(&statement) {
            return statement;
        }
        if self.reported.statements.len() >= STATEMENTS_MAX {
            return "(other)".to_owned();
        }
        self.reported.statements.insert(statement.clone());
        statement
    }

    /// Reports the means and resets. `role_of` maps a wait to its role.
    pub(crate) fn report(&mut self, role_of: fn(&str) -> Role, out: &mut SignalCollector) {
        let samples = self.samples.max(1.0);
        // An idle server reports this one line at 0, which distinguishes "no sessions" from "no readings".
        self.reported.waits.insert(ON_CPU.to_owned());
        self.reported.waits.extend(self.by_wait.keys().cloned());
        self.reported.blockers.extend(self.by_blocker.keys().cloned());
        let total = self.by_wait.values().fold(0.0, |sum, count| sum + count);
        out.put(ACTIVE, total / samples);
        for wait in &self.reported.waits {
            let mean = self.by_wait.get(wait).copied().unwrap_or(0.0) / samples;
            out.put_labelled(BY_WAIT.role(role_of(wait)), &[("wait", wait)], mean);
        }
        for statement in self.reported.statements.iter().chain(self.by_statement.contains_key("(other)").then_some(&"(other)".to_owned())) {
            let mean = self.by_statement.get(statement).copied().unwrap_or(0.0) / samples;
            out.put_labelled(BY_STATEMENT, &[("statement", statement)], mean);
        }
        out.put(BLOCKED, self.blocked);
        out.put(LONGEST_LOCK_WAIT, self.longest_lock_wait_s);
        for pair in &self.reported.blockers {
            let count = self.by_blocker.get(pair).copied().unwrap_or(0.0);
            let labels = [("statement", pair.statement.as_str()), ("by", &pair.by), ("holder", &pair.holder)];
            let known: Vec<(&str, &str)> = labels.into_iter().filter(|(_, value)| !value.is_empty()).collect();
            out.put_labelled(BLOCKED_BY, &known, count);
        }
        *self = Self { reported: std::mem::take(&mut self.reported), ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that waits behind two sessions is one session that waits, not a pair for each.
    #[test]
    fn a_session_counts_once_however_many_it_waits_behind() {
        let wait = |session, by: &str| LockWait {
            session,
            statement: "update a".to_owned(),
            by: by.to_owned(),
            holder: "nightly".to_owned(),
            seconds: 1.0,
        };
        let mut samples = SessionSamples::default();
        samples.begin_sample();
        samples.set_lock_waits(&[wait(1, "select b"), wait(1, "select c"), wait(2, "select b")]);
        let mut out = SignalCollector::new("pg");
        samples.report(|_| Role::SessionsOnCpu, &mut out);
        let readings = out.finish(0);
        let of = |name: &str| readings.iter().filter(|(signal, _)| signal.name == name).map(|(_, point)| point.value).sum::<f64>();
        assert_eq!(of("pg/blocked"), 2.0);
        let by = |by: &str| of(&format!("pg/blocked_by{{statement=update a,by={by},holder=nightly}}"));
        assert_eq!((by("select b"), by("select c")), (1.5, 0.5));
    }
}
