//! Conditions that should be the same in both runs, and are not. Reports show them before any number.

use loadstone_metrics::Role;
use loadstone_plan::{Load, LoadProfile, OpenStage, TestPlan};
use loadstone_run_directory::{Run, RunEnd, SignalSeries};
use serde::{Deserialize, Serialize};

use super::model::RunDifference;
use super::side::ComparedInput;
use crate::Grade;
use crate::facts::readings::SignalReadings;
use crate::statistics::mean;

/// The differences, those that forbid a comparison first.
pub(super) fn differences(baseline: ComparedInput<'_>, candidate: ComparedInput<'_>) -> Vec<RunDifference> {
    let (old, new) = (baseline.run, candidate.run);
    let mut found = Found(Vec::new());
    let grade = |input: ComparedInput<'_>| input.summary.verdict.validity.grade;
    if grade(baseline).max(grade(candidate)) > Grade::Valid {
        let invalid = grade(baseline).max(grade(candidate)) == Grade::Invalid;
        let meaning =
            if invalid { "an invalid measurement is no evidence about the system" } else { "some numbers come from a suspect measurement" };
        found.add("validity", word(grade(baseline)).to_owned(), word(grade(candidate)).to_owned(), invalid, meaning);
    }
    let (ended, ends) = (end(old.end.as_ref()), end(new.end.as_ref()));
    if ended != COMPLETED || ends != COMPLETED {
        found.add("end", ended.to_owned(), ends.to_owned(), false, "a run that was cut short has a different mix of load");
    }
    if old.plan.name != new.plan.name {
        found.add("test", old.plan.name.clone(), new.plan.name.clone(), false, "the tests differ: equal names may mean different requests");
    }
    tools(&old.plan, &new.plan, &mut found);
    load(baseline, candidate, &mut found);
    let scripts = |input: ComparedInput<'_>| input.run.info.script.as_deref().unwrap_or("").chars().take(12).collect::<String>();
    if old.info.script.is_some() && new.info.script.is_some() {
        found.compare(
            "script",
            scripts(baseline),
            scripts(candidate),
            false,
            "the test script changed between the runs: equal names may mean different requests",
        );
    }
    parameters(&old.plan, &new.plan, &mut found);
    let target = |plan: &TestPlan| plan.target.clone().unwrap_or_default();
    found.compare("target", target(&old.plan), target(&new.plan), false, "different target addresses: the network may differ, too");
    machine(baseline, candidate, &mut found);
    other_programs(baseline, candidate, &mut found);
    found.compare(
        "workers",
        old.info.workers.to_string(),
        new.info.workers.to_string(),
        false,
        "the generator had a different number of workers",
    );
    found.compare("Loadstone", old.info.loadstone.clone(), new.info.loadstone.clone(), false, "the generator versions differ");
    found.0.sort_by_key(|difference| !difference.forbids);
    found.0
}

/// Tools measure times from different instants, and send in different patterns.
fn tools(old: &TestPlan, new: &TestPlan, found: &mut Found) {
    let tool = |plan: &TestPlan| plan.recorded.as_ref().map_or_else(|| "Loadstone".to_owned(), |recorded| recorded.tool.clone());
    let meaning = "different tools generated the load: a difference may be one of the tools, not of the system";
    found.compare("tool", tool(old), tool(new), true, meaning);
}

struct Found(Vec<RunDifference>);

impl Found {
    fn add(&mut self, what: &str, baseline: String, candidate: String, forbids: bool, meaning: &str) {
        self.0.push(RunDifference { what: what.to_owned(), baseline, candidate, forbids, meaning: meaning.to_owned() });
    }

    fn compare(&mut self, what: &str, baseline: String, candidate: String, forbids: bool, meaning: &str) {
        if baseline != candidate {
            self.add(what, baseline, candidate, forbids, meaning);
        }
    }
}

const COMPLETED: &str = "completed";

fn end(end: Option<&RunEnd>) -> &'static str {
    match end {
        Some(RunEnd::Completed) => COMPLETED,
        Some(RunEnd::Interrupted) => "interrupted",
        Some(RunEnd::Aborted(_)) => "aborted",
        Some(RunEnd::Failed(_)) => "failed",
        None => "killed",
    }
}

fn word(grade: Grade) -> &'static str {
    match grade {
        Grade::Valid => "valid",
        Grade::Suspect => "suspect",
        Grade::Invalid => "invalid",
    }
}

fn load(baseline: ComparedInput<'_>, candidate: ComparedInput<'_>, found: &mut Found) {
    let (old, new) = (&baseline.run.plan, &candidate.run.plan);
    let words = |input: ComparedInput<'_>| input.load.join("; ");
    if LoadShape::of(old) != LoadShape::of(new) {
        found.add("load", words(baseline), words(candidate), true, "a different load leads to different response times");
    } else if old.load != new.load {
        found.add("duration", words(baseline), words(candidate), false, "the same load with a different duration");
    }
    let scaled = |input: ComparedInput<'_>| {
        let leaves = input.run.slices.iter().flat_map(|slice| &slice.leaves);
        leaves.flat_map(|leaf| &leaf.changes).filter(|change| matches!(change, loadstone_metrics::LeafChange::Scaled { .. })).count()
    };
    if scaled(baseline) > 0 || scaled(candidate) > 0 {
        let times =
            |count: usize| format!("changed {} while it ran", if count == 1 { "once".to_owned() } else { format!("{count} times") });
        found.add("load", times(scaled(baseline)), times(scaled(candidate)), true, "a user paused or scaled the load during the run");
    }
}

/// A difference of the cores that other programs used, as a share of the machine, that is listed.
const OTHER_PROGRAMS_SHARE: f64 = 0.1;

/// Programs that were not observed took cores from the system in one run and not in the other.
fn other_programs(baseline: ComparedInput<'_>, candidate: ComparedInput<'_>, found: &mut Found) {
    let (Some(old), Some(new)) = (other_use(baseline.run), other_use(candidate.run)) else { return };
    if (old - new).abs() >= OTHER_PROGRAMS_SHARE {
        let words = |share: f64| format!("other programs used {} of the machine", loadstone_units::share(share));
        found.add("machine use", words(old), words(new), false, "other programs left the system less of the machine in one of the runs");
    }
}

/// The share of the machine's cores that neither the observed processes nor the generator used. Mean over the run; `None`: not observed, or
/// no process of the system was observed, so that its own use is unknown.
fn other_use(run: &Run) -> Option<f64> {
    let mean_of = |series: &SignalSeries| {
        let readings = SignalReadings::of(series);
        let values: Vec<f64> = readings.points().iter().map(|(_, value)| *value).filter(|value| value.is_finite()).collect();
        mean(&values)
    };
    let of = |role: Role| run.signals.iter().filter(move |series| series.signal.role == Some(role)).map(mean_of);
    let cores = of(Role::MachineCores).next().filter(|cores| *cores > 0.0)?;
    let (machine, processes): (f64, Vec<f64>) = (of(Role::MachineCpu).sum(), of(Role::ProcessCpu).collect());
    let generators = || run.slices.iter().flat_map(|slice| &slice.generator);
    let wall: u64 = run.slices.iter().map(|slice| slice.end - slice.start).sum();
    let generator = generators().map(|generator| generator.busy_ns).sum::<u64>() as f64 / wall.max(1) as f64;
    (!processes.is_empty() && machine > 0.0).then(|| ((machine - processes.iter().sum::<f64>() - generator) / cores).clamp(0.0, 1.0))
}

/// The load that a test asks for, regardless of its duration. Two tests that ask for the same load have equal shapes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadShape {
    load: Load,
    scenarios: Vec<String>,
}

impl LoadShape {
    pub fn of(plan: &TestPlan) -> Self {
        Self { load: shape(&plan.load), scenarios: plan.scenarios.iter().map(|scenario| scenario.name.clone()).collect() }
    }
}

/// The load without its duration, where the duration makes no difference: a longer constant load is the same load.
fn shape(load: &Load) -> Load {
    match load {
        Load::Sequence(parts) => Load::Sequence(parts.iter().map(shape).collect()),
        Load::Parallel(parts) => Load::Parallel(parts.iter().map(shape).collect()),
        Load::Run(run) => {
            let mut run = run.clone();
            match &mut run.profile {
                LoadProfile::Open { stages } => {
                    if let [OpenStage::Rate { from, to, duration_ns, .. }] = stages.as_mut_slice()
                        && from == to
                    {
                        *duration_ns = 0;
                    }
                }
                LoadProfile::Closed { stages } => {
                    if let [stage] = stages.as_mut_slice()
                        && stage.from == stage.to
                    {
                        stage.duration_ns = 0;
                    }
                }
                LoadProfile::Iterations { .. } | LoadProfile::Recorded { .. } => {}
            }
            Load::Run(run)
        }
    }
}

fn parameters(old: &TestPlan, new: &TestPlan, found: &mut Found) {
    const MEANING: &str = "the parameter may have caused the differences";
    for parameter in &old.parameters {
        match new.parameters.iter().find(|other| other.name == parameter.name) {
            Some(other) => {
                let what = format!("parameter {}", parameter.name);
                found.compare(&what, parameter.value.clone(), other.value.clone(), false, MEANING);
            }
            None => found.add(&format!("parameter {}", parameter.name), parameter.value.clone(), String::new(), false, MEANING),
        }
    }
    for parameter in new.parameters.iter().filter(|parameter| !old.parameters.iter().any(|other| other.name == parameter.name)) {
        found.add(&format!("parameter {}", parameter.name), String::new(), parameter.value.clone(), false, MEANING);
    }
}

fn machine(baseline: ComparedInput<'_>, candidate: ComparedInput<'_>, found: &mut Found) {
    let (old, new) = (&baseline.run.info.host, &candidate.run.info.host);
    let words = |host: &loadstone_run_directory::HostFacts| {
        format!("{}, {}, {}, {}", host.hostname, host.cpu, loadstone_units::counted(u64::from(host.cores), "core"), host.kernel)
    };
    const MEANING: &str = "the load came from a different machine";
    if (&old.hostname, &old.cpu, old.cores) != (&new.hostname, &new.cpu, new.cores) {
        found.add("machine", words(old), words(new), false, MEANING);
    } else {
        found.compare("kernel", old.kernel.clone(), new.kernel.clone(), false, "the kernel of the generator's machine changed");
    }
}
