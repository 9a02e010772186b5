//! The call in which a runtime's working threads wait, and what they wait for.
//!
//! The rule reads the stack samples of [runtimes](../observers.md#runtimes). It reports threads that wait in one place: for a lock, a pool, or something else
//! of the process. By Little's law, the mean number of threads in a place is its throughput times the time that it takes.
//!
//! | condition | limit |
//! |---|---|
//! | readings while work was held up | {search::READINGS_MIN} or more |
//! | waiting threads | {thread_wait::WAITING_THREADS_MIN} or more, and {thread_wait::PEAK_PART_MIN:%} of their maximum |
//! | the same, as a part of the threads at work | {thread_wait::WAITING_SHARE_MIN:%} or more |
//! | the same, for each request in the system | {search::SYSTEM_PART_MIN} to {thread_wait::THREADS_PER_REQUEST_MAX}; more belong to other work |
//! | waiting threads under low load | {thread_wait::LOW_LOAD_PART_MAX:%} of them at most |
//! | if the load hardly varied: a lock or pool, for {thread_wait::ALWAYS_PART_MIN:%} of it | {thread_wait::ALWAYS_SHARE_MIN:%} of threads and requests |
//! | high confidence | a lock or pool with {thread_wait::CERTAIN_SHARE_MIN:%} of the threads at work |
//!
//! The finding names the call, the service's function below which most threads wait, and what {OTHER_THREADS_MIN:%} or more of the other threads do
//! meanwhile. Database sessions that hold up the work rank first.

use loadstone_metrics::Role;

use crate::Confidence;
use crate::facts::Facts;
use crate::facts::readings::SignalReadings;
use crate::facts::thread_wait::ThreadWait;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};

/// Maximum number of other places in the evidence.
const OTHERS_MAX: usize = 2;
/// Minimum number of threads in another place.
const OTHER_THREADS_MIN: f64 = 0.3;

pub(super) const RULE: Rule = Rule {
    ids: &["thread-waits"],
    page: "thread-waits",
    title: "Threads wait in one place",
    says: "in which call the working threads wait, and for what",
    example: Example {
        run: "examples/thread-waits",
        claim: "Of 18.5 working threads `exec` in \"jvm:80\", 14.5 wait for a free pool member in `HikariPool.getConnection` below \
                `PaymentDao.insert`",
    },
    needs: &["jvm"],
    settings: &["lock", "pool", "thread", "connection"],
    precedence: 110,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let wait = facts.thread_wait.as_ref()?;
    // Threads that want the interpreter's lock are seen to wait wherever they compute.
    let wants_interpreter = wait.place().role == Role::ThreadsWaitingForOther
        && facts.full_interpreter.as_ref().is_some_and(|full| full.part.observer == wait.observer);
    (!wants_interpreter).then(|| finding(facts, wait))
}

fn finding(facts: &Facts<'_>, wait: &ThreadWait<'_>) -> RankedFinding {
    let (place, stretch) = (wait.place(), (wait.from, wait.to));
    let (waiting, total) = (wait.waiting, wait.total);
    let most = most(&place.each, stretch);
    let word = most.map_or("threads", |readings| readings.signal.unit.as_str());
    let whose = most.and_then(|readings| readings.label("threads")).map_or(String::new(), |name| format!(" `{name}`"));
    let below = most.and_then(|readings| readings.label("under")).map_or(String::new(), |under| format!(" below `{under}`"));
    let what = match place.role {
        Role::ThreadsWaitingForLock => "wait for a lock in",
        Role::ThreadsWaitingForMember => "wait for a free pool member in",
        _ => "wait in",
    };
    let held = held(wait);
    let claim = format!(
        "Of {} working {word}{whose} in \"{}\", {} {what} `{}`{below}{}",
        loadstone_units::number(total),
        wait.observer,
        loadstone_units::number(waiting),
        place.at,
        held.as_deref().unwrap_or_default()
    );
    let behind = behind(facts, place.role);
    let (standing, confidence) = match (&behind, wait.is_sure()) {
        (Some(_), _) => (Standing::Consequence, Confidence::Low),
        (None, true) => (Standing::Cause, Confidence::High),
        (None, false) => (Standing::Cause, Confidence::Medium),
    };
    let in_system = facts.strain.in_system(stretch.0, stretch.1).unwrap_or(0.0);
    let text = format!(
        "{} of {} {word} waited in this call, while {} requests were in the system",
        loadstone_units::number(waiting),
        loadstone_units::number(total),
        loadstone_units::number(in_system)
    );
    let series: Vec<String> = place.each.iter().map(SignalReadings::name).take(4).collect();
    let mut found = RankedFinding::new(standing, "thread-waits", Subject::part(wait.observer, place.at), confidence, claim)
        .with(Quantity::count("threads_waiting", waiting))
        .with(Quantity::count("threads", total))
        .rests_on(text, series.clone(), stretch);
    // The threads of several stacks are drawn apart, and the number is their sum.
    if let [one] = &series[..] {
        found = found.at_level(one, "on average", waiting);
    }
    for (other, count) in others(wait) {
        let at = other.label("at").unwrap_or_default();
        let below = other.label("under").map_or(String::new(), |under| format!(" below `{under}`"));
        let text = format!("in the same time {} {} in `{at}`{below}", loadstone_units::number(count), does(other));
        found = found.rests_on(text, vec![other.name()], stretch).at_level(&other.name(), "on average", count);
    }
    let found = match behind {
        Some(why) => found.weigh(Alternative::not_ruled_out("The database behind the pool", why)),
        None => found,
    };
    found.beyond_the_generator(facts, stretch).try_next(if held.is_some() { advice_if_held(place.role) } else { advice(place.role) })
}

/// What the threads do that have the lock or a pool member, if they wait in the same call.
fn held(wait: &ThreadWait<'_>) -> Option<String> {
    let holders = loadstone_units::number(wait.holders_in_io()?);
    let io = "the network, a disk or another process";
    Some(match wait.place().role {
        Role::ThreadsWaitingForLock => format!("; the thread that has it waits there for {io}"),
        _ => format!("; the {holders} that have one wait there for {io}"),
    })
}

/// A database wait that keeps pool members in use.
fn behind(facts: &Facts<'_>, role: Role) -> Option<String> {
    if role == Role::ThreadsWaitingForLock {
        return None;
    }
    let database = facts.session_wait.as_ref().filter(|wait| wait.holds_up());
    database.map(|wait| format!("{} sessions of the database were in {}", loadstone_units::number(wait.sessions), wait.event))
}

fn most<'s, 'a>(each: &'s [SignalReadings<'a>], (from, to): (f64, f64)) -> Option<&'s SignalReadings<'a>> {
    let mean = |readings: &SignalReadings<'_>| readings.mean(from, to).unwrap_or(0.0);
    each.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)))
}

/// What the other threads do; the most frequent first.
fn others<'w, 'a>(wait: &'w ThreadWait<'a>) -> Vec<(&'w SignalReadings<'a>, f64)> {
    let rest = wait.others().flat_map(|place| &place.each);
    let counted = rest.filter_map(|readings| Some((readings, readings.mean(wait.from, wait.to)?)));
    let mut counted: Vec<_> = counted.filter(|(_, count)| *count >= OTHER_THREADS_MIN).collect();
    counted.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.signal.name.cmp(&b.0.signal.name)));
    counted.truncate(OTHERS_MAX);
    counted
}

fn does(readings: &SignalReadings<'_>) -> &'static str {
    match readings.signal.role {
        Some(Role::ThreadsOnCpu) => "computed",
        Some(Role::ThreadsWaitingForLock) => "waited for a lock",
        Some(Role::ThreadsWaitingForMember) => "waited for a free pool member",
        Some(Role::ThreadsWaitingForIo) => "waited for the network, a disk or another process",
        Some(Role::ThreadsWaitingForTimer) => "slept",
        _ => "waited",
    }
}

/// The wait behind the wait.
fn advice_if_held(role: Role) -> &'static str {
    match role {
        Role::ThreadsWaitingForLock => {
            "Find out why this input or output is slow: a full pipe, a slow disk, a service that answers late. Do it outside of the lock, or in another thread."
        }
        _ => {
            "Find out why what this call waits for answers late: measure the called service and the path to it. A larger pool only moves the wait there, and a \
             shorter time limit ends it."
        }
    }
}

fn advice(role: Role) -> &'static str {
    match role {
        Role::ThreadsWaitingForLock => {
            "Do less while the thread holds the lock: no calls, no sleep, no input or output. Or split it into several locks."
        }
        Role::ThreadsWaitingForMember => {
            "Check what threads do while they hold a pool member. Shorten that, or do it before. A larger pool helps only if the dependency behind it can \
             take more."
        }
        _ => "Find the thread that ends this wait (sends to the channel, completes the future, signals the condition), and what delays it.",
    }
}
