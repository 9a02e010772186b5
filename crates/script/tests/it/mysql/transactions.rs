//! Transactions: commit, rollback, and deadlocks.

use loadstone_engine::VirtualUser;
use loadstone_metrics::Outcome;

use super::{once, run_with};
use crate::mysql::server::MariaDb;
use crate::sql::{FAILED, PASSED, outcomes, request};

#[test]
fn statements_of_a_function_commit_or_roll_back_together() {
    let (end, lines, snapshot) = once(
        r#"
        const sql = user.sql(url());
        await sql.query("CREATE TEMPORARY TABLE orders (id INT PRIMARY KEY, note TEXT) ENGINE = InnoDB");
        const insert = (on, id) => on.query("INSERT INTO orders VALUES (?, 'x')", [id]);
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
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines[0], r#"{"ok":true,"committed":true,"value":1}"#, "{:?}", snapshot.errors);
    assert_eq!(lines[1], r#"[false,false,"1062","1062 (23000): Duplicate entry '1' for key 'PRIMARY'","went on"]"#);
    assert_eq!(lines[2], r#"{"ok":true,"committed":false}"#);
    assert_eq!(lines[3..], ["changed my mind", "[[1],[2]]"]);
    assert_eq!((request(&snapshot, "Order begin").count, request(&snapshot, "Order commit").count), (1, 1));
    assert_eq!((outcomes(&snapshot, "BEGIN"), outcomes(&snapshot, "ROLLBACK")), (&[(Outcome::Passed, 3)][..], &[(Outcome::Passed, 3)][..]));
    assert_eq!(snapshot.generator[0].connections_opened, 1);
}

#[test]
fn an_isolation_level_applies_only_to_its_transaction() {
    let (end, lines, snapshot) = once(
        r#"
        const [sql, other] = ["?application_name=a", "?application_name=b"].map((more) => user.sql(url("loadstone", more)));
        await sql.query("CREATE TABLE levels AS SELECT 1 AS n");
        const seen = async (isolation) => (await sql.transaction(async (open) => {
          const before = (await open.query("SELECT n FROM levels")).value;
          await other.query("UPDATE levels SET n = n + 1");
          return (await open.query("SELECT n FROM levels")).value - before;
        }, isolation && { isolation })).value;
        user.log(JSON.stringify([await seen("read committed"), await seen(), await seen("repeatable read")]));
        await sql.query("DROP TABLE levels");
        "#,
    );
    assert_eq!((end, &*lines[0]), (PASSED, "[1,0,0]"), "{:?}", snapshot.errors);
}

#[test]
fn a_deadlock_ends_its_transaction_and_later_statements_fail() {
    let (end, lines, snapshot) = once(
        r#"
        const [one, two] = ["?application_name=one", "?application_name=two"].map((more) => user.sql(url("loadstone", more)));
        await one.query("CREATE TABLE rivals (id INT PRIMARY KEY, n INT) ENGINE = InnoDB");
        await one.query("INSERT INTO rivals VALUES (1, 0), (2, 0), (3, 0)");
        const update = (on, id) => on.query("UPDATE rivals SET n = n + 1 WHERE id = ?", [id], { name: "Update" });
        let [oneHas, twoHas] = [];
        const [first, second] = [new Promise((resolve) => (oneHas = resolve)), new Promise((resolve) => (twoHas = resolve))];
        const run = (sql, own, others, has, other) => sql.transaction(async (open) => {
          await update(open, own);
          has();
          await other;
          const lost = !(await update(open, others)).ok;
          const after = lost && await open.query("UPDATE rivals SET n = 100 WHERE id = 3", { name: "After" });
          const commit = lost && await open.commit();
          return lost && [after.error, after.code, commit.code];
        });
        const both = await Promise.all([run(one, 1, 2, oneHas, second), run(two, 2, 1, twoHas, first)]);
        const lost = both.find((result) => result.value);
        user.log(JSON.stringify([both.map((result) => result.committed).sort(), lost.code, lost.error.slice(0, 13), lost.value]));
        user.log(JSON.stringify((await one.query("SELECT n FROM rivals ORDER BY id", { arrays: true })).rows));
        user.log(JSON.stringify((await two.transaction((open) => open.query("SELECT 1 AS one"))).value.value));
        await one.query("DROP TABLE rivals");
        "#,
    );
    assert_eq!(end, FAILED);
    let after = "the transaction has ended: the server rolled it back";
    assert_eq!(lines[0], format!("[[false,true],\"1213\",\"1213 (40001):\",[\"{after}\",null,\"40000\"]]"), "{:?}", snapshot.errors);
    assert_eq!(lines[1..], ["[[1],[1],[0]]", "1"]);
    assert_eq!(outcomes(&snapshot, "After"), [(Outcome::NotConnected, 1)]);
    assert_eq!(snapshot.generator[0].connections_opened, 2);
}

#[test]
fn an_open_transaction_rolls_back_at_the_end_of_its_iteration() {
    let server = MariaDb::shared();
    let body = r#"
        const sql = user.sql(url());
        user.log(JSON.stringify((await sql.query("SELECT @@in_transaction AS open", { name: "Idle" })).value));
        await sql.query("BEGIN");
        await sql.query("SELECT 1");
    "#;
    run_with(server, "", body, async |worker| {
        let mut user = worker.user(0);
        for sequence in 0..3 {
            assert_eq!(user.iterate(worker.iteration(sequence, None)).await, PASSED);
        }
        assert_eq!(worker.texts(), ["0", "0", "0"]);
        let snapshot = worker.drain();
        assert_eq!((snapshot.generator[0].connections_opened, snapshot.generator[0].connections), (3, 0));
    });
}
