//! Unknown options: an error before anything runs if they are literals, and an error at the call otherwise.

use crate::folder::{load_error, load_with};
use crate::running::{run, scenario};
use loadstone_script::Inputs;

const HEAD: &str = "import { test, scenario, setup, once } from \"loadstone\";\nimport type { User } from \"loadstone\";\n";

/// A test whose only scenario has this body.
fn test(body: &str) -> String {
    format!("{HEAD}const s = scenario(\"S\", async (user) => {{\n{body}\n}});\nexport default test({{ load: s.run(once()) }});\n")
}

/// Line and column of an identifier, from 1.
fn place_of(text: &str, identifier: &str) -> (u32, u32) {
    let at = text.find(identifier).unwrap();
    let before = &text[..at];
    (before.lines().count() as u32, before.chars().rev().take_while(|c| *c != '\n').count() as u32 + 1)
}

#[test]
fn unknown_members_are_errors_that_list_the_known_ones() {
    for (line, place, expected) in [
        ("const n = param\n  .integer('n');", (3, 4), "there is no `param.integer`; there is: "),
        ("const { integer } = param;", (2, 9), "there is no `param.integer`; there is: "),
        ("const n = param.integer('n');", (2, 17), "there is no `param.integer`; there is: param.number, param.string, param.boolean, "),
        ("const n = param.numbre('n');", (2, 17), "there is no `param.numbre` (did you mean `param.number`?); there is: "),
        ("  stub.htpp({});", (2, 8), "(did you mean `stub.http`?); there is: stub.http, stub.grpc, stub.tcp, stub.dns"),
        (
            "metric.histogram('m');",
            (2, 8),
            "there is no `metric.histogram`; there is: metric.trend, metric.counter, metric.gauge, metric.rate",
        ),
        ("kafka.produce('t');", (2, 7), "there is: kafka.consume"),
        ("proxy.udp({});", (2, 7), "there is: proxy.tcp, proxy.http"),
        ("const load = arrivals.rmap(1, 2);", (2, 23), "(did you mean `arrivals.ramp`?)"),
        ("const load = users.step(1);", (2, 20), "(did you mean `users.steps`?)"),
    ] {
        let head = "import { arrivals, kafka, metric, once, param, proxy, scenario, stub, test, users } from \"loadstone\";";
        let error = load_error(&format!("{head}\n{line}\nexport default test({{ load: scenario('S', () => {{}}).run(once()) }});\n"));
        assert!(error.message.contains(expected), "{line}: {}", error.render());
        let found = error.place.clone().unwrap();
        assert_eq!((found.line, found.column), place, "{}", error.render());
        let identifier = found.source_line.unwrap().chars().skip(found.column as usize - 1).take(found.width as usize).collect::<String>();
        assert!(line.contains(&format!(".{identifier}(")) || line.contains(&format!("{{ {identifier} }}")), "{identifier}");
    }
}

#[test]
fn an_unknown_verb_is_marked_before_anything_runs() {
    for (body, identifier, expected) in [
        ("  await user.gett('/');", "gett", "there is no `gett` here (did you mean `get`?)"),
        ("  const [a] = await Promise.all([\n    user\n      .psot('/'),\n  ]);", "psot", "(did you mean `post`?)"),
        ("  await user.group('G', (inner) => inner.puase('1s'));", "puase", "(did you mean `pause`?)"),
        ("  await user.redis('redis://127.0.0.1').get('k'); user.kafak('kafka://h');", "kafak", "(did you mean `kafka`?)"),
        ("});\nasync function other(someone: User) {\n  await someone.grcp({});\n}\nsetup(async () => {", "grcp", "(did you mean `grpc`?)"),
    ] {
        let text = test(body);
        let error = load_error(&text);
        assert!(error.message.contains(expected), "{body}: {error}");
        let place = error.place.clone().unwrap();
        assert_eq!((place.line, place.column), place_of(&text, identifier), "{}", error.render());
        assert_eq!(place.width as usize, identifier.len(), "{}", error.render());
    }
}

#[test]
fn a_property_that_the_test_adds_to_users_is_not_a_misspelt_verb() {
    for body in [
        "  const own: any = user; own.gett = () => 1; user.gett();",
        "  const own: any = user; own.login = () => 1; user.login();",
        "  const user = { gett() {} }; user.gett();",
    ] {
        load_with(&test(&format!("  {{\n{body}\n  }}")), &[], &Inputs::default()).unwrap_or_else(|error| panic!("{}", error.render()));
    }
}

#[test]
fn errors_found_at_run_time_mark_the_identifier_as_well() {
    for (line, column, expected) in [
        ("const own: any = user; await own.gett('/');", 34, "TypeError: there is no `gett` here (did you mean `get`?)"),
        ("const none: any = undefined; await user.pause(none.length);", 52, "TypeError: cannot read property 'length' of undefined"),
        ("const r: any = await user.get('/'); r.jsn('$');", 39, "TypeError: there is no `jsn` here (did you mean `json`?)"),
    ] {
        run(&scenario(line), async |worker| {
            worker.iterate(0).await;
            let message = worker.drain().errors[0].message.to_string();
            assert_eq!(message, format!("{expected} (t.load.ts:4:{column})"));
        });
    }
}

#[test]
fn literal_options_are_marked_before_anything_runs() {
    for (body, identifier, expected) in [
        ("  await user.get('/', { nmae: 'A', expect: {} });", "nmae", "a request has no option `nmae` (did you mean `name`?)"),
        (
            "  await user.post(\n    '/',\n    {\n      json: {},\n      tiemout: '1s',\n      name: 'A' });",
            "tiemout",
            "(did you mean `timeout`?)",
        ),
        ("  await user.request('PURGE', '/', { exepct: { status: 200 } });", "exepct", "(did you mean `expect`?)"),
        (
            "  await user.put('/', { name: 'ä', expect: { statsu: 200 } });",
            "statsu",
            "expect has no option `statsu` (did you mean `status`?)",
        ),
        ("  await user.get('/', { 'auth': { bearre: 't' } });", "bearre", "auth has no option `bearre` (did you mean `bearer`?)"),
        ("  await user.get('/', ({ hedaers: {} } as any));", "hedaers", "(did you mean `headers`?)"),
        ("  if (user.iteration > 9) for (const p of ['/']) await user.get(p, { qurey: { p } });", "qurey", "(did you mean `query`?)"),
        ("  await user.ws('/', { protocol: ['a'] });", "protocol:", "a WebSocket has no option `protocol` (did you mean `protocols`?)"),
        ("  await user.events('/', { mehtod: 'GET' });", "mehtod", "an event stream has no option `mehtod` (did you mean `method`?)"),
        ("  await user.group('G', () => 1, { tag: {} });", "tag:", "group(…) has no option `tag` (did you mean `tags`?)"),
        ("  await user.group('G', async (inner) => { await inner.get('/', { nmae: 'A' }); });", "nmae", "(did you mean `name`?)"),
        ("  user.check('c', true, { tasg: {} });", "tasg", "check(…) has no option `tasg` (did you mean `tags`?)"),
        ("  for await (const _ of user.pace({ evry: '1s' })) {}", "evry", "pace(…) has no option `evry` (did you mean `every`?)"),
        (
            "});\nasync function other(someone: User) {\n  await someone.head('/', { nmae: 'A' });\n}\nsetup(async () => {",
            "nmae",
            "`name`?",
        ),
        ("});\nsetup(async (first) => { await first.get('/', { nmae: 'A' });", "nmae", "`name`?"),
        ("}, { onStart: async (own) => { await own.get('/', { nmae: 'A' }); }", "nmae", "`name`?"),
    ] {
        let text = test(body);
        let error = load_error(&text);
        assert!(error.message.contains(expected), "{body}: {error}");
        let place = error.place.clone().unwrap();
        assert_eq!((place.line, place.column), place_of(&text, identifier), "{}", error.render());
        assert_eq!(place.width as usize, identifier.trim_end_matches(':').len(), "{}", error.render());
    }
}

#[test]
fn an_imported_file_is_checked_as_well() {
    let text = "import { test } from \"loadstone\";\nimport { s } from \"./lib.js\";\nexport default test({ load: s });\n";
    let lib = "import { scenario, once } from \"loadstone\";\n\
               export const s = scenario(\"S\", async function (user) { await user.get('/', { nmae: 'A' }); }).run(once());\n";
    let error = load_with(text, &[("lib.js", lib)], &Inputs::default()).unwrap_err();
    assert_eq!(error.place.map(|place| (place.file.to_string(), place.line)), Some(("lib.js".to_owned(), 2)));
}

#[test]
fn other_calls_and_computed_options_are_checked_at_the_call() {
    for body in [
        "  const other = { get(_: string, __: object) {} }; other.get('/', { nmae: 'A' });",
        "  { const user = new Map<string, object>(); user.set('/', { nmae: 'A' }); }",
        "  [1].forEach((user) => (user as any).get('/', { nmae: 'A' }));",
        "  const more = { nmae: 'A' }; await user.get('/', { ...more });",
        "  const key = 'nmae'; await user.get('/', { [key]: 'A' });",
        "  await user.get('/', { name: 'A', json: { nmae: 1 }, headers: { exepct: 'x' }, expect: { json: { statsu: 1 } } } as any);",
    ] {
        load_with(&test(body), &[], &Inputs::default()).unwrap_or_else(|error| panic!("{}", error.render()));
    }
}

#[test]
fn errors_of_a_call_match_the_earlier_ones_and_cannot_be_hidden_by_catch() {
    for (call, expected) in [
        ("user.get('/', OPTIONS)", "a request has no option `nmea`; its options are: name, headers"),
        ("user.ws('/', OPTIONS)", "a WebSocket has no option `nmea`"),
        ("user.events('/', OPTIONS)", "an event stream has no option `nmea`"),
        ("user.group('G', () => 1, OPTIONS)", "group(…) has no option `nmea`"),
        ("user.check('c', true, OPTIONS)", "check(…) has no option `nmea`"),
        ("user.pace(OPTIONS)", "pace(…) has no option `nmea`"),
    ] {
        let written = load_error(&scenario(&call.replace("OPTIONS", "{ nmea: 'A' }"))).message;
        assert!(written.contains(expected), "{written}");
        let body = format!("const given: any = {{ nmea: 'A' }};\ntry {{ await {}; }} catch {{}}", call.replace("OPTIONS", "given"));
        run(&scenario(&body), async |worker| {
            worker.iterate(0).await;
            let misuse = worker.misuse.borrow();
            assert_eq!(misuse.iter().map(|error| error.message.as_str()).collect::<Vec<_>>(), [&*written], "{call}");
            assert_eq!(misuse[0].place.as_ref().map(|place| place.line), Some(5), "{}", misuse[0].render());
        });
    }
}
