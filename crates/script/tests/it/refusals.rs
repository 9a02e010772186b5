//! Calls that cannot be sent because of their arguments, or because of a limit of the protocol: refused by the generator, in every protocol.

use loadstone_engine::IterationEnd;
use loadstone_metrics::{Outcome, SeriesKind, SeriesSlice, Snapshot};

use crate::running::{run_with, scenario_with};

const PASSED: IterationEnd = IterationEnd::Ended(Outcome::Passed);
const PROTO: &str = "syntax = \"proto3\";\npackage t.v1;\nmessage M { int32 n = 1; }\n\
    service T { rpc Echo(M) returns (M); rpc Chat(stream M) returns (stream M); }\n";

fn requests(snapshot: &Snapshot) -> impl Iterator<Item = &SeriesSlice> {
    snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Request)
}

/// The names of refused requests. None of them has a time.
fn refused(snapshot: &Snapshot) -> Vec<String> {
    let is_refused = |series: &&SeriesSlice| series.outcomes.iter().any(|(outcome, count)| *outcome == Outcome::Unsendable && *count > 0);
    requests(snapshot)
        .filter(is_refused)
        .map(|series| {
            assert_eq!((series.count, series.failed, series.response.count()), (0, 0, 0), "{}", series.key.name);
            series.key.name.to_string()
        })
        .collect()
}

/// Runs each call, which must throw this error and be recorded as refused under this name.
fn all_are_refused(before: &str, cases: &[(&str, &str, &str)]) {
    for (call, name, problem) in cases {
        let body = format!("{before}\ntry {{ await {call}; user.log('sent'); }} catch (error) {{ user.log(error.message); }}");
        let top = "import { proto } from \"loadstone\";\nproto(\"t.proto\");\nconst at = param.url(\"target\").slice(7), nothing: any = undefined;";
        let text = scenario_with(top, &body, "").replace("target: param.url(\"target\")", "target: `http://${at}`");
        run_with(&text, &[("t.proto", PROTO)], async |worker| {
            assert_eq!(worker.iterate(0).await, PASSED, "{call}");
            let snapshot = worker.drain();
            let texts = worker.texts();
            assert!(texts.len() == 1 && texts[0].contains(problem), "{call}: {texts:?}");
            assert_eq!(refused(&snapshot), [*name], "{call}: {:?}", snapshot.errors);
            let message = snapshot.errors.iter().find(|error| error.outcome == Outcome::Unsendable).map(|error| error.message.to_string());
            assert!(message.unwrap_or_default().contains(problem), "{call}: {:?}", snapshot.errors);
        });
    }
}

#[test]
fn wrong_arguments_of_requests() {
    all_are_refused(
        "",
        &[
            ("user.get(7 as any)", "GET", "expected the URL as a string"),
            ("user.get('/a/17?x=1', { timeout: nothing ?? 5 } as any)", "GET /a/:id", "timeout: "),
            ("user.post('/a', { name: 'Named', form: { a: {} } as any })", "Named", "form.a: expected a string"),
            ("user.request('G T', '/a')", "REQUEST /a", "\"G T\" is not an HTTP method"),
            ("user.get('ftp://h/a')", "GET /a", "scheme `ftp`"),
            ("user.post('/a', { get json() { throw new Error('own'); } } as any)", "POST /a", "own"),
            ("user.post('/a', { body: 'a\\ud800b' })", "POST /a", "half of a surrogate pair"),
            ("user.get('/a', { headers: { x: '\\udc00' } })", "GET /a", "half of a surrogate pair"),
            ("user.ws('/ws', { timeout: nothing ?? 5 } as any)", "WS /ws", "timeout: "),
            ("user.events('/events', { headers: { a: nothing } })", "SSE /events", "headers[\"a\"]"),
        ],
    );
}

#[test]
fn wrong_arguments_of_grpc_calls() {
    all_are_refused(
        "",
        &[
            ("user.grpc('t.v1.T/Echo', { n: 1.5 })", "T/Echo", "message.n is 1.5"),
            ("user.grpc('t.v1.T/Echo', { n: 'x' }, { name: 'Named' })", "Named", "message.n is \"x\""),
            ("user.grpc('t.v1.T/None', {})", "T/None", "None"),
            ("user.grpc('t.v1.T/Chat', {})", "T/Chat", "call it with `user.grpcStream(…)`"),
            ("user.grpcStream('t.v1.T/Chat', { n: 'x' })", "T/Chat", "message.n is \"x\""),
        ],
    );
}

#[test]
fn wrong_arguments_of_raw_protocols() {
    all_are_refused(
        "",
        &[
            ("user.tcp('nowhere')", "TCP", "is not a host and a port"),
            ("user.udp(`http://${at}`)", "UDP", "has the scheme `http`"),
            ("(await user.udp(at, { name: 'U' })).send({} as any)", "U", "expected the message as a string or bytes"),
            ("(await user.udp(at, { name: 'U' })).request('x', { within: nothing ?? 5 } as any)", "U request", "within: "),
            ("(await user.udp(at, { name: 'U' })).send('x'.repeat(65_508))", "U", "the datagram is too large"),
            ("(await user.udp(at, { name: 'U' })).request('x'.repeat(65_508), { name: 'Ask' })", "Ask", "the datagram is too large"),
        ],
    );
    let connected = "const tcp = await user.tcp(at, { name: 'C' });";
    for (call, name, problem) in [
        ("tcp.write({} as any)", "C", "expected the data to send as a string or bytes"),
        ("tcp.request(7 as any, { name: 'Ask' })", "Ask", "expected the data to send as a string or bytes"),
    ] {
        let body = format!("{connected}\ntry {{ await {call}; }} catch (error) {{ user.log(error.message); }}");
        let text =
            scenario_with("const at = param.url(\"target\").slice(7);", &body, "").replace("param.url(\"target\"),", "`http://${at}`,");
        run_with(&text, &[], async |worker| {
            assert_eq!(worker.iterate(0).await, PASSED, "{call}");
            assert!(worker.texts().first().is_some_and(|text| text.contains(problem)), "{call}: {:?}", worker.texts());
            let snapshot = worker.drain();
            let of = |name: &str| requests(&snapshot).find(|series| &*series.key.name == name).unwrap();
            assert!(of(name).outcomes.contains(&(Outcome::Unsendable, 1)), "{call}");
            assert_eq!(of("C").count, 1, "{call}: only connecting is a request");
        });
    }
}

#[test]
fn wrong_arguments_of_databases_and_brokers() {
    all_are_refused(
        "const redis = user.redis('redis://127.0.0.1:1'), pg = user.sql('postgres://u@127.0.0.1:1/d'), my = user.sql('mysql://u@127.0.0.1:1/d'),\n\
         kafka = user.kafka('kafka://127.0.0.1:1');",
        &[
            ("user.redis(nothing ?? 'nowhere')", "Redis", "the URL of the Redis server"),
            ("redis.command('SET', 'k', {} as any, nothing)", "command", "arguments of a command are strings"),
            ("redis.command(nothing, { name: 'Named' })", "Named", "a command begins with its name"),
            ("redis.pipeline([] as any)", "pipeline", "a pipeline is a list of commands"),
            ("user.sql(nothing ?? 'nowhere')", "SQL", "it is not a URL"),
            ("user.sql(nothing ?? 'postgres://a%00b@h/d')", "SQL", "NUL character"),
            ("user.sql(nothing ?? 'mysql://a:%00@h/d')", "SQL", "NUL character"),
            ("pg.query('SELECT $1', [undefined], { name: 'P' })", "P", "use null for a missing value"),
            ("pg.query('SELECT \\0', [], { name: 'Q' })", "Q", "NUL character"),
            ("pg.query(7 as any, [], { name: 'Named' })", "Named", "the statement: expected a string"),
            ("my.query('SELECT ?', [[1]], { name: 'R' })", "R", "MySQL has no lists"),
            ("my.query('SELECT 1', [], { name: 'T', timeout: nothing ?? 5 } as any)", "T", "timeout: "),
            ("user.kafka(nothing ?? 'nowhere')", "Kafka", "the URL of the Kafka broker"),
            ("kafka.produce('', { value: 'x' })", "produce ", "the name of a topic has 1 to 249 characters"),
            ("kafka.produce('orders', { value: {} } as any)", "produce orders", "the value of a record"),
            ("kafka.produce('orders', { value: 'x' }, { name: 'Named', acks: nothing ?? 7 } as any)", "Named", "acks: expected"),
        ],
    );
}

/// The generator refuses to connect: its source addresses are of another family. Each protocol rejects the call, and records no time.
#[test]
fn connections_that_the_generator_refuses() {
    let problem = "the target has an IPv6 address, but all source addresses are IPv4";
    for (call, name) in [
        ("user.get('/', { name: 'A' })", "A"),
        ("user.ws('/', { name: 'A' })", "A"),
        ("user.events('/', { name: 'A' })", "A"),
        ("user.grpc('t.v1.T/Echo', { n: 1 }, { name: 'A' })", "A"),
        ("user.grpcStream('t.v1.T/Chat', { n: 1 }, { name: 'A' })", "A"),
        ("user.tcp('[::1]:1', { name: 'A' })", "A"),
        ("user.redis('redis://[::1]:1').command('GET', 'k')", "GET"),
        ("user.sql('postgres://u@[::1]:1/d').query('SELECT 1', [], { name: 'A' })", "A"),
        ("user.sql('postgres://u@[::1]:1/d').transaction(async () => {}, { name: 'A' })", "A begin"),
        ("user.sql('mysql://u@[::1]:1/d').query('SELECT 1', [], { name: 'A' })", "A"),
        ("user.kafka('kafka://[::1]:1').produce('orders', { value: 'x' }, { name: 'A' })", "A"),
    ] {
        let body = format!("try {{ await {call}; user.log('sent'); }} catch (error) {{ user.log(error.message); }}");
        let text = scenario_with("import { proto } from \"loadstone\";\nproto(\"t.proto\");\nparam.url(\"target\");", &body, "");
        let text = text.replace("target: param.url(\"target\"),", "target: 'http://[::1]:1', options: { sources: ['127.0.0.1'] },");
        run_with(&text, &[("t.proto", PROTO)], async |worker| {
            assert_eq!(worker.iterate(0).await, PASSED, "{call}");
            let texts = worker.texts();
            assert!(texts.len() == 1 && texts[0].contains(problem), "{call}: {texts:?}");
            assert_eq!(refused(&worker.drain()), [name], "{call}");
        });
    }
}

/// Steps that send. An error in the arguments of `receive` is one of the script alone.
#[test]
fn wrong_arguments_of_steps_on_streams() {
    for (call, name, problem) in [
        ("ws.ping({ name: 'Ask', within: nothing ?? 5 } as any)", "Ask", "within: "),
        ("ws.send({} as any)", "Open", "expected the message as a string or bytes"),
        ("ws.close(999)", "Open", "the close code must be 1000, or from 3000 to 4999"),
        ("stream.send({ n: 'x' })", "Stream", "message.n is \"x\""),
    ] {
        let body = format!(
            "const ws = await user.ws('/echo', {{ name: 'Open' }});
             const stream = await user.grpcStream('t.v1.T/Chat', undefined, {{ name: 'Stream' }});
             try {{ await {call}; }} catch (error) {{ user.log(error.message); }}"
        );
        let top = "import { proto } from \"loadstone\";\nproto(\"t.proto\");\nconst nothing: any = undefined;";
        run_with(&scenario_with(top, &body, ""), &[("t.proto", PROTO)], async |worker| {
            worker.iterate(0).await;
            assert!(worker.texts().first().is_some_and(|text| text.contains(problem)), "{call}: {:?}", worker.texts());
            let snapshot = worker.drain();
            let of = requests(&snapshot).find(|series| &*series.key.name == name).unwrap_or_else(|| panic!("{call}: no {name}"));
            assert!(of.outcomes.contains(&(Outcome::Unsendable, 1)), "{call}: {:?}", of.outcomes);
        });
    }
}

/// The error belongs to the script: nothing was to be sent.
#[test]
fn errors_of_steps_that_send_nothing_are_no_refusals() {
    for call in ["user.check(1 as any, true)", "user.pause(7 as any)", "user.group('G', () => { throw new Error('x'); })"] {
        let body = format!("try {{ await {call}; }} catch (error) {{ user.log(error.message); }}");
        run_with(&scenario_with("", &body, ""), &[], async |worker| {
            worker.iterate(0).await;
            assert_eq!(worker.texts().len(), 1, "{call}");
            assert_eq!(refused(&worker.drain()), [""; 0], "{call}");
        });
    }
}
