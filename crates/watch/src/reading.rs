//! The thread that reads the record and completes the seconds of the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use loadstone_metrics::Snapshot;
use loadstone_metrics::clock::Monotonic;

use crate::line_source::LineSourceState;
use crate::record_format::{RecordPart, RecordReader};
use crate::record_source::RecordSource;
use crate::seconds::{Counting, RecordedSeconds};
use crate::summaries::SummaryPlace;
use crate::wall_clock::{self, WallClock};

/// Completed seconds that wait for the main thread. The reader then waits, and the pipe holds the tool's output.
const WAITING_MAX: usize = 64;
/// Time without new lines between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Seconds of silence after which a second is complete without a later entry.
const SILENT_SECONDS_MAX: u32 = 60;
/// Time between two readings of the wall clock. Nanoseconds.
const CLOCK_EVERY_NS: u64 = 250_000_000;

/// What the reader passes on.
pub(crate) enum ReadSecond {
    Complete(Box<Snapshot>),
    /// The last one.
    Last(Box<Snapshot>),
    /// The record cannot be read any more. The last second follows.
    Failed(String),
}

/// A record that is being read.
pub(crate) struct RecordReading {
    pub(crate) seconds: Receiver<ReadSecond>,
    /// Nothing more will be written, so the reader ends when it has read everything.
    ending: Arc<AtomicBool>,
}

/// The inputs of the reader.
pub(crate) struct RecordInput {
    pub(crate) source: RecordSource,
    pub(crate) reader: Box<dyn RecordReader>,
    pub(crate) counting: Counting,
    pub(crate) zero: Monotonic,
    pub(crate) comes_at_end: bool,
    /// The tool that writes the record.
    pub(crate) tool: &'static str,
    /// Where a summary may be. The first one that is there counts.
    pub(crate) summaries: Vec<SummaryPlace>,
}

impl RecordReading {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub(crate) fn start(input: RecordInput) -> std::io::Result<Self> {
        let (sender, seconds) = sync_channel(WAITING_MAX);
        let ending = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&ending);
        thread::Builder::new().name("record".to_owned()).spawn(move || input.read(&sender, &ends))?;
        Ok(Self { seconds, ending })
    }

    /// The writer of the record has ended.
    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::Release);
    }
}

impl RecordInput {
    fn read(self, sender: &SyncSender<ReadSecond>, ending: &AtomicBool) {
        let RecordInput { mut source, mut reader, counting, zero, comes_at_end, tool, summaries } = self;
        let started_at = zero.now();
        let mut seconds = RecordedSeconds::new(counting, WallClock::new(wall_clock::read(zero)), started_at);
        let file = source.file();
        let (mut clock_due, mut ended_at) = (0, None);
        // If the main thread has gone, nobody needs the rest.
        let mut complete = |snapshot: Snapshot| _ = sender.send(ReadSecond::Complete(Box::new(snapshot)));
        loop {
            let now = zero.now();
            if ended_at.is_none() && ending.load(Ordering::Acquire) {
                ended_at = Some(now);
                source.writer_has_ended();
                if source.patience_ns() > 0 {
                    // Requests that end while the last ones of the run arrive do not count.
                    seconds.end_at(now);
                }
            }
            let is_over = ended_at.is_some_and(|at| now >= at + source.patience_ns());
            if now >= clock_due {
                clock_due = now + CLOCK_EVERY_NS;
                seconds.observe(wall_clock::read(zero));
                reader.pass_time(now, &mut |entry| seconds.take(entry, now, &mut complete));
            }
            let read = source.read(&mut |part| parse(part, file.as_deref(), &mut *reader, &mut seconds, now, &mut complete));
            if is_over && source.patience_ns() > 0 {
                break;
            }
            match read {
                Ok(LineSourceState::Lines) => {}
                Ok(LineSourceState::Rotated) => seconds.record().rotated += 1,
                Ok(LineSourceState::Rotating) => thread::sleep(LOOK_EVERY),
                Ok(LineSourceState::Nothing) if is_over => break,
                Ok(LineSourceState::Nothing) => {
                    if !comes_at_end {
                        seconds.pass(now, SILENT_SECONDS_MAX, &mut complete);
                    }
                    thread::sleep(LOOK_EVERY);
                }
                Err(problem) => {
                    let _ = sender.send(ReadSecond::Failed(format!("cannot read the record any more: {problem}")));
                    break;
                }
            }
        }
        let now = zero.now();
        source.finish(&mut |part| parse(part, file.as_deref(), &mut *reader, &mut seconds, now, &mut complete));
        reader.end(&mut |entry| seconds.take(entry, now, &mut complete));
        if let Some(summary) = summaries.iter().find_map(SummaryPlace::read) {
            let other = (summary.tool != tool).then_some(summary.tool);
            seconds.stated(other, summary.metric, &summary.percentiles);
        }
        let end = ended_at.filter(|_| source.patience_ns() > 0).unwrap_or(now);
        let last = seconds.finish(end, &mut complete);
        let _ = sender.send(ReadSecond::Last(Box::new(last)));
    }
}

fn parse(
    part: RecordPart<'_>,
    file: Option<&str>,
    reader: &mut dyn RecordReader,
    seconds: &mut RecordedSeconds,
    now: u64,
    complete: &mut dyn FnMut(Snapshot),
) {
    let at = || match (file, part.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (None, Some(line)) => format!("line {line}"),
        (_, None) => String::new(),
    };
    match part.content {
        Ok(content) => {
            if reader.line(content, &mut |entry| seconds.take(entry, now, complete)).is_err() {
                seconds.unreadable(content, at);
            }
        }
        Err(why) => seconds.unreadable(why.as_bytes(), at),
    }
}
