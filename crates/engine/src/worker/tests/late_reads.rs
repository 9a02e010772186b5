//! Responses that are read with the next arrival: they delay no arrival, and no arrival creates a user because of them.

use std::io::ErrorKind;

use tokio::net::UnixStream;

use super::*;

#[test]
fn a_response_that_an_arrival_waits_for_is_read_at_once() {
    // One user, and an arrival every 50 ms.
    for waits in [true, false] {
        let response_ns: fn(Nanos) -> u64 = if waits { |_| 100 * MS } else { |_| 10 * MS };
        let asked = LoadCase { users_max: Some(1), ..LoadCase::new(rate(20.0, 2), response_ns) };
        measured(&asked, 1);
        let at_once = asked.read_at_once.take();
        assert_eq!(at_once.len(), 40);
        // After the last arrival, none waits any more.
        assert!(at_once[..39].iter().all(|at_once| *at_once == waits), "{at_once:?}");
    }
}

/// Users whose responses arrive as soon as they ask: the bytes wait in a socket until the worker polls.
struct PromptUsers {
    counts: Rc<PromptCounts>,
}

#[derive(Default)]
struct PromptCounts {
    users: Cell<u64>,
    in_flight: Cell<u64>,
    ended: Cell<u64>,
}

struct PromptUser {
    counts: Rc<PromptCounts>,
    asks: UnixStream,
    reads: UnixStream,
}

impl VirtualUser for PromptUser {
    async fn iterate(&mut self, _: Iteration) -> IterationEnd {
        self.counts.in_flight.set(self.counts.in_flight.get() + 1);
        assert_eq!(self.asks.try_write(b"?").unwrap(), 1);
        let mut byte = [0];
        loop {
            self.reads.readable().await.unwrap();
            match self.reads.try_read(&mut byte) {
                Ok(count) => break assert_eq!(count, 1),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
        // No more bytes: the next one is noticed only when the worker polls.
        assert_eq!(self.reads.try_read(&mut byte).unwrap_err().kind(), ErrorKind::WouldBlock);
        self.counts.in_flight.set(self.counts.in_flight.get() - 1);
        self.counts.ended.set(self.counts.ended.get() + 1);
        IterationEnd::Ended(Outcome::Passed)
    }
}

impl UserFactory for PromptUsers {
    type User = PromptUser;

    fn new_user(&self, _: u32, _: ScenarioId, _: u64) -> Result<PromptUser, UserError> {
        self.counts.users.set(self.counts.users.get() + 1);
        let (asks, reads) = UnixStream::pair()?;
        Ok(PromptUser { counts: Rc::clone(&self.counts), asks, reads })
    }

    fn count_into(&self, _: &mut GeneratorSlice) {}

    fn reads_can_wait(&self) -> bool {
        self.counts.in_flight.get() > 0
    }

    fn drive(&self) -> impl Future<Output = ()> + 'static {
        std::future::ready(())
    }
}

/// A worker on the real clock, whose users never keep it waiting. The first arrival comes alone; then three at a time share a wake-up.
#[test]
fn a_response_that_has_arrived_costs_no_new_user() {
    let even = |per_second: f64, duration_ns| OpenStage::Rate { from: per_second, to: per_second, duration_ns, timing: Timing::Even };
    let profile = LoadProfile::Open { stages: vec![even(5.0, S / 5), even(30_000.0, S / 5)] };
    let plan = Arc::new(TestPlan::new("t", ["s"], Load::Run(ScenarioRun::new(ScenarioId(0), profile))));
    let (reports, inputs) = sync_channel(4_000);
    let (to_worker, commands) = tokio::sync::mpsc::channel(4);
    let runtime = runtime().unwrap();
    let _inside = runtime.enter();
    let (clock, turns) = (Clock::real(Monotonic::start()), Turns::default());
    let recorder = Rc::new(RefCell::new(Recorder::new(0, 100)));
    let context = WorkerContext { index: 0, workers: 1, first: 0, clock: clock.clone(), recorder: Rc::clone(&recorder) };
    let counts = Rc::new(PromptCounts::default());
    let factory = Rc::new(PromptUsers { counts: Rc::clone(&counts) });
    let shared = Arc::new(LeafShared::new(1, IterationNumbers::all()));
    to_worker.try_send(WorkerCommand::Begin { leaf: 0, at: 0, shared }).unwrap();
    let link = WorkerLink::new(reports, 0);
    let work = carry_out(Arc::clone(&plan), context, Rc::clone(&factory), turns.clone(), commands, link);
    let ends = async {
        while !inputs.try_iter().any(|input| matches!(input, CoordinatorInput::Report { report: WorkerReport::LeafEnded { .. }, .. })) {
            clock.sleep(10 * MS).await;
        }
        to_worker.send(WorkerCommand::Finish).await.unwrap();
    };
    let both = async { futures_util::future::join(work, ends).await };
    let event_loop =
        EventLoop::new(clock.clone(), recorder, turns, Box::new(move || factory.reads_can_wait().then_some(LATE_READ_MAX_NS)), both)
            .unwrap();
    runtime.block_on(tokio::task::unconstrained(event_loop));
    assert_eq!((counts.ended.get(), counts.users.get()), (6_001, 1));
}
