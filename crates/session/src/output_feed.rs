//! Sends the run's numbers to external systems every second, and reports losses.

use std::net::SocketAddr;

use loadstone_metrics::{MarkKind, Signal, SignalPoint};
use loadstone_outputs::{Destination, OutputDelivery, Outputs, RunLabels};
use loadstone_plan::TestPlan;
use loadstone_run_directory::RunInfo;
use loadstone_units::text::without_os_numbers;

use crate::event::{RunEvent, RunRequests, Subscriber, SubscriberError};

/// Outputs of a run in addition to its directory.
#[derive(Debug, Clone, Default)]
pub struct OutputSettings {
    pub destinations: Vec<Destination>,
    /// Headers of every HTTP request.
    pub headers: Vec<(String, String)>,
    /// Address to serve `/metrics` on for scraping.
    pub listen: Option<SocketAddr>,
}

/// All outputs of one run. An output that cannot be started ([`loadstone_outputs::OutputError`]) prevents the run from starting. A slow or unreachable
/// output does not affect the run.
pub struct OutputFeed<'a> {
    settings: OutputSettings,
    /// Receives the address of `/metrics`.
    announce: &'a dyn Fn(SocketAddr),
    labels: Option<RunLabels>,
    /// From the start to the end of the run.
    outputs: Option<Outputs>,
    /// The last reading of each signal in this second.
    readings: Vec<(Signal, SignalPoint)>,
}

impl<'a> OutputFeed<'a> {
    /// `announce` receives the address of `/metrics`, if it is served.
    pub fn new(settings: OutputSettings, announce: &'a dyn Fn(SocketAddr)) -> Self {
        Self { settings, announce, labels: None, outputs: None, readings: Vec::new() }
    }

    fn start(&mut self, info: &RunInfo, plan: &TestPlan) -> Result<(), SubscriberError> {
        let OutputSettings { destinations, headers, listen } = &self.settings;
        if destinations.is_empty() && listen.is_none() {
            return Ok(());
        }
        let run = RunLabels::new(&plan.name, &info.id, unix_ns(&info.started));
        let outputs = Outputs::start(destinations, headers, *listen, plan, &run)?;
        outputs.scrape_address().into_iter().for_each(self.announce);
        self.labels = Some(run);
        self.outputs = Some(outputs);
        Ok(())
    }
}

impl Subscriber for OutputFeed<'_> {
    fn take(&mut self, event: &RunEvent<'_>, requests: &mut RunRequests) -> Result<(), SubscriberError> {
        if let RunEvent::Started { info, plan, .. } = event {
            return self.start(info, plan);
        }
        let Some(outputs) = &mut self.outputs else { return Ok(()) };
        match event {
            RunEvent::TimeBegins { info, .. } => self.labels.iter().for_each(|labels| labels.begin(unix_ns(&info.started))),
            RunEvent::SnapshotDue { .. } => {
                outputs.news().into_iter().for_each(|text| requests.mark(MarkKind::Warning, without_os_numbers(&text).into_owned()))
            }
            RunEvent::Signals(series) => {
                let last = series.iter().filter_map(|series| Some((series.signal.clone(), *series.points.last()?)));
                self.readings.extend(last);
            }
            RunEvent::Snapshot { snapshot, .. } => {
                let readings = std::mem::take(&mut self.readings);
                outputs.push(snapshot, readings.iter().map(|(signal, point)| (signal, *point)));
            }
            RunEvent::Closing => {
                let deliveries = self.outputs.take().map(Outputs::finish).unwrap_or_default();
                deliveries.iter().filter_map(loss_sentence).for_each(|loss| requests.say(format!("warning: {loss}")));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Nanoseconds since 1970.
fn unix_ns(started: &str) -> u64 {
    let started = started.parse::<jiff::Timestamp>().map_or(0, |started| started.as_nanosecond());
    u64::try_from(started).unwrap_or_default()
}

/// A sentence about lost seconds. `None` if nothing was lost.
fn loss_sentence(delivery: &OutputDelivery) -> Option<String> {
    let OutputDelivery { destination, delivered, lost, problem } = delivery;
    let all = delivered + lost;
    (*lost > 0).then(|| format!("{destination} received {delivered} of the run's {all} seconds: {}", without_os_numbers(problem)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_reported_and_success_is_not() {
        let delivery = |lost| OutputDelivery {
            destination: "X".to_owned(),
            delivered: 58,
            lost,
            problem: "Connection refused (os error 111)".to_owned(),
        };
        assert_eq!(loss_sentence(&delivery(0)), None);
        assert_eq!(loss_sentence(&delivery(2)).as_deref(), Some("X received 58 of the run's 60 seconds: connection refused"));
    }
}
