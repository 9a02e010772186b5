//! Which function of a script runs.

/// The part of a script that a VU runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptPart {
    SetUp,
    TearDown,
    /// `handleSummary`, after the run.
    Summary,
    /// Index into the test's scenarios.
    Scenario(usize),
}
