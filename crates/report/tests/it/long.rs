//! Two hours on virtual time, from the recorder to the page: what was concluded while seconds were seconds is what is read back of minutes.

use analysis::{LiveAnalysis, Summary};
use report::{ReportView, ViewBuilder};
use run_directory::{Reader, RunEnd, Writer};

#[path = "../../examples/days/made.rs"]
mod made;

const SECONDS: u32 = 7_260;

/// What no folding may touch.
fn numbers(summary: &Summary) -> Vec<String> {
    let rows = summary.requests.iter().chain(&summary.groups).chain(&summary.scenarios);
    let times = |row: &analysis::RequestRow| {
        let stats = &row.response;
        let percentiles: Vec<Option<f64>> = stats.percentiles.iter().map(|percentile| percentile.value).collect();
        format!("{:?}: {} of {}, {:?}", row.key, row.failed, row.count, (stats.mean, stats.min, percentiles, stats.max))
    };
    let errors = summary.errors.iter().map(|error| format!("{:?} {}: {}", error.key, error.message, error.count));
    let flows = summary.flows.iter().map(|flow| format!("{}: {} {} {}", flow.name, flow.started, flow.finished, flow.open));
    rows.map(times).chain(errors).chain(flows).collect()
}

#[test]
fn folding_touches_no_number_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let plan = made::plan(f64::from(SECONDS) / 3600.0, 1);
    let mut writer = Writer::create(folder.path(), made::info(), &plan).unwrap();
    let mut live = LiveAnalysis::new(&plan, &writer.info().host);
    let mut view = ViewBuilder::new(writer.info(), &plan);
    let info = writer.info().clone();
    let mut run = made::MadeRun::new(1, made::FlowLoad { backlog: 5_000, within_s: 600, per_second: 5 });
    for second in 0..SECONDS {
        let (readings, snapshot) = run.second(second);
        live.push(&snapshot);
        view.push(&snapshot);
        writer.signals(&readings).unwrap();
        writer.snapshot(&snapshot).unwrap();
    }
    let directory = writer.finish(&RunEnd::Completed).unwrap();
    let truth = live.summary(&info);

    let run = Reader::open(&directory).unwrap().run().unwrap();
    assert!(run.slices.len() < 1_000, "{} slices are held", run.slices.len());
    let summary = analysis::conclude(&run);
    assert_eq!(numbers(&summary), numbers(&truth));
    assert_eq!(summary.totals.request_rate.round(), 50.0);
    assert_eq!(summary.totals.duration_seconds, f64::from(SECONDS));
    let checks = &summary.verdict.validity.checks;
    assert!(
        checks.iter().any(|check| check.evidence == format!("all {} seconds were recorded", units::count(u64::from(SECONDS)))),
        "{checks:?}"
    );
    let page = report::html(&ReportView::build(&run, &summary));
    assert!(page.len() < 6_000_000, "the page has {} bytes", page.len());
}
