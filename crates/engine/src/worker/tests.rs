//! The engine on virtual time: the tests pass a load profile and a target, and check arrivals and times.

mod behind;
mod late_reads;
mod replacement;
mod scaling;

use std::cell::Cell;
use std::sync::mpsc::{Receiver, sync_channel};

use super::*;
use crate::event_loop::on_virtual_time;
use crate::messages::{CoordinatorInput, IterationNumbers};
use crate::user::{Iteration, IterationEnd, UserError, VirtualUser};
use futures_util::future::join_all;
use loadstone_metrics::{GeneratorSlice, LATE_READ_MAX_NS, Nanos, Outcome, SeriesSlice, Snapshot};
use loadstone_plan::{ClosedStage, Load, OpenStage, RunOptions, ScenarioId, ScenarioRun, Timing};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// A target whose response time may depend on when the request arrives.
#[derive(Clone)]
struct Target {
    clock: Clock,
    response_ns: fn(now: Nanos) -> u64,
    iterations_left: Rc<Cell<u64>>,
    numbers: Rc<RefCell<Vec<u64>>>,
    generator: Generator,
    users_created: Rc<Cell<u64>>,
    /// How long iterations of the second leaf take.
    second_leaf_ns: Option<u64>,
    /// How long iterations with odd numbers take, if that differs.
    odd_ns: Option<u64>,
    turns: Turns,
    read_at_once: Rc<RefCell<Vec<bool>>>,
    waited: Rc<Cell<u64>>,
    needs_numbers: bool,
}

/// The generator's own costs, which are zero by default.
#[derive(Clone, Default)]
struct Generator {
    iteration_ns: u64,
    user_ns: u64,
    /// Instant and length of a stall, until it has happened.
    stall: Rc<Cell<Option<(Nanos, u64)>>>,
}

impl Generator {
    fn works(&self, clock: &Clock, ns: u64) {
        let stall = self.stall.get().filter(|(at, _)| *at <= clock.now());
        let stalled = stall.map_or(0, |(_, ns)| ns);
        if stall.is_some() {
            self.stall.set(None);
        }
        if ns + stalled > 0 {
            clock.advance_to(clock.now() + ns + stalled);
        }
    }
}

struct TestUser {
    target: Target,
    response_ns: Option<u64>,
}

impl VirtualUser for TestUser {
    async fn iterate(&mut self, iteration: Iteration) -> IterationEnd {
        let target = &self.target;
        target.numbers.borrow_mut().push(iteration.arrival.sequence);
        target.waited.set(target.waited.get() + u64::from(iteration.waited_for_user));
        let Some(left) = target.iterations_left.get().checked_sub(1) else { return IterationEnd::Exhausted };
        target.iterations_left.set(left);
        target.generator.works(&target.clock, target.generator.iteration_ns);
        let odd_ns = target.odd_ns.filter(|_| iteration.arrival.sequence % 2 == 1);
        let wait = self.response_ns.or(odd_ns).unwrap_or_else(|| (target.response_ns)(target.clock.now()));
        if wait > 0 {
            target.clock.sleep(wait).await;
        }
        target.read_at_once.borrow_mut().push(target.turns.holds_arrivals() || target.turns.is_wanted());
        IterationEnd::Ended(Outcome::Passed)
    }
}

impl UserFactory for Target {
    type User = TestUser;

    fn new_user(&self, leaf: u32, _: ScenarioId, _: u64) -> Result<TestUser, UserError> {
        self.users_created.set(self.users_created.get() + 1);
        self.generator.works(&self.clock, self.generator.user_ns);
        Ok(TestUser { target: self.clone(), response_ns: self.second_leaf_ns.filter(|_| leaf == 1) })
    }

    fn needs_iteration_numbers(&self) -> bool {
        self.needs_numbers
    }

    fn count_into(&self, _: &mut GeneratorSlice) {}

    fn drive(&self) -> impl Future<Output = ()> + 'static {
        std::future::ready(())
    }
}

struct LoadCase {
    profile: LoadProfile,
    users_max: Option<u64>,
    graceful_stop_ns: u64,
    graceful_ramp_down_ns: Option<u64>,
    options: RunOptions,
    response_ns: fn(Nanos) -> u64,
    iterations: u64,
    /// Numbers of the iterations that began, grouped by worker.
    numbers: Rc<RefCell<Vec<u64>>>,
    generator: Generator,
    users_created: Rc<Cell<u64>>,
    /// For each iteration: whether a worker that may read late had to read its end at once.
    read_at_once: Rc<RefCell<Vec<bool>>>,
    /// Iterations that waited for a user.
    waited: Rc<Cell<u64>>,
    /// How long iterations with odd numbers take, if that differs.
    odd_ns: Option<u64>,
    /// A second leaf, and how long its iterations take.
    second_leaf: Option<(LoadProfile, u64)>,
    /// Commands and the instants at which they are sent, in addition to begin and finish.
    commands: Vec<(Nanos, WorkerCommand)>,
    /// A worker that receives none of these commands, and may start nothing from an instant on.
    lost: Option<(u32, Nanos)>,
    /// Whether users need numbers of iterations that are unique over all workers.
    needs_numbers: bool,
    /// Messages from the workers to the coordinator.
    reports: Cell<usize>,
}

impl LoadCase {
    fn new(profile: LoadProfile, response_ns: fn(Nanos) -> u64) -> Self {
        Self {
            profile,
            users_max: None,
            graceful_stop_ns: 30 * S,
            graceful_ramp_down_ns: None,
            options: RunOptions::default(),
            response_ns,
            iterations: u64::MAX,
            numbers: Rc::default(),
            generator: Generator::default(),
            users_created: Rc::default(),
            read_at_once: Rc::default(),
            waited: Rc::default(),
            odd_ns: None,
            second_leaf: None,
            commands: Vec::new(),
            lost: None,
            needs_numbers: true,
            reports: Cell::default(),
        }
    }
}

/// Runs a load on `workers` workers, on one virtual clock, and folds everything measured into one snapshot.
fn measured(asked: &LoadCase, workers: u32) -> (Snapshot, Vec<Snapshot>) {
    let profiles = [Some(&asked.profile), asked.second_leaf.as_ref().map(|(profile, _)| profile)];
    let run = |(index, profile): (u32, &LoadProfile)| {
        Load::Run(ScenarioRun {
            users_max: asked.users_max,
            graceful_stop_ns: Some(asked.graceful_stop_ns),
            graceful_ramp_down_ns: asked.graceful_ramp_down_ns,
            ..ScenarioRun::new(ScenarioId(index), profile.clone())
        })
    };
    let leaves: Vec<Load> = (0..).zip(profiles.into_iter().flatten()).map(run).collect();
    let leaf_count = leaves.len() as u32;
    let plan = Arc::new(TestPlan { options: asked.options.clone(), ..TestPlan::new("t", ["s", "second"], Load::Parallel(leaves)) });
    let (clock, turns) = (Clock::virtual_time(), Turns::default());
    let shared: Vec<_> = (0..2).map(|_| Arc::new(LeafShared::new(workers as usize, IterationNumbers::all()))).collect();
    let (mut bodies, mut outputs) = (Vec::new(), Vec::new());
    for index in 0..workers {
        let (reports, inputs) = sync_channel(4_000);
        let (to_worker, commands) = tokio::sync::mpsc::channel(64);
        let recorder = Rc::new(RefCell::new(Recorder::new(index, 100)));
        let context = WorkerContext { index, workers, first: 0, clock: clock.clone(), recorder };
        let factory = Rc::new(Target {
            clock: clock.clone(),
            response_ns: asked.response_ns,
            iterations_left: Rc::new(Cell::new(asked.iterations)),
            numbers: Rc::clone(&asked.numbers),
            generator: asked.generator.clone(),
            users_created: Rc::clone(&asked.users_created),
            odd_ns: asked.odd_ns,
            turns: turns.clone(),
            read_at_once: Rc::clone(&asked.read_at_once),
            waited: Rc::clone(&asked.waited),
            needs_numbers: asked.needs_numbers,
            second_leaf_ns: asked.second_leaf.as_ref().map(|(_, ns)| *ns),
        });
        let link = WorkerLink::new(reports, index as usize);
        let later = match asked.lost {
            Some((lost, until)) if lost == index => vec![(0, WorkerCommand::Lease { until })],
            _ => asked.commands.clone(),
        };
        let begin: Vec<_> =
            (0..leaf_count).map(|leaf| WorkerCommand::Begin { leaf, at: 0, shared: Arc::clone(&shared[leaf as usize]) }).collect();
        let script_clock = clock.clone();
        let script = async move {
            for command in begin {
                to_worker.send(command).await.unwrap();
            }
            for (at, command) in later {
                script_clock.sleep_until(at).await;
                to_worker.send(command).await.unwrap();
            }
            // Virtual time ends here.
            script_clock.sleep_until(1_000 * S).await;
            to_worker.send(WorkerCommand::Finish).await.unwrap();
        };
        let tasks = Tasks::default();
        tasks.spawner().spawn(script);
        bodies.push(tasks.run_until(carry_out(Arc::clone(&plan), context, factory, turns.clone(), commands, link)));
        outputs.push(inputs);
    }
    on_virtual_time(&clock, &turns, 2_000 * S, join_all(bodies)).expect("the workers end");
    folded(asked, outputs)
}

/// Everything that the workers measured, and their slices.
fn folded(asked: &LoadCase, outputs: Vec<Receiver<CoordinatorInput>>) -> (Snapshot, Vec<Snapshot>) {
    let (mut all, mut slices): (Option<Snapshot>, _) = (None, Vec::new());
    for inputs in outputs {
        for input in inputs.try_iter() {
            asked.reports.set(asked.reports.get() + 1);
            if let CoordinatorInput::Report { report: WorkerReport::Snapshot(snapshot), .. } = input {
                slices.push((*snapshot).clone());
                match &mut all {
                    Some(all) => all.merge(*snapshot),
                    None => all = Some(*snapshot),
                }
            }
        }
    }
    (all.expect("at least one snapshot"), slices)
}

fn iterations(snapshot: &Snapshot) -> &SeriesSlice {
    snapshot.series.iter().find(|series| &*series.key.name == "s").expect("iterations were recorded")
}

fn rate(per_second: f64, seconds: u64) -> LoadProfile {
    LoadProfile::Open { stages: vec![OpenStage::Rate { from: per_second, to: per_second, duration_ns: seconds * S, timing: Timing::Even }] }
}

fn close_to(measured: u64, truth: u64) -> bool {
    measured.abs_diff(truth) as f64 <= truth as f64 * 0.005 + 1.0
}

#[test]
fn close_arrivals_start_together_and_others_on_time() {
    // 100 µs apart, and 30 µs apart. In the second case, three arrivals share a wake-up.
    let (sparse, _) = measured(&LoadCase::new(rate(10_000.0, 1), |_| MS), 1);
    assert_eq!(iterations(&sparse).lag.max(), 0);
    let (dense, _) = measured(&LoadCase::new(rate(1e9 / 30_000.0, 1), |_| MS), 1);
    let (all, lag) = (iterations(&dense).count, &iterations(&dense).lag);
    // An arrival that starts on time has no lag.
    assert!((all / 3).abs_diff(all - lag.count()) <= 1, "one of three is on time, but {} of {all} were late", lag.count());
    assert!(close_to(lag.max(), 60_000), "the first of three waits for the third, not {} ns", lag.max());
}

#[test]
fn the_start_window_is_an_option_of_the_test() {
    let with_window = |start_window_ns| {
        let mut case = LoadCase::new(rate(10_000.0, 1), |_| MS);
        case.options.start_window_ns = start_window_ns;
        measured(&case, 1).0
    };
    // 100 µs apart: three share the window, the first waits for the third.
    let wide = with_window(200_000);
    let (all, lag) = (iterations(&wide).count, &iterations(&wide).lag);
    assert_eq!(wide.leaves[0].arrivals_due, 10_000);
    assert!((all / 3).abs_diff(all - lag.count()) <= 1, "one of three is on time, but {} of {all} were late", lag.count());
    assert!(close_to(lag.max(), 200_000), "{} ns", lag.max());
    assert_eq!(iterations(&with_window(0)).lag.max(), 0);
}

#[test]
fn an_open_profile_starts_every_arrival_on_time() {
    for workers in [1, 2, 3] {
        let (all, _) = measured(&LoadCase::new(rate(100.0, 10), |_| 50 * MS), workers);
        let leaf = &all.leaves[0];
        assert_eq!((leaf.arrivals_due, leaf.started, leaf.ended, leaf.failed), (1000, 1000, 1000, 0), "{workers} workers");
        let series = iterations(&all);
        assert!(close_to(series.response.quantile(0.5).unwrap(), 50 * MS));
        assert_eq!(series.response.max(), 50 * MS);
        assert_eq!(series.lag.max(), 0, "nothing was late");
        // Little: 100/s × 50 ms = 5 users on average over the 10 s.
        assert!(close_to(leaf.active_ns, 1000 * 50 * MS));
    }
}

#[test]
fn a_stall_of_the_target_shows_in_full() {
    // Requests between 10 s and 12 s are answered at 12 s. R_q = D − (1−q)·T for the stalled share (docs/metrics.md).
    let stall = |now: Nanos| if (10 * S..12 * S).contains(&now) { 12 * S - now } else { 0 };
    let (all, _) = measured(&LoadCase::new(rate(1000.0, 60), stall), 1);
    let series = iterations(&all);
    for q in [0.97, 0.98, 0.99, 0.999] {
        let truth = 2.0 - (1.0 - q) * 60.0;
        let read = series.response.quantile(q).unwrap() as f64 / 1e9;
        assert!((read - truth).abs() < 0.01, "q {q}: {read} instead of {truth}");
    }
}

#[test]
fn arrivals_wait_for_a_user_and_none_is_lost() {
    // One user, 100 ms per iteration, 20 arrivals/s for 2 s: 40 arrivals take 4 s, the last waits for 2 s.
    let mut asked = LoadCase::new(rate(20.0, 2), |_| 100 * MS);
    asked.users_max = Some(1);
    // The bound applies to the run: with more workers than users, some workers have none.
    for workers in [1, 2, 3] {
        let (all, slices) = measured(&asked, workers);
        let leaf = &all.leaves[0];
        assert_eq!((leaf.arrivals_due, leaf.started, leaf.ended), (40, 40, 40));
        let series = iterations(&all);
        assert!(close_to(series.response.max(), 2_050 * MS), "{}", series.response.max());
        assert_eq!(series.service.max(), 100 * MS);
        assert!(close_to(series.lag.max(), 1_950 * MS));
        assert!(slices.iter().any(|slice| slice.leaves.iter().any(|leaf| leaf.waiting > 5)), "the waiting is recorded");
    }
}

#[test]
fn no_arrival_waits_while_another_worker_has_a_free_user() {
    // The second worker's arrivals are the odd ones, each 60 ms of work at 24 per second. That is too much for its one user, but not for two.
    let mut asked = LoadCase::new(rate(48.0, 2), |_| MS);
    (asked.users_max, asked.odd_ns, asked.graceful_stop_ns) = (Some(2), Some(60 * MS), S / 2);
    let (all, slices) = measured(&asked, 2);
    let leaf = &all.leaves[0];
    assert_eq!((leaf.arrivals_due, leaf.started, leaf.ended, leaf.interrupted), (96, 96, 96, 0));
    assert!(iterations(&all).lag.max() <= 40 * MS, "an arrival waited for {} ms", iterations(&all).lag.max() / MS);
    assert!(slices.iter().all(|slice| slice.end < 3 * S || slice.leaves.iter().all(|leaf| leaf.users_active == 0)));
    let mut numbers = asked.numbers.take();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..96), "each arrival started once");
}

#[test]
fn workers_that_all_queue_share_the_backlog_and_lose_nothing() {
    // 100 at once for four users. Every second one takes ten times as long.
    for workers in [2, 3, 4] {
        let mut asked = LoadCase::new(LoadProfile::burst(100), |_| 5 * MS);
        (asked.users_max, asked.odd_ns) = (Some(4), Some(50 * MS));
        let (all, _) = measured(&asked, workers);
        let leaf = &all.leaves[0];
        assert_eq!((leaf.started, leaf.ended), (100, 100), "{workers} workers");
        // (50 × 5 ms + 50 × 50 ms) / 4 users, plus at most one long iteration.
        let last = iterations(&all).response.max();
        assert!(last <= 740 * MS, "{workers} workers: the last ended after {} ms", last / MS);
    }
}

#[test]
fn iterations_that_outlast_the_graceful_stop_are_interrupted() {
    let mut asked = LoadCase::new(rate(10.0, 1), |now| if now < S / 2 { 10 * S } else { 100 * MS });
    asked.graceful_stop_ns = S;
    let (all, _) = measured(&asked, 2);
    let leaf = &all.leaves[0];
    assert_eq!((leaf.started, leaf.ended, leaf.interrupted), (10, 5, 5));
    let series = iterations(&all);
    assert_eq!((series.count, series.failed, series.censored.count()), (5, 0, 5));
}

/// An iteration takes 1 s, and five arrivals come per second. With two users, the first two start at once, and the others when a user is free.
#[test]
fn arrivals_that_waited_for_a_user_are_marked() {
    let mut asked = LoadCase::new(rate(5.0, 2), |_| S);
    asked.users_max = Some(2);
    measured(&asked, 1);
    assert_eq!((asked.numbers.borrow().len(), asked.waited.get()), (10, 8));
    // With enough users, none waits.
    let asked = LoadCase::new(rate(5.0, 2), |_| S);
    measured(&asked, 1);
    assert_eq!((asked.numbers.borrow().len(), asked.waited.get()), (10, 0));
}

/// Iterations take 4 s. Of four users, three leave after one, two and three seconds, in the middle of their first iteration, and the last at the end.
#[test]
fn users_that_a_ramp_removes_have_its_grace_to_finish() {
    let ramp = |to, duration_ns, grace| {
        let stages = vec![ClosedStage { from: 4, to, duration_ns }];
        let mut asked = LoadCase::new(LoadProfile::Closed { stages }, |_| 4 * S);
        (asked.graceful_ramp_down_ns, asked.graceful_stop_ns) = (grace, 30 * S);
        let leaf = measured(&asked, 1).0.leaves[0].clone();
        (leaf.started, leaf.ended, leaf.interrupted)
    };
    assert_eq!(ramp(0, 4 * S - 1, None), (4, 4, 0));
    assert_eq!(ramp(0, 4 * S - 1, Some(30 * S)), (4, 4, 0));
    // The first two would need 3 s and 2 s.
    assert_eq!(ramp(0, 4 * S - 1, Some(S + S / 2)), (4, 2, 2));
    assert_eq!(ramp(0, 4 * S - 1, Some(0)), (4, 0, 4));
    // Those that the ramp leaves have the graceful stop.
    assert_eq!(ramp(2, 2 * S - 1, Some(0)), (4, 2, 2));
}

/// One of two users leaves after 1 s and returns 1 s later, within its grace: it goes on with its iteration of 10 s.
#[test]
fn a_user_that_returns_within_its_grace_goes_on() {
    let stages = [(2, 2), (1, 1), (2, 2)].map(|(from, to)| ClosedStage { from, to, duration_ns: S }).to_vec();
    let mut asked = LoadCase::new(LoadProfile::Closed { stages }, |_| 10 * S);
    let mut counts = |grace_ns| {
        asked.graceful_ramp_down_ns = Some(grace_ns);
        let leaf = measured(&asked, 1).0.leaves[0].clone();
        (leaf.started, leaf.ended, leaf.interrupted)
    };
    assert_eq!(counts(2 * S), (2, 2, 0));
    // Later than the grace, a new user comes.
    assert_eq!(counts(S / 2), (3, 2, 1));
    assert_eq!(counts(0), (3, 2, 1));
}

#[test]
fn stop_lets_iterations_finish_and_halt_does_not() {
    let mut asked = LoadCase::new(rate(10.0, 100), |_| 2 * S);
    asked.commands = vec![(10 * S + 1, WorkerCommand::Stop)];
    let (all, _) = measured(&asked, 1);
    assert_eq!((all.leaves[0].started, all.leaves[0].ended, all.leaves[0].interrupted), (101, 101, 0));
    asked.commands = vec![(10 * S + 1, WorkerCommand::Stop), (10 * S + 2, WorkerCommand::Halt)];
    let (all, _) = measured(&asked, 1);
    assert_eq!((all.leaves[0].started, all.leaves[0].ended, all.leaves[0].interrupted), (101, 81, 20));
}

#[test]
fn a_stopped_load_waits_no_longer_than_its_graceful_stop() {
    let mut asked = LoadCase::new(rate(10.0, 100), |_| 50 * S);
    (asked.graceful_stop_ns, asked.commands) = (S, vec![(10 * S + 1, WorkerCommand::Stop)]);
    let (all, slices) = measured(&asked, 1);
    assert_eq!((all.leaves[0].started, all.leaves[0].interrupted), (101, 101));
    assert!(slices.iter().filter(|slice| slice.slice >= 11).all(|slice| slice.leaves[0].users_active == 0));
}

#[test]
fn closed_users_loop_as_fast_as_the_target_lets_them() {
    for workers in [1, 2] {
        let profile = LoadProfile::Closed {
            stages: vec![ClosedStage { from: 0, to: 10, duration_ns: 10 * S }, ClosedStage { from: 10, to: 10, duration_ns: 10 * S }],
        };
        let (all, _) = measured(&LoadCase::new(profile, |_| 100 * MS), workers);
        let leaf = &all.leaves[0];
        // User i starts at second i: Σ (20 − i) s × 10/s.
        let expected: u64 = (0..10).map(|i| (20 - i) * 10).sum();
        assert!(leaf.ended.abs_diff(expected) <= 10, "{} instead of {expected}", leaf.ended);
        assert_eq!((leaf.started, leaf.interrupted), (leaf.ended, 0));
    }
}

#[test]
fn counted_iterations_are_counted_exactly() {
    let counted = |split| {
        let profile = LoadProfile::Iterations { users: 3, count: 10, split, duration_max_ns: None };
        measured(&LoadCase::new(profile, |_| MS), 2).0.leaves[0].ended
    };
    assert_eq!(counted(IterationSplit::PerUser), 30);
    assert_eq!(counted(IterationSplit::Shared), 10);
}

#[test]
fn iterations_are_numbered_without_gaps_by_any_number_of_workers() {
    // Workers with different numbers of users, so that they run different numbers of iterations.
    let counted = |split| LoadProfile::Iterations { users: 5, count: 70, split, duration_max_ns: None };
    let closed = LoadProfile::Closed {
        stages: vec![ClosedStage { from: 0, to: 5, duration_ns: 4 * S }, ClosedStage { from: 5, to: 1, duration_ns: 4 * S }],
    };
    for profile in [counted(IterationSplit::PerUser), counted(IterationSplit::Shared), closed, rate(50.0, 3)] {
        for workers in 1..=3 {
            let asked = LoadCase::new(profile.clone(), |_| 70 * MS);
            let (all, _) = measured(&asked, workers);
            let mut numbers = asked.numbers.take();
            numbers.sort_unstable();
            assert!(numbers.len() >= 70 && all.leaves[0].started == numbers.len() as u64, "{workers} workers: {profile:?}");
            assert!(numbers.iter().copied().eq(0..all.leaves[0].started), "{workers} workers: {profile:?} {numbers:?}");
        }
    }
}

#[test]
fn an_exhausted_feeder_ends_the_leaf() {
    let mut asked = LoadCase::new(rate(10.0, 100), |_| MS);
    asked.iterations = 7;
    let (all, _) = measured(&asked, 1);
    assert_eq!(iterations(&all).count, 7);
    assert_eq!(all.leaves[0].arrivals_due, 8);
}

#[test]
fn the_load_can_be_scaled_and_paused() {
    let mut asked = LoadCase::new(rate(10.0, 30), |_| MS);
    asked.commands =
        vec![(10 * S, WorkerCommand::Scale { at: 10 * S, factor: 0.0 }), (20 * S, WorkerCommand::Scale { at: 20 * S, factor: 3.0 })];
    let (all, slices) = measured(&asked, 2);
    assert_eq!(all.leaves[0].ended, 100 + 300);
    let during: u64 = slices.iter().filter(|s| (11..19).contains(&s.slice)).flat_map(|s| &s.leaves).map(|l| l.started).sum();
    assert_eq!(during, 0);
}

#[test]
fn iterations_that_do_nothing_do_not_hang_the_worker() {
    let profile = LoadProfile::Iterations { users: 2, count: 10_000, split: IterationSplit::PerUser, duration_max_ns: Some(S) };
    let (all, _) = measured(&LoadCase::new(profile, |_| 0), 1);
    assert_eq!(all.leaves[0].ended, 20_000);
}

#[test]
fn a_burst_at_the_end_of_a_profile_runs_to_completion() {
    for workers in [1, 2] {
        let (all, _) = measured(&LoadCase::new(LoadProfile::burst(5), |_| 300 * MS), workers);
        assert_eq!((iterations(&all).count, iterations(&all).response.max()), (5, 300 * MS));
    }
}

#[test]
fn changes_of_a_leaf_are_recorded_once_with_their_instants() {
    let changes = |asked: &LoadCase, workers| {
        let (all, _) = measured(asked, workers);
        all.leaves[0].changes.clone()
    };
    let began = || LeafChange::Began { at: 0, scenario: "s".into() };
    let mut asked = LoadCase::new(rate(10.0, 20), |_| MS);
    asked.commands = [(5, 0.0), (10, 2.0)].map(|(at, factor)| (at * S, WorkerCommand::Scale { at: at * S, factor })).to_vec();
    let scaled = |at, factor| LeafChange::Scaled { at: at * S, factor };
    for workers in [1, 3] {
        assert_eq!(changes(&asked, workers), [began(), scaled(5, 0.0), scaled(10, 2.0), LeafChange::LoadEnded { at: 20 * S }]);
    }
    // Later responses do not prolong the load, and a stop shortens it.
    assert_eq!(changes(&LoadCase::new(rate(10.0, 2), |_| 7 * S), 2), [began(), LeafChange::LoadEnded { at: 2 * S }]);
    let mut stopped = LoadCase::new(rate(10.0, 20), |_| MS);
    stopped.commands = vec![(3 * S, WorkerCommand::Stop)];
    assert_eq!(changes(&stopped, 2), [began(), LeafChange::LoadEnded { at: 3 * S }]);
}
