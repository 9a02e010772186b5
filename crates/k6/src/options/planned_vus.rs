//! How many VUs k6 initialises for a load: scenarios that follow one another use the same.
//!
//! Source: k6's `GetMaxPlannedVUs` and `GetMaxPossibleVUs` (lib/executors.go).

use std::collections::BTreeMap;

use loadstone_plan::{ClosedStage, LoadProfile};

use super::executors::K6Scenario;

/// VUs of all scenarios together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedVus {
    /// Initialised before the load.
    pub(crate) planned: u64,
    /// With those that arrivals may add: `maxVUs`.
    pub(crate) possible: u64,
}

/// A scenario needs this many VUs from one instant to another. Of intervals that overlap, the largest number applies.
struct Need {
    from_ns: u64,
    to_ns: u64,
    vus: u64,
}

/// The largest sum over the scenarios at any instant.
pub(crate) fn planned_vus(scenarios: &[K6Scenario]) -> PlannedVus {
    let most =
        |of_open: fn(&K6Scenario) -> u64| most_at_once(&scenarios.iter().map(|scenario| needs(scenario, of_open)).collect::<Vec<_>>());
    PlannedVus {
        planned: most(|scenario| scenario.users_prepared),
        possible: most(|scenario| scenario.run.users_max.unwrap_or_default().max(scenario.users_prepared)),
    }
}

fn most_at_once(scenarios: &[Vec<Need>]) -> u64 {
    // Ends come before beginnings at the same instant.
    let mut changes: Vec<(u64, bool, usize, u64)> = Vec::new();
    for (index, needs) in scenarios.iter().enumerate() {
        for need in needs.iter().filter(|need| need.to_ns > need.from_ns && need.vus > 0) {
            changes.extend([(need.from_ns, true, index, need.vus), (need.to_ns, false, index, need.vus)]);
        }
    }
    changes.sort_unstable();
    let mut open: Vec<BTreeMap<u64, u64>> = vec![BTreeMap::new(); scenarios.len()];
    let (mut sum, mut most) = (0, 0);
    for (_, begins, index, vus) in changes {
        let of_scenario = &mut open[index];
        let largest = |of: &BTreeMap<u64, u64>| of.last_key_value().map_or(0, |(vus, _)| *vus);
        sum -= largest(of_scenario);
        let count = of_scenario.entry(vus).or_default();
        *count = if begins { *count + 1 } else { *count - 1 };
        if *count == 0 {
            of_scenario.remove(&vus);
        }
        sum += largest(of_scenario);
        most = most.max(sum);
    }
    most
}

fn needs(scenario: &K6Scenario, of_open: fn(&K6Scenario) -> u64) -> Vec<Need> {
    if !scenario.has_work {
        return Vec::new();
    }
    let run = &scenario.run;
    let start_ns = run.start_after_ns - scenario.first_arrival_ns;
    let duration_ns = match &run.profile {
        LoadProfile::Iterations { duration_max_ns, .. } => duration_max_ns.unwrap_or(u64::MAX / 4),
        profile => profile.duration_ns().unwrap_or(u64::MAX / 4) + scenario.first_arrival_ns,
    };
    let end_ns = start_ns + duration_ns + run.graceful_stop_ns.unwrap_or_default();
    match &run.profile {
        LoadProfile::Iterations { users, .. } => vec![Need { from_ns: start_ns, to_ns: end_ns, vus: *users }],
        LoadProfile::Closed { stages } => ramp(stages, start_ns, end_ns, run.graceful_ramp_down_ns.unwrap_or_default()),
        LoadProfile::Open { .. } | LoadProfile::Recorded { .. } => vec![Need { from_ns: start_ns, to_ns: end_ns, vus: of_open(scenario) }],
    }
}

/// Each number of VUs from its beginning until a grace after its end. The last one applies until the end.
fn ramp(stages: &[ClosedStage], start_ns: u64, end_ns: u64, grace_ns: u64) -> Vec<Need> {
    let mut steps: Vec<(u64, u64)> = Vec::new();
    let mut stage_ns = start_ns;
    for &ClosedStage { from, to, duration_ns } in stages {
        let changes = from.abs_diff(to);
        steps.push((stage_ns, from));
        for change in 1..=changes {
            let at_ns = stage_ns + (u128::from(duration_ns) * u128::from(change) / u128::from(changes)) as u64;
            steps.push((at_ns, if to > from { from + change } else { from - change }));
        }
        stage_ns += duration_ns;
    }
    let end_of = |index: usize| steps.get(index + 1).map_or(end_ns, |(next_ns, _)| (next_ns + grace_ns).min(end_ns));
    steps.iter().enumerate().map(|(index, &(from_ns, vus))| Need { from_ns, to_ns: end_of(index), vus }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::scenarios;
    use super::*;

    fn of(listed: Value) -> (u64, u64) {
        let options = json!({ "scenarios": listed });
        let PlannedVus { planned, possible } = planned_vus(&scenarios(options.as_object().unwrap(), None).unwrap());
        (planned, possible)
    }

    /// The numbers are those that k6 1.4.2 prints for `exec.instance.vusInitialized`.
    #[test]
    fn scenarios_that_follow_one_another_share_their_vus() {
        let constant = |vus: u64, start: &str, stop: &str| {
            let times = json!({ "duration": "1s", "startTime": start, "gracefulStop": stop });
            let mut scenario = json!({ "executor": "constant-vus", "vus": vus });
            scenario.as_object_mut().unwrap().extend(times.as_object().unwrap().clone());
            scenario
        };
        assert_eq!(of(json!({ "a": constant(3, "0s", "0s"), "b": constant(2, "1s", "0s") })), (3, 3));
        assert_eq!(of(json!({ "a": constant(3, "0s", "1s"), "b": constant(2, "1s", "0s") })), (5, 5));
        let rate = json!({ "executor": "constant-arrival-rate", "rate": 1, "duration": "1s", "preAllocatedVUs": 2, "maxVUs": 9 });
        assert_eq!(of(json!({ "a": rate, "b": constant(2, "1s", "0s") })), (4, 11));
    }

    #[test]
    fn a_ramp_keeps_its_vus_for_its_grace() {
        let with = |grace: &str, start: &str| {
            let ramp = json!({ "executor": "ramping-vus", "startVUs": 0, "gracefulStop": "0s", "gracefulRampDown": grace,
                "stages": [{ "duration": "4s", "target": 8 }, { "duration": "4s", "target": 0 }, { "duration": "4s", "target": 0 }] });
            let late = json!({ "executor": "per-vu-iterations", "vus": 5, "startTime": start, "maxDuration": "1s", "gracefulStop": "0s" });
            of(json!({ "ramp": ramp, "late": late })).0
        };
        // At 6 s, four are left, and with a grace of 1 s, six.
        assert_eq!((with("0s", "6s"), with("1s", "6s"), with("0s", "9s"), with("30s", "11s")), (9, 11, 8, 13));
    }
}
