//! Creates the users of one worker, and their realms.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_engine::{UserError, UserFactory, WorkerContext};
use loadstone_metrics::GeneratorSlice;
use loadstone_plan::ScenarioId;
use loadstone_protocol::{Network, NetworkOptions, WorkerPosition};

use crate::error::ScriptError;
use crate::globals::console::ConsoleSink;
use crate::iterations::{ScriptUser, ScriptedUser};
use crate::loaded::Loaded;
use crate::natives;
use crate::realm::Realm;
use crate::runtime::driver::{Driver, WorkerRealms};
use crate::runtime::home::RealmHome;
use crate::runtime::parts::StateParts;
use crate::runtime::realm::RealmState;
use crate::runtime::user::UserState;
use crate::runtime::worker::WorkerState;
use crate::sinks::{ConsoleLine, Sinks};
use crate::stubs::declared;
use crate::user;

/// Users of one realm. A full collection takes about 4 ms for a thousand suspended users, and stops all of them.
const USERS_PER_REALM: usize = 2_000;

/// The users of one worker. Lives on the worker's thread.
pub struct ScriptUsers {
    realms: Rc<WorkerRealms>,
}

impl ScriptUsers {
    /// Evaluates the test file in a first realm of this worker.
    ///
    /// # Errors
    /// The network's settings or the file are wrong, although a run has evaluated the file once before.
    pub fn new(loaded: &Arc<Loaded>, context: &WorkerContext, sinks: Sinks) -> Result<Self, ScriptError> {
        let position = WorkerPosition { worker: context.index, workers: context.workers };
        let options = NetworkOptions { position, ..loaded.network.clone() };
        let network = Network::new(context.clock.clone(), options).map_err(|error| ScriptError::new(error.to_string()))?;
        Self::with_network(loaded, context, network, sinks)
    }

    /// The same, with a network of the caller.
    ///
    /// # Errors
    /// As [`ScriptUsers::new`].
    pub fn with_network(loaded: &Arc<Loaded>, context: &WorkerContext, network: Rc<Network>, sinks: Sinks) -> Result<Self, ScriptError> {
        let (clock, recorder) = (context.clock.clone(), Rc::clone(&context.recorder));
        let worker = WorkerState::new(clock, recorder, network, Arc::clone(loaded), sinks, &user::capabilities())?;
        let users = Self { realms: Rc::new(WorkerRealms::new(Rc::new(worker))) };
        users.open_realm()?;
        Ok(users)
    }

    /// The network of this worker, for the count of its connections.
    pub fn network(&self) -> &Rc<Network> {
        &self.worker().network
    }

    fn worker(&self) -> &Rc<WorkerState> {
        &self.realms.worker
    }

    fn open_realm(&self) -> Result<Rc<RealmState>, ScriptError> {
        let worker = self.worker();
        let loaded = &worker.loaded;
        let (realm, scope, ()) = Realm::new(Rc::new(loaded.world()), console(worker), |ctx, native| {
            natives::install(ctx, native, &loaded.inputs, &loaded.plan.secrets)?;
            declared::install_for_running(ctx, native, &loaded.stubs, &loaded.plan)?;
            RealmHome::install(ctx, worker);
            user::install(ctx, native)?;
            user::capabilities().iter().try_for_each(|capability| capability.install_for_users(ctx, native))
        })?;
        realm.evaluate(|_, _| Ok(()))?;
        scope.seal();
        declared::seal(&realm).map_err(|error| ScriptError::new(error.to_string()))?;
        let mut parts = StateParts::default();
        let opened = realm.enter(|ctx| user::capabilities().iter().try_for_each(|capability| capability.open_realm(ctx, &mut parts)));
        opened.map_err(|error| ScriptError::new(error.to_string()))?;
        let state = Rc::new(RealmState { parts, realm, users: Cell::new(0) });
        RealmHome::open(&state);
        self.realms.add(&state);
        Ok(state)
    }

    fn make_user(&self, leaf: u32, scenario: ScenarioId, number: u64) -> Result<ScriptUser, ScriptError> {
        let realm = self.realms.with_room(USERS_PER_REALM).map_or_else(|| self.open_realm(), Ok)?;
        let scenario = Rc::clone(&self.worker().scenarios[scenario.0 as usize]);
        let state = Rc::new(UserState::new(Rc::clone(self.worker()), scenario, Rc::downgrade(&realm), leaf, number));
        let created = realm.realm.enter(|ctx| ScriptedUser::new(ctx, state, Rc::clone(&realm)));
        created.map(ScriptUser::new).map_err(|error| ScriptError::new(error.to_string()))
    }
}

impl std::fmt::Debug for ScriptUsers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptUsers").field("realms", &self.realms.count()).finish_non_exhaustive()
    }
}

/// Console lines of a realm, with the user whose code wrote them.
fn console(worker: &Rc<WorkerState>) -> ConsoleSink {
    let Some(sink) = worker.sinks.console.clone() else { return Rc::new(|_, _| {}) };
    // Weak: the realm owns the sink, and the worker's state may hold users of the realm.
    let worker = Rc::downgrade(worker);
    Rc::new(move |level, text| {
        let current = worker.upgrade().and_then(|worker| worker.current.borrow().clone());
        sink(&ConsoleLine { level, text: text.to_owned(), user: current.map(|owner| owner.label()) });
    })
}

fn of_script(error: ScriptError) -> UserError {
    error.render().into()
}

impl UserFactory for ScriptUsers {
    type User = ScriptUser;

    /// Opens the realms of this many users. Later, during the load, evaluating the test file again would delay the existing users.
    fn prepare(&self, users: u64) -> Result<(), UserError> {
        while ((self.realms.count() * USERS_PER_REALM) as u64) < users {
            self.open_realm().map_err(of_script)?;
        }
        Ok(())
    }

    fn new_user(&self, leaf: u32, scenario: ScenarioId, number: u64) -> Result<ScriptUser, UserError> {
        self.make_user(leaf, scenario, number).map_err(of_script)
    }

    fn count_into(&self, slice: &mut GeneratorSlice) {
        self.worker().network.count_into(slice);
    }

    fn drive(&self) -> impl Future<Output = ()> + 'static {
        Driver::new(Rc::clone(&self.realms))
    }
}
