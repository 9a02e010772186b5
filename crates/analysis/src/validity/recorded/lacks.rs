//! What the record of the tool does not contain, so that nothing is concluded from it.

use super::super::check::{CheckInfo, CheckInput};
use crate::ValidityCheck;

pub(in super::super) const INFO: CheckInfo = CheckInfo {
    id: "record-lacks",
    title: "Not in the record",
    limits: "never a grade: rules that need what the record lacks report nothing",
};

pub(in super::super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let lacks = input.plan.recorded.iter().flat_map(|recorded| &recorded.lacks);
    let lacks: Vec<&str> = lacks.map(String::as_str).collect();
    let whose = if super::proxy::is_record(input) { "the proxy" } else { super::tool(input) };
    INFO.nothing(format!("{} does not record {}", whose, lacks.join("; ")))
}
