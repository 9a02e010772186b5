//! Was anything measured at all? A broken script passes every threshold that it never reaches.

use super::check::{CheckInfo, CheckInput, RunStage};
use crate::{Grade, ValidityCheck};
use loadstone_metrics::{Outcome, SeriesKind};

const INFO: CheckInfo = CheckInfo {
    id: "requests",
    title: "Something was measured",
    limits: "invalid when no request ended, or only a set-up's; a test that makes none is judged by the groups, checks and journeys that it has",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let ended = |kind| input.tally.of_kind(kind).map(|series| series.merged.count).sum::<u64>();
    let requests = ended(SeriesKind::Request);
    if input.stage != RunStage::Running && only_set_ups_began(input) {
        let evidence = "only the set-up ran: the load after it never began".to_owned();
        return INFO.graded(Grade::Invalid, evidence, "Mend the set-up: `loadstone try` shows its steps one by one.");
    }
    if requests > 0 {
        return INFO.graded(Grade::Valid, format!("{} ended", loadstone_units::counted(requests, "request")), "");
    }
    if input.stage == RunStage::Running {
        return INFO.nothing("no request has ended yet");
    }
    let cut_off: u64 =
        input.tally.of_kind(SeriesKind::Request).map(|series| crate::summary::outcome(&series.merged, Outcome::Interrupted)).sum();
    if cut_off > 0 {
        let evidence = format!("{} begun, and none ended before the run did", loadstone_units::counted(cut_off, "request"));
        return INFO.graded(
            Grade::Invalid,
            evidence,
            "Run longer, give iterations more time at the end (`gracefulStop`), or look whether the target answers at all.",
        );
    }
    let journeys: u64 = input.tally.flows().iter().map(|flow| flow.merged.started).sum();
    for (count, noun) in [(ended(SeriesKind::Group), "group"), (ended(SeriesKind::Check), "check"), (journeys, "journey")] {
        if count > 0 {
            return INFO.graded(Grade::Valid, format!("no requests were made; {} instead", loadstone_units::counted(count, noun)), "");
        }
    }
    let script_errors: u64 = input.tally.of_kind(SeriesKind::Iteration).map(|series| series.merged.script_errors).sum();
    let (evidence, advice) = match (ended(SeriesKind::Iteration), script_errors) {
        (0, 0) => ("nothing was measured".to_owned(), "No request, group or iteration ended before the run did. Run longer."),
        (iterations, 0) => (
            format!("{} ended, and not one made a request", loadstone_units::counted(iterations, "iteration")),
            "Look at the scenario: does it await a request? `loadstone try` shows each step of one iteration.",
        ),
        (_, errors) => (
            format!("no request was made; {} thrown", loadstone_units::counted(errors, "script error")),
            "Mend the script: the errors are listed below, and `loadstone try` shows one iteration step by step.",
        ),
    };
    INFO.graded(Grade::Invalid, evidence, advice)
}

fn only_set_ups_began(input: &CheckInput<'_>) -> bool {
    let set_ups = input.plan.set_ups();
    let tear_down = input.plan.load.leaves().len() as u32;
    let mut began = input.tally.leaves().iter().filter(|leaf| leaf.started > 0 && leaf.leaf < tear_down).peekable();
    began.peek().is_some() && began.all(|leaf| set_ups.contains_key(&leaf.leaf))
}
