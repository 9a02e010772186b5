//! Logins, TLS, and the lifetime of connections.

use loadstone_metrics::Outcome;

use super::{once, once_with};
use crate::mysql::server::MariaDb;
use crate::sql::{FAILED, PASSED, outcomes, request};

#[test]
fn passwords_are_verified_and_wrong_ones_reported() {
    let (end, lines, snapshot) = once(
        r#"
        const as = (name, password) => user.sql(url(`${name}:${encodeURIComponent(password)}`).replace("/shop", "/"));
        const whoami = (name, password) => as(name, password).query("SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)", { name: `As ${name}` });
        user.log((await whoami("app", "p@ss word")).value);
        const wrong = [await whoami("app", "wr0ng"), await whoami("app", ""), await whoami("nobody", "x"), await whoami("secured", "se:cure")];
        user.log(JSON.stringify(wrong.map((result) => result.code)));
        user.log(wrong[0].error);
        user.log((await whoami("other", "x")).error);
        user.log((await user.sql(url().replace("/shop", "/nowhere")).query("SELECT 1", { name: "Nowhere" })).error);
        user.log((await user.sql(url("app:p%40ss%20word")).query("SELECT 1", { name: "Foreign" })).code);
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines[0], "app", "{:?}", snapshot.errors);
    assert_eq!(lines[1], r#"["1045","1045","1045","1045"]"#);
    assert_eq!(lines[2], "1045 (28000): Access denied for user 'app'@'127.0.0.1' (using password: YES)");
    assert!(
        lines[3].starts_with(
            "the server requires authentication by client_ed25519: supported are mysql_native_password, caching_sha2_password"
        ),
        "{}",
        lines[3]
    );
    assert_eq!(lines[4], "1049 (42000): Unknown database 'nowhere'");
    assert_eq!(lines[5], "1044");
    assert_eq!(outcomes(&snapshot, "As app"), [(Outcome::Passed, 1), (Outcome::Status, 2)]);
}

#[test]
fn tls_is_negotiated_and_its_certificate_checked() {
    let server = MariaDb::shared();
    let body = r#"
        const secured = user.sql(url("secured:se%3Acure", "?sslmode=require").replace("/shop", "/"));
        const through = await secured.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'", { name: "Through" });
        user.log(JSON.stringify([through.row?.Value.length > 0, through.times.tls > 0, through.times.connect > 0, through.error]));
        const large = await secured.query("SELECT REPEAT('x', 300000) AS text");
        user.log(String(large.value?.length));
    "#;
    let (end, lines, snapshot) = once_with(server, &format!(", roots: [{:?}]", server.root()), body);
    assert_eq!((end, &lines[..]), (PASSED, &["[true,true,true,null]".to_owned(), "300000".to_owned()][..]), "{:?}", snapshot.errors);
    assert_eq!(request(&snapshot, "Through").phases.tls.count(), 1);
    let (_, _, snapshot) = once_with(server, "", body);
    assert_eq!(outcomes(&snapshot, "Through"), [(Outcome::Tls, 1)]);
    let bare = MariaDb::start(&["--skip-ssl"]);
    let (_, lines, _) =
        once_with(&bare, "", r#"user.log((await user.sql(url("loadstone", "?sslmode=require")).query("SELECT 1")).error);"#);
    assert_eq!(lines, ["the server offers no TLS: remove `sslmode` from the URL, or set ssl_cert and ssl_key on the server"]);
}

#[test]
fn a_time_limit_ends_the_connection_and_its_transaction() {
    let (end, lines, snapshot) = once(
        r#"
        const sql = user.sql(url());
        const late = await sql.query("SELECT SLEEP(30)", { timeout: "30ms" });
        const prepared = await sql.query("SELECT SLEEP(?)", [30], { timeout: "30ms" });
        const after = await sql.query("SELECT 1 AS one");
        user.log(JSON.stringify([late.ok, late.error, late.code, late.rows, prepared.error, after.value]));
        const whole = await sql.transaction(async (open) => {
          const first = await open.query("SELECT SLEEP(30)", { timeout: "30ms" });
          const second = await open.query("SELECT 1", { name: "Second" });
          return [first.error, second.error];
        });
        user.log(JSON.stringify([whole.ok, whole.committed, whole.error, whole.value]));
        "#,
    );
    assert_eq!(end, FAILED);
    let (limit, lost) = ("timed out waiting for an answer", "the transaction's connection was lost");
    assert_eq!(lines[0], format!("[false,\"{limit}\",null,[],\"{limit}\",1]"), "{:?}", snapshot.errors);
    assert_eq!(lines[1], format!("[false,false,\"{limit}\",[\"{limit}\",\"{lost}\"]]"));
    assert_eq!(outcomes(&snapshot, "SELECT SLEEP"), [(Outcome::Timeout, 3)]);
    assert_eq!((outcomes(&snapshot, "Second"), snapshot.generator[0].connections_opened), (&[(Outcome::NotConnected, 1)][..], 3));
}

#[test]
fn a_connection_that_the_server_ends_is_reported() {
    let (end, lines, snapshot) = once(
        r#"
        const [sql, other] = ["?application_name=a", "?application_name=b"].map((more) => user.sql(url("loadstone", more)));
        const id = async () => (await sql.query("SELECT CONNECTION_ID()", { name: "Id" })).value;
        const end = async (id) => {
          await other.query(`KILL ${id}`, { name: "End" });
          while ((await other.query("SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", [id], { name: "Look" })).value > 0);
        };
        const first = await id();
        const busy = sql.query("SELECT SLEEP(30)", { name: "Busy" });
        while ((await other.query("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'", { name: "Look" })).value < 1);
        await end(first);
        user.log(JSON.stringify((await busy).ok));
        const second = await id();
        await end(second);
        // No part of it had been sent, so it is sent over a new connection.
        user.log(JSON.stringify([(await id()) !== second, first !== second]));
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines, ["false", "[true,true]"], "{:?}", snapshot.errors);
    assert_eq!((outcomes(&snapshot, "Id"), snapshot.generator[0].connections_opened), (&[(Outcome::Passed, 3)][..], 4));
}

#[test]
fn an_absent_or_wrong_server_is_reported() {
    let mut server = MariaDb::start(&[]);
    let (_, lines, _) = once_with(&server, "", r#"user.log(String((await user.sql(url()).query("SELECT 1 AS one")).value));"#);
    assert_eq!(lines, ["1"]);
    server.kill();
    let (_, lines, snapshot) = once_with(
        &server,
        "",
        r#"
        const sql = user.sql(url());
        const refused = await sql.query("SELECT 1", { name: "Refused" });
        const whole = await sql.transaction(() => user.log("it went on"), { name: "Order" });
        user.log(JSON.stringify([refused.error, refused.rows, whole]));
        "#,
    );
    assert_eq!(lines, [r#"["connection refused",[],{"ok":false,"committed":false,"error":"connection refused"}]"#]);
    assert_eq!(outcomes(&snapshot, "Refused"), [(Outcome::Refused, 1)]);
}
