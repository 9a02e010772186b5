//! Invariants of runs in which the other agents take over a lost agent's load. No arrival starts twice. Only arrivals that were due before the loss
//! was known are missing.

use std::collections::{BTreeMap, BTreeSet};

use loadstone_engine::{ArrivalShare, Arrivals, LoadEnding};
use loadstone_metrics::Nanos;
use loadstone_plan::LoadProfile;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::sim_bus::{MS, Weather};
use crate::sim_run::{Fault, Outcome, Simulated, plan, simulate};
use crate::simulation::{check, counted, fair, planned, seeds};

const S: Nanos = 1_000 * MS;
/// Time between the message to the remaining agents and the instant from which they take over.
const LEAD: Nanos = S / 2;
/// The number of arrivals of the long plan.
const ROWS: u64 = 1_658;

fn replacing(agents: &[u32], faults: Vec<Fault>) -> Simulated {
    Simulated { faults, replaces: true, ..fair(agents) }
}

/// When each arrival of a run was due, on the run's clock.
fn due(outcome: &Outcome) -> BTreeMap<(u32, u64), Nanos> {
    let mut all = BTreeMap::new();
    for (leaf, begin) in &outcome.ledger.begun {
        let plan = plan(true);
        let leaves = plan.leaves();
        let LoadProfile::Open { stages } = &leaves[*leaf as usize].profile else { panic!("open load only") };
        let arrivals = Arrivals::new(stages, 11, ArrivalShare::WHOLE);
        all.extend(arrivals.map(|due| ((*leaf, due.sequence), begin + due.offset_ns)));
    }
    all
}

/// When the arrivals that nobody started were due.
fn missing(outcome: &Outcome) -> Vec<(u64, Nanos)> {
    let started: BTreeSet<(u32, u64)> = outcome.ledger.started.iter().map(|started| (started.leaf, started.number)).collect();
    due(outcome).into_iter().filter(|(arrival, _)| !started.contains(arrival)).map(|((_, number), at)| (number, at)).collect()
}

/// The checks for this case, in addition to those for any fleet.
fn check_replacement(simulated: &Simulated, outcome: &Outcome) -> Result<(), String> {
    let ensure = |holds: bool, what: String| if holds { Ok(()) } else { Err(what) };
    let due = due(outcome);
    for (lost, from) in &outcome.ledger.handovers {
        let late = outcome.ledger.started.iter().find(|started| started.agent == *lost && started.at >= *from);
        ensure(late.is_none(), format!("agent {lost} started load after others had taken it over from {from} ns on: {late:?}"))?;
    }
    if !matches!(outcome.ending, Some(LoadEnding::Completed)) {
        return Ok(());
    }
    let missing = missing(outcome);
    ensure(
        missing.is_empty() || !outcome.ledger.handovers.is_empty(),
        format!("{} arrivals are missing, although no agent was lost", missing.len()),
    )?;
    let at = |fault: &Fault| match *fault {
        Fault::Crash { at, .. } | Fault::Freeze { at, .. } | Fault::Partition { at, .. } | Fault::AskedToEnd { at, .. } => at,
        Fault::BusDown { at, .. } | Fault::ControllerKilled { at } => at,
    };
    // Relative to the simulation, which begins at 1 s of its clock.
    let first_fault = S + simulated.faults.iter().map(at).min().unwrap_or(0);
    // A remaining agent learns of the loss before it would be lost itself.
    let last_heard = outcome.ledger.handovers.iter().map(|(_, from)| from + loadstone_fleet::SILENCE_MAX_NS + S).max().unwrap_or(0);
    // An agent's clock is known to half of a round trip, and time advances in steps.
    let first_fault = first_fault.saturating_sub(outcome.ledger.zero + simulated.weather.delay_max + 20 * MS);
    let stray = missing.iter().find(|(_, at)| *at < first_fault || *at > last_heard);
    ensure(stray.is_none(), format!("an arrival is missing outside of {first_fault} to {last_heard} ns: {stray:?} of {}", due.len()))
}

/// Faults drawn from a seed, mostly faults that lose agents.
fn drawn(seed: u64) -> Simulated {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut below = |end: u64| random.next_u64() % end;
    let agents: Vec<u32> = (0..2 + below(4)).map(|_| 1 + below(3) as u32).collect();
    let weather = Weather { lost: below(300), doubled: below(300), delay_max: below(200) * MS };
    let faults = (0..1 + below(3))
        .map(|_| {
            let (agent, at, lasts) = (below(agents.len() as u64) as usize, S + below(24_000) * MS, 4 * S + below(16_000) * MS);
            match below(7) {
                0 | 1 => Fault::Crash { agent, at },
                2 | 3 => Fault::Freeze { agent, at, lasts },
                4 => Fault::Partition { agent, at, lasts },
                5 => Fault::BusDown { at, lasts: lasts / 3 },
                _ => Fault::AskedToEnd { agent, at },
            }
        })
        .collect();
    Simulated { seed, agents, weather, faults, shares: Vec::new(), rows: ROWS, replaces: true }
}

#[test]
fn a_takeover_loses_and_duplicates_no_arrival() {
    let planned = planned(true);
    assert_eq!(planned.len() as u64, ROWS);
    let (mut failed, mut replaced, mut twice) = (Vec::new(), 0, 0);
    for seed in seeds() {
        let simulated = drawn(seed);
        let outcome = simulate(&simulated);
        let is_whole = matches!(outcome.ending, Some(LoadEnding::Completed));
        let lost: BTreeSet<u32> = outcome.ledger.handovers.iter().map(|(lost, _)| *lost).collect();
        replaced += usize::from(is_whole && !lost.is_empty());
        twice += usize::from(is_whole && lost.len() > 1);
        if let Err(what) = check(&simulated, &outcome, &planned).and_then(|()| check_replacement(&simulated, &outcome)) {
            failed.push(format!("LOADSTONE_SEEDS={seed}..{}: {what}: {simulated:?}", seed + 1));
        }
    }
    assert!(failed.is_empty(), "{} seeds failed:\n{}", failed.len(), failed.join("\n"));
    // The seeds are only useful if agents are lost, and sometimes more than one.
    assert!(seeds().end - seeds().start < 200 || replaced > 50 && twice > 10, "{replaced} with a loss, {twice} with several");
}

#[test]
fn a_takeover_covers_all_arrivals_due_after_it() {
    let (crash, workers) = (4 * S, [2, 1, 3]);
    let outcome = simulate(&replacing(&workers, vec![Fault::Crash { agent: 2, at: crash }]));
    assert!(matches!(outcome.ending, Some(LoadEnding::Completed)), "{:?}", outcome.ending);
    let [(lost, from), (_, again)] = outcome.ledger.handovers[..] else {
        panic!("two agents take over from one: {:?}", outcome.ledger.handovers)
    };
    assert_eq!(from, again);
    let (gone, until) = (S + crash - outcome.ledger.zero, from);
    assert!(
        (gone + loadstone_fleet::SILENCE_MAX_NS..=gone + loadstone_fleet::SILENCE_MAX_NS + 2 * LEAD).contains(&until),
        "{gone} to {until} ns"
    );
    // The agents joined in order, so its workers are the last three of six.
    assert_eq!(lost, 2);
    let of_lost = due(&outcome).into_iter().filter(|((_, number), at)| number % 6 >= 3 && (gone..until).contains(at));
    let of_lost: Vec<(u64, Nanos)> = of_lost.map(|((_, number), at)| (number, at)).collect();
    // A step of the simulation may have been the agent's last one.
    let edge = |(_, at): &(u64, Nanos)| at.abs_diff(gone) > 20 * MS;
    let missing: Vec<_> = missing(&outcome).into_iter().filter(edge).collect();
    assert_eq!(missing, of_lost.into_iter().filter(edge).collect::<Vec<_>>());
    assert!(missing.len() > 250, "half of 10.5 seconds: {}", missing.len());
    // Its load is divided among the remaining workers: three, of which the first agent has two.
    let started = |agent: u32| outcome.ledger.started.iter().filter(|started| started.agent == agent && started.at >= until).count() as f64;
    assert!((1.9..2.1).contains(&(started(0) / started(1))), "{} and {}", started(0), started(1));
    let marks: Vec<&str> = outcome.seconds.iter().flat_map(|second| &second.marks).map(|mark| &*mark.text).collect();
    let loss = marks.iter().find(|text| text.contains("was lost")).expect("the loss is reported");
    assert!(loss.contains("agent a0002 (region=eu) was lost: it sent nothing for 10 s"), "{loss}");
    assert!(loss.contains("; the other agents take over its load from 1"), "{loss}");
}

#[test]
fn an_agent_that_wakes_after_the_takeover_starts_nothing() {
    for lasts in [9 * S, 11 * S, 14 * S] {
        let freeze = Fault::Freeze { agent: 0, at: 4 * S, lasts };
        let simulated = replacing(&[1, 2], vec![freeze]);
        let outcome = simulate(&simulated);
        check(&simulated, &outcome, &planned(true)).and_then(|()| check_replacement(&simulated, &outcome)).unwrap();
        let wakes = S + 4 * S + lasts - outcome.ledger.zero;
        let after = outcome.ledger.started.iter().filter(|started| started.agent == 0 && started.at >= wakes).count();
        let is_lost = lasts > loadstone_fleet::SILENCE_MAX_NS;
        assert_eq!((after == 0, outcome.ledger.handovers.len()), (is_lost, usize::from(is_lost)), "after {lasts} ns: {after}");
        let missing = missing(&outcome).len();
        assert_eq!(missing > 150, is_lost, "{missing} are missing; an agent that was not lost catches up completely");
    }
}

#[test]
fn a_regular_departure_leaves_only_a_short_gap() {
    let outcome = simulate(&replacing(&[1, 1, 1], vec![Fault::AskedToEnd { agent: 1, at: 6 * S }]));
    assert!(matches!(outcome.ending, Some(LoadEnding::Completed)), "{:?}", outcome.ending);
    let missing = missing(&outcome);
    assert!(!missing.is_empty() && missing.len() <= 20, "a third of the arrivals of less than a second: {missing:?}");
    let handed: u64 = outcome.ledger.handed_over.values().sum();
    assert_eq!(counted(&outcome.seconds), handed);
}

#[test]
fn an_agent_that_is_lost_before_the_load_begins_leaves_no_gap() {
    for at in [1_300 * MS, 1_500 * MS, 1_700 * MS] {
        let outcome = simulate(&replacing(&[1, 1, 1], vec![Fault::Crash { agent: 1, at }]));
        if outcome.ledger.handovers.iter().any(|(_, from)| *from == 0) {
            assert_eq!(missing(&outcome), [], "crashed at {at} ns");
        }
    }
}
