//! User errors and their messages: what is wrong, where, and what to do.

use std::time::Duration;

use crate::harness::{Ended, Folder, once, server};

/// Exit codes as `loadstone --help` documents them.
const PASSED: i32 = 0;
const USAGE: i32 = 2;
const UNREACHABLE: i32 = 5;

/// Runs a file with this content. Fails the test unless it is a usage error that leaves no run behind.
#[track_caller]
fn refused(script: &str, arguments: &[&str]) -> Ended {
    let folder = Folder::new().file("a.load.ts", script);
    let mut all = vec!["run", "a.load.ts"];
    all.extend(arguments);
    let ended = folder.run(&all).code(USAGE);
    assert!(folder.runs().is_empty(), "a run that never began left a folder\n{}", ended.everything());
    ended
}

const HEAD: &str = "import { test, scenario, once, param, csv, users } from \"loadstone\";\n";

#[test]
fn a_missing_file_is_named_with_its_remedy() {
    let empty = Folder::new();
    for command in ["run", "try", "inspect", "capacity"] {
        empty
            .run(&[command, "nowhere.load.ts"])
            .code(USAGE)
            .says("there is no file nowhere.load.ts")
            .says("`loadstone init` creates a first test");
    }
    empty.run(&["run", "tests/shop.load.ts"]).code(USAGE).says("there is no folder tests");
    let shop = Folder::new().file("shop.load.ts", "").file("tests/pay.load.ts", "").file("shop.har", "{}").file("notes.md", "");
    for (written, meant) in
        [("shp.load.ts", "shop.load.ts"), ("shop.ts", "shop.load.ts"), ("shop", "shop.load.ts"), ("tests/pya.load.ts", "tests/pay.load.ts")]
    {
        shop.run(&["run", written]).code(USAGE).says(&format!("there is no file {written} (did you mean `{meant}`?)"));
    }
    shop.run(&["run", "checkout.load.ts"]).code(USAGE).says("there is no file checkout.load.ts; the tests in this folder are shop.load.ts");
    shop.run(&["run", "tests/checkout.load.ts"]).code(USAGE).says("the tests in tests are pay.load.ts");
    shop.run(&["import", "har", "shp.har"]).code(USAGE).says("there is no file shp.har (did you mean `shop.har`?)");
    shop.run(&["import", "har", "tests"]).code(USAGE).says("tests is a folder: name a file");
    shop.run(&["run", "http://127.0.0.1:9/", "-d", "@body.json"]).code(USAGE).says("--body: there is no file body.json");
}

#[test]
fn a_comparison_names_both_runs_that_are_missing() {
    let empty = Folder::new();
    empty.run(&["compare", "a", "b"]).code(USAGE).says("no run \"a\", and no run \"b\" in runs");
    let ended = empty.run(&["compare", "last", "b"]).code(USAGE).says("no run \"b\" in runs");
    assert!(!ended.everything().contains("no run \"last\""), "{}", ended.everything());
}

#[test]
fn a_syntax_error_shows_its_place_and_its_line() {
    refused("const a = 1;\nconst b = ;\n", &[]).says("a.load.ts:2:11").says("const b = ;");
}

#[test]
fn a_syntax_error_in_an_imported_file_names_that_file() {
    let folder =
        Folder::new().file("a.load.ts", "import { b } from \"./lib/b\";\nexport default b;\n").file("lib/b.ts", "export const b = (;\n");
    folder.run(&["run", "a.load.ts"]).code(USAGE).says("lib/b.ts:1:");
}

#[test]
fn a_file_without_a_test_is_reported() {
    refused("const a = 1;\n", &[]).says("export default test(");
    refused("export default 5;\n", &[]).says("export default test(");
}

#[test]
fn an_error_while_the_file_is_read_shows_its_place() {
    refused("const parts: string[] = [];\nparts[0].length;\n", &[]).says("a.load.ts:2:");
}

#[test]
fn an_unknown_import_is_named() {
    refused("import { nothing } from \"loadstone\";\nexport default nothing;\n", &[]).says("nothing");
    refused("import { x } from \"./missing\";\nexport default x;\n", &[]).says("./missing").says("a.load.ts:1:");
    refused("import fs from \"fs\";\nexport default fs;\n", &[]).says("fs");
}

#[test]
fn enums_and_other_typescript_work() {
    once(
        server::httpbin(),
        r#"enum Colour { Red = "red", Blue = "blue" }
           enum Level { Low, High = 5, Higher }
           class Point { constructor(readonly x: number, private y = 2) {} get sum(): number { return this.x + this.y; } }
           const generic = <T,>(value: T): T => value satisfies T;
           user.check("string enum", Colour.Blue === "blue");
           user.check("numeric enum", Level.Higher === 6 && Level[5] === "High");
           user.check("parameter properties", new Point(1).sum === 3);
           user.check("the rest", generic<number>(4)! + (5 as number) === 9);"#,
    )
    .all_checks_held();
}

#[test]
fn an_endless_loop_is_interrupted_with_its_line() {
    // Line 4 of the file that `once` writes is the first line of the body.
    let ended = once(server::nginx(), "await user.get(\"/\");\nlet n = 0;\nwhile (true) {\n  n += 1;\n}");
    let errors = ended.errors();
    assert!(errors.contains("once.load.ts:6") || errors.contains("once.load.ts:7"), "{}", ended.everything());
    assert_eq!(ended.summary()["totals"]["iterations_failed"], 1, "{}", ended.everything());
}

#[test]
fn an_endless_loop_while_the_file_is_read_is_interrupted_too() {
    refused("let n = 0;\nwhile (true) n += 1;\n", &[]).says("a.load.ts:2");
}

/// It is an error of the test: no request of the target, and the run is not valid.
#[test]
fn a_request_that_cannot_be_sent_is_not_the_targets() {
    let body = r#"for (let n = 0; n < 5; n++) {
        await user.get("/", { name: "A" });
        try { await user.get("/", { name: "A", headers: { "x a": "1" } }); } catch { user.check("refused", true); }
    }"#;
    let ended = once(server::nginx(), body).code(4).says("the generator refused to send 5 requests").says("header name \"x a\"");
    let summary = ended.summary();
    assert_eq!((&summary["totals"]["requests"], &summary["totals"]["requests_failed"]), (&5.into(), &0.into()), "{}", ended.everything());
    assert_eq!((ended.outcomes("passed"), ended.outcomes("unsendable")), (5, 5), "{}", ended.everything());
    ended.does_not_say("turned away");
}

/// In every protocol, also if the script catches the error.
#[test]
fn calls_that_cannot_be_sent_make_the_run_invalid() {
    let body = r#"await user.get("/");
    const nothing: any = undefined;
    const refused = async (work: () => unknown) => { try { await work(); user.fail("sent"); } catch { user.check("refused", true); } };
    const redis = user.redis("redis://127.0.0.1:1"), sql = user.sql("postgres://u@127.0.0.1:1/d"), kafka = user.kafka("kafka://127.0.0.1:1");
    const udp = await user.udp("127.0.0.1:9");
    await refused(() => redis.command("SET", "k", nothing ?? {}, undefined));
    await refused(() => sql.query("SELECT $1", [undefined]));
    await refused(() => kafka.produce("orders", { value: nothing ?? {} } as any));
    await refused(() => udp.send("x".repeat(65_508)));
    await refused(() => user.events("/", { headers: { "x a": "1" } }));
    await refused(() => user.get("/", { timeout: nothing ?? 5 } as any));"#;
    let ended = once(server::nginx(), body).code(4).says("the generator refused to send 6 requests");
    let summary = ended.summary();
    assert_eq!((&summary["totals"]["requests"], &summary["totals"]["requests_failed"]), (&1.into(), &0.into()), "{}", ended.everything());
    assert_eq!((ended.outcomes("passed"), ended.outcomes("unsendable")), (1, 6), "{}", ended.everything());
    assert_eq!(summary["totals"]["checks_passed"], 6, "{}", ended.everything());
}

#[test]
fn what_cannot_be_sent_is_refused_before_the_load() {
    let url = server::nginx();
    for (flags, problem) in [
        (["-H", "x a: 1"], "the header name \"x a\" is empty, or contains"),
        (["-H", "Content-Length: 7"], "Content-Length is set by Loadstone"),
        (["-H", "x: a\r\nb: c"], "the value of the header x contains a line break"),
    ] {
        Folder::new().run(&[&["run", url][..], &flags].concat()).code(USAGE).says(problem);
    }
    let with = |members: &str| {
        format!("{HEAD}export default test({{ target: \"{url}\", load: scenario(\"S\", async () => {{}}).run(once()), {members} }});\n")
    };
    refused(&with("headers: { 'x a': '1' }"), &[]).says("\"x a\" is not a header name").says("a.load.ts:2:");
    refused(&with("headers: { 'x-a': undefined }"), &[]).says("the header x-a is undefined");
    let parameter = format!("const p = param.string(\"p\", {{ default: \"x\" }});\n{}", with(""));
    refused(&parameter, &["-p", "p=1", "-p", "p=2"]).says("-p p=…: the parameter has two values");
    let shadowed = with("").replace("param, csv,", "param, csv, stub,");
    let shadowed = format!("{shadowed}stub.http({{ listen: \"127.0.0.1:0\" }}).on(\"* /*\", {{}}).on(\"POST /hook\", {{}});\n");
    refused(&shadowed, &[]).says("POST /hook").says("\"* /*\" comes before it");
}

#[test]
fn a_throw_fails_its_iteration_and_the_run_continues() {
    let script = format!(
        r#"{HEAD}const odd = scenario("Odd", async (user) => {{
  await user.get("/");
  if (user.iteration % 2 === 1) throw new Error("an odd one");
}});
import {{ arrivals }} from "loadstone";
export default test({{ target: "{}", load: odd.run(arrivals(20).for("500ms")) }});
"#,
        server::nginx()
    );
    let ended = Folder::new().file("a.load.ts", &script).run(&["run", "a.load.ts"]).fails_a_threshold().says("an odd one");
    let summary = ended.summary();
    assert_eq!(summary["totals"]["iterations"], 10, "{}", ended.everything());
    assert_eq!(summary["totals"]["iterations_failed"], 5, "{}", ended.everything());
    assert_eq!(summary["totals"]["requests_failed"], 0, "{}", ended.everything());
    let group =
        summary["errors"].as_array().unwrap().iter().find(|row| row["message"].as_str().unwrap().contains("an odd one")).unwrap().clone();
    assert_eq!(group["count"], 5, "one group with its count: {group}");
    assert!(group["message"].as_str().unwrap().contains("a.load.ts:4:"), "{group}");
}

#[test]
fn a_missing_value_ends_the_iteration_and_is_named() {
    let ended = once(server::nginx(), r#"const r = await user.get("/data.json"); r.json("$.items[7].name"); user.fail("not reached");"#)
        .fails_a_threshold();
    assert!(ended.errors().contains("$.items[7].name"), "{}", ended.everything());
    assert!(!ended.errors().contains("not reached"), "{}", ended.everything());
}

#[test]
fn parameters_are_checked_before_the_load() {
    let script = format!(
        "{HEAD}const rate = param.number(\"rate\", {{ default: 4, max: 10 }});\n\
         const colour = param.choice(\"colour\", [\"red\", \"blue\"], {{ default: \"red\" }});\n\
         const s = scenario(\"S\", async () => {{}});\nexport default test({{ load: s.run(once()) }});\n"
    );
    refused(&script, &["-p", "rat=5"]).says("rat").says("rate");
    refused(&script, &["-p", "rate=fast"]).says("rate").says("fast");
    refused(&script, &["-p", "rate=11"]).says("rate").says("10");
    refused(&script, &["-p", "colour=green"]).says("colour").says("red").says("blue");
    refused(&script, &["-p", "rate"]).says("rate");
    refused(&script.replace("{ default: 4, max: 10 }", "{}"), &[]).says("rate").says("-p rate=");
}

#[test]
fn parameters_come_from_the_environment_and_the_command_line_wins() {
    let script = format!(
        "{HEAD}param.number(\"usersPerSecond\", {{ default: 4 }});\nconst s = scenario(\"S\", async () => {{}});\n\
         export default test({{ load: s.run(once()) }});\n"
    );
    let folder = Folder::new().file("a.load.ts", &script);
    let value = |arguments: &[&str]| {
        let mut command = folder.command(&[&["inspect", "a.load.ts"], arguments].concat());
        command.env("LOADSTONE_USERS_PER_SECOND", "7");
        let plan: serde_json::Value = serde_json::from_str(&folder.start_command(command).ended().code(PASSED).stdout).expect("JSON");
        (plan["parameters"][0]["value"].clone(), plan["parameters"][0]["origin"].clone())
    };
    assert_eq!(value(&[]), ("7".into(), "environment".into()));
    assert_eq!(value(&["-p", "usersPerSecond=9"]).0, "9");
}

#[test]
fn an_empty_or_ragged_csv_stops_the_start() {
    let script = format!(
        "{HEAD}const rows = csv(\"rows.csv\").circular();\n\
         const s = scenario(\"S\", async () => {{ rows.next(); }});\nexport default test({{ load: s.run(once()) }});\n"
    );
    let with = |content: &str| Folder::new().file("a.load.ts", &script).file("rows.csv", content).run(&["run", "a.load.ts"]).code(USAGE);
    with("").says("rows.csv").says("no rows");
    with("name,price\n").says("rows.csv").says("no rows");
    with("name,price\na,1\nb\n").says("rows.csv:3");
    Folder::new().file("a.load.ts", &script).run(&["run", "a.load.ts"]).code(USAGE).says("rows.csv");
}

#[test]
fn bad_urls_are_refused_before_the_load() {
    Folder::new().run(&["run", "http://", "--for", "1s"]).code(USAGE).says("http://");
    Folder::new().run(&["run", "ftp://127.0.0.1/", "--for", "1s"]).code(USAGE).says("ftp");
    Folder::new().run(&["run", "http://127.0.0.1:99999/", "--for", "1s"]).code(USAGE).says("99999");
    let script = format!(
        "{HEAD}const s = scenario(\"S\", async () => {{}});\nexport default test({{ target: \"nonsense\", load: s.run(once()) }});\n"
    );
    refused(&script, &[]).says("nonsense");
    let script = format!(
        "{HEAD}const t = param.url(\"t\", {{ default: \"http://h/\" }});\n\
         const s = scenario(\"S\", async () => {{}});\nexport default test({{ target: t, load: s.run(once()) }});\n"
    );
    refused(&script, &["-p", "t=nonsense"]).says("nonsense");
}

#[test]
fn a_bad_url_in_a_scenario_is_an_error_of_the_script() {
    let ended = once(server::nginx(), r#"await user.get("http://[::1");"#);
    assert!(ended.errors().contains("http://[::1"), "{}", ended.everything());
    assert!(ended.errors().contains("once.load.ts:4"), "{}", ended.everything());
}

#[test]
fn an_unreachable_target_is_reported_before_the_load() {
    let port = server::free_port("127.0.0.1");
    let folder = Folder::new();
    let url = format!("http://127.0.0.1:{port}/");
    folder.run(&["run", &url, "--rate", "20", "--for", "1s"]).code(UNREACHABLE).says("refused").says("is the target running?");
    once(&url, r#"await user.get("/");"#).code(UNREACHABLE).says("refused");
    // RFC 2606: .invalid never resolves.
    folder.run(&["run", "http://loadstone.invalid/", "--rate", "5", "--for", "1s"]).code(UNREACHABLE).says("loadstone.invalid");
    assert!(folder.runs().is_empty());
}

#[test]
fn a_host_that_is_not_there_during_the_run_is_the_targets_failure() {
    let port = server::free_port("127.0.0.1");
    let ended = once(
        server::nginx(),
        &format!(
            r#"await user.get("/");
               const refused = await user.get("http://127.0.0.1:{port}/", {{ name: "Refused" }});
               user.check("no answer", !refused.ok && refused.status === 0);
               await user.get("http://loadstone.invalid/", {{ name: "Unknown" }});"#
        ),
    )
    .passes();
    assert_eq!((ended.outcomes("passed"), ended.outcomes("refused"), ended.outcomes("dns")), (1, 1, 1), "{}", ended.everything());
    assert!(ended.errors().contains("refused") && ended.errors().contains("loadstone.invalid does not exist"), "{}", ended.errors());
}

#[test]
fn an_untrusted_certificate_is_reported_and_can_be_trusted_or_accepted() {
    let shop = server::shop();
    let url = format!("{}/products", shop.address);
    let ended = Folder::new().run(&["run", &url, "--rate", "5", "--for", "1s"]).code(UNREACHABLE).says("certificate");
    assert_eq!(ended.outcomes("tls"), 5, "{}", ended.everything());
    for trust in [vec!["--root", &shop.certificate], vec!["--insecure"]] {
        let mut arguments = vec!["run", &url, "--rate", "5", "--for", "1s"];
        arguments.extend(trust);
        let ended = Folder::new().run(&arguments).passes();
        assert_eq!(ended.outcomes("passed"), 5, "{}", ended.everything());
    }
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let shop = server::shop();
    // The certificate is for localhost, 127.0.0.1 and ::1. 127.0.0.2 is the same machine under a different name.
    let url = shop.address.replace("localhost", "127.0.0.2");
    let body = format!("const r = await user.get(\"{url}/products\"); user.check(\"failed\", !r.ok);");
    let port: u16 = url.rsplit(':').next().unwrap().parse().unwrap();
    if std::net::TcpStream::connect_timeout(&([127, 0, 0, 2], port).into(), Duration::from_secs(1)).is_ok() {
        let ended = once(&url, &body);
        assert_eq!(ended.outcomes("tls"), 1, "{}", ended.everything());
    }
}

#[test]
fn plain_http_to_a_tls_port_and_the_reverse_are_failures_not_hangs() {
    let plain = server::shop().address.replace("https://", "http://");
    let ended = once(&plain, r#"const r = await user.get("/products", { timeout: "10s" }); user.check("failed", !r.ok);"#);
    assert_eq!(ended.summary()["totals"]["requests_failed"], 1, "{}", ended.everything());
    let tls = server::nginx().replace("http://", "https://");
    let ended = once(&tls, r#"const r = await user.get("/", { timeout: "10s" }); user.check("failed", !r.ok);"#).code(UNREACHABLE);
    assert_eq!(ended.outcomes("tls"), 1, "{}", ended.everything());
}

#[test]
fn wrong_flags_are_reported_with_the_correct_form() {
    Folder::new().run(&["rum"]).code(USAGE).says("run");
    Folder::new().run(&["run"]).code(USAGE).says("FILE|URL");
    Folder::new().run(&["run", "http://127.0.0.1/", "--rate", "5", "--users", "5"]).code(USAGE).says("--users");
    Folder::new().run(&["run", "http://127.0.0.1/", "--for", "soon"]).code(USAGE).says("soon");
    Folder::new().run(&["run", "http://127.0.0.1/", "--rate", "-3"]).code(USAGE).says("\"-3\" is not a rate");
    Folder::new().run(&["run", "http://127.0.0.1/", "--threshold", "p99<fast"]).code(USAGE).says("p99<50ms");
    Folder::new().run(&["run", "http://127.0.0.1/", "-p", "a=1"]).code(USAGE).says("-p");
    Folder::new().run(&["show", "nothing"]).code(USAGE).says("nothing");
}

#[test]
fn a_url_without_load_is_refused() {
    for (wrong, expected) in
        [(["--rate", "0"], "generates no load"), (["--users", "0"], "--users"), (["--for", "0s"], "--for: load needs time")]
    {
        let folder = Folder::new();
        folder.run(&[&["run", "http://127.0.0.1:9/"], &wrong[..]].concat()).code(USAGE).says(expected);
        assert!(folder.runs().is_empty(), "{wrong:?}");
    }
}

#[test]
fn an_unwritable_file_is_reported_before_the_load() {
    let folder = Folder::new();
    for flag in ["--junit", "--html", "--markdown"] {
        folder.run(&["run", "http://127.0.0.1:9/", flag, "nowhere/x"]).code(USAGE).says(&format!("{flag}: there is no folder nowhere"));
    }
    folder.run(&["capacity", "demo", "--html", "nowhere/x"]).code(USAGE).says("--html: there is no folder nowhere");
    folder.run(&["experiment", "demo", "--html", "."]).code(USAGE).says("--html: . is a folder");
    assert!(folder.runs().is_empty());
}

#[test]
fn zero_workers_or_users_are_refused() {
    for wrong in ["--workers", "--max-users"] {
        Folder::new().run(&["run", "http://127.0.0.1:9/", "--rate", "5", wrong, "0"]).code(USAGE).says(wrong);
    }
}

#[test]
fn an_argument_that_is_not_a_test_is_identified() {
    let folder = Folder::new().file("tests/a.load.ts", "").file("tests/b.load.ts", "").file("empty/x.txt", "");
    for command in ["run", "try", "inspect", "capacity", "experiment"] {
        let refused = |given: &str| folder.run(&[command, given]).code(USAGE);
        refused("localhost:8080/products").says("add its scheme: http://localhost:8080/products");
        refused("tests").says("tests/a.load.ts, tests/b.load.ts").says("loadstone ui tests");
        refused("empty").says("`loadstone init empty`");
        if !["run", "capacity"].contains(&command) {
            refused("http://127.0.0.1:8080/").says("`loadstone run http://127.0.0.1:8080/`");
        }
    }
    folder.run(&["run", "localhost:8080", "--rate", "5"]).code(USAGE).says("http://localhost:8080");
}

#[test]
fn invalid_urls_and_addresses_are_reported_with_the_syntax() {
    let folder = Folder::new();
    folder.run(&["init", "--target", "shop"]).code(USAGE).says("it begins with http://");
    folder.run(&["doctor", "shop"]).code(USAGE).says("it begins with http://");
    folder.run(&["ui", "--listen", "99999"]).code(USAGE).says("such as 127.0.0.1:8080");
    folder.run(&["demo", "--serve", "here"]).code(USAGE).says("such as 127.0.0.1:8080");
    let types = folder.run(&["types", "none.proto"]).code(USAGE);
    assert!(!types.stderr.contains("error: error:"), "{}", types.everything());
}

#[test]
fn a_misspelt_parameter_is_reported_with_a_suggestion() {
    let script = "import { test, param, scenario, once } from \"loadstone\";\nparam.number(\"buyers\", { default: 1 });\n\
        const s = scenario(\"S\", async () => {});\nexport default test({ load: s.run(once()) });\n";
    refused(script, &["-p", "byers=5"]).says("did you mean `buyers`?");
}

#[test]
fn existing_types_are_not_overwritten() {
    let folder = Folder::new();
    folder.run(&["init"]).code(PASSED).says("written  ./loadstone.d.ts");
    folder.run(&["init"]).code(PASSED).says("kept     ./loadstone.d.ts");
}

#[test]
fn errors_of_the_system_are_reported_in_words() {
    let folder = Folder::new().file("file", "");
    for command in [
        &["init", "file/tests"][..],
        &["demo", "--runs", "file/runs"],
        &["run", "https://127.0.0.1:9/", "--for", "1s", "--cert", "file/cert.pem", "--key", "file/key.pem"],
        &["run", "https://127.0.0.1:9/", "--for", "1s", "--root", "file/roots.pem"],
        &["run", "https://127.0.0.1:9/", "--for", "1s", "--cert", "a.p12", "--passphrase-file", "file/passphrase"],
    ] {
        folder.run(command).says(": not a directory").does_not_say("os error");
    }
}
