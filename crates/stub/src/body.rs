//! The body of an answer, and how it is sent.

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

/// Ends the connection, or the HTTP/2 stream, before or during a response.
#[derive(Debug, thiserror::Error)]
#[error("the stub resets this connection deliberately")]
pub(crate) struct Reset;

/// `bytes` every `pause_ns`. The first piece is sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyPace {
    pub bytes: usize,
    pub pause_ns: u64,
}

/// The source of an answer's body.
#[derive(Default)]
pub enum BodySource {
    #[default]
    Empty,
    Fixed(Bytes),
    /// Filler of this many bytes.
    Size(usize),
    /// The request's body and content type.
    Echo,
    /// Text with placeholders that are filled from the request. The template module lists the placeholders.
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

/// Filler for a body of a given size: lines of 64 characters, which a terminal shows well.
pub(crate) fn filler(size: usize) -> Bytes {
    const LINE: &[u8; 64] = b"loadstone stub body, sixty-four characters to a line, and again\n";
    LINE.iter().copied().cycle().take(size).collect::<Vec<u8>>().into()
}

/// A body that is being sent. The guards that it holds (the visit's record, a permit of a limit) are released when it has been sent.
pub(crate) struct OutgoingBody<H> {
    leaving: Leaving,
    _guards: H,
}

enum Leaving {
    Whole(Option<Bytes>),
    Paced(Box<Paced>),
    Messages(Box<MessagesLeaving>),
    /// Frames from another sender, to their end.
    Passed(mpsc::Receiver<PassedFrame>),
}

/// A frame of a body from another sender.
pub(crate) type PassedFrame = Result<Frame<Bytes>, Reset>;

/// Messages with pauses between them, followed by trailing fields.
struct MessagesLeaving {
    left: VecDeque<Bytes>,
    pause_ns: u64,
    trailers: Option<HeaderMap>,
    timer: DeadlineTimer,
    beat: Beat,
    wait: Option<Departure>,
}

/// A body that is sent in pieces, at the pace of its behaviour or of the link it shares.
struct Paced {
    left: Bytes,
    pace: Option<BodyPace>,
    link: Option<Rc<Link>>,
    timer: DeadlineTimer,
    beat: Beat,
    /// The next piece, and the wait before it may be sent.
    next: Option<(Bytes, Departure)>,
}

type Departure = Pin<Box<dyn Future<Output = ()>>>;

/// The times at which pieces are sent; the first is sent at once. Each piece is due one pause after the previous one *was due*, so the time
/// to write one piece does not delay the later ones. After a reader has blocked for longer than a pause, it does not receive the missed
/// pieces in a burst.
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

/// A shared link grants this many bytes at a time, so that concurrent responses take turns.
const LINK_PIECE: usize = 4096;

impl<H> OutgoingBody<H> {
    pub(crate) fn new(bytes: Bytes, pace: Option<BodyPace>, link: Option<Rc<Link>>, timer: &DeadlineTimer, guards: H) -> Self {
        let leaving = if bytes.is_empty() || (pace.is_none() && link.is_none()) {
            Leaving::Whole(Some(bytes).filter(|bytes| !bytes.is_empty()))
        } else {
            Leaving::Paced(Box::new(Paced { left: bytes, pace, link, timer: timer.clone(), beat: Beat::default(), next: None }))
        };
        Self { leaving, _guards: guards }
    }

    /// Messages with `pause_ns` between them. The trailing fields follow the last message immediately.
    pub(crate) fn messages(messages: VecDeque<Bytes>, pause_ns: u64, trailers: HeaderMap, timer: &DeadlineTimer, guards: H) -> Self {
        let (timer, trailers) = (timer.clone(), Some(trailers));
        let leaving = MessagesLeaving { left: messages, pause_ns, trailers, timer, beat: Beat::default(), wait: None };
        Self { leaving: Leaving::Messages(Box::new(leaving)), _guards: guards }
    }

    pub(crate) fn passed(frames: mpsc::Receiver<PassedFrame>, guards: H) -> Self {
        Self { leaving: Leaving::Passed(frames), _guards: guards }
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
    fn a_piece_is_due_one_pause_after_the_previous_one_was_due() {
        let mut beat = Beat::default();
        // A write takes 30, then the reader blocks for 250.
        let asked = [100, 130, 180, 450, 460, 510];
        assert_eq!(asked.map(|now_ns| beat.next_ns(now_ns, 50)), [100, 150, 200, 450, 500, 550]);
    }
}
