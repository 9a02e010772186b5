//! `vus`, `stages`, `scenarios`, …: load profiles.

use oxc_semantic::NodeId;

use super::values::Value;
use crate::text::{go_duration, number, quoted, seconds};

/// One scenario of k6.
pub(super) struct ScenarioLoad {
    pub(super) name: String,
    /// The function that it runs.
    pub(super) function: String,
    /// `users(10).for("30s")`
    pub(super) profile: String,
    /// Whether users repeat, and so keep what they had.
    pub(super) closed: bool,
}

/// Reads `options`; what cannot be kept is noted.
pub(super) struct LoadReader<'r> {
    pub(super) render: &'r dyn Fn(NodeId) -> String,
    /// What the builders are called in the file.
    pub(super) local: &'r dyn Fn(&'static str) -> String,
    pub(super) uses: Vec<&'static str>,
    pub(super) notes: Vec<String>,
}

impl LoadReader<'_> {
    pub(super) fn parts(&mut self, options: &Value) -> Vec<ScenarioLoad> {
        if let Some(Value::Object(scenarios)) = options.get("scenarios") {
            return scenarios.iter().filter_map(|(name, scenario)| self.scenario(name, scenario)).collect();
        }
        if let Some(Value::Source(_)) = options.get("scenarios") {
            self.notes.push("`scenarios` could not be read, because the script computes it at run time: the load is one iteration".into());
        }
        let executor = match options {
            _ if options.get("stages").is_some() => "ramping-vus",
            _ if options.get("iterations").is_some() => "shared-iterations",
            _ if options.get("duration").is_some() => "constant-vus",
            _ => "shared-iterations",
        };
        let profile = self.profile(executor, options, "default").unwrap_or_else(|| self.one_iteration());
        vec![ScenarioLoad { name: "default".into(), function: "default".into(), profile, closed: true }]
    }

    fn one_iteration(&mut self) -> String {
        format!("{}(1)", self.builder("iterations"))
    }

    fn scenario(&mut self, name: &str, scenario: &Value) -> Option<ScenarioLoad> {
        let executor = scenario.get("executor").and_then(Value::text).unwrap_or("per-vu-iterations");
        let function = scenario.get("exec").and_then(Value::text).unwrap_or("default").to_owned();
        let mut profile = match self.profile(executor, scenario, name) {
            Some(profile) => profile,
            None => {
                self.notes.push(format!("scenario \"{name}\": the executor {executor:?} has no counterpart; its load is one iteration"));
                self.one_iteration()
            }
        };
        if let Some(stop) = scenario.get("gracefulStop") {
            profile.push_str(&format!(".gracefulStop({})", self.duration(stop)));
        }
        if let Some(start) = scenario.get("startTime") {
            profile.push_str(&format!(".startAfter({})", self.duration(start)));
        }
        for (key, why) in [
            ("env", "scenarios share one environment"),
            ("tags", "thresholds and reports distinguish scenarios by name"),
            ("gracefulRampDown", "when the number of users falls, surplus users end after their iteration"),
            ("options", "there is no browser"),
        ] {
            if scenario.get(key).is_some() {
                self.notes.push(format!("`{key}` of scenario \"{name}\" is left out: {why}"));
            }
        }
        let closed = !executor.ends_with("arrival-rate");
        Some(ScenarioLoad { name: name.to_owned(), function, profile, closed })
    }

    fn profile(&mut self, executor: &str, of: &Value, name: &str) -> Option<String> {
        let vus = of.get("vus").map_or_else(|| "1".to_owned(), |vus| self.count(vus));
        match executor {
            "constant-vus" => Some(format!("{}({vus}).for({})", self.builder("users"), self.duration(of.get("duration")?))),
            "ramping-vus" => {
                let start = of.get("startVUs").or(of.get("vus")).cloned().unwrap_or(Value::Number(1.0));
                let base = self.builder("users");
                self.stages(&base, &start, of.get("stages")?, &|level| level.to_owned())
            }
            "shared-iterations" | "per-vu-iterations" => {
                let count = of.get("iterations").map_or_else(|| "1".to_owned(), |count| self.count(count));
                let mut profile = format!("{}({count})", self.builder("iterations"));
                if vus != "1" {
                    profile.push_str(&format!(".users({vus})"));
                }
                if executor == "per-vu-iterations" {
                    profile.push_str(".perUser()");
                }
                if let Some(limit) = of.get("maxDuration").or(of.get("duration")) {
                    profile.push_str(&format!(".for({})", self.duration(limit)));
                }
                Some(profile)
            }
            "constant-arrival-rate" | "ramping-arrival-rate" => self.arrivals(executor, of, name),
            "externally-controlled" => {
                self.notes.push(format!("scenario \"{name}\": an external program cannot change the number of users during the run"));
                let time = of.get("duration").filter(|time| time.text() != Some("0"))?;
                Some(format!("{}({vus}).for({})", self.builder("users"), self.duration(time)))
            }
            _ => None,
        }
    }

    fn arrivals(&mut self, executor: &str, of: &Value, name: &str) -> Option<String> {
        let unit = of.get("timeUnit").map_or(Some(1.0), |unit| go_duration(unit.text()?))?;
        let rate = |level: &str| match (level.parse::<f64>(), unit) {
            (_, 1.0) => level.to_owned(),
            (Ok(level), 60.0) => format!("\"{}/m\"", number(level)),
            (Ok(level), 3600.0) => format!("\"{}/h\"", number(level)),
            (Ok(level), unit) => number(level / unit),
            (Err(_), unit) => format!("{level} / {}", number(unit)),
        };
        let base = self.builder("arrivals");
        let mut profile = if executor == "constant-arrival-rate" {
            let level = self.count(of.get("rate")?);
            format!("{base}({}).for({})", rate(&level), self.duration(of.get("duration")?))
        } else {
            let start = of.get("startRate").cloned().unwrap_or(Value::Number(0.0));
            self.stages(&base, &start, of.get("stages")?, &rate)?
        };
        if let Some(most) = of.get("maxVUs").or(of.get("preAllocatedVUs")) {
            profile.push_str(&format!(".maxUsers({})", self.count(most)));
        }
        self.notes.push(format!(
            "scenario \"{name}\": arrivals without a free user wait, and the wait is part of the response time; k6 drops them (dropped_iterations)"
        ));
        Some(profile)
    }

    /// `users.ramp(0, 10).for("1m").then(users(10).for("5m"))`. A stage of no length sets the level at which the next one begins.
    fn stages(&mut self, base: &str, start: &Value, stages: &Value, level: &dyn Fn(&str) -> String) -> Option<String> {
        let Value::List(stages) = stages else { return None };
        let mut from = self.count(start);
        let mut profile = String::new();
        for stage in stages {
            let to = self.count(stage.get("target")?);
            let length = stage.get("duration")?;
            if length.text().and_then(go_duration) == Some(0.0) {
                from = to;
                continue;
            }
            let part =
                if from == to { format!("{base}({})", level(&to)) } else { format!("{base}.ramp({}, {})", level(&from), level(&to)) };
            let part = format!("{part}.for({})", self.duration(length));
            profile = if profile.is_empty() { part } else { format!("{profile}.then({part})") };
            from = to;
        }
        (!profile.is_empty()).then_some(profile)
    }

    fn builder(&mut self, name: &'static str) -> String {
        self.uses.push(name);
        (self.local)(name)
    }

    fn count(&self, value: &Value) -> String {
        match value {
            Value::Source(id) => format!("Number({})", (self.render)(*id)),
            value => number(value.number().unwrap_or(1.0)),
        }
    }

    pub(super) fn duration(&self, value: &Value) -> String {
        match value {
            Value::Source(id) => (self.render)(*id),
            Value::Number(milliseconds) => quoted(&seconds(milliseconds / 1000.0)),
            value => match value.text().and_then(go_duration) {
                Some(length) => quoted(&seconds(length)),
                None => quoted(value.text().unwrap_or("1s")),
            },
        }
    }
}
