//! Statements, their values and their rows.

use loadstone_metrics::Outcome;

use super::{FAILED, PASSED, once, once_with, outcomes, request, run_with};
use crate::sql::server::Postgres;

#[test]
fn values_round_trip_with_their_types() {
    let (end, lines, snapshot) = once(
        r#"
        const sql = user.sql(url());
        const text = `SELECT $1::int AS i, $2::bigint AS small, $3::bigint AS big, $4::text AS t, $5::boolean AS b, $6::float8 AS f, $7::numeric AS n,
          $8::jsonb AS j, $9::int[] AS list, $10::text AS nothing, $11::timestamptz AT TIME ZONE 'UTC' AS at, $12::uuid AS id, $13::text[] AS texts`;
        const values = [7, 9007199254740991, 9007199254740993n, "grün \\ ' \" $1", true, 1.5, "12.50", { a: [1, null], "é": false }, [1, null, 3], null,
          new Date(0), "6f1b9c1e-0000-4000-8000-000000000000", ["a,b", 'c"\\', "", null]];
        const first = await sql.query(text, values, { name: "Types" });
        user.log(JSON.stringify(first.row));
        user.log(JSON.stringify([first.ok, first.error, first.code, first.count, first.value, first.rows.length, first.rows === first.rows]));
        const again = await sql.query(text, values, { name: "Types", arrays: true });
        user.log(JSON.stringify(again.rows[0].slice(0, 5)));
        const bytes = await sql.query("SELECT $1::bytea AS raw, length($1::bytea), $2::text", [new Uint8Array([0, 255, 92]), ""]);
        user.log(JSON.stringify([[...bytes.row.raw], bytes.row.length, bytes.row.text]));
        const none = await sql.query("SELECT 1 AS one WHERE false");
        user.log(JSON.stringify([none.rows, none.row === undefined, none.value === undefined, none.count, none.times.total > 0]));
        const special = (await sql.query("SELECT 'NaN'::float8 AS nan, '-Infinity'::float8 AS low, 1 AS __proto__, '' AS empty")).row;
        user.log(String([special.nan, special.low, Object.getOwnPropertyNames(special)]));
        "#,
    );
    assert_eq!(end, PASSED, "{:?}", snapshot.errors);
    let row: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    let expected = serde_json::json!({
        "i": 7, "small": 9007199254740991u64, "big": "9007199254740993", "t": "grün \\ ' \" $1", "b": true, "f": 1.5, "n": "12.50",
        "j": { "a": [1, null], "é": false }, "list": "{1,NULL,3}", "nothing": null, "at": "1970-01-01 00:00:00",
        "id": "6f1b9c1e-0000-4000-8000-000000000000", "texts": r#"{"a,b","c\"\\","",NULL}"#,
    });
    assert_eq!(row, expected);
    assert_eq!(lines[1], "[true,null,null,1,7,1,true]");
    assert_eq!(lines[2], r#"[7,9007199254740991,"9007199254740993","grün \\ ' \" $1",true]"#);
    assert_eq!(lines[3], r#"[[0,255,92],3,""]"#);
    assert_eq!(lines[4], "[[],true,true,0,true]");
    assert_eq!(lines[5], "NaN,-Infinity,nan,low,__proto__,empty");
    let types = request(&snapshot, "Types");
    assert_eq!((types.count, types.phases.connect.count(), types.phases.wait.count()), (2, 1, 2));
    assert_eq!((request(&snapshot, "SELECT length").count, snapshot.generator[0].connections_opened), (1, 1));
}

#[test]
fn changed_rows_are_counted_and_errors_reported_by_code() {
    let (end, lines, snapshot) = once(
        r#"
        const sql = user.sql(url());
        await sql.query("CREATE TEMP TABLE seats (id int PRIMARY KEY, taken boolean DEFAULT false)");
        const made = await sql.query("INSERT INTO seats (id) SELECT generate_series(1, $1)", [5]);
        const one = await sql.query("INSERT INTO seats (id) VALUES ($1) RETURNING id, taken", [6], { name: "Add" });
        const twice = await sql.query("INSERT INTO seats (id) VALUES ($1) RETURNING id, taken", [6], { name: "Add" });
        const taken = await sql.query("UPDATE seats SET taken = true WHERE id > $1", [4]);
        user.log(JSON.stringify([made.count, made.rows, one.row, taken.count]));
        user.log(JSON.stringify([twice.ok, twice.code, twice.error, twice.rows, twice.count]));
        const slip = await sql.query("SELEKT 1");
        const value = await sql.query("SELECT $1::int", ["x"], { name: "Value" });
        user.log(JSON.stringify([slip.code, slip.error, value.code]));
        user.log(JSON.stringify((await sql.query("SELECT count(*) FROM seats", { name: "Count" })).value));
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines[0], r#"[5,[],{"id":6,"taken":false},2]"#);
    let unique = "23505: duplicate key value violates unique constraint \"seats_pkey\" DETAIL: Key (id)=(6) already exists.";
    assert_eq!(lines[1], format!("[false,\"23505\",{},[],0]", serde_json::to_string(unique).unwrap()));
    assert_eq!(lines[2], r#"["42601","42601: syntax error at or near \"SELEKT\"","22P02"]"#);
    assert_eq!(lines[3], "6");
    assert_eq!(outcomes(&snapshot, "Add"), [(Outcome::Passed, 1), (Outcome::Status, 1)]);
    let error = snapshot.errors.iter().find(|error| &*error.message == "error 23505").expect("the code is the message");
    assert_eq!(error.samples[0].body, unique);
    for name in ["CREATE TABLE", "INSERT seats", "UPDATE seats", "SELEKT", "Value", "Count"] {
        assert_eq!(request(&snapshot, name).count, 1, "{name}");
    }
    // An error does not cause a new connection.
    assert_eq!(snapshot.generator[0].connections_opened, 1);
}

#[test]
fn statements_are_prepared_once_and_again_if_they_became_stale() {
    let (end, lines, snapshot) = once(
        r#"
        const sql = user.sql(url());
        const prepared = async (of) => (await of.query("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE $1", ["SELECT $1::int + 1%"])).value;
        for (let i = 0; i < 3; i++) await sql.query("SELECT $1::int + 1 AS next", [i]);
        const plain = user.sql(url("loadstone", "?application_name=plain"), { prepare: false });
        for (let i = 0; i < 3; i++) await plain.query("SELECT $1::int + 1 AS next", [i]);
        user.log(JSON.stringify([await prepared(sql), await prepared(plain)]));
        for (let i = 0; i < 300; i++) await sql.query(`SELECT ${i} AS written`);
        user.log(JSON.stringify((await sql.query("SELECT count(*) FROM pg_prepared_statements", { name: "All" })).value));
        await sql.query("DISCARD ALL");
        const codes = [];
        for (let i = 0; i < 2; i++) codes.push((await sql.query("SELECT 299 AS written")).code);
        await sql.query("CREATE TEMP TABLE changing (a int)");
        for (const change of ["SELECT 1", "ALTER TABLE changing ADD b int", "SELECT 2"]) {
          await sql.query(change);
          codes.push((await sql.query("SELECT * FROM changing")).code ?? "done");
        }
        codes.push((await sql.query("SELECT * FROM changing")).code ?? "done");
        user.log(JSON.stringify(codes));
        "#,
    );
    assert_eq!(end, FAILED);
    // The cached statements, this query, and the statement that was evicted last and is closed with the next request.
    assert_eq!(lines, ["[1,0]", "257", r#"["26000",null,"done","0A000","done","done"]"#], "{:?}", snapshot.errors);
}

#[test]
fn concurrent_statements_share_one_connection_in_order() {
    let (end, lines, snapshot) = once(
        r#"
        const sql = user.sql(url());
        await sql.query("CREATE TEMP SEQUENCE turns", { name: "Open" });
        const next = Array.from({ length: 30 }, () => sql.query("SELECT nextval('turns')", { name: "Next" }));
        const turns = (await Promise.all(next)).map((result) => result.value);
        const large = await sql.query("SELECT repeat('x', 3000000) AS text, $1::text AS back", ["y".repeat(2_000_000)], { name: "Large" });
        const many = await sql.query("SELECT i, i::text FROM generate_series(1, 20000) AS i", { name: "Many" });
        user.log(JSON.stringify([turns.every((turn, i) => turn === i + 1), large.row.text.length, large.row.back.length, many.rows.length, many.rows[19999]]));
        "#,
    );
    assert_eq!(end, PASSED, "{:?}", snapshot.errors);
    assert_eq!(lines[0], r#"[true,3000000,2000000,20000,{"i":"20000"}]"#);
    let next = request(&snapshot, "Next");
    assert_eq!((next.count, next.phases.connect.count(), next.phases.queue.count()), (30, 0, 29));
    assert_eq!((request(&snapshot, "Open").phases.connect.count(), snapshot.generator[0].connections_opened), (1, 1));
    let large = request(&snapshot, "Large");
    assert!(large.bytes_received > 5_000_000 && large.bytes_sent > 2_000_000);
    assert_eq!((large.phases.wait.count(), large.phases.body.count()), (1, 1));
}

#[test]
fn answers_have_a_limit_and_copy_is_rejected() {
    let (end, lines, snapshot) = once_with(
        Postgres::shared(),
        ", bodyBytesMax: 10000",
        r#"
        const sql = user.sql(url());
        const large = await sql.query("SELECT repeat('x', 300000)", { name: "Large" });
        const copy = await sql.query("COPY (SELECT 1) TO STDOUT", { name: "Copy" });
        await sql.query("CREATE TEMP TABLE copied (a int)");
        const into = await sql.query("COPY copied FROM STDIN", { name: "Into" });
        const after = await sql.query("SELECT 1 AS one");
        user.log(JSON.stringify([large.error, large.rows, copy.error === into.error, copy.error, after.value]));
        "#,
    );
    assert_eq!(end, FAILED);
    let (limit, copies) = ("the answer has more than 10000 bytes (`bodyBytesMax`)", "COPY FROM STDIN and COPY TO STDOUT are not supported");
    assert_eq!(lines[0], format!("[\"{limit}\",[],true,\"{copies}\",1]"));
    assert_eq!(outcomes(&snapshot, "Large"), [(Outcome::Protocol, 1)]);
    // Its result would be read as the answer to the next statement.
    assert_eq!(snapshot.generator[0].connections_opened, 4);
}

#[test]
fn mistakes_are_thrown_with_a_remedy() {
    let server = Postgres::shared();
    for (body, expected) in [
        (r#"user.sql(String("127.0.0.1:5432"));"#, "write it as postgres://app@127.0.0.1:5432/shop"),
        (
            r#"user.sql(String("mssql://app:hidden@127.0.0.1/shop"));"#,
            "its scheme is mssql: write postgres://, or mysql:// for MySQL and MariaDB",
        ),
        (r#"user.sql(url("loadstone", "?sslmode=prefer"));"#, "write sslmode=require"),
        (r#"await user.sql(url()).query();"#, "the statement: expected a string"),
        (r#"await user.sql(url()).query("SELECT 1", 7);"#, "a list, such as [7, \"name\"]"),
        (r#"await user.sql(url()).query("SELECT $1, $2", [1, undefined]);"#, "the value number 2 is undefined: use null"),
        (r#"await user.sql(url()).query("SELECT $1", [() => 1]);"#, "the value number 1 is function"),
        (r#"await user.sql(url()).query("SELECT 1", { nmae: "x" });"#, "did you mean `name`"),
        (r#"await user.sql(url()).transaction("BEGIN");"#, "the first argument is the function with its statements, not \"BEGIN\""),
        (r#"await user.sql(url()).transaction(() => 1, { isolation: "strict" });"#, "is not one of \"read committed\""),
    ] {
        let errors = run_with(server, "", body, async |worker| {
            worker.iterate(0).await;
            worker.drain().errors.first().map(|error| error.message.to_string()).unwrap_or_default()
        });
        assert!(errors.contains(expected) && !errors.contains("hidden"), "{body}: {errors}");
    }
}
