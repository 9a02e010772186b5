//! The users of one worker: realms to play them in, and the driver that keeps them going.
//!
//! Read [`ScriptUsers`] (what the engine holds), then `actor` (one user), `cell` (its state), `op` (what a script awaits) and
//! `driver` (the loop). Deliberately absent: what the user object offers (`user`).

pub(crate) mod actor;
pub(crate) mod cell;
pub(crate) mod desk;
mod driver;
pub(crate) mod group;
pub(crate) mod op;
pub(crate) mod scenario;
pub(crate) mod sinks;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use engine::{IterationEnd, UserFactory, WorkerContext};
use metrics::{GeneratorSlice, Outcome};
use plan::ScenarioId;
use protocol::{Network, NetworkOptions, WorkerPosition};
use rquickjs::{Ctx, Function, Object, Persistent, Value};

pub use actor::ScriptUser;
pub use sinks::{ConsoleLine, Direction, Level, MessageSink, Sink, Sinks, TraceSink, Traced, TracedMessage};

use crate::error::ScriptError;
use crate::globals::console::{ConsoleSink, Level as ConsoleLevel};
use crate::load::{Loaded, install_common};
use crate::realm::{Awaiting, Realm, World, describe, name_of};
use crate::stubs;
use crate::user::{self, Checks, PreparedRequests};
use actor::Actor;
use cell::UserCell;
use desk::{Desk, RealmHandle};
use driver::Driver;
use op::{Done, Work};

/// Users of one realm. A full collection takes some 4 ms for a thousand suspended users, and stops them all.
const USERS_PER_REALM: usize = 2_000;

/// The users of one worker. Lives on the worker's thread.
pub struct ScriptUsers {
    worker: Rc<Worker>,
}

/// A realm with jobs left to run, and the user whose turn they are.
type Unfinished = (Rc<RealmHandle>, Option<Rc<UserCell>>);

/// Realms and what they share.
pub(crate) struct Worker {
    pub(crate) desk: Rc<Desk>,
    realms: RefCell<Vec<Rc<RealmHandle>>>,
    /// Realms with jobs left over from a user's turn.
    unfinished: RefCell<Vec<Unfinished>>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Waiting operations hold their realm, and the realm's objects hold the desk.
        self.desk.clear();
    }
}

impl ScriptUsers {
    /// Evaluates the test file in a first realm of this worker.
    ///
    /// # Errors
    /// The network's settings or the file itself, which a run has evaluated once before.
    pub fn new(loaded: &Arc<Loaded>, context: &WorkerContext, sinks: Sinks) -> Result<Self, ScriptError> {
        let position = WorkerPosition { worker: context.index, workers: context.workers };
        let options = NetworkOptions { position, ..loaded.network.clone() };
        let network = Network::new(context.clock.clone(), options).map_err(|error| ScriptError::new(error.to_string()))?;
        Self::with_network(loaded, context, network, sinks)
    }

    /// The same over a network that the caller made.
    ///
    /// # Errors
    /// As [`ScriptUsers::new`].
    pub fn with_network(loaded: &Arc<Loaded>, context: &WorkerContext, network: Rc<Network>, sinks: Sinks) -> Result<Self, ScriptError> {
        let desk = Desk::new(context.clock.clone(), Rc::clone(&context.recorder), network, Arc::clone(loaded), sinks)?;
        let worker = Worker { desk: Rc::new(desk), realms: RefCell::default(), unfinished: RefCell::default() };
        worker.open_realm()?;
        Ok(Self { worker: Rc::new(worker) })
    }

    /// The network of this worker, for the count of its connections.
    pub fn network(&self) -> &Rc<Network> {
        &self.worker.desk.network
    }
}

impl std::fmt::Debug for ScriptUsers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptUsers").field("realms", &self.worker.realms.borrow().len()).finish_non_exhaustive()
    }
}

impl Worker {
    fn open_realm(&self) -> Result<Rc<RealmHandle>, ScriptError> {
        let loaded = &self.desk.loaded;
        let world = World {
            program: Arc::clone(&loaded.program),
            folder: loaded.program.folder.clone(),
            store: Arc::clone(&loaded.store),
            turn_ns_max: loaded.turn_ns_max,
        };
        let (realm, scope, ()) = Realm::new(Rc::new(world), console(&self.desk), |ctx, native| {
            install_common(ctx, native, &loaded.inputs, &loaded.plan.secrets)?;
            stubs::install_for_running(ctx, native, loaded)?;
            user::install(ctx, native, &self.desk)
        })?;
        realm.evaluate(|_, _| Ok(()))?;
        scope.seal();
        stubs::seal(&realm).map_err(|error| ScriptError::new(error.to_string()))?;
        let kept = realm.enter(|ctx| Ok::<_, rquickjs::Error>((PreparedRequests::new(ctx)?, user::response_prototype(ctx)?)));
        let (prepared, response_prototype) = kept.map_err(|error| ScriptError::new(error.to_string()))?;
        let handle = Rc::new(RealmHandle { prepared, checks: Checks::default(), response_prototype, realm, users: Cell::new(0) });
        user::settle_in(&handle);
        self.realms.borrow_mut().push(Rc::clone(&handle));
        Ok(handle)
    }

    /// A realm with room for one more user.
    fn roomy_realm(&self) -> Result<Rc<RealmHandle>, ScriptError> {
        let roomy = self.realms.borrow().iter().find(|handle| handle.users.get() < USERS_PER_REALM).cloned();
        roomy.map_or_else(|| self.open_realm(), Ok)
    }

    fn new_user(&self, leaf: u32, scenario: ScenarioId, number: u64) -> Result<ScriptUser, ScriptError> {
        let handle = self.roomy_realm()?;
        let card = Rc::clone(&self.desk.cards[scenario.0 as usize]);
        let cell = Rc::new(UserCell::new(Rc::clone(&self.desk), card, leaf, number));
        let realm = Rc::downgrade(&handle);
        let made = handle.realm.enter(|ctx| actor_values(ctx, &cell, realm));
        let (user, scenario) = made.map_err(|error| ScriptError::new(error.to_string()))?;
        handle.users.set(handle.users.get() + 1);
        Ok(ScriptUser::new(Actor::new(user, scenario, cell, handle)))
    }

    /// A wait on the run's clock.
    pub(crate) fn waiting(&self, ns: u64) -> Work {
        waiting(&self.desk, ns)
    }

    /// Nothing is ready: a time to collect garbage where it has piled up.
    fn rest(&self) {
        for handle in self.realms.borrow().iter() {
            if let Some(took_ns) = handle.realm.collect_if_due(&self.desk.clock) {
                self.desk.recorder.borrow_mut().generator().collections.record(took_ns);
            }
        }
    }
}

/// A wait on the run's clock. Nanoseconds.
pub(crate) fn waiting(desk: &Desk, ns: u64) -> Work {
    let timer = desk.clock.sleep(ns);
    Box::pin(async move {
        timer.await;
        Done::Waited
    })
}

/// Console lines of a realm, with the user whose code wrote them.
fn console(desk: &Rc<Desk>) -> ConsoleSink {
    let Some(sink) = desk.sinks.console.clone() else { return Rc::new(|_, _| {}) };
    // Weak: the realm owns the sink, and the desk may hold users of the realm.
    let desk = Rc::downgrade(desk);
    Rc::new(move |level, text| {
        let current = desk.upgrade().and_then(|desk| desk.current.borrow().clone());
        let level = match level {
            ConsoleLevel::Debug => Level::Debug,
            ConsoleLevel::Info => Level::Info,
            ConsoleLevel::Warn => Level::Warn,
            ConsoleLevel::Error => Level::Error,
        };
        sink(&ConsoleLine { level, text: text.to_owned(), user: current.map(|user| (Rc::clone(&user.card.name), user.number)) });
    })
}

type Made = (Persistent<Object<'static>>, Persistent<Function<'static>>);

/// The user object and the scenario's function.
fn actor_values<'js>(ctx: &Ctx<'js>, cell: &Rc<UserCell>, realm: Weak<RealmHandle>) -> rquickjs::Result<Made> {
    let native: Object<'js> = ctx.globals().get("__loadstone")?;
    let find: Function<'js> = native.get("scenario")?;
    let scenario: Function<'js> = find.call((&*cell.card.name,))?;
    let user = user::object(ctx, cell, realm)?;
    Ok((Persistent::save(ctx, user), Persistent::save(ctx, scenario)))
}

impl Awaiting for UserCell {
    fn fulfilled(self: Rc<Self>) {
        self.finish(IterationEnd::Ended(self.outcome()));
    }

    fn rejected<'js>(self: Rc<Self>, ctx: &Ctx<'js>, reason: &Value<'js>) {
        iteration_failed(&self, ctx, reason);
    }
}

/// The scenario's function threw.
fn iteration_failed<'js>(cell: &Rc<UserCell>, ctx: &Ctx<'js>, thrown: &Value<'js>) {
    if cell.sequence().is_none() {
        return; // Cut off: what it throws now is a consequence.
    }
    if name_of(thrown) == "Exhausted" {
        return cell.finish(IterationEnd::Exhausted);
    }
    let error = describe(ctx, &cell.desk.loaded.program, thrown);
    cell.desk.report(cell.card.iterations, &error);
    cell.finish(IterationEnd::Ended(Outcome::Script));
}

impl UserFactory for ScriptUsers {
    type User = ScriptUser;

    fn new_user(&self, leaf: u32, scenario: ScenarioId, number: u64) -> ScriptUser {
        match self.worker.new_user(leaf, scenario, number) {
            Ok(user) => user,
            // The first realm was opened from the same program; only a machine without memory gets here.
            Err(error) => panic!("a further realm could not be opened: {error}"),
        }
    }

    fn count_into(&self, slice: &mut GeneratorSlice) {
        self.worker.desk.network.count_into(slice);
    }

    fn drive(&self) -> impl Future<Output = ()> + 'static {
        Driver::new(Rc::clone(&self.worker))
    }
}
