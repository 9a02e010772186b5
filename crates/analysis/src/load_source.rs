//! What sent or carried the requests of a run, and may have delayed them: the name that every surface uses.

use loadstone_plan::TestPlan;
use serde::{Deserialize, Serialize};

/// Formats of records that the system writes: the tool that sends its load is unknown.
const OF_THE_SYSTEM: [&str; 2] = ["access-log", "otlp"];

/// Loadstone's own load generator, the tool that `loadstone watch` follows, or Loadstone's proxy between a tool and the system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LoadSource {
    /// Within a sentence: `the load generator`, `k6`, `the proxy`.
    pub name: String,
    /// The delay that response times contain and service times do not: `schedule lag`, `delay of the proxy`.
    pub lag: String,
}

impl Default for LoadSource {
    fn default() -> Self {
        Self { name: "the load generator".to_owned(), lag: "schedule lag".to_owned() }
    }
}

impl LoadSource {
    pub fn of(plan: &TestPlan) -> Self {
        match &plan.recorded {
            Some(record) if record.format == "proxy" => Self { name: "the proxy".to_owned(), lag: "delay of the proxy".to_owned() },
            Some(record) if !OF_THE_SYSTEM.contains(&record.format.as_str()) => Self { name: record.tool.clone(), ..Self::default() },
            _ => Self::default(),
        }
    }

    /// Whether it is Loadstone's own load generator, or unknown.
    pub fn is_own(&self) -> bool {
        *self == Self::default()
    }

    /// The name at the beginning of a sentence. Tools have names, which stay as they are.
    pub fn title(&self) -> String {
        match self.name.strip_prefix("the ") {
            Some(name) => format!("The {name}"),
            None => self.name.clone(),
        }
    }

    /// Within a sentence that has named it: `the generator`.
    pub fn short_name(&self) -> &str {
        if self.is_own() { "the generator" } else { &self.name }
    }

    /// A text about Loadstone's load generator as one about this source: `Health of the load generator` becomes `Health of k6`.
    pub fn in_place_of_generator(&self, text: &str) -> String {
        if self.is_own() {
            return text.to_owned();
        }
        let bare = self.name.strip_prefix("the ").map_or_else(|| self.name.clone(), |name| name[..1].to_uppercase() + &name[1..]);
        let named = text.replace("the load generator", &self.name).replace("the generator", &self.name);
        named.replace("Load generator", &bare).replace("Generator", &bare)
    }
}

#[cfg(test)]
mod tests {
    use loadstone_plan::{Load, LoadProfile, RecordedLoad, ScenarioId, ScenarioRun};

    use super::*;

    fn of(format: &str, tool: &str) -> LoadSource {
        let load = Load::Run(ScenarioRun::new(ScenarioId(0), LoadProfile::Recorded { model: loadstone_plan::LoadModel::Users }));
        let recorded = RecordedLoad {
            tool: tool.to_owned(),
            format: format.to_owned(),
            command: Vec::new(),
            resolution_ns: 1,
            knows_schedule: false,
            planned_requests: None,
            lacks: Vec::new(),
        };
        LoadSource::of(&TestPlan { recorded: Some(recorded), ..TestPlan::new("test", ["s".to_owned()], load) })
    }

    #[test]
    fn what_may_have_delayed_requests_has_its_own_name() {
        let (tool, proxy) = (of("k6-json", "k6"), of("proxy", "wrk"));
        assert_eq!((tool.name.as_str(), tool.lag.as_str(), tool.title().as_str()), ("k6", "schedule lag", "k6"));
        assert_eq!((proxy.name.as_str(), proxy.lag.as_str(), proxy.title().as_str()), ("the proxy", "delay of the proxy", "The proxy"));
        assert_eq!(proxy.in_place_of_generator("Health of the load generator"), "Health of the proxy");
        assert_eq!(
            (proxy.in_place_of_generator("Generator delays").as_str(), tool.in_place_of_generator("Load generator").as_str()),
            ("Proxy delays", "k6")
        );
        // An access log does not say who sends.
        assert!(of("access-log", "an access log").is_own() && of("otlp", "OpenTelemetry").is_own());
    }
}
