//! Statements, their values and their rows.

use loadstone_metrics::Outcome;

use super::{once, once_with, run_with};
use crate::mysql::server::MariaDb;
use crate::sql::{FAILED, PASSED, outcomes, request};

/// A table with one row of every type without nulls, and another row of nulls.
const TYPES: &str = r#"
    const sql = user.sql(url());
    await sql.query(`CREATE TEMPORARY TABLE types (
      i8 TINYINT, u8 TINYINT UNSIGNED, i16 SMALLINT, i24 MEDIUMINT, i32 INT, i64 BIGINT, u64 BIGINT UNSIGNED, y YEAR, f FLOAT, d DOUBLE, n DECIMAL(10,3),
      day DATE, at DATETIME, at3 DATETIME(3), stamp TIMESTAMP(6) NULL, t TIME, t2 TIME(2), c CHAR(5), v VARCHAR(50), x TEXT, b BLOB,
      vb VARBINARY(9), bits BIT(9), e ENUM('small', 'large'), j JSON, yes BOOLEAN) CHARACTER SET utf8mb4`);
    const values = [-8, 200, -300, -70000, -2000000000, -9007199254740993n, 18446744073709551615n, 2026, 1.1, -2.5e-300, "12.5", "2026-02-03",
      "2026-02-03 04:05:06", new Date(Date.UTC(2026, 1, 3, 4, 5, 6, 78)), "2026-02-03 04:05:06.000007", "-26:00:01", "01:02:03.45", "grün", "☃ ' \" \\ ?", "",
      new Uint8Array([0, 255, 92]), new Uint8Array([]), new Uint8Array([1, 2]), "large", { a: [1, null], "é": false }, true];
    await sql.query(`INSERT INTO types VALUES (${values.map(() => "?").join(", ")})`, values, { name: "Insert" });
    await sql.query(`INSERT INTO types VALUES (${values.map(() => "?").join(", ")})`, values.map(() => null), { name: "Insert" });
"#;

#[test]
fn values_round_trip_with_their_types_in_both_protocols() {
    let (end, lines, snapshot) = once(&format!(
        r#"{TYPES}
        const shown = (row) => JSON.stringify(row, (key, value) => value instanceof Uint8Array ? [...value] : value);
        const texts = await sql.query("SELECT * FROM types", {{ name: "Texts" }});
        const binary = await sql.query("SELECT * FROM types WHERE ? = 1", [1], {{ name: "Binary" }});
        user.log(shown(texts.row));
        user.log(String(shown(texts.rows) === shown(binary.rows)));
        user.log(String(Object.values(binary.rows[1]).every((value) => value === null)));
        user.log(JSON.stringify([binary.ok, binary.error, binary.code, binary.count, binary.value, binary.rows.length, binary.rows === binary.rows]));
        const list = await sql.query("SELECT ?, ?, ?, ? + 1", ["a", new Uint8Array([255]), null, 1.5], {{ arrays: true }});
        user.log(shown(list.rows));
        const none = await sql.query("SELECT 1 AS one FROM types WHERE false");
        user.log(JSON.stringify([none.rows, none.row === undefined, none.value === undefined, none.count, none.times.total > 0]));
        user.log(String((await sql.query("SELECT JSON_OBJECT('a', ?) AS document", [1])).value.a));
        user.log(JSON.stringify((await sql.query("SELECT 1 FROM types LIMIT ?", [1])).count));
        "#
    ));
    assert_eq!(end, PASSED, "{:?}", snapshot.errors);
    let row: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    let expected = serde_json::json!({
        "i8": -8, "u8": 200, "i16": -300, "i24": -70000, "i32": -2_000_000_000, "i64": "-9007199254740993", "u64": "18446744073709551615", "y": 2026,
        "f": 1.1, "d": -2.5e-300, "n": "12.500", "day": "2026-02-03", "at": "2026-02-03 04:05:06", "at3": "2026-02-03 04:05:06.078",
        "stamp": "2026-02-03 04:05:06.000007", "t": "-26:00:01", "t2": "01:02:03.45", "c": "grün", "v": "☃ ' \" \\ ?", "x": "", "b": [0, 255, 92],
        "vb": [], "bits": [1, 2], "e": "large", "j": { "a": [1, null], "é": false }, "yes": 1,
    });
    assert_eq!(row, expected);
    assert_eq!(lines[1..3], ["true", "true"]);
    assert_eq!(lines[3], "[true,null,null,2,-8,2,true]");
    assert_eq!(lines[4], r#"[["a",[255],null,2.5]]"#);
    assert_eq!(lines[5], "[[],true,true,0,true]");
    assert_eq!(lines[6..], ["1", "1"]);
    assert_eq!(snapshot.generator[0].connections_opened, 1);
}

#[test]
fn changed_rows_are_counted_and_errors_reported_by_number() {
    let (end, lines, snapshot) = once(
        r#"
        const sql = user.sql(url());
        await sql.query("CREATE TEMPORARY TABLE seats (id INT AUTO_INCREMENT PRIMARY KEY, taken BOOLEAN DEFAULT false)");
        const made = await sql.query("INSERT INTO seats () VALUES (), (), (), (), ()");
        const one = await sql.query("INSERT INTO seats (taken) VALUES (?)", [true], { name: "Add" });
        const twice = await sql.query("INSERT INTO seats (id) VALUES (?)", [6], { name: "Add" });
        const taken = await sql.query("UPDATE `seats` SET taken = true WHERE id > ?", [3]);
        user.log(JSON.stringify([made.count, made.rows, made.insertedId, one.insertedId, one.count, taken.count, taken.insertedId]));
        user.log(JSON.stringify([twice.ok, twice.code, twice.error, twice.rows, twice.count]));
        const slip = await sql.query("SELEKT 1");
        const prepared = await sql.query("SELEKT ?", [1], { name: "Slip" });
        const few = await sql.query("SELECT ?, ?", [1], { name: "Few" });
        user.log(JSON.stringify([slip.code, prepared.code, few.code, few.error]));
        user.log(JSON.stringify((await sql.query("SELECT count(*) FROM seats", { name: "Count" })).value));
        "#,
    );
    assert_eq!(end, FAILED);
    // Two of three had not been taken.
    assert_eq!(lines[0], "[5,[],1,6,1,2,null]");
    let unique = "1062 (23000): Duplicate entry '6' for key 'PRIMARY'";
    assert_eq!(lines[1], format!("[false,\"1062\",{},[],0]", serde_json::to_string(unique).unwrap()));
    assert_eq!(lines[2], r#"["1064","1064","1210","1210: the statement has 2 placeholders (`?`), but 1 values were passed"]"#);
    assert_eq!(lines[3], "6");
    assert_eq!(outcomes(&snapshot, "Add"), [(Outcome::Passed, 1), (Outcome::Status, 1)]);
    let error = snapshot.errors.iter().find(|error| &*error.message == "error 1062").expect("the number is the message");
    assert_eq!(error.samples[0].body, unique);
    for name in ["CREATE TABLE", "INSERT seats", "UPDATE seats", "SELEKT", "Slip", "Few", "Count"] {
        assert_eq!(request(&snapshot, name).count, 1, "{name}");
    }
    // An error does not cause a new connection.
    assert_eq!(snapshot.generator[0].connections_opened, 1);
}

#[test]
fn statements_with_values_are_prepared_once() {
    let (end, lines, snapshot) = once(
        r#"
        const [sql, plain] = [user.sql(url()), user.sql(url("loadstone", "?application_name=plain"), { prepare: false })];
        const counted = async (of, what) => Number((await of.query(`SHOW SESSION STATUS LIKE '${what}'`, { arrays: true })).rows[0][1]);
        for (let i = 0; i < 3; i++) {
          for (const of of [sql, plain]) await of.query("SELECT ? + 1 AS next", [i], { name: "Next" });
        }
        user.log(JSON.stringify([await counted(sql, "Com_stmt_prepare"), await counted(plain, "Com_stmt_prepare"), await counted(plain, "Com_stmt_close")]));
        for (let i = 0; i < 300; i++) await sql.query(`SELECT ${i} + ? AS written`, [1], { name: "Written" });
        // The earlier statement, and the statements that were evicted from the cache. The last of these is closed with the next request.
        user.log(JSON.stringify([await counted(sql, "Com_stmt_prepare"), await counted(sql, "Com_stmt_close")]));
        await sql.query("CREATE TEMPORARY TABLE changing (a INT)");
        const shapes = [];
        for (const change of ["SELECT 1", "ALTER TABLE changing ADD b INT", "INSERT INTO changing VALUES (1, 2)"]) {
          await sql.query(change);
          shapes.push((await sql.query("SELECT * FROM changing WHERE ? = 1", [1])).row ?? null);
        }
        user.log(JSON.stringify(shapes));
        "#,
    );
    assert_eq!(end, PASSED, "{:?}", snapshot.errors);
    assert_eq!(lines, ["[1,3,3]", "[301,45]", r#"[null,null,{"a":1,"b":2}]"#]);
    let next = request(&snapshot, "Next");
    assert_eq!((next.count, next.phases.connect.count(), next.phases.wait.count()), (6, 2, 6));
}

#[test]
fn the_first_result_of_a_procedure_is_returned_after_the_last() {
    let (end, lines, snapshot) = once(
        r#"
        const sql = user.sql(url());
        await sql.query("DROP PROCEDURE IF EXISTS twice");
        await sql.query("CREATE PROCEDURE twice(IN n INT) BEGIN SELECT n AS first, 'x' AS text; SELECT n + 1 AS second, 2, 3; END");
        const rows = [await sql.query("CALL twice(7)"), await sql.query("CALL twice(?)", [8])].map((result) => result.rows);
        user.log(JSON.stringify([rows, (await sql.query("SELECT 1 AS one")).value]));
        const file = await sql.query("LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE nowhere", { name: "File" });
        user.log(JSON.stringify([file.ok, (await sql.query("SELECT 2 AS two")).value]));
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines[0], r#"[[[{"first":7,"text":"x"}],[{"first":8,"text":"x"}]],1]"#, "{:?}", snapshot.errors);
    assert_eq!(lines[1], "[false,2]");
}

#[test]
fn concurrent_statements_run_in_order_and_large_ones_use_several_packets() {
    let (end, lines, snapshot) = once(
        r#"
        const sql = user.sql(url());
        await sql.query("SET @turn = 0", { name: "Open" });
        const next = Array.from({ length: 30 }, () => sql.query("SELECT @turn := @turn + 1", { name: "Next" }));
        const turns = (await Promise.all(next)).map((result) => result.value);
        const large = await sql.query("SELECT REPEAT('x', 3000000) AS text, LENGTH(?) AS back, LENGTH(?)", ["y".repeat(20_000_000), "ä"], { name: "Large" });
        const text = await sql.query(`SELECT LENGTH('${"z".repeat(17_000_000)}') AS length`, { name: "Text" });
        const many = await sql.query("SELECT seq FROM seq_1_to_20000", { name: "Many" });
        const inOrder = turns.every((turn, i) => turn === i + 1);
        user.log(JSON.stringify([inOrder, large.row.text.length, large.row.back, text.value, many.rows.length, many.rows[19999]]));
        const wide = await sql.query("SELECT REPEAT('x', 17000000) AS text", { name: "Wide" });
        user.log(JSON.stringify([wide.error, (await sql.query("SELECT 1 AS one")).value]));
        "#,
    );
    assert_eq!(end, FAILED, "{:?}", snapshot.errors);
    assert_eq!(lines[0], r#"[true,3000000,20000000,17000000,20000,{"seq":20000}]"#);
    assert_eq!(lines[1], r#"["a row of the answer has 16 MiB or more, which is not supported",1]"#);
    let next = request(&snapshot, "Next");
    assert_eq!((next.count, next.phases.connect.count(), next.phases.queue.count()), (30, 0, 29));
    assert_eq!((request(&snapshot, "Open").phases.connect.count(), snapshot.generator[0].connections_opened), (1, 2));
    let large = request(&snapshot, "Large");
    assert!(large.bytes_received > 3_000_000 && large.bytes_sent > 20_000_000);
}

#[test]
fn mistakes_are_thrown_with_a_remedy() {
    let server = MariaDb::shared();
    for (body, expected) in [
        (r#"user.sql(url("loadstone", "?sslmode=prefer"));"#, "write sslmode=require"),
        (r#"user.sql(url("loadstone", "?options=x"));"#, "the setting options is not known: expected sslmode, application_name"),
        (r#"await user.sql(url()).query("SELECT ?, ?", [1, undefined]);"#, "the value number 2 is undefined: use null"),
        (r#"await user.sql(url()).query("SELECT ?", [[1, 2]]);"#, "MySQL has no lists: write a `?` for each"),
    ] {
        let errors = run_with(server, "", body, async |worker| {
            worker.iterate(0).await;
            worker.drain().errors.first().map(|error| error.message.to_string()).unwrap_or_default()
        });
        assert!(errors.contains(expected), "{body}: {errors}");
    }
    let limited = once_with(
        server,
        ", bodyBytesMax: 10000",
        r#"user.log((await user.sql(url()).query("SELECT REPEAT('x', 300000) AS text", { name: "Large" })).error);"#,
    );
    assert_eq!(limited.1, ["the answer has more than 10000 bytes (`bodyBytesMax`)"]);
    assert_eq!(outcomes(&limited.2, "Large"), [(Outcome::Protocol, 1)]);
}
