//! State that the users of one worker share: clock, recorder, network, and the queues to the driver.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;

use loadstone_metrics::clock::Clock;
use loadstone_metrics::{ErrorText, MarkKind, Outcome, Recorder, SeriesId};
use loadstone_protocol::Network;
use loadstone_secrets::LearntCredentials;
use rquickjs::Ctx;

use super::capability::Capability;
use super::operation::{Operation, OperationSlot};
use super::owner::{Owner, PendingCall};
use super::realm::RealmState;
use super::scenario::ScenarioState;
use crate::error::{ScriptError, SourcePlace};
use crate::extract::cache::Compiled;
use crate::loaded::Loaded;
use crate::realm::caller_place;
use crate::sinks::Sinks;
use crate::unknown_options::option_named;

pub(crate) struct WorkerState {
    pub(crate) clock: Clock,
    pub(crate) recorder: Rc<RefCell<Recorder>>,
    pub(crate) network: Rc<Network>,
    pub(crate) loaded: Arc<Loaded>,
    pub(crate) sinks: Sinks,
    /// Indexed by scenario id.
    pub(crate) scenarios: Vec<Rc<ScenarioState>>,
    /// Compiled expressions with which scripts extract values from bodies.
    pub(crate) compiled: RefCell<Compiled>,
    /// Credentials that requests and responses contained.
    pub(crate) learnt: LearntCredentials,
    /// Name of the group outside groups.
    pub(crate) no_group: Arc<str>,
    /// The owner of the running code.
    pub(crate) current: RefCell<Option<Rc<dyn Owner>>>,
    incoming: RefCell<Vec<Rc<OperationSlot>>>,
    calls: RefCell<Vec<Rc<dyn PendingCall>>>,
    waker: RefCell<Option<Waker>>,
}

impl WorkerState {
    pub(crate) fn new(
        clock: Clock,
        recorder: Rc<RefCell<Recorder>>,
        network: Rc<Network>,
        loaded: Arc<Loaded>,
        sinks: Sinks,
        capabilities: &[&dyn Capability],
    ) -> Result<Self, ScriptError> {
        let open = |index| ScenarioState::new(&loaded, index, &recorder, capabilities).map(Rc::new);
        let scenarios = (0..loaded.plan.scenarios.len()).map(open).collect::<Result<_, _>>()?;
        Ok(Self {
            scenarios,
            clock,
            recorder,
            network,
            loaded,
            sinks,
            compiled: RefCell::default(),
            learnt: LearntCredentials::default(),
            no_group: "".into(),
            current: RefCell::default(),
            incoming: RefCell::default(),
            calls: RefCell::default(),
            waker: RefCell::default(),
        })
    }

    /// Passes an operation to the driver.
    pub(crate) fn submit(
        &self,
        operation: Pin<Box<dyn Operation>>,
        owner: Option<Rc<dyn Owner>>,
        realm: &Rc<RealmState>,
    ) -> Rc<OperationSlot> {
        let slot = OperationSlot::new(operation, owner, Rc::clone(realm));
        self.incoming.borrow_mut().push(Rc::clone(&slot));
        self.wake();
        slot
    }

    /// Requests a turn in a realm from the driver.
    pub(crate) fn call(&self, call: Rc<dyn PendingCall>) {
        self.calls.borrow_mut().push(call);
        self.wake();
    }

    /// Operations that the driver has not received yet.
    pub(super) fn take_incoming(&self, mut each: impl FnMut(Rc<OperationSlot>)) {
        self.incoming.borrow_mut().drain(..).for_each(&mut each);
    }

    pub(super) fn take_calls(&self, into: &mut Vec<Rc<dyn PendingCall>>) {
        into.append(&mut self.calls.borrow_mut());
    }

    pub(super) fn has_work(&self) -> bool {
        !self.incoming.borrow().is_empty() || !self.calls.borrow().is_empty()
    }

    /// Drops operations and turns that wait for a driver that has ended.
    pub(crate) fn clear(&self) {
        let waiting = (std::mem::take(&mut *self.incoming.borrow_mut()), std::mem::take(&mut *self.calls.borrow_mut()));
        drop(waiting);
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    pub(super) fn woken_by(&self, waker: &Waker) {
        let mut known = self.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
    }

    /// Reports an error of a script, grouped under a series. `outcome`: `Script`, or that of its cause.
    pub(crate) fn report(&self, series: SeriesId, outcome: Outcome, error: &ScriptError) {
        let message = match &error.place {
            Some(place) => format!("{} ({place})", error.message),
            None => error.message.clone(),
        };
        let text = ErrorText { message: &message, cause: error.cause };
        self.recorder.borrow_mut().error(series, outcome, self.clock.now(), text);
        self.sinks.error(error);
    }

    /// A script passed an unknown option, whether or not it catches the error.
    pub(crate) fn misused(&self, ctx: &Ctx<'_>, message: &str) {
        let Some(misuse) = &self.sinks.misuse else { return };
        let program = &self.loaded.program;
        let option = |place: SourcePlace| option_named(message).and_then(|option| program.option_place(&place, option)).unwrap_or(place);
        let error = ScriptError::new(message);
        misuse(&match caller_place(ctx, program).map(option) {
            Some(place) => error.at(place),
            None => error,
        });
    }

    /// An iteration returned while one of its steps was in progress. The run warns once.
    pub(crate) fn warn_unawaited(&self, scenario: &ScenarioState, series: SeriesId) {
        if self.loaded.warned_unawaited.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut recorder = self.recorder.borrow_mut();
        let name = recorder.key(series).name.clone();
        let place = scenario.place_of(series).map(|place| format!(" ({place})")).unwrap_or_default();
        let text = format!(
            "scenario \"{}\" does not await \"{name}\"{place}: the iteration ends when the request has ended; write `await` before it, \
             or `await Promise.all([…])` for several",
            scenario.name
        );
        recorder.mark(self.clock.now(), MarkKind::Warning, text);
    }
}
