//! PostgreSQL: planted waits, locks and totals, read back as signals.

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{FlowEvent, FlowKey, FlowStep, NoticeKind, Role};
use loadstone_observe::{Observation, Observer};
use serde_json::json;
use tokio_postgres::{Client, NoTls};

use crate::servers::{self, ServerProcess};
use crate::watching::Watch;

/// Runs the clients' connections on a separate thread, so that a test can wait for one while others continue.
struct Background {
    handle: tokio::runtime::Handle,
    /// Dropping it ends the thread.
    _stop: tokio::sync::oneshot::Sender<()>,
}

impl Background {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let handle = runtime.handle().clone();
        std::thread::spawn(move || drop(runtime.block_on(stopped)));
        Self { handle, _stop: stop }
    }

    fn spawn<F: Future<Output: Send> + Send + 'static>(&self, future: F) -> tokio::task::JoinHandle<F::Output> {
        self.handle.spawn(future)
    }

    fn run<F: Future<Output: Send> + Send + 'static>(&self, future: F) -> F::Output {
        let (done, output) = std::sync::mpsc::sync_channel(1);
        self.handle.spawn(async move { drop(done.try_send(future.await)) });
        output.recv().unwrap()
    }

    fn connect(&self, server: &ServerProcess) -> std::sync::Arc<Client> {
        self.connect_to(server.postgres_url()).unwrap()
    }

    fn connect_to(&self, url: String) -> Result<std::sync::Arc<Client>, tokio_postgres::Error> {
        self.run(async move {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
            tokio::spawn(connection);
            Ok(client.into())
        })
    }

    fn execute(&self, client: &std::sync::Arc<Client>, sql: &'static str) {
        let client = std::sync::Arc::clone(client);
        self.run(async move { client.batch_execute(sql).await }).unwrap();
    }
}

/// Each key that a query returns is reported once, at the instant when it appeared by the database's clock.
#[test]
fn keys_of_journeys_are_reported_once() {
    let server = servers::postgres();
    let background = Background::start();
    let client = background.connect(&server);
    background.execute(&client, "create table sent (id text, at timestamptz)");
    let query = "select id, extract(epoch from now() - at) from sent where at > now() - interval '1 h'";
    let description =
        json!({ "kind": "sql", "url": server.postgres_url(), "query": query, "every": "50ms", "stage": { "flow": 3, "stage": 1 } });
    let clock = Monotonic::start();
    // Long enough that two seconds ago lies on the clock.
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    background.execute(&client, "insert into sent values ('a', now() - interval '2 s')");
    let begun = clock.now();
    let observation = Observation::start(vec![Observer::from_description(&description).unwrap()], clock).unwrap();
    let mut events = Vec::new();
    let mut readings = 0;
    let mut more = |until: usize, events: &mut Vec<FlowEvent>| {
        while events.len() < until || readings < 4 * until {
            let batch = observation.next(std::time::Duration::from_secs(20)).expect("a reading");
            readings += usize::from(batch.points.iter().any(|(signal, _)| signal.name == "sql/keys"));
            events.extend(batch.flow_events);
        }
    };
    more(1, &mut events);
    let first = events[0];
    assert_eq!((events.len(), first.flow, first.key, first.step), (1, 2, FlowKey::of("a"), FlowStep::Stage(1)));
    // Every reading was begun later.
    assert!(first.at > 0 && first.at < begun, "{} of {begun}", first.at);
    background.execute(&client, "insert into sent values ('b', now())");
    more(2, &mut events);
    assert_eq!((events.len(), events[1].key), (2, FlowKey::of("b")), "{events:?}");
}

/// `now()` is the begin of the query. A slow query therefore does not delay its events, so they never appear after a finish that was seen immediately.
#[test]
fn a_slow_query_does_not_make_a_stage_late() {
    let server = servers::postgres();
    let query = "select 'a', extract(epoch from now() - now()) from (select pg_sleep(0.5)) as slow";
    let stage = json!({ "flow": 1, "stage": 1 });
    let description = json!({ "kind": "sql", "url": server.postgres_url(), "query": query, "every": "50ms", "stage": stage });
    let clock = Monotonic::start();
    let observation = Observation::start(vec![Observer::from_description(&description).unwrap()], clock).unwrap();
    let mut batches = std::iter::from_fn(|| observation.next(std::time::Duration::from_secs(20))).take(100);
    let event = batches.find_map(|batch| batch.flow_events.first().copied());
    let ago = clock.now() - event.expect("a key").at;
    assert!(ago >= 500_000_000, "{ago} ns ago");
}

#[test]
fn lock_waits_blockers_and_totals() {
    let server = servers::postgres();
    let background = Background::start();
    let holder = background.connect(&server);
    let set_up =
        "create extension pg_stat_statements; create table seats (id int primary key, taken bool); insert into seats values (1, false)";
    background.execute(&holder, set_up);
    let url = server.postgres_url();
    let mut watch = Watch::start(&[
        json!({ "kind": "postgres", "url": url, "every": "500ms" }),
        json!({ "kind": "sql", "url": url, "query": "select count(*) as seats, 'x' as note, 2.5::numeric as half from seats", "every": "100ms" }),
    ]);
    watch.more("postgres", 1);
    watch.more("sql", 1);
    assert_eq!((watch.value("sql/seats"), watch.value("sql/half")), (1.0, 2.5));
    assert!(!watch.latest.contains_key("sql/note"));
    assert_eq!((watch.value("postgres/active"), watch.value("postgres/blocked")), (0.0, 0.0));
    let commits = watch.value("postgres/commits");

    // One transaction holds the row; three others wait for it.
    background.execute(&holder, "begin; update seats set taken = true where id = 1");
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let client = background.connect(&server);
            background.spawn(async move { client.batch_execute("update seats set taken = false where id = 1").await })
        })
        .collect();
    watch.until("three blocked sessions", |watch| watch.value("postgres/blocked") == 3.0);
    // A whole interval of samples with three waiting: the mean over the samples is exactly three.
    watch.until("a full interval", |watch| {
        let locks = watch.latest.iter().filter(|(name, _)| name.starts_with("postgres/sessions{wait=Lock:"));
        locks.map(|(_, value)| value).sum::<f64>() == 3.0
    });
    let statement = "update seats set taken = false where id = ?";
    watch.until("their statement", |watch| {
        watch.latest.get(&format!("postgres/sessions_by_statement{{statement={statement}}}")) == Some(&3.0)
    });
    // The first in line waits for the holder; the others queue behind the first one.
    let by_holder =
        format!("postgres/blocked_by{{statement={statement},by=begin; update seats set taken = true where id = ?,holder=loadstone}}");
    assert!(watch.latest.get(&by_holder).is_some_and(|count| *count >= 1.0), "{:?}", watch.latest);
    // However many it waits behind, each session counts once.
    let pairs = watch.latest.iter().filter(|(name, _)| name.starts_with("postgres/blocked_by{"));
    let waiting_sessions: f64 = pairs.map(|(_, count)| count).sum();
    assert!((waiting_sessions - 3.0).abs() < 1e-9, "{:?}", watch.latest);
    assert!(watch.value("postgres/longest_lock_wait") > 0.0);
    assert_eq!(watch.value("postgres/connections{state=idle in transaction}"), 1.0);
    assert_roles(&watch, &by_holder, statement);

    background.execute(&holder, "commit");
    for wait in waiting {
        background.run(wait).unwrap().unwrap();
    }
    for _ in 0..50 {
        background.execute(&holder, "insert into seats select count(*) + 1, false from seats");
    }
    // Four updates and fifty inserts; our own queries commit too.
    watch.until("the commits", |watch| watch.value("postgres/commits") >= commits + 54.0);
    watch.until("the rows", |watch| watch.value("postgres/rows_inserted") >= 51.0 && watch.value("postgres/rows_updated") >= 4.0);
    let insert = "postgres/statement_calls{statement=insert into seats select count(*) + ? from seats}";
    watch.until("fifty calls of the insert", |watch| watch.latest.get(insert) == Some(&50.0));
    watch.until("the end of the waits", |watch| {
        watch.latest.iter().filter(|(name, _)| name.starts_with("postgres/sessions{wait=Lock:")).all(|(_, value)| *value == 0.0)
    });
    assert!(watch.value("postgres/observer_seconds") > 0.0 && watch.value("postgres/round_trip") > 0.0);
    assert!(watch.notices().is_empty(), "{:?}", watch.notices());
}

/// What the signals mean while a session's statement waits for another's lock.
fn assert_roles(watch: &Watch, by_holder: &str, statement: &str) {
    for (name, role) in [
        (by_holder, Role::SessionsBlockedBy),
        ("postgres/active", Role::SessionsActive),
        ("postgres/blocked", Role::SessionsBlocked),
        ("postgres/commits", Role::Commits),
        ("postgres/observer_commits", Role::ObserverCommits),
        ("postgres/connections_limit", Role::SessionsMax),
        ("postgres/connections{state=idle in transaction}", Role::SessionsIdleInTransaction),
        (&format!("postgres/sessions_by_statement{{statement={statement}}}"), Role::SessionsByStatement),
        ("postgres/sessions{wait=CPU}", Role::SessionsOnCpu),
    ] {
        assert_eq!(watch.signal(name).role, Some(role), "{name}");
    }
    let blocked_by = watch.signal(by_holder);
    assert_eq!(blocked_by.label_value("statement"), Some(statement));
    assert_eq!(blocked_by.label_value("by"), Some("begin; update seats set taken = true where id = ?"));
    let of_locks = watch.signals.values().filter(|signal| signal.name.starts_with("postgres/sessions{wait=Lock:"));
    assert!(of_locks.clone().count() > 0 && of_locks.clone().all(|signal| signal.role == Some(Role::SessionsWaitingForLock)));
}

/// The limit of a role and of a database, with their connections. A superuser's role, a role without login and one without a limit are not reported.
/// A role without `pg_monitor` reads the same numbers.
#[test]
fn limits_of_roles_and_databases_are_read_with_and_without_rights() {
    let server = servers::postgres();
    let background = Background::start();
    let admin = background.connect(&server);
    background.execute(&admin, "create role app login connection limit 3; create role viewer login; create role other login");
    background.execute(&admin, "create role root_app login superuser connection limit 1; create role team connection limit 2");
    // Not in one transaction with the others.
    background.execute(&admin, "create database shop connection limit 7");
    let as_user = |user: &str, database: &str| format!("postgres://{user}@127.0.0.1:{}/{database}", server.port);
    let watch_as = |user: &str| Watch::start(&[json!({ "kind": "postgres", "url": as_user(user, "postgres"), "every": "100ms" })]);
    let (mut all_rights, mut no_rights) = (watch_as("loadstone"), watch_as("viewer"));
    let connections: Vec<_> =
        ["postgres", "postgres", "shop"].map(|database| background.connect_to(as_user("app", database)).unwrap()).into();
    let other = background.connect_to(as_user("other", "shop")).unwrap();
    let refusal = background.connect_to(as_user("app", "postgres")).err().unwrap();
    assert_eq!(refusal.as_db_error().unwrap().message(), "too many connections for role \"app\"");
    for watch in [&mut all_rights, &mut no_rights] {
        watch.until("the connections of the role", |watch| watch.value_if("postgres/connections_limited{of=role app}") == Some(3.0));
        watch.until("those to the database", |watch| watch.value_if("postgres/connections_limited{of=database shop}") == Some(2.0));
        // Three of `app`, one of `other` and of the superuser, and those of the other observer.
        watch.until("all connections", |watch| watch.value("postgres/connections_total") >= 6.0);
        assert_eq!(watch.value("postgres/connections_allowed{of=role app}"), 3.0);
        assert_eq!(watch.value("postgres/connections_allowed{of=database shop}"), 7.0);
        let limits = watch.latest.keys().filter(|name| name.starts_with("postgres/connections_allowed")).count();
        assert_eq!(limits, 2, "{:?}", watch.latest);
        for (name, role) in [("connections_limited", Role::LimitedConnections), ("connections_allowed", Role::LimitedConnectionsMax)] {
            let signal = watch.signal(&format!("postgres/{name}{{of=role app}}"));
            assert_eq!((signal.role, &*signal.part), (Some(role), "role app"));
        }
    }
    drop(connections);
    for watch in [&mut all_rights, &mut no_rights] {
        watch.until("that they are closed", |watch| watch.value("postgres/connections_limited{of=role app}") == 0.0);
        assert_eq!(watch.value("postgres/connections_limited{of=database shop}"), 1.0);
        assert!(watch.notices().is_empty(), "{:?}", watch.notices());
    }
    drop(other);
}

#[test]
fn busy_and_sleeping_sessions_are_distinguished() {
    let server = servers::postgres();
    let background = Background::start();
    let mut watch = Watch::start(&[json!({ "kind": "postgres", "url": server.postgres_url(), "every": "300ms", "sampleHz": 20 })]);
    watch.more("postgres", 1);
    let sleeping: Vec<_> = (0..2)
        .map(|_| {
            let client = background.connect(&server);
            background.spawn(async move { drop(client.batch_execute("select pg_sleep(600)").await) })
        })
        .collect();
    watch.until("two in pg_sleep", |watch| watch.latest.get("postgres/sessions{wait=Timeout:PgSleep}") == Some(&2.0));
    let client = background.connect(&server);
    let busy = background.spawn(async move {
        drop(client.batch_execute("set statement_timeout = '60s'; select count(*) from generate_series(1, 1000000000)").await)
    });
    // Writing the series to a temporary file counts as waiting for it, now and then.
    watch.until("one on the CPU", |watch| watch.latest.get("postgres/sessions{wait=CPU}").is_some_and(|mean| *mean > 0.3 && *mean <= 1.0));
    sleeping.iter().chain([&busy]).for_each(tokio::task::JoinHandle::abort);
}

#[test]
fn a_server_that_is_not_there_is_a_notice() {
    let mut server = servers::postgres();
    let url = server.postgres_url();
    let mut watch = Watch::start(&[
        json!({ "kind": "postgres", "url": url, "every": "100ms" }),
        json!({ "kind": "sql", "url": url, "query": "select nonsense", "every": "100ms" }),
    ]);
    watch.until("the wrong query", |watch| {
        watch.notices().iter().any(|(_, message)| message.contains("column \"nonsense\" does not exist"))
    });
    watch.more("postgres", 2);
    server.kill();
    watch.until("the failure", |watch| {
        watch.notices().iter().any(|(kind, message)| *kind == NoticeKind::Failed && message.starts_with("postgres cannot read"))
    });
}
