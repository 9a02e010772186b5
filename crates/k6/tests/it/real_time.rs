//! One iteration on the real clock, with connections that tasks of the runtime serve.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use loadstone_engine::{Arrival, Iteration, IterationEnd, UserFactory, VirtualUser, WorkerContext};
use loadstone_k6::{K6Inputs, K6Sinks, K6Users};
use loadstone_metrics::clock::{Clock, Monotonic};
use loadstone_metrics::{Recorder, Snapshot};
use loadstone_plan::ScenarioId;
use loadstone_script::{TracedExchange, TracedMessage};

use crate::harness::{folder, loaded};

/// No iteration takes as long, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct Ran {
    pub(crate) ended: IterationEnd,
    pub(crate) printed: Vec<String>,
    /// What `try` would show of messages: name, direction and text.
    pub(crate) messages: Vec<String>,
    /// What `try` would show of requests: name, body, and body of the response.
    pub(crate) exchanges: Vec<String>,
    pub(crate) snapshot: Snapshot,
}

pub(crate) fn run(script: &str) -> Ran {
    run_with(&[("script.js", script)])
}

/// Runs the default function of `script.js` once.
pub(crate) fn run_with(files: &[(&str, &str)]) -> Ran {
    let folder = folder(files);
    let test = Arc::new(loaded(folder.path(), &K6Inputs::default()).unwrap_or_else(|error| panic!("{}", error.render())));
    let clock = Clock::real(Monotonic::start());
    let recorder = Rc::new(RefCell::new(Recorder::new(0, 100)));
    let context = WorkerContext { index: 0, workers: 1, first: 0, clock: clock.clone(), recorder: Rc::clone(&recorder) };
    let printed = Rc::<RefCell<Vec<String>>>::default();
    let lines = Rc::clone(&printed);
    let messages = Rc::<RefCell<Vec<String>>>::default();
    let shown = Rc::clone(&messages);
    let show = move |message: &TracedMessage<'_>| {
        shown.borrow_mut().push(format!("{} {:?} {}", message.name, message.direction, String::from_utf8_lossy(message.body)));
    };
    let exchanges = Rc::<RefCell<Vec<String>>>::default();
    let traced = Rc::clone(&exchanges);
    let trace = move |exchange: &TracedExchange<'_>| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let response = exchange.response.as_ref().map(|response| text(&response.body)).unwrap_or_default();
        traced.borrow_mut().push(format!("{} | {} | {response}", exchange.name, text(&exchange.request.body)));
    };
    let sinks = K6Sinks {
        exchanges: Some(Rc::new(trace)),
        console: Some(Rc::new(move |line: &str| lines.borrow_mut().push(line.to_owned()))),
        messages: Some(Rc::new(show)),
        ..K6Sinks::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ended = runtime.block_on(async {
        let users = K6Users::new(&test, &context, sinks).unwrap();
        let mut user = users.new_user(0, ScenarioId(0), 0).unwrap();
        let arrival = Arrival { scheduled: clock.now(), scenario: ScenarioId(0), sequence: 0 };
        let iteration = Iteration { arrival, leaf: 0, open: false, waited_for_user: false, load_end: Rc::new(Cell::new(u64::MAX)) };
        let time = async {
            loop {
                tokio::time::sleep(Duration::from_millis(1)).await;
                clock.fire();
            }
        };
        tokio::select! {
            biased;
            ended = user.iterate(iteration) => ended,
            () = time => unreachable!("time does not end"),
            () = tokio::time::sleep(LIMIT) => panic!("the iteration does not end: {:?}", printed.take()),
        }
    });
    let snapshot = recorder.borrow_mut().drain(0, 0, clock.now());
    Ran { ended, printed: printed.take(), messages: messages.take(), exchanges: exchanges.take(), snapshot }
}
