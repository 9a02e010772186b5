//! A script with one worker, on virtual time.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use loadstone_engine::{Arrival, Iteration, IterationEnd, UserFactory, VirtualUser, WorkerContext};
use loadstone_k6::{K6Inputs, K6Sinks, K6Test, K6User, K6Users, load};
use loadstone_metrics::clock::Clock;
use loadstone_metrics::{Recorder, Snapshot};
use loadstone_plan::ScenarioId;
use loadstone_script::ScriptError;
use tempfile::TempDir;

pub(crate) struct Bench {
    pub(crate) test: Arc<K6Test>,
    pub(crate) clock: Clock,
    pub(crate) recorder: Rc<RefCell<Recorder>>,
    pub(crate) users: K6Users,
    printed: Rc<RefCell<Vec<String>>>,
    _folder: TempDir,
}

pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

pub(crate) fn loaded(folder: &Path, inputs: &K6Inputs) -> Result<K6Test, ScriptError> {
    load(&folder.join("script.js"), inputs).map_err(|error| error.error)
}

/// The error of a script that cannot be loaded.
pub(crate) fn refused(script: &str) -> String {
    let folder = folder(&[("script.js", script)]);
    loaded(folder.path(), &K6Inputs::default()).unwrap_err().render()
}

impl Bench {
    pub(crate) fn new(script: &str) -> Self {
        Self::with(&[("script.js", script)], K6Inputs::default())
    }

    pub(crate) fn with(files: &[(&str, &str)], inputs: K6Inputs) -> Self {
        let folder = folder(files);
        let test = Arc::new(loaded(folder.path(), &inputs).unwrap_or_else(|error| panic!("{}", error.render())));
        let clock = Clock::virtual_time();
        let recorder = Rc::new(RefCell::new(Recorder::new(0, 100)));
        let context = WorkerContext { index: 0, workers: 1, first: 0, clock: clock.clone(), recorder: Rc::clone(&recorder) };
        let printed = Rc::<RefCell<Vec<String>>>::default();
        let lines = Rc::clone(&printed);
        let sinks = K6Sinks { console: Some(Rc::new(move |line: &str| lines.borrow_mut().push(line.to_owned()))), ..K6Sinks::default() };
        let users = K6Users::new(&test, &context, sinks).unwrap();
        Self { test, clock, recorder, users, printed, _folder: folder }
    }

    pub(crate) fn user(&self) -> K6User {
        self.users.new_user(0, ScenarioId(0), 0).unwrap()
    }

    pub(crate) fn iteration(&self, sequence: u64) -> Iteration {
        let arrival = Arrival { scheduled: self.clock.now(), scenario: ScenarioId(0), sequence };
        Iteration { arrival, leaf: 0, open: false, waited_for_user: false, load_end: Rc::new(Cell::new(u64::MAX)) }
    }

    /// Runs one iteration to its end, and the clock with it.
    pub(crate) fn run(&self, user: &mut K6User, sequence: u64) -> IterationEnd {
        let mut iteration = pin!(user.iterate(self.iteration(sequence)));
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(end) = iteration.as_mut().poll(&mut context) {
                return end;
            }
            if let Some(deadline) = self.clock.next_deadline() {
                self.clock.advance_to(deadline);
            }
        }
    }

    /// Begins an iteration, polls it this often without a passing of time, and drops it.
    pub(crate) fn interrupt_after(&self, user: &mut K6User, polls: usize) {
        let mut iteration = pin!(user.iterate(self.iteration(0)));
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..polls {
            assert!(iteration.as_mut().poll(&mut context).is_pending(), "the iteration ended before it was interrupted");
        }
    }

    /// The lines printed since the last call.
    pub(crate) fn printed(&self) -> Vec<String> {
        self.printed.take()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.recorder.borrow_mut().drain(0, 0, self.clock.now().max(1))
    }
}
