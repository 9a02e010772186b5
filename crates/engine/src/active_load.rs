//! A load in progress, as its coordinator sees it: which leaves run, what they reported, and when the load is over.

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
use crate::liveness::{Liveness, RequestedEnd, WorkerSilence};
use crate::messages::{CoordinatorInput, IterationNumbers, LeafShared, WorkerCommand, WorkerReport};
use crate::tree::LoadTree;

/// Time between a command to the threads of this process and the instant at which its leaf begins. It lets all threads begin together.
const THREAD_LEAD_NS: Nanos = 2_000_000;

/// How the coordinator reaches one worker or agent.
pub(crate) enum CommandSink {
    Worker(mpsc::Sender<WorkerCommand>),
    Agent(Box<dyn Fn(AgentCommand)>),
}

impl CommandSink {
    /// A blocked worker must not block the coordinator, too: it may lose a command.
    fn send(&self, command: &WorkerCommand, is_blocked: bool) {
        match self {
            CommandSink::Worker(worker) if is_blocked => _ = worker.try_send(command.clone()),
            // A worker that has ended has reported its end, or will.
            CommandSink::Worker(worker) => _ = worker.blocking_send(command.clone()),
            CommandSink::Agent(send) => _ = command.of_agent().map(send),
        }
    }
}

/// The clock of the load, and the time that a command takes to arrive.
pub(crate) struct Pacing {
    pub(crate) clock: Clock,
    pub(crate) lead_ns: Nanos,
}

impl Pacing {
    pub(crate) fn for_threads() -> Self {
        Self::of_agents(THREAD_LEAD_NS)
    }

    pub(crate) fn of_agents(lead_ns: Nanos) -> Self {
        Self { clock: Clock::real(Monotonic::start()), lead_ns }
    }
}

/// Walks the load tree, sends the workers their commands, and forwards the snapshots they report.
pub(crate) struct ActiveLoad<'a> {
    tree: LoadTree,
    /// Its zero becomes the run's zero when every worker is ready.
    clock: Clock,
    lead_ns: Nanos,
    workers: Vec<CommandSink>,
    /// Workers that are ready. Used until the load begins.
    ready: BTreeSet<usize>,
    has_begun: bool,
    on_event: &'a mut dyn FnMut(LoadEvent) -> Option<LoadControl>,
    snapshots: SnapshotAssembly,
    /// Set-up leaves, and the scenario of each. Later leaves depend on them.
    set_ups: BTreeMap<u32, String>,
    /// By leaf: how long it waits after the load tree has reached it.
    start_after_ns: Vec<u64>,
    /// The leaf of the tear-down, until it begins.
    tear_down: Option<u32>,
    tearing_down: bool,
    /// Per leaf: workers that have not yet ended it.
    running: BTreeMap<u32, BTreeSet<usize>>,
    /// Workers that have ended.
    done: BTreeSet<usize>,
    /// Agents that were lost. A subset of `done`.
    lost: BTreeSet<usize>,
    /// Threads that did not respond any more. A subset of `lost`.
    abandoned: Vec<usize>,
    /// `None`: agents, whose loss the fleet detects.
    liveness: Option<Liveness>,
    /// Events for the next snapshot's marks.
    marks: Vec<Mark>,
    newly_lost: Vec<AgentSlice>,
    /// Handovers to send to the remaining agents when the load begins.
    handovers: Vec<AgentCommand>,
    /// The workers have received the command to end.
    finishing: bool,
    /// The run continues after its load.
    lingers: bool,
    /// The run is in that phase now.
    lingering: bool,
    reason: Option<StopReason>,
    broke: Option<WorkerError>,
}

impl<'a> ActiveLoad<'a> {
    pub(crate) fn new(
        plan: &TestPlan,
        workers: Vec<CommandSink>,
        pacing: Pacing,
        lingers: bool,
        on_event: &'a mut dyn FnMut(LoadEvent) -> Option<LoadControl>,
    ) -> Self {
        Self {
            tree: LoadTree::new(&plan.load),
            clock: pacing.clock,
            lead_ns: pacing.lead_ns,
            liveness: matches!(workers.first(), Some(CommandSink::Worker(_))).then(|| Liveness::new(workers.len())),
            abandoned: Vec::new(),
            ready: BTreeSet::new(),
            has_begun: false,
            snapshots: match workers.first() {
                Some(CommandSink::Agent(_)) => SnapshotAssembly::of_agents(workers.len(), plan.options.series_max),
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

    /// Runs the load to its end, driven by reports of the workers and requests of others. Also returns the workers that must not be waited for.
    pub(crate) fn run(mut self, inputs: &Receiver<CoordinatorInput>) -> (LoadEnding, Vec<usize>) {
        while !self.is_over() {
            match inputs.recv_timeout(Duration::from_millis(500)) {
                Ok(input) => self.take(input),
                Err(RecvTimeoutError::Timeout) => self.forward_late(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.check_workers();
        }
        let abandoned = std::mem::take(&mut self.abandoned);
        (self.end(), abandoned)
    }

    /// Reports blocked workers, and continues without them when it is time.
    fn check_workers(&mut self) {
        let now = self.clock.now();
        let (done, ready) = (&self.done, &self.ready);
        let silences = match &mut self.liveness {
            // Before it is ready, a worker is silent and may still use what the caller owns.
            Some(liveness) if self.has_begun => liveness.check(now, |worker| ready.contains(&worker) && !done.contains(&worker)),
            _ => return,
        };
        for silence in silences {
            let (WorkerSilence::Notice(worker) | WorkerSilence::Abandon(worker)) = silence;
            self.marks.push(Mark { at: now, kind: MarkKind::Warning, text: silence.text(worker as u32) });
            match silence {
                WorkerSilence::Notice(_) => {
                    // Without parts of other workers, no second would carry the mark.
                    if !self.snapshots.has_parts() {
                        let slice = self.snapshots.take_number(now);
                        self.second(Box::new(Snapshot { slice, start: now, end: now, ..Snapshot::default() }), false);
                    }
                }
                WorkerSilence::Abandon(worker) => self.abandon(worker),
            }
        }
    }

    fn abandon(&mut self, worker: usize) {
        self.abandoned.push(worker);
        self.lost.insert(worker);
        self.done.insert(worker);
        self.snapshots.lose(worker);
        self.break_off(WorkerError::Blocked { worker: worker as u32 });
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
            // Before the load begins there is nothing to scale or to release. Only an agent receives commands.
            CoordinatorInput::Control(_) | CoordinatorInput::Command(_) => {}
        }
    }

    /// Forwards the seconds for which a worker was silent too long.
    pub(crate) fn forward_late(&mut self) {
        while let Some(snapshot) = self.snapshots.take_late(self.clock.now()) {
            self.second(snapshot, false);
        }
    }

    /// Forwards the remaining seconds after the load has ended.
    pub(crate) fn end(mut self) -> LoadEnding {
        while let Some((snapshot, is_last)) = self.snapshots.take_rest() {
            self.second(snapshot, is_last);
        }
        // Marks that came after the last second must be recorded, too.
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

    /// Begins the load when every worker that was not lost is ready.
    fn begin_when_ready(&mut self) {
        let is_ready = self.ready.union(&self.lost).count() >= self.workers.len();
        if self.has_begun || !is_ready || self.broke.is_some() || self.reason.is_some() {
            return;
        }
        self.has_begun = true;
        let zero = Monotonic::start();
        self.clock.begin(zero);
        if let Some(liveness) = &mut self.liveness {
            liveness.begin(self.clock.now());
        }
        self.event(LoadEvent::Ready { zero });
        self.send(&WorkerCommand::Start { zero });
        std::mem::take(&mut self.handovers).iter().for_each(|handover| self.send_to_agents(handover));
        let first = self.tree.begin();
        self.begin_leaves(first);
    }

    /// Ends the run without beginning its load.
    fn give_up(&mut self) {
        self.tear_down = None;
        self.finish();
    }

    fn second(&mut self, mut snapshot: Box<Snapshot>, is_last: bool) {
        snapshot.marks.append(&mut self.marks);
        snapshot.agents.append(&mut self.newly_lost);
        self.event(if is_last { LoadEvent::LastSnapshot(snapshot) } else { LoadEvent::Snapshot(snapshot) });
    }

    fn send(&self, command: &WorkerCommand) {
        for (number, worker) in self.workers.iter().enumerate().filter(|(number, _)| !self.done.contains(number)) {
            let is_blocked = self.liveness.as_ref().is_some_and(|liveness| liveness.may_be_blocked(number));
            worker.send(command, is_blocked);
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
            self.send(&WorkerCommand::Begin { leaf, at, shared });
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

    /// Ends the workers. Runs the tear-down first if the workers can still run it.
    fn finish(&mut self) {
        if let Some(leaf) = self.tear_down.take()
            && self.broke.is_none()
        {
            self.tearing_down = true;
            (self.lingers, self.lingering) = (false, false);
            self.begin_leaves(vec![leaf]);
        } else if !self.finishing && (!self.tearing_down || self.running.is_empty()) {
            self.finishing = true;
            self.send(&WorkerCommand::Finish);
        }
    }

    fn report(&mut self, from: usize, report: WorkerReport) {
        // A lost agent: its share was already reported as missing.
        if self.lost.contains(&from) {
            return;
        }
        if let Some(liveness) = &mut self.liveness {
            liveness.heard(from);
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

    fn request_end(&mut self, request: RequestedEnd) {
        if let Some(liveness) = &mut self.liveness {
            liveness.request(request);
        }
    }

    fn break_off(&mut self, error: WorkerError) {
        self.request_end(RequestedEnd::Stop);
        self.broke.get_or_insert(error);
        if self.has_begun {
            self.running.clear();
            self.tree.stop();
            self.finish();
        } else {
            self.give_up();
        }
    }

    /// Continues the load with the remaining agents.
    fn lose(&mut self, agent: usize, mut why: String, started_before: Option<Nanos>) {
        // The first remaining agent does the work that is done once.
        let was_first = (0..agent).all(|other| self.lost.contains(&other));
        self.lost.insert(agent);
        self.done.insert(agent);
        self.snapshots.lose(agent);
        why += &match self.hand_over(agent, started_before) {
            Some(from) => {
                format!("; the other agents take over its load from {} into the run", loadstone_units::seconds(from as f64 / 1e9))
            }
            None => "; its share of the load is missing from this point".to_owned(),
        };
        self.marks.push(Mark { at: self.clock.now(), kind: MarkKind::Warning, text: why.clone() });
        self.newly_lost.push(AgentSlice { agent: agent as u32, lost: true, ..AgentSlice::default() });
        if self.lost.len() == self.workers.len() {
            return self.break_off(WorkerError::Agent(why));
        }
        self.forward_complete();
        self.begin_when_ready();
        for (leaf, left) in self.running.clone() {
            // If the first agent is lost during a set-up, no agent has the value that the set-up should have returned.
            let is_cut_short = was_first && self.set_ups.contains_key(&leaf) && left.contains(&agent);
            self.leaf_ended(agent, leaf, is_cut_short);
        }
    }

    /// Sends the remaining agents the shares they take over. Returns from when on they generate the lost agent's load, if they do.
    fn hand_over(&mut self, lost: usize, started_before: Option<Nanos>) -> Option<Nanos> {
        let left: Vec<u32> = (0..self.workers.len()).filter(|other| !self.done.contains(other)).map(|other| other as u32).collect();
        let soon = if self.has_begun { self.clock.now() + self.lead_ns } else { 0 };
        let from = started_before.map_or(soon, |before| before.max(soon));
        let (is_of_load, is_anybody_left) = (started_before.is_some(), !left.is_empty());
        let handover = AgentCommand::HandOver { lost: lost as u32, left, from, is_of_load };
        if self.has_begun {
            self.send_to_agents(&handover);
        } else {
            self.handovers.push(handover);
        }
        (is_of_load && is_anybody_left).then_some(from)
    }

    fn send_to_agents(&self, command: &AgentCommand) {
        for (_, post) in self.workers.iter().enumerate().filter(|(number, _)| !self.done.contains(number)) {
            if let CommandSink::Agent(send) = post {
                send(command.clone());
            }
        }
    }

    fn add(&mut self, from: usize, snapshot: Snapshot) {
        self.snapshots.add(from, snapshot);
        self.forward_complete();
    }

    fn forward_complete(&mut self) {
        // When the end is near, snapshots are held back, so that the last one can be marked as last.
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
            LoadControl::Stop(_) => self.request_end(RequestedEnd::Stop),
            LoadControl::Halt(_) => self.request_end(RequestedEnd::Halt),
            LoadControl::Scale(_) | LoadControl::Release => {}
        }
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
            // The tear-down is short and must run however the run ends. A second request interrupts it.
            LoadControl::Stop(_) if self.tearing_down => {}
            LoadControl::Stop(reason) => {
                self.reason.get_or_insert(reason);
                self.tree.stop();
                self.send(&WorkerCommand::Stop);
            }
            LoadControl::Halt(reason) => {
                self.reason.get_or_insert(reason);
                self.tree.stop();
                self.send(&WorkerCommand::Stop);
                self.send(&WorkerCommand::Halt);
            }
            LoadControl::Scale(factor) => {
                let at = self.clock.now() + self.lead_ns;
                self.send(&WorkerCommand::Scale { at, factor });
            }
        }
    }
}
