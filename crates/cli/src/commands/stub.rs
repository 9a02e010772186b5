//! `loadstone stub`: a simulated HTTP server, from flags or a file. It reports calls while it serves, and a summary at Ctrl-C.

mod description;
mod numbers;

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::Context;
use loadstone_stub::{SecondCounts, now_ns};

use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};
use crate::interrupt;
use numbers::{add, live, summary};

pub(crate) use description::StubArgs;

/// Without a terminal, one line covers this many seconds.
const LINE_SECONDS: usize = 10;

impl StubArgs {
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        let spec = self.spec()?;
        let server = spec.start().map_err(|problem| UsageError(problem.to_string()))?;
        let (sender, interrupted) = sync_channel(1);
        let watch = std::thread::Builder::new().name("interrupt".to_owned());
        watch.spawn(move || drop(sender.send(interrupt::wait()))).context("cannot start the thread that waits for Ctrl-C")?;
        let mut err = std::io::stderr();
        let terminal = err.is_terminal();
        // This output is optional: a closed standard error must not stop the stub.
        let _ = writeln!(err, "Stub listens on {}. Ctrl-C ends it.", server.url(""));
        server.count_seconds(now_ns());
        let mut pending = Vec::new();
        let mut total = SecondCounts::default();
        loop {
            match interrupted.recv_timeout(Duration::from_secs(1)) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(watched) => {
                    watched?;
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            pending.extend(server.seconds());
            if terminal || pending.len() >= LINE_SECONDS {
                for second in &pending {
                    add(&mut total, second);
                }
                if let Some(line) = live(&std::mem::take(&mut pending), &total) {
                    let _ = if terminal { write!(err, "\r\x1b[K{line}") } else { writeln!(err, "{line}") };
                    let _ = err.flush();
                }
            }
        }
        if terminal {
            let _ = write!(err, "\r\x1b[K");
        }
        let recording = server.recording();
        let mut out = std::io::stdout();
        if self.json {
            serde_json::to_writer_pretty(&mut out, &recording)?;
            writeln!(out)?;
        } else {
            out.write_all(summary(&recording, now_ns().saturating_sub(recording.started_ns)).as_bytes())?;
        }
        Ok(Exit::Passed)
    }
}
