//! One run of a case: what the tool reported and what the server did.

use super::case::AccuracyCase;
use super::ours::OwnReport;
use crate::stillness::Stillness;

pub(super) struct CaseResult {
    pub(super) case: AccuracyCase,
    pub(super) reported: OwnReport,
    /// The server's own account.
    pub(super) account: serde_json::Value,
    pub(super) stillness: Stillness,
}
