//! Was anything measured at all? A broken script passes every threshold whose metric it never records.

use super::check::{CheckInfo, CheckInput, RunStage};
use crate::summary::outcome;
use crate::{Grade, ValidityCheck};
use loadstone_metrics::{Outcome, SeriesKind};

const INFO: CheckInfo = CheckInfo {
    id: "requests",
    title: "Something was measured",
    limits: "invalid when no request ended, or only requests of the set-up; a test without requests is judged by its groups, checks and \
     journeys",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let ended = |kind| input.tally.of_kind(kind).map(|series| series.merged.count).sum::<u64>();
    let requests = ended(SeriesKind::Request);
    if input.stage != RunStage::Running && only_set_ups_started(input) {
        let evidence = "only the set-up ran: the load did not begin".to_owned();
        return INFO.graded(Grade::Invalid, evidence, "Fix the set-up. `loadstone try` shows its steps one by one.");
    }
    if requests > 0 {
        return INFO.graded(Grade::Valid, format!("{} ended", loadstone_units::counted(requests, "request")), "");
    }
    if input.stage == RunStage::Running {
        return INFO.nothing("no request has ended yet");
    }
    let cut_off: u64 = input.tally.of_kind(SeriesKind::Request).map(|series| outcome(&series.merged, Outcome::Interrupted)).sum();
    if cut_off > 0 {
        let evidence = format!("{} started, and none ended before the end of the run", loadstone_units::counted(cut_off, "request"));
        return INFO.graded(
            Grade::Invalid,
            evidence,
            "Run longer, give iterations more time at the end (`gracefulStop`), or check whether the target responds at all.",
        );
    }
    let refused: u64 = input.tally.of_kind(SeriesKind::Request).map(|series| outcome(&series.merged, Outcome::Unsendable)).sum();
    if refused > 0 {
        let evidence = format!("no request was sent: the generator refused {}", loadstone_units::counted(refused, "request"));
        return INFO.graded(
            Grade::Invalid,
            evidence,
            "Fix the calls that cannot be sent: the errors below name each one and its line. `loadstone try` shows one iteration.",
        );
    }
    let journeys: u64 = input.tally.flows().iter().map(|flow| flow.merged.started).sum();
    for (count, noun) in [(ended(SeriesKind::Group), "group"), (ended(SeriesKind::Check), "check"), (journeys, "journey")] {
        if count > 0 {
            return INFO.graded(Grade::Valid, format!("no request was sent; {} ended instead", loadstone_units::counted(count, noun)), "");
        }
    }
    let script_errors: u64 = input.tally.of_kind(SeriesKind::Iteration).map(|series| series.merged.script_errors).sum();
    let (evidence, advice) = match (ended(SeriesKind::Iteration), script_errors) {
        (0, 0) => ("nothing was measured".to_owned(), "No request, group or iteration ended before the end of the run. Run longer."),
        (iterations, 0) => (
            format!("{} ended, and none sent a request", loadstone_units::counted(iterations, "iteration")),
            "Check that the scenario awaits a request. `loadstone try` shows each step of one iteration.",
        ),
        (_, errors) => (
            format!("no request was sent; {} occurred", loadstone_units::counted(errors, "script error")),
            "Fix the script: the errors are listed below, and `loadstone try` shows one iteration step by step.",
        ),
    };
    INFO.graded(Grade::Invalid, evidence, advice)
}

fn only_set_ups_started(input: &CheckInput<'_>) -> bool {
    let set_ups = input.plan.set_ups();
    let tear_down = input.plan.load.leaves().len() as u32;
    let mut began = input.tally.leaves().iter().filter(|leaf| leaf.started > 0 && leaf.leaf < tear_down).peekable();
    began.peek().is_some() && began.all(|leaf| set_ups.contains_key(&leaf.leaf))
}
