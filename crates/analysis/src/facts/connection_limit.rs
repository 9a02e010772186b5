//! A database that refuses connections while requests fail: it, a role or one of its databases has reached a limit.
//!
//! Some databases count what they refuse, others only show the connections that they have. A limit of n then shows as a number that rises to n when the
//! failures begin, and never above it.

use loadstone_metrics::{Outcome, Role};

use super::failures::Failing;
use super::readings::{SignalReadings, most_frequent};
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;

/// Share of failed requests.
const FAILED_SHARE_MIN: f64 = 0.05;
/// Refused connections in the stretch of the failures, for each failed request, and in all.
const REFUSED_PER_FAILURE_MIN: f64 = 0.2;
const REFUSED_MIN: f64 = 3.0;
/// Their rate as a multiple of the rate before the failures.
const REFUSED_FACTOR_MIN: f64 = 3.0;
/// Readings in the stretch of the failures.
const READINGS_MIN: usize = 5;
/// Share of these readings with the most connections of the run, where refused connections or a limit were read.
const AT_LIMIT_SHARE_MIN: f64 = 0.3;
/// And where this number is the only evidence.
const CONSTANT_SHARE_MIN: f64 = 0.8;
/// Readings under load with fewer connections before that.
const FEWER_READINGS_MIN: usize = 2;
/// Seconds around the first failures within which the number must be reached for the first time, if it is the only evidence.
const REACHED_WITHIN_S: f64 = 5.0;

/// A database that refuses connections.
pub(crate) struct ConnectionLimit<'a> {
    pub(crate) database: &'a str,
    /// The request that fails, as an index into the failing ones.
    pub(crate) failing: usize,
    /// The most connections that the system had, if many readings have that number.
    pub(crate) number: Option<f64>,
    pub(crate) shown_by: LimitEvidence<'a>,
    /// The signals of refused or limited connections, and of open ones.
    pub(crate) series: Vec<String>,
    /// The stretch of the failures. Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// What shows the limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LimitEvidence<'a> {
    /// The database's limit for this role or database, all of which was in use.
    Stated { of: &'a str, limit: f64 },
    /// Refused connections, by second, before the failures and meanwhile.
    Refused { before: f64, during: f64 },
    /// The same of attempts to connect that failed, for whatever reason.
    Failed { before: f64, during: f64 },
    /// The number alone, reached when the failures began.
    Number,
}

/// For the request with the most failures. The strongest evidence first.
pub(super) fn find<'a>(signals: &ObservedSignals<'a>, strain: &Strain, failing: &[Failing<'_>]) -> Option<ConnectionLimit<'a>> {
    let (begin, end) = strain.loaded()?;
    let (index, failing) = failing.iter().enumerate().find(|(_, failing)| may_be_refused(failing))?;
    let (from, to) = failing.when.span(end);
    let rate = failing.while_failing.0 as f64 / (to - from).max(1.0);
    let search = LimitSearch {
        signals,
        begin,
        span: (from, to),
        rate,
        has_onset: failing.when.onset().is_some(),
        have_waited: failing.times.is_some_and(|times| times.have_waited()),
    };
    let limits = |find: &dyn Fn(ObservedPart<'a>) -> Option<ReachedLimit<'a>>| {
        signals.parts_with(Role::ConnectionsOpen).find_map(|part| Some((part, find(part)?)))
    };
    let found = limits(&|part| search.stated(part))
        .or_else(|| limits(&|part| search.counted(part, Role::ConnectionsRefused)))
        .or_else(|| limits(&|part| search.counted(part, Role::ConnectionsFailed)))
        .or_else(|| limits(&|part| search.constant(part)));
    let (part, (number, shown_by, series)) = found?;
    Some(ConnectionLimit { database: part.observer, failing: index, number, shown_by, series, from, to })
}

/// Whether the target answered or closed the connection. It did not time out, and it was there.
fn may_be_refused(failing: &Failing<'_>) -> bool {
    let is_answer = |outcome| matches!(outcome, Outcome::Status | Outcome::Expect | Outcome::Reset | Outcome::Closed);
    failing.share() >= FAILED_SHARE_MIN && !failing.is_rate_limited() && failing.kinds.first().is_some_and(|kind| is_answer(kind.outcome))
}

type ReachedLimit<'a> = (Option<f64>, LimitEvidence<'a>, Vec<String>);

struct LimitSearch<'f, 'a> {
    signals: &'f ObservedSignals<'a>,
    begin: f64,
    span: (f64, f64),
    /// Failed requests per second.
    rate: f64,
    has_onset: bool,
    have_waited: bool,
}

impl<'a> LimitSearch<'_, 'a> {
    fn stated(&self, database: ObservedPart<'a>) -> Option<ReachedLimit<'a>> {
        let (from, to) = self.span;
        let limited = self.signals.parts_with(Role::LimitedConnections).filter(|part| part.observer == database.observer);
        limited.into_iter().find_map(|part| {
            let used = self.signals.read(part, Role::LimitedConnections)?;
            let limit = self.signals.mean(part, Role::LimitedConnectionsMax, from, to)?;
            let is_full = used.count(from, to) >= READINGS_MIN && used.share(from, to, |count| count >= limit)? >= AT_LIMIT_SHARE_MIN;
            is_full.then(|| (Some(limit), LimitEvidence::Stated { of: part.part, limit }, vec![used.name()]))
        })
    }

    fn counted(&self, part: ObservedPart<'a>, role: Role) -> Option<ReachedLimit<'a>> {
        let (from, to) = self.span;
        let refused = self.signals.read(ObservedPart { part: "", ..part }, role)?;
        let (during, before) = (refused.mean(from, to)?, refused.mean(self.begin, from).unwrap_or(0.0));
        let is_many = during * (to - from) >= REFUSED_MIN && during >= REFUSED_PER_FAILURE_MIN * self.rate;
        if !is_many || (self.has_onset && during < REFUSED_FACTOR_MIN * before) {
            return None;
        }
        let open = self.signals.read(part, Role::ConnectionsOpen)?;
        let shown_by = match role {
            Role::ConnectionsRefused => LimitEvidence::Refused { before, during },
            _ => LimitEvidence::Failed { before, during },
        };
        Some((self.most(&open, AT_LIMIT_SHARE_MIN), shown_by, vec![refused.name(), open.name()]))
    }

    /// A number of connections that is reached when the failures begin, and then constant. Requests that wait for something else, such as a lock, need more
    /// connections, too, up to the size of a pool: they fail late.
    fn constant(&self, part: ObservedPart<'a>) -> Option<ReachedLimit<'a>> {
        let open = self.signals.read(part, Role::ConnectionsOpen)?;
        let number = self.most(&open, CONSTANT_SHARE_MIN)?;
        let (at, _) = *open.points().iter().find(|(at, count)| *at >= self.begin && *count >= number)?;
        let had_fewer = open.between(self.begin, at).filter(|(_, count)| *count < number).count() >= FEWER_READINGS_MIN;
        let is_reached_then = self.has_onset && !self.have_waited && had_fewer && (at - self.span.0).abs() <= REACHED_WITHIN_S;
        is_reached_then.then(|| (Some(number), LimitEvidence::Number, vec![open.name()]))
    }

    /// The most frequent number of connections during the failures, if this share of the readings has it and none of the run has more.
    fn most(&self, open: &SignalReadings<'_>, share_min: f64) -> Option<f64> {
        let (from, to) = self.span;
        let counts: Vec<f64> = open.between(from, to).map(|(_, count)| count.round()).collect();
        let number = most_frequent(&counts);
        let is_often = open.share(from, to, |count| (count - number).abs() < 0.5)? >= share_min;
        let is_most = open.share(self.begin, to, |count| count < number + 0.5)? == 1.0;
        (counts.len() >= READINGS_MIN && number >= 1.0 && is_often && is_most).then_some(number)
    }
}
