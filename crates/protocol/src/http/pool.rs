//! One user's kept-alive connections, by origin; and who may open or take one next.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use metrics::clock::Timer;

use super::h2::Multiplex;
use super::message::Origin;
use crate::Network;
use crate::stream::Stream;

/// Origins whose kept connections a user holds at once; beyond it, those of the oldest are closed.
const ORIGINS_MAX: usize = 32;

/// Counts a connection as open for as long as it lives.
#[derive(Debug)]
pub(crate) struct Counted {
    network: Rc<Network>,
}

impl Counted {
    fn new(network: &Rc<Network>) -> Self {
        network.count(|counts| {
            counts.open += 1;
            counts.opened += 1;
        });
        Self { network: Rc::clone(network) }
    }

    pub(crate) fn network(&self) -> &Rc<Network> {
        &self.network
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.network.count(|counts| counts.open -= 1);
    }
}

/// An open connection and what belongs to it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    /// Serves the time limits of all its requests: setting a queued timer later costs one store.
    pub(crate) timer: Timer,
    pub(crate) counted: Counted,
}

impl Connection {
    pub(crate) fn new(network: &Rc<Network>, stream: Stream, timer: Timer) -> Box<Self> {
        Box::new(Self { stream, timer, counted: Counted::new(network) })
    }
}

/// The connections of one user.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    origins: RefCell<Vec<Rc<Lane>>>,
}

/// What is known of an origin where HTTP/2 may be spoken.
#[derive(Debug, Default)]
pub(crate) enum Shared {
    #[default]
    Unknown,
    /// ALPN chose HTTP/1.1.
    Http1,
    Http2(Rc<Multiplex>),
}

/// The connections of one user to one origin.
#[derive(Debug)]
pub(crate) struct Lane {
    origin: Rc<Origin>,
    #[expect(clippy::vec_box, reason = "connections move in and out of requests' futures, which should stay small")]
    idle: RefCell<Vec<Box<Connection>>>,
    busy: Cell<usize>,
    /// The one connection of HTTP/2, where it is spoken.
    pub(crate) shared: tokio::sync::Mutex<Shared>,
    /// Requests that wait for a place, first come first served.
    waiting: RefCell<VecDeque<Rc<Ticket>>>,
}

#[derive(Debug, Default)]
struct Ticket {
    called: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Pool {
    /// The lane to an origin; made if it is new.
    pub(crate) fn lane(&self, origin: &Rc<Origin>) -> Rc<Lane> {
        let mut origins = self.origins.borrow_mut();
        if let Some(lane) = origins.iter().find(|lane| Rc::ptr_eq(&lane.origin, origin) || lane.origin == *origin) {
            return Rc::clone(lane);
        }
        if origins.len() >= ORIGINS_MAX
            && let Some(oldest) = origins.iter().position(|lane| lane.busy.get() == 0)
        {
            origins.remove(oldest);
        }
        let lane = Rc::new(Lane {
            origin: Rc::clone(origin),
            idle: RefCell::default(),
            busy: Cell::new(0),
            shared: tokio::sync::Mutex::default(),
            waiting: RefCell::default(),
        });
        origins.push(Rc::clone(&lane));
        lane
    }

    pub(crate) fn close(&self) {
        for lane in &*self.origins.borrow() {
            lane.idle.borrow_mut().clear();
            if let Ok(mut shared) = lane.shared.try_lock() {
                *shared = Shared::Unknown;
            }
        }
    }
}

impl Lane {
    /// A place, where fewer than `connections_max` requests are under way.
    pub(crate) fn try_enter(self: &Rc<Self>, connections_max: usize) -> Option<Place> {
        (self.busy.get() < connections_max.max(1)).then(|| {
            self.busy.set(self.busy.get() + 1);
            Place { lane: Rc::clone(self) }
        })
    }

    /// Waits until another request gives its place away, in the order of asking.
    pub(crate) async fn enter(self: &Rc<Self>) -> Place {
        let mut queued = Queued { lane: self, ticket: Rc::default(), entered: false };
        self.waiting.borrow_mut().push_back(Rc::clone(&queued.ticket));
        poll_fn(|context| {
            if queued.ticket.called.get() {
                return Poll::Ready(());
            }
            *queued.ticket.waker.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
        queued.entered = true;
        Place { lane: Rc::clone(self) }
    }

    /// A connection lies idle, or is shared by all requests.
    pub(crate) fn is_ready(&self) -> bool {
        !self.idle.borrow().is_empty() || self.shared.try_lock().is_ok_and(|shared| matches!(*shared, Shared::Http2(_)))
    }

    pub(crate) fn keep(&self, connection: Box<Connection>) {
        self.idle.borrow_mut().push(connection);
    }

    /// Gives a place that became free to the next in line.
    fn leave(&self) {
        let next = self.waiting.borrow_mut().pop_front();
        match next {
            Some(ticket) => {
                ticket.called.set(true);
                if let Some(waker) = ticket.waker.take() {
                    waker.wake();
                }
            }
            None => self.busy.set(self.busy.get() - 1),
        }
    }
}

/// Standing in line; leaves it when the request is dropped.
struct Queued<'a> {
    lane: &'a Lane,
    ticket: Rc<Ticket>,
    entered: bool,
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        if self.entered {
            return;
        }
        if self.ticket.called.get() {
            self.lane.leave();
        } else {
            self.lane.waiting.borrow_mut().retain(|ticket| !Rc::ptr_eq(ticket, &self.ticket));
        }
    }
}

/// One request's right to a connection. Dropping it lets the next one in.
#[derive(Debug)]
pub(crate) struct Place {
    lane: Rc<Lane>,
}

impl Place {
    /// A kept connection that can still be used, the last used first.
    pub(crate) fn take_idle(&self, network: &Network) -> Option<Box<Connection>> {
        let mut idle = self.lane.idle.borrow_mut();
        while let Some(mut connection) = idle.pop() {
            if !connection.stream.is_spoilt(&mut network.scratch()) {
                return Some(connection);
            }
        }
        None
    }

    pub(crate) fn keep(&self, connection: Box<Connection>) {
        self.lane.keep(connection);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.lane.leave();
    }
}
