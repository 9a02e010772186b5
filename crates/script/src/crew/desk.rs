//! What the users of one worker share: clock, recorder, network, and the queues to the driver.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use metrics::clock::Clock;
use metrics::{Outcome, Recorder, SeriesId};
use protocol::Network;
use rquickjs::{Object, Persistent};

use super::actor::Actor;
use super::cell::UserCell;
use super::op::{Op, OpSlot, Then, Work};
use super::scenario::ScenarioCard;
use super::sinks::Sinks;
use crate::error::ScriptError;
use crate::extract::cache::Compiled;
use crate::load::Loaded;
use crate::realm::Realm;
use crate::user::{Checks, Method, PreparedRequests};

/// A realm of this worker, and how many users it has.
pub(crate) struct RealmHandle {
    /// Before the realm: they hold values of it.
    pub(crate) prepared: PreparedRequests,
    pub(crate) checks: Checks,
    pub(crate) response_prototype: Persistent<Object<'static>>,
    pub(crate) realm: Realm,
    pub(crate) users: Cell<usize>,
}

pub(crate) struct Desk {
    pub(crate) clock: Clock,
    pub(crate) recorder: Rc<RefCell<Recorder>>,
    pub(crate) network: Rc<Network>,
    pub(crate) loaded: Arc<Loaded>,
    pub(crate) sinks: Sinks,
    /// Indexed by scenario id.
    pub(crate) cards: Vec<Rc<ScenarioCard>>,
    pub(crate) compiled: RefCell<Compiled>,
    /// Texts of [`Method`], shared by all requests.
    pub(crate) methods: [Rc<str>; Method::TEXTS.len()],
    /// Name of the group outside groups.
    pub(crate) no_group: Arc<str>,
    /// The user whose code is running.
    pub(crate) current: RefCell<Option<Rc<UserCell>>>,
    incoming: RefCell<Vec<Op>>,
    starts: RefCell<Vec<Rc<Actor>>>,
    waker: RefCell<Option<Waker>>,
}

impl Desk {
    pub(crate) fn new(
        clock: Clock,
        recorder: Rc<RefCell<Recorder>>,
        network: Rc<Network>,
        loaded: Arc<Loaded>,
        sinks: Sinks,
    ) -> Result<Self, ScriptError> {
        let cards = (0..loaded.plan.scenarios.len()).map(|index| ScenarioCard::new(&loaded, index, &recorder).map(Rc::new));
        Ok(Self {
            cards: cards.collect::<Result<_, _>>()?,
            clock,
            recorder,
            network,
            loaded,
            sinks,
            compiled: RefCell::default(),
            methods: Method::TEXTS.map(Rc::from),
            no_group: "".into(),
            current: RefCell::default(),
            incoming: RefCell::default(),
            starts: RefCell::default(),
            waker: RefCell::default(),
        })
    }

    /// Hands an operation to the driver.
    pub(crate) fn submit(&self, work: Work, then: Then, user: Option<&Rc<UserCell>>, realm: &Rc<RealmHandle>) -> Rc<OpSlot> {
        let slot = OpSlot::new(work, then, user.cloned(), Rc::clone(realm));
        self.queue(Op(Rc::clone(&slot)));
        slot
    }

    pub(crate) fn queue(&self, op: Op) {
        self.incoming.borrow_mut().push(op);
        self.wake();
    }

    /// Asks the driver to call a user's scenario.
    pub(crate) fn start(&self, actor: Rc<Actor>) {
        self.starts.borrow_mut().push(actor);
        self.wake();
    }

    /// Moves the queued operations to the driver.
    pub(crate) fn take_incoming(&self, into: &mut impl Extend<Op>) {
        into.extend(self.incoming.borrow_mut().drain(..));
    }

    pub(crate) fn take_starts(&self, into: &mut Vec<Rc<Actor>>) {
        into.append(&mut self.starts.borrow_mut());
    }

    pub(crate) fn has_work(&self) -> bool {
        !self.incoming.borrow().is_empty() || !self.starts.borrow().is_empty()
    }

    /// Drops what waits for a driver that has gone.
    pub(crate) fn clear(&self) {
        let waiting = (std::mem::take(&mut *self.incoming.borrow_mut()), std::mem::take(&mut *self.starts.borrow_mut()));
        drop(waiting);
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    pub(crate) fn woken_by(&self, waker: &Waker) {
        let mut known = self.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
    }

    /// Reports an error of a script, grouped under a series.
    pub(crate) fn report(&self, series: SeriesId, error: &ScriptError) {
        let message = match &error.place {
            Some(place) => format!("{} ({place})", error.message),
            None => error.message.clone(),
        };
        self.recorder.borrow_mut().error(series, Outcome::Script, self.clock.now(), &message);
        self.sinks.error(error);
    }
}
