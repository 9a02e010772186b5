//! When the arrivals of an open profile are due.
//! The rate's integral A(t) grows along the stages. An evenly spaced arrival *k* is due where A(t) = k, from 0 or 1 ([`StepPlace`]). A Poisson arrival
//! is due where A(t) is the sum of *k* unit exponentials (time rescaling, which is exact for any rate). Every worker walks the whole sequence and keeps
//! its own share, so the shares always add up to the whole.

use std::collections::VecDeque;
use std::sync::Arc;

use loadstone_metrics::Nanos;
use loadstone_plan::{OpenStage, StepPlace, Timing};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::handover::Handover;

/// Maximum error of the integral.
const ROUNDING_MAX: f64 = 1e-9;

/// One due arrival: offset from the leaf's beginning, number within the leaf, and its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    pub offset_ns: Nanos,
    pub sequence: u64,
    /// The arrival belongs to a burst, whose arrivals all start together.
    pub at_once: bool,
}

/// Which arrivals of a leaf belong to a worker: those whose number is `index` modulo `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrivalShare {
    pub index: u64,
    pub of: u64,
}

impl ArrivalShare {
    pub const WHOLE: ArrivalShare = ArrivalShare { index: 0, of: 1 };
}

/// A handover, relative to one leaf.
#[derive(Debug, Clone)]
struct HandedOver {
    handover: Handover,
    /// Offset of the first arrival that is handed over.
    from_ns: Nanos,
    /// Arrivals before this one had already been passed when the handover arrived, so nobody generates them.
    from_sequence: u64,
}

/// The arrivals of one leaf in order, as an iterator of O(1) memory. Clones repeat the same sequence.
#[derive(Debug, Clone)]
pub struct Arrivals {
    /// Shared by the clones. Every look-ahead creates a clone.
    stages: Arc<[OpenStage]>,
    share: ArrivalShare,
    step_place: StepPlace,
    /// In the order in which agents were lost. Also shared by the clones.
    handed_over: Arc<[HandedOver]>,
    random: Xoshiro256PlusPlus,
    /// Stage being walked, its start, and A at its start.
    stage: usize,
    stage_start_s: f64,
    stage_integral: f64,
    /// Arrivals of the current burst that have not been returned yet.
    burst_left: u64,
    /// Index of the next arrival of the current replay.
    replayed: u64,
    /// Value of the scaled integral at which the next rate arrival is due.
    wanted: f64,
    /// At the last change of scale: `(A, scaled integral, factor)`.
    base: (f64, f64, f64),
    changes: VecDeque<(f64, f64)>,
    sequence: u64,
}

impl Arrivals {
    pub fn new(stages: &[OpenStage], seed: u64, share: ArrivalShare) -> Self {
        let mut arrivals = Self {
            stages: stages.into(),
            share,
            step_place: StepPlace::default(),
            handed_over: Arc::default(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            stage: 0,
            stage_start_s: 0.0,
            stage_integral: 0.0,
            burst_left: 0,
            replayed: 0,
            wanted: 0.0,
            base: (0.0, 0.0, 1.0),
            changes: VecDeque::new(),
            sequence: 0,
        };
        arrivals.enter_stage();
        // A Poisson process has no arrival at its very start. Its first gap is drawn like all others.
        arrivals.wanted = arrivals.gap_before_first();
        arrivals
    }

    /// Moves evenly spaced arrivals within their intervals. For arrivals of which none has been returned.
    pub fn placed(mut self, step_place: StepPlace) -> Self {
        self.step_place = step_place;
        if step_place == StepPlace::LastAtEnd && self.wanted == 0.0 {
            self.wanted = 1.0;
        }
        self
    }

    /// Multiplies the rate by `factor` (relative to the plan; 0 pauses) from this offset on. Bursts keep their size. Offsets must not decrease from
    /// call to call, nor lie before an arrival that was already returned.
    pub fn scale_from(&mut self, offset_ns: Nanos, factor: f64) {
        self.changes.push_back((offset_ns as f64 / 1e9, factor.max(0.0)));
    }

    /// Adds a handover of lost workers' arrivals to the remaining workers, this one among them. `begin`: of the leaf, on the run's clock.
    /// `from_sequence`: no worker generates lost arrivals before this one, since a walker of the same share has already passed them.
    pub fn hand_over(&mut self, handover: &Handover, begin: Nanos, from_sequence: u64) {
        let from_ns = handover.from.saturating_sub(begin);
        let one_more = HandedOver { handover: handover.clone(), from_ns, from_sequence };
        self.handed_over = self.handed_over.iter().cloned().chain([one_more]).collect();
    }

    /// Number of the first arrival, over all workers, that has not been examined yet.
    pub fn next_sequence(&self) -> u64 {
        self.sequence
    }

    fn owns(&self, due: &Due) -> bool {
        let ArrivalShare { index, of } = self.share;
        let (mut owner, mut turn, mut from_sequence) = (due.sequence % of, due.sequence / of, 0);
        for handed in &*self.handed_over {
            if due.offset_ns >= handed.from_ns && handed.handover.lost.contains(&owner) {
                let Some(successor) = handed.handover.successor(of, turn) else { return false };
                (owner, turn) = successor;
                from_sequence = handed.from_sequence.max(from_sequence);
            }
        }
        owner == index && due.sequence >= from_sequence
    }

    fn gap_before_first(&mut self) -> f64 {
        match self.stages.iter().find(|stage| matches!(stage, OpenStage::Rate { .. })) {
            Some(OpenStage::Rate { timing: Timing::Poisson, .. }) => self.exponential(),
            _ => 0.0,
        }
    }

    /// A sample of the unit exponential distribution, by inversion.
    fn exponential(&mut self) -> f64 {
        let uniform = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        -(1.0 - uniform).ln()
    }

    fn enter_stage(&mut self) {
        self.replayed = 0;
        if let Some(OpenStage::Burst { count }) = self.stages.get(self.stage) {
            self.burst_left = *count;
        }
    }

    fn leave_stage(&mut self) {
        if let Some(stage) = self.stages.get(self.stage) {
            if let OpenStage::Rate { .. } = stage {
                self.stage_integral += stage.arrivals();
            }
            self.stage_start_s += stage.duration_ns() as f64 / 1e9;
            self.stage += 1;
            self.enter_stage();
        }
    }

    /// The next arrival of all workers.
    fn advance(&mut self) -> Option<Due> {
        loop {
            match self.stages.get(self.stage)? {
                OpenStage::Burst { .. } => {
                    if self.burst_left > 0 {
                        self.burst_left -= 1;
                        return Some(self.hand_out(self.stage_start_s, true));
                    }
                    self.leave_stage();
                }
                OpenStage::Replay(replay) => {
                    let Some(offset_ns) = replay.instants.offset_ns(self.replayed) else {
                        self.leave_stage();
                        continue;
                    };
                    self.replayed += 1;
                    let begin_ns = (self.stage_start_s * 1e9).round() as Nanos;
                    let due = Due { offset_ns: begin_ns + offset_ns, sequence: self.sequence, at_once: false };
                    self.sequence += 1;
                    return Some(due);
                }
                OpenStage::Rate { from, to, duration_ns, timing } => {
                    let stage = RateStage { from: *from, to: *to, seconds: *duration_ns as f64 / 1e9 };
                    let poisson = *timing == Timing::Poisson;
                    let Some(seconds) = self.due_in(&stage) else {
                        self.leave_stage();
                        continue;
                    };
                    self.wanted += if poisson { self.exponential() } else { 1.0 };
                    return Some(self.hand_out(seconds, false));
                }
            }
        }
    }

    /// Instant in this stage at which the wanted arrival is due, or `None` when it lies beyond the stage.
    fn due_in(&mut self, stage: &RateStage) -> Option<f64> {
        let end_integral = self.stage_integral + stage.integral(stage.seconds);
        loop {
            let (integral, scaled, factor) = self.base;
            let target = if factor > 0.0 { integral + (self.wanted - scaled) / factor } else { f64::INFINITY };
            let change = self.changes.front().copied().filter(|(at, _)| *at <= self.stage_start_s + stage.seconds);
            if let Some((at, next_factor)) = change {
                let there = self.stage_integral + stage.integral((at - self.stage_start_s).max(0.0));
                if target >= there {
                    self.base = (there, scaled + factor * (there - integral), next_factor);
                    self.changes.pop_front();
                    continue;
                }
            }
            // The tolerance prevents rounding from adding or removing an arrival at the very end of a stage: 4/s for 60 s is 240.
            let is_beyond = match self.step_place {
                StepPlace::FirstAtBeginning => target >= end_integral - ROUNDING_MAX,
                StepPlace::LastAtEnd => target > end_integral + ROUNDING_MAX,
            };
            if is_beyond {
                return None;
            }
            return Some(self.stage_start_s + stage.instant(target - self.stage_integral));
        }
    }

    fn hand_out(&mut self, seconds: f64, at_once: bool) -> Due {
        let due = Due { offset_ns: (seconds * 1e9).round() as Nanos, sequence: self.sequence, at_once };
        self.sequence += 1;
        due
    }
}

impl Iterator for Arrivals {
    type Item = Due;

    fn next(&mut self) -> Option<Due> {
        loop {
            let due = self.advance()?;
            if self.owns(&due) {
                return Some(due);
            }
        }
    }
}

struct RateStage {
    from: f64,
    to: f64,
    seconds: f64,
}

impl RateStage {
    /// ∫ rate over the stage's first `t` seconds.
    fn integral(&self, t: f64) -> f64 {
        self.from * t + (self.to - self.from) * t * t / (2.0 * self.seconds)
    }

    /// The inverse of [`RateStage::integral`], in the form that does not cancel: t = 2k / (a + √(a² + 2gk)).
    fn instant(&self, integral: f64) -> f64 {
        let slope = (self.to - self.from) / self.seconds;
        let root = (self.from * self.from + 2.0 * slope * integral).max(0.0).sqrt();
        let divisor = self.from + root;
        if divisor > 0.0 { (2.0 * integral / divisor).clamp(0.0, self.seconds) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_plan::{RecordedInstants, ReplayInstants, ReplayStage};
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;

    fn rate(from: f64, to: f64, seconds: u64) -> OpenStage {
        OpenStage::Rate { from, to, duration_ns: seconds * S, timing: Timing::Even }
    }

    fn offsets(stages: &[OpenStage]) -> Vec<u64> {
        Arrivals::new(stages, 1, ArrivalShare::WHOLE).map(|due| due.offset_ns).collect()
    }

    #[test]
    fn a_constant_rate_is_evenly_spaced_from_zero() {
        let all = offsets(&[rate(4.0, 4.0, 60)]);
        assert_eq!(all.len(), 240);
        assert_eq!(&all[..3], &[0, S / 4, S / 2]);
        assert_eq!(*all.last().unwrap(), 60 * S - S / 4);
    }

    #[test]
    fn a_ramp_follows_the_square_root() {
        // 0 → 10/s over 10 s: A(t) = t²/2, arrival k at √(2k); 50 in all.
        let all = offsets(&[rate(0.0, 10.0, 10)]);
        assert_eq!(all.len(), 50);
        for (k, at) in all.iter().enumerate() {
            assert!((*at as f64 / 1e9 - (2.0 * k as f64).sqrt()).abs() < 1e-6, "arrival {k}");
        }
    }

    /// k6 1.4.2 starts these at 0.894 s, 1.265 s, …, 2.8 s and 3 s.
    #[test]
    fn the_last_arrival_of_a_ramp_can_be_at_its_end() {
        let stages = [rate(0.0, 5.0, 2), rate(5.0, 5.0, 1)];
        let all = Arrivals::new(&stages, 1, ArrivalShare::WHOLE).placed(StepPlace::LastAtEnd);
        let all: Vec<u64> = all.map(|due| due.offset_ns / 1_000_000).collect();
        assert_eq!(all, [894, 1264, 1549, 1788, 2000, 2200, 2400, 2600, 2800, 3000]);
    }

    #[test]
    fn the_remainder_of_a_stage_carries_over() {
        // 1.5 arrivals in the first second and 1.5 in the second: three in total. The second stage's first arrival is at its middle.
        assert_eq!(offsets(&[rate(1.5, 1.5, 1), rate(1.5, 1.5, 1)]), vec![0, 666_666_667, 1_333_333_333]);
    }

    #[test]
    fn bursts_come_at_once_and_in_place() {
        let all = offsets(&[OpenStage::Burst { count: 2 }, rate(1.0, 1.0, 2), OpenStage::Burst { count: 3 }]);
        assert_eq!(all, vec![0, 0, 0, S, 2 * S, 2 * S, 2 * S]);
    }

    #[test]
    fn a_replay_has_the_instants_of_its_record() {
        struct Record(Vec<u64>);
        impl RecordedInstants for Record {
            fn offset_ns(&self, index: u64) -> Option<u64> {
                self.0.get(usize::try_from(index).ok()?).copied()
            }
        }
        let record = vec![0, 3, 3, 1_234_567_891, 2 * S];
        let instants = ReplayInstants(Some(Arc::new(Record(record.clone()))));
        let replay = ReplayStage {
            file: "access.log".to_owned(),
            format: None,
            speed: 1.0,
            from: None,
            to: None,
            count: 5,
            duration_ns: 2 * S,
            peak: 3,
            writes_left_out: 0,
            unreadable: 0,
            instants,
        };
        assert_eq!(offsets(&[OpenStage::Replay(replay.clone())]), record);
        let stages = [rate(1.0, 1.0, 2), OpenStage::Replay(replay.clone()), rate(1.0, 1.0, 1)];
        assert_eq!(offsets(&stages), [0, S, 2 * S, 2 * S + 3, 2 * S + 3, 3_234_567_891, 4 * S, 4 * S]);
        let parts = (0..3).flat_map(|index| Arrivals::new(&stages, 1, ArrivalShare { index, of: 3 }));
        let mut parts: Vec<u64> = parts.map(|due| due.sequence).collect();
        parts.sort_unstable();
        assert_eq!(parts, (0..8).collect::<Vec<u64>>());
        let stored = OpenStage::Replay(ReplayStage { instants: ReplayInstants::default(), ..replay });
        assert_eq!((stored.arrivals(), offsets(&[stored])), (5.0, vec![]), "a stored plan has no instants");
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        // Kolmogorov–Smirnov distance against 1 − e^(−λx); 1.63/√n is the 1 % critical value.
        let stages = [OpenStage::Rate { from: 200.0, to: 200.0, duration_ns: 100 * S, timing: Timing::Poisson }];
        let all: Vec<f64> = Arrivals::new(&stages, 7, ArrivalShare::WHOLE).map(|due| due.offset_ns as f64 / 1e9).collect();
        let mut gaps: Vec<f64> = all.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(i, gap)| {
                let cdf = 1.0 - (-200.0 * gap).exp();
                (cdf - i as f64 / n).abs().max((cdf - (i + 1) as f64 / n).abs())
            })
            .fold(0.0, f64::max);
        assert!((n - 20_000.0).abs() < 600.0, "{n}");
        assert!(distance < 1.63 / n.sqrt(), "{distance}");
    }

    #[test]
    fn the_scale_changes_the_rate_from_its_instant_on() {
        let mut arrivals = Arrivals::new(&[rate(10.0, 10.0, 4)], 1, ArrivalShare::WHOLE);
        arrivals.scale_from(S, 0.0);
        arrivals.scale_from(2 * S, 2.0);
        let all: Vec<u64> = arrivals.map(|due| due.offset_ns).collect();
        let within = |from: u64, to: u64| all.iter().filter(|at| (from * S..to * S).contains(*at)).count();
        assert_eq!((within(0, 1), within(1, 2), within(2, 4)), (10, 0, 40));
    }

    fn any_stage() -> impl Strategy<Value = OpenStage> {
        prop_oneof![
            (0.0f64..300.0, 0.0f64..300.0, 1u64..4, any::<bool>()).prop_map(|(from, to, seconds, poisson)| OpenStage::Rate {
                from,
                to,
                duration_ns: seconds * S,
                timing: if poisson { Timing::Poisson } else { Timing::Even },
            }),
            (1u64..20).prop_map(|count| OpenStage::Burst { count }),
        ]
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_whole(stages in proptest::collection::vec(any_stage(), 1..5), of in 1u64..5, seed: u64) {
            let whole: Vec<Due> = Arrivals::new(&stages, seed, ArrivalShare::WHOLE).collect();
            let mut parts: Vec<Due> =
                (0..of).flat_map(|index| Arrivals::new(&stages, seed, ArrivalShare { index, of })).collect();
            parts.sort_by_key(|due| due.sequence);
            prop_assert_eq!(whole, parts);
        }

        #[test]
        fn remaining_workers_cover_all_arrivals_after_each_handover(
            stages in proptest::collection::vec(any_stage(), 1..5), seed: u64, from in 0u64..4 * S, later in 0u64..4 * S,
        ) {
            // Of four agents with five workers, the second agent is lost first, and the last agent after it.
            let firsts = [0, 1, 3, 4];
            let losses = [(1, vec![0, 2, 3], from), (3, vec![0, 2], from + later)];
            let handovers = losses.map(|(lost, left, from)| Handover::of_agents(&firsts, 5, lost, &left, from, true));
            let end_of = |worker: u64| match worker { 1 | 2 => from, 4 => from + later, _ => Nanos::MAX };
            let started = (0..5).flat_map(|index| {
                let mut arrivals = Arrivals::new(&stages, seed, ArrivalShare { index, of: 5 });
                handovers.iter().for_each(|handover| arrivals.hand_over(handover, 0, 0));
                arrivals.take_while(move |due| due.offset_ns < end_of(index))
            });
            let mut started: Vec<Due> = started.collect();
            started.sort_by_key(|due| due.sequence);
            let whole: Vec<Due> = Arrivals::new(&stages, seed, ArrivalShare::WHOLE).collect();
            prop_assert_eq!(whole, started);
        }

        #[test]
        fn arrivals_are_in_order_within_the_profile_and_complete(stages in proptest::collection::vec(any_stage(), 1..5)) {
            let even: Vec<OpenStage> = stages.into_iter().map(|stage| match stage {
                OpenStage::Rate { from, to, duration_ns, .. } => OpenStage::Rate { from, to, duration_ns, timing: Timing::Even },
                burst => burst,
            }).collect();
            let all: Vec<Due> = Arrivals::new(&even, 1, ArrivalShare::WHOLE).collect();
            let end: u64 = even.iter().map(OpenStage::duration_ns).sum();
            let asked: f64 = even.iter().map(OpenStage::arrivals).sum();
            prop_assert!(all.windows(2).all(|pair| pair[0].offset_ns <= pair[1].offset_ns));
            prop_assert!(all.iter().all(|due| due.offset_ns <= end));
            prop_assert!((all.len() as f64 - asked).abs() <= 1.0, "{} for {asked}", all.len());
        }
    }
}
