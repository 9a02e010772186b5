//! The HTML report: one file that contains its data.

use loadstone_report::{ReportView, html};

use crate::fixtures;

#[test]
fn the_data_can_be_read_back_from_the_page() {
    let mut summary = fixtures::failed_summary();
    summary.errors[0].message = "</script><script>alert(1)</script><!-- \u{2028}".to_owned();
    let page = html(&ReportView::build(&fixtures::run(5), &summary));
    let (_, rest) = page.split_once("<script id=\"loadstone-view\" type=\"application/json\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(value["version"], 1);
    assert_eq!(value["summary"]["errors"][0]["message"].as_str(), Some(summary.errors[0].message.as_str()));
    assert!(!page.contains("alert(1)</script>"));
}

#[test]
fn an_hour_with_fifty_requests_stays_under_five_megabytes() {
    let mut summary = fixtures::summary();
    let response = fixtures::even(1000, 1, 5000);
    summary.requests =
        (0..50).map(|n| fixtures::row(loadstone_metrics::SeriesKind::Request, "s", &format!("request {n}"), 1, &response)).collect();
    let mut run = fixtures::run(3600);
    for slice in &mut run.slices {
        slice.series[0].response = fixtures::even(300, 1, 5000);
        let extra = (0..50).map(|n| loadstone_metrics::SeriesSlice {
            count: 10,
            response: fixtures::even(10, 1, 5000),
            ..loadstone_metrics::SeriesSlice::new(fixtures::key(loadstone_metrics::SeriesKind::Request, "s", &format!("request {n}")))
        });
        slice.series.extend(extra.take(5));
    }
    for n in 0..60 {
        let readings: Vec<(u64, f64)> = (0..3600).map(|second| (second * 1000, (second * n) as f64 / 7.0)).collect();
        run.signals.push(fixtures::signal(&format!("postgres/m{n}"), "postgres", loadstone_metrics::SignalKind::Gauge, "1", &readings));
    }
    let bytes = html(&ReportView::build(&run, &summary)).len();
    assert!(bytes < 5_000_000, "{bytes}");
}

#[test]
fn a_seed_that_exceeds_javascript_numbers_is_a_string() {
    let mut run = fixtures::run(1);
    let seed = |run: &loadstone_run_directory::Run| {
        serde_json::to_value(ReportView::build(run, &fixtures::summary())).unwrap()["test"]["seed"].clone()
    };
    assert_eq!(seed(&run), 1);
    run.plan.options.seed = u64::MAX;
    assert_eq!(seed(&run), "18446744073709551615");
}
