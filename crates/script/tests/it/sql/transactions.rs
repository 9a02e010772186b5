//! Transactions: commit, rollback, and waiting.

use loadstone_engine::VirtualUser;
use loadstone_metrics::Outcome;

use super::{FAILED, PASSED, once, outcomes, request, run_with};
use crate::sql::server::Postgres;

#[test]
fn statements_of_a_function_commit_or_roll_back_together() {
    let (end, lines, snapshot) = once(
        r#"
        const sql = user.sql(url());
        await sql.query("CREATE TEMP TABLE orders (id int PRIMARY KEY, note text)");
        const insert = (on, id) => on.query("INSERT INTO orders VALUES ($1, 'x')", [id]);
        const kept = await sql.transaction(async (open) => {
          await insert(open, 1);
          return (await insert(open, 2)).count;
        }, { name: "Order", isolation: "serializable" });
        user.log(JSON.stringify(kept));
        const undone = await sql.transaction(async (open) => {
          await insert(open, 3);
          await insert(open, 1);
          return "went on";
        });
        user.log(JSON.stringify([undone.ok, undone.committed, undone.code, undone.error, undone.value]));
        const dropped = await sql.transaction(async (open) => {
          await insert(open, 4);
          await open.rollback();
        });
        user.log(JSON.stringify(dropped));
        try {
          await sql.transaction(async (open) => {
            await insert(open, 5);
            throw new Error("changed my mind");
          });
        } catch (error) {
          user.log(error.message);
        }
        user.log(JSON.stringify((await sql.query("SELECT id FROM orders ORDER BY id", { arrays: true })).rows));
        await sql.query("BEGIN");
        await insert(sql, 1);
        const byHand = await sql.query("COMMIT");
        user.log(JSON.stringify([byHand.ok, byHand.error]));
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines[0], r#"{"ok":true,"committed":true,"value":1}"#, "{:?}", snapshot.errors);
    let unique = "23505: duplicate key value violates unique constraint \\\"orders_pkey\\\" DETAIL: Key (id)=(1) already exists.";
    assert_eq!(lines[1], format!("[false,false,\"23505\",\"{unique}\",\"went on\"]"));
    assert_eq!(lines[2], r#"{"ok":true,"committed":false}"#);
    assert_eq!(lines[3..5], ["changed my mind", "[[1],[2]]"]);
    assert_eq!(lines[5], r#"[false,"40000: the transaction was rolled back because one of its statements had failed"]"#);
    assert_eq!((request(&snapshot, "Order begin").count, request(&snapshot, "Order commit").count), (1, 1));
    // One is by hand, and three are not.
    assert_eq!(outcomes(&snapshot, "BEGIN"), [(Outcome::Passed, 4)]);
    assert_eq!(outcomes(&snapshot, "ROLLBACK"), [(Outcome::Passed, 3)]);
    assert_eq!(outcomes(&snapshot, "COMMIT"), [(Outcome::Status, 1)]);
    assert_eq!(snapshot.generator[0].connections_opened, 1);
}

#[test]
fn a_transaction_has_the_connection_for_itself() {
    let (end, lines, snapshot) = once(
        r#"
        const sql = user.sql(url());
        await sql.query("CREATE TEMP TABLE steps (at serial, what text)");
        const note = (on, what) => on.query("INSERT INTO steps (what) VALUES ($1)", [what], { name: `Note ${what}` });
        let opened;
        const begun = new Promise((resolve) => (opened = resolve));
        const first = sql.transaction(async (open) => {
          opened();
          await Promise.all([note(open, "a"), note(open, "b")]);
          await open.query("SELECT pg_sleep(0.05)");
          await note(open, "c");
        });
        await begun;
        await Promise.all([note(sql, "outside"), first, sql.transaction((open) => note(open, "second"))]);
        user.log(JSON.stringify((await sql.query("SELECT what FROM steps ORDER BY at")).rows.map((row) => row.what)));
        const stuck = await sql.transaction(() => sql.query("SELECT 1", { name: "Stuck", timeout: "50ms" }));
        user.log(JSON.stringify([stuck.committed, stuck.value.ok, stuck.value.error]));
        let late;
        await sql.transaction(async (open) => { late = open; });
        user.log(JSON.stringify((await late.query("SELECT 1", { name: "Late" })).error));
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines[0], r#"["a","b","c","outside","second"]"#, "{:?}", snapshot.errors);
    let why = "timed out waiting for the user's connection, which a transaction is using (use the transaction passed to its function)";
    assert_eq!(lines[1], format!("[true,false,\"{why}\"]"));
    assert_eq!(lines[2], "\"the transaction has ended\"");
    assert_eq!(outcomes(&snapshot, "Late"), [(Outcome::NotConnected, 1)]);
    assert_eq!((request(&snapshot, "Note outside").phases.queue.count(), request(&snapshot, "Note b").phases.queue.count()), (1, 1));
    assert_eq!(snapshot.generator[0].connections_opened, 1);
}

#[test]
fn colliding_serializable_transactions_are_reported() {
    let (end, lines, snapshot) = once(
        r#"
        const [one, two] = ["?application_name=one", "?application_name=two"].map((more) => user.sql(url("loadstone", more)));
        await one.query("CREATE TABLE counters AS SELECT 1 AS id, 0 AS n");
        const serializable = { isolation: "repeatable read" };
        const outer = await one.transaction(async (open) => {
          await open.query("SELECT n FROM counters");
          await two.transaction((other) => other.query("UPDATE counters SET n = n + 1"), serializable);
          return await open.query("UPDATE counters SET n = n + 1", { name: "Collides" });
        }, serializable);
        user.log(JSON.stringify([outer.ok, outer.committed, outer.code, outer.value.code, (await two.query("SELECT n FROM counters")).value]));
        await one.query("DROP TABLE counters");
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines[0], r#"[false,false,"40001","40001",1]"#, "{:?}", snapshot.errors);
    assert_eq!((outcomes(&snapshot, "Collides"), snapshot.generator[0].connections_opened), (&[(Outcome::Status, 1)][..], 2));
}

#[test]
fn an_open_transaction_rolls_back_at_the_end_of_its_iteration() {
    let server = Postgres::shared();
    let body = r#"
        const sql = user.sql(url());
        user.log(JSON.stringify((await sql.query("SELECT pg_current_xact_id_if_assigned() IS NULL AS idle", { name: "Idle" })).value));
        await sql.query("BEGIN");
        await sql.query("SELECT pg_current_xact_id()");
        user.sql(url("loadstone", "?application_name=b")).transaction(() => new Promise(() => {}));
    "#;
    run_with(server, "", body, async |worker| {
        let mut user = worker.user(0);
        for sequence in 0..3 {
            // The iteration waits for the beginning of a transaction that was not awaited.
            assert_eq!(user.iterate(worker.iteration(sequence, None)).await, PASSED);
        }
        assert_eq!(worker.texts(), ["true", "true", "true"]);
        let snapshot = worker.drain();
        let begun = request(&snapshot, "BEGIN");
        assert_eq!((begun.count, snapshot.generator[0].connections_opened, snapshot.generator[0].connections), (6, 6, 0));
    });
}
