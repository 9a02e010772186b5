//! What the code of all elements of a thread group needs.

use std::collections::BTreeSet;

use super::values::Values;

/// What the samplers of a plan share.
pub(super) struct GroupOutput<'o> {
    pub(super) values: &'o mut Values,
    pub(super) uses: &'o mut BTreeSet<&'static str>,
    /// The origin of the test's target, with marks.
    pub(super) target: Option<String>,
    /// Threads of the group: a throughput for all of them is shared.
    pub(super) threads: String,
    /// What follows a failed sample, as code; empty: the user goes on.
    pub(super) on_error: String,
}
