//! What a runtime's threads wait for while work is held up, and where in the code, by their stacks.
//!
//! Threads are sampled like a database's sessions (active session history; Wood 2001 for Oracle). The mean number of threads in a place over the rate of
//! requests is the time that each request spends there (Little's law). A place where most threads wait, but not under low load, holds up work. A load of one
//! level has no low load. There, only a lock or a pool counts, and only if most of the time in the system is spent waiting for it in all of the run.

use std::collections::{BTreeMap, BTreeSet};

use loadstone_metrics::Role;

use super::readings::SignalReadings;
use super::search::{LENGTH_MIN_S, READINGS_MIN, SYSTEM_PART_MIN, overlap_by_half};
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::Strain;
use crate::statistics::mean;

/// The states of threads at work.
const ALL: [Role; 6] = [
    Role::ThreadsOnCpu,
    Role::ThreadsWaitingForLock,
    Role::ThreadsWaitingForMember,
    Role::ThreadsWaitingForIo,
    Role::ThreadsWaitingForTimer,
    Role::ThreadsWaitingForOther,
];
/// The states in which a thread waits for others of its process. A thread that waits for the network is weaker evidence: the called side has to be examined.
const WAITS: [Role; 3] = [Role::ThreadsWaitingForMember, Role::ThreadsWaitingForLock, Role::ThreadsWaitingForOther];
/// Threads that must wait in one place for it to hold up work.
const WAITING_THREADS_MIN: f64 = 1.5;
/// And their share of the threads at work.
const WAITING_SHARE_MIN: f64 = 0.4;
/// And as a part of the most that ever waited there: on a ramp, some threads wait long before work is held up.
const PEAK_PART_MIN: f64 = 0.2;
/// Share of the threads at work from which the place is certain, if it is a lock or a pool.
const CERTAIN_SHARE_MIN: f64 = 0.6;
/// Part of the most threads that were ever at work, from which all of them are.
const ALL_THREADS_PART_MIN: f64 = 0.9;
/// Waiting threads for each request in the system. More threads than that belong to other work.
const THREADS_PER_REQUEST_MAX: f64 = 1.5;
/// Where the load hardly varied: the waiting threads as a part of those at work, and of the requests in the system.
const ALWAYS_SHARE_MIN: f64 = 0.6;
/// And the part of the load for which they must wait.
const ALWAYS_PART_MIN: f64 = 0.8;
/// Part of the waiting threads that may wait there under low load already.
const LOW_LOAD_PART_MAX: f64 = 0.5;

/// Threads in the same call that have what the others wait for.
const HOLDERS_MIN: f64 = 0.5;

/// Threads in one place of the code.
pub(crate) struct ThreadPlace<'a> {
    pub(crate) role: Role,
    pub(crate) at: &'a str,
    pub(crate) each: Vec<SignalReadings<'a>>,
    sum: SignalReadings<'a>,
}

/// Where most threads of a runtime waited while work was held up.
pub(crate) struct ThreadWait<'a> {
    pub(crate) observer: &'a str,
    /// All places in which threads were sampled.
    places: Vec<ThreadPlace<'a>>,
    /// The index of the one that holds up work.
    place: usize,
    /// Threads that wait there, mean.
    pub(crate) waiting: f64,
    /// Threads at work, mean; for a lock or a pool, without those that wait for others of their process.
    pub(crate) total: f64,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl ThreadPlace<'_> {
    /// Whether what they wait for is shared by the threads: a lock or the members of a pool.
    fn is_shared(&self) -> bool {
        matches!(self.role, Role::ThreadsWaitingForMember | Role::ThreadsWaitingForLock)
    }
}

impl<'a> ThreadWait<'a> {
    pub(crate) fn place(&self) -> &ThreadPlace<'a> {
        &self.places[self.place]
    }

    /// The other places.
    pub(crate) fn others(&self) -> impl Iterator<Item = &ThreadPlace<'a>> {
        self.places.iter().enumerate().filter(|(index, _)| *index != self.place).map(|(_, place)| place)
    }

    /// Whether it is a lock or a pool for which most of the threads at work waited.
    pub(crate) fn is_sure(&self) -> bool {
        self.waiting >= CERTAIN_SHARE_MIN * self.total && self.place().role != Role::ThreadsWaitingForOther
    }

    /// Whether it overlaps another stretch by at least half of either.
    pub(crate) fn is_during(&self, from: f64, to: f64) -> bool {
        overlap_by_half((self.from, self.to), (from, to))
    }

    /// Threads that have the lock or a pool member, and wait in the same call for the network, a disk or another process; mean. `None`: few do.
    pub(crate) fn holders_in_io(&self) -> Option<f64> {
        let of = |role: Role| {
            let same = self.places.iter().filter(move |place| place.role == role && place.at == self.place().at);
            same.filter_map(|place| place.sum.mean(self.from, self.to)).fold(0.0, |sum, count| sum + count)
        };
        let in_io = of(Role::ThreadsWaitingForIo);
        (self.place().is_shared() && in_io >= HOLDERS_MIN && in_io > of(Role::ThreadsOnCpu)).then_some(in_io)
    }

    /// Whether it certainly is a lock, which passes one thread at a time.
    pub(crate) fn is_lock(&self) -> bool {
        self.is_sure() && self.place().role == Role::ThreadsWaitingForLock
    }
}

pub(super) fn find<'a>(signals: &ObservedSignals<'a>, strain: &Strain) -> Option<ThreadWait<'a>> {
    let parts: BTreeSet<ObservedPart<'a>> = ALL.iter().flat_map(|role| signals.parts_with(*role)).collect();
    parts.into_iter().filter_map(|part| held_up(signals, strain, part)).max_by(|a, b| a.waiting.total_cmp(&b.waiting))
}

fn held_up<'a>(signals: &ObservedSignals<'a>, strain: &Strain, part: ObservedPart<'a>) -> Option<ThreadWait<'a>> {
    let places = places(signals, part);
    let sum = |is_counted: &dyn Fn(Role) -> bool| {
        let counted: Vec<SignalReadings<'_>> =
            places.iter().filter(|place| is_counted(place.role)).map(|place| place.sum.clone()).collect();
        SignalReadings::sum(&counted)
    };
    // A request may have several threads, of which one waits for another. That one does not compete for a lock or a pool.
    let (at_work, competing) = (sum(&|_| true)?, sum(&|role| role != Role::ThreadsWaitingForOther));
    let of_place = |place: &ThreadPlace<'_>| competing.as_ref().filter(|_| place.is_shared()).unwrap_or(&at_work);
    let candidates = places.iter().enumerate().filter(|(_, place)| WAITS.contains(&place.role));
    let weighed = candidates.filter_map(|(index, place)| {
        let stretch = stretch(strain, place, of_place(place))?;
        Some((place.sum.mean(stretch.0, stretch.1)?, index, stretch))
    });
    // A thread that waits for another of its request is less telling than one that waits for a lock or a pool.
    let is_shared = |index: usize| places[index].is_shared();
    let (waiting, place, (from, to)) = weighed.max_by(|a, b| is_shared(a.1).cmp(&is_shared(b.1)).then_with(|| a.0.total_cmp(&b.0)))?;
    let total = of_place(&places[place]).mean(from, to)?;
    Some(ThreadWait { observer: part.observer, places, place, waiting, total, from, to })
}

fn places<'a>(signals: &ObservedSignals<'a>, part: ObservedPart<'a>) -> Vec<ThreadPlace<'a>> {
    let mut places = BTreeMap::<(Role, &str), Vec<SignalReadings<'a>>>::new();
    for role in ALL {
        for readings in signals.read_each(part, role) {
            let at = readings.label("at").unwrap_or_default();
            places.entry((role, at)).or_default().push(readings);
        }
    }
    places.into_iter().filter_map(|((role, at), each)| Some(ThreadPlace { role, at, sum: SignalReadings::sum(&each)?, each })).collect()
}

/// The stretch in which most of the threads waited there while work was held up, unless they do so under low load, too.
fn stretch(strain: &Strain, place: &ThreadPlace<'_>, at_work: &SignalReadings<'_>) -> Option<(f64, f64)> {
    let all_at = |at: f64| at_work.mean(at - 0.01, at + 0.01).unwrap_or(0.0);
    let many = PEAK_PART_MIN * place.sum.points().iter().map(|(_, count)| *count).fold(0.0, f64::max);
    let is_most = |at: f64, count: f64| count >= many.max(WAITING_THREADS_MIN) && count >= WAITING_SHARE_MIN * all_at(at);
    let span = place.sum.longest_where(READINGS_MIN, LENGTH_MIN_S - 1.0, is_most)?;
    let (from, to) = strain.held_part_of(&place.sum, span).or_else(|| is_always(strain, place, at_work, span).then_some(span))?;
    let (waiting, in_system) = (place.sum.mean(from, to)?, strain.in_system(from, to)?);
    let (low, _) = strain.low_and_high();
    let before: Vec<f64> = low.iter().filter_map(|(from, to)| place.sum.mean(*from, *to)).collect();
    let usual = mean(&before);
    // Requests beyond the threads of the process wait outside of it. Where all its threads are at work, the place is compared with them.
    let most_at_work = at_work.points().iter().map(|(_, count)| *count).fold(0.0, f64::max);
    let are_all_at_work = at_work.mean(from, to)? >= ALL_THREADS_PART_MIN * most_at_work && most_at_work < in_system;
    let inside = if are_all_at_work { at_work.mean(from, to)? } else { in_system };
    let is_theirs = waiting >= SYSTEM_PART_MIN * inside && waiting <= THREADS_PER_REQUEST_MAX * in_system.max(1.0);
    (is_theirs && usual <= LOW_LOAD_PART_MAX * waiting).then_some((from, to))
}

/// Whether most requests wait for a lock or a pool in nearly all of a load that hardly varied.
fn is_always(strain: &Strain, place: &ThreadPlace<'_>, at_work: &SignalReadings<'_>, (from, to): (f64, f64)) -> bool {
    let is_long = strain.loaded().is_some_and(|(begin, end)| to - from >= ALWAYS_PART_MIN * (end - begin));
    let is_most = |all: Option<f64>| place.sum.mean(from, to).zip(all).is_some_and(|(waiting, all)| waiting >= ALWAYS_SHARE_MIN * all);
    place.is_shared()
        && is_long
        && strain.low_and_high().0.is_empty()
        && is_most(at_work.mean(from, to))
        && is_most(strain.in_system(from, to))
}
