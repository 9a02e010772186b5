//! Measures how often an experiment is right, on simulated systems whose truth is known. Each block runs on a virtual clock, on a machine
//! whose speed varies from block to block and drifts. The table in docs/experiment.md comes from [`the_whole_table`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use loadstone_metrics::{Outcome, SeriesKey, SeriesKind, SeriesSlice, Snapshot};
use loadstone_plan::{LoadProfile, TestPlan};
use loadstone_run_directory::{Run, RunEnd, RunInfo};

use super::{EXPERIMENT_EFFECT, Experiment, ExperimentStop, KnobScale, KnobTrial, NextBlock, TrialSettings, TrialValue};
use crate::statistics::draws::Draws;
use crate::statistics::share_in_words;
use crate::{
    ComparedMetric, ComparisonVerdict, Confidence, Finding, Grade, ProofState, RuleId, Subject, SubjectKind, Validity, ValidityCheck,
};

const BLOCK_SECONDS: usize = 10;
const ROUNDS_MAX: usize = 12;

/// Buyers hold a connection of a pool during the checkout; browsing needs none.
#[derive(Debug, Clone, Copy)]
struct Shop {
    /// Users in a loop, or arrivals per second.
    users: Option<usize>,
    arrivals: f64,
    /// Number of connections with the first and the second value.
    pool: (usize, usize),
    /// Seconds for which a connection is held, with either value.
    hold_seconds: (f64, f64),
    /// Round trips of a checkout to the component that the knob delays, and the delay in seconds with either value.
    trips: f64,
    delay: (f64, f64),
}

const CALM: Shop = Shop { users: None, arrivals: 60.0, pool: (8, 8), hold_seconds: (0.04, 0.04), trips: 0.0, delay: (0.0, 0.0) };

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

impl Shop {
    /// One block: the random numbers of the load come from the round's seed, those of the machine from the block's seed.
    fn block(self, experiment: u64, next: NextBlock, place: usize) -> Run {
        let mut load = Draws::new(experiment * 1_000 + next.round as u64);
        let mut machine = Draws::new(experiment * 1_000 + 500 + place as u64);
        // Blocks vary randomly by 3 %, and each is one percent slower than the previous one: a leak, a full disk, a hot machine.
        let slower = (0.03 * machine.normal()).exp() * (1.0 + 0.01 * place as f64);
        let (pool, hold_seconds, delay) = match next.value {
            0 => (self.pool.0, self.hold_seconds.0, self.delay.0),
            _ => (self.pool.1, self.hold_seconds.1, self.delay.1),
        };
        let key = |name: &str| SeriesKey::new(SeriesKind::Request, "Buy", name);
        let mut out: Vec<SeriesSlice> = (0..BLOCK_SECONDS).map(|_| SeriesSlice::new(key("Check out"))).collect();
        let mut list: Vec<SeriesSlice> = (0..BLOCK_SECONDS).map(|_| SeriesSlice::new(key("List"))).collect();
        let put = |series: &mut Vec<SeriesSlice>, end: f64, time: f64| {
            if let Some(second) = series.get_mut(end as usize) {
                second.count += 1;
                second.response.record(ns(time));
                second.service.record(ns(time));
            }
        };
        let mut free: BinaryHeap<Reverse<u64>> = (0..pool).map(|_| Reverse(0)).collect();
        // Times at which users begin.
        let mut begin: BinaryHeap<Reverse<u64>> = (0..self.users.unwrap_or(1)).map(|user| Reverse(ns(0.001 * user as f64))).collect();
        while let Some(Reverse(at_ns)) = begin.pop() {
            let at = at_ns as f64 / 1e9;
            if at >= BLOCK_SECONDS as f64 {
                continue;
            }
            // Listing takes a few milliseconds, and more in the first second, while caches are cold.
            let cold = if at < 1.0 { 3.0 } else { 1.0 };
            let listing = 0.004 * cold * slower * (0.2 * load.normal()).exp();
            put(&mut list, at + listing, listing);
            let requested = at + listing;
            let Some(Reverse(free_ns)) = free.pop() else { continue };
            let hold = hold_seconds * slower * (0.3 * load.normal()).exp() + self.trips * delay;
            let end = requested.max(free_ns as f64 / 1e9) + hold;
            free.push(Reverse(ns(end)));
            put(&mut out, end, end - requested);
            begin.push(Reverse(match self.users {
                Some(_) => ns(end),
                None => ns(at - load.uniform().ln() / self.arrivals),
            }));
        }
        let slices = out.into_iter().zip(list).zip(0u32..).map(|((out, list), slice)| {
            let passed = |series: SeriesSlice| SeriesSlice { outcomes: vec![(Outcome::Passed, series.count)], ..series };
            let start = u64::from(slice) * 1_000_000_000;
            Snapshot { slice, start, end: start + 1_000_000_000, series: vec![passed(out), passed(list)], ..Snapshot::default() }
        });
        let slices: Vec<Snapshot> = slices.collect();
        let plan = TestPlan::of_scenario("shop", "Buy", LoadProfile::rate(self.arrivals, BLOCK_SECONDS as u64 * 1_000_000_000));
        Run { end: Some(RunEnd::Completed), ..Run::new(RunInfo::default(), plan, slices) }
    }

    fn experiment(self, seed: u64) -> Experiment {
        let value = |label: f64| TrialValue { label: loadstone_units::number(label), scale: KnobScale::Amount(label) };
        let delay = |seconds: f64| TrialValue { label: loadstone_units::seconds(seconds), scale: KnobScale::Delay(seconds) };
        let mut trial = KnobTrial::new(TrialSettings {
            test: "shop".to_owned(),
            knob: "pool".to_owned(),
            values: if self.trips > 0.0 { vec![delay(self.delay.0), delay(self.delay.1)] } else { vec![value(4.0), value(8.0)] },
            block_seconds: BLOCK_SECONDS,
            rounds_max: ROUNDS_MAX,
            effect: EXPERIMENT_EFFECT,
            measure: None,
            finding: Some(Finding::new(
                RuleId::new("connection-pool"),
                Subject::request("Check out"),
                Confidence::High,
                "\"Check out\" waits for a connection of the pool".to_owned(),
            )),
        });
        let mut place = 0;
        while let Some(next) = trial.next() {
            trial.add(self.block(seed, next, place), &graded(Grade::Valid));
            place += 1;
        }
        trial.experiment(None)
    }
}

/// Knobs that are a cause in the system.
const PLANTED: [(&str, Shop); 5] = [
    ("pool 4 → 8, 12 users in a loop", Shop { users: Some(12), pool: (4, 8), ..CALM }),
    ("pool 4 → 5, 12 users in a loop", Shop { users: Some(12), pool: (4, 5), ..CALM }),
    ("pool 4 → 8, Poisson arrivals at 90 % of it", Shop { arrivals: 90.0, pool: (4, 8), ..CALM }),
    ("pool 4 → 8, Poisson arrivals at 120 % of it", Shop { arrivals: 120.0, pool: (4, 8), ..CALM }),
    ("held for 40 → 32 ms, no queue", Shop { hold_seconds: (0.04, 0.032), ..CALM }),
];
const DECOYS: [(&str, Shop); 4] = [
    ("nothing, no queue", CALM),
    ("nothing, 12 users in a loop on a pool of 4", Shop { users: Some(12), pool: (4, 4), ..CALM }),
    ("pool 8 → 16 that was not the limit", Shop { pool: (8, 16), ..CALM }),
    ("held for 40 → 39.5 ms, a negligible change", Shop { hold_seconds: (0.04, 0.0395), ..CALM }),
];

#[derive(Debug, Clone, Copy, Default)]
struct Score {
    proved: u64,
    refuted: u64,
    rounds: usize,
}

fn score(shop: Shop, experiments: u64) -> Score {
    let mut score = Score::default();
    for seed in 1..=experiments {
        let experiment = shop.experiment(seed);
        let state = experiment.proof.as_ref().map(|proof| proof.state);
        score.proved += u64::from(state == Some(ProofState::Proved));
        score.refuted += u64::from(state == Some(ProofState::Refuted));
        score.rounds += experiment.rounds;
    }
    score
}

/// `LOADSTONE_EXPERIMENTS`: experiments per setting. The figures of docs/experiment.md use 400: `LOADSTONE_EXPERIMENTS=400 cargo test -p
/// loadstone-analysis --lib experiment::truth -- --nocapture`.
#[test]
fn the_whole_table() {
    let experiments = std::env::var("LOADSTONE_EXPERIMENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    println!("| what the knob does | proved | refuted | rounds |\n|---|--:|--:|--:|");
    let (mut all, mut right, mut wrong) = ([0; 2], [0; 2], [0; 2]);
    for (is_decoy, settings) in [(false, PLANTED.as_slice()), (true, DECOYS.as_slice())] {
        for (name, shop) in settings {
            let score = score(*shop, experiments);
            let mean = score.rounds as f64 / experiments as f64;
            println!(
                "| {name} | {} | {} | {mean:.1} |",
                share_in_words(score.proved, experiments),
                share_in_words(score.refuted, experiments)
            );
            let (hit, miss) = if is_decoy { (score.refuted, score.proved) } else { (score.proved, score.refuted) };
            let kind = usize::from(is_decoy);
            (all[kind], right[kind], wrong[kind]) = (all[kind] + experiments, right[kind] + hit, wrong[kind] + miss);
        }
    }
    for (kind, name) in [(0, "**planted causes**"), (1, "**decoys**")] {
        println!("| {name}: right | {} | wrong {} | |", share_in_words(right[kind], all[kind]), share_in_words(wrong[kind], all[kind]));
        assert!(right[kind] * 100 >= 95 * all[kind], "{name}: {} of {}", right[kind], all[kind]);
        assert!(wrong[kind] * 100 <= all[kind], "{name}: {} of {}", wrong[kind], all[kind]);
    }
}

#[test]
fn a_limiting_pool_is_proved_and_the_sentence_has_the_size_of_the_change() {
    let shop = Shop { users: Some(12), pool: (4, 8), ..CALM };
    let experiment = shop.experiment(1);
    let contrast = &experiment.contrasts[0];
    assert_eq!((&experiment.stop, contrast.verdict), (&ExperimentStop::Decided, ComparisonVerdict::Better), "{}", contrast.headline);
    assert!(experiment.rounds.is_multiple_of(2) && experiment.rounds >= 4, "{}", experiment.rounds);
    // Twelve users on four connections of 42 ms each: 96 a second, and 190 with eight. The other steps reduce it slightly.
    let of = |kind: SubjectKind, metric: ComparedMetric| {
        let subject =
            contrast.subjects.iter().find(|subject| subject.kind == kind && (kind == SubjectKind::All || subject.name == "Check out"));
        subject.and_then(|subject| subject.rows.iter().find(|row| row.metric == metric)).unwrap().clone()
    };
    let rate = of(SubjectKind::All, ComparedMetric::Rate);
    assert!(rate.low.unwrap() < 2.0 && rate.high.unwrap() > 1.85, "{rate:?}");
    assert!(of(SubjectKind::Request, ComparedMetric::P95).high.unwrap() < 0.8);
    for part in ["p95 of \"Check out\"", "(× 0.", "rate"] {
        assert!(contrast.headline.contains(part), "{}", contrast.headline);
    }
    // Listing takes less than a tenth of every block's time, so it does not delay the decision.
    let list = contrast.subjects.iter().find(|subject| subject.name == "List").unwrap();
    assert!(list.rows.iter().all(|row| !row.decides));
}

/// The order alternates, every round has each value once, and all blocks of a round have the same seed.
#[test]
fn blocks_alternate() {
    let shop = CALM;
    let experiment = shop.experiment(3);
    let order: Vec<&str> = experiment.blocks.iter().map(|block| block.value.as_str()).collect();
    assert_eq!(order[..8], ["4", "8", "8", "4", "4", "8", "8", "4"]);
    assert!(experiment.warm_up_seconds >= 1 && experiment.warm_up_seconds <= 5);
}

fn trial_of_words() -> KnobTrial {
    KnobTrial::new(settings_of_words())
}

fn settings_of_words() -> TrialSettings {
    TrialSettings {
        test: "shop".to_owned(),
        knob: "pool".to_owned(),
        values: ["4", "8"].map(|label| TrialValue { label: label.to_owned(), scale: KnobScale::Words }).to_vec(),
        block_seconds: BLOCK_SECONDS,
        rounds_max: ROUNDS_MAX,
        effect: EXPERIMENT_EFFECT,
        measure: None,
        finding: None,
    }
}

#[test]
fn rounds_with_an_invalid_block_do_not_count() {
    let shop = Shop { users: Some(12), pool: (4, 8), ..CALM };
    let mut trial = trial_of_words();
    let mut place = 0;
    while let Some(next) = trial.next() {
        trial.add(shop.block(1, next, place), &graded(if place == 3 { Grade::Invalid } else { Grade::Suspect }));
        place += 1;
    }
    let experiment = trial.experiment(None);
    assert_eq!((experiment.left_out, experiment.stop), (1, ExperimentStop::Decided));
    let remark = "1 round excluded because of an INVALID measurement: round 2 with 4 (waiting for a core: 23 % of the time)";
    assert!(experiment.remarks.iter().any(|known| known == remark), "{:?}", experiment.remarks);
}

/// The measurements of an invalid first round determine neither the warm-up nor the deciding number.
#[test]
fn an_invalid_first_round_is_replaced_by_the_next() {
    let shop = Shop { users: Some(12), pool: (4, 8), ..CALM };
    let measured = |name: &str, is_valid: fn(usize) -> bool, blocks_max: usize| {
        let measure = Some((ComparedMetric::Mean, Some(name.to_owned())));
        let mut trial = KnobTrial::new(TrialSettings { measure, ..settings_of_words() });
        for place in 0..blocks_max {
            let Some(next) = trial.next() else { break };
            trial.add(shop.block(1, next, place), &graded(if is_valid(place) { Grade::Valid } else { Grade::Invalid }));
        }
        trial
    };
    let experiment = measured("Check out", |place| place != 1, usize::MAX).experiment(None);
    assert_eq!((experiment.left_out, &experiment.stop), (1, &ExperimentStop::Decided), "{:?}", experiment.remarks);
    assert!(experiment.remarks[0].contains("round 1 with 8"), "{:?}", experiment.remarks);
    let rows = || experiment.contrasts[0].subjects.iter().flat_map(|subject| &subject.rows);
    assert_eq!(rows().filter(|row| row.decides).map(|row| row.metric).collect::<Vec<_>>(), [ComparedMetric::Mean]);
    assert_eq!(experiment.blocks[3].value, "4", "the order alternates");
    assert_eq!(experiment.blocks.iter().map(|block| block.round).take(5).collect::<Vec<_>>(), [0, 0, 1, 1, 2]);
    // A name that no round has is an error as soon as a round counts.
    assert!(!measured("Nothing", |_| false, 4).lacks_measure() && measured("Nothing", |place| place > 1, 4).lacks_measure());
    assert!(!measured("Check out", |place| place > 1, 4).lacks_measure());
}

fn graded(grade: Grade) -> Validity {
    let check = ValidityCheck {
        id: "lateness".to_owned(),
        title: "waiting for a core".to_owned(),
        grade: Some(grade),
        evidence: "23 % of the time".to_owned(),
        limits: String::new(),
        advice: String::new(),
        levels: Vec::new(),
    };
    Validity { grade, checks: vec![check] }
}

/// On a busy machine the experiment ends early and reports the cause, not the limit on rounds.
#[test]
fn an_experiment_with_only_invalid_measurements_ends_with_the_reason() {
    let mut trial = trial_of_words();
    let mut place = 0;
    while let Some(next) = trial.next() {
        trial.add(CALM.block(1, next, place), &graded(Grade::Invalid));
        place += 1;
    }
    let experiment = trial.experiment(None);
    assert_eq!((experiment.rounds, experiment.left_out, &experiment.stop), (0, 6, &ExperimentStop::Spoilt));
    let remark = "6 rounds excluded because of an INVALID measurement: round 1 with 4 (waiting for a core: 23 % of the time), \
                  round 2 with 8 (waiting for a core: 23 % of the time), and 4 more";
    assert!(experiment.remarks.iter().any(|known| known == remark), "{:?}", experiment.remarks);
    assert_eq!(experiment.contrasts[0].headline, "there is no usable round so far");
    assert_eq!(experiment.blocks[11].invalid_because.as_deref(), Some("waiting for a core: 23 % of the time"));
}

/// A checkout with ten round trips is delayed ten times.
#[test]
fn a_delay_counts_once_per_round_trip() {
    let shop = Shop { trips: 10.0, delay: (0.0, 0.002), pool: (20, 20), ..CALM };
    let experiment = shop.experiment(2);
    let found = experiment.sensitivities.iter().find(|found| found.name == "Check out").unwrap();
    assert!(found.low.unwrap() < 10.0 && found.high.unwrap() > 10.0, "{found:?}");
    assert!(found.sentence.starts_with("each ms of delay adds "), "{}", found.sentence);
    let other = experiment.sensitivities.iter().find(|found| found.name == "List").unwrap();
    assert!(other.low.unwrap() < 0.0 && other.high.unwrap() > 0.0, "{other:?}");
}
