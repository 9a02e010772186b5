//! Executors: the load of scenarios as load profiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadstone_plan::{ClosedStage, IterationSplit, LoadProfile, OpenStage, ScenarioId, ScenarioRun, StepPlace, Timing};
use serde_json::{Map, Value, json};

use super::{OptionError, Segment, Stripe, count, duration, strings, wrong};
use crate::begun_iterations::BegunIterations;

/// One scenario of the script.
#[derive(Debug, Clone)]
pub(crate) struct K6Scenario {
    pub(crate) name: String,
    pub(crate) executor: String,
    /// The exported function that it runs.
    pub(crate) exec: String,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) run: ScenarioRun,
    /// VUs to create before the load.
    pub(crate) users_prepared: u64,
    /// The iterations of an execution segment, among those of all instances.
    pub(crate) stripe: Option<Stripe>,
    /// From the scenario's start to the first arrival of an execution segment, which `run` begins with.
    pub(crate) first_arrival_ns: u64,
    /// False if the execution segment has no part of it.
    pub(crate) has_work: bool,
    /// Of `shared-iterations`.
    pub(crate) shared: Arc<BegunIterations>,
    pub(crate) notes: Vec<String>,
}

const COMMON: [&str; 7] = ["executor", "startTime", "gracefulStop", "env", "exec", "tags", "options"];
const SECOND_NS: u64 = 1_000_000_000;
/// The time limit of an executor that counts iterations.
const MAX_DURATION: &str = "10m";

/// The scenarios of the merged options, reduced to the segment.
pub(crate) fn scenarios(options: &Map<String, Value>, segment: Option<&Segment>) -> Result<Vec<K6Scenario>, OptionError> {
    let mut scenarios = whole(options)?;
    if let Some(segment) = segment {
        scenarios.iter_mut().try_for_each(|scenario| scenario.limit_to(segment))?;
        if !scenarios.iter().any(|scenario| scenario.has_work) {
            let help = "use a larger segment, or more VUs";
            return Err(wrong("executionSegment", "executionSegment: no scenario has a VU or an iteration in this segment", help));
        }
    }
    Ok(scenarios)
}

fn whole(options: &Map<String, Value>) -> Result<Vec<K6Scenario>, OptionError> {
    let ways: Vec<&str> =
        ["iterations", "duration", "stages", "scenarios"].into_iter().filter(|name| options.contains_key(*name)).collect();
    let conflict = match ways.as_slice() {
        [] | [_] | ["iterations", "duration"] => None,
        [first, .., last] => Some((*first, *last)),
    };
    if let Some((first, last)) = conflict {
        return Err(wrong(last, format!("the options `{first}` and `{last}` both define the load"), "remove one of them"));
    }
    let vus = options.get("vus").cloned();
    let mut shortcut = Map::new();
    let executor = if options.contains_key("iterations") {
        shortcut.insert("iterations".to_owned(), options["iterations"].clone());
        shortcut.extend(options.get("duration").map(|duration| ("maxDuration".to_owned(), duration.clone())));
        shortcut.extend(vus.map(|vus| ("vus".to_owned(), vus)));
        "shared-iterations"
    } else if let Some(duration) = options.get("duration") {
        shortcut.insert("duration".to_owned(), duration.clone());
        shortcut.extend(vus.map(|vus| ("vus".to_owned(), vus)));
        "constant-vus"
    } else if let Some(stages) = options.get("stages") {
        shortcut.insert("stages".to_owned(), stages.clone());
        shortcut.extend(vus.map(|vus| ("startVUs".to_owned(), vus)));
        "ramping-vus"
    } else if let Some(scenarios) = options.get("scenarios") {
        return listed(scenarios);
    } else {
        if vus.as_ref().is_some_and(|vus| vus.as_u64() != Some(1)) {
            let help = "add `duration`, `iterations` or `stages`, or set --duration or --iterations";
            return Err(wrong("vus", "`vus` alone defines no load: k6 ignores it and runs one iteration", help));
        }
        "per-vu-iterations"
    };
    shortcut.insert("executor".to_owned(), executor.into());
    Ok(vec![scenario("default", &shortcut, 0)?])
}

fn listed(scenarios: &Value) -> Result<Vec<K6Scenario>, OptionError> {
    let help = "write scenarios: { NAME: { executor: \"constant-vus\", … } }";
    let listed = scenarios.as_object().ok_or_else(|| wrong("scenarios", "`scenarios` is not an object", help))?;
    if listed.is_empty() {
        return Err(wrong("scenarios", "`scenarios` is empty, so there is no load", help));
    }
    let read = |(index, (name, value)): (usize, (&String, &Value))| match value.as_object() {
        Some(object) => scenario(name, object, index as u32),
        None => Err(wrong(name, format!("scenario {name} is not an object"), help)),
    };
    listed.iter().enumerate().map(read).collect()
}

/// Reads the fields of one scenario.
struct Fields<'a> {
    name: &'a str,
    fields: &'a Map<String, Value>,
}

impl Fields<'_> {
    fn get(&self, field: &str) -> Option<&Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    fn count(&self, field: &str, default: u64) -> Result<u64, OptionError> {
        self.get(field).map_or(Ok(default), |value| self.named(count(field, value)))
    }

    fn duration(&self, field: &str, default: &str) -> Result<u64, OptionError> {
        self.named(duration(field, self.get(field).unwrap_or(&json!(default))))
    }

    fn named<T>(&self, read: Result<T, OptionError>) -> Result<T, OptionError> {
        read.map_err(|error| OptionError { message: format!("scenario {}: {}", self.name, error.message), ..error })
    }

    fn required(&self, field: &str) -> Result<&Value, OptionError> {
        self.get(field).ok_or_else(|| self.wrong(self.name, format!("`{field}` is missing"), format!("set `{field}`")))
    }

    fn wrong(&self, option: &str, message: impl AsRef<str>, help: impl Into<String>) -> OptionError {
        wrong(option, format!("scenario {}: {}", self.name, message.as_ref()), help)
    }

    fn only(&self, known: &[&str]) -> Result<(), OptionError> {
        match self.fields.keys().find(|field| !COMMON.contains(&field.as_str()) && !known.contains(&field.as_str())) {
            Some(field) => {
                let known: Vec<&str> = COMMON.iter().chain(known).copied().collect();
                let help = match loadstone_units::nearest(field, &known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("this executor has: {}", known.join(", ")),
                };
                Err(self.wrong(field, format!("the executor has no option `{field}`"), help))
            }
            None => Ok(()),
        }
    }

    /// Durations and targets of the stages.
    fn stages(&self) -> Result<Vec<(u64, f64)>, OptionError> {
        let written = self.required("stages")?;
        let help = "write stages: [{ duration: \"30s\", target: 10 }]";
        let list = written.as_array().filter(|list| !list.is_empty());
        let list = list.ok_or_else(|| self.wrong("stages", "`stages` is not a list with at least one stage", help))?;
        list.iter()
            .map(|stage| {
                let part = |name: &str| stage.get(name).ok_or_else(|| self.wrong("stages", format!("a stage has no `{name}`"), help));
                let target = part("target")?;
                let target = target.as_f64().filter(|target| *target >= 0.0);
                let target = target.ok_or_else(|| self.wrong("stages", "the target of a stage is not a number", help))?;
                Ok((self.named(duration("stages", part("duration")?))?, target))
            })
            .collect()
    }
}

fn scenario(name: &str, fields: &Map<String, Value>, index: u32) -> Result<K6Scenario, OptionError> {
    let fields = Fields { name, fields };
    let executor = fields.required("executor")?.as_str().unwrap_or_default().to_owned();
    let mut notes = Vec::new();
    let (profile, users_max, users_prepared) = profile(&fields, &executor, &mut notes)?;
    if fields.get("options").is_some_and(|options| options.get("browser").is_some()) {
        return Err(fields.wrong("browser", "browsers are not supported", "run this scenario with k6, and the others with Loadstone"));
    }
    let text = |field: &str| fields.get(field).and_then(Value::as_str).map(str::to_owned);
    let (graceful_ramp_down_ns, graceful_stop_ns) = graces(&fields, &executor)?;
    let run = ScenarioRun {
        users_max,
        graceful_stop_ns: Some(graceful_stop_ns),
        graceful_ramp_down_ns,
        step_place: if executor.starts_with("ramping-") { StepPlace::LastAtEnd } else { StepPlace::FirstAtBeginning },
        start_after_ns: fields.duration("startTime", "0s")?,
        ..ScenarioRun::new(ScenarioId(index), profile)
    };
    Ok(K6Scenario {
        name: name.to_owned(),
        executor,
        exec: text("exec").unwrap_or_else(|| "default".to_owned()),
        env: fields.get("env").map_or(Ok(BTreeMap::new()), |env| strings("env", env))?,
        tags: fields.get("tags").map_or(Ok(BTreeMap::new()), |tags| strings("tags", tags))?,
        run,
        users_prepared,
        stripe: None,
        first_arrival_ns: 0,
        has_work: true,
        shared: Arc::default(),
        notes,
    })
}

/// How long running iterations may go on: after a ramp has removed their VU, and after the end of the scenario. Nanoseconds.
fn graces(fields: &Fields<'_>, executor: &str) -> Result<(Option<u64>, u64), OptionError> {
    let graceful_stop = fields.duration("gracefulStop", "30s")?;
    if executor != "ramping-vus" {
        return Ok((None, graceful_stop));
    }
    let ramp_down = fields.duration("gracefulRampDown", "30s")?;
    // A jump to zero at the end, which is no stage of the profile, removes all VUs.
    let ends_with_jump = fields.stages()?.last().is_some_and(|(duration_ns, target)| *duration_ns == 0 && target.round() == 0.0);
    Ok((Some(ramp_down), if ends_with_jump { graceful_stop.min(ramp_down) } else { graceful_stop }))
}

/// The profile, the maximum of VUs of open load, and the VUs to create before it.
fn profile(fields: &Fields<'_>, executor: &str, notes: &mut Vec<String>) -> Result<(LoadProfile, Option<u64>, u64), OptionError> {
    let iterations = |split| -> Result<_, OptionError> {
        fields.only(&["vus", "iterations", "maxDuration"])?;
        let (users, count) = (fields.count("vus", 1)?, fields.count("iterations", 1)?);
        let duration_max_ns = Some(fields.duration("maxDuration", MAX_DURATION)?);
        if users == 0 || count == 0 {
            return Err(fields.wrong("vus", "`vus` and `iterations` must be at least 1", "increase them"));
        }
        if split == IterationSplit::Shared && count < users {
            return Err(fields.wrong("iterations", "`iterations` is less than `vus`, so some VUs would do nothing", "reduce `vus`"));
        }
        Ok((LoadProfile::Iterations { users, count, split, duration_max_ns }, None, users))
    };
    match executor {
        "constant-vus" => {
            fields.only(&["vus", "duration"])?;
            let (users, ns) = (fields.count("vus", 1)?, fields.named(duration("duration", fields.required("duration")?))?);
            if users == 0 || ns < SECOND_NS {
                return Err(fields.wrong("duration", "`duration` must be at least 1s, and `vus` at least 1", "increase them"));
            }
            Ok((LoadProfile::users(users, ns), None, users))
        }
        "ramping-vus" => {
            fields.only(&["startVUs", "stages", "gracefulRampDown"])?;
            let stages = closed(fields.count("startVUs", 1)?, &fields.stages()?);
            let users = stages.iter().map(|stage| stage.from.max(stage.to)).max().unwrap_or(0);
            if stages.is_empty() || users == 0 {
                return Err(fields.wrong("stages", "the stages run no VU, so there is no load", "set a `target` above 0 and a `duration`"));
            }
            Ok((LoadProfile::Closed { stages }, None, users))
        }
        "constant-arrival-rate" => {
            fields.only(&["rate", "timeUnit", "duration", "preAllocatedVUs", "maxVUs"])?;
            let ns = fields.named(duration("duration", fields.required("duration")?))?;
            let rate = per_second(fields, fields.required("rate")?.as_f64().unwrap_or(-1.0))?;
            if rate <= 0.0 || ns < SECOND_NS {
                return Err(fields.wrong("rate", "`rate` must be above 0, and `duration` at least 1s", "increase them"));
            }
            let (prepared, users_max) = open_users(fields)?;
            Ok((LoadProfile::rate(rate, ns), Some(users_max), prepared))
        }
        "ramping-arrival-rate" => {
            fields.only(&["startRate", "timeUnit", "stages", "preAllocatedVUs", "maxVUs"])?;
            let start = fields.get("startRate").and_then(Value::as_f64).unwrap_or(0.0);
            let stages = open(fields, start)?;
            if stages.iter().map(OpenStage::arrivals).sum::<f64>() <= 0.0 {
                return Err(fields.wrong("stages", "the stages start no iteration", "set a `target` above 0 and a `duration`"));
            }
            let (prepared, users_max) = open_users(fields)?;
            Ok((LoadProfile::Open { stages }, Some(users_max), prepared))
        }
        "shared-iterations" => iterations(IterationSplit::Shared),
        "per-vu-iterations" => iterations(IterationSplit::PerUser),
        "externally-controlled" => externally_controlled(fields, notes),
        other => {
            let known = "constant-vus, ramping-vus, constant-arrival-rate, ramping-arrival-rate, shared-iterations, per-vu-iterations";
            Err(fields.wrong("executor", format!("there is no executor \"{other}\""), format!("use one of: {known}")))
        }
    }
}

/// Constant VUs: Loadstone starts them, and the page of a live run changes their number.
fn externally_controlled(fields: &Fields<'_>, notes: &mut Vec<String>) -> Result<(LoadProfile, Option<u64>, u64), OptionError> {
    fields.only(&["vus", "maxVUs", "duration"])?;
    let (users, ns) = (fields.count("vus", 1)?, fields.duration("duration", "0s")?);
    if users == 0 || ns < SECOND_NS {
        let help = "set them: Loadstone starts this executor by itself, and ends it after its duration";
        return Err(fields.wrong("externally-controlled", "`duration` must be at least 1s, and `vus` at least 1", help));
    }
    notes.push(format!(
        "scenario {}: externally-controlled starts with {}; change the load on the page of --live, since `k6 scale` does not reach Loadstone",
        fields.name,
        loadstone_units::counted(users, "VU")
    ));
    Ok((LoadProfile::users(users, ns), None, users))
}

/// A stage without a duration is a jump: the next begins at its target.
fn closed(start: u64, stages: &[(u64, f64)]) -> Vec<ClosedStage> {
    let mut from = start;
    let mut list = Vec::new();
    for (duration_ns, target) in stages {
        let to = target.round() as u64;
        if *duration_ns > 0 {
            list.push(ClosedStage { from, to, duration_ns: *duration_ns });
        }
        from = to;
    }
    list
}

fn open(fields: &Fields<'_>, start: f64) -> Result<Vec<OpenStage>, OptionError> {
    let mut from = per_second(fields, start)?;
    let mut list = Vec::new();
    for (duration_ns, target) in fields.stages()? {
        let to = per_second(fields, target)?;
        if duration_ns > 0 {
            list.push(OpenStage::Rate { from, to, duration_ns, timing: Timing::Even });
        }
        from = to;
    }
    Ok(list)
}

fn per_second(fields: &Fields<'_>, rate: f64) -> Result<f64, OptionError> {
    let unit = fields.duration("timeUnit", "1s")?;
    if rate < 0.0 || unit == 0 {
        return Err(fields.wrong("rate", "a rate is not a number, or `timeUnit` is zero", "write rate: 10, timeUnit: \"1s\""));
    }
    Ok(rate * 1e9 / unit as f64)
}

/// VUs to create before the load, and at most.
fn open_users(fields: &Fields<'_>) -> Result<(u64, u64), OptionError> {
    let prepared = fields.named(count("preAllocatedVUs", fields.required("preAllocatedVUs")?))?;
    let most = fields.count("maxVUs", prepared)?;
    if most < prepared || most == 0 {
        return Err(fields.wrong("maxVUs", "`maxVUs` is zero or less than `preAllocatedVUs`", "increase `maxVUs`"));
    }
    Ok((prepared, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: Value) -> Result<Vec<K6Scenario>, OptionError> {
        scenarios(options.as_object().unwrap(), None)
    }

    fn profile_of(options: Value) -> LoadProfile {
        read(options).unwrap()[0].run.profile.clone()
    }

    const S: u64 = SECOND_NS;

    /// k6 1.4.2 accepts them.
    #[test]
    fn numbers_may_be_in_quotes() {
        let scenario = json!({ "executor": "per-vu-iterations", "vus": "2", "iterations": "3" });
        assert_eq!(
            profile_of(json!({ "scenarios": { "s": scenario } })),
            profile_of(json!({ "scenarios": { "s": { "executor": "per-vu-iterations", "vus": 2, "iterations": 3 } } }))
        );
        let wrong = read(json!({ "scenarios": { "s": { "executor": "constant-vus", "vus": "two", "duration": "3s" } } })).unwrap_err();
        assert!(wrong.message.contains("not a whole number"), "{wrong:?}");
    }

    /// Of the constant rate, a run of k6 1.4.2 in this segment had the iterations 1, 5, 9, … up to 77, each 500 ms after the one before.
    #[test]
    fn a_segment_has_its_part_of_each_executor() {
        let segment = json!({ "executionSegment": "1/2:3/4", "executionSegmentSequence": "0,1/2,3/4,1" });
        let segment = Segment::of(segment.as_object().unwrap()).unwrap().unwrap();
        let read = |scenario: Value| scenarios(json!({ "scenarios": { "s": scenario } }).as_object().unwrap(), Some(&segment));
        let profile_of = |scenario: Value| read(scenario).map(|mut scenarios| scenarios.remove(0).run);
        let ramp = json!({ "executor": "ramping-vus", "startVUs": 2, "stages": [{ "duration": "4s", "target": 14 }, { "duration": "2s", "target": 1 }] });
        let stages = vec![ClosedStage { from: 1, to: 4, duration_ns: 4 * S }, ClosedStage { from: 4, to: 0, duration_ns: 2 * S }];
        assert_eq!(profile_of(ramp).unwrap().profile, LoadProfile::Closed { stages });
        let constant = profile_of(json!({ "executor": "constant-vus", "vus": 7, "duration": "3s" })).unwrap();
        assert_eq!(constant.profile, LoadProfile::users(2, 3 * S));
        // Of the arrivals 0, 1, 2, … of the whole, it has 1, 5, 9, …
        let rate = json!({ "executor": "constant-arrival-rate", "rate": 8, "duration": "10s", "preAllocatedVUs": 8, "maxVUs": 16 });
        let rate = profile_of(rate).unwrap();
        assert_eq!((rate.users_max, rate.start_after_ns), (Some(4), S / 8));
        assert_eq!(rate.profile, LoadProfile::rate(2.0, 10 * S - S / 8));
        let nothing = read(json!({ "executor": "constant-vus", "vus": 1, "duration": "3s" })).unwrap_err();
        assert_eq!(nothing.option, "executionSegment");
    }

    #[test]
    fn shortcuts_are_executors() {
        let once = LoadProfile::Iterations { users: 1, count: 1, split: IterationSplit::PerUser, duration_max_ns: Some(600 * S) };
        assert_eq!(profile_of(json!({})), once);
        assert_eq!(profile_of(json!({ "vus": 3, "duration": "2s" })), LoadProfile::users(3, 2 * S));
        let shared = LoadProfile::Iterations { users: 2, count: 6, split: IterationSplit::Shared, duration_max_ns: Some(5 * S) };
        assert_eq!(profile_of(json!({ "vus": 2, "iterations": 6, "duration": "5s" })), shared);
        let stages = json!([{ "duration": "2s", "target": 3 }, { "duration": "0s", "target": 9 }, { "duration": "1s", "target": 9 }]);
        let ramp = |from, to, s: u64| ClosedStage { from, to, duration_ns: s * S };
        assert_eq!(profile_of(json!({ "stages": stages })), LoadProfile::Closed { stages: vec![ramp(1, 3, 2), ramp(9, 9, 1)] });
    }

    #[test]
    fn arrival_rates_are_per_time_unit_and_bounded_by_vus() {
        let options = json!({ "scenarios": { "a": { "executor": "constant-arrival-rate", "rate": 90, "timeUnit": "1m", "duration": "10s",
            "preAllocatedVUs": 2, "maxVUs": 5, "startTime": "3s", "gracefulStop": "0s", "exec": "buy", "env": { "A": 1 }, "tags": { "t": "x" } } } });
        let read = read(options).unwrap().remove(0);
        assert_eq!(read.run.profile, LoadProfile::rate(1.5, 10 * S));
        assert_eq!(
            (read.run.users_max, read.users_prepared, read.run.start_after_ns, read.run.graceful_stop_ns),
            (Some(5), 2, 3 * S, Some(0))
        );
        assert_eq!((read.exec.as_str(), read.env["A"].as_str(), read.tags["t"].as_str()), ("buy", "1", "x"));
    }

    #[test]
    fn iterations_of_removed_vus_have_the_grace_of_the_ramp() {
        let graces = |scenario: Value| {
            let mut scenario = scenario;
            scenario["executor"] = json!("ramping-vus");
            let run = &read(json!({ "scenarios": { "a": scenario } })).unwrap()[0].run;
            (run.graceful_ramp_down_ns, run.graceful_stop_ns)
        };
        let ramp = json!([{ "duration": "2s", "target": 3 }, { "duration": "2s", "target": 0 }]);
        assert_eq!(graces(json!({ "stages": ramp })), (Some(30 * S), Some(30 * S)));
        assert_eq!(graces(json!({ "stages": ramp, "gracefulRampDown": "1s", "gracefulStop": "5s" })), (Some(S), Some(5 * S)));
        let jump = json!([{ "duration": "2s", "target": 3 }, { "duration": "0s", "target": 0 }]);
        assert_eq!(graces(json!({ "stages": jump, "gracefulRampDown": "0s" })), (Some(0), Some(0)));
        assert_eq!(read(json!({ "vus": 3, "duration": "2s" })).unwrap()[0].run.graceful_ramp_down_ns, None);
    }

    #[test]
    fn external_control_begins_with_its_vus() {
        let options =
            |duration: &str| json!({ "scenarios": { "a": { "executor": "externally-controlled", "vus": 3, "duration": duration } } });
        let scenario = read(options("5s")).unwrap().remove(0);
        assert_eq!(scenario.run.profile, LoadProfile::users(3, 5 * S));
        assert!(scenario.notes[0].contains("--live"), "{:?}", scenario.notes);
        assert_eq!(read(options("0s")).unwrap_err().option, "externally-controlled");
    }

    #[test]
    fn what_defines_no_load_or_two_loads_is_refused() {
        for (options, option) in [
            (json!({ "duration": "2s", "stages": [{ "duration": "2s", "target": 3 }] }), "stages"),
            (json!({ "vus": 5 }), "vus"),
            (json!({ "scenarios": {} }), "scenarios"),
            (json!({ "stages": [{ "duration": "2s", "target": 0 }], "vus": 0 }), "stages"),
            (json!({ "scenarios": { "a": { "executor": "constant-vus", "vuz": 1, "duration": "2s" } } }), "vuz"),
            (json!({ "scenarios": { "a": { "executor": "externally-controlled" } } }), "externally-controlled"),
            (json!({ "scenarios": { "a": { "executor": "constant-arrival-rate", "rate": 1, "duration": "2s" } } }), "a"),
        ] {
            assert_eq!(read(options.clone()).unwrap_err().option, option, "{options}");
        }
    }
}
