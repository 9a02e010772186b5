//! What scripts see, and what their options become.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use loadstone_engine::{Iteration, IterationEnd, VirtualUser};
use loadstone_k6::{K6Inputs, K6User};
use loadstone_metrics::{MetricValue, Outcome, SeriesKind};
use loadstone_plan::{Aggregate, Load, LoadProfile, Metric, RunRole};

use crate::harness::{Bench, loaded, refused};

/// The lines that one iteration of a body prints.
fn printed_by(imports: &str, body: &str) -> Vec<String> {
    let bench = Bench::new(&format!("{imports}\nexport default function () {{ {body} }}"));
    let end = bench.run(&mut bench.user(), 0);
    let printed = bench.printed();
    assert_eq!(end, IterationEnd::Ended(Outcome::Passed), "{printed:?}");
    printed
}

#[test]
fn module_state_belongs_to_a_vu() {
    let bench = Bench::new("let count = 0; export default function () { count++; console.log(`${__VU}: ${count}, iteration ${__ITER}`); }");
    let (mut first, mut second) = (bench.user(), bench.user());
    for user in [&mut first, &mut second] {
        bench.run(user, 0);
        bench.run(user, 1);
    }
    assert_eq!(bench.printed(), ["1: 1, iteration 0", "1: 2, iteration 1", "2: 1, iteration 0", "2: 2, iteration 1"]);
}

#[test]
fn options_are_evaluated() {
    let bench = Bench::with(
        &[(
            "script.js",
            "import { Trend } from 'k6/metrics';\nexport let options = {};\nconst t = new Trend('waiting', true);\n\
             options.stages = [{ duration: '2s', target: __ENV.BIG ? 300 : 3 }];\noptions.thresholds = { 'waiting{step:one}': ['p(9' + '5)<5'] };\n\
             export function setup() { return { id: 7 }; }\nexport default function (data) { t.add(3, { step: 'one' }); console.log(data.id); }\n\
             export function teardown() {}",
        )],
        K6Inputs { variables: [("BIG".to_owned(), "1".to_owned())].into(), ..K6Inputs::default() },
    );
    let plan = &bench.test.plan;
    let Load::Sequence(parts) = &plan.load else { panic!("{:?}", plan.load) };
    let leaves = plan.leaves();
    assert_eq!((parts.len(), leaves.len(), leaves[0].role, leaves[2].role), (2, 3, RunRole::SetUp, RunRole::TearDown));
    assert!(matches!(&leaves[1].profile, LoadProfile::Closed { stages } if stages[0].to == 300));
    let [threshold] = &plan.thresholds[..] else { panic!("{:?}", plan.thresholds) };
    assert!(matches!(&threshold.metric, Metric::Own { name, unit, .. } if name == "waiting" && unit == "ms"));
    assert_eq!((threshold.aggregate, threshold.selector.tags["step"].as_str()), (Aggregate::Quantile(0.95), "one"));
}

#[test]
fn values_of_metrics_are_recorded_whole_and_by_the_tags_of_thresholds() {
    let bench = Bench::new(
        r#"import { Counter, Rate } from "k6/metrics"; import { check } from "k6"; import exec from "k6/execution";
        export const options = { tags: { team: "x" }, thresholds: { "items{kind:a}": ["count>0"], "items{kind:a,team:x}": ["count>0"], checks: ["rate>0.5"] } };
        const items = new Counter("items");
        export default function () {
          items.add(2, { kind: "a" }); items.add(5, { kind: "b" });
          exec.vu.tags.kind = "a"; items.add(1); delete exec.vu.tags.kind; items.add(10);
          check(1, { "is one": (n) => n === 1, "is two": (n) => n === 2 });
        }"#,
    );
    assert_eq!(bench.run(&mut bench.user(), 0), IterationEnd::Ended(Outcome::Passed));
    let snapshot = bench.snapshot();
    let sum = |kind: Option<&str>| {
        let parts = snapshot.metrics.iter().filter(|metric| &*metric.name == "items" && metric.tags.get("kind") == kind);
        let whole = kind.is_none();
        parts
            .filter(|metric| metric.tags.is_empty() == whole)
            .map(|metric| if let MetricValue::Counter { sum, .. } = metric.value { sum } else { 0.0 })
            .sum::<f64>()
    };
    assert_eq!((sum(None), sum(Some("a")), sum(Some("b"))), (18.0, 3.0, 5.0));
    let checks = snapshot.metrics.iter().find(|metric| &*metric.name == "checks").unwrap();
    assert!(matches!(checks.value, MetricValue::Rate { count: 2, hits: 1 }), "{:?}", checks.value);
    assert_eq!(snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Check).count(), 2);
}

#[test]
fn arrivals_that_find_no_free_vu_are_those_that_k6_drops() {
    let bench = Bench::new(
        "export const options = { thresholds: { dropped_iterations: ['count<1'] }, scenarios: { a: {
           executor: 'constant-arrival-rate', rate: 1, duration: '9s', preAllocatedVUs: 1, maxVUs: 2 } } };
         export default function () {}",
    );
    let dropped = |user: &mut K6User, waited_for_user: bool| {
        let iteration = Iteration { open: true, waited_for_user, ..bench.iteration(0) };
        assert!(matches!(pin!(user.iterate(iteration)).poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(_)));
        let counted = bench.snapshot().metrics.into_iter().find(|metric| &*metric.name == "dropped_iterations");
        counted.map_or(0.0, |metric| if let MetricValue::Counter { sum, .. } = metric.value { sum } else { f64::NAN })
    };
    let (mut prepared, mut added) = (bench.user(), bench.user());
    assert_eq!([dropped(&mut prepared, false), dropped(&mut prepared, true)], [0.0, 1.0]);
    // The second VU was added for its first arrival.
    assert_eq!([dropped(&mut added, false), dropped(&mut added, false)], [1.0, 0.0]);
}

#[test]
fn sleep_takes_the_time_of_the_vu_alone() {
    let bench =
        Bench::new("import { sleep } from 'k6'; export default function () { const began = Date.now(); sleep(2.5); console.log('done'); }");
    bench.run(&mut bench.user(), 0);
    assert_eq!((bench.clock.now(), bench.printed()), (2_500_000_000, vec!["done".to_owned()]));
}

#[test]
fn an_uncaught_error_ends_the_iteration_and_names_its_line() {
    let bench = Bench::new(
        "import { fail } from 'k6';\nexport default function () {\n  if (__ITER === 0) fail('no luck');\n  console.log('next');\n}",
    );
    let mut user = bench.user();
    assert_eq!(bench.run(&mut user, 0), IterationEnd::Threw(Outcome::Script));
    assert!(bench.printed()[0].contains("no luck") && bench.snapshot().errors[0].message.contains("script.js:3"));
    assert_eq!(bench.run(&mut user, 1), IterationEnd::Ended(Outcome::Passed));
    assert_eq!(bench.printed(), ["next"]);
}

#[test]
fn shared_arrays_behave_like_arrays_that_cannot_change() {
    let printed = printed_by(
        "import { SharedArray } from 'k6/data'; const users = new SharedArray('users', () => [{ n: 1 }, { n: 2 }, { n: 3 }]);",
        "let refused = false; try { users[0] = 1; } catch { refused = true; }
         console.log(users.length, users[1].n, users.map((u) => u.n).join(), [...users].length, JSON.stringify(users), refused, users[3]);",
    );
    assert_eq!(printed, [r#"3 2 1,2,3 3 [{"n":1},{"n":2},{"n":3}] true undefined"#]);
}

/// RFC 1321, FIPS 180-4, RFC 4648 and RFC 4231 have these values.
#[test]
fn digests_and_encodings_are_those_of_their_standards() {
    let printed = printed_by(
        "import crypto from 'k6/crypto'; import encoding from 'k6/encoding';",
        "console.log(crypto.md5('abc', 'hex')); console.log(crypto.sha256('abc', 'hex')); console.log(encoding.b64encode('foobar'));
         console.log(encoding.b64decode('Zm9vYmFy', 'std', 's')); console.log(crypto.hmac('sha256', 'Jefe', 'what do ya want for nothing?', 'hex'));
         const hash = crypto.createHash('sha256'); hash.update('a'); hash.update('bc'); console.log(hash.digest('hex') === crypto.sha256('abc', 'hex'));",
    );
    assert_eq!(
        printed,
        [
            "900150983cd24fb0d6963f7d28e17f72",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "Zm9vYmFy",
            "foobar",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            "true"
        ]
    );
}

#[test]
fn asynchronous_iterations_wait_for_their_timers() {
    let bench = Bench::new(
        "export default async function () { setTimeout(() => console.log('late'), 3000);
           await new Promise((done) => setTimeout(done, 1000)); console.log('early'); }",
    );
    assert_eq!(bench.run(&mut bench.user(), 0), IterationEnd::Ended(Outcome::Passed));
    assert_eq!((bench.clock.now(), bench.printed()), (3_000_000_000, vec!["early".to_owned(), "late".to_owned()]));
}

#[test]
fn a_wrong_option_is_marked_where_it_is_set() {
    let script = "export const options = { scenarios: { a: { executor: 'constant-vus', vus: 'two', duration: '5s' } } };\nexport default function () {}";
    let error = refused(script);
    assert!(error.contains("script.js:1:70") && error.contains("vus: \"two\""), "{error}");
}

#[test]
fn a_cleared_timer_is_not_waited_for() {
    let bench = Bench::new(
        "clearTimeout(undefined);
         export default async function () {
           const late = setTimeout(() => console.log('late'), 10000);
           let ticks = 0;
           const ticking = setInterval(() => { if (++ticks === 3) clearInterval(ticking); }, 500);
           await new Promise((done) => setTimeout(done, 1000));
           clearTimeout(late);
           for (const none of [12345, -1, 0.5, undefined, null, 'x']) clearTimeout(none);
           console.log('early');
         }",
    );
    assert_eq!(bench.run(&mut bench.user(), 0), IterationEnd::Ended(Outcome::Passed));
    assert_eq!((bench.clock.now(), bench.printed()), (1_500_000_000, vec!["early".to_owned()]));
}

#[test]
fn commonjs_scripts_and_require_work() {
    let bench = Bench::with(
        &[
            (
                "script.js",
                "const { sleep } = require('k6'); const lib = require('./lib.js');
                 exports.default = function () { sleep(1); console.log(lib.name); };\nexports.options = { vus: 2, iterations: 2 };",
            ),
            ("lib.js", "if (exports.name) { return; }\nexports.name = 'lib';"),
        ],
        K6Inputs::default(),
    );
    bench.run(&mut bench.user(), 0);
    assert_eq!(bench.printed(), ["lib"]);
    assert!(matches!(bench.test.plan.leaves()[0].profile, LoadProfile::Iterations { users: 2, .. }));
}

/// As `http-instrumentation-tempo` of jslib.k6.io does.
#[test]
fn a_library_replaces_functions_of_a_module() {
    let bench = Bench::with(
        &[
            (
                "script.js",
                "import http from 'k6/http'; import { instrument } from './lib.js'; instrument();
                 export default function () { http.get('http://127.0.0.1:1/'); console.log(require('k6/http') === http, typeof require('k6').check); }",
            ),
            ("lib.js", "const http = require('k6/http');\nexports.instrument = () => { http.get = (url) => console.log(`instead of ${url}`); };"),
        ],
        K6Inputs::default(),
    );
    bench.run(&mut bench.user(), 0);
    assert_eq!(bench.printed(), ["instead of http://127.0.0.1:1/", "true function"]);
}

/// Scripts often lie next to the folder with their data.
#[test]
fn files_of_the_repository_are_read_and_others_are_not() {
    let root = tempfile::tempdir().unwrap();
    for folder in ["shop/.git", "shop/load", "shop/data"] {
        std::fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    std::fs::write(root.path().join("shop/data/users.json"), "[1]").unwrap();
    std::fs::write(root.path().join("secret.json"), "[2]").unwrap();
    let load = |opened: &str| {
        let script = root.path().join("shop/load/script.js");
        std::fs::write(&script, format!("const read = open('{opened}'); export default function () {{}}")).unwrap();
        loaded(&root.path().join("shop/load"), &K6Inputs::default()).map(|_| ()).map_err(|error| error.render())
    };
    assert_eq!(load("../data/users.json"), Ok(()));
    assert!(load("../../secret.json").is_err_and(|error| error.contains("--allow-read")), "{:?}", load("../../secret.json"));
}

#[test]
fn files_are_opened_next_to_the_module_that_opens_them() {
    let bench = Bench::with(
        &[
            (
                "script.js",
                "const text = open('./data.txt'); 
                 export default function () { console.log(text); try { open('./data.txt'); } catch (e) { console.log(e.message); } }",
            ),
            ("data.txt", "hello"),
        ],
        K6Inputs::default(),
    );
    bench.run(&mut bench.user(), 0);
    let printed = bench.printed();
    assert_eq!(printed[0], "hello");
    assert!(printed[1].contains("init context"), "{printed:?}");
}

#[test]
fn missing_names_link_and_fail_when_they_are_used() {
    let printed = printed_by(
        "import browser, { devices } from 'k6/browser'; import { Tracer } from 'k6/experimental/tracing'; import { nothing } from 'k6/http';",
        "for (const use of
           [() => new Tracer(), () => browser.newPage(), () => nothing(), () => devices.x]) try { use(); } catch (e) { console.log(e.message); }",
    );
    assert_eq!(printed.len(), 4);
    for (line, name) in printed.iter().zip([
        "`Tracer` of \"k6/experimental/tracing\"",
        "`default` of \"k6/browser\"",
        "`nothing` of \"k6/http\"",
        "`devices`",
    ]) {
        assert!(line.contains(name) && line.contains("docs/k6-compatibility.md"), "{line}");
    }
}

#[test]
fn what_is_not_supported_refuses_to_start_with_its_place() {
    for (script, parts) in [
        (
            "export const options = {\n  tlsAuth: [{}] };\nexport default function () {}",
            ["script.js:2:3", "tlsAuth[0] has no `cert`", "open("],
        ),
        (
            "export const options = { thresholds: {\n nothing: ['max<1'] } };\nexport default function () {}",
            ["script.js:2:2", "no metric `nothing`", "declare it"],
        ),
        (
            "export const options = { scenarios: { a: { executor: 'shared-iterations', exec: 'buy' } } };",
            ["script.js:1", "no function `buy`", "export it"],
        ),
        ("import 'https://example.org/lib.js';\nexport default function () {}", ["script.js:1:8", "imports code from", "save the file"]),
    ] {
        let error = refused(script);
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}

#[test]
fn an_instance_counts_vus_and_iterations() {
    let bench = Bench::new(
        "import { sleep } from 'k6'; import exec from 'k6/execution';
         export default function () {
           if (__ITER === 1) sleep(1);
           const { iterationsCompleted, iterationsInterrupted, vusActive, vusInitialized } = exec.instance;
           console.log(iterationsCompleted, iterationsInterrupted, vusActive, vusInitialized);
         }",
    );
    let (mut one, mut two) = (bench.user(), bench.user());
    bench.run(&mut one, 0);
    bench.interrupt_after(&mut one, 0);
    bench.run(&mut two, 1);
    // Its second iteration sleeps.
    bench.interrupt_after(&mut one, 1);
    bench.run(&mut one, 3);
    drop(two);
    bench.run(&mut one, 4);
    assert_eq!(bench.printed(), ["0 0 1 1", "1 0 1 1", "2 1 1 1", "3 1 1 1"]);
}

#[test]
fn streams_follow_their_standard() {
    let bench = Bench::new(
        "import { ReadableStream, CountQueuingStrategy } from 'k6/experimental/streams';
         export default async function () {
         const show = (...values) => console.log(JSON.stringify(values));
         const failed = async (call) => { try { await call(); return 'no error'; } catch (error) { return error.message ?? error; } };
         let next = 0;
         const pulled = new ReadableStream(
           { pull(controller) { controller.enqueue(next++); if (next === 3) controller.close(); } }, new CountQueuingStrategy({ highWaterMark: 2 }));
         const reader = pulled.getReader(), read = [];
         for (let part; !(part = await reader.read()).done;) read.push(part.value);
         show(read, pulled.locked, await failed(() => pulled.cancel()), await reader.closed);
         const filled = new ReadableStream({ start(c) { c.enqueue('abc'); show(c.desiredSize); c.close(); show(await_free(c)); } },
           { highWaterMark: 10, size: (text) => text.length });
         function await_free(c) { try { c.enqueue('x'); } catch (error) { return error.message; } }
         show(await filled.getReader().read());
         const late = new ReadableStream({ start(c) { setTimeout(() => { c.enqueue('late'); c.close(); }, 20); } }).getReader();
         show(await Promise.all([late.read(), late.read()]));
         show(await failed(() => new ReadableStream({ start(c) { c.error('bad'); } }).getReader().read()),
           await failed(() => new ReadableStream({ pull() { throw new Error('pull'); } }).getReader().read()),
           await failed(() => new ReadableStream({ type: 'bytes' })));
         const cancelled = new ReadableStream({ cancel(reason) { show('cancelled', reason); } }).getReader();
         const waiting = cancelled.read();
         await cancelled.cancel('why');
         show(await waiting);
         late.releaseLock();
         show(await failed(() => late.read()));
         }",
    );
    bench.run(&mut bench.user(), 0);
    let expected = [
        r#"[[0,1,2],true,"cannot cancel a locked stream",null]"#,
        "[7]",
        r#"["cannot close or enqueue"]"#,
        r#"[{"done":false,"value":"abc"}]"#,
        r#"[[{"done":false,"value":"late"},{"done":true}]]"#,
        r#"["bad","pull","NotSupportedError: 'bytes' stream is not supported yet"]"#,
        r#"["cancelled","why"]"#,
        r#"[{"done":true}]"#,
        r#"["stream is undefined"]"#,
    ];
    assert_eq!(bench.printed(), expected);
}
