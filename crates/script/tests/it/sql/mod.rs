//! `user.sql` against a PostgreSQL server.

mod endings;
mod logins;
mod server;
mod statements;
mod transactions;

use std::time::Duration;

use loadstone_engine::IterationEnd;
use loadstone_metrics::{Outcome, SeriesKind, SeriesSlice, Snapshot};

use crate::running::TestWorker;
use server::Postgres;

pub(crate) const PASSED: IterationEnd = IterationEnd::Ended(Outcome::Passed);
pub(crate) const FAILED: IterationEnd = IterationEnd::Ended(Outcome::Step);

/// Runs a scenario of this body, in which `url(user, more)` names the server and `table` a table of this test. `settings`: further options
/// of the test.
fn run_with<T>(server: &Postgres, settings: &str, body: &str, act: impl AsyncFnOnce(&TestWorker) -> T) -> T {
    let url = "const url = (user = \"loadstone\", more = \"\") => `postgres://${user}@${target.slice(7)}/postgres${more}`;";
    run_at(server.port, url, settings, body, act)
}

/// Runs a scenario of this body against a server on this port. `url`: the function that names it, with `target` for `http://127.0.0.1:PORT`.
pub(crate) fn run_at<T>(port: u16, url: &str, settings: &str, body: &str, act: impl AsyncFnOnce(&TestWorker) -> T) -> T {
    let text = format!(
        "import {{ test, scenario, once, param }} from \"loadstone\";\nconst target = param.url(\"target\");\n{url}\n\
         const s = scenario(\"S\", async (user) => {{\n{body}\n}});\n\
         export default test({{ target, load: s.run(once()), options: {{ requestTimeout: \"15s\"{settings} }} }});\n"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let worker = TestWorker::open(&text, &format!("http://127.0.0.1:{port}"), &[]);
        tokio::time::timeout(Duration::from_secs(60), worker.with(act(&worker))).await.expect("the scenario should end")
    })
}

/// One iteration of this body against the shared server.
fn once(body: &str) -> (IterationEnd, Vec<String>, Snapshot) {
    once_with(Postgres::shared(), "", body)
}

fn once_with(server: &Postgres, settings: &str, body: &str) -> (IterationEnd, Vec<String>, Snapshot) {
    run_with(server, settings, body, async |worker| {
        let end = worker.iterate(0).await;
        (end, worker.texts(), worker.drain())
    })
}

pub(crate) fn request<'s>(snapshot: &'s Snapshot, name: &str) -> &'s SeriesSlice {
    let found = snapshot.series.iter().find(|series| series.key.kind == SeriesKind::Request && &*series.key.name == name);
    found.unwrap_or_else(|| {
        let names: Vec<&str> = snapshot.series.iter().map(|series| &*series.key.name).collect();
        panic!("no request {name} among {names:?}; errors: {:?}", snapshot.errors)
    })
}

/// How requests of this name ended.
pub(crate) fn outcomes<'s>(snapshot: &'s Snapshot, name: &str) -> &'s [(Outcome, u64)] {
    request(snapshot, name).outcomes.as_slice()
}
