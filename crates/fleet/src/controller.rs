//! The controller's side of a fleet, without I/O and without a clock: packets and commands in, packets and news out.
//!
//! Read [`Controller::receive`] and [`Controller::tick`]. It gathers agents, hands each its part of the run, and tells what they report. What the
//! reports mean is the engine's: the load tree is walked there as over workers.

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

/// How often agents are asked for their clock, before the load and during it.
const PING_NS: (Nanos, Nanos) = (50_000_000, 500_000_000);

/// Labels, and values of one, by which results are told apart.
const LABELS_MAX: usize = 2;
const VALUES_MAX: usize = 8;

/// How long a seat is kept for an agent that does not answer.
const CLAIM_NS: Nanos = 2_000_000_000;

/// What a controller learns.
#[derive(Debug)]
pub enum FleetNews {
    /// As many agents as were wanted are there.
    Gathered(Vec<AgentFacts>),
    /// An agent cannot be used. Why.
    Refused(String),
    Report {
        agent: usize,
        report: AgentReport,
    },
    /// A line that the test printed there.
    Line(String),
    /// A question to the test's host, to be answered by [`Controller::answer`].
    Asked {
        agent: usize,
        id: u64,
        text: String,
    },
    /// Something that the test's host is to know.
    Told {
        agent: usize,
        text: String,
    },
}

/// The controller of one run.
#[derive(Debug)]
pub struct Controller {
    run: String,
    wanted: usize,
    seats: Vec<Seat>,
    /// Every agent has its clock read often enough, and the news of it was told.
    gathered: bool,
    started: bool,
    /// The load of an agent that is lost is made by the others: agents make load by leases.
    replaces: bool,
    /// When the run began.
    run_zero: Nanos,
    numbers: NumberLeases,
    outgoing: Vec<Outgoing>,
    news: Vec<FleetNews>,
}

/// One agent of the run.
#[derive(Debug)]
struct Seat {
    id: String,
    facts: AgentFacts,
    link: ReliableLink,
    /// `None` until it has answered to its claim.
    heard: Option<Nanos>,
    claimed: Nanos,
    ping_at: Nanos,
    clock: ClockOffset,
    /// All its seconds before this one are on disk.
    written: u32,
    /// What its zero was made from.
    zero: Option<OffsetReading>,
    /// Labels by which results are told apart, see [`parts_by_label`].
    parts: Vec<Tags>,
    /// It has no load any more. It is told so when all its seconds are on disk: until then, it is who keeps them.
    is_done: bool,
    /// Its seconds before this one have come.
    told: u32,
    /// When the last of these ended, on the run's clock.
    told_until: Nanos,
    /// The latest instant, on the run's clock, before which it was told that it may start load.
    lease: Nanos,
    /// It was sent away, or was lost.
    is_gone: bool,
}

impl Controller {
    /// `run`: an id like no other run's. `wanted`: agents that it needs.
    pub fn new(run: String, wanted: usize) -> Self {
        Self {
            run,
            wanted,
            seats: Vec::new(),
            gathered: false,
            started: false,
            replaces: false,
            run_zero: 0,
            numbers: NumberLeases::default(),
            outgoing: Vec::new(),
            news: Vec::new(),
        }
    }

    /// Lets the others make the load of an agent that is lost. To be called before [`Self::assign`].
    pub fn replace_lost(&mut self) {
        self.replaces = true;
    }

    /// Where packets for it go to.
    pub fn subjects(&self) -> [String; 2] {
        [subjects::ANNOUNCE.to_owned(), subjects::run(&self.run)]
    }

    /// Agents that have answered so far.
    pub fn joined(&self) -> usize {
        self.seats.iter().filter(|seat| seat.heard.is_some()).count()
    }

    /// Takes a packet from the bus. What is no packet of ours is left alone.
    pub fn receive(&mut self, bytes: &[u8], now: Nanos) {
        let Some(Header { version: theirs, run, agent, kind }) = Header::decode(bytes) else { return };
        if let PacketKind::Announce(facts) = kind {
            return self.claim(agent, facts, &theirs, now);
        }
        let Some(number) = self.seats.iter().position(|seat| seat.id == agent).filter(|_| run == self.run) else { return };
        if let PacketKind::Bye { why } = kind {
            return self.farewell(number, why);
        }
        let seat = &mut self.seats[number];
        if seat.is_gone {
            let why = "the run goes on without it".to_owned();
            return self.say(number, PacketKind::Bye { why });
        }
        seat.heard = Some(now);
        match kind {
            PacketKind::Pong { sent, at } if sent > 0 => seat.clock.add(sent, at, now),
            PacketKind::Part(part) => {
                for message in seat.link.receive(part).iter().filter_map(|message| ToController::unpack(message)) {
                    self.hear(number, message);
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
        // One that announces itself again after it was claimed did not hear it.
        let number = match self.seats.iter().position(|seat| seat.id == id) {
            Some(number) if self.seats[number].heard.is_none() => number,
            Some(_) => return,
            None => {
                // A claim that nobody answered for a while leaves its seat to another.
                let is_free = |seat: &Seat| seat.heard.is_none() && now > seat.claimed + CLAIM_NS;
                match self.seats.iter().position(is_free) {
                    Some(free) => {
                        self.seats[free] = Seat::new(id, facts, now);
                        free
                    }
                    None if self.seats.len() < self.wanted => {
                        self.seats.push(Seat::new(id, facts, now));
                        self.seats.len() - 1
                    }
                    None => return,
                }
            }
        };
        self.say(number, PacketKind::Claim);
    }

    fn farewell(&mut self, number: usize, why: String) {
        let seat = &mut self.seats[number];
        match seat.heard {
            // It refuses. Another may take the seat.
            None => {
                self.seats.remove(number);
                self.news.push(FleetNews::Refused(why));
            }
            Some(_) if !self.gathered => _ = self.seats.remove(number),
            Some(_) => self.lose(number, &why),
        }
    }

    fn hear(&mut self, agent: usize, message: ToController) {
        let report = match message {
            ToController::Ready => AgentReport::Ready,
            ToController::Snapshot(mut snapshot, events) => {
                snapshot.flow_events = events;
                self.seats[agent].told = snapshot.slice + 1;
                self.seats[agent].told_until = snapshot.end.max(self.seats[agent].told_until);
                snapshot.agents.push(AgentSlice { seconds_received: snapshot.slice + 1, ..self.seats[agent].slice(agent) });
                self.seats[agent].parts.iter().for_each(|tags| add_part(&mut snapshot, tags));
                AgentReport::Snapshot(snapshot)
            }
            ToController::LeafEnded { leaf, threw } => AgentReport::LeafEnded { leaf, threw },
            ToController::Done => {
                self.seats[agent].is_done = true;
                AgentReport::Done
            }
            ToController::Broke(why) => {
                self.seats[agent].is_gone = true;
                let name = self.seats[agent].facts.shown();
                AgentReport::Broke(format!("agent {name}: {why}"))
            }
            ToController::Numbers(request) => {
                let answers = self.numbers.ask(agent, self.staying(), request);
                return self.say_answers(answers);
            }
            ToController::Back(back) => {
                let answers = self.numbers.give_back(agent, self.staying(), back);
                return self.say_answers(answers);
            }
            ToController::Held(held) => return held.into_iter().for_each(|held| self.numbers.told(agent, held)),
            ToController::Ask { id, text } => return self.news.push(FleetNews::Asked { agent, id, text }),
            ToController::Kept { .. } => return,
            ToController::Tell(text) => return self.news.push(FleetNews::Told { agent, text }),
            ToController::SetUp(json) => {
                let others = self.seats.iter_mut().enumerate().filter(|(number, _)| *number != agent);
                return others.for_each(|(_, seat)| seat.link.send(pack(&ToAgent::SetUp(json.clone()))));
            }
            ToController::Line(text) => return self.news.push(FleetNews::Line(text)),
            ToController::Gone(why) => return self.let_go(agent, &why),
        };
        self.news.push(FleetNews::Report { agent, report });
    }

    /// Lets each agent make load with so many of its workers. To be called before [`Self::assign`].
    pub fn use_workers(&mut self, workers: &[u32]) {
        for (seat, workers) in self.seats.iter_mut().zip(workers) {
            seat.facts.workers = *workers;
        }
    }

    /// Gives each agent its part of a run. `test`: what whoever loads it there understands.
    pub fn assign(&mut self, test: &str) {
        let workers: Vec<u32> = self.seats.iter().map(|seat| seat.facts.workers).collect();
        let firsts: Vec<u32> = workers.iter().scan(0, |next, here| Some(std::mem::replace(next, *next + here))).collect();
        let facts: Vec<AgentFacts> = self.seats.iter().map(|seat| seat.facts.clone()).collect();
        for (number, seat) in self.seats.iter_mut().enumerate() {
            seat.parts = parts_by_label(&facts, number);
            let assignment = Assignment {
                agent: number as u32,
                first_worker: firsts[number],
                workers: workers[number],
                workers_of_all: workers.iter().sum(),
                firsts: firsts.clone(),
                test: test.to_owned(),
            };
            seat.link.send(pack(&ToAgent::Assignment(Box::new(assignment))));
        }
    }

    /// Hands a command of the load to an agent.
    pub fn tell(&mut self, agent: usize, command: &AgentCommand) {
        let seat = &mut self.seats[agent];
        let mut ahead_ns = 0;
        let mut lease = None;
        if let AgentCommand::Start { zero } = command {
            seat.zero = seat.clock.best();
            ahead_ns = seat.zero.map_or(0, |reading| reading.ahead_ns);
            (self.started, self.run_zero) = (true, zero.origin_ns());
            lease = self.replaces.then_some(AgentCommand::Lease { until: LEASE_NS });
            seat.lease = LEASE_NS;
        }
        for command in [command].into_iter().chain(&lease) {
            seat.link.send(pack(&ToAgent::Command(WireCommand::new(command, ahead_ns))));
        }
    }

    /// All seconds of an agent before this one are on disk.
    pub fn written(&mut self, agent: usize, before: u32) {
        self.seats[agent].written = self.seats[agent].written.max(before);
    }

    /// Answers a question of an agent.
    pub fn answer(&mut self, agent: usize, id: u64, text: String) {
        self.seats[agent].link.send(pack(&ToAgent::Answer { id, text }));
    }

    /// Tells an agent what its users are to know.
    pub fn inform(&mut self, agent: usize, text: String) {
        self.seats[agent].link.send(pack(&ToAgent::Told(text)));
    }

    /// Agents that are part of the run still.
    fn staying(&self) -> usize {
        self.seats.iter().filter(|seat| !seat.is_gone && !seat.is_done).count()
    }

    fn say_answers(&mut self, answers: Vec<LeaseAnswer>) {
        for (agent, answer) in answers {
            self.seats[agent].link.send(pack(&answer));
        }
    }

    /// To be called some ten times a second, and after anything was given to it.
    pub fn tick(&mut self, now: Nanos) {
        for number in 0..self.seats.len() {
            let seat = &mut self.seats[number];
            let parts = seat.link.due(now);
            let is_silent = !seat.is_gone && seat.heard.is_some_and(|heard| now > heard + SILENCE_MAX_NS);
            if !seat.is_gone && seat.heard.is_some() && now >= seat.ping_at {
                seat.ping_at = now + if self.started { PING_NS.1 } else { PING_NS.0 };
                let (written, lease) = (self.seats[number].written, self.renewed_lease(number));
                self.say(number, PacketKind::Ping { sent: now, written, lease });
            }
            if self.seats[number].heard.is_none() && now < self.seats[number].claimed + CLAIM_NS {
                self.say(number, PacketKind::Claim);
            }
            if !self.seats[number].is_gone {
                parts.into_iter().for_each(|part| self.say(number, PacketKind::Part(part)));
            }
            let seat = &mut self.seats[number];
            if seat.is_done && !seat.is_gone && seat.written >= seat.told {
                seat.is_gone = true;
                self.say(number, PacketKind::Bye { why: "the run is over".to_owned() });
            } else if is_silent && self.gathered {
                self.lose(number, &format!("nothing was heard of it for {} s", SILENCE_MAX_NS / 1_000_000_000));
            }
        }
        if !self.gathered {
            // Another may take the seat.
            self.seats.retain(|seat| seat.heard.is_none_or(|heard| now <= heard + SILENCE_MAX_NS));
        }
        let is_whole = self.seats.len() == self.wanted && self.seats.iter().all(|seat| seat.clock.is_known());
        if is_whole && !std::mem::replace(&mut self.gathered, true) {
            self.news.push(FleetNews::Gathered(self.seats.iter().map(|seat| seat.facts.clone()).collect()));
        }
    }

    /// Sends all agents away, whatever they do.
    pub fn dismiss(&mut self, why: &str) {
        for number in 0..self.seats.len() {
            self.say(number, PacketKind::Bye { why: why.to_owned() });
        }
    }

    pub fn take_outgoing(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.outgoing)
    }

    pub fn take_news(&mut self) -> Vec<FleetNews> {
        std::mem::take(&mut self.news)
    }

    /// An agent ends, and has handed over all that it had.
    fn let_go(&mut self, agent: usize, why: &str) {
        if !self.gathered {
            self.say(agent, PacketKind::Bye { why: "it has said goodbye".to_owned() });
            self.seats.remove(agent);
            return;
        }
        let answers = self.numbers.take_back(agent, self.staying());
        self.say_answers(answers);
        // What it started is in its seconds, and it starts nothing more.
        self.seats[agent].lease = self.seats[agent].told_until;
        self.lose(agent, why);
    }

    /// Until when this agent may start load, from now on.
    fn renewed_lease(&mut self, agent: usize) -> Option<Nanos> {
        let seat = &mut self.seats[agent];
        let heard = seat.heard.filter(|_| self.started && self.replaces)?;
        seat.lease = seat.lease.max((heard + LEASE_NS).saturating_sub(self.run_zero));
        Some(seat.lease)
    }

    /// The run goes on without this agent, and never again with it: what it would send late is not known to be all.
    fn lose(&mut self, agent: usize, why: &str) {
        let seat = &mut self.seats[agent];
        if std::mem::replace(&mut seat.is_gone, true) || seat.is_done {
            return;
        }
        let seat = &self.seats[agent];
        let started_before = self.replaces.then_some(seat.lease);
        let mut text = format!("agent {} was lost: {why}", seat.facts.shown());
        let (doubt, answers) = self.numbers.lose(agent, self.staying());
        for (count, what, done) in [(doubt.rows, "rows", "used"), (doubt.iterations, "iterations", "run")] {
            if count > 0 {
                text += &format!(", and {} {what} that it held may not have been {done}", loadstone_units::count(count));
            }
        }
        self.say_answers(answers);
        self.say(agent, PacketKind::Bye { why: "the run goes on without it".to_owned() });
        self.news.push(FleetNews::Report { agent, report: AgentReport::Lost { why: text, started_before } });
    }

    fn say(&mut self, number: usize, kind: PacketKind) {
        let agent = self.seats[number].id.clone();
        let subject = subjects::agent(&agent);
        let header = Header { version: version(), run: self.run.clone(), agent, kind };
        self.outgoing.push(Outgoing { subject, bytes: header.encode() });
    }
}

impl Seat {
    fn new(id: String, facts: AgentFacts, now: Nanos) -> Self {
        Self {
            id,
            facts,
            link: ReliableLink::default(),
            heard: None,
            claimed: now,
            ping_at: 0,
            clock: ClockOffset::default(),
            written: 0,
            zero: None,
            parts: Vec::new(),
            is_done: false,
            told: 0,
            told_until: 0,
            lease: 0,
            is_gone: false,
        }
    }

    /// How far its clock has gone from where it was at the start, and how far that may be wrong.
    fn slice(&self, agent: usize) -> AgentSlice {
        let (zero, now) = (self.zero, self.clock.best());
        let (skew_ns, bound_ns) = zero.zip(now).map_or((0, 0), |(zero, now)| (now.ahead_ns - zero.ahead_ns, now.bound_ns + zero.bound_ns));
        AgentSlice { agent: agent as u32, skew_ns, bound_ns, ..AgentSlice::default() }
    }
}

/// The labels of an agent by which results are told apart: those of which the agents have several values, but not each its own.
pub(crate) fn parts_by_label(agents: &[AgentFacts], agent: usize) -> Vec<Tags> {
    let values = |label: &str| agents.iter().filter_map(|agent| agent.labels.get(label)).collect::<BTreeSet<_>>().len();
    let tells_apart = |label: &str| (2..=VALUES_MAX).contains(&values(label)) && (values(label) < agents.len() || agents.len() == 2);
    let own = agents[agent].labels.iter().filter(|(label, _)| tells_apart(label));
    own.take(LABELS_MAX).map(|(label, value)| Tags::new([(label.as_str(), value.as_str())])).collect()
}

/// Adds what was measured once more, as the part that has these tags.
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
        assert!(controller.take_outgoing().is_empty(), "it is not claimed");
        let [FleetNews::Refused(why)] = &controller.take_news()[..] else { panic!("it is told") };
        assert!(why.contains("agent east is Loadstone 0.0.9/1") && why.contains(&version()), "{why}");
        controller.receive(&announced.encode(), 0);
        assert_eq!(controller.take_outgoing().len(), 1, "one of this version is claimed");
    }

    #[test]
    fn an_agent_refuses_a_controller_of_another_version_and_says_so_on_both_sides() {
        let mut controller = Controller::new("run".to_owned(), 1);
        let mut agent = Agent::new("a".to_owned(), facts());
        agent.tick(0);
        controller.receive(&agent.take_outgoing()[0].bytes, 0);
        let claim = Header::decode(&controller.take_outgoing()[0].bytes).unwrap();
        agent.receive(&of_version(claim, "9.0.0/7"), 0);
        assert!(!agent.is_serving());
        let [AgentTask::Say(said)] = &agent.take_tasks()[..] else { panic!("people there are told") };
        assert!(said.contains("the controller 9.0.0/7"), "{said}");
        agent.take_outgoing().iter().for_each(|packet| controller.receive(&packet.bytes, 0));
        assert!(matches!(&controller.take_news()[..], [FleetNews::Refused(why)] if why.contains("use one version")));
        assert_eq!(controller.joined(), 0);
    }
}
