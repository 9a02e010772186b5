//! The book compared with a model that keeps every event and counts by definition.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use std::sync::Arc;

use super::*;
use crate::clock::Nanos;
use crate::histogram::Histogram;

const SECOND: Nanos = 1_000_000_000;

fn flow(timeout_ns: Option<u64>, stages: &[&str]) -> FlowDefinition {
    FlowDefinition { name: "f".into(), timeout_ns, stages: stages.iter().map(|name| Arc::from(*name)).collect() }
}

fn key(number: u64) -> FlowKey {
    FlowKey::of(&number.to_string())
}

fn event(number: u64, step: FlowStep, at: Nanos) -> FlowEvent {
    FlowEvent { flow: 0, key: key(number), step, at }
}

/// Feeds events, drains at each second, and folds the slices into one.
fn folded(definition: FlowDefinition, events: &[FlowEvent], end: Nanos) -> FlowSlice {
    let mut book = FlowBook::new([definition]);
    book.take(events.iter().copied());
    let mut whole = FlowSlice { name: "f".into(), ..FlowSlice::default() };
    for second in 1..end.div_ceil(SECOND) {
        whole.merge(&book.drain(second * SECOND)[0]);
    }
    whole.merge(&book.close(end)[0]);
    whole
}

fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    values.into_iter().for_each(|value| histogram.record(value));
    histogram
}

#[test]
fn a_finish_may_come_before_its_start() {
    let mut book = FlowBook::new([flow(None, &["sent"])]);
    book.take([event(1, FlowStep::Stage(0), 900), event(1, FlowStep::Finish, 1_500)]);
    let slice = &book.drain(SECOND)[0];
    assert_eq!((slice.started, slice.finished, slice.early, slice.unmatched), (0, 0, 1, 0));
    // The start is reported a second later, with an earlier instant.
    book.take([event(1, FlowStep::Start, 500)]);
    let slice = &book.drain(2 * SECOND)[0];
    assert_eq!((slice.started, slice.finished, slice.backlog, slice.early), (1, 1, 0, 0));
    assert_eq!((slice.time.max(), slice.stages[0].time.max(), slice.last_finish), (1_000, 400, 1_500));
}

#[test]
fn an_open_journey_at_the_end_is_a_lower_bound_and_no_time() {
    let events = [event(1, FlowStep::Start, 0), event(2, FlowStep::Start, 100), event(1, FlowStep::Finish, 300)];
    let whole = folded(flow(None, &[]), &events, 1_000);
    assert_eq!((whole.started, whole.finished, whole.backlog, whole.left_open), (2, 1, 1, 1));
    assert_eq!((whole.time, whole.censored, whole.oldest_ns), (histogram([300]), histogram([900]), 900));
}

#[test]
fn a_journey_past_its_timeout_is_lost_even_if_it_finishes_later() {
    let events = [event(1, FlowStep::Start, 0), event(2, FlowStep::Start, 0), event(2, FlowStep::Finish, 5 * SECOND)];
    let again = event(2, FlowStep::Finish, 6 * SECOND);
    let whole = folded(flow(Some(2 * SECOND), &[]), &[&events[..], &[again]].concat(), 8 * SECOND);
    assert_eq!((whole.started, whole.finished, whole.timed_out, whole.late, whole.duplicates), (2, 0, 2, 1, 1));
    assert_eq!((whole.backlog, whole.censored), (0, histogram([2 * SECOND; 2])));
}

#[test]
fn repeated_events_and_unknown_keys_are_counted() {
    use FlowStep::{Finish, Stage, Start};
    let events = [(1, Start), (1, Start), (1, Stage(0)), (1, Stage(0)), (1, Finish), (1, Finish), (1, Stage(1)), (2, Finish), (2, Finish)];
    let events: Vec<FlowEvent> = events.iter().enumerate().map(|(at, (number, step))| event(*number, *step, at as u64)).collect();
    let whole = folded(flow(None, &["a", "b"]), &events, 100);
    assert_eq!((whole.started, whole.finished, whole.duplicates, whole.unmatched), (1, 1, 5, 1));
    // After its end, a key may begin a new journey.
    let anew = folded(flow(None, &[]), &[&events[..1], &events[4..5], &[event(1, Start, 50), event(1, Finish, 60)]].concat(), 100);
    assert_eq!((anew.started, anew.finished, anew.duplicates), (2, 2, 0));
}

#[test]
fn a_stage_reported_after_the_finish_counts_if_it_happened_before() {
    use FlowStep::{Finish, Stage, Start};
    let limits = FlowLimits { late_ns: 10 * SECOND, late_max: 3, ..FlowLimits::default() };
    let mut book = FlowBook::with_limits([flow(None, &["a", "b"])], limits);
    book.take([event(1, Start, 0), event(1, Finish, 100), event(2, Start, 0), event(2, Stage(0), 10), event(2, Finish, 200)]);
    book.drain(SECOND);
    // A reading a second later reports two stages, one of them again, and one after the end.
    book.take([event(1, Stage(0), 40), event(1, Stage(1), 60), event(2, Stage(0), 10), event(2, Stage(1), 201)]);
    let slice = &book.drain(2 * SECOND)[0];
    assert_eq!((&slice.stages[0].time, &slice.stages[1].time, slice.duplicates), (&histogram([40]), &histogram([60]), 2));
    assert_eq!(slice.stages.iter().map(|stage| stage.backlog).sum::<u64>(), 0);
    // The first journey is completely known. Reports of the second are accepted for ten seconds.
    book.take([event(1, Stage(0), 40), event(2, Stage(1), 150)]);
    let slice = &book.drain(3 * SECOND)[0];
    assert_eq!((slice.stages[1].time.count(), slice.duplicates), (1, 1));
    book.take([event(3, Start, 3 * SECOND), event(3, Finish, 3 * SECOND + 100)]);
    book.drain(14 * SECOND);
    book.take([event(3, Stage(0), 3 * SECOND + 10)]);
    assert_eq!((book.drain(15 * SECOND)[0].duplicates, book.lingering()), (1, 0));
    // Of more than three, the oldest are dropped. A new start of the same key is another journey.
    book.take((10..15).flat_map(|number| [event(number, Start, 15 * SECOND), event(number, Finish, 15 * SECOND + number)]));
    book.take([event(14, Start, 15 * SECOND + 50)]);
    book.drain(16 * SECOND);
    assert_eq!(book.lingering(), 3);
    book.take((10..14).map(|number| event(number, Stage(0), 15 * SECOND + 1)));
    book.take([event(14, Stage(0), 15 * SECOND + 60)]);
    let slice = &book.drain(17 * SECOND)[0];
    assert_eq!((&slice.stages[0].time, slice.duplicates, slice.backlog), (&histogram([1, 1, 10]), 2, 1));
}

#[test]
fn overtaking_is_computed_from_the_starts_of_earlier_finishes() {
    use FlowStep::{Finish, Start};
    // 1 starts first and finishes last. 3 is overtaken by no other.
    let starts = [(1, 0), (2, 10), (3, 20)].map(|(number, at)| event(number, Start, at));
    let finishes = [(3, 30), (2, 40), (1, 50)].map(|(number, at)| event(number, Finish, at));
    let whole = folded(flow(None, &[]), &[starts, finishes].concat(), 100);
    assert_eq!(whole.overtaken, histogram([10, 20]));
}

#[test]
fn a_journey_counts_at_its_furthest_stage() {
    use FlowStep::{Stage, Start};
    let mut book = FlowBook::new([flow(None, &["a", "b", "c"])]);
    book.take([1, 2, 3].map(|number| event(number, Start, 0)));
    book.take([event(1, Stage(0), 1), event(2, Stage(1), 2), event(2, Stage(0), 3)]);
    let slice = &book.drain(10)[0];
    assert_eq!(slice.stages.iter().map(|stage| stage.backlog).collect::<Vec<_>>(), [1, 1, 0]);
    assert_eq!((slice.backlog, slice.stages[0].time.count(), slice.stages[1].time.count()), (3, 2, 1));
    // At the end, a journey that has not reached a stage is a lower bound of the time to it.
    let last = &book.close(50)[0];
    assert_eq!(last.stages.iter().map(|stage| stage.censored.count()).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn memory_is_bounded_and_losses_are_counted() {
    use FlowStep::{Finish, Start};
    let limits = FlowLimits { open_max: 3, over_max: 2, early_max: 2, ..FlowLimits::default() };
    let mut book = FlowBook::with_limits([flow(None, &[])], limits);
    book.take((0..5).map(|number| event(number, Start, number)));
    book.take((0..3).map(|number| event(number, Finish, 10 + number)));
    let slice = &book.drain(100)[0];
    assert_eq!((slice.started, slice.unfollowed, slice.finished, slice.forgotten), (3, 2, 3, 1));
    // The first is forgotten, so its second finish looks like one without a start. The third is remembered.
    book.take([event(0, Finish, 110), event(2, Finish, 111)]);
    let slice = &book.drain(200)[0];
    assert_eq!((slice.duplicates, slice.early), (1, 1));
    book.take((20..25).map(|number| event(number, Finish, 300 + number)));
    let slice = &book.drain(400)[0];
    // None of these can be distinguished from a repeat.
    assert_eq!((slice.early, slice.unmatched, slice.unclear), (2, 4, 4));
    let last = &book.close(500)[0];
    assert_eq!((last.unmatched, last.unclear), (2, 2));
}

#[test]
fn only_journeys_that_ended_long_ago_are_forgotten() {
    use FlowStep::{Finish, Start};
    let limits = FlowLimits { over_ns: 100 * SECOND, early_ns: 10 * SECOND, ..FlowLimits::default() };
    let mut book = FlowBook::with_limits([flow(None, &[])], limits);
    let mut whole = FlowSlice { name: "f".into(), ..FlowSlice::default() };
    for second in 1..=400 {
        let at = second * SECOND;
        // One journey per second. Its finish is reported again after 90 seconds, and after 250.
        book.take([event(second, Start, at), event(second, Finish, at)]);
        book.take([90, 250].into_iter().filter(|later| second > *later).map(|later| event(second - later, Finish, at)));
        // An unknown key, before anything was forgotten.
        book.take((second == 50).then(|| event(u64::MAX, Finish, at)));
        whole.merge(&book.drain(at)[0]);
    }
    whole.merge(&book.close(401 * SECOND)[0]);
    assert_eq!((whole.started, whole.finished, whole.duplicates), (400, 400, 400 - 90));
    assert_eq!((whole.unmatched, whole.unclear), (400 - 250 + 1, 400 - 250));
    // The last hundred and the hundred before them are remembered.
    assert!((200..=300).contains(&whole.forgotten), "{}", whole.forgotten);
}

#[test]
fn slots_do_not_grow_over_time() {
    use FlowStep::{Finish, Start};
    let mut book = FlowBook::new([flow(None, &[])]);
    book.take((0..5_000).map(|number| event(number, Start, number)));
    book.drain(SECOND);
    let slots = book.slots();
    for second in 1..400 {
        let (at, first) = (second * 60 * SECOND, second * 500);
        // As many end as start, and half of those that end are not the oldest.
        let ended = (first..first + 500).map(|number| if number % 2 == 0 { number } else { number + 3_000 });
        book.take((first + 5_000..first + 5_500).map(|number| event(number, Start, at)));
        book.take(ended.map(|number| event(number, Finish, at + 1)));
        book.drain(at + SECOND);
    }
    assert_eq!(book.slots(), slots);
}

#[test]
fn long_queues_of_ended_journeys_are_compacted() {
    let mut book = FlowBook::new([flow(None, &[])]);
    book.take([event(u64::MAX, FlowStep::Start, 0)]);
    for second in 0..20u64 {
        let at = second * SECOND + 1;
        let journeys = (0..1_000).map(|n| second * 1_000 + n);
        book.take(journeys.flat_map(|n| [event(n, FlowStep::Start, at), event(n, FlowStep::Finish, at)]));
        assert_eq!(book.drain((second + 1) * SECOND)[0].oldest_ns, (second + 1) * SECOND);
        assert!(book.queued() <= 2 + 1024, "{}", book.queued());
    }
}

/// The definitions of docs/metrics.md, applied to all events in the order of their instants.
#[derive(Debug, Default, PartialEq)]
struct Truth {
    started: u64,
    finished: u64,
    timed_out: u64,
    late: u64,
    duplicates: u64,
    unmatched: u64,
    open: u64,
    time: BTreeMap<u64, u64>,
    overtaken: BTreeMap<u64, u64>,
    censored: BTreeMap<u64, u64>,
}

/// At most one start per key, so that the truth does not depend on the order in which events of one instant are reported.
fn truth(events: &[FlowEvent], timeout: u64, end: Nanos) -> Truth {
    let mut truth = Truth::default();
    let of = |number: FlowKey, step: FlowStep| {
        let mut at: Vec<Nanos> = events.iter().filter(|event| event.key == number && event.step == step).map(|event| event.at).collect();
        at.sort_unstable();
        at
    };
    let mut done: Vec<(Nanos, Nanos)> = Vec::new();
    for number in events.iter().map(|event| event.key).collect::<BTreeSet<_>>() {
        let (starts, finishes) = (of(number, FlowStep::Start), of(number, FlowStep::Finish));
        match (starts.first(), finishes.first()) {
            (None, _) => {
                truth.unmatched += 1;
                truth.duplicates += finishes.len() as u64 - 1;
            }
            (Some(start), Some(finish)) => {
                truth.started += 1;
                truth.duplicates += finishes.len() as u64 - 1;
                if finish.saturating_sub(*start) > timeout {
                    truth.timed_out += 1;
                    truth.late += 1;
                    *truth.censored.entry(timeout).or_default() += 1;
                } else {
                    truth.finished += 1;
                    *truth.time.entry(finish.saturating_sub(*start)).or_default() += 1;
                    done.push((*finish, *start));
                }
            }
            (Some(start), None) if end.saturating_sub(*start) > timeout => {
                truth.started += 1;
                truth.timed_out += 1;
                *truth.censored.entry(timeout).or_default() += 1;
            }
            (Some(start), None) => {
                truth.started += 1;
                truth.open += 1;
                *truth.censored.entry(end - start).or_default() += 1;
            }
        }
    }
    for (finish, start) in &done {
        let later = done.iter().filter(|(f, s)| f < finish && s > start).map(|(_, s)| s - start).max();
        if let Some(span) = later {
            *truth.overtaken.entry(span).or_default() += 1;
        }
    }
    truth
}

fn exact(histogram: &Histogram) -> BTreeMap<u64, u64> {
    histogram
        .bars()
        .map(|(low, high, count)| {
            assert_eq!(low, high);
            (low, count)
        })
        .collect()
}

fn summed(slice: &FlowSlice) -> Truth {
    Truth {
        started: slice.started,
        finished: slice.finished,
        timed_out: slice.timed_out,
        late: slice.late,
        duplicates: slice.duplicates,
        unmatched: slice.unmatched,
        open: slice.left_open,
        time: exact(&slice.time),
        overtaken: exact(&slice.overtaken),
        censored: exact(&slice.censored),
    }
}

/// Journeys with distinct instants: zero or one start, and zero to three finishes. Times stay below 512 ns, where buckets are exact.
fn journeys() -> impl Strategy<Value = Vec<FlowEvent>> {
    let journey = (any::<bool>(), 0usize..3);
    proptest::collection::vec(journey, 1..60)
        .prop_flat_map(|journeys| {
            let mut steps: Vec<(u64, FlowStep)> = Vec::new();
            for (number, (starts, finishes)) in journeys.into_iter().enumerate() {
                steps.extend(starts.then_some((number as u64, FlowStep::Start)));
                steps.extend(std::iter::repeat_n((number as u64, FlowStep::Finish), finishes));
            }
            Just(steps).prop_shuffle().prop_map(|steps| {
                steps.into_iter().enumerate().map(|(at, (number, step))| event(number, step, 2 * at as u64)).collect::<Vec<_>>()
            })
        })
        .prop_filter("something happens", |events| !events.is_empty())
}

proptest! {
    /// For any division of the events into slices, the sums equal those of the model, also with a timeout.
    #[test]
    fn counts_match_the_model(events in journeys(), cuts in proptest::collection::vec(0u64..500, 0..6), timeout in 20u64..600) {
        // A start after its finish can only be a late report. The next test covers that.
        let events: Vec<FlowEvent> = events.iter().filter(|event| {
            event.step == FlowStep::Finish || !events.iter().any(|other| other.key == event.key && other.at < event.at)
        }).copied().collect();
        let end = 500;
        // A finish without a start is dropped when the timeout has passed. In this test it must not occur twice.
        let events: Vec<FlowEvent> = events.iter().filter(|event| {
            events.iter().any(|other| other.key == event.key && other.step == FlowStep::Start)
                || !events.iter().any(|other| other.key == event.key && other.at < event.at)
        }).copied().collect();
        prop_assume!(!events.is_empty());
        let mut book = FlowBook::new([flow(Some(timeout), &[])]);
        book.take(events.iter().copied());
        let mut whole = FlowSlice { name: "f".into(), ..FlowSlice::default() };
        let mut cuts = cuts;
        cuts.sort_unstable();
        for cut in cuts {
            whole.merge(&book.drain(cut)[0]);
            prop_assert_eq!(whole.started, whole.finished + whole.timed_out + whole.backlog);
        }
        whole.merge(&book.close(end)[0]);
        prop_assert_eq!(summed(&whole), truth(&events, timeout, end));
    }

    /// Reports may come in any order and any number of slices late. Counts and times stay the same; only overtaking may be known in part.
    #[test]
    fn late_reports_change_no_count(events in journeys(), order in any::<prop::sample::Index>(), batch in 1usize..10) {
        let mut shuffled = events.clone();
        let turn = order.index(shuffled.len());
        shuffled.rotate_left(turn);
        let mut book = FlowBook::new([flow(None, &[])]);
        let mut whole = FlowSlice { name: "f".into(), ..FlowSlice::default() };
        for news in shuffled.chunks(batch) {
            book.take(news.iter().copied());
            whole.merge(&book.drain(500)[0]);
        }
        whole.merge(&book.close(500)[0]);
        let (counted, truth) = (summed(&whole), truth(&events, u64::MAX, 500));
        prop_assert_eq!((counted.started, counted.finished, counted.open), (truth.started, truth.finished, truth.open));
        prop_assert_eq!((counted.duplicates, counted.unmatched), (truth.duplicates, truth.unmatched));
    }

    #[test]
    fn slices_round_trip_through_text(events in journeys()) {
        let mut book = FlowBook::new([flow(Some(50), &["a"])]);
        book.take(events);
        let slices = book.close(500);
        let text = serde_json::to_string(&slices).unwrap();
        prop_assert_eq!(serde_json::from_str::<Vec<FlowSlice>>(&text).unwrap(), slices);
    }
}
