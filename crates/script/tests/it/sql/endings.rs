//! Time limits, lost connections, and how long a connection lasts.

use loadstone_engine::VirtualUser;
use loadstone_metrics::Outcome;

use super::{FAILED, PASSED, once, once_with, outcomes, run_with};
use crate::sql::server::Postgres;

#[test]
fn a_time_limit_ends_the_connection_and_its_transaction() {
    let (end, lines, snapshot) = once(
        r#"
        const sql = user.sql(url());
        const late = await sql.query("SELECT pg_sleep(30)", { timeout: "30ms" });
        const after = await sql.query("SELECT 1 AS one");
        user.log(JSON.stringify([late.ok, late.error, late.code, late.rows, after.value]));
        const whole = await sql.transaction(async (open) => {
          const first = await open.query("SELECT pg_sleep(30)", { timeout: "30ms" });
          const second = await open.query("SELECT 1", { name: "Second" });
          return [first.error, second.error];
        });
        user.log(JSON.stringify([whole.ok, whole.committed, whole.error, whole.value]));
        user.log(JSON.stringify((await sql.query("SELECT 2 AS two")).value));
        "#,
    );
    assert_eq!(end, FAILED);
    let (limit, lost) = ("timed out waiting for an answer", "the transaction's connection was lost");
    assert_eq!(lines[0], format!("[false,\"{limit}\",null,[],1]"), "{:?}", snapshot.errors);
    assert_eq!(lines[1], format!("[false,false,\"{limit}\",[\"{limit}\",\"{lost}\"]]"));
    assert_eq!(lines[2], "2");
    assert_eq!(outcomes(&snapshot, "SELECT pg_sleep"), [(Outcome::Timeout, 2)]);
    assert_eq!((outcomes(&snapshot, "Second"), snapshot.generator[0].connections_opened), (&[(Outcome::NotConnected, 1)][..], 3));
}

#[test]
fn a_connection_that_the_server_ends_is_reported() {
    let (end, lines, snapshot) = once(
        r#"
        const [sql, other] = ["?application_name=a", "?application_name=b"].map((more) => user.sql(url("loadstone", more)));
        const pid = async () => (await sql.query("SELECT pg_backend_pid() AS pid", { name: "Pid" })).value;
        const end = (pid) => other.query("SELECT pg_terminate_backend($1, 5000)", [pid], { name: "End" });
        const whole = await sql.transaction(async (open) => {
          await end((await open.query("SELECT pg_backend_pid() AS pid")).value);
          const inside = await open.query("SELECT 1", { name: "Inside" });
          return [inside.code, inside.error];
        });
        user.log(JSON.stringify([whole.ok, whole.committed, whole.value]));
        const first = await pid();
        const busy = sql.query("SELECT pg_sleep(30)", { name: "Busy" });
        await end(first);
        user.log(JSON.stringify([(await busy).code]));
        const second = await pid();
        await end(second);
        // No part of it had been sent, so it is sent over a new connection.
        user.log(JSON.stringify([(await pid()) !== second, first !== second]));
        "#,
    );
    assert_eq!(end, FAILED);
    let why = "57P01: terminating connection due to administrator command";
    assert_eq!(
        lines,
        [format!("[false,false,[\"57P01\",\"{why}\"]]"), r#"["57P01"]"#.to_owned(), "[true,true]".to_owned()],
        "{:?}",
        snapshot.errors
    );
    assert_eq!((outcomes(&snapshot, "Inside"), outcomes(&snapshot, "Busy")), (&[(Outcome::Status, 1)][..], &[(Outcome::Status, 1)][..]));
    assert_eq!((outcomes(&snapshot, "Pid"), snapshot.generator[0].connections_opened), (&[(Outcome::Passed, 3)][..], 5));
}

#[test]
fn an_absent_or_wrong_server_is_reported() {
    let mut server = Postgres::start();
    let (_, lines, _) = once_with(&server, "", r#"user.log(String((await user.sql(url()).query("SELECT 1 AS one")).value));"#);
    assert_eq!(lines, ["1"]);
    server.kill();
    let (end, lines, snapshot) = once_with(
        &server,
        "",
        r#"
        const sql = user.sql(url());
        const refused = await sql.query("SELECT 1", { name: "Refused" });
        const whole = await sql.transaction(() => user.log("it went on"), { name: "Order" });
        user.log(JSON.stringify([refused.error, refused.rows, whole]));
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines, [r#"["connection refused",[],{"ok":false,"committed":false,"error":"connection refused"}]"#]);
    assert_eq!(
        (outcomes(&snapshot, "Refused"), outcomes(&snapshot, "Order begin")),
        (&[(Outcome::Refused, 1)][..], &[(Outcome::Refused, 1)][..])
    );
}

#[test]
fn a_connection_is_open_while_the_user_keeps_connections() {
    let server = Postgres::shared();
    run_with(server, "", r#"await user.sql(url()).query("SELECT 1");"#, async |worker| {
        let mut user = worker.user(0);
        for sequence in 0..3 {
            assert_eq!(user.iterate(worker.iteration(sequence, None)).await, PASSED);
        }
        assert_eq!(worker.drain().generator[0].connections_opened, 1);
        // In open load every arrival is a new visitor. Its connection stays open as with HTTP.
        assert_eq!(user.iterate(worker.iteration(3, Some(worker.clock.now()))).await, PASSED);
        assert_eq!((worker.drain().generator[0].connections_opened, worker.drain().generator[0].connections), (0, 1));
        drop(user);
        assert_eq!(worker.drain().generator[0].connections, 0);
    });
}
