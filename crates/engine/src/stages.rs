//! The stages of a profile as marks on the time axis.

use loadstone_metrics::Nanos;
use loadstone_plan::{LoadProfile, OpenStage};

/// Where each stage but the first begins, and a description of its load.
pub(crate) fn boundaries(profile: &LoadProfile) -> Vec<(Nanos, String)> {
    let stages: Vec<(u64, String)> = match profile {
        LoadProfile::Open { stages } => stages
            .iter()
            .map(|stage| match stage {
                OpenStage::Rate { from, to, duration_ns, .. } => (*duration_ns, span(*from, *to, "/s")),
                OpenStage::Burst { count } => (0, format!("{count} at once")),
                OpenStage::Replay(replay) => (replay.duration_ns, format!("replay of {}", replay.file)),
            })
            .collect(),
        LoadProfile::Closed { stages } => {
            stages.iter().map(|stage| (stage.duration_ns, span(stage.from as f64, stage.to as f64, " users"))).collect()
        }
        LoadProfile::Iterations { .. } | LoadProfile::Recorded { .. } => Vec::new(),
    };
    let mut begin = 0;
    let mut marks = Vec::new();
    for (index, (duration_ns, text)) in stages.into_iter().enumerate() {
        if index > 0 {
            marks.push((begin, text));
        }
        begin += duration_ns;
    }
    marks
}

fn span(from: f64, to: f64, unit: &str) -> String {
    let number = |value: f64| format!("{}", (value * 100.0).round() / 100.0);
    if from == to { format!("{}{unit}", number(to)) } else { format!("{} → {}{unit}", number(from), number(to)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_plan::{ClosedStage, Timing};

    #[test]
    fn every_stage_but_the_first_is_marked_at_its_beginning() {
        let rate = |from, to, duration_ns| OpenStage::Rate { from, to, duration_ns, timing: Timing::Even };
        let open = LoadProfile::Open { stages: vec![rate(0.0, 10.5, 30), rate(10.5, 10.5, 60), OpenStage::Burst { count: 3 }] };
        assert_eq!(boundaries(&open), vec![(30, "10.5/s".to_owned()), (90, "3 at once".to_owned())]);
        let closed = LoadProfile::Closed {
            stages: vec![ClosedStage { from: 5, to: 5, duration_ns: 10 }, ClosedStage { from: 5, to: 50, duration_ns: 10 }],
        };
        assert_eq!(boundaries(&closed), vec![(10, "5 → 50 users".to_owned())]);
    }
}
