//! Scenario functions that await requests alone run as generators. They must do what the same async function does, which an `await` of anything else
//! preserves.

use loadstone_engine::{IterationEnd, VirtualUser as _};
use loadstone_metrics::SeriesKind;

use crate::running::{run, scenario_with};

/// Never runs. A function with it remains an async function.
const KEEPS_ASYNC: &str = "if (user.number < 0) await null;\n";

/// The ends of three iterations of two users, the console lines, and the number of recorded requests.
fn behaviour(top: &str, body: &str) -> (Vec<IterationEnd>, Vec<String>, u64) {
    run(&scenario_with(top, body, ""), async |worker| {
        let mut ends = Vec::new();
        for number in 0..2 {
            let mut user = worker.user(number);
            for sequence in 0..3 {
                ends.push(user.iterate(worker.iteration(sequence, None)).await);
            }
        }
        let snapshot = worker.drain();
        let requests = snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| series.count).sum();
        (ends, worker.texts(), requests)
    })
}

fn check(top: &str, body: &str) {
    let (stepped, plain) = (behaviour(top, body), behaviour(top, &format!("{KEEPS_ASYNC}{body}")));
    assert!(!stepped.1.is_empty(), "the case prints nothing: {body}");
    assert_eq!(stepped, plain, "{body}");
}

#[test]
fn a_generator_behaves_like_the_async_function() {
    for body in [
        "const r = await user.get('/a', { name: 'A' }); console.log(r.status, (await user.post('/b', { name: 'B', json: r.status })).ok);",
        "for (let n = 0; n < 3; n++) { console.log(n, (await user.get('/x')).status, user.iteration); }",
        "try { await user.get('/x', { name: 'X', source: '::1' }); } catch (error) { console.log('caught', error.name); } finally { console.log('end'); }",
        "console.log('before'); await user.get('/status/500'); console.log('after'); throw new TypeError('mine');",
        "console.log('returns'); await user.get('/a'); return new Promise((resolve) => Promise.resolve().then(() => { console.log('late'); resolve(); }));",
        "await user.get('/a'); console.log('returns'); return { then(resolve) { console.log('then'); resolve(); } };",
        "await user.get('/a'); console.log('returns'); return Promise.reject(new Error('rejected'));",
        "console.log(1); await user.get('http://127.0.0.1:1/', { name: 'Refused' }); console.log(2);",
        "console.log(1); await user.get('/x', { name: 'X', expect: { json: { '$.path': () => { throw new Error('mine'); } } } }); console.log(2);",
        "const headers: any = 7; try { console.log((await user.get('/x', { headers })).status); } catch (error) { console.log(error.message); }",
    ] {
        check("", body);
    }
}

#[test]
fn jobs_run_in_the_same_order() {
    let log = "const log = (what: unknown) => console.log(what);\n";
    for body in [
        "Promise.resolve().then(() => log('job')); log('sync'); const r = await user.get('/a'); log(r.status); \
         Promise.resolve().then(() => log('second job')); await user.get('/b'); log('end');",
        "const other = user.get('/other').then(() => { log('other'); return Promise.resolve().then(() => log('chained')); }); \
         await user.get('/a'); log('own'); await user.get('/b'); log('end');",
    ] {
        check(log, body);
    }
}

#[test]
fn other_functions_named_like_a_verb_are_awaited() {
    let wrapped = "const wrap = (user: any) => { const own = user.get; \
                   user.get = async (...all: unknown[]) => { console.log('wrapped', all.length); return (await own.apply(user, all)).status; }; };\n";
    check(wrapped, "if (user.iteration === 0) wrap(user); console.log(await user.get('/a'), await user.get('/b', { name: 'B' }));");
    check("const map = new Map([['/a', 1]]);\n", "console.log(await map.get('/a'), await map.get('/b')); await user.get('/a');");
    let failing = "const api = { get: async (path: string) => { if (path === '/bad') throw new Error('bad'); return path; } };\n";
    check(
        failing,
        "console.log(await api.get('/a')); try { await api.get('/bad'); } catch (error) { console.log(error.message); } await user.get('/');",
    );
}

#[test]
fn an_interrupted_iteration_ends_and_the_next_one_begins_anew() {
    let body = "console.log('begins', user.iteration); await user.get(user.iteration === 0 ? '/hang' : '/a'); console.log('ends', user.iteration);";
    run(&scenario_with("", body, ""), async |worker| {
        let mut user = worker.user(0);
        {
            let mut first = std::pin::pin!(user.iterate(worker.iteration(0, None)));
            assert!(futures_util::poll!(first.as_mut()).is_pending());
            worker.clock.sleep(20_000_000).await;
            assert!(futures_util::poll!(first.as_mut()).is_pending());
        }
        assert_eq!(user.iterate(worker.iteration(1, None)).await, crate::running::PASSED);
        assert_eq!(worker.texts(), ["begins 0", "begins 1", "ends 1"]);
    });
}

/// Otherwise the comparisons above would compare the async function with itself.
#[test]
fn only_the_function_that_awaits_requests_alone_is_a_generator() {
    let body = "await user.get('/a'); console.log(String(new Error().stack).includes('next (native)'));";
    assert_eq!(behaviour("", body).1, ["true"; 6]);
    assert_eq!(behaviour("", &format!("{KEEPS_ASYNC}{body}")).1, ["false"; 6]);
}
