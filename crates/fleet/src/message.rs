//! The messages between a controller and its agents. `link` delivers them once and in order.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use loadstone_engine::{AgentCommand, AgentReport, WorkerShare};
use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{FlowEvent, HistogramColumns, Nanos, Snapshot};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::numbers::{HeldNumbers, NumberRequest, NumberSource};

/// Limit on a decompressed block of a message. A test with its files has at most 64 MiB, which base64 and JSON enlarge by less than half. Bytes.
const BLOCK_BYTES_MAX: u64 = 128 << 20;

/// An agent's share of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Its number among the run's agents.
    pub agent: u32,
    pub first_worker: u32,
    pub workers: u32,
    /// Number of workers of all agents.
    pub workers_of_all: u32,
    /// The first worker of each agent.
    pub firsts: Vec<u32>,
    /// The test, in the form that the agent's process can load. It contains secrets and must never be written to disk unmasked.
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
    /// Numbers that the agent requested. Empty if there are no more. `left`: how many nobody has.
    Numbers {
        source: NumberSource,
        from: u64,
        to: u64,
        left: u64,
    },
    /// Return unused numbers.
    Recall(NumberSource),
    /// The answer to the question with this number.
    Answer {
        id: u64,
        text: String,
    },
    /// A message from the test's host to its users.
    HostMessage(String),
    /// The value that the set-up returned, as JSON.
    SetUp(String),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToController {
    Ready,
    /// A second, and its events of journeys.
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
    /// For a collector: the following seconds are those of this agent of the run.
    Kept {
        agent: u32,
    },
    Ask {
        id: u64,
        text: String,
    },
    HostMessage(String),
    SetUp(String),
    Line(String),
    /// The agent ends during the run, for this reason. It has already sent all its measurements and returned all unused numbers.
    Gone(String),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireCommand {
    /// The run's zero on the agent's clock.
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
    Lease {
        until: Nanos,
    },
    HandOver {
        lost: u32,
        left: Vec<u32>,
        from: Nanos,
        is_of_load: bool,
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
            AgentCommand::Lease { until } => WireCommand::Lease { until },
            AgentCommand::HandOver { lost, ref left, from, is_of_load } => {
                WireCommand::HandOver { lost, left: left.clone(), from, is_of_load }
            }
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
            WireCommand::Lease { until } => AgentCommand::Lease { until },
            WireCommand::HandOver { lost, left, from, is_of_load } => AgentCommand::HandOver { lost, left, from, is_of_load },
            WireCommand::Finish => AgentCommand::Finish,
        }
    }
}

impl ToController {
    /// `None`: the report is for the controller and not for the load.
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
            AgentReport::Lost { .. } => return None,
        })
    }
}

/// Compressed JSON. The fastest level would save a millisecond per second and send a quarter more.
pub(crate) fn pack(message: &impl Serialize) -> Vec<u8> {
    // Cannot fail: the message is plain data.
    let json = serde_json::to_vec(message);
    debug_assert!(json.is_ok(), "{json:?}");
    let mut packed = Vec::new();
    append_compressed(&mut packed, &json.unwrap_or_default());
    packed
}

/// `None`: the bytes are not such a message.
pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(&take_decompressed(&mut &*bytes)?).ok()
}

impl ToController {
    /// The histograms of a second follow its JSON, as columns that are compressed one by one. As text they would be a third larger.
    pub(crate) fn pack(mut self) -> Vec<u8> {
        let columns = match &mut self {
            ToController::Snapshot(second, _) => Some(second.take_histograms()),
            _ => None,
        };
        let mut packed = pack(&self);
        if let Some(HistogramColumns { heads, gaps, counts }) = columns {
            [heads, gaps, counts].iter().for_each(|column| append_compressed(&mut packed, column));
        }
        packed
    }

    /// `None`: the bytes are not such a message.
    pub(crate) fn unpack(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut message: Self = serde_json::from_slice(&take_decompressed(&mut rest)?).ok()?;
        if let ToController::Snapshot(second, _) = &mut message {
            let mut column = || take_decompressed(&mut rest);
            second.put_histograms(&HistogramColumns { heads: column()?, gaps: column()?, counts: column()? })?;
        }
        Some(message)
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn packed_text(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    append_compressed(&mut packed, text);
    packed
}

fn append_compressed(packed: &mut Vec<u8>, bytes: &[u8]) {
    let mut encoder = ZlibEncoder::new(packed, Compression::default());
    // Cannot fail: writing to memory always succeeds.
    let written = encoder.write_all(bytes).and_then(|()| encoder.try_finish());
    debug_assert!(written.is_ok(), "{written:?}");
}

/// Takes the block that was appended first from the front. `None`: it is none, or too long.
fn take_decompressed(packed: &mut &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // The decoder stops at the end of the block.
    ZlibDecoder::new(packed).take(BLOCK_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= BLOCK_BYTES_MAX).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_metrics::{SeriesKey, SeriesKind, SeriesSlice};

    #[test]
    fn a_second_round_trips() {
        let mut series = SeriesSlice::new(SeriesKey::new(SeriesKind::Request, "s", "r"));
        (0..1_000u64).for_each(|number| series.response.record(number * number * 977));
        let second = Snapshot { slice: 7, series: vec![series], ..Snapshot::default() };
        let packed = ToController::Snapshot(Box::new(second.clone()), Vec::new()).pack();
        let Some(ToController::Snapshot(arrived, _)) = ToController::unpack(&packed) else { panic!("a second") };
        assert_eq!(*arrived, second);
        assert!(ToController::unpack(&packed[..packed.len() - 9]).is_none(), "its end is missing");
        assert!(unpack::<ToAgent>(&packed).is_none());
    }

    #[test]
    fn a_block_that_decompresses_to_too_much_is_refused() {
        let mut bomb = Vec::new();
        append_compressed(&mut bomb, &vec![b' '; BLOCK_BYTES_MAX as usize + 1]);
        assert!(bomb.len() < 256 * 1024 && take_decompressed(&mut &*bomb).is_none());
    }

    #[test]
    fn other_messages_are_plain_json() {
        let packed = ToController::Line("text".to_owned()).pack();
        assert!(matches!(ToController::unpack(&packed), Some(ToController::Line(text)) if text == "text"));
        assert!(matches!(unpack(&packed), Some(ToController::Line(_))));
        assert!(ToController::unpack(b"GET / HTTP/1.1").is_none());
    }
}
