//! Logins and TLS.

use loadstone_metrics::Outcome;

use super::{FAILED, PASSED, once, once_with, outcomes, request};
use crate::sql::server::Postgres;

/// Creates users of these names, unless another test has.
const USERS: &str = r#"
    const admin = user.sql(url());
    const make = async (name, password, encryption) => {
      await admin.transaction(async (open) => {
        await open.query("SELECT pg_advisory_xact_lock(7)");
        await open.query(`SET LOCAL password_encryption = '${encryption}'`);
        const known = (await open.query("SELECT count(*) FROM pg_roles WHERE rolname = $1", [name])).value;
        if (!known) await open.query(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`);
      });
    };
    await make("app", "p@ss word", "scram-sha-256");
    await make("digest", "digested", "md5");
    await make("plain", "in clear", "scram-sha-256");
    await make("secured", "se:cure", "scram-sha-256");
    const as = (name, password, more) => user.sql(url(`${name}:${encodeURIComponent(password)}`, more));
    const whoami = (name, password, more) => as(name, password, more).query("SELECT current_user", { name: `As ${name}` });
"#;

#[test]
fn passwords_are_verified_by_every_method_and_wrong_ones_reported() {
    let (end, lines, snapshot) = once(&format!(
        r#"{USERS}
        const right = [await whoami("app", "p@ss word"), await whoami("digest", "digested"), await whoami("plain", "in clear")];
        user.log(JSON.stringify(right.map((result) => result.value ?? result.error)));
        const wrong = [await whoami("app", "wr0ng"), await whoami("digest", "wr0ng"), await whoami("plain", "wr0ng"), await whoami("nobody", "x")];
        user.log(JSON.stringify(wrong.map((result) => result.code)));
        user.log(wrong[0].error);
        const none = await user.sql(url("app")).query("SELECT 1", {{ name: "None" }});
        user.log(none.error);
        const nowhere = await user.sql(url().replace("/postgres", "/nowhere")).query("SELECT 1", {{ name: "Nowhere" }});
        user.log(nowhere.error);
        "#
    ));
    assert_eq!(end, FAILED);
    assert_eq!(lines[0], r#"["app","digest","plain"]"#, "{:?}", snapshot.errors);
    assert_eq!(lines[1], r#"["28P01","28P01","28P01","28000"]"#);
    assert_eq!(lines[2], "28P01: password authentication failed for user \"app\"");
    assert_eq!(lines[3], "the server asks for a password, but the URL has none");
    assert_eq!(lines[4], "3D000: database \"nowhere\" does not exist");
    assert_eq!(outcomes(&snapshot, "As app"), [(Outcome::Passed, 1), (Outcome::Status, 1)]);
    assert_eq!(outcomes(&snapshot, "Nowhere"), [(Outcome::Status, 1)]);
}

#[test]
fn tls_is_negotiated_and_its_certificate_checked() {
    let server = Postgres::shared();
    let body = format!(
        r#"{USERS}
        const secured = await whoami("secured", "se:cure", "?sslmode=require");
        const plain = await whoami("secured", "se:cure");
        user.log(JSON.stringify([secured.value, secured.error, plain.code]));
        const verified = user.sql(url("loadstone", "?sslmode=verify-full"));
        const through = await verified.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", {{ name: "Through" }});
        user.log(JSON.stringify([through.value, through.times.tls > 0, through.times.connect > 0, through.error]));
        const large = await verified.query("SELECT repeat('x', 300000) AS text");
        user.log(String(large.value?.length));
        "#
    );
    let (_, lines, snapshot) = once_with(server, &format!(", roots: [{:?}]", server.root()), &body);
    assert_eq!(lines, [r#"["secured",null,"28000"]"#, "[true,true,true,null]", "300000"], "{:?}", snapshot.errors);
    assert_eq!(request(&snapshot, "Through").phases.tls.count(), 1);
    let (end, lines, _) = once_with(server, ", insecure: true", &body);
    assert_eq!((end, &*lines[1]), (FAILED, "[true,true,true,null]"));
    let (_, _, snapshot) = once_with(server, "", &body);
    assert_eq!(outcomes(&snapshot, "Through"), [(Outcome::Tls, 1)]);
}

#[test]
fn settings_of_a_session_follow_from_the_url() {
    let (end, lines, snapshot) = once(
        r#"
        const sql = user.sql(url("loadstone", "?application_name=tester&options=-c%20search_path%3Dpg_catalog%20-c%20work_mem%3D1MB"));
        const of = async (name) => (await sql.query("SELECT current_setting($1)", [name])).value;
        user.log(JSON.stringify([await of("application_name"), await of("search_path"), await of("work_mem"), await of("client_encoding")]));
        "#,
    );
    assert_eq!((end, &*lines[0]), (PASSED, r#"["tester","pg_catalog","1MB","UTF8"]"#), "{:?}", snapshot.errors);
}
