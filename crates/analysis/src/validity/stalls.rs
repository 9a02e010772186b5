//! Was a worker held up, and everyone on it with it?

use plan::Aggregate;

use super::check::{CheckInfo, CheckInput, grade_of};
use crate::{Grade, ValidityCheck, WorkerTally};

const INFO: CheckInfo = CheckInfo {
    id: "stalls",
    title: "Stalls of a worker",
    limits: "for p99 and p99.9: the share of time in which a stall delayed a worker by more than a tenth of the percentile; suspect \
     above a quarter of what lies beyond the percentile, invalid above all of it; for p99.9 at most suspect, unless a threshold judges \
     it",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let Some(first) = input.tail(0.99) else { return INFO.nothing("no request ended") };
    if input.tally.workers().iter().all(|worker| worker.wall_ns == 0) {
        return INFO.nothing("the generator did not measure itself");
    }
    let tails = [Some(first), input.tail(0.999)];
    let mut worst = (Grade::Valid, 0.0, String::new(), 0.0);
    for (name, quantile, reported) in tails.into_iter().flatten() {
        let delayed = input.tally.workers().iter().map(|worker| delayed_share(worker, reported / 10.0)).fold(0.0, f64::max);
        let part = delayed / (1.0 - quantile);
        let worst_grade = if quantile <= 0.99 || is_judged(input, quantile) { Grade::Invalid } else { Grade::Suspect };
        let grade = grade_of(part, 0.25, 1.0).min(worst_grade);
        if grade > worst.0 || worst.2.is_empty() {
            worst = (grade, delayed, name, reported);
        }
    }
    let (grade, delayed, name, reported) = worst;
    let stalls: u64 = input.tally.workers().iter().map(|worker| worker.stalls.count()).sum();
    let longest = |of: fn(&WorkerTally) -> u64| input.tally.workers().iter().map(of).max().unwrap_or(0) as f64 / 1e9;
    let evidence = format!(
        "{} stalls over 1 ms, the longest {}; the longest garbage collection took {}; for {} of the time, a request could be delayed \
         by more than a tenth of the {name} of {}",
        units::count(stalls),
        units::seconds(longest(|worker| worker.stalls.max())),
        units::seconds(longest(|worker| worker.collections.max())),
        units::share(delayed),
        units::seconds(reported)
    );
    INFO.graded(grade, evidence, ADVICE)
}

/// Neither the script nor the kernel tells which of these it was: a core that the hypervisor takes away counts as computing.
const ADVICE: &str = "Something held up a worker: heavy work in a script (large JSON, hashing, loops), a garbage collection, very many \
 users due at once, or a machine that took the core away. Move heavy work out of the iteration, use more workers (--workers), or use a \
 machine that is not shared.";

/// Does a threshold ask for this percentile, or one further out?
fn is_judged(input: &CheckInput<'_>, quantile: f64) -> bool {
    let asks = |aggregate: Aggregate| matches!(aggregate, Aggregate::Quantile(asked) if asked >= quantile - 1e-9);
    input.plan.thresholds.iter().any(|threshold| asks(threshold.aggregate))
}

/// Share of the time in which something that came due had to wait longer than `over` seconds: of each stall the part that
/// lay more than that before its end.
fn delayed_share(worker: &WorkerTally, over: f64) -> f64 {
    if worker.wall_ns == 0 {
        return 0.0;
    }
    let over_ns = over * 1e9;
    let delayed: f64 =
        worker.stalls.bars().map(|(low, high, count)| ((low + (high - low) / 2) as f64 - over_ns).max(0.0) * count as f64).sum();
    delayed / worker.wall_ns as f64
}
