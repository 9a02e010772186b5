//! What can be concluded from a run. Pure: no I/O, no clock, no async; the same run always gives the same verdict.
//!
//! Read [`Verdict`] first, then [`Summary`] (the numbers; every surface shows these and no others).

mod model;

pub use model::{
    CheckRow, Confidence, ErrorRow, Evidence, Finding, Findings, Grade, Percentile, RequestRow, Summary, ThresholdResult, ThresholdState,
    TimeStats, Totals, Validity, ValidityCheck, Verdict,
};
