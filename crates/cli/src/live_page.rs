//! The page that shows a run while it goes on, and the commands that come back from it.

use std::io::Write;

use analysis::{LiveAnalysis, Summary};
use engine::{LoadControl, StopReason};
use metrics::{Mark, MarkKind, Snapshot};
use plan::TestPlan;

use report::{LiveCommand, LiveServer, ReportView, RunState, Steering, ViewBuilder};
use run_directory::{RunInfo, SignalSeries};

/// What stands before the page's address on standard error. `loadstone ui` finds the page of a run by it.
pub(crate) const ANNOUNCED: &str = "Live page: ";

/// The live page of one run.
pub(crate) struct LivePage {
    server: LiveServer,
    builder: ViewBuilder,
    info: RunInfo,
    steering: Steering,
}

impl LivePage {
    pub(crate) fn start(info: &RunInfo, plan: &TestPlan) -> anyhow::Result<Self> {
        let server = LiveServer::start(LiveServer::LOOPBACK)?;
        let mut stderr = std::io::stderr();
        // The address is a convenience; a closed standard error is no reason not to run.
        let _ = writeln!(stderr, "{ANNOUNCED}{}\n", server.url());
        Ok(Self { server, builder: ViewBuilder::new(info, plan), info: info.clone(), steering: Steering::default() })
    }

    /// Takes commands, which become marks of the slice, and shows the slice.
    pub(crate) fn slice(&mut self, snapshot: &mut Snapshot, live: &LiveAnalysis) -> Vec<LoadControl> {
        let mut controls = Vec::new();
        while let Some(command) = self.server.command() {
            let (control, text) = self.obey(command);
            snapshot.marks.push(Mark { at: snapshot.end, kind: MarkKind::Adjusted, text });
            controls.push(control);
        }
        self.builder.push(snapshot);
        if self.server.wants_view() {
            self.server.publish(self.builder.view(&live.summary(&self.info), RunState::Running, ""), self.steering);
        }
        controls
    }

    /// Takes readings of the system's own signals; they are shown with the next slice.
    pub(crate) fn signals(&mut self, series: &[SignalSeries]) {
        for SignalSeries { signal, points } in series {
            points.iter().for_each(|point| self.builder.push_signal(signal, point));
        }
    }

    fn obey(&mut self, command: LiveCommand) -> (LoadControl, String) {
        let text = match command {
            LiveCommand::Stop => return (LoadControl::Stop(StopReason::User), "stopped from the page".to_owned()),
            LiveCommand::Pause => {
                self.steering.paused = true;
                "paused from the page".to_owned()
            }
            LiveCommand::Resume => {
                self.steering.paused = false;
                "resumed from the page".to_owned()
            }
            LiveCommand::Scale(factor) => {
                self.steering.scale = factor;
                let later = if self.steering.paused { ", once it is resumed" } else { "" };
                format!("load scaled to {factor} × the plan from the page{later}")
            }
        };
        let Steering { paused, scale } = self.steering;
        (LoadControl::Scale(if paused { 0.0 } else { scale }), text)
    }

    /// Gives open pages the finished view.
    pub(crate) fn finish(self, run: &run_directory::Run, summary: &Summary) {
        self.server.finish(ReportView::build(run, summary));
    }
}
