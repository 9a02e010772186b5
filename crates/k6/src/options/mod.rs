//! The options of a k6 script, as evaluated: they become settings and a test plan. A wrong option is an error.
//!
//! Read [`K6Settings`]. `executors` reads the load, `thresholds` the objectives.

mod addresses;
mod duration;
mod executors;
mod option_error;
mod planned_vus;
mod segment;
mod segmented;
mod system_tags;
mod thresholds;
mod tls;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use loadstone_protocol::{AddressRules, ClientIdentity, NameResolution, TlsOffer};
use serde_json::{Map, Value};

pub(crate) use duration::duration;
pub(crate) use executors::{K6Scenario, scenarios};
pub(crate) use option_error::{OptionError, wrong};
pub(crate) use planned_vus::{PlannedVus, planned_vus};
pub(crate) use segment::{Segment, Stripe};
pub(crate) use thresholds::{Planned, PlannedMetric, SubMetric, thresholds};

/// Everything except load and thresholds.
#[derive(Debug, Clone)]
pub(crate) struct K6Settings {
    pub(crate) tags: BTreeMap<String, String>,
    /// Names of the tags that are added without the script.
    pub(crate) system_tags: BTreeSet<String>,
    pub(crate) user_agent: Option<String>,
    pub(crate) insecure: bool,
    pub(crate) reuses_connections: bool,
    pub(crate) reuses_connections_between_iterations: bool,
    pub(crate) resets_cookies: bool,
    pub(crate) discards_bodies: bool,
    pub(crate) redirects_max: u8,
    pub(crate) batch: usize,
    pub(crate) batch_per_host: usize,
    pub(crate) throws: bool,
    pub(crate) min_iteration_ns: u64,
    /// Requests per second of all VUs together. 0: no limit.
    pub(crate) rps: f64,
    pub(crate) address_rules: AddressRules,
    /// `None`: by the TTL of names, and with all of their addresses in turn.
    pub(crate) resolution: Option<NameResolution>,
    pub(crate) tls: TlsOffer,
    /// `tlsAuth`.
    pub(crate) identities: Vec<ClientIdentity>,
    /// Local addresses, used in turn.
    pub(crate) sources: Vec<IpAddr>,
    pub(crate) setup_timeout_ns: u64,
    pub(crate) teardown_timeout_ns: u64,
    pub(crate) runs_setup: bool,
    pub(crate) runs_teardown: bool,
    pub(crate) runs_summary: bool,
    /// Columns of trends in the summary: `avg`, `p(95)`.
    pub(crate) trend_stats: Vec<String>,
    pub(crate) time_unit: String,
    /// Options that change nothing in Loadstone, with the reason.
    pub(crate) notes: Vec<String>,
}

/// Options of the load.
const OF_LOAD: [&str; 8] =
    ["vus", "duration", "iterations", "stages", "scenarios", "thresholds", "executionSegment", "executionSegmentSequence"];
/// Options that configure outputs or services of k6, and change neither load nor verdict.
const WITHOUT_EFFECT: [(&str, &str); 7] = [
    ("ext", "settings of k6 extensions and of Grafana Cloud"),
    ("cloud", "settings of Grafana Cloud"),
    ("noUsageReport", "Loadstone sends no usage report"),
    ("httpDebug", "`loadstone try` shows requests and responses"),
    ("paused", "Loadstone starts at once"),
    ("linger", "Loadstone ends after the load"),
    ("summaryExport", "use the flag --summary-export"),
];

/// Merges the tiers over the script's options, as k6 does: a tier with any of the load's options replaces all of those below it.
pub(crate) fn merged(script: Map<String, Value>, tiers: &[Map<String, Value>]) -> Map<String, Value> {
    let mut options = script;
    options.retain(|_, value| !value.is_null());
    for tier in tiers {
        if ["duration", "iterations", "stages", "scenarios"].iter().any(|name| tier.contains_key(*name)) {
            ["duration", "iterations", "stages", "scenarios"].iter().for_each(|name| _ = options.remove(*name));
        }
        options.extend(tier.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    options
}

/// A whole number that is not negative. As in k6, also one in quotes.
pub(crate) fn count(option: &str, value: &Value) -> Result<u64, OptionError> {
    let whole = |number: &f64| number.fract() == 0.0 && *number >= 0.0;
    let number = value
        .as_u64()
        .or_else(|| value.as_f64().filter(whole).map(|number| number as u64))
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()));
    number.ok_or_else(|| wrong(option, format!("{option}: {value} is not a whole number"), "write a number such as 10"))
}

fn boolean(option: &str, value: &Value) -> Result<bool, OptionError> {
    value.as_bool().ok_or_else(|| wrong(option, format!("{option}: {value} is neither true nor false"), "write true or false"))
}

/// Values of tags and variables: strings, and what k6 converts to them.
pub(crate) fn strings(option: &str, value: &Value) -> Result<BTreeMap<String, String>, OptionError> {
    let Some(object) = value.as_object() else {
        return Err(wrong(option, format!("{option}: expected an object"), "write { name: \"value\" }"));
    };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(object.iter().map(|(name, value)| (name.clone(), text(value))).collect())
}

/// The share of a percentile that is written as `p(95)`.
pub(crate) fn percentile(stat: &str) -> Option<f64> {
    let number: f64 = stat.strip_prefix("p(")?.strip_suffix(')')?.parse().ok()?;
    (0.0..=100.0).contains(&number).then_some(number / 100.0)
}

fn trend_stats(option: &str, value: &Value) -> Result<Vec<String>, OptionError> {
    let help = "write a list such as [\"avg\", \"p(99)\", \"count\"]";
    let refuse = |what: &Value| wrong(option, format!("{option}: {what} is not a statistic of trends"), help);
    let list = value.as_array().ok_or_else(|| refuse(value))?;
    let stat = |written: &Value| match written.as_str() {
        Some(stat) if ["avg", "min", "med", "max", "count"].contains(&stat) || percentile(stat).is_some() => Ok(stat.to_owned()),
        _ => Err(refuse(written)),
    };
    list.iter().map(stat).collect()
}

impl K6Settings {
    /// Reads them. Unknown names are notes, since k6 ignores them with a warning.
    pub(crate) fn read(options: &Map<String, Value>) -> Result<Self, OptionError> {
        let mut settings = Self {
            tags: BTreeMap::new(),
            system_tags: system_tags::default(),
            user_agent: None,
            insecure: false,
            reuses_connections: true,
            reuses_connections_between_iterations: true,
            resets_cookies: true,
            discards_bodies: false,
            redirects_max: 10,
            batch: 20,
            batch_per_host: 6,
            throws: false,
            min_iteration_ns: 0,
            rps: 0.0,
            address_rules: AddressRules::default(),
            resolution: None,
            tls: TlsOffer::default(),
            identities: Vec::new(),
            sources: Vec::new(),
            setup_timeout_ns: 60_000_000_000,
            teardown_timeout_ns: 60_000_000_000,
            runs_setup: true,
            runs_teardown: true,
            runs_summary: true,
            trend_stats: ["avg", "min", "med", "max", "p(90)", "p(95)"].map(str::to_owned).to_vec(),
            time_unit: String::new(),
            notes: Vec::new(),
        };
        for (name, value) in options.iter().filter(|(name, _)| !OF_LOAD.contains(&name.as_str())) {
            settings.set(name, value)?;
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), OptionError> {
        match name {
            "tags" => self.tags = strings(name, value)?,
            "systemTags" => {
                let (tags, note) = system_tags::read(value)?;
                self.system_tags = tags;
                self.notes.extend(note);
            }
            "dns" => self.resolution = Some(addresses::dns(value)?),
            "userAgent" => self.user_agent = value.as_str().map(str::to_owned),
            "insecureSkipTLSVerify" => self.insecure = boolean(name, value)?,
            "noConnectionReuse" => self.reuses_connections = !boolean(name, value)?,
            "noVUConnectionReuse" => self.reuses_connections_between_iterations = !boolean(name, value)?,
            "noCookiesReset" => self.resets_cookies = !boolean(name, value)?,
            "discardResponseBodies" => self.discards_bodies = boolean(name, value)?,
            "maxRedirects" => self.redirects_max = count(name, value)?.min(255) as u8,
            "batch" => self.batch = count(name, value)?.max(1) as usize,
            "batchPerHost" => self.batch_per_host = count(name, value)? as usize,
            "throw" => self.throws = boolean(name, value)?,
            "minIterationDuration" => self.min_iteration_ns = duration(name, value)?,
            // As in k6, a whole number.
            "rps" => self.rps = count(name, value)? as f64,
            "tlsVersion" => self.tls.versions = tls::versions(value)?,
            "tlsCipherSuites" => self.notes.extend(tls::cipher_suites(value, &mut self.tls)?),
            "tlsAuth" => {
                let (identities, note) = tls::client_certificates(value)?;
                self.identities = identities;
                self.notes.extend(note);
            }
            "hosts" => addresses::hosts(value, &mut self.address_rules)?,
            "blockHostnames" => self.address_rules.blocked_hosts = addresses::list(name, value)?,
            "blacklistIPs" => self.address_rules.blocked_addresses = addresses::list(name, value)?,
            "localIPs" => self.sources = addresses::local_ips(value)?,
            "setupTimeout" => self.setup_timeout_ns = duration(name, value)?,
            "teardownTimeout" => self.teardown_timeout_ns = duration(name, value)?,
            "noSetup" => self.runs_setup = !boolean(name, value)?,
            "noTeardown" => self.runs_teardown = !boolean(name, value)?,
            "noSummary" => self.runs_summary = !boolean(name, value)?,
            "summaryTrendStats" => self.trend_stats = trend_stats(name, value)?,
            "summaryTimeUnit" => match value.as_str() {
                Some(unit @ ("" | "s" | "ms" | "us")) => unit.clone_into(&mut self.time_unit),
                _ => return Err(wrong(name, format!("{name}: {value} is not a unit"), "write \"s\", \"ms\" or \"us\"")),
            },
            "noThresholds" => {
                boolean(name, value)?;
            }
            _ => match WITHOUT_EFFECT.iter().find(|(known, _)| *known == name) {
                Some((_, reason)) => self.notes.push(format!("the option `{name}` has no effect: {reason}")),
                None => self.notes.push(format!("the option `{name}` is unknown to Loadstone and has no effect")),
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_tier_with_load_replaces_the_load_below_it() {
        let script = map(json!({ "scenarios": { "a": {} }, "vus": 5, "userAgent": "x" }));
        let merged = merged(script, &[map(json!({ "duration": "3s" }))]);
        assert_eq!(Value::Object(merged), json!({ "vus": 5, "userAgent": "x", "duration": "3s" }));
    }

    #[test]
    fn wrong_options_are_refused_and_unknown_ones_are_noted() {
        for wrong in [json!("many"), json!(2.5), json!(-1)] {
            assert!(K6Settings::read(&map(json!({ "rps": wrong }))).is_err(), "{wrong}");
        }
        let noted = K6Settings::read(&map(json!({ "ext": {}, "colour": "red", "userAgent": "me" }))).unwrap();
        assert_eq!((noted.notes.len(), noted.user_agent.as_deref()), (2, Some("me")));
        assert!(K6Settings::read(&map(json!({ "throw": "yes" }))).is_err());
    }
}
