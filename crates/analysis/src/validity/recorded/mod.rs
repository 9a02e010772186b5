//! Checks on the load of another tool, from what its record shows.

pub(super) mod clock;
pub(super) mod complete;
pub(super) mod dropped;
pub(super) mod lacks;
pub(super) mod late;
pub(super) mod no_request;
pub(super) mod omission;
pub(super) mod planned;
pub(super) mod proxy;
pub(super) mod sampled;
pub(super) mod stated;
pub(super) mod tool_cpu;
pub(super) mod tool_wait;

use super::check::CheckInput;

/// The tool's name.
fn tool<'a>(input: &CheckInput<'a>) -> &'a str {
    input.plan.recorded.as_ref().map_or("the tool", |recorded| recorded.tool.as_str())
}
