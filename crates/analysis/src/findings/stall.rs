//! Requests stall repeatedly, at even or uneven intervals: a job, a flush or a garbage collection that recurs.
//!
//! A second counts as a pause if its slowest request took at least {stalls::SLOW_FACTOR_MIN} times the usual time, and at least {stalls::SLOWER_BY_MIN_S:ms}
//! more. The rule needs {stalls::PAUSES_MIN} pauses.
//!
//! - **Even intervals** (within {stalls::PERIOD_ERROR_S} s or {stalls::PERIOD_ERROR_PART:%}) are a `periodic-stall`. The confidence is high if random pauses
//!   would be as even in less than {P_HIGH_CONFIDENCE_MAX:%} of runs, medium below {P_MEDIUM_CONFIDENCE_MAX:%}, and low below {stalls::PERIOD_P_VALUE_MAX:%}.
//!   Pauses may take up to {stalls::EVEN_SHARE_MAX:%} of the seconds.
//! - **Other pauses** are a `stall` with low confidence. They take {stalls::UNEVEN_PAUSE_SECONDS_MAX} s and {stalls::UNEVEN_SHARE_MAX:%} of the seconds at
//!   most. Chance must explain their number with a probability of {stalls::TOGETHER_P_VALUE_MAX} at most.
//!
//! If all requests together show no pauses, the rule examines each request separately, with the second probability divided by the number of requests.
//!
//! The evidence lists the signals that differ while the slow requests were in progress: a request of two seconds was held up before the second in which it
//! ended. Sessions that wait for a lock rank first, and the finding names their wait. Threads that wait for a core rank last.
//!
//! If {recurring_lock::IN_PAUSES_PART_MIN:%} of the sessions that wait for a lock are seen in the pauses, and in half of the pauses one is, the lock is the
//! cause.
//! The finding then names the statement that waits and the holder of the lock, and has at least medium confidence. No other finding reports that lock.
//!
//! Sessions often wait in both directions: a job waits for the requests' open transactions until it gets its lock, and then the requests wait for the job. Only
//! waits while slow requests are in progress count, and those of requests' statements before those of statements that lock or change a table.
//!
//! The rule weighs four alternatives: chance, bursts of load, other programs on the machine, and the load generator. A pause that the generator shared is not
//! reported. Pauses without a period while other programs use all cores are not reported.
//!
//! Without a signal that changes at the same time, the rule cannot name the cause.

use loadstone_metrics::Role;

use crate::Evidence;
use crate::evidence::examined;
use crate::facts::Facts;
use crate::facts::recurring_lock::RecurringLock;
use crate::facts::stalls::{CorrelatedSignal, Stalls};
use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::{clock, named};
use crate::{Confidence, Grade};

/// Maximum p-value of evenly spaced pauses for high confidence, and for medium confidence.
const P_HIGH_CONFIDENCE_MAX: f64 = 1e-3;
const P_MEDIUM_CONFIDENCE_MAX: f64 = 1e-2;
/// Maximum number of signals and of instants that are listed.
const NAMED_MAX: usize = 3;

pub(super) const RULE: Rule = Rule {
    ids: &["periodic-stall", "stall"],
    page: "periodic-stall",
    title: "Requests stall repeatedly",
    says: "requests stall repeatedly, at even or uneven intervals",
    example: Example {
        run: "corpus/redis.cache-stampede.gross.constant.nothing.1",
        claim: "Every 7.00 s \"List\" takes up to 1.54 s: something that only these requests need stalls for about that long",
    },
    needs: &[],
    settings: &[],
    precedence: 210,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let stalls = facts.stalls.as_ref()?;
    let is_crowded = examined::others_fill_the_machine(facts, &stalls.at).filter(|_| facts.recurring_lock.is_none());
    // Other programs explain pauses without a period while they use the cores; the remark mentions them.
    if stalls.period.is_none() && is_crowded == Some(true) {
        return None;
    }
    let lock = facts.recurring_lock.as_ref();
    let (held_up, spared) = (names(&stalls.held_up), names(&stalls.unaffected));
    let claim = claim(stalls, lock);
    let confidence = match stalls.period {
        Some(period) if period.p_value <= P_HIGH_CONFIDENCE_MAX => Confidence::High,
        Some(period) if period.p_value <= P_MEDIUM_CONFIDENCE_MAX => Confidence::Medium,
        // Chance does not let sessions wait for a lock in the pauses only.
        _ if lock.is_some() => Confidence::Medium,
        _ => Confidence::Low,
    };
    let standing = if lock.is_some() { Standing::Cause } else { Standing::Fault };
    let rule = if stalls.period.is_some() { "periodic-stall" } else { "stall" };
    let (from, to) = (stalls.at.first().copied()?, stalls.at.last().copied()? + 1.0);
    let subject = Subject::requests(if spared.is_empty() { Vec::new() } else { held_up.clone() });
    let found = RankedFinding::new(standing, rule, subject, confidence, claim)
        .with(Quantity::seconds("longest", stalls.longest_s))
        .with(Quantity::count("pauses", stalls.at.len() as f64));
    let interval = stalls.period.map(|period| period.seconds).or(stalls.apart_s);
    let found = interval.into_iter().fold(found, |found, seconds| found.with(Quantity::seconds("interval", seconds)));
    let found = found.rests_on_drawn(pauses(facts, stalls, (from, to)));
    let found = lock.into_iter().fold(found, |found, lock| with_failures(facts, held_by(found, lock), (from, to)));
    let found = stalls.correlated.iter().take(NAMED_MAX).fold(found, |found, signal| {
        let CorrelatedSignal { name, during, others, .. } = signal;
        let text = format!("{name} changes at the same time: {during} while these requests were in progress, {others} otherwise");
        found.rests_on(text, vec![name.clone()], (from, to))
    });
    let found = if spared.is_empty() || held_up.is_empty() {
        found
    } else {
        found.rests_on(format!("{} did not stall", named(&spared)), Vec::new(), (from, to))
    };
    let found = is_crowded.into_iter().fold(found, |found, is_crowded| found.weigh(by_neighbours(is_crowded)));
    let found = found
        .weigh(by_chance(stalls, lock))
        .weigh(Alternative::ruled_out("The load", "it was not higher in these seconds"))
        .weigh(Alternative::ruled_out("The load generator", "in most of these seconds it stalled for less than half as long"));
    let uncertainty = if facts.generator.grade() == Grade::Invalid { GeneratorUncertainty::None } else { GeneratorUncertainty::Possible };
    Some(RankedFinding { uncertainty, ..found.try_next(next_step(stalls, lock.is_some())) })
}

fn names(requests: &[String]) -> Vec<&str> {
    requests.iter().map(String::as_str).collect()
}

fn claim(stalls: &Stalls, lock: Option<&RecurringLock<'_>>) -> String {
    let (held_up, spared) = (names(&stalls.held_up), names(&stalls.unaffected));
    let who = match held_up[..] {
        [one] if !spared.is_empty() => format!("{} takes", named(&[one])),
        [_, _, ..] if !spared.is_empty() => format!("{} take", named(&held_up)),
        _ => "requests take".to_owned(),
    };
    let longest = loadstone_units::seconds(stalls.longest_s);
    let when = match (stalls.period, stalls.apart_s) {
        (Some(period), _) => format!("Every {}", loadstone_units::seconds(period.seconds)),
        (None, Some(apart)) => format!("{} times, about {} apart,", stalls.at.len(), loadstone_units::seconds(apart)),
        (None, None) => format!("{} times, unevenly spaced,", stalls.at.len()),
    };
    let what = if spared.is_empty() || held_up.is_empty() { "the target" } else { "something that only these requests need" };
    let wait_of = |role: Role| stalls.correlated.iter().find(|signal| signal.role == Some(role)).and_then(|signal| signal.wait.as_deref());
    let wait = lock.map(|lock| lock.wait).or_else(|| wait_of(Role::SessionsWaitingForLock));
    let why =
        match (wait, lock.and_then(|lock| lock.blocked.as_ref()), wait_of(Role::ThreadsWaitingForLock).filter(|at| !at.starts_with('('))) {
            (Some(wait), Some(blocked), _) => {
                format!("sessions of its database then wait for a lock ({wait}), most in {}", blocked.phrase())
            }
            (Some(wait), None, _) => format!("sessions of its database then wait for a lock ({wait})"),
            (None, _, Some(place)) => format!("threads of its runtime then wait for a lock in {place}"),
            (None, _, None) => format!("{what} stalls for about that long"),
        };
    format!("{when} {who} up to {longest}: {why}")
}

/// The lock behind the pauses, and its holder.
fn held_by(found: RankedFinding, lock: &RecurringLock<'_>) -> RankedFinding {
    let (span, (seen, all)) = ((lock.from, lock.to), lock.pauses);
    let text = format!(
        "{} sessions of \"{}\" waited for {} while these requests were in progress, in {seen} of {all} pauses; {} of all such waits were seen then",
        loadstone_units::number(lock.sessions),
        lock.database,
        lock.wait,
        loadstone_units::share(lock.in_pauses)
    );
    let found = found.rests_on(text, vec![lock.readings.name()], span);
    match &lock.blocked {
        Some(blocked) => found.rests_on(format!("most wait in {}", blocked.phrase()), vec![blocked.readings.name()], span),
        None => found,
    }
}

/// With the requests that fail in the pauses because of the lock.
fn with_failures(facts: &Facts<'_>, found: RankedFinding, span: (f64, f64)) -> RankedFinding {
    facts.failed_in_pauses.iter().fold(found, |found, of| {
        let Some(failing) = facts.failing.get(of.failing) else { return found };
        let (inside, outside) = (loadstone_units::share(of.shares.0), loadstone_units::share(of.shares.1));
        let text = format!("{inside} of \"{}\" failed in the pauses, and {outside} in other seconds", failing.key.name);
        found.rests_on(text, vec!["failures/share".to_owned()], span)
    })
}

/// How many pauses there were, and how long requests took in them.
fn pauses(facts: &Facts<'_>, stalls: &Stalls, stretch: (f64, f64)) -> Evidence {
    let at: Vec<String> = stalls.at.iter().take(NAMED_MAX).map(|at| clock(*at)).collect();
    let (longest, usual) = (loadstone_units::seconds(stalls.longest_s), loadstone_units::seconds(stalls.usual_longest_s));
    let text = format!(
        "{} pauses, at {}{}: the slowest request took {longest} in these seconds and {usual} in others; {} of the {} requests that \
             ended in these seconds were slower than usual",
        stalls.at.len(),
        at.join(", "),
        if stalls.at.len() > NAMED_MAX { " and so on" } else { "" },
        loadstone_units::count(stalls.slow),
        loadstone_units::count(stalls.requests)
    );
    let evidence = Evidence::new(text, vec!["response/max".to_owned()], stretch);
    let evidence = if stalls.unaffected.is_empty() { evidence } else { evidence.of_requests(stalls.held_up.iter().map(String::as_str)) };
    let end = facts.tally.duration_seconds();
    evidence.level("response/max", "longest", stalls.longest_s, stretch).level(
        "response/max",
        "in other seconds",
        stalls.usual_longest_s,
        (0.0, end),
    )
}

/// What to do: find what happens at these instants.
fn next_step(stalls: &Stalls, is_locked: bool) -> String {
    let often = stalls
        .period
        .map_or_else(|| "at those instants".to_owned(), |period| format!("every {}", loadstone_units::seconds(period.seconds)));
    if is_locked || stalls.correlated.first().is_some_and(|signal| signal.role == Some(Role::SessionsWaitingForLock)) {
        format!(
            "Find what holds the lock {often}: a job, a report, a migration, a transaction that was left open. Shorten the time for which it holds the lock, \
             or limit the wait (`lock_timeout`)."
        )
    } else if stalls.correlated.is_empty() {
        format!(
            "Find what the system does {often}: a job, a flush or checkpoint, a full collection, a cache that expires. Observe its \
             process, its database and its runtime to see which of them changes at the same time. A longer run shows whether the interval is stable."
        )
    } else {
        format!("Find what causes that {often}, and let it do less work at a time, or outside of the request path.")
    }
}

/// Other programs on the machine, as another cause.
fn by_neighbours(is_crowded: bool) -> Alternative {
    const OTHER: &str = "Other programs on the machine";
    if is_crowded {
        Alternative::not_ruled_out(OTHER, "in most of these seconds they left no idle core")
    } else {
        Alternative::ruled_out(OTHER, "in most of these seconds the machine had an idle core, or the observed processes used its cores")
    }
}

/// Chance as another cause: of even intervals, or of slow requests that coincide.
fn by_chance(stalls: &Stalls, lock: Option<&RecurringLock<'_>>) -> Alternative {
    const OTHER: &str = "Chance";
    if let Some(RecurringLock { pauses: (seen, all), .. }) = lock {
        return Alternative::ruled_out(OTHER, format!("in {seen} of the {all} pauses sessions waited for the same lock"));
    }
    match stalls.period {
        Some(period) => {
            let chance = format!("random pauses would be as evenly spaced in {} of runs", loadstone_units::share(period.p_value));
            if period.p_value <= P_MEDIUM_CONFIDENCE_MAX {
                Alternative::ruled_out(OTHER, chance)
            } else {
                Alternative::not_ruled_out(OTHER, chance)
            }
        }
        None => Alternative::ruled_out(
            OTHER,
            format!(
                "independent slow requests would coincide in so few seconds in less than {} of runs",
                loadstone_units::share(stalls.together.max(1e-5))
            ),
        ),
    }
}
