//! Late reads, compared with the record of the server that sent the responses.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread;

use bytes::Bytes;
use loadstone_engine::{Coordinator, Iteration, IterationEnd, LoadEnding, LoadEvent, UserError, UserFactory, VirtualUser, WorkerContext};
use loadstone_metrics::clock::{Clock, Monotonic};
use loadstone_metrics::{GeneratorSlice, Nanos};
use loadstone_plan::{Load, LoadProfile, OpenStage, ScenarioId, ScenarioRun, TestPlan, Timing};
use loadstone_protocol::{Network, NetworkOptions};
use loadstone_session::{FixedRequest, FixedRequestUsers};

/// Too large to be read late.
const LARGE_BYTES: usize = 40_000;

/// One response on the server's side. Values of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy)]
struct Sent {
    kind: Kind,
    /// Just before it was passed to the kernel.
    before: Nanos,
    after: Nanos,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Small,
    Large,
    /// The connection ends with this response.
    Last,
}

/// The same response on the client's side. Values of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy)]
struct Received {
    ended: Nanos,
    /// When it was read.
    read: Nanos,
}

type Record<T> = Arc<Mutex<Vec<T>>>;

/// Of thirty responses, one is large, and one is the last of its connection.
fn kind_of(number: usize) -> Kind {
    match number % 30 {
        10 => Kind::Large,
        20 => Kind::Last,
        _ => Kind::Small,
    }
}

fn response(kind: Kind) -> String {
    let body = "x".repeat(if kind == Kind::Large { LARGE_BYTES } else { 90 });
    let close = if kind == Kind::Last { "Connection: close\r\n" } else { "" };
    format!("HTTP/1.1 200 OK\r\n{close}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// Serves one connection after the other, as its single user opens them.
fn serve(listener: &TcpListener, sent: &Record<Sent>) {
    let clock = Monotonic::with_origin(0);
    for stream in listener.incoming() {
        let _ = answer(&stream.unwrap(), clock, sent);
    }
}

fn answer(stream: &TcpStream, clock: Monotonic, sent: &Record<Sent>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut lines = BufReader::new(stream).lines();
    while let Some(line) = lines.next().transpose()? {
        if !line.is_empty() {
            continue;
        }
        let kind = kind_of(sent.lock().unwrap().len());
        let response = response(kind);
        let before = clock.now();
        (&mut &*stream).write_all(response.as_bytes())?;
        sent.lock().unwrap().push(Sent { kind, before, after: clock.now() });
        if kind == Kind::Last {
            break;
        }
    }
    Ok(())
}

/// The users of `loadstone run URL`, and the end times of their iterations.
struct Watched {
    users: FixedRequestUsers,
    clock: Clock,
    ends: Record<Received>,
}

struct WatchedUser {
    user: <FixedRequestUsers as UserFactory>::User,
    clock: Clock,
    ends: Record<Received>,
}

impl VirtualUser for WatchedUser {
    async fn iterate(&mut self, iteration: Iteration) -> IterationEnd {
        let end = self.user.iterate(iteration).await;
        assert!(matches!(end, IterationEnd::Ended(outcome) if !outcome.is_failure()), "{end:?}");
        self.ends.lock().unwrap().push(Received { ended: self.user.ended().unwrap(), read: self.clock.now() });
        end
    }

    fn ended(&self) -> Option<Nanos> {
        self.user.ended()
    }
}

impl UserFactory for Watched {
    type User = WatchedUser;

    fn new_user(&self, leaf: u32, scenario: ScenarioId, number: u64) -> Result<WatchedUser, UserError> {
        let user = self.users.new_user(leaf, scenario, number)?;
        Ok(WatchedUser { user, clock: self.clock.clone(), ends: Arc::clone(&self.ends) })
    }

    fn count_into(&self, slice: &mut GeneratorSlice) {
        self.users.count_into(slice);
    }

    fn reads_can_wait(&self) -> bool {
        self.users.reads_can_wait()
    }

    fn drive(&self) -> impl Future<Output = ()> + 'static {
        self.users.drive()
    }
}

/// One user, and an arrival every 200 µs for a second.
fn plan() -> TestPlan {
    let stage = OpenStage::Rate { from: 5_000.0, to: 5_000.0, duration_ns: 1_000_000_000, timing: Timing::Even };
    let run = ScenarioRun { users_max: Some(1), ..ScenarioRun::new(ScenarioId(0), LoadProfile::Open { stages: vec![stage] }) };
    TestPlan::new("late", ["GET /"], Load::Run(run))
}

/// The responses that the server sent and its single user received, in order.
fn measured() -> (Vec<Sent>, Vec<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let (sent, ends) = (Record::default(), Record::default());
    let record = Arc::clone(&sent);
    // It waits for a further connection after the test, and ends with the process.
    thread::spawn(move || serve(&listener, &record));
    let request =
        FixedRequest { url, method: "GET".to_owned(), headers: Vec::new(), body: Bytes::new(), expect_status: None, keep_alive: true };
    let plan = Arc::new(plan());
    let make_factory = |context: &WorkerContext| {
        let clock = context.clock.clone();
        let network: Rc<Network> = Network::new(clock.clone(), NetworkOptions::default()).map_err(|error| error.to_string())?;
        let users = FixedRequestUsers::new(context, network, &request, &plan.options)?;
        Ok::<_, String>(Watched { users, clock, ends: Arc::clone(&ends) })
    };
    let mut origin_ns = 0;
    let ending = Coordinator::new(Arc::clone(&plan), 1).run(make_factory, |event| {
        if let LoadEvent::Ready { zero } = event {
            origin_ns = zero.origin_ns();
        }
        None
    });
    assert!(matches!(ending, LoadEnding::Completed), "{ending:?}");
    let at = |instant: Nanos| origin_ns + instant;
    let received = ends.lock().unwrap().iter().map(|end| Received { ended: at(end.ended), read: at(end.read) }).collect();
    let sent = sent.lock().unwrap().clone();
    (sent, received)
}

#[test]
fn a_late_read_has_the_time_at_which_the_server_sent_it() {
    let (sent, received) = measured();
    assert_eq!((sent.len(), received.len()), (5_000, 5_000));
    for (number, (sent, received)) in sent.iter().zip(&received).enumerate() {
        assert!(sent.before <= received.ended && received.ended <= received.read, "{number}: {sent:?} {received:?}");
    }
    // A response may be read late after a small one on the same connection. The kernel stamps it before the server's write returns. A few may differ: the first
    // ones, until the kernel stamps at all, and where this thread lost its core between two readings of the clock.
    let may_be_late = (1..sent.len()).filter(|number| sent[number - 1].kind == Kind::Small && sent[*number].kind != Kind::Large);
    let judged: Vec<(Sent, Received)> = may_be_late.map(|number| (sent[number], received[number])).collect();
    let by_stamp = judged.iter().filter(|(sent, received)| received.ended <= sent.after).count();
    let read_in_time = judged.iter().filter(|(sent, received)| received.read <= sent.after).count();
    assert!(judged.len() > 4_000 && by_stamp * 10 >= judged.len() * 9, "{by_stamp} of {}", judged.len());
    assert!(read_in_time * 2 < judged.len(), "{read_in_time} of {}: then the stamps prove nothing", judged.len());
}
