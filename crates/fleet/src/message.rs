//! What a controller and its agents say to each other once they have met. `link` brings it across, once and in order.

use std::io::{Read, Write};

use engine::{AgentCommand, AgentReport, WorkerShare};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use metrics::clock::Monotonic;
use metrics::{FlowEvent, Nanos, Snapshot};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::numbers::{HeldNumbers, NumberRequest, NumberSource};

/// What an agent is to do in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Its number among the run's agents.
    pub agent: u32,
    pub first_worker: u32,
    pub workers: u32,
    /// Of all agents.
    pub workers_of_all: u32,
    /// The first worker of each agent.
    pub firsts: Vec<u32>,
    /// The test, as whoever loads it understands it. It holds secrets: it is never written to disk as it is.
    pub test: String,
}

impl Assignment {
    pub fn share(&self) -> WorkerShare {
        WorkerShare { first: self.first_worker, here: self.workers, of: self.workers_of_all }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToAgent {
    Assignment(Box<Assignment>),
    Command(WireCommand),
    /// Numbers that were asked for; none where there are no more. `left`: so many nobody has.
    Numbers {
        source: NumberSource,
        from: u64,
        to: u64,
        left: u64,
    },
    /// Give back what is not used.
    Recall(NumberSource),
    /// To a question, by its number.
    Answer {
        id: u64,
        text: String,
    },
    /// What the test's host tells its users.
    Told(String),
    /// What the set-up returned, as JSON.
    SetUp(String),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToController {
    Ready,
    /// A second, and what is on its way to the book of journeys.
    Snapshot(Box<Snapshot>, Vec<FlowEvent>),
    LeafEnded {
        leaf: u32,
        threw: bool,
    },
    Done,
    Broke(String),
    Numbers(NumberRequest),
    Held(Vec<HeldNumbers>),
    Back(HeldNumbers),
    /// To whoever collects what was kept: it comes from this agent of the run.
    Kept {
        agent: u32,
    },
    Ask {
        id: u64,
        text: String,
    },
    Tell(String),
    SetUp(String),
    Line(String),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireCommand {
    /// The run's zero on the agent's own clock.
    Start {
        zero: Nanos,
    },
    Begin {
        leaf: u32,
        at: Nanos,
    },
    Stop,
    Halt,
    Scale {
        at: Nanos,
        factor: f64,
    },
    Finish,
}

impl WireCommand {
    /// `ahead_ns`: the agent's clock minus the controller's.
    pub(crate) fn new(command: &AgentCommand, ahead_ns: i64) -> Self {
        match *command {
            AgentCommand::Start { zero } => WireCommand::Start { zero: zero.origin_ns().saturating_add_signed(ahead_ns) },
            AgentCommand::Begin { leaf, at } => WireCommand::Begin { leaf, at },
            AgentCommand::Stop => WireCommand::Stop,
            AgentCommand::Halt => WireCommand::Halt,
            AgentCommand::Scale { at, factor } => WireCommand::Scale { at, factor },
            AgentCommand::Finish => WireCommand::Finish,
        }
    }
}

impl From<WireCommand> for AgentCommand {
    fn from(command: WireCommand) -> Self {
        match command {
            WireCommand::Start { zero } => AgentCommand::Start { zero: Monotonic::with_origin(zero) },
            WireCommand::Begin { leaf, at } => AgentCommand::Begin { leaf, at },
            WireCommand::Stop => AgentCommand::Stop,
            WireCommand::Halt => AgentCommand::Halt,
            WireCommand::Scale { at, factor } => AgentCommand::Scale { at, factor },
            WireCommand::Finish => AgentCommand::Finish,
        }
    }
}

impl ToController {
    /// `None`: it is for the controller's own ears, and not the load's.
    pub(crate) fn of_report(report: AgentReport) -> Option<Self> {
        Some(match report {
            AgentReport::Ready => ToController::Ready,
            AgentReport::Snapshot(mut snapshot) => {
                let events = std::mem::take(&mut snapshot.flow_events);
                ToController::Snapshot(snapshot, events)
            }
            AgentReport::LeafEnded { leaf, threw } => ToController::LeafEnded { leaf, threw },
            AgentReport::Done => ToController::Done,
            AgentReport::Broke(why) => ToController::Broke(why),
            AgentReport::Lost(_) => return None,
        })
    }
}

/// JSON, compressed: seconds shrink to a fifth and less. The fastest level would save a millisecond a second and send a quarter more.
pub(crate) fn pack(message: &impl Serialize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Cannot fail: the message is plain data, and memory takes all that is written.
    let written = serde_json::to_vec(message).map_err(Into::into).and_then(|json| encoder.write_all(&json));
    debug_assert!(written.is_ok(), "{written:?}");
    encoder.finish().unwrap_or_default()
}

/// `None`: it is no such message.
pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let mut json = Vec::new();
    ZlibDecoder::new(bytes).read_to_end(&mut json).ok()?;
    serde_json::from_slice(&json).ok()
}
