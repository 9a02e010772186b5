//! The progress of a run on standard error.

use std::io::{IsTerminal, Stderr};

use loadstone_report::terminal::{ColorChoice, Progress, ProgressMode, Screen, Style, provisional_lines};
use loadstone_session::{RunEvent, RunRequests, Subscriber, SubscriberError};

/// A run does not depend on its terminal: drawing errors are ignored.
pub(crate) struct TerminalProgress {
    screen: Screen<Stderr>,
    quiet: bool,
    /// Since the start of the run.
    progress: Option<Progress>,
}

impl TerminalProgress {
    /// `quiet`: messages only.
    pub(crate) fn new(quiet: bool, color: ColorChoice) -> Self {
        let stderr = std::io::stderr();
        let is_terminal = stderr.is_terminal();
        let pace = if quiet { ProgressMode::Quiet } else { ProgressMode::detect(is_terminal) };
        let style = Style::detect(color, is_terminal);
        let screen = if is_terminal { Screen::on_terminal(stderr, pace, style) } else { Screen::new(stderr, pace, style) };
        Self { screen, quiet, progress: None }
    }
}

impl Subscriber for TerminalProgress {
    fn take(&mut self, event: &RunEvent<'_>, _requests: &mut RunRequests) -> Result<(), SubscriberError> {
        match event {
            RunEvent::Started { plan, .. } => self.progress = Some(Progress::new(plan)),
            RunEvent::ConsoleLine(line) => {
                let _ = self.screen.message(line);
            }
            RunEvent::Provisional { found, before } if !self.quiet => {
                for line in provisional_lines(found, *before) {
                    let _ = self.screen.message(&line);
                }
            }
            RunEvent::Snapshot { snapshot, live, .. } => {
                if let Some(progress) = &mut self.progress {
                    progress.push(snapshot);
                    progress.judge(&live.validity(), &live.status().thresholds);
                    let _ = self.screen.draw(progress, snapshot.end);
                }
            }
            RunEvent::Finished { .. } => {
                let _ = self.screen.finish();
            }
            _ => {}
        }
        Ok(())
    }
}
