//! `loadstone ui`: the tests of a folder with their forms, the queue of runs, and finished runs.
//!
//! Read `routes` first: the requests that the page can send (their client is web/src/feed/history.ts). [`catalogue::TestCatalogue`] has the tests.
//! [`queue::RunQueue`] runs them one at a time as processes of this binary (`run_process`). [`archive::RunArchive`] has the finished runs. `relay` forwards
//! to the live page of a running test, so that one address and one token are enough.

mod answers;
mod archive;
mod catalogue;
mod queue;
mod relay;
mod routes;
mod run_process;
mod test_to_start;
#[cfg(test)]
mod typescript;
mod work;

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use loadstone_report::access::{Loopback, Token};

use crate::exit::{Exit, UsageError};
use crate::flags::PermissionArgs;
use crate::interrupt::StopSignals;
use answers::AnswerArchive;
use archive::RunArchive;
pub(crate) use catalogue::{CatalogueError, TestCatalogue};
use queue::RunQueue;
use run_process::LaunchOptions;
pub(crate) use run_process::{Announced, failure_reason, hear, listen};
pub(crate) use work::OrderedWork;

/// Serves until Ctrl-C. It then stops a run in progress as Ctrl-C in a terminal would, and waits for it.
pub(crate) fn serve(folder: &Path, runs: &Path, listen: SocketAddr, permissions: &PermissionArgs) -> anyhow::Result<Exit> {
    if !folder.is_dir() {
        return Err(
            UsageError(format!("{}: there is no such folder; give the one that holds the tests (*.load.ts)", folder.display())).into()
        );
    }
    let (listener, token) = (bind(listen)?, Token::random()?);
    let address = listener.local_addr()?;
    let queue =
        Arc::new(RunQueue::new(LaunchOptions { binary: own_binary()?, runs: runs.to_owned(), permissions: permissions.arguments() }));
    let worker = {
        let queue = Arc::clone(&queue);
        std::thread::Builder::new().name("queue".to_owned()).spawn(move || queue.work())?
    };
    let shared = routes::UiState {
        token: token.clone(),
        loopback: Loopback(address.ip().is_loopback()),
        catalogue: Arc::new(TestCatalogue::new(folder, runs, permissions.permissions())),
        archive: Arc::new(RunArchive::new(runs)),
        answers: Arc::new(AnswerArchive::new(runs)),
        queue: Arc::clone(&queue),
    };
    let mut stderr = std::io::stderr();
    writeln!(stderr, "Tests in {}, runs in {}.", folder.display(), runs.display())?;
    writeln!(stderr, "Open http://{address}/?token={} (read-only without the token). Ctrl-C ends it.", token.as_str())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut ends = StopSignals::listen()?;
        tokio::select! {
            served = routes::serve(listener, shared) => served.context("cannot serve the page any longer")?,
            _ = ends.next() => {}
        }
        if queue.close() {
            writeln!(stderr, "Stopping the run in progress. Press Ctrl-C again to stop it at once.")?;
        }
        let mut ended = tokio::task::spawn_blocking(move || worker.join());
        loop {
            tokio::select! {
                _ = &mut ended => return Ok(Exit::Passed),
                _ = ends.next() => { queue.interrupt(); }
            }
        }
    })
}

fn bind(listen: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(listen).map_err(|problem| {
        let advice = match problem.kind() {
            std::io::ErrorKind::AddrInUse => {
                "is another `loadstone ui` running? Give it another port, such as --listen 127.0.0.1:0 for any free one"
            }
            std::io::ErrorKind::AddrNotAvailable => "give an address of this machine with --listen",
            _ => "give another address with --listen",
        };
        UsageError(format!("cannot listen on {listen}: {problem}; {advice}"))
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

pub(crate) fn own_binary() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find this program's own file, which it needs to start runs")
}
