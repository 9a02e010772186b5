//! A load under way, as its coordinator sees it: which leaves run, what they reported, and when all is over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use loadstone_metrics::clock::{Clock, Monotonic};
use loadstone_metrics::{AgentSlice, Mark, MarkKind, Nanos, Snapshot};
use loadstone_plan::TestPlan;
use tokio::sync::mpsc;

use crate::agent_messages::AgentCommand;
use crate::assembly::SnapshotAssembly;
use crate::control::{LoadControl, LoadEnding, LoadEvent, StopReason, WorkerError};
use crate::messages::{CoordinatorInput, IterationNumbers, LeafShared, WorkerCommand, WorkerReport};
use crate::tree::LoadTree;

/// Time between telling the threads of this process and the instant at which a leaf begins, so that all begin together.
const LEAD_NS: Nanos = 2_000_000;

/// How one of those who make the load is told.
pub(crate) enum Post {
    Worker(mpsc::Sender<WorkerCommand>),
    Agent(Box<dyn Fn(AgentCommand)>),
}

impl Post {
    fn tell(&self, command: &WorkerCommand) {
        match self {
            // A worker that is gone has said so, or will.
            Post::Worker(worker) => _ = worker.blocking_send(command.clone()),
            Post::Agent(tell) => _ = command.of_agent().map(tell),
        }
    }
}

/// The load's time, and how long what is said takes to arrive.
pub(crate) struct Pacing {
    pub(crate) clock: Clock,
    pub(crate) lead_ns: Nanos,
}

impl Pacing {
    pub(crate) fn of_threads() -> Self {
        Self::of_agents(LEAD_NS)
    }

    pub(crate) fn of_agents(lead_ns: Nanos) -> Self {
        Self { clock: Clock::real(Monotonic::start()), lead_ns }
    }
}

/// Walks the load tree, tells the workers what begins when, and hands on what they measured.
pub(crate) struct ActiveLoad<'a> {
    tree: LoadTree,
    /// Its zero is the run's, once every worker is ready.
    clock: Clock,
    lead_ns: Nanos,
    workers: Vec<Post>,
    /// Those that are ready, until the load has begun.
    ready: BTreeSet<usize>,
    has_begun: bool,
    on_event: &'a mut dyn FnMut(LoadEvent) -> Option<LoadControl>,
    snapshots: SnapshotAssembly,
    /// Leaves that prepare what comes after them, and the scenario of each.
    set_ups: BTreeMap<u32, String>,
    /// By leaf: how long it begins after its turn.
    start_after_ns: Vec<u64>,
    /// The leaf of the tear-down, until it begins.
    tear_down: Option<u32>,
    tearing_down: bool,
    /// Per leaf: workers that have not yet ended it.
    running: BTreeMap<u32, BTreeSet<usize>>,
    /// Workers that have ended.
    done: BTreeSet<usize>,
    /// Of these, agents that were lost.
    lost: BTreeSet<usize>,
    /// What happened beside the snapshots, for the next of them.
    marks: Vec<Mark>,
    newly_lost: Vec<AgentSlice>,
    /// What the others are to hear of lost agents, once the load has begun.
    handovers: Vec<AgentCommand>,
    /// The workers were told to end.
    finishing: bool,
    /// The run is to go on after its load.
    lingers: bool,
    /// It does so now.
    lingering: bool,
    reason: Option<StopReason>,
    broke: Option<WorkerError>,
}

impl<'a> ActiveLoad<'a> {
    pub(crate) fn new(
        plan: &TestPlan,
        workers: Vec<Post>,
        pacing: Pacing,
        lingers: bool,
        on_event: &'a mut dyn FnMut(LoadEvent) -> Option<LoadControl>,
    ) -> Self {
        Self {
            tree: LoadTree::new(&plan.load),
            clock: pacing.clock,
            lead_ns: pacing.lead_ns,
            ready: BTreeSet::new(),
            has_begun: false,
            snapshots: match workers.first() {
                Some(Post::Agent(_)) => SnapshotAssembly::of_agents(workers.len(), plan.options.series_max),
                _ => SnapshotAssembly::new(workers.len(), plan.options.series_max),
            },
            workers,
            on_event,
            set_ups: plan.set_ups(),
            start_after_ns: plan.leaves().iter().map(|run| run.start_after_ns).collect(),
            tear_down: plan.tear_down.as_ref().map(|_| plan.load.leaves().len() as u32),
            tearing_down: false,
            running: BTreeMap::new(),
            done: BTreeSet::new(),
            lost: BTreeSet::new(),
            marks: Vec::new(),
            newly_lost: Vec::new(),
            handovers: Vec::new(),
            finishing: false,
            lingers,
            lingering: false,
            reason: None,
            broke: None,
        }
    }

    /// Runs the load to its end, on what its workers report and others ask for.
    pub(crate) fn run(mut self, inputs: &Receiver<CoordinatorInput>) -> LoadEnding {
        while !self.is_over() {
            match inputs.recv_timeout(Duration::from_millis(500)) {
                Ok(input) => self.take(input),
                Err(RecvTimeoutError::Timeout) => self.look_for_late(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.end()
    }

    /// Every worker has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.done.len() >= self.workers.len()
    }

    pub(crate) fn take(&mut self, input: CoordinatorInput) {
        match input {
            CoordinatorInput::Report { from, report } => self.report(from, report),
            CoordinatorInput::Control(control) if self.has_begun => self.control(control),
            CoordinatorInput::Control(LoadControl::Stop(reason) | LoadControl::Halt(reason)) => {
                self.reason.get_or_insert(reason);
                self.give_up();
            }
            // Before there is any load, there is nothing to scale or to release. Commands are an agent's.
            CoordinatorInput::Control(_) | CoordinatorInput::Command(_) => {}
        }
    }

    /// Hands on the seconds for which a worker was silent too long.
    pub(crate) fn look_for_late(&mut self) {
        while let Some(snapshot) = self.snapshots.take_late(self.clock.now()) {
            self.second(snapshot, false);
        }
    }

    /// Hands on what is left, when all is over.
    pub(crate) fn end(mut self) -> LoadEnding {
        while let Some((snapshot, is_last)) = self.snapshots.take_rest() {
            self.second(snapshot, is_last);
        }
        // What happened after the last second is to be in the record, too.
        if !self.marks.is_empty() {
            let (slice, at) = (self.snapshots.next(), self.clock.now());
            self.second(Box::new(Snapshot { slice, start: at, end: at, ..Snapshot::default() }), true);
        }
        match (self.broke, self.reason) {
            (Some(error), _) => LoadEnding::Broke(error),
            (None, Some(reason)) => LoadEnding::Stopped(reason),
            (None, None) => LoadEnding::Completed,
        }
    }

    /// Begins the load once every worker is ready that has not been lost.
    fn begin_when_ready(&mut self) {
        let is_ready = self.ready.union(&self.lost).count() >= self.workers.len();
        if self.has_begun || !is_ready || self.broke.is_some() || self.reason.is_some() {
            return;
        }
        self.has_begun = true;
        let zero = Monotonic::start();
        self.clock.begin(zero);
        self.event(LoadEvent::Ready { zero });
        self.tell(&WorkerCommand::Start { zero });
        std::mem::take(&mut self.handovers).iter().for_each(|handover| self.tell_agents(handover));
        let first = self.tree.begin();
        self.begin_leaves(first);
    }

    /// No load begins.
    fn give_up(&mut self) {
        self.tear_down = None;
        self.finish();
    }

    fn second(&mut self, mut snapshot: Box<Snapshot>, is_last: bool) {
        snapshot.marks.append(&mut self.marks);
        snapshot.agents.append(&mut self.newly_lost);
        self.event(if is_last { LoadEvent::LastSnapshot(snapshot) } else { LoadEvent::Snapshot(snapshot) });
    }

    fn tell(&self, command: &WorkerCommand) {
        for (_, worker) in self.workers.iter().enumerate().filter(|(number, _)| !self.done.contains(number)) {
            worker.tell(command);
        }
    }

    fn event(&mut self, event: LoadEvent) {
        if let Some(control) = (self.on_event)(event) {
            self.control(control);
        }
    }

    fn begin_leaves(&mut self, leaves: Vec<u32>) {
        let now = self.clock.now() + self.lead_ns;
        for leaf in leaves {
            let at = now + self.start_after_ns.get(leaf as usize).copied().unwrap_or(0);
            self.running.insert(leaf, (0..self.workers.len()).filter(|worker| !self.done.contains(worker)).collect());
            let shared = Arc::new(LeafShared::new(self.workers.len(), IterationNumbers::all()));
            self.tell(&WorkerCommand::Begin { leaf, at, shared });
            self.event(LoadEvent::LeafBegan { leaf, at });
        }
        self.finish_when_over();
    }

    fn finish_when_over(&mut self) {
        if !self.running.is_empty() || self.finishing || self.lingering {
            return;
        }
        if self.lingers && self.reason.is_none() && self.broke.is_none() {
            self.lingering = true;
            let at = self.clock.now();
            self.event(LoadEvent::LoadEnded { at });
        } else {
            self.finish();
        }
    }

    /// Ends the workers; before that comes the tear-down, where they can still run it.
    fn finish(&mut self) {
        if let Some(leaf) = self.tear_down.take()
            && self.broke.is_none()
        {
            self.tearing_down = true;
            (self.lingers, self.lingering) = (false, false);
            self.begin_leaves(vec![leaf]);
        } else if !self.finishing && (!self.tearing_down || self.running.is_empty()) {
            self.finishing = true;
            self.tell(&WorkerCommand::Finish);
        }
    }

    fn report(&mut self, from: usize, report: WorkerReport) {
        // Of an agent that was given up: its part was told as missing.
        if self.lost.contains(&from) {
            return;
        }
        match report {
            WorkerReport::Ready => {
                self.ready.insert(from);
                self.begin_when_ready();
            }
            WorkerReport::Snapshot(snapshot) => self.add(from, *snapshot),
            WorkerReport::LeafEnded { leaf, threw } => self.leaf_ended(from, leaf, threw),
            WorkerReport::Done => _ = self.done.insert(from),
            WorkerReport::Broke(error) => {
                self.done.insert(from);
                self.break_off(error);
            }
            WorkerReport::Lost { why, started_before } => self.lose(from, why, started_before),
        }
    }

    fn break_off(&mut self, error: WorkerError) {
        self.broke.get_or_insert(error);
        if self.has_begun {
            self.running.clear();
            self.tree.stop();
            self.finish();
        } else {
            self.give_up();
        }
    }

    /// The load goes on with the agents that are left.
    fn lose(&mut self, agent: usize, mut why: String, started_before: Option<Nanos>) {
        // What is done once is done by the first of those that are left.
        let was_first = (0..agent).all(|other| self.lost.contains(&other));
        self.lost.insert(agent);
        self.done.insert(agent);
        self.snapshots.lose(agent);
        why += &match self.hand_over(agent, started_before) {
            Some(from) => {
                format!("; the others make its part of the load from {} into the run on", loadstone_units::seconds(from as f64 / 1e9))
            }
            None => "; its part of the load is missing from here on".to_owned(),
        };
        self.marks.push(Mark { at: self.clock.now(), kind: MarkKind::Warning, text: why.clone() });
        self.newly_lost.push(AgentSlice { agent: agent as u32, lost: true, ..AgentSlice::default() });
        if self.lost.len() == self.workers.len() {
            return self.break_off(WorkerError::Agent(why));
        }
        self.hand_on();
        self.begin_when_ready();
        for (leaf, left) in self.running.clone() {
            // Nobody has what a set-up of it should have returned.
            let is_cut_short = was_first && self.set_ups.contains_key(&leaf) && left.contains(&agent);
            self.leaf_ended(agent, leaf, is_cut_short);
        }
    }

    /// Tells those that are left what they are to make from now on. Returns from when on they make its load, where they do.
    fn hand_over(&mut self, lost: usize, started_before: Option<Nanos>) -> Option<Nanos> {
        let left: Vec<u32> = (0..self.workers.len()).filter(|other| !self.done.contains(other)).map(|other| other as u32).collect();
        let soon = if self.has_begun { self.clock.now() + self.lead_ns } else { 0 };
        let from = started_before.map_or(soon, |before| before.max(soon));
        let (is_of_load, is_anybody_left) = (started_before.is_some(), !left.is_empty());
        let handover = AgentCommand::HandOver { lost: lost as u32, left, from, is_of_load };
        if self.has_begun {
            self.tell_agents(&handover);
        } else {
            self.handovers.push(handover);
        }
        (is_of_load && is_anybody_left).then_some(from)
    }

    fn tell_agents(&self, command: &AgentCommand) {
        for (_, post) in self.workers.iter().enumerate().filter(|(number, _)| !self.done.contains(number)) {
            if let Post::Agent(tell) = post {
                tell(command.clone());
            }
        }
    }

    fn add(&mut self, from: usize, snapshot: Snapshot) {
        self.snapshots.add(from, snapshot);
        self.hand_on();
    }

    fn hand_on(&mut self) {
        // Once the end is near, snapshots are kept back: the last one is to be known as such.
        while !self.finishing
            && let Some(snapshot) = self.snapshots.take_complete()
        {
            self.second(snapshot, false);
        }
    }

    fn leaf_ended(&mut self, from: usize, leaf: u32, threw: bool) {
        if threw && let Some(scenario) = self.set_ups.remove(&leaf) {
            self.control(LoadControl::Stop(StopReason::SetUp(scenario)));
        }
        let Some(left) = self.running.get_mut(&leaf) else { return };
        left.remove(&from);
        if !left.is_empty() {
            return;
        }
        self.running.remove(&leaf);
        let at = self.clock.now();
        self.event(LoadEvent::LeafEnded { leaf, at });
        let next = self.tree.ended(leaf);
        self.begin_leaves(next);
    }

    fn control(&mut self, control: LoadControl) {
        match control {
            LoadControl::Release => {
                if self.lingering {
                    self.finish();
                }
            }
            LoadControl::Stop(reason) | LoadControl::Halt(reason) if self.lingering => {
                if reason != StopReason::User && !self.finishing {
                    self.reason.get_or_insert(reason);
                }
                self.finish();
            }
            // It is short, and is to run however the run ends; a second request interrupts it.
            LoadControl::Stop(_) if self.tearing_down => {}
            LoadControl::Stop(reason) => {
                self.reason.get_or_insert(reason);
                self.tree.stop();
                self.tell(&WorkerCommand::Stop);
            }
            LoadControl::Halt(reason) => {
                self.reason.get_or_insert(reason);
                self.tree.stop();
                self.tell(&WorkerCommand::Stop);
                self.tell(&WorkerCommand::Halt);
            }
            LoadControl::Scale(factor) => {
                let at = self.clock.now() + self.lead_ns;
                self.tell(&WorkerCommand::Scale { at, factor });
            }
        }
    }
}
