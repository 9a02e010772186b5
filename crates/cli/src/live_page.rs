//! The page that shows a run in progress, and the commands that it sends back.

use std::io::Write;
use std::path::{Path, PathBuf};

use loadstone_analysis::{Provisional, Summary};
use loadstone_metrics::MarkKind;
use loadstone_plan::TestPlan;
use loadstone_report::{LiveCommand, LiveServer, ReportView, Steering, ViewBuilder};
use loadstone_run_directory::{Run, RunInfo, SignalSeries};
use loadstone_session::{LoadControl, LoadHandle, RunEvent, RunRequests, StopReason, Subscriber, SubscriberError};

/// The live page of one run; it is served from the start of the run.
pub(crate) struct LivePage {
    /// File for its address, in addition to standard error.
    address_file: Option<PathBuf>,
    served: Option<ServedPage>,
}

struct ServedPage {
    server: LiveServer,
    builder: ViewBuilder,
    info: RunInfo,
    controller: LoadHandle,
    steering: Steering,
    found: Option<Provisional>,
}

impl LivePage {
    pub(crate) fn new(address_file: Option<PathBuf>) -> Self {
        Self { address_file, served: None }
    }

    /// Sends the finished view to open pages.
    pub(crate) fn finish(self, run: &Run, summary: &Summary) {
        if let Some(served) = self.served {
            served.server.finish(ReportView::build(run, summary));
        }
    }
}

impl Subscriber for LivePage {
    fn take(&mut self, event: &RunEvent<'_>, requests: &mut RunRequests) -> Result<(), SubscriberError> {
        if let RunEvent::Started { info, plan, controller } = event {
            self.served = Some(ServedPage::start(info, plan, controller, self.address_file.as_deref())?);
        }
        let Some(page) = &mut self.served else { return Ok(()) };
        match event {
            RunEvent::SnapshotDue { .. } => page.obey(requests),
            // Displayed with the next second.
            RunEvent::Signals(series) => {
                for SignalSeries { signal, points } in *series {
                    points.iter().for_each(|point| page.builder.push_signal(signal, point));
                }
            }
            RunEvent::Provisional { found, .. } => page.found = Some((*found).clone()),
            RunEvent::Snapshot { snapshot, live, .. } => {
                page.builder.push(snapshot);
                if page.server.wants_view() {
                    page.server.publish(page.builder.provisional_view(live.summary(&page.info), page.found.as_ref()), page.steering);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl ServedPage {
    fn start(info: &RunInfo, plan: &TestPlan, controller: &LoadHandle, address_file: Option<&Path>) -> Result<Self, SubscriberError> {
        let server = LiveServer::start(LiveServer::LOOPBACK)?;
        if let Some(file) = address_file {
            let cannot = |error| format!("--live-address: cannot write {}: {error}", file.display());
            std::fs::write(file, format!("{}\n", server.url())).map_err(cannot)?;
        }
        // The address is optional output: a closed standard error must not prevent the run.
        let _ = writeln!(std::io::stderr(), "Live page: {}\n", server.url());
        let builder = ViewBuilder::new(info, plan);
        Ok(Self { server, builder, info: info.clone(), controller: controller.clone(), steering: Steering::default(), found: None })
    }

    /// Carries out the page's commands since the last second, and adds them as marks to this second.
    fn obey(&mut self, requests: &mut RunRequests) {
        while let Some(command) = self.server.command() {
            let (control, text) = self.control(command);
            requests.mark(MarkKind::Adjusted, text);
            self.controller.send(control);
        }
    }

    fn control(&mut self, command: LiveCommand) -> (LoadControl, String) {
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
}
