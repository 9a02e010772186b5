//! The controller's side of a fleet, without I/O and without a clock. Its inputs are packets and commands, its outputs packets and news.
//!
//! Read [`Controller::receive`] and [`Controller::tick`]. It gathers agents, assigns each its share of the run, and forwards their reports. The
//! engine interprets the reports: it walks the load tree over agents as over workers.

use std::collections::BTreeSet;

use loadstone_engine::{AgentCommand, AgentReport};
use loadstone_metrics::{AgentSlice, Nanos, Snapshot, TaggedSlice, Tags};

use crate::agent::{LEASE_NS, SILENCE_MAX_NS};
use crate::facts::AgentFacts;
use crate::leases::{LeaseAnswer, NumberLeases};
use crate::link::ReliableLink;
use crate::message::{Assignment, ToAgent, ToController, WireCommand, pack};
use crate::offset::{ClockOffset, OffsetReading};
use crate::packet::{Header, PacketKind, version};
use crate::subjects::{self, Outgoing};

/// Intervals at which agents are asked for their clock: before the load, and during it.
const PING_INTERVALS_NS: (Nanos, Nanos) = (50_000_000, 500_000_000);

/// Results are grouped by at most this many labels, and by labels with at most this many values.
const GROUPING_LABELS_MAX: usize = 2;
const GROUPING_VALUES_MAX: usize = 8;

/// How long a place is reserved for an agent that does not answer.
const CLAIM_MAX_NS: Nanos = 2_000_000_000;

/// An event for the owner of the controller.
#[derive(Debug)]
pub enum FleetNews {
    /// All requested agents have joined.
    Gathered(Vec<AgentFacts>),
    /// An agent cannot be used. The string is the reason.
    Refused(String),
    Report {
        agent: usize,
        report: AgentReport,
    },
    /// A line that the test printed on an agent.
    Line(String),
    /// A question to the test's host. Answer it with [`Controller::answer`].
    Asked {
        agent: usize,
        id: u64,
        text: String,
    },
    /// A message to the test's host.
    HostMessage {
        agent: usize,
        text: String,
    },
}

/// The controller of one run.
#[derive(Debug)]
pub struct Controller {
    run: String,
    wanted: usize,
    members: Vec<Member>,
    /// Every agent's clock was read often enough, and this was reported.
    gathered: bool,
    started: bool,
    /// Other agents take over the load of a lost one, so agents start load only during their leases.
    replaces: bool,
    /// When the run began.
    run_zero: Nanos,
    numbers: NumberLeases,
    outgoing: Vec<Outgoing>,
    news: Vec<FleetNews>,
}

/// One agent of the run.
#[derive(Debug)]
struct Member {
    id: String,
    facts: AgentFacts,
    link: ReliableLink,
    /// When the agent last sent something. `None` until it has answered its claim.
    last_heard: Option<Nanos>,
    claimed: Nanos,
    ping_at: Nanos,
    clock: ClockOffset,
    /// All its seconds before this one are on disk.
    written: u32,
    /// The reading from which its zero was computed.
    zero: Option<OffsetReading>,
    /// Labels by which results are grouped: see [`parts_by_label`].
    parts: Vec<Tags>,
    /// Its load has ended. It is dismissed when all its seconds are on disk, since it keeps them until then.
    is_done: bool,
    /// Its seconds before this one have arrived.
    received: u32,
    /// When the last of these ended, on the run's clock.
    received_until: Nanos,
    /// The end of the longest lease sent to it, on the run's clock.
    lease: Nanos,
    /// It was dismissed, or was lost.
    is_gone: bool,
}

impl Controller {
    /// `run`: a unique id. `wanted`: the number of agents required.
    pub fn new(run: String, wanted: usize) -> Self {
        Self {
            run,
            wanted,
            members: Vec::new(),
            gathered: false,
            started: false,
            replaces: false,
            run_zero: 0,
            numbers: NumberLeases::default(),
            outgoing: Vec::new(),
            news: Vec::new(),
        }
    }

    /// Lets the other agents take over the load of a lost one. Call it before [`Self::assign`].
    pub fn replace_lost(&mut self) {
        self.replaces = true;
    }

    /// The subjects that receive the controller's packets.
    pub fn subjects(&self) -> [String; 2] {
        [subjects::ANNOUNCE.to_owned(), subjects::run(&self.run)]
    }

    /// Number of agents that have answered so far.
    pub fn joined(&self) -> usize {
        self.members.iter().filter(|member| member.last_heard.is_some()).count()
    }

    /// Handles a packet from the bus. Foreign packets are ignored.
    pub fn receive(&mut self, bytes: &[u8], now: Nanos) {
        let Some(Header { version: theirs, run, agent, kind }) = Header::decode(bytes) else { return };
        if let PacketKind::Announce(facts) = kind {
            return self.claim(agent, facts, &theirs, now);
        }
        let Some(number) = self.members.iter().position(|member| member.id == agent).filter(|_| run == self.run) else { return };
        if let PacketKind::Bye { why } = kind {
            return self.handle_bye(number, why);
        }
        let member = &mut self.members[number];
        if member.is_gone {
            let why = "the run continues without it".to_owned();
            return self.send_packet(number, PacketKind::Bye { why });
        }
        member.last_heard = Some(now);
        match kind {
            PacketKind::Pong { sent, at } if sent > 0 => member.clock.add(sent, at, now),
            PacketKind::Part(part) => {
                for message in member.link.receive(part).iter().filter_map(|message| ToController::unpack(message)) {
                    self.handle_message(number, message);
                }
            }
            _ => {}
        }
    }

    fn claim(&mut self, id: String, facts: AgentFacts, theirs: &str, now: Nanos) {
        if theirs != version() {
            let text = format!("agent {} is Loadstone {theirs}, this is {}: use one version for all", facts.name, version());
            return self.news.push(FleetNews::Refused(text));
        }
        // An agent that announces itself after its claim did not receive the claim.
        let number = match self.members.iter().position(|member| member.id == id) {
            Some(number) if self.members[number].last_heard.is_none() => number,
            Some(_) => return,
            None => {
                // A claim that was not answered in time frees its place.
                let is_free = |member: &Member| member.last_heard.is_none() && now > member.claimed + CLAIM_MAX_NS;
                match self.members.iter().position(is_free) {
                    Some(free) => {
                        self.members[free] = Member::new(id, facts, now);
                        free
                    }
                    None if self.members.len() < self.wanted => {
                        self.members.push(Member::new(id, facts, now));
                        self.members.len() - 1
                    }
                    None => return,
                }
            }
        };
        self.send_packet(number, PacketKind::Claim);
    }

    fn handle_bye(&mut self, number: usize, why: String) {
        let member = &mut self.members[number];
        match member.last_heard {
            // The agent refuses. Another agent may take its place.
            None => {
                self.members.remove(number);
                self.news.push(FleetNews::Refused(why));
            }
            Some(_) if !self.gathered => _ = self.members.remove(number),
            Some(_) => self.lose(number, &why),
        }
    }

    fn handle_message(&mut self, agent: usize, message: ToController) {
        let report = match message {
            ToController::Ready => AgentReport::Ready,
            ToController::Snapshot(mut snapshot, events) => {
                snapshot.flow_events = events;
                self.members[agent].received = snapshot.slice.saturating_add(1);
                self.members[agent].received_until = snapshot.end.max(self.members[agent].received_until);
                snapshot.agents.push(AgentSlice { seconds_received: snapshot.slice.saturating_add(1), ..self.members[agent].slice(agent) });
                self.members[agent].parts.iter().for_each(|tags| add_part(&mut snapshot, tags));
                AgentReport::Snapshot(snapshot)
            }
            ToController::LeafEnded { leaf, threw } => AgentReport::LeafEnded { leaf, threw },
            ToController::Done => {
                self.members[agent].is_done = true;
                AgentReport::Done
            }
            ToController::Broke(why) => {
                self.members[agent].is_gone = true;
                let name = self.members[agent].facts.shown();
                AgentReport::Broke(format!("agent {name}: {why}"))
            }
            ToController::Numbers(request) => {
                let answers = self.numbers.ask(agent, self.staying(), request);
                return self.send_answers(answers);
            }
            ToController::Back(back) => {
                let answers = self.numbers.give_back(agent, self.staying(), back);
                return self.send_answers(answers);
            }
            ToController::Held(held) => return held.into_iter().for_each(|held| self.numbers.record_held(agent, held)),
            ToController::Ask { id, text } => return self.news.push(FleetNews::Asked { agent, id, text }),
            ToController::Kept { .. } => return,
            ToController::HostMessage(text) => return self.news.push(FleetNews::HostMessage { agent, text }),
            ToController::SetUp(json) => {
                let others = self.members.iter_mut().enumerate().filter(|(number, _)| *number != agent);
                return others.for_each(|(_, member)| member.link.send(pack(&ToAgent::SetUp(json.clone()))));
            }
            ToController::Line(text) => return self.news.push(FleetNews::Line(text)),
            ToController::Gone(why) => return self.let_go(agent, &why),
        };
        self.news.push(FleetNews::Report { agent, report });
    }

    /// Limits each agent to this many of its workers. Call it before [`Self::assign`].
    pub fn use_workers(&mut self, workers: &[u32]) {
        for (member, workers) in self.members.iter_mut().zip(workers) {
            member.facts.workers = *workers;
        }
    }

    /// Assigns each agent its share of a run. `test`: the test in the form that the agent's process can load.
    pub fn assign(&mut self, test: &str) {
        let workers: Vec<u32> = self.members.iter().map(|member| member.facts.workers).collect();
        let firsts: Vec<u32> = workers.iter().scan(0, |next, here| Some(std::mem::replace(next, *next + here))).collect();
        let facts: Vec<AgentFacts> = self.members.iter().map(|member| member.facts.clone()).collect();
        for (number, member) in self.members.iter_mut().enumerate() {
            member.parts = parts_by_label(&facts, number);
            let assignment = Assignment {
                agent: number as u32,
                first_worker: firsts[number],
                workers: workers[number],
                workers_of_all: workers.iter().sum(),
                firsts: firsts.clone(),
                test: test.to_owned(),
            };
            member.link.send(pack(&ToAgent::Assignment(Box::new(assignment))));
        }
    }

    /// Sends a command of the load to an agent.
    pub fn send_command(&mut self, agent: usize, command: &AgentCommand) {
        let member = &mut self.members[agent];
        let mut ahead_ns = 0;
        let mut lease = None;
        if let AgentCommand::Start { zero } = command {
            member.zero = member.clock.best();
            ahead_ns = member.zero.map_or(0, |reading| reading.ahead_ns);
            (self.started, self.run_zero) = (true, zero.origin_ns());
            lease = self.replaces.then_some(AgentCommand::Lease { until: LEASE_NS });
            member.lease = LEASE_NS;
        }
        for command in [command].into_iter().chain(&lease) {
            member.link.send(pack(&ToAgent::Command(WireCommand::new(command, ahead_ns))));
        }
    }

    /// Records that all seconds of an agent before this one are on disk.
    pub fn written(&mut self, agent: usize, before: u32) {
        self.members[agent].written = self.members[agent].written.max(before);
    }

    /// Answers a question of an agent.
    pub fn answer(&mut self, agent: usize, id: u64, text: String) {
        self.members[agent].link.send(pack(&ToAgent::Answer { id, text }));
    }

    /// Sends a message to an agent's users.
    pub fn inform(&mut self, agent: usize, text: String) {
        self.members[agent].link.send(pack(&ToAgent::HostMessage(text)));
    }

    /// Number of agents that are still part of the run.
    fn staying(&self) -> usize {
        self.members.iter().filter(|member| !member.is_gone && !member.is_done).count()
    }

    fn send_answers(&mut self, answers: Vec<LeaseAnswer>) {
        for (agent, answer) in answers {
            self.members[agent].link.send(pack(&answer));
        }
    }

    /// Call it about ten times a second, and after each input.
    pub fn tick(&mut self, now: Nanos) {
        for number in 0..self.members.len() {
            let member = &mut self.members[number];
            let parts = member.link.due(now);
            let is_silent = !member.is_gone && member.last_heard.is_some_and(|last_heard| now > last_heard + SILENCE_MAX_NS);
            if !member.is_gone && member.last_heard.is_some() && now >= member.ping_at {
                member.ping_at = now + if self.started { PING_INTERVALS_NS.1 } else { PING_INTERVALS_NS.0 };
                let (written, lease) = (self.members[number].written, self.renewed_lease(number));
                self.send_packet(number, PacketKind::Ping { sent: now, written, lease });
            }
            if self.members[number].last_heard.is_none() && now < self.members[number].claimed + CLAIM_MAX_NS {
                self.send_packet(number, PacketKind::Claim);
            }
            if !self.members[number].is_gone {
                parts.into_iter().for_each(|part| self.send_packet(number, PacketKind::Part(part)));
            }
            let member = &mut self.members[number];
            if member.is_done && !member.is_gone && member.written >= member.received {
                member.is_gone = true;
                self.send_packet(number, PacketKind::Bye { why: "the run is over".to_owned() });
            } else if is_silent && self.gathered {
                self.lose(number, &format!("it sent nothing for {} s", SILENCE_MAX_NS / 1_000_000_000));
            }
        }
        if !self.gathered {
            // Another agent may take the place.
            self.members.retain(|member| member.last_heard.is_none_or(|last_heard| now <= last_heard + SILENCE_MAX_NS));
        }
        let is_whole = self.members.len() == self.wanted && self.members.iter().all(|member| member.clock.is_known());
        if is_whole && !std::mem::replace(&mut self.gathered, true) {
            self.news.push(FleetNews::Gathered(self.members.iter().map(|member| member.facts.clone()).collect()));
        }
    }

    /// Dismisses all agents, in any state.
    pub fn dismiss(&mut self, why: &str) {
        for number in 0..self.members.len() {
            self.send_packet(number, PacketKind::Bye { why: why.to_owned() });
        }
    }

    pub fn take_outgoing(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.outgoing)
    }

    pub fn take_news(&mut self) -> Vec<FleetNews> {
        std::mem::take(&mut self.news)
    }

    /// Handles an agent that ends and has sent everything it had.
    fn let_go(&mut self, agent: usize, why: &str) {
        if !self.gathered {
            self.send_packet(agent, PacketKind::Bye { why: "it has left the run".to_owned() });
            self.members.remove(agent);
            return;
        }
        let answers = self.numbers.take_back(agent, self.staying());
        self.send_answers(answers);
        // Its seconds contain everything it started, and it starts nothing more.
        self.members[agent].lease = self.members[agent].received_until;
        self.lose(agent, why);
    }

    /// Renews the agent's lease, and returns its end.
    fn renewed_lease(&mut self, agent: usize) -> Option<Nanos> {
        let member = &mut self.members[agent];
        let last_heard = member.last_heard.filter(|_| self.started && self.replaces)?;
        member.lease = member.lease.max((last_heard + LEASE_NS).saturating_sub(self.run_zero));
        Some(member.lease)
    }

    /// Continues the run permanently without this agent: anything it sends later may be incomplete.
    fn lose(&mut self, agent: usize, why: &str) {
        let member = &mut self.members[agent];
        if std::mem::replace(&mut member.is_gone, true) || member.is_done {
            return;
        }
        let member = &self.members[agent];
        let started_before = self.replaces.then_some(member.lease);
        let mut text = format!("agent {} was lost: {why}", member.facts.shown());
        let (uncertain, answers) = self.numbers.lose(agent, self.staying());
        for (count, what, done) in [(uncertain.rows, "rows", "used"), (uncertain.iterations, "iterations", "run")] {
            if count > 0 {
                text += &format!(", and {} {what} reserved for it may not have been {done}", loadstone_units::count(count));
            }
        }
        self.send_answers(answers);
        self.send_packet(agent, PacketKind::Bye { why: "the run continues without it".to_owned() });
        self.news.push(FleetNews::Report { agent, report: AgentReport::Lost { why: text, started_before } });
    }

    fn send_packet(&mut self, number: usize, kind: PacketKind) {
        let agent = self.members[number].id.clone();
        let subject = subjects::agent(&agent);
        let header = Header { version: version(), run: self.run.clone(), agent, kind };
        self.outgoing.push(Outgoing { subject, bytes: header.encode() });
    }
}

impl Member {
    fn new(id: String, facts: AgentFacts, now: Nanos) -> Self {
        Self {
            id,
            facts,
            link: ReliableLink::default(),
            last_heard: None,
            claimed: now,
            ping_at: 0,
            clock: ClockOffset::default(),
            written: 0,
            zero: None,
            parts: Vec::new(),
            is_done: false,
            received: 0,
            received_until: 0,
            lease: 0,
            is_gone: false,
        }
    }

    /// The drift of its clock since the start, and the maximum error of that value.
    fn slice(&self, agent: usize) -> AgentSlice {
        let (zero, now) = (self.zero, self.clock.best());
        let (skew_ns, bound_ns) = zero.zip(now).map_or((0, 0), |(zero, now)| (now.ahead_ns - zero.ahead_ns, now.bound_ns + zero.bound_ns));
        AgentSlice { agent: agent as u32, skew_ns, bound_ns, ..AgentSlice::default() }
    }
}

/// The labels of an agent by which results are grouped: those with several values among the agents, but not a different one for each.
pub(crate) fn parts_by_label(agents: &[AgentFacts], agent: usize) -> Vec<Tags> {
    let values = |label: &str| agents.iter().filter_map(|agent| agent.labels.get(label)).collect::<BTreeSet<_>>().len();
    let is_grouping =
        |label: &str| (2..=GROUPING_VALUES_MAX).contains(&values(label)) && (values(label) < agents.len() || agents.len() == 2);
    let own = agents[agent].labels.iter().filter(|(label, _)| is_grouping(label));
    own.take(GROUPING_LABELS_MAX).map(|(label, value)| Tags::new([(label.as_str(), value.as_str())])).collect()
}

/// Adds a copy of the measurements as the part with these tags.
pub(crate) fn add_part(snapshot: &mut Snapshot, tags: &Tags) {
    let parts = snapshot.series.iter().map(|series| TaggedSlice { tags: tags.clone(), series: series.clone() });
    snapshot.tagged.extend(parts);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Agent, AgentTask};

    fn facts() -> AgentFacts {
        AgentFacts { name: "east".to_owned(), workers: 2, ..AgentFacts::default() }
    }

    fn of_version(mut header: Header, version: &str) -> Vec<u8> {
        version.clone_into(&mut header.version);
        header.encode()
    }

    #[test]
    fn an_agent_of_another_version_is_refused_by_name() {
        let mut controller = Controller::new("run".to_owned(), 1);
        let mut agent = Agent::new("a".to_owned(), facts());
        agent.tick(0);
        let announced = Header::decode(&agent.take_outgoing()[0].bytes).unwrap();
        controller.receive(&of_version(announced.clone(), "0.0.9/1"), 0);
        assert!(controller.take_outgoing().is_empty(), "the agent is not claimed");
        let [FleetNews::Refused(why)] = &controller.take_news()[..] else { panic!("the refusal is reported") };
        assert!(why.contains("agent east is Loadstone 0.0.9/1") && why.contains(&version()), "{why}");
        controller.receive(&announced.encode(), 0);
        assert_eq!(controller.take_outgoing().len(), 1, "an agent of this version is claimed");
    }

    #[test]
    fn an_agent_refuses_a_controller_of_another_version_and_both_sides_report_it() {
        let mut controller = Controller::new("run".to_owned(), 1);
        let mut agent = Agent::new("a".to_owned(), facts());
        agent.tick(0);
        controller.receive(&agent.take_outgoing()[0].bytes, 0);
        let claim = Header::decode(&controller.take_outgoing()[0].bytes).unwrap();
        agent.receive(&of_version(claim, "9.0.0/7"), 0);
        assert!(!agent.is_serving());
        let [AgentTask::Show(message)] = &agent.take_tasks()[..] else { panic!("the agent's user is informed") };
        assert!(message.contains("the controller 9.0.0/7"), "{message}");
        agent.take_outgoing().iter().for_each(|packet| controller.receive(&packet.bytes, 0));
        assert!(matches!(&controller.take_news()[..], [FleetNews::Refused(why)] if why.contains("use one version")));
        assert_eq!(controller.joined(), 0);
    }
}
