//! What limits the system? One rule per file; a rule that the evidence does not carry says nothing.

mod concurrency;
mod generator;
mod load_response;
mod remark;

use run::Run;

use crate::{Finding, Findings, Tally, Validity};
use load_response::LoadResponse;

/// What the rules look at.
pub(crate) struct Scene<'a> {
    pub(crate) run: &'a Run,
    pub(crate) tally: &'a Tally,
    pub(crate) validity: &'a Validity,
    /// How each request answers to the load.
    pub(crate) responses: Vec<LoadResponse>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(run: &'a Run, tally: &'a Tally, validity: &'a Validity) -> Self {
        Self { run, tally, validity, responses: LoadResponse::of(run, tally) }
    }
}

type Rule = fn(&Scene<'_>) -> Option<Finding>;

const RULES: [Rule; 2] = [concurrency::find, generator::find];

pub(crate) fn find(scene: &Scene<'_>) -> Findings {
    let mut findings: Vec<Finding> = RULES.iter().filter_map(|rule| rule(scene)).collect();
    // What is said about the target means little while the generator is certain to be the limit; otherwise the surest comes first.
    findings.sort_by_key(|finding| (!generator::is_certain(finding), std::cmp::Reverse(finding.confidence)));
    let remark = if findings.is_empty() { remark::of(scene) } else { String::new() };
    Findings { findings, remark }
}
