//! `user.events` against Node's HTTP server.

use serde_json::Value;

use crate::harness::{Folder, once, once_with, server};

/// Requests with a name: how many ended, and how many failed.
fn counted(summary: &Value, name: &str) -> (u64, u64) {
    let rows = summary["requests"].as_array().expect("a list of requests");
    let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {rows:?}"));
    (row["count"].as_u64().expect("a count"), row["failed"].as_u64().expect("a count"))
}

#[test]
fn events_are_received_in_order_over_one_connection_after_another() {
    let body = r#"
        const prices = await user.events("/prices", { name: "Prices", headers: { "x-who": "me" } });
        user.check("open", prices.open && prices.error === undefined);
        const first = await prices.receive({ within: "5s" });
        user.check("kind, id and data", first.event === "price" && first.id === "1" && first.json("$.product") === 1 && first.json("$.who") === "me");
        const fifth = await prices.receive({ name: "Fifth", match: (event) => event.json("$.product") === 5, within: "5s" });
        user.check("the fifth came behind the last id", fifth.ok && fifth.id === "5");
        const ids = [];
        for await (const event of prices.messages()) if (ids.push(event.id) === 5) break;
        user.check("no event is lost or repeated", ids.join() === "2,3,4,6,7");
        user.check("they are counted", prices.received >= 7);
        await prices.close();
        user.check("closed without an error", !prices.open && prices.error === undefined);"#;
    let summary = once(server::events(), body).all_checks_held().summary();
    let (connections, failed) = counted(&summary, "Prices");
    assert!(connections >= 3 && failed == 0, "{connections} connections, {failed} failed");
    let first = counted(&summary, "Prices first event").0;
    assert!((connections - 1..=connections).contains(&first), "{first} first events of {connections} connections");
    assert_eq!(counted(&summary, "Fifth"), (1, 0));
}

#[test]
fn a_stream_ends_for_good_when_the_server_or_the_script_wants_it() {
    let body = r#"
        const once = await user.events("/once");
        const only = await once.receive({ within: "5s" });
        user.check("its event came", only.text === "only" && only.event === "message");
        for await (const _ of once.messages()) user.fail("there is no second");
        user.check("status 204 ends it without an error", !once.open && once.error === undefined);
        const single = await user.events("/prices", { reconnect: false, query: { a: 1 } });
        let count = 0;
        for await (const _ of single.messages()) count += 1;
        user.check("one connection has three", count === 3 && !single.open && single.error === undefined);
        const echo = await user.events("/echo", { reconnect: false, json: { a: 1 } });
        user.check("a body is posted", (await echo.receive({ within: "5s" })).text === 'POST {"a":1}');
        const left = await user.events("/silent", { name: "Left" });
        user.check("still open when the iteration ends", left.open);"#;
    let summary = once(server::events(), body).all_checks_held().summary();
    assert_eq!(counted(&summary, "SSE /once"), (2, 0));
    assert_eq!(counted(&summary, "Left"), (1, 0));
}

#[test]
fn a_stream_is_followed_to_where_it_redirects() {
    let body = r#"
        const moved = await user.events("/moved", { name: "Moved" });
        const ids = [];
        for await (const event of moved.messages()) if (ids.push(event.id) === 5) break;
        user.check("each connection is led there, with the last id", ids.join() === "1,2,3,4,5");
        await moved.close();
        const seen = await user.events("/seen", { name: "Seen", json: { a: 1 }, reconnect: false });
        user.check("303 asks with GET", (await seen.receive({ within: "5s" })).text === "GET");
        const kept = await user.events("/kept", { name: "Kept", json: { a: 1 }, reconnect: false });
        user.check("307 keeps method and body", (await kept.receive({ within: "5s" })).text === 'POST {"a":1}');"#;
    let summary = once(server::events(), body).all_checks_held().summary();
    let (connections, failed) = counted(&summary, "Moved");
    assert!(connections >= 2 && failed == 0, "{connections} connections, {failed} failed");
    assert_eq!((counted(&summary, "Seen"), counted(&summary, "Kept")), ((1, 0), (1, 0)), "a redirect is part of its request");
}

#[test]
fn redirects_end_where_the_script_says_so() {
    let body = r#"
        const left = await user.events("/moved", { name: "Left", redirects: 0 });
        user.check("none is followed", !left.open && left.error === "status 302 instead of a stream of events");
        const loop = await user.events("/loop", { name: "Loop", redirects: 3 });
        user.check("they do not end", !loop.open && loop.error.includes("too many redirects"));"#;
    let ended = once(server::events(), body);
    let summary = ended.summary();
    let checks = summary["checks"].as_array().expect("a list of checks");
    assert!(checks.len() == 2 && checks.iter().all(|check| check["failed"] == 0), "{}", ended.everything());
    assert_eq!((counted(&summary, "Left"), counted(&summary, "Loop")), ((1, 1), (1, 1)));
}

#[test]
fn failures_are_counted_once_and_by_kind() {
    let body = r#"
        const nothing = await user.events("/nothing");
        user.check("an answer that is no stream", !nothing.open && nothing.error === "status 200 instead of a stream of events");
        const broken = await user.events("/broken", { name: "Broken" });
        await broken.receive({ within: "5s" });
        const again = await broken.receive({ within: "5s" });
        user.check("a break is followed by another connection", again.ok && broken.open);
        await broken.close();
        const silent = await user.events("/silent", { name: "Silent" });
        const late = await silent.receive({ name: "Never", within: "100ms" });
        user.check("none came in time", !late.ok && late.error === "no message came within 100ms" && late.event === undefined);
        const refused = await user.events("http://127.0.0.1:1/", { name: "Refused" });
        user.check("nobody is there", !refused.open && refused.error.includes("refused"));"#;
    let ended = once(server::events(), body);
    let (summary, errors) = (ended.summary(), ended.errors());
    for check in summary["checks"].as_array().expect("a list of checks") {
        assert_eq!(check["failed"], 0, "{check}");
    }
    assert_eq!(summary["checks"].as_array().map(Vec::len), Some(4));
    assert_eq!((counted(&summary, "SSE /nothing"), counted(&summary, "Never"), counted(&summary, "Refused")), ((1, 1), (1, 1), (1, 1)));
    assert_eq!(counted(&summary, "Broken").1, 0, "its connections were opened well; the break is an error");
    assert!(errors.contains("status 200 instead of a stream of events") && errors.contains("connection"), "{errors}");
    assert_eq!((ended.outcomes("timeout"), ended.outcomes("refused")), (1, 1));
}

#[test]
fn options_that_do_not_exist_are_refused() {
    for (options, expected) in [
        ("{ ...{ retry: 5 } }", "an event stream has no option `retry`; its options are: name, headers"),
        ("{ reconnect: 1 }", "reconnect: expected true or false"),
        ("{ unread: \"lose\" }", "unread: expected \\\"keep\\\" or \\\"drop\\\""),
    ] {
        let errors = once(server::events(), &format!("await user.events(\"/prices\", {options});")).errors();
        assert!(errors.contains(&expected.replace("\\\"", "\"")), "{options}: {errors}");
    }
}

#[test]
fn open_streams_end_with_the_load_and_try_shows_what_came() {
    let members = "options: { gracefulStop: \"1s\" },";
    once_with(server::events(), members, "const s = await user.events(\"/silent\", { name: \"S\" });\nuser.check(\"open\", s.open);")
        .all_checks_held();
    let script = format!(
        "import {{ test, scenario, once, param }} from \"loadstone\";\nconst key = param.string(\"key\", {{ secret: true, default: \"nobody\" }});\n\
         const only = scenario(\"Only\", async (user) => {{ const s = await user.events(\"/prices\", {{ name: \"Prices\", reconnect: false }}); \
         for await (const _ of s.messages()); }});\nexport default test({{ target: \"{}\", load: only.run(once()) }});\n",
        server::events()
    );
    let folder = Folder::new().file("tried.load.ts", &script);
    let tried = folder.run(&["try", "tried.load.ts"]).code(0).says("← event price · id 3").says("\"product\": 3").does_not_say("nobody");
    assert!(tried.stdout.contains("\"who\": \"•••\""), "{}", tried.stdout);
}
