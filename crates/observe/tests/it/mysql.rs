//! MariaDB: planted waits, locks and totals, read back as signals.

use loadstone_metrics::{NoticeKind, Role};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use serde_json::json;

use crate::servers::{self, DURABLE, INSTRUMENTED, ServerProcess};
use crate::watching::Watch;

/// A client on a separate thread, so that the test continues while a statement waits.
struct Client {
    statements: std::sync::mpsc::SyncSender<String>,
    done: std::sync::mpsc::Receiver<Result<(), String>>,
}

impl Client {
    fn connect(server: &ServerProcess) -> Self {
        let url = server.mysql_url("root");
        let (statements, asked) = std::sync::mpsc::sync_channel::<String>(16);
        let (finished, done) = std::sync::mpsc::sync_channel(16);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut connection = Conn::from_url(url).await.unwrap();
                while let Ok(sql) = asked.recv() {
                    let result = connection.query_drop(sql).await.map_err(|problem| problem.to_string());
                    if finished.send(result).is_err() {
                        return;
                    }
                }
            });
        });
        Self { statements, done }
    }

    fn begin(&self, sql: &str) {
        self.statements.send(sql.to_owned()).unwrap();
    }

    fn end(&self) {
        self.done.recv().unwrap().unwrap();
    }

    fn execute(&self, statements: &[&str]) {
        for sql in statements {
            self.begin(sql);
            self.end();
        }
    }
}

const SEATS: &[&str] = &[
    "create database shop",
    "create table shop.seats (id int auto_increment primary key, taken bool)",
    "insert into shop.seats values (1, false)",
];

/// The mean number of sessions whose wait has a role.
fn sessions(watch: &Watch, role: Role) -> f64 {
    let of_role = watch.signals.values().filter(|signal| signal.name.starts_with("mysql/sessions{wait=") && signal.role == Some(role));
    of_role.map(|signal| watch.value(&signal.name)).sum()
}

#[test]
fn lock_waits_blockers_and_statements() {
    let server = servers::mariadb(&[INSTRUMENTED, DURABLE]);
    let holder = Client::connect(&server);
    holder.execute(SEATS);
    let mut watch = Watch::start(&[json!({ "kind": "mysql", "url": server.mysql_url("root"), "every": "500ms" })]);
    watch.more("mysql", 1);
    assert_eq!((watch.value("mysql/active"), watch.value("mysql/blocked"), watch.value("mysql/wait_events")), (0.0, 0.0, 1.0));

    // One transaction holds the row; three others wait for it.
    holder.execute(&["begin", "update shop.seats set taken = true where id = 1"]);
    let waiting: Vec<Client> = (0..3).map(|_| Client::connect(&server)).collect();
    waiting.iter().for_each(|client| client.begin("update shop.seats set `taken` = false where id = 1"));
    watch.until("three blocked sessions", |watch| watch.value("mysql/blocked") == 3.0);
    // A whole interval of samples with three waiting: the mean over the samples is exactly three.
    watch.until("a full interval", |watch| watch.latest.get("mysql/sessions{wait=row lock}") == Some(&3.0));
    assert_eq!(sessions(&watch, Role::SessionsWaitingForLock), 3.0);
    let statement = "update shop.seats set taken = false where id = ?";
    let by_statement = format!("mysql/sessions_by_statement{{statement={statement}}}");
    watch.until("their statement", |watch| watch.latest.get(&by_statement) == Some(&3.0));
    // The holder runs nothing at the moment; its last statement is known all the same.
    let by_holder = format!("mysql/blocked_by{{statement={statement},by=update shop.seats set taken = true where id = ?,holder=root}}");
    watch.until("whom they wait for", |watch| watch.latest.get(&by_holder).is_some_and(|count| *count >= 1.0));
    watch.until("a wait of a second", |watch| watch.value("mysql/longest_lock_wait") >= 1.0);
    assert_eq!(watch.value("mysql/connections{state=idle in transaction}"), 1.0);
    for (name, role) in [
        (by_holder.as_str(), Role::SessionsBlockedBy),
        (&by_statement, Role::SessionsByStatement),
        ("mysql/active", Role::SessionsActive),
        ("mysql/blocked", Role::SessionsBlocked),
        ("mysql/commits", Role::Commits),
        ("mysql/connections_limit", Role::SessionsMax),
        ("mysql/connections{state=idle in transaction}", Role::SessionsIdleInTransaction),
        ("mysql/sessions{wait=CPU}", Role::SessionsOnCpu),
        ("mysql/round_trip", Role::RoundTrip),
    ] {
        assert_eq!(watch.signal(name).role, Some(role), "{name}");
    }

    holder.execute(&["commit"]);
    waiting.iter().for_each(Client::end);
    watch.until("the end of the waits", |watch| watch.value("mysql/sessions{wait=row lock}") == 0.0 && watch.value("mysql/blocked") == 0.0);
    watch.until("their totals", |watch| {
        let calls = "mysql/statement_calls{statement=UPDATE shop.seats SET taken = FALSE WHERE ID = ?}";
        watch.latest.get(calls) == Some(&3.0)
    });
    assert!(watch.value("mysql/row_lock_waits") >= 3.0 && watch.value("mysql/observer_seconds") > 0.0);
    assert!(watch.value("mysql/round_trip") > 0.0 && watch.value("mysql/round_trip") < watch.value("mysql/observer_seconds"));
    assert!(watch.notices().is_empty(), "{:?}", watch.notices());
}

/// `lock tables` and a statement that changes a table block others by metadata locks. Readers who hold compatible ones block nobody.
#[test]
fn the_holder_of_a_metadata_lock_is_named() {
    let server = servers::mariadb(&[INSTRUMENTED]);
    let (holder, reader, waiting, changing) =
        (Client::connect(&server), Client::connect(&server), Client::connect(&server), Client::connect(&server));
    holder.execute(SEATS);
    let mut watch = Watch::start(&[json!({ "kind": "mysql", "url": server.mysql_url("root"), "every": "200ms" })]);
    let blocked = |statement: &str, by: &str| format!("mysql/blocked_by{{statement={statement},by={by},holder=root}}");
    let update = "update shop.seats set taken = true where id = 1";
    let updates = "update shop.seats set taken = true where id = ?";

    holder.execute(&["lock tables shop.seats write"]);
    waiting.begin(update);
    let by_holder = blocked(updates, "lock tables shop.seats write");
    watch.until("the holder", |watch| watch.latest.get(&by_holder).is_some_and(|count| *count >= 1.0));
    assert_eq!(watch.signal(&by_holder).role, Some(Role::SessionsBlockedBy));
    // The performance schema shows the innermost event, a condition.
    watch.until("a session that waits for a lock", |watch| sessions(watch, Role::SessionsWaitingForLock) >= 0.9);
    holder.execute(&["unlock tables"]);
    waiting.end();

    // The reader's lock is compatible with that of the update, which waits for the change of the table.
    reader.execute(&["begin", "select * from shop.seats"]);
    let by_reader = blocked(updates, "select * from shop.seats");

    // The open transaction blocks the change of the table, which blocks the next statement.
    changing.begin("alter table shop.seats add column row_no int");
    let alter = "alter table shop.seats add column row_no int";
    watch.until("the open transaction", |watch| {
        watch.latest.get(&blocked(alter, "select * from shop.seats")).is_some_and(|count| *count >= 1.0)
    });
    waiting.begin(update);
    watch.until("the change of the table", |watch| watch.latest.get(&blocked(updates, alter)).is_some_and(|count| *count >= 1.0));
    assert!(watch.latest.get(&by_reader).is_none_or(|count| *count == 0.0), "{:?}", watch.latest);
    reader.execute(&["commit"]);
    changing.end();
    waiting.end();
    assert!(watch.notices().is_empty(), "{:?}", watch.notices());
}

/// A transaction is one commit however many statements it has; a statement on its own is one, and one that only reads is none.
#[test]
fn commits_are_transactions_that_wrote() {
    let logged = servers::mariadb(&[DURABLE]);
    let unlogged = servers::mariadb(&[&["--innodb-monitor-enable=trx_rw_commits"]]);
    // InnoDB counts its own as well: it may bring a table's statistics up to date.
    for (server, own) in [(&logged, 0.0), (&unlogged, 3.0)] {
        let client = Client::connect(server);
        client.execute(SEATS);
        let mut watch = Watch::start(&[json!({ "kind": "mysql", "url": server.mysql_url("root"), "every": "100ms" })]);
        watch.more("mysql", 1);
        assert_eq!(watch.value("mysql/wait_events"), 0.0);
        let before = watch.value("mysql/commits");
        let insert = "insert into shop.seats (taken) values (true)";
        for _ in 0..20 {
            client.execute(&[insert, "select count(*) from shop.seats"]);
        }
        client.execute(&["begin", insert, insert, insert, insert, insert, "commit"]);
        watch.until("the rows", |watch| watch.value("mysql/rows_inserted") >= 26.0);
        watch.more("mysql", 1);
        let commits = watch.value("mysql/commits") - before;
        assert!((21.0..=21.0 + own).contains(&commits), "{commits}");
    }
    // Where the server does not count commits, no commits are reported.
    let uncounted = servers::mariadb(&[]);
    let mut watch = Watch::start(&[json!({ "kind": "mysql", "url": uncounted.mysql_url("root"), "every": "100ms" })]);
    watch.more("mysql", 1);
    assert!(!watch.latest.contains_key("mysql/commits"));
}

/// Sessions that insert row by row wait for their commits. Both the performance schema and the process list show this.
#[test]
fn sessions_wait_at_commit() {
    for (settings, wait_events) in [(INSTRUMENTED, 1.0), (&[][..], 0.0)] {
        let server = servers::mariadb(&[settings, DURABLE]);
        let client = Client::connect(&server);
        client.execute(SEATS);
        client.execute(&["create procedure shop.fill() begin while true do insert into shop.seats (taken) values (true); end while; end"]);
        let mut watch = Watch::start(&[json!({ "kind": "mysql", "url": server.mysql_url("root"), "every": "500ms", "sampleHz": 50 })]);
        watch.more("mysql", 1);
        assert_eq!(watch.value("mysql/wait_events"), wait_events);
        let writers: Vec<Client> = (0..8).map(|_| Client::connect(&server)).collect();
        writers.iter().for_each(|writer| writer.begin("call shop.fill()"));
        watch.until("sessions at commit", |watch| sessions(watch, Role::SessionsWaitingForCommit) >= 1.0);
        watch.until("groups of commits", |watch| watch.latest.get("mysql/group_commit_size").is_some_and(|size| *size > 1.0));
    }
}

#[test]
fn an_account_that_may_only_look_is_enough_and_less_is_a_notice() {
    let server = servers::mariadb(&[INSTRUMENTED]);
    Client::connect(&server).execute(&[
        "create user watcher",
        "grant process on *.* to watcher",
        "grant select on performance_schema.* to watcher",
        "create user nobody",
    ]);
    let of = |user: &str| json!({ "kind": "mysql", "url": server.mysql_url(user), "every": "100ms", "name": user });
    let mut watch = Watch::start(&[of("watcher"), of("nobody")]);
    watch.more("watcher", 2);
    assert_eq!(watch.value("watcher/wait_events"), 1.0);
    watch.until("what is missing", |watch| {
        watch
            .notices()
            .iter()
            .any(|(kind, message)| *kind == NoticeKind::Failed && message.starts_with("nobody cannot read") && message.contains("PROCESS"))
    });
}

#[test]
fn a_server_that_goes_away_is_a_notice() {
    let mut server = servers::mariadb(&[]);
    let mut watch = Watch::start(&[json!({ "kind": "mysql", "url": server.mysql_url("root"), "every": "100ms" })]);
    watch.more("mysql", 2);
    server.kill();
    watch.until("the failure", |watch| {
        watch.notices().iter().any(|(kind, message)| *kind == NoticeKind::Failed && message.starts_with("mysql cannot read"))
    });
}
