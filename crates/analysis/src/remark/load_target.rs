//! The target of the load, and the line of script that observes it.

use loadstone_plan::{ParameterKind, TestPlan};

use crate::advice_terms::{AdviceTerms, WantedObserver};
use crate::facts::Facts;

/// Schemes of databases: the observer of each, and the port where a URL names none.
const DATABASES: [(&str, &str, u16); 6] = [
    ("postgres", "postgres", 5432),
    ("postgresql", "postgres", 5432),
    ("mysql", "mysql", 3306),
    ("mariadb", "mysql", 3306),
    ("redis", "redis", 6379),
    ("rediss", "redis", 6379),
];

/// A port for advice where the target's is unknown.
const PORT_EXAMPLE: u16 = 8080;

/// Where a test's requests go, as far as its plan says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadTarget<'a> {
    /// A service that listens on this port.
    Service {
        port: u16,
    },
    /// A database, with the name of its observer, and of the parameter that holds its URL.
    Database {
        observer: &'static str,
        parameter: &'a str,
        port: u16,
    },
    Unknown,
}

impl<'a> LoadTarget<'a> {
    /// `recorded`: the system, as the record of another tool names it.
    fn of(plan: &'a TestPlan, recorded: Option<&str>) -> Self {
        if let Some(target) = plan.target.as_deref().or(recorded).or(plan.named_target.as_deref()) {
            let default = if target.starts_with("https:") { 443 } else { 80 };
            return port_of(target, default).map_or(Self::Unknown, |port| Self::Service { port });
        }
        let mut databases = plan.parameters.iter().filter(|parameter| parameter.kind == ParameterKind::Url).filter_map(|parameter| {
            let (scheme, _) = parameter.value.split_once("://")?;
            let (_, observer, default) = DATABASES.into_iter().find(|(known, ..)| *known == scheme)?;
            Some(Self::Database { observer, parameter: &parameter.name, port: port_of(&parameter.value, default)? })
        });
        databases.next().unwrap_or(Self::Unknown)
    }

    pub(crate) fn of_run(facts: &Facts<'a>) -> Self {
        Self::of(&facts.run.plan, facts.tally.record().and_then(|record| record.target.as_deref()))
    }

    /// Advice to observe its process.
    pub(crate) fn observe_process(self, terms: &AdviceTerms) -> String {
        let (what, port) = match self {
            Self::Service { port } => ("the target's process", Some(port)),
            Self::Database { port, .. } => ("the database's process", Some(port)),
            Self::Unknown => ("the target's process", None),
        };
        let observing = terms.observing(&[WantedObserver::Process { port: port.unwrap_or(PORT_EXAMPLE) }]);
        let which = if port.is_some() { "" } else { ", with the port that it listens on" };
        format!("Observe {what}: {observing}{which}.")
    }

    /// Advice to observe the runtime of a service, which counts busy request threads or a blocked event loop. `None`: one is already observed.
    pub(crate) fn observe_runtime(self, plan: &TestPlan, terms: &AdviceTerms) -> Option<String> {
        let is_observed = kinds(plan).any(|kind| ["jvm", "node", "python", "go"].contains(&kind));
        let port = match self {
            Self::Service { port } => port,
            Self::Database { .. } => return None,
            Self::Unknown => PORT_EXAMPLE,
        };
        (!is_observed).then(|| {
            format!(
                "Observe its runtime, which shows busy request threads or a blocked event loop: {} for Java, {} for Node.",
                terms.observing(&[WantedObserver::Runtime { name: "jvm", port }]),
                terms.observing(&[WantedObserver::Runtime { name: "node", port }])
            )
        })
    }

    /// Advice to observe the database behind a service. A URL among the plan's parameters identifies it. `None`: a database is already observed.
    pub(crate) fn database_behind(plan: &TestPlan, terms: &AdviceTerms) -> Option<String> {
        if kinds(plan).any(|kind| DATABASES.iter().any(|(_, observer, _)| *observer == kind)) {
            return None;
        }
        let known = plan.parameters.iter().find_map(|parameter| {
            let (scheme, _) = parameter.value.split_once("://")?;
            let (_, observer, _) = DATABASES.into_iter().find(|(known, ..)| *known == scheme)?;
            Some((observer, &parameter.name))
        });
        Some(match known {
            Some((name, parameter)) => {
                let observing = terms.observing(&[WantedObserver::Database { name, url: "…" }]);
                format!("its database ({observing}, with the URL of the parameter `{parameter}`)")
            }
            None => {
                let observing = terms.observing(&[WantedObserver::Database { name: "postgres", url: "\"postgres://…\"" }]);
                format!("its database ({observing})")
            }
        })
    }

    /// Advice to observe it, if it is a database that is not observed.
    pub(crate) fn observe_database(self, plan: &TestPlan, terms: &AdviceTerms) -> Option<String> {
        match self {
            Self::Database { observer, parameter, .. } if !kinds(plan).any(|kind| kind == observer) => Some(format!(
                "Observe the database itself: {}, with the URL of the parameter `{parameter}`.",
                terms.observing(&[WantedObserver::Database { name: observer, url: "…" }])
            )),
            _ => None,
        }
    }
}

/// The kinds of the plan's observers.
fn kinds(plan: &TestPlan) -> impl Iterator<Item = &str> {
    plan.observers.iter().filter_map(|observer| observer.get("kind").and_then(serde_json::Value::as_str))
}

/// Of a URL; `None` where it is none.
fn port_of(url: &str, default: u16) -> Option<u16> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let port = authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    Some(port.unwrap_or(default))
}

#[cfg(test)]
mod tests {
    use loadstone_plan::{Load, Parameter, ParameterOrigin};

    use super::*;

    fn plan(target: Option<&str>, urls: &[&str]) -> TestPlan {
        let parameters = urls.iter().enumerate().map(|(place, url)| Parameter {
            name: format!("p{place}"),
            kind: ParameterKind::Url,
            help: None,
            default: None,
            value: (*url).to_owned(),
            origin: ParameterOrigin::Default,
            secret: false,
        });
        let plan = TestPlan::new("t", ["S"], Load::Sequence(Vec::new()));
        TestPlan { target: target.map(str::to_owned), parameters: parameters.collect(), ..plan }
    }

    #[test]
    fn advice_names_what_the_load_goes_to() {
        let process = |target, urls: &[&str]| LoadTarget::of(&plan(target, urls), None).observe_process(&AdviceTerms::TestFile);
        let at = |port: u16| format!("`observe: [observe.process({{ port: {port} }})]`");
        for (target, urls, expected) in [
            (Some("http://h:9000/x"), &[][..], at(9000)),
            (Some("https://h"), &["postgres://a@h"], at(443)),
            (None, &["http://h:1", "postgres://a:•••@h:7000/shop", "redis://h"], at(7000)),
            (None, &["mariadb://a@h/shop"], at(3306)),
            (None, &["http://h:1"], "with the port that it listens on".to_owned()),
        ] {
            assert!(process(target, urls).contains(&expected), "{target:?} {urls:?}");
        }
        let of_k6 = TestPlan { named_target: Some("http://h:9000".to_owned()), ..plan(None, &[]) };
        assert!(LoadTarget::of(&of_k6, None).observe_process(&AdviceTerms::TestFile).contains(&at(9000)));
        let mut of_database = plan(None, &["mysql://a@h"]);
        let database = LoadTarget::of(&of_database, None).observe_database(&of_database, &AdviceTerms::TestFile);
        assert_eq!(
            database.as_deref(),
            Some("Observe the database itself: `observe: [observe.mysql(…)]`, with the URL of the parameter `p0`.")
        );
        of_database.observers.push(serde_json::json!({ "kind": "mysql" }));
        assert_eq!(LoadTarget::of(&of_database, None).observe_database(&of_database, &AdviceTerms::TestFile), None);
        let of_service = plan(Some("http://h"), &["mysql://a@h"]);
        assert_eq!(LoadTarget::of(&of_service, None).observe_database(&of_service, &AdviceTerms::TestFile), None);
    }

    #[test]
    fn the_database_behind_a_service_is_the_one_that_the_plan_names_and_none_that_is_observed() {
        let behind = |urls: &[&str], observed: &[&str]| {
            let mut plan = plan(Some("http://h"), urls);
            plan.observers = observed.iter().map(|kind| serde_json::json!({ "kind": kind })).collect();
            LoadTarget::database_behind(&plan, &AdviceTerms::TestFile)
        };
        assert!(behind(&["mysql://a@h"], &["process"]).unwrap().contains("observe.mysql(…)"));
        assert!(behind(&[], &["process"]).unwrap().contains("observe.postgres("));
        assert_eq!(behind(&["redis://h"], &["process", "redis"]), None);
    }
}
