//! What limits the system? One rule per file; a rule that the evidence does not carry says nothing.

mod generator;

use run::Run;

use crate::{Finding, Findings, Tally, Validity};

/// What the rules look at.
pub(crate) struct Scene<'a> {
    pub(crate) run: &'a Run,
    pub(crate) tally: &'a Tally,
    pub(crate) validity: &'a Validity,
}

type Rule = fn(&Scene<'_>) -> Option<Finding>;

/// Most important first: what is said about the target means little while the generator is the limit.
const RULES: [Rule; 1] = [generator::find];

pub(crate) fn find(scene: &Scene<'_>) -> Findings {
    let findings: Vec<Finding> = RULES.iter().filter_map(|rule| rule(scene)).collect();
    let remark = match (findings.is_empty(), &scene.run.end) {
        (false, _) => String::new(),
        (true, Some(_)) => "Cannot tell what limits it: nothing in this run points at a limit.".to_owned(),
        (true, None) => "Cannot tell what limits it: the run was cut off.".to_owned(),
    };
    Findings { findings, remark }
}
