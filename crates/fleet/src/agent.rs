//! An agent's side of a fleet, without I/O and without a clock. Its inputs are packets and reports, its outputs packets and tasks.
//!
//! Read [`Agent::receive`] and [`Agent::tick`]. An agent serves one run at a time; between runs it announces itself.

use bytes::Bytes;
use loadstone_engine::{AgentCommand, AgentReport};
use loadstone_metrics::Nanos;

use crate::facts::AgentFacts;
use crate::kept::KeptSeconds;
use crate::link::ReliableLink;
use crate::message::{Assignment, ToAgent, ToController, unpack};
use crate::numbers::{HeldNumbers, NumberRequest, NumberSource};
use crate::packet::{Header, PacketKind, version};
use crate::subjects::{self, Outgoing};

/// A peer that is silent for this long counts as lost.
pub const SILENCE_MAX_NS: Nanos = 10_000_000_000;
/// Duration of a lease, if other agents take over the load of a lost one. After the controller last received something from an agent, the agent
/// starts load for this long by its own clock. It has therefore stopped before it counts as lost. If its clock is wrong, the others still generate
/// only arrivals due after that instant, and this agent only those due before.
pub const LEASE_NS: Nanos = 8_000_000_000;
/// Interval at which an agent without a run announces itself.
const ANNOUNCE_INTERVAL_NS: Nanos = 500_000_000;

/// A task for an agent.
#[derive(Debug)]
pub enum AgentTask {
    /// Get ready for this run.
    Prepare(Box<Assignment>),
    Command(AgentCommand),
    /// Numbers that the agent requested, and how many nobody has.
    Numbers {
        source: NumberSource,
        from: u64,
        to: u64,
        left: u64,
    },
    /// Return the unused numbers.
    Recall(NumberSource),
    /// The answer to the question with this number.
    Answer {
        id: u64,
        text: String,
    },
    /// A message from the test's host to its users.
    HostMessage(String),
    /// Store the value that the set-up returned.
    SetUp(String),
    /// The run is over, or its controller has gone: end everything that still runs. The string is the reason.
    Leave(String),
    /// Show this message to the user.
    Show(String),
}

/// One agent.
#[derive(Debug)]
pub struct Agent {
    id: String,
    facts: AgentFacts,
    announce_at: Nanos,
    serving: Option<ServedRun>,
    outgoing: Vec<Outgoing>,
    tasks: Vec<AgentTask>,
    /// A controller of another version has already been reported.
    refused: bool,
    /// The last run has not been cleaned up yet, so no new run is accepted.
    held: bool,
    /// The seconds of the current run.
    keeping: Option<KeptSeconds>,
    /// The seconds of the last run whose controller has gone.
    kept: Option<KeptSeconds>,
    /// The agent ends and accepts no further run. The string is the reason.
    departing: Option<String>,
}

#[derive(Debug)]
struct ServedRun {
    run: String,
    link: ReliableLink,
    last_heard: Nanos,
    /// The latest lease granted. 0: none.
    lease: Nanos,
    /// The last message of its workers is being sent.
    is_done: bool,
    /// The final message is being sent. Nothing follows it.
    is_bye_sent: bool,
}

impl ServedRun {
    fn new(run: String, now: Nanos) -> Self {
        Self { run, link: ReliableLink::default(), last_heard: now, lease: 0, is_done: false, is_bye_sent: false }
    }
}

impl Agent {
    /// `id`: unique among all agents.
    pub fn new(id: String, facts: AgentFacts) -> Self {
        Self {
            id,
            facts,
            announce_at: 0,
            serving: None,
            outgoing: Vec::new(),
            tasks: Vec::new(),
            refused: false,
            held: false,
            keeping: None,
            kept: None,
            departing: None,
        }
    }

    /// The subject that receives the agent's packets.
    pub fn subject(&self) -> String {
        subjects::agent(&self.id)
    }

    /// Whether it is part of a run.
    pub fn is_serving(&self) -> bool {
        self.serving.is_some()
    }

    /// Whether all its messages have arrived, and the load is over.
    pub fn has_delivered(&self) -> bool {
        self.serving.as_ref().is_none_or(|serving| serving.is_done && serving.link.is_settled())
    }

    /// Ends the agent during a run: its load stops, its measurements go to the controller, and a final message follows. `why`: for users.
    pub fn depart(&mut self, why: &str) {
        if self.departing.is_some() {
            return;
        }
        self.departing = Some(why.to_owned());
        if self.held {
            // Its workers send what is left, and end. The final message follows: see `hold`.
            self.tasks.extend([AgentTask::Command(AgentCommand::Halt), AgentTask::Command(AgentCommand::Finish)]);
        } else {
            self.send_bye();
        }
    }

    /// Whether the final message has arrived, or there is no controller to send it to.
    pub fn has_departed(&self) -> bool {
        let is_over = |serving: &ServedRun| serving.is_bye_sent && serving.link.is_settled();
        self.departing.is_some() && self.serving.as_ref().is_none_or(is_over)
    }

    /// Handles a packet from the bus. Foreign packets are ignored.
    pub fn receive(&mut self, bytes: &[u8], now: Nanos) {
        let Some(header) = Header::decode(bytes).filter(|header| header.agent == self.id) else { return };
        if header.version != version() {
            self.refuse(&header);
            return;
        }
        if let Some(kept) = self.kept.as_mut().filter(|kept| self.serving.is_none() && kept.run == header.run) {
            match header.kind {
                PacketKind::Collect if !kept.is_transferring() => kept.give(now),
                PacketKind::Part(part) => kept.receive(part, now),
                _ => {}
            }
            return;
        }
        match (&mut self.serving, header.kind) {
            (None, PacketKind::Claim) if !self.held && self.departing.is_none() => {
                self.serving = Some(ServedRun::new(header.run.clone(), now));
                self.send_packet(&header.run, PacketKind::Pong { sent: 0, at: 0 });
            }
            (Some(serving), kind) if serving.run == header.run => {
                serving.last_heard = now;
                match kind {
                    PacketKind::Ping { sent, written, lease } => {
                        self.keeping.iter_mut().for_each(|keeping| keeping.written(written));
                        // Pings may arrive late, and in any order.
                        if let Some(until) = lease.filter(|until| *until > serving.lease) {
                            serving.lease = until;
                            self.tasks.push(AgentTask::Command(AgentCommand::Lease { until }));
                        }
                        self.send_packet(&header.run, PacketKind::Pong { sent, at: now });
                    }
                    PacketKind::Part(part) => {
                        let messages = serving.link.receive(part);
                        let mut tasks: Vec<AgentTask> = messages.iter().filter_map(|message| unpack(message)).map(task).collect();
                        // The assignment arrived after the final message.
                        tasks.retain(|task| self.departing.is_none() || !matches!(task, AgentTask::Prepare(_)));
                        if let Some(AgentTask::Prepare(assignment)) = tasks.first() {
                            self.keeping = Some(KeptSeconds::new(header.run.clone(), assignment.agent));
                        }
                        self.tasks.extend(tasks);
                    }
                    PacketKind::Bye { why } => {
                        self.keeping = None;
                        self.leave(why);
                    }
                    PacketKind::Claim => self.send_packet(&header.run, PacketKind::Pong { sent: 0, at: 0 }),
                    PacketKind::Announce(_) | PacketKind::Pong { .. } | PacketKind::Collect => {}
                }
            }
            // The packet belongs to a run that the agent does not serve, and its sender must learn that.
            (_, PacketKind::Claim | PacketKind::Collect | PacketKind::Bye { .. }) => {}
            (_, _) => self.send_packet(&header.run, PacketKind::Bye { why: "it is no longer part of this run".to_owned() }),
        }
    }

    /// A controller of another version must not assign work to it. Both the controller and the agent's user are informed.
    fn refuse(&mut self, header: &Header) {
        if header.kind != PacketKind::Claim {
            return;
        }
        let (mine, theirs) = (version(), &header.version);
        let why = format!("agent {} is Loadstone {mine}, the controller {theirs}: use one version for all", self.facts.name);
        if !std::mem::replace(&mut self.refused, true) {
            self.tasks.push(AgentTask::Show(format!("refused a run: {why}")));
        }
        self.send_packet(&header.run.clone(), PacketKind::Bye { why });
    }

    /// Call it about ten times a second, and after each input.
    pub fn tick(&mut self, now: Nanos) {
        if let Some(kept) = &mut self.kept {
            let (run, parts) = (kept.run.clone(), kept.due(now, SILENCE_MAX_NS));
            parts.into_iter().for_each(|part| self.send_packet(&run, PacketKind::Part(part)));
        }
        match &mut self.serving {
            None if now >= self.announce_at && !self.held && self.departing.is_none() => {
                self.announce_at = now + ANNOUNCE_INTERVAL_NS;
                let keeps = self.kept.as_ref().map(|kept| kept.run.clone());
                let header = self.header("", PacketKind::Announce(AgentFacts { keeps, ..self.facts.clone() }));
                self.outgoing.push(Outgoing { subject: subjects::ANNOUNCE.to_owned(), bytes: header.encode() });
            }
            None => {}
            Some(serving) if now > serving.last_heard + SILENCE_MAX_NS => {
                self.leave(format!("the controller sent nothing for {} s", SILENCE_MAX_NS / 1_000_000_000));
            }
            Some(serving) => {
                let (run, parts) = (serving.run.clone(), serving.link.due(now));
                parts.into_iter().for_each(|part| self.send_packet(&run, PacketKind::Part(part)));
            }
        }
    }

    /// Sets whether the agent accepts no new run although it serves none. When it is released, the seconds of the last run are complete.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
        self.keep_remaining();
        if !held && self.departing.is_some() {
            self.send_bye();
        }
    }

    /// Handles a report of its workers to the controller.
    pub fn report(&mut self, report: AgentReport) {
        // After the load was broken off, only measurements count.
        if self.departing.is_some() && !matches!(report, AgentReport::Snapshot(_)) {
            return;
        }
        if let Some(message) = ToController::of_report(report) {
            if let ToController::Snapshot(snapshot, _) = &message {
                let (number, packed) = (snapshot.slice, Bytes::from(message.pack()));
                self.keeping.iter_mut().for_each(|keeping| keeping.add(number, packed.clone()));
                return self.serving.iter_mut().for_each(|serving| serving.link.send(packed.clone()));
            }
            if let Some(serving) = &mut self.serving {
                serving.is_done |= matches!(message, ToController::Done | ToController::Broke(_));
            }
            self.send(message);
        }
    }

    /// Reports that the agent could not get ready.
    pub fn fail(&mut self, why: String) {
        self.report(AgentReport::Broke(why));
    }

    pub fn ask_numbers(&mut self, request: NumberRequest) {
        self.send(ToController::Numbers(request));
    }

    /// Reports which of the lent numbers it holds, if that has changed.
    pub fn report_held(&mut self, held: Vec<HeldNumbers>) {
        if !held.is_empty() {
            self.send(ToController::Held(held));
        }
    }

    /// Answers [`AgentTask::Recall`].
    pub fn give_back(&mut self, back: HeldNumbers) {
        self.send(ToController::Back(back));
    }

    /// Asks the test's host. The answer carries the same number.
    pub fn ask(&mut self, id: u64, text: String) {
        self.send(ToController::Ask { id, text });
    }

    /// Sends a message to the test's host.
    pub fn send_to_host(&mut self, text: String) {
        self.send(ToController::HostMessage(text));
    }

    /// Sends the value that the set-up returned, which every other agent needs.
    pub fn share_set_up(&mut self, json: String) {
        self.send(ToController::SetUp(json));
    }

    /// Sends a line that the test printed.
    pub fn line(&mut self, text: String) {
        self.send(ToController::Line(text));
    }

    pub fn take_outgoing(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.outgoing)
    }

    pub fn take_tasks(&mut self) -> Vec<AgentTask> {
        std::mem::take(&mut self.tasks)
    }

    /// Keeps the seconds of a run that is over if its controller did not confirm them.
    fn keep_remaining(&mut self) {
        if self.serving.is_none() && !self.held && self.keeping.is_some() {
            self.kept = self.keeping.take();
        }
    }

    fn send_bye(&mut self) {
        let (Some(why), Some(serving)) = (&self.departing, &mut self.serving) else { return };
        if !std::mem::replace(&mut serving.is_bye_sent, true) {
            serving.link.send(ToController::Gone(why.clone()).pack());
        }
    }

    fn leave(&mut self, why: String) {
        self.serving = None;
        self.keep_remaining();
        self.announce_at = 0;
        self.tasks.push(AgentTask::Leave(why));
    }

    fn send(&mut self, message: ToController) {
        if let Some(serving) = &mut self.serving {
            serving.link.send(message.pack());
        }
    }

    fn header(&self, run: &str, kind: PacketKind) -> Header {
        Header { version: version(), run: run.to_owned(), agent: self.id.clone(), kind }
    }

    fn send_packet(&mut self, run: &str, kind: PacketKind) {
        let bytes = self.header(run, kind).encode();
        self.outgoing.push(Outgoing { subject: subjects::run(run), bytes });
    }
}

fn task(message: ToAgent) -> AgentTask {
    match message {
        ToAgent::Assignment(assignment) => AgentTask::Prepare(assignment),
        ToAgent::Command(command) => AgentTask::Command(command.into()),
        ToAgent::Numbers { source, from, to, left } => AgentTask::Numbers { source, from, to, left },
        ToAgent::Recall(source) => AgentTask::Recall(source),
        ToAgent::Answer { id, text } => AgentTask::Answer { id, text },
        ToAgent::HostMessage(text) => AgentTask::HostMessage(text),
        ToAgent::SetUp(json) => AgentTask::SetUp(json),
    }
}
