//! Where the parts of a record come from: a pipe or file, or exporters that send them.

use std::io;

use loadstone_metrics::Nanos;
use loadstone_observe::OtlpMessages;

use crate::formats::otlp::PARENT_WAIT_NS;
use crate::line_source::{LineSource, LineSourceState};
use crate::proxy::HttpProxy;
use crate::record_format::RecordPart;

/// Messages that are read before the loop of the reader continues.
const MESSAGES_MAX: usize = 32;

pub(crate) enum RecordSource {
    Lines(Box<LineSource>),
    Messages(OtlpMessages),
    /// Its reader has the other end.
    Proxy(Box<HttpProxy>),
}

impl RecordSource {
    /// Reads what is there, and passes on its complete parts, or why one cannot be read.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(&mut self, part: &mut dyn FnMut(RecordPart<'_>)) -> io::Result<LineSourceState> {
        match self {
            Self::Lines(source) => source.read(part),
            Self::Proxy(_) => Ok(LineSourceState::Nothing),
            Self::Messages(source) => {
                let mut state = LineSourceState::Nothing;
                for _ in 0..MESSAGES_MAX {
                    match source.next_waiting() {
                        Some(Ok(message)) => part(RecordPart { content: Ok(&message), line: None }),
                        Some(Err(problem)) => part(RecordPart { content: Err(&format!("a message was refused: {problem}")), line: None }),
                        None => break,
                    }
                    state = LineSourceState::Lines;
                }
                Ok(state)
            }
        }
    }

    /// Passes on what remains at the end.
    pub(crate) fn finish(&mut self, part: &mut dyn FnMut(RecordPart<'_>)) {
        if let Self::Lines(source) = self {
            source.finish(part);
        }
    }

    /// Nobody writes to it any more.
    pub(crate) fn writer_has_ended(&mut self) {
        match self {
            Self::Lines(source) => source.writer_has_ended(),
            Self::Proxy(proxy) => proxy.end(),
            Self::Messages(_) => {}
        }
    }

    /// The file whose lines have numbers, as the user named it. `None`: it is no file.
    pub(crate) fn file(&self) -> Option<String> {
        match self {
            Self::Lines(source) => source.file(),
            Self::Messages(_) | Self::Proxy(_) => None,
        }
    }

    /// How long after the end of the run its last requests may arrive. 0: everything has been written, and the source ends. Nanoseconds.
    pub(crate) fn patience_ns(&self) -> Nanos {
        match self {
            Self::Lines(_) | Self::Proxy(_) => 0,
            Self::Messages(_) => PARENT_WAIT_NS,
        }
    }
}
