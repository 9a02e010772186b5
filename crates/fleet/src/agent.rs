//! An agent's side of a fleet, without I/O and without a clock: packets and reports in, packets and what is to be done out.
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

/// Whoever hears nothing of the other for so long gives it up.
pub const SILENCE_MAX_NS: Nanos = 10_000_000_000;
/// Where others make the part of an agent that is lost, it starts load for so long after the controller has last heard of it, by its own clock. So it has
/// stopped before it is lost; should its clock go wrong, others still make only what is due after that instant, and it only what is due before.
pub const LEASE_NS: Nanos = 8_000_000_000;
/// How often an agent without a run says that it is there.
const ANNOUNCE_NS: Nanos = 500_000_000;

/// What an agent is to do.
#[derive(Debug)]
pub enum AgentTask {
    /// Get ready for this run.
    Prepare(Box<Assignment>),
    Command(AgentCommand),
    /// Numbers that were asked for, and how many nobody has.
    Numbers {
        source: NumberSource,
        from: u64,
        to: u64,
        left: u64,
    },
    /// Give back the numbers that are not used.
    Recall(NumberSource),
    /// To a question, by its number.
    Answer {
        id: u64,
        text: String,
    },
    /// What the test's host tells its users.
    Told(String),
    /// Keep what the set-up returned.
    SetUp(String),
    /// The run is over, or its controller has gone: end at once whatever still runs. Why.
    Leave(String),
    /// Say this to people.
    Say(String),
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
    /// A controller of another version has been told of.
    refused: bool,
    /// The last run is not cleared away yet: no new one is taken.
    held: bool,
    /// Of the run that it serves.
    keeping: Option<KeptSeconds>,
    /// Of the last run whose controller has gone.
    kept: Option<KeptSeconds>,
    /// It is to end, and takes no run any more. Why.
    departing: Option<String>,
}

#[derive(Debug)]
struct ServedRun {
    run: String,
    link: ReliableLink,
    heard: Nanos,
    /// The latest that it was granted; 0: none.
    lease: Nanos,
    /// Its last message is on its way.
    is_done: bool,
    /// So is its goodbye, behind which there is nothing.
    said_goodbye: bool,
}

impl ServedRun {
    fn new(run: String, now: Nanos) -> Self {
        Self { run, link: ReliableLink::default(), heard: now, lease: 0, is_done: false, said_goodbye: false }
    }
}

impl Agent {
    /// `id`: like no other agent's.
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

    /// Where packets for it go to.
    pub fn subject(&self) -> String {
        subjects::agent(&self.id)
    }

    /// It is part of a run.
    pub fn is_serving(&self) -> bool {
        self.serving.is_some()
    }

    /// Everything that it said has arrived, and the load is over.
    pub fn has_delivered(&self) -> bool {
        self.serving.as_ref().is_none_or(|serving| serving.is_done && serving.link.is_settled())
    }

    /// Lets it end in mid-run: its load stops, what it has measured goes to the controller, and then its goodbye. `why`: for people.
    pub fn depart(&mut self, why: &str) {
        if self.departing.is_some() {
            return;
        }
        self.departing = Some(why.to_owned());
        if self.held {
            // Its workers hand over what is left, and end; the goodbye follows, see `hold`.
            self.tasks.extend([AgentTask::Command(AgentCommand::Halt), AgentTask::Command(AgentCommand::Finish)]);
        } else {
            self.say_goodbye();
        }
    }

    /// Nobody misses it any more: its goodbye has arrived, or there is nobody to say it to.
    pub fn has_departed(&self) -> bool {
        let is_over = |serving: &ServedRun| serving.said_goodbye && serving.link.is_settled();
        self.departing.is_some() && self.serving.as_ref().is_none_or(is_over)
    }

    /// Takes a packet from the bus. What is no packet of ours is left alone.
    pub fn receive(&mut self, bytes: &[u8], now: Nanos) {
        let Some(header) = Header::decode(bytes).filter(|header| header.agent == self.id) else { return };
        if header.version != version() {
            self.refuse(&header);
            return;
        }
        if let Some(kept) = self.kept.as_mut().filter(|kept| self.serving.is_none() && kept.run == header.run) {
            match header.kind {
                PacketKind::Collect if !kept.is_given() => kept.give(now),
                PacketKind::Part(part) => kept.receive(part, now),
                _ => {}
            }
            return;
        }
        match (&mut self.serving, header.kind) {
            (None, PacketKind::Claim) if !self.held && self.departing.is_none() => {
                self.serving = Some(ServedRun::new(header.run.clone(), now));
                self.say(&header.run, PacketKind::Pong { sent: 0, at: 0 });
            }
            (Some(serving), kind) if serving.run == header.run => {
                serving.heard = now;
                match kind {
                    PacketKind::Ping { sent, written, lease } => {
                        self.keeping.iter_mut().for_each(|keeping| keeping.written(written));
                        // Pings may come late, and in any order.
                        if let Some(until) = lease.filter(|until| *until > serving.lease) {
                            serving.lease = until;
                            self.tasks.push(AgentTask::Command(AgentCommand::Lease { until }));
                        }
                        self.say(&header.run, PacketKind::Pong { sent, at: now });
                    }
                    PacketKind::Part(part) => {
                        let messages = serving.link.receive(part);
                        let mut tasks: Vec<AgentTask> = messages.iter().filter_map(|message| unpack(message)).map(task).collect();
                        // It came after the goodbye.
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
                    PacketKind::Claim => self.say(&header.run, PacketKind::Pong { sent: 0, at: 0 }),
                    PacketKind::Announce(_) | PacketKind::Pong { .. } | PacketKind::Collect => {}
                }
            }
            // Of a run that it does not serve any more, or never did: whoever asks is to know.
            (_, PacketKind::Claim | PacketKind::Collect | PacketKind::Bye { .. }) => {}
            (_, _) => self.say(&header.run, PacketKind::Bye { why: "it is no part of this run any more".to_owned() }),
        }
    }

    /// A controller of another version must not give it work, and is told so; so is whoever looks after the agent.
    fn refuse(&mut self, header: &Header) {
        if header.kind != PacketKind::Claim {
            return;
        }
        let (mine, theirs) = (version(), &header.version);
        let why = format!("agent {} is Loadstone {mine}, the controller {theirs}: use one version for all", self.facts.name);
        if !std::mem::replace(&mut self.refused, true) {
            self.tasks.push(AgentTask::Say(format!("refused a run: {why}")));
        }
        self.say(&header.run.clone(), PacketKind::Bye { why });
    }

    /// To be called some ten times a second, and after anything was given to it.
    pub fn tick(&mut self, now: Nanos) {
        if let Some(kept) = &mut self.kept {
            let (run, parts) = (kept.run.clone(), kept.due(now, SILENCE_MAX_NS));
            parts.into_iter().for_each(|part| self.say(&run, PacketKind::Part(part)));
        }
        match &mut self.serving {
            None if now >= self.announce_at && !self.held && self.departing.is_none() => {
                self.announce_at = now + ANNOUNCE_NS;
                let keeps = self.kept.as_ref().map(|kept| kept.run.clone());
                let header = self.header("", PacketKind::Announce(AgentFacts { keeps, ..self.facts.clone() }));
                self.outgoing.push(Outgoing { subject: subjects::ANNOUNCE.to_owned(), bytes: header.encode() });
            }
            None => {}
            Some(serving) if now > serving.heard + SILENCE_MAX_NS => {
                self.leave(format!("nothing was heard of the controller for {} s", SILENCE_MAX_NS / 1_000_000_000));
            }
            Some(serving) => {
                let (run, parts) = (serving.run.clone(), serving.link.due(now));
                parts.into_iter().for_each(|part| self.say(&run, PacketKind::Part(part)));
            }
        }
    }

    /// Whether it takes no new run, though it serves none. What it kept of the last one is all there is, then.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
        self.keep_what_is_left();
        if !held && self.departing.is_some() {
            self.say_goodbye();
        }
    }

    /// What its workers tell the controller.
    pub fn report(&mut self, report: AgentReport) {
        // Of a load that was broken off, only what was measured counts.
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

    /// It could not get ready.
    pub fn fail(&mut self, why: String) {
        self.report(AgentReport::Broke(why));
    }

    pub fn ask_numbers(&mut self, request: NumberRequest) {
        self.send(ToController::Numbers(request));
    }

    /// What it has of the numbers that it was lent, where that has changed.
    pub fn tell_held(&mut self, held: Vec<HeldNumbers>) {
        if !held.is_empty() {
            self.send(ToController::Held(held));
        }
    }

    /// Answers [`AgentTask::Recall`].
    pub fn give_back(&mut self, back: HeldNumbers) {
        self.send(ToController::Back(back));
    }

    /// Asks the test's host; the answer comes with this number.
    pub fn ask(&mut self, id: u64, text: String) {
        self.send(ToController::Ask { id, text });
    }

    /// Tells the test's host.
    pub fn tell(&mut self, text: String) {
        self.send(ToController::Tell(text));
    }

    /// What the set-up returned, which every other agent needs, too.
    pub fn tell_set_up(&mut self, json: String) {
        self.send(ToController::SetUp(json));
    }

    /// A line that the test printed.
    pub fn line(&mut self, text: String) {
        self.send(ToController::Line(text));
    }

    pub fn take_outgoing(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.outgoing)
    }

    pub fn take_tasks(&mut self) -> Vec<AgentTask> {
        std::mem::take(&mut self.tasks)
    }

    /// The seconds of a run that is over, and whose controller did not say so.
    fn keep_what_is_left(&mut self) {
        if self.serving.is_none() && !self.held && self.keeping.is_some() {
            self.kept = self.keeping.take();
        }
    }

    fn say_goodbye(&mut self) {
        let (Some(why), Some(serving)) = (&self.departing, &mut self.serving) else { return };
        if !std::mem::replace(&mut serving.said_goodbye, true) {
            serving.link.send(ToController::Gone(why.clone()).pack());
        }
    }

    fn leave(&mut self, why: String) {
        self.serving = None;
        self.keep_what_is_left();
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

    fn say(&mut self, run: &str, kind: PacketKind) {
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
        ToAgent::Told(text) => AgentTask::Told(text),
        ToAgent::SetUp(json) => AgentTask::SetUp(json),
    }
}
