//! One TCP connection: requests one after the other, each answered before the next is read. Read [`talk`].

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{RequestEnd, TcpTalk};
use crate::clock::now_ns;
use crate::endpoint::PreparedBody;
use crate::exchange::REQUEST_BODY_MAX;
use crate::recording::TCP_ANSWERED;
use crate::visit::{ArrivedRequest, Decision, DueRequest, Moments, ServerState, pass};
use crate::{Reply, StubRequest};

/// The only endpoint of such a server.
const ENDPOINT: usize = 0;

/// What happens after an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Request,
    Close,
    Reset,
}

/// Answers until either side ends the connection. `reset` makes the socket close with a reset.
pub(crate) async fn talk<S>(stream: S, how: &TcpTalk, state: &Rc<ServerState>, reset: &Cell<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut connection = TcpConversation { stream, how, state, unread: BytesMut::new() };
    // An error of one connection affects no other.
    if matches!(connection.hold().await, Ok(Next::Reset)) {
        reset.set(true);
    }
}

struct TcpConversation<'a, S> {
    stream: S,
    how: &'a TcpTalk,
    state: &'a Rc<ServerState>,
    unread: BytesMut,
}

impl<S: AsyncRead + AsyncWrite + Unpin> TcpConversation<'_, S> {
    async fn hold(&mut self) -> io::Result<Next> {
        self.stream.write_all(&self.how.greeting).await?;
        while let Some(request) = self.request().await? {
            match self.answer(request).await? {
                Next::Request => {}
                Next::Close => break,
                Next::Reset => return Ok(Next::Reset),
            }
        }
        self.stream.shutdown().await?;
        Ok(Next::Close)
    }

    /// The next request. `None` when the client has sent the last one.
    async fn request(&mut self) -> io::Result<Option<Bytes>> {
        let mut searched = 0;
        loop {
            if let Some(length) = self.whole(&mut searched) {
                return Ok(Some(self.unread.split_to(length).freeze()));
            }
            if self.unread.len() > REQUEST_BODY_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if self.stream.read_buf(&mut self.unread).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Length of the complete request in the buffer. There is no delimiter before `searched`.
    fn whole(&self, searched: &mut usize) -> Option<usize> {
        let bytes = self.unread.chunk();
        match &self.how.end {
            RequestEnd::Arrival => (!bytes.is_empty()).then_some(bytes.len()),
            RequestEnd::Length(length) => (bytes.len() >= *length).then_some(*length),
            RequestEnd::Delimiter(delimiter) => {
                let at = bytes[*searched..].windows(delimiter.len()).position(|window| window == delimiter.as_slice());
                let end = at.map(|at| *searched + at + delimiter.len());
                // The delimiter may have begun in the last bytes.
                *searched = bytes.len().saturating_sub(delimiter.len() - 1);
                end
            }
        }
    }

    async fn answer(&mut self, request: Bytes) -> io::Result<Next> {
        let arrival = ArrivedRequest { at_ns: now_ns(), bytes: request.len(), held: self.state.held.enter() };
        let passage = pass(self.state, ENDPOINT, arrival, |moments| as_request(request, moments));
        let DueRequest { visit, permit: _permit, decision } = passage.await;
        match decision {
            // An unknown protocol has no answer for a rejected request, so the connection is closed.
            Decision::Rejected { .. } | Decision::Failed(_) => {
                visit.closed();
                Ok(Next::Close)
            }
            // Until the client gives up, even if it sends more.
            Decision::Silence => loop {
                self.unread.clear();
                if self.stream.read_buf(&mut self.unread).await? == 0 {
                    return Ok(Next::Close);
                }
            },
            Decision::Reset => Ok(Next::Reset),
            Decision::Answered(reply, request) => {
                let closes = reply.closes || self.how.closes || reply.status.is_some();
                let bytes = self.content(reply, request);
                self.stream.write_all(&bytes).await?;
                visit.answered(TCP_ANSWERED);
                Ok(if closes { Next::Close } else { Next::Request })
            }
        }
    }

    fn content(&self, reply: Reply, request: Option<StubRequest>) -> Bytes {
        match (reply, request) {
            // A function that failed sends nothing to the client.
            (Reply { status: Some(_), .. }, _) => Bytes::new(),
            (Reply { body: Some(body), .. }, _) => body,
            (_, request) => match (&self.state.endpoints[ENDPOINT].content, request) {
                (PreparedBody::Fixed(bytes, _), _) => bytes.clone(),
                (content, Some(request)) => content.answer(0, request, &self.state.random).body,
                (_, None) => Bytes::new(),
            },
        }
    }
}

fn as_request(body: Bytes, Moments { arrived_ns, due_ns, sequence }: Moments) -> StubRequest {
    StubRequest {
        method: String::new(),
        path: String::new(),
        query: String::new(),
        parameters: Vec::new(),
        headers: Vec::new(),
        body,
        messages: Vec::new(),
        arrived_ns,
        due_ns,
        sequence,
    }
}
