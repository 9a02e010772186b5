//! Random systems under closed load with known limits: the findings on them must be true. In a closed network all requests of an iteration
//! level off together, regardless of which one waits. Think times, rare requests and partially held places make the count harder to
//! determine.

use loadstone_analysis::{Confidence, Finding, conclude};
use loadstone_plan::{LoadProfile, Timing};

use crate::draws::Draws;
use crate::simulation::{Hop, Service, Step, Target, UNLIMITED, ramp, simulate, users};

/// The limit of a system.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    /// No limit.
    None,
    /// A number of places, held for the whole request.
    Places(usize),
    /// A number of places, held for a part of the request.
    PlacesForAPart(usize),
    /// A rate limiter that delays requests.
    Rate,
}

/// A system, its load, and its known limit.
struct Network {
    target: Target,
    load: LoadProfile,
    limit: Limit,
    /// Requests that wait for the limit.
    waiting: Vec<&'static str>,
}

const NAMES: [&str; 5] = ["List", "Show", "Search", "Order", "Report"];
const SECONDS: u64 = 40;
/// Stations.
const PLACES: usize = 1;
const CORES: usize = 2;

/// A random number between two positive numbers, log-uniformly distributed.
fn between(draws: &mut Draws, from: f64, to: f64) -> f64 {
    from * (to / from).powf(draws.uniform())
}

fn one_of<T: Copy>(draws: &mut Draws, of: &[T]) -> T {
    of[((draws.uniform() * of.len() as f64) as usize).min(of.len() - 1)]
}

fn shaped(draws: &mut Draws, mean: f64) -> Service {
    match (draws.uniform() * 3.0) as u32 {
        0 => Service::Fixed(mean),
        1 => Service::Exponential(mean),
        _ => Service::LogUniform(mean * 0.4, mean * 1.9),
    }
}

fn mean(service: Service) -> f64 {
    match service {
        Service::Fixed(mean) | Service::Exponential(mean) => mean,
        Service::LogUniform(from, to) => (to - from) / (to / from).ln(),
        Service::Bimodal(share, a, b) => (1.0 - share) * a + share * b,
    }
}

/// Seconds that one iteration takes in total, and with a slot of the limit.
fn demand(steps: &[Step]) -> (f64, f64) {
    let (mut all, mut held) = (0.0, 0.0);
    for step in steps {
        let mut is_held = false;
        for hop in &step.hops {
            match *hop {
                Hop::Take(PLACES) => is_held = true,
                Hop::Give(PLACES) => is_held = false,
                Hop::Pass(service) => {
                    all += step.chance * mean(service);
                    held += if is_held { step.chance * mean(service) } else { 0.0 };
                }
                _ => {}
            }
        }
        all += step.chance * step.pause.map_or(0.0, mean);
    }
    (all, held)
}

impl Network {
    fn random(seed: u64, is_open: bool, seconds: u64) -> Self {
        let mut draws = Draws::new(1_000 + seed);
        let of = &mut draws;
        let limit = match (of.uniform() * 10.0) as u32 {
            0 | 1 => Limit::None,
            2..6 => Limit::Places(one_of(of, &[1, 1, 2, 3, 4, 8])),
            6..9 => Limit::PlacesForAPart(one_of(of, &[1, 1, 1, 2, 4])),
            _ => Limit::Rate,
        };
        let count = 1 + (of.uniform() * 5.0) as usize;
        // All requests wait there, or a slower one, or two of them.
        let shared = one_of(of, &[count, 1, 1, 2]).min(count);
        let long = (of.uniform() * count as f64) as usize;
        let waits = |index: usize| limit != Limit::None && (index + count - long) % count < shared;
        let (thinks, cores) = (of.uniform() < 0.75, of.uniform() < 0.4);
        let mut steps = Vec::new();
        for (index, name) in NAMES.into_iter().enumerate().take(count) {
            let takes = if index == long { between(of, 0.03, 0.3) } else { between(of, 0.002, 0.04) };
            let (own, service) = (between(of, 0.0004, 0.003), shaped(of, takes));
            let mut hops = vec![Hop::Pass(Service::Fixed(own))];
            if cores {
                hops.extend([Hop::Take(CORES), Hop::Pass(Service::Exponential(between(of, 0.0005, 0.004))), Hop::Give(CORES)]);
            }
            match limit {
                Limit::Places(_) if waits(index) => hops.extend([Hop::Take(PLACES), Hop::Pass(service), Hop::Give(PLACES)]),
                Limit::PlacesForAPart(_) if waits(index) => {
                    let part = 0.2 + 0.6 * of.uniform();
                    let of_it = |share: f64| match service {
                        Service::Fixed(mean) => Service::Fixed(mean * share),
                        Service::Exponential(mean) => Service::Exponential(mean * share),
                        Service::LogUniform(from, to) => Service::LogUniform(from * share, to * share),
                        Service::Bimodal(slow, a, b) => Service::Bimodal(slow, a * share, b * share),
                    };
                    hops.extend([Hop::Take(PLACES), Hop::Pass(of_it(part)), Hop::Give(PLACES), Hop::Pass(of_it(1.0 - part))]);
                }
                Limit::Rate if waits(index) => {
                    let each = Service::Fixed(one_of(of, &[0.008, 0.015, 0.03]));
                    hops.extend([Hop::Take(PLACES), Hop::Pass(each), Hop::Give(PLACES), Hop::Pass(service)]);
                }
                _ => hops.push(Hop::Pass(service)),
            }
            let chance = if index == 0 { 1.0 } else { one_of(of, &[1.0, 1.0, 0.5, 0.4, 0.2]) };
            let pause = (thinks && index % 2 == 1).then(|| Service::Exponential(between(of, 0.1, 0.8)));
            steps.push(Step { name, hops, share: 0.0, chance, pause });
        }
        let places = match limit {
            Limit::None => UNLIMITED,
            Limit::Places(places) | Limit::PlacesForAPart(places) => places,
            Limit::Rate => 1,
        };
        let (all, held) = demand(&steps);
        let most =
            if held > 0.0 { (all / held * places as f64 * (1.2 + 1.8 * of.uniform())).min(150.0) } else { 10.0 + 60.0 * of.uniform() };
        let most = (most as u64).max(6);
        let from = if of.uniform() < 0.8 { 1 } else { most };
        let waiting = (0..count).filter(|index| waits(*index)).map(|index| NAMES[index]).collect();
        // Enough cores that the limit uses at most two thirds of them.
        let rate = if held > 0.0 { places as f64 / held } else { most as f64 / all };
        let busy = if cores { rate * count as f64 * 0.004 / 0.66 } else { 0.0 };
        let most_per_second = if held > 0.0 { places as f64 / held * (1.2 + 0.8 * of.uniform()) } else { 5.0 + 30.0 * of.uniform() };
        let load = match is_open {
            false => users(from, most, seconds),
            true => ramp(most_per_second / 12.0, most_per_second.min(150.0), seconds, one_of(of, &[Timing::Even, Timing::Poisson])),
        };
        Self { target: Target { slots: vec![UNLIMITED, places, busy.ceil().max(2.0) as usize], steps }, load, limit, waiting }
    }

    /// Requests per second that the limit lets through; `None` without a limit.
    fn throughput_max(&self) -> Option<f64> {
        let requests: f64 = self.target.steps.iter().map(|step| step.chance).sum();
        let (_, held) = demand(&self.target.steps);
        (self.limit != Limit::None).then(|| self.target.slots[PLACES] as f64 / held * requests)
    }

    fn findings(&self, seed: u64) -> Vec<Finding> {
        conclude(&simulate(&self.target, self.load.clone(), seed)).verdict.findings.findings
    }
}

/// The numbers after a word: `about 2 to 3 at a time` has 2 and 3.
fn numbers_after(claim: &str, word: &str) -> Option<(usize, usize)> {
    let (_, rest) = claim.split_once(word)?;
    let first: usize = rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    let second = rest.split_once(" to ").filter(|(before, _)| before.len() <= 3).and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    Some((first, second.unwrap_or(first)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rating {
    Right,
    Silent,
    Wrong,
}

/// Whether the first finding is true for the system.
fn rating(claim: &str, limit: Limit) -> Rating {
    let holds = |is_held: bool| if is_held { Rating::Right } else { Rating::Wrong };
    if claim.is_empty() {
        return Rating::Silent;
    }
    let is_fewer = claim.contains("fewer");
    let says_rate = claim.contains("rate limit that delays");
    match limit {
        Limit::None => Rating::Wrong,
        Limit::Rate => holds(says_rate),
        Limit::Places(places) | Limit::PlacesForAPart(places) => {
            if let Some((low, high)) = numbers_after(claim, "served about ") {
                return holds(if is_fewer { places <= high } else { (low..=high).contains(&places) });
            }
            if let Some((most, _)) = numbers_after(claim, "at most ") {
                return holds(places <= most);
            }
            if let Some((_, rest)) = claim.split_once("asked: ")
                && let Some(Ok(number)) = rest.split_once(" at a time").map(|(number, _)| number.parse::<usize>())
            {
                return holds(if rest.contains("at a time at most") { places <= number } else { places == number });
            }
            let says_lock = claim.contains("a lock that each holds for") && !claim.contains("or a pool");
            let says_part = claim.contains("held for a part") || claim.contains("for the same part");
            holds(
                (says_lock && places == 1)
                    || claim.contains("places that each holds")
                    || (says_part && matches!(limit, Limit::PlacesForAPart(_))),
            )
        }
    }
}

/// A claim about the highest throughput alone is a symptom. It must be near the truth, which is a mean: few requests of random times scatter around it.
fn symptom(found: &Finding, truth: Option<f64>) -> Option<Rating> {
    const THROUGHPUT_WITHIN: f64 = 0.15;
    if found.rule != "throughput-limit" {
        return None;
    }
    let throughput = &found.quantities[0];
    let (low, high) = throughput.interval.unwrap_or((throughput.value, throughput.value));
    let is_near = truth.is_some_and(|truth| (low * (1.0 - THROUGHPUT_WITHIN)..=high * (1.0 + THROUGHPUT_WITHIN)).contains(&truth));
    Some(if is_near { Rating::Silent } else { Rating::Wrong })
}

/// Number of requests that a claim names although they never wait for the limit.
fn strangers(claim: &str, network: &Network) -> usize {
    let head = claim.split(" served ").next().unwrap_or(claim);
    head.split('"').skip(1).step_by(2).filter(|name| NAMES.contains(name) && !network.waiting.contains(name)).count()
}

/// The ratings of a number of systems, and every claim that is not true.
struct Score {
    counts: [usize; 3],
    wrong: Vec<String>,
    strangers: usize,
}

fn score(seeds: std::ops::Range<u64>, is_open: bool, seconds: u64) -> Score {
    let mut score = Score { counts: [0; 3], wrong: Vec::new(), strangers: 0 };
    for seed in seeds {
        let network = Network::random(seed, is_open, seconds);
        let found = network.findings(seed);
        let first = found.first();
        let claim = first.map_or("", |finding| finding.claim.as_str());
        let rating = first.and_then(|found| symptom(found, network.throughput_max())).unwrap_or_else(|| rating(claim, network.limit));
        score.counts[rating as usize] += 1;
        score.strangers += usize::from(strangers(claim, &network) > 0);
        if rating == Rating::Wrong {
            let confidence = first.map_or(Confidence::Low, |finding| finding.confidence);
            score.wrong.push(format!("{seed}: {:?} {:?} {:?}: {confidence:?} {claim}", network.limit, network.waiting, network.load));
        }
    }
    score
}

#[track_caller]
fn check(seeds: std::ops::Range<u64>, is_open: bool, right_min: f64) {
    let all = (seeds.end - seeds.start) as f64;
    let score = score(seeds, is_open, SECONDS);
    let reported = format!("right, silent, wrong: {:?}\n{}", score.counts, score.wrong.join("\n"));
    assert!(score.counts[Rating::Wrong as usize] as f64 <= 0.03 * all && score.strangers == 0, "{reported}");
    assert!(score.counts[Rating::Right as usize] as f64 >= right_min * all, "{reported}");
}

/// These seeds were not used to choose any limit of the rules.
#[test]
fn findings_on_closed_load_are_true() {
    check(5_000..5_300, false, 0.35);
}

#[test]
fn findings_on_open_load_are_true() {
    check(5_000..5_200, true, 0.5);
}

/// Half a minute, as a first run often takes: few requests show the time of a single one.
#[test]
fn findings_on_short_runs_are_true() {
    let runs = crate::seeds(150, 600);
    for (is_open, right_min) in [(true, 0.35), (false, 0.3)] {
        let score = score(20_000..20_000 + runs, is_open, 24);
        let reported = format!("right, silent, wrong: {:?}\n{}", score.counts, score.wrong.join("\n"));
        assert!(score.counts[Rating::Wrong as usize] * 100 <= runs as usize && score.strangers == 0, "{reported}");
        assert!(score.counts[Rating::Right as usize] as f64 >= right_min * runs as f64, "{reported}");
    }
}
