//! What requests wait for where it is not what it looks like: connections that are not made, a limiter in the place of a pool, a cache that expires.

use analysis::{Finding, conclude};
use metrics::LeafSlice;
use plan::{Load, ScenarioId, ScenarioRun, TestPlan};
use run_directory::Run;

use crate::changes::{Request, constant, noise, passes};
use crate::coverage::Draws;
use crate::made;

fn findings(run: &Run) -> Vec<Finding> {
    conclude(run).verdict.findings.findings
}

fn shown(found: &[Finding]) -> String {
    found.iter().map(|finding| format!("{} ({:?}): {}\n", finding.rule, finding.confidence, finding.claim)).collect()
}

#[test]
fn the_load_beside_a_change_is_that_of_its_own_scenario() {
    let pay = |second: u32, draws: &mut Draws| 0.010 * noise(0.2, draws) + if second >= 30 { 0.3 } else { 0.0 };
    let mut run = constant(60, 30, &[Request { name: "Pay", time: &pay, outcome: &passes }], 2);
    let part = |scenario, rate| Load::Run(ScenarioRun::new(ScenarioId(scenario), made::open(rate, 60)));
    run.plan = TestPlan::new("shop", ["Buy", "Browse"], Load::Parallel(vec![part(0, 30.0), part(1, 6.0)]));
    for slice in &mut run.slices {
        slice.leaves.push(LeafSlice { leaf: 1, arrivals_due: 6, started: 6, ended: 6, ..LeafSlice::default() });
    }
    let found = findings(&run);
    assert!(found[0].claim.ends_with("while the load stayed the same (30/s)"), "{}", shown(&found));
}
