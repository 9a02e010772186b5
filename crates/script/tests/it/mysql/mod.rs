//! `user.sql` against a MariaDB server.

mod logins;
mod server;
mod statements;
mod transactions;

use loadstone_engine::IterationEnd;
use loadstone_metrics::Snapshot;

use crate::running::TestWorker;
use crate::sql::run_at;
use server::MariaDb;

/// Runs a scenario of this body, in which `url(user, more)` names the server. `settings`: further options of the test.
fn run_with<T>(server: &MariaDb, settings: &str, body: &str, act: impl AsyncFnOnce(&TestWorker) -> T) -> T {
    let url = "const url = (user = \"loadstone\", more = \"\") => `mysql://${user}@${target.slice(7)}/shop${more}`;";
    run_at(server.port, url, settings, body, act)
}

/// One iteration of this body against the shared server.
fn once(body: &str) -> (IterationEnd, Vec<String>, Snapshot) {
    once_with(MariaDb::shared(), "", body)
}

fn once_with(server: &MariaDb, settings: &str, body: &str) -> (IterationEnd, Vec<String>, Snapshot) {
    run_with(server, settings, body, async |worker| {
        let end = worker.iterate(0).await;
        (end, worker.texts(), worker.drain())
    })
}
