//! Did the observers read during the whole run?

use std::collections::BTreeMap;

use loadstone_metrics::{Nanos, NoticeKind};
use loadstone_plan::Metric;

use super::check::{CheckInfo, CheckInput};
use crate::{Grade, ValidityCheck};

/// Share of the run for which an observer may be silent before its signals are unreliable.
const SILENT_SHARE_MAX: f64 = 0.05;
/// Gaps that the evidence lists one by one.
const LISTED_GAPS_MAX: usize = 3;

const ADVICE: &str = "The observer's values during the gap are unknown. Loadstone leaves the gap empty and does not interpolate. Check the \
 observer's connection and run again.";

const INFO: CheckInfo = CheckInfo {
    id: "observers",
    title: "Observers",
    limits: "suspect when a threshold uses a signal of an observer that was silent for more than 5 % of the run or lost readings; \
     otherwise only a warning, since the numbers of the load do not depend on observers",
};

/// A period in which an observer could not read.
struct Silence<'a> {
    observer: &'a str,
    from: Nanos,
    to: Nanos,
    why: &'a str,
}

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    if input.plan.observers.is_empty() && input.notices.is_empty() {
        return INFO.nothing("the test declares no observers");
    }
    let end = (input.tally.duration_seconds() * 1e9) as Nanos;
    let silences = silences(input, end);
    let lost = input.notices.iter().find(|notice| notice.kind == NoticeKind::Incomplete);
    if silences.is_empty() && lost.is_none() {
        let count = input.plan.observers.len();
        let subject = if count == 1 { "the observer".to_owned() } else { format!("all {count} observers") };
        return INFO.graded(Grade::Valid, format!("{subject} read without a gap"), "");
    }
    let mut gaps: Vec<String> = silences.iter().take(LISTED_GAPS_MAX).map(Silence::describe).collect();
    if silences.len() > LISTED_GAPS_MAX {
        gaps.push(format!("{} more gaps", silences.len() - LISTED_GAPS_MAX));
    }
    gaps.extend(lost.map(|notice| notice.message.clone()));
    let lost = lost.map(|notice| &*notice.observer);
    let unreliable: Vec<&str> = long_silent(&silences, end).into_iter().chain(lost).collect();
    let advice = if unreliable.is_empty() { "" } else { ADVICE };
    let grade = if unreliable.into_iter().any(|observer| is_judged(input, observer)) { Grade::Suspect } else { Grade::Valid };
    INFO.with(Some(grade), gaps.join("; "), advice)
}

/// Whether a threshold uses one of the observer's signals.
fn is_judged(input: &CheckInput<'_>, observer: &str) -> bool {
    let is_its = |name: &str| name.strip_prefix(observer).is_some_and(|signal| signal.starts_with('/'));
    input.plan.thresholds.iter().any(|threshold| matches!(&threshold.metric, Metric::Signal { name } if is_its(name)))
}

impl Silence<'_> {
    fn describe(&self) -> String {
        let at = |ns: Nanos| loadstone_units::seconds((ns / 100_000_000) as f64 / 10.0);
        format!("{} was silent from {} to {} ({})", self.observer, at(self.from), at(self.to), self.why)
    }
}

/// In order of their start. A silence that has not ended reaches to `end`.
fn silences<'a>(input: &CheckInput<'a>, end: Nanos) -> Vec<Silence<'a>> {
    let mut all: Vec<Silence<'a>> = Vec::new();
    for notice in input.notices {
        match notice.kind {
            NoticeKind::Failed | NoticeKind::TimedOut => {
                all.push(Silence { observer: &notice.observer, from: notice.at, to: end.max(notice.at), why: &notice.reason });
            }
            NoticeKind::Recovered { since } => {
                if let Some(silence) = all.iter_mut().rfind(|silence| silence.observer == &*notice.observer && silence.from == since) {
                    silence.to = notice.at;
                }
            }
            NoticeKind::Incomplete | NoticeKind::Remark => {}
        }
    }
    all
}

/// Observers whose total silence was too large a share of the run.
fn long_silent<'a>(silences: &[Silence<'a>], end: Nanos) -> Vec<&'a str> {
    let mut by_observer: BTreeMap<&str, Nanos> = BTreeMap::new();
    for silence in silences {
        *by_observer.entry(silence.observer).or_default() += silence.to - silence.from;
    }
    let is_long = |silent: Nanos| silent as f64 / end.max(1) as f64 > SILENT_SHARE_MAX;
    by_observer.into_iter().filter(|(_, silent)| is_long(*silent)).map(|(observer, _)| observer).collect()
}
