//! The VUs of one worker.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_engine::{UserError, UserFactory, WorkerContext};
use loadstone_metrics::GeneratorSlice;
use loadstone_plan::ScenarioId;
use loadstone_protocol::{Network, NetworkOptions, WorkerPosition};
use loadstone_script::ScriptError;

use crate::options::K6Scenario;
use crate::script_part::ScriptPart;
use crate::sinks::K6Sinks;
use crate::test::K6Test;
pub use crate::vu::K6User;
use crate::worker::Worker;

/// Creates the VUs of one worker. Lives on the worker's thread.
pub struct K6Users {
    worker: Rc<Worker>,
    /// Initialised, and not yet in use.
    waiting: RefCell<VecDeque<K6User>>,
    created: Cell<u64>,
    /// `__VU` of the first VU, and the step to the next, so that numbers are unique over all workers.
    first: u64,
    step: u64,
}

impl K6Users {
    /// # Errors
    /// The network's settings are wrong.
    pub fn new(test: &Arc<K6Test>, context: &WorkerContext, sinks: K6Sinks) -> Result<Self, ScriptError> {
        let position = WorkerPosition { worker: context.index, workers: context.workers };
        let options = NetworkOptions { position, ..test.network.clone() };
        let network = Network::new(context.clock.clone(), options).map_err(|error| ScriptError::new(error.to_string()))?;
        Ok(Self::with_network(test, context, network, sinks))
    }

    /// The same, with a network of the caller.
    pub fn with_network(test: &Arc<K6Test>, context: &WorkerContext, network: Rc<Network>, sinks: K6Sinks) -> Self {
        let worker = Rc::new(Worker::new(context, network, Arc::clone(test), sinks));
        let (first, step) = (u64::from(context.index) + 1, u64::from(context.workers));
        Self { worker, waiting: RefCell::default(), created: Cell::default(), first, step }
    }

    fn create(&self) -> Result<K6User, ScriptError> {
        let number = self.created.replace(self.created.get() + 1);
        K6User::new(&self.worker, self.first + number * self.step)
    }

    /// A leaf uses another VU. Returns whether an arrival of open load needs it beyond those that were prepared.
    fn is_unplanned(&self, leaf: u32, scenario: ScenarioId) -> bool {
        let test = &self.worker.test;
        let described = test.scenarios.get(scenario.0 as usize).filter(|described| described.run.profile.is_open() && test.prepares_vus);
        let Some(described) = described else { return false };
        let Ok(mut used) = test.shared.vus_of_arrivals.lock() else { return false };
        let count = used.entry(leaf).or_default();
        *count += 1;
        *count > described.users_prepared
    }
}

impl std::fmt::Debug for K6Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("K6Users").field("created", &self.created.get()).finish_non_exhaustive()
    }
}

fn of_script(error: ScriptError) -> UserError {
    error.render().into()
}

impl UserFactory for K6Users {
    type User = K6User;

    /// Initialises the VUs that the load will need, as k6 does: evaluating the script during the load would delay other VUs.
    fn prepare(&self, users: u64) -> Result<(), UserError> {
        let test = &self.worker.test;
        // No worker creates VUs of a load before all have prepared theirs.
        if let Ok(mut used) = test.shared.vus_of_arrivals.lock() {
            used.clear();
        }
        let prepared = |scenario: &K6Scenario| scenario.run.profile.is_open() && test.prepares_vus;
        let open: u64 = test.scenarios.iter().filter(|scenario| prepared(scenario)).map(|scenario| scenario.users_prepared).sum();
        for _ in 0..users + open.div_ceil(self.step) {
            let user = self.create().map_err(of_script)?;
            self.waiting.borrow_mut().push_back(user);
        }
        Ok(())
    }

    fn new_user(&self, leaf: u32, scenario: ScenarioId, _: u64) -> Result<K6User, UserError> {
        if let ScriptPart::SetUp | ScriptPart::TearDown | ScriptPart::Summary = self.worker.test.part(scenario) {
            // As in k6, they run in a separate VU, whose number is 0.
            return K6User::new(&self.worker, 0).map_err(of_script);
        }
        let added_by_arrival = self.is_unplanned(leaf, scenario);
        if added_by_arrival {
            self.worker.counts.unplanned_vu_created();
        }
        let waiting = self.waiting.borrow_mut().pop_front();
        let mut user = waiting.map_or_else(|| self.create().map_err(of_script), Ok)?;
        user.added_by_arrival = added_by_arrival;
        Ok(user)
    }

    fn count_into(&self, slice: &mut GeneratorSlice) {
        self.worker.network.count_into(slice);
    }

    fn drive(&self) -> impl Future<Output = ()> + 'static {
        std::future::ready(())
    }
}
