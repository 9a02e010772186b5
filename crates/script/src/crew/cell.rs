//! The state of one user that outlives a single call: its iteration, its connections, its groups.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Waker;

use engine::{Iteration, IterationEnd};
use metrics::{Nanos, Outcome, SeriesKind};
use protocol::http::{BodyUse, Client, ClientOptions, HttpSession, SessionOptions};

use super::desk::Desk;
use super::group::{Group, GroupEnd};
use super::op::OpSlot;
use super::scenario::ScenarioCard;
use crate::data::bindings::RandomHandle;
use crate::data::draws::Stream;
use crate::user::{SocketCell, close_all};

/// Operations of one user that are remembered before those that are over are swept out.
const UNDER_WAY_SWEPT_AT: usize = 8;

/// Holds no JavaScript values: objects of the realm hold it, and a cycle through the engine would never be freed.
pub(crate) struct UserCell {
    pub(crate) desk: Rc<Desk>,
    pub(crate) card: Rc<ScenarioCard>,
    pub(crate) number: u64,
    pub(crate) session: Rc<HttpSession>,
    pub(crate) random: RandomHandle,
    leaf: u32,
    iteration: RefCell<Option<Iteration>>,
    /// Counts the iterations, so that what belongs to an earlier one is known.
    epoch: Cell<u32>,
    /// When the first request of this iteration was due; taken by it.
    due: Cell<Option<Nanos>>,
    failed: Cell<bool>,
    end: Cell<Option<IterationEnd>>,
    waker: RefCell<Option<Waker>>,
    under_way: RefCell<Vec<Weak<OpSlot>>>,
    groups: RefCell<Vec<Rc<Group>>>,
    /// WebSockets that are open.
    sockets: RefCell<Vec<Rc<SocketCell>>>,
}

impl UserCell {
    pub(crate) fn new(desk: Rc<Desk>, card: Rc<ScenarioCard>, leaf: u32, number: u64) -> Self {
        let settings = &desk.loaded.settings;
        let options = ClientOptions { keep_alive: settings.keep_alive, connections_max: settings.connections_per_user };
        let client = Client::new(Rc::clone(&desk.network), options);
        let session = Rc::new(HttpSession::new(client, session_options(&card)));
        let first = Stream::Iteration { leaf, user: number, iteration: 0 };
        let random = RandomHandle::new(desk.loaded.plan.options.seed, first);
        Self {
            desk,
            card,
            number,
            session,
            random,
            leaf,
            iteration: RefCell::default(),
            epoch: Cell::default(),
            due: Cell::default(),
            failed: Cell::default(),
            end: Cell::default(),
            waker: RefCell::default(),
            under_way: RefCell::default(),
            groups: RefCell::default(),
            sockets: RefCell::default(),
        }
    }

    /// An iteration is running.
    pub(crate) fn is_playing(&self) -> bool {
        self.iteration.borrow().is_some()
    }

    /// Number of the running iteration within its leaf; `None` between iterations.
    pub(crate) fn sequence(&self) -> Option<u64> {
        self.iteration.borrow().as_ref().map(|iteration| iteration.arrival.sequence)
    }

    /// When the running iteration was due; in closed load, when it began. `None` between iterations.
    pub(crate) fn scheduled(&self) -> Option<Nanos> {
        self.iteration.borrow().as_ref().map(|iteration| iteration.arrival.scheduled)
    }

    /// When the load of this user's leaf ends.
    pub(crate) fn load_end(&self) -> Nanos {
        self.iteration.borrow().as_ref().map_or(0, |iteration| iteration.load_end.get())
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.get()
    }

    /// A new iteration begins. Returns whether `user.state` is kept.
    pub(crate) fn begin(&self, iteration: Iteration) -> bool {
        let (open, sequence) = (iteration.open, iteration.arrival.sequence);
        self.epoch.set(self.epoch.get().wrapping_add(1));
        self.due.set(open.then_some(iteration.arrival.scheduled));
        *self.iteration.borrow_mut() = Some(iteration);
        self.failed.set(false);
        self.end.set(None);
        self.groups.borrow_mut().clear();
        let stream = if open {
            Stream::Arrival { leaf: self.leaf, number: sequence }
        } else {
            Stream::Iteration { leaf: self.leaf, user: self.number, iteration: self.epoch.get().into() }
        };
        self.random.restart(stream);
        let keep = self.card.keep;
        if !keep.connections.unwrap_or(true) {
            self.session.client().close();
        }
        if !keep.cookies.unwrap_or(!open) {
            self.session.clear_cookies();
        }
        keep.state.unwrap_or(!open)
    }

    /// The iteration has ended by itself; it is over once its WebSockets are closed.
    pub(crate) fn finish(self: &Rc<Self>, end: IterationEnd) {
        let Some(iteration) = self.iteration.borrow_mut().take() else { return };
        if self.sockets.borrow().is_empty() {
            return self.be_over(end);
        }
        // A kept socket lives as long as `user.state`, which is where a script would keep it.
        let keeps = self.card.keep.state.unwrap_or(!iteration.open);
        let closing = self.sockets.borrow().iter().filter(|socket| !(keeps && socket.is_kept())).cloned().collect();
        let user = Rc::clone(self);
        match close_all(closing, move || user.be_over(end)) {
            Some(slot) => self.track(&slot),
            None => self.be_over(end),
        }
    }

    fn be_over(&self, end: IterationEnd) {
        self.end.set(Some(end));
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    pub(crate) fn hold_socket(&self, socket: &Rc<SocketCell>) {
        self.sockets.borrow_mut().push(Rc::clone(socket));
    }

    pub(crate) fn forget_socket(&self, socket: &SocketCell) {
        self.sockets.borrow_mut().retain(|held| !std::ptr::eq(&**held, socket));
    }

    /// Closes what sockets are left, without waiting for the server.
    pub(crate) fn leave_sockets(&self) {
        let sockets = std::mem::take(&mut *self.sockets.borrow_mut());
        sockets.iter().for_each(|socket| socket.leave());
    }

    /// `Passed`, unless one of its requests failed.
    pub(crate) fn outcome(&self) -> Outcome {
        if self.failed.get() { Outcome::Script } else { Outcome::Passed }
    }

    pub(crate) fn take_end(&self) -> Option<IterationEnd> {
        self.end.take()
    }

    pub(crate) fn wait(&self, waker: &Waker) {
        let mut known = self.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
    }

    /// Ends the iteration from outside: everything under way is dropped and recorded as interrupted.
    pub(crate) fn interrupt(&self) {
        *self.iteration.borrow_mut() = None;
        self.waker.borrow_mut().take();
        let under_way = std::mem::take(&mut *self.under_way.borrow_mut());
        under_way.iter().filter_map(Weak::upgrade).for_each(|slot| slot.cancel());
        let groups = std::mem::take(&mut *self.groups.borrow_mut());
        groups.iter().rev().for_each(|group| self.record_group(group, GroupEnd::Interrupted));
        self.leave_sockets();
    }

    /// Remembers an operation, so that an interruption finds it.
    pub(crate) fn track(&self, slot: &Rc<OpSlot>) {
        let mut under_way = self.under_way.borrow_mut();
        // Mostly the one before is over; a weak reference would keep its memory.
        while under_way.last().is_some_and(|slot| slot.strong_count() == 0) {
            under_way.pop();
        }
        if under_way.len() >= UNDER_WAY_SWEPT_AT {
            under_way.retain(|slot| slot.strong_count() > 0);
        }
        under_way.push(Rc::downgrade(slot));
    }

    /// Moves the instant at which the first request is due.
    pub(crate) fn postpone(&self, ns: u64) {
        self.due.set(self.due.get().map(|due| due.saturating_add(ns)));
    }

    /// When the next request was due, if it is the first of an open iteration.
    pub(crate) fn take_due(&self) -> Option<Nanos> {
        self.due.take()
    }

    /// A request failed: so have its iteration and the groups around it.
    pub(crate) fn note_failure(&self, epoch: u32, group: Option<&Rc<Group>>) {
        if epoch == self.epoch.get() {
            self.failed.set(true);
        }
        Group::fail(group);
    }

    /// The innermost group that is open.
    pub(crate) fn group(&self) -> Option<Rc<Group>> {
        self.groups.borrow().last().cloned()
    }

    pub(crate) fn enter_group(&self, name: &str, parent: Option<Rc<Group>>) -> Rc<Group> {
        let group = Group::new(name, parent, self.desk.clock.now());
        self.groups.borrow_mut().push(Rc::clone(&group));
        group
    }

    pub(crate) fn leave_group(&self, group: &Rc<Group>, end: GroupEnd) {
        let mut groups = self.groups.borrow_mut();
        let Some(at) = groups.iter().rposition(|open| Rc::ptr_eq(open, group)) else { return };
        groups.remove(at);
        drop(groups);
        self.record_group(group, end);
    }

    fn record_group(&self, group: &Group, end: GroupEnd) {
        let parent: Arc<str> = group.parent.as_ref().map_or_else(|| "".into(), |parent| parent.name.clone());
        let series = self.card.series(&self.desk.recorder, SeriesKind::Group, &parent, &group.name);
        let sample = group.sample(self.desk.clock.now(), end);
        self.desk.recorder.borrow_mut().record(series, &sample);
    }
}

fn session_options(card: &ScenarioCard) -> SessionOptions {
    SessionOptions {
        timeout_ns: card.timeout_ns,
        body_use: BodyUse::Keep,
        body_bytes_max: card.body_bytes_max,
        ..SessionOptions::default()
    }
}
