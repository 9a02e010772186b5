//! What an answer's body is, and how it leaves.

use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use hyper::header::HeaderMap;
use tokio::sync::mpsc;

use crate::clock::now_ns;
use crate::limit::Link;
use crate::timer::DeadlineTimer;
use crate::{StubRequest, StubResponse};

/// Ends the connection, or the stream of HTTP/2, without a response or before its end.
#[derive(Debug, thiserror::Error)]
#[error("the stub resets this connection on purpose")]
pub(crate) struct Reset;

/// `bytes` every `pause_ns`. The first piece leaves at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyPace {
    pub bytes: usize,
    pub pause_ns: u64,
}

/// Where an answer's body comes from.
#[derive(Default)]
pub enum BodySource {
    #[default]
    Empty,
    Fixed(Bytes),
    /// So many bytes of filler text.
    Size(usize),
    /// The request's body and content type.
    Echo,
    /// Text with holes filled from the request; see the template module for what a hole may be.
    Template(String),
    /// Runs on the server's thread and must not block.
    Function(Box<dyn Fn(&StubRequest) -> StubResponse + Send>),
}

impl std::fmt::Debug for BodySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BodySource::Empty => f.write_str("Empty"),
            BodySource::Fixed(bytes) => write!(f, "Fixed({} bytes)", bytes.len()),
            BodySource::Size(bytes) => write!(f, "Size({bytes} bytes)"),
            BodySource::Echo => f.write_str("Echo"),
            BodySource::Template(text) => write!(f, "Template({text:?})"),
            BodySource::Function(_) => f.write_str("Function(…)"),
        }
    }
}

/// Filler of a body given by its size: lines of 64 characters, so that it reads well in a terminal.
pub(crate) fn filler(size: usize) -> Bytes {
    const LINE: &[u8; 64] = b"loadstone stub body, sixty-four characters to a line, and again\n";
    LINE.iter().copied().cycle().take(size).collect::<Vec<u8>>().into()
}

/// A body on its way out. What it holds (the visit's record, a place under a limit) is released when it has left.
pub(crate) struct OutgoingBody<H> {
    leaving: Leaving,
    _held: H,
}

enum Leaving {
    Whole(Option<Bytes>),
    Paced(Box<Paced>),
    Messages(Box<MessagesLeaving>),
    /// Whatever somebody else sends, to its end.
    Passed(mpsc::Receiver<PassedFrame>),
}

/// A part of a body that somebody else makes.
pub(crate) type PassedFrame = Result<Frame<Bytes>, Reset>;

/// Messages with pauses between them, and fields behind them.
struct MessagesLeaving {
    left: VecDeque<Bytes>,
    pause_ns: u64,
    trailers: Option<HeaderMap>,
    timer: DeadlineTimer,
    beat: Beat,
    wait: Option<Departure>,
}

/// A body that leaves in pieces at the pace of its behaviour or of the link it shares.
struct Paced {
    left: Bytes,
    pace: Option<BodyPace>,
    link: Option<Rc<Link>>,
    timer: DeadlineTimer,
    beat: Beat,
    /// The piece under way, and the wait before it may leave.
    next: Option<(Bytes, Departure)>,
}

type Departure = Pin<Box<dyn Future<Output = ()>>>;

/// When pieces leave, the first at once. Each is due a pause after the one before *was due*: what it takes to write one puts off none of those behind it. A
/// reader that holds them up for longer gets no more at once when it reads again.
#[derive(Debug, Default)]
struct Beat {
    due_ns: Option<u64>,
}

impl Beat {
    fn next_ns(&mut self, now_ns: u64, pause_ns: u64) -> u64 {
        let due_ns = self.due_ns.map_or(now_ns, |before_ns| before_ns.saturating_add(pause_ns).max(now_ns));
        self.due_ns = Some(due_ns);
        due_ns
    }
}

/// A shared link hands out this much at a time, so that responses under way take turns.
const LINK_PIECE: usize = 4096;

impl<H> OutgoingBody<H> {
    pub(crate) fn new(bytes: Bytes, pace: Option<BodyPace>, link: Option<Rc<Link>>, timer: &DeadlineTimer, held: H) -> Self {
        let leaving = if bytes.is_empty() || (pace.is_none() && link.is_none()) {
            Leaving::Whole(Some(bytes).filter(|bytes| !bytes.is_empty()))
        } else {
            Leaving::Paced(Box::new(Paced { left: bytes, pace, link, timer: timer.clone(), beat: Beat::default(), next: None }))
        };
        Self { leaving, _held: held }
    }

    /// Messages, each behind the other by `pause_ns`, and fields that follow the last at once.
    pub(crate) fn messages(messages: VecDeque<Bytes>, pause_ns: u64, trailers: HeaderMap, timer: &DeadlineTimer, held: H) -> Self {
        let (timer, trailers) = (timer.clone(), Some(trailers));
        let leaving = MessagesLeaving { left: messages, pause_ns, trailers, timer, beat: Beat::default(), wait: None };
        Self { leaving: Leaving::Messages(Box::new(leaving)), _held: held }
    }

    pub(crate) fn passed(frames: mpsc::Receiver<PassedFrame>, held: H) -> Self {
        Self { leaving: Leaving::Passed(frames), _held: held }
    }
}

impl MessagesLeaving {
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Frame<Bytes>>> {
        if self.left.is_empty() {
            return Poll::Ready(self.trailers.take().map(Frame::trailers));
        }
        if self.pause_ns > 0 {
            let wait = self.wait.get_or_insert_with(|| {
                let (timer, until_ns) = (self.timer.clone(), self.beat.next_ns(now_ns(), self.pause_ns));
                Box::pin(async move { timer.sleep_until(until_ns).await })
            });
            std::task::ready!(wait.as_mut().poll(context));
            self.wait = None;
        }
        Poll::Ready(self.left.pop_front().map(Frame::data))
    }
}

impl Paced {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.next.is_none() {
            if self.left.is_empty() {
                return Poll::Ready(None);
            }
            self.next = Some(self.next_piece());
        }
        if let Some((_, wait)) = &mut self.next {
            std::task::ready!(wait.as_mut().poll(context));
        }
        Poll::Ready(self.next.take().map(|(piece, _)| piece))
    }

    fn next_piece(&mut self) -> (Bytes, Departure) {
        let size = self.pace.map_or(LINK_PIECE, |pace| pace.bytes).min(self.left.len());
        let piece = self.left.split_to(size);
        let now = now_ns();
        let paced_ns = self.pace.map_or(now, |pace| self.beat.next_ns(now, pace.pause_ns));
        let link_ns = self.link.as_ref().map_or(now, |link| link.send(size, now));
        let timer = self.timer.clone();
        (piece, Box::pin(async move { timer.sleep_until(paced_ns.max(link_ns)).await }))
    }
}

impl<H: Unpin> hyper::body::Body for OutgoingBody<H> {
    type Data = Bytes;
    type Error = Reset;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<PassedFrame>> {
        let piece = match &mut self.leaving {
            Leaving::Whole(bytes) => bytes.take(),
            Leaving::Paced(paced) => std::task::ready!(paced.poll_piece(context)),
            Leaving::Messages(messages) => return messages.poll_frame(context).map(|frame| frame.map(Ok)),
            Leaving::Passed(frames) => return frames.poll_recv(context),
        };
        Poll::Ready(piece.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.leaving {
            Leaving::Whole(bytes) => bytes.is_none(),
            Leaving::Paced(paced) => paced.left.is_empty() && paced.next.is_none(),
            Leaving::Messages(messages) => messages.left.is_empty() && messages.trailers.is_none(),
            Leaving::Passed(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        let exactly = match &self.leaving {
            Leaving::Whole(bytes) => bytes.as_ref().map_or(0, Bytes::len),
            Leaving::Paced(paced) => paced.left.len() + paced.next.as_ref().map_or(0, |(piece, _)| piece.len()),
            Leaving::Messages(_) | Leaving::Passed(_) => return SizeHint::default(),
        };
        SizeHint::with_exact(exactly as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_due_a_pause_after_the_one_before_was_due() {
        let mut beat = Beat::default();
        // Writing takes 30, then the reader holds it up for 250.
        let asked = [100, 130, 180, 450, 460, 510];
        assert_eq!(asked.map(|now_ns| beat.next_ns(now_ns, 50)), [100, 150, 200, 450, 500, 550]);
    }
}
