//! Two hours on virtual time, from the recorder to the page. The conclusions of the live run in seconds equal those read back from minutes.

use loadstone_analysis::{LiveAnalysis, Summary};
use loadstone_metrics::{SeriesKind, Snapshot};
use loadstone_report::{CloseUp, ReportView, ViewBuilder};
use loadstone_run_directory::{Reader, RunEnd, Writer};

#[path = "../../examples/days/synthetic.rs"]
mod synthetic;

const SECONDS: u32 = 7_260;

/// The numbers that folding must not change.
fn numbers(summary: &Summary) -> Vec<String> {
    let rows = summary.requests.iter().chain(&summary.groups).chain(&summary.scenarios);
    let times = |row: &loadstone_analysis::RequestRow| {
        let stats = &row.response;
        let percentiles: Vec<Option<f64>> = stats.percentiles.iter().map(|percentile| percentile.value).collect();
        format!("{:?}: {} of {}, {:?}", row.key, row.failed, row.count, (stats.mean, stats.min, percentiles, stats.max))
    };
    let errors = summary.errors.iter().map(|error| format!("{:?} {}: {}", error.key, error.message, error.count));
    let flows = summary.flows.iter().map(|flow| format!("{}: {} {} {}", flow.name, flow.started, flow.finished, flow.open));
    rows.map(times).chain(errors).chain(flows).collect()
}

/// The content of a second before it was written.
struct Second {
    requests: f64,
    failed: f64,
    slowest: f64,
}

impl Second {
    fn of(snapshot: &Snapshot) -> Self {
        let requests = || snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Request);
        Self {
            requests: requests().map(|series| series.count).sum::<u64>() as f64,
            failed: requests().map(|series| series.failed).sum::<u64>() as f64,
            slowest: requests().map(|series| series.response.max()).max().unwrap_or(0) as f64 / 1e9,
        }
    }
}

fn of<'a>(close_up: &'a CloseUp, id: &str) -> &'a [Option<f64>] {
    let columns = close_up.panels.iter().flat_map(|panel| &panel.columns);
    &columns.into_iter().find(|column| column.id == id).unwrap_or_else(|| panic!("no column {id}")).values
}

#[test]
fn folding_changes_no_total() {
    let folder = tempfile::tempdir().unwrap();
    let plan = synthetic::plan(f64::from(SECONDS) / 3600.0, 1);
    let mut writer = Writer::create(folder.path(), synthetic::info(), &plan).unwrap();
    let mut live = LiveAnalysis::new(&plan, &writer.info().host);
    let mut view = ViewBuilder::new(writer.info(), &plan);
    let info = writer.info().clone();
    let mut run = synthetic::SyntheticRun::new(1, synthetic::FlowLoad { backlog: 5_000, within_s: 600, per_second: 5 });
    let mut seconds = Vec::new();
    for second in 0..SECONDS {
        let (readings, snapshot) = run.second(second);
        seconds.push(Second::of(&snapshot));
        live.push(&snapshot);
        view.push(&snapshot);
        writer.signals(&readings).unwrap();
        writer.snapshot(&snapshot).unwrap();
    }
    let directory = writer.finish(&RunEnd::Completed).unwrap();
    let truth = live.summary(&info);

    let run = Reader::open(&directory).unwrap().run().unwrap();
    assert!(run.slices.len() < SECONDS as usize / 4, "{} slices are held", run.slices.len());
    let summary = loadstone_analysis::conclude(&run);
    assert_eq!(numbers(&summary), numbers(&truth));
    assert_eq!(summary.totals.request_rate.round(), 50.0);
    assert_eq!(summary.totals.duration_seconds, f64::from(SECONDS));
    let checks = &summary.verdict.validity.checks;
    assert!(
        checks.iter().any(|check| check.evidence == format!("all {} seconds were recorded", loadstone_units::count(u64::from(SECONDS)))),
        "{checks:?}"
    );
    let mut view = ReportView::build(&run, &summary);
    let close_ups = std::mem::take(&mut view.timeline.close_ups);
    assert_eq!(
        close_ups.iter().map(|close_up| (close_up.from_seconds, of(close_up, "rate/requests").len())).collect::<Vec<_>>(),
        [(0, 3600), (5400, SECONDS as usize - 5400)]
    );
    for close_up in &close_ups {
        for (index, second) in seconds[close_up.from_seconds as usize..].iter().take(of(close_up, "rate/requests").len()).enumerate() {
            let (requests, failures) = (of(close_up, "rate/requests")[index], of(close_up, "rate/failures")[index]);
            assert_eq!((requests, failures), (Some(second.requests), Some(second.failed)), "{index}");
            let (most, truth) = (of(close_up, "response/max")[index].unwrap(), second.slowest);
            assert!((most / truth - 1.0).abs() < 0.01, "{index}: {most}, {truth}");
        }
    }
    view.timeline.close_ups = close_ups;
    let page = loadstone_report::html(&view);
    assert!(page.len() < 6_000_000, "the page has {} bytes", page.len());
}
