//! The run's numbers on their way to where teams already look, and what is told about that.

use std::io::Write;

use metrics::{Mark, MarkKind, Snapshot};
use outputs::{Destination, OutputDelivery, Outputs, RunLabels};
use plan::TestPlan;
use run_directory::{RunInfo, SignalSeries};

use crate::args::OutputArgs;
use crate::exit::UsageError;

/// All outputs of one run.
pub(crate) struct Outgoing {
    outputs: Outputs,
}

impl Outgoing {
    /// The plan as it may be shown. `None` when none is asked for. A variable of the environment that is empty asks for nothing.
    ///
    /// # Errors
    /// When an output cannot be started: a kind that is not known, an address that is taken, a header that cannot be sent.
    pub(crate) fn start(args: &OutputArgs, info: &RunInfo, plan: &TestPlan) -> Result<Option<Self>, UsageError> {
        let to = args.out.iter().filter(|text| !text.is_empty()).map(|text| text.parse::<Destination>());
        let to = to.collect::<Result<Vec<_>, _>>().map_err(|problem| UsageError(format!("--out: {problem}")))?;
        if to.is_empty() && args.metrics_listen.is_none() {
            return Ok(None);
        }
        let lines = args.out_headers.iter().filter(|line| !line.trim().is_empty());
        let headers = lines.map(|line| header(line)).collect::<Result<Vec<_>, _>>()?;
        let started = info.started.parse::<jiff::Timestamp>().map_or(0, |started| started.as_nanosecond());
        let run = RunLabels { test: plan.name.clone(), run: info.id.clone(), started_unix_ns: u64::try_from(started).unwrap_or_default() };
        let outputs = Outputs::start(&to, &headers, args.metrics_listen, plan, &run).map_err(|problem| UsageError(problem.to_string()))?;
        if let Some(address) = outputs.scrape_address() {
            // A convenience; a closed standard error is no reason not to run.
            let _ = writeln!(std::io::stderr(), "Metrics: http://{address}/metrics\n");
        }
        Ok(Some(Self { outputs }))
    }

    /// Hands on a second, masked, and what was read of the system meanwhile. An output that begins to lose becomes a mark of it.
    pub(crate) fn second(&mut self, second: &mut Snapshot, signals: &[SignalSeries]) {
        let news = self.outputs.news();
        second.marks.extend(news.into_iter().map(|text| Mark { at: second.end, kind: MarkKind::Warning, text }));
        let readings = signals.iter().filter_map(|series| series.points.last().map(|point| (&series.signal, *point)));
        self.outputs.push(second, readings);
    }

    /// Lets what is on its way arrive; what was lost is said in sentences.
    pub(crate) fn finish(self) -> Vec<String> {
        self.outputs.finish().iter().filter_map(told).collect()
    }
}

fn header(line: &str) -> Result<(String, String), UsageError> {
    // The value may be a secret: it is not shown.
    let wrong = || UsageError("--out-header: write it as \"NAME: VALUE\"".to_owned());
    let (name, value) = line.split_once(':').ok_or_else(wrong)?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn told(delivery: &OutputDelivery) -> Option<String> {
    let OutputDelivery { destination, delivered, lost, problem } = delivery;
    let all = delivered + lost;
    (*lost > 0).then(|| format!("{destination} got {delivered} of the run's {all} seconds: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_told_and_success_is_not() {
        let delivery = |lost| OutputDelivery { destination: "X".to_owned(), delivered: 58, lost, problem: "connection refused".to_owned() };
        assert_eq!(told(&delivery(0)), None);
        assert_eq!(told(&delivery(2)).as_deref(), Some("X got 58 of the run's 60 seconds: connection refused"));
    }

    #[test]
    fn a_header_without_a_colon_is_refused_without_showing_it() {
        assert_eq!(header("Authorization: Bearer a:b").unwrap(), ("Authorization".to_owned(), "Bearer a:b".to_owned()));
        assert!(!header("s3cret").unwrap_err().to_string().contains("s3cret"));
    }
}
