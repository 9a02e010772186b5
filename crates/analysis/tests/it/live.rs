//! The live view agrees with the final one.

use analysis::{Grade, LiveAnalysis, conclude};
use metrics::{Outcome, Snapshot};

use crate::made::{self, MS, Slice};

#[test]
fn after_the_last_slice_it_shows_the_totals_of_the_summary() {
    let slices: Vec<Snapshot> = (0..12)
        .map(|second| {
            let time = if second < 7 { 900 * MS } else { 10 * MS };
            Slice::new(second).arrivals(10).requests("A", 9, time).request("A", 0, time, Outcome::Reset).done()
        })
        .collect();
    let plan = made::plan(made::open(10.0, 12));
    let run = made::run_of(plan.clone(), slices);
    let mut live = LiveAnalysis::new(&plan, &run.info.host);
    for slice in &run.slices {
        live.push(slice);
    }
    let status = live.status();
    let summary = conclude(&run);
    assert_eq!(status.totals, summary.totals);
    assert_eq!(status.whole.p50, summary.response.at(0.5));
    assert_eq!((status.rate_asked, status.rate_achieved, status.request_rate), (Some(10.0), Some(10.0), 10.0));
    // The last five seconds know nothing of the slow ones before.
    assert!(status.recent.p99.unwrap() < 0.011);
    assert_eq!((status.failure_share, status.grade, status.seconds), (0.1, Grade::Valid, 12.0));
}
