//! What a k6 script receives from outside: variables, and options that override its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use loadstone_script::{Permissions, RemoteModules};
use serde_json::{Map, Value};

use crate::moved_folder::MovedFolder;
use crate::secret_sources::SecretSource;

/// Variables and overriding options.
#[derive(Debug, Clone, Default)]
pub struct K6Inputs {
    /// `__ENV`.
    pub variables: BTreeMap<String, String>,
    /// Names of the variables that the user set by a flag. The others are the environment's.
    pub set_by_flag: BTreeSet<String>,
    /// Options by name. A later tier has priority over an earlier one and over the script: the environment's `K6_*`, then flags.
    pub tiers: Vec<Map<String, Value>>,
    pub seed: Option<u64>,
    /// k6's summary is written to a file, so k6's metrics are recorded.
    pub exports_summary: bool,
    /// Finds imports by URL. `None`: they are refused.
    pub remote: Option<Arc<dyn RemoteModules + Send + Sync>>,
    /// What the script may do in addition to the default.
    pub permissions: Permissions,
    /// The sources of `k6/secrets`.
    pub secret_sources: Vec<SecretSource>,
    /// The script's files have been sent here from another machine.
    pub moved: Option<MovedFolder>,
}

/// Options that `K6_*` variables set, by the variable's name.
const NUMBERS: [(&str, &str); 6] = [
    ("K6_VUS", "vus"),
    ("K6_ITERATIONS", "iterations"),
    ("K6_BATCH", "batch"),
    ("K6_BATCH_PER_HOST", "batchPerHost"),
    ("K6_MAX_REDIRECTS", "maxRedirects"),
    ("K6_RPS", "rps"),
];
const STRINGS: [(&str, &str); 11] = [
    ("K6_DNS", "dns"),
    ("K6_SYSTEM_TAGS", "systemTags"),
    ("K6_BLACKLIST_IPS", "blacklistIPs"),
    ("K6_BLOCK_HOSTNAMES", "blockHostnames"),
    ("K6_LOCAL_IPS", "localIPs"),
    ("K6_SUMMARY_TIME_UNIT", "summaryTimeUnit"),
    ("K6_DURATION", "duration"),
    ("K6_USER_AGENT", "userAgent"),
    ("K6_SETUP_TIMEOUT", "setupTimeout"),
    ("K6_TEARDOWN_TIMEOUT", "teardownTimeout"),
    ("K6_MIN_ITERATION_DURATION", "minIterationDuration"),
];
const BOOLEANS: [(&str, &str); 10] = [
    ("K6_NO_SUMMARY", "noSummary"),
    ("K6_INSECURE_SKIP_TLS_VERIFY", "insecureSkipTLSVerify"),
    ("K6_NO_CONNECTION_REUSE", "noConnectionReuse"),
    ("K6_NO_VU_CONNECTION_REUSE", "noVUConnectionReuse"),
    ("K6_NO_COOKIES_RESET", "noCookiesReset"),
    ("K6_DISCARD_RESPONSE_BODIES", "discardResponseBodies"),
    ("K6_THROW", "throw"),
    ("K6_NO_SETUP", "noSetup"),
    ("K6_NO_TEARDOWN", "noTeardown"),
    ("K6_NO_THRESHOLDS", "noThresholds"),
];

/// Whether a variable sets an option.
pub(crate) fn sets_option(variable: &str) -> bool {
    let listed = NUMBERS.iter().chain(&STRINGS).chain(&BOOLEANS).any(|(name, _)| *name == variable);
    listed || ["K6_SUMMARY_TREND_STATS", "K6_STAGES", "K6_TAGS"].contains(&variable)
}

/// The options that `K6_*` variables set.
///
/// # Errors
/// A value of the wrong type.
pub fn options_of_environment(variables: &BTreeMap<String, String>) -> Result<Map<String, Value>, String> {
    let mut options = Map::new();
    for (variable, option) in NUMBERS {
        if let Some(text) = variables.get(variable) {
            let number: u64 = text.parse().map_err(|_| format!("{variable}={text}: expected a whole number"))?;
            options.insert(option.to_owned(), number.into());
        }
    }
    for (variable, option) in STRINGS {
        if let Some(text) = variables.get(variable) {
            options.insert(option.to_owned(), text.as_str().into());
        }
    }
    for (variable, option) in BOOLEANS {
        if let Some(text) = variables.get(variable) {
            let value = match text.as_str() {
                "true" | "1" | "t" | "T" | "TRUE" | "True" => true,
                "false" | "0" | "f" | "F" | "FALSE" | "False" => false,
                _ => return Err(format!("{variable}={text}: expected true or false")),
            };
            options.insert(option.to_owned(), value.into());
        }
    }
    if let Some(text) = variables.get("K6_SUMMARY_TREND_STATS") {
        options.insert("summaryTrendStats".to_owned(), text.split(',').map(str::trim).collect());
    }
    if let Some(text) = variables.get("K6_TAGS").filter(|text| !text.trim().is_empty()) {
        let pair = |pair: &str| match pair.split_once(':') {
            Some((name, value)) => Ok((name.to_owned(), value.into())),
            None => Err(format!("K6_TAGS={text}: write NAME:VALUE,NAME:VALUE")),
        };
        options.insert("tags".to_owned(), Value::Object(text.split(',').map(pair).collect::<Result<_, String>>()?));
    }
    if let Some(text) = variables.get("K6_STAGES") {
        options.insert("stages".to_owned(), stages(&text.split(',').map(str::to_owned).collect::<Vec<_>>())?);
    }
    Ok(options)
}

/// `30s:10` for each stage, as the flag `--stage` takes it.
///
/// # Errors
/// A stage without a colon or with another target than a number.
pub fn stages(written: &[String]) -> Result<Value, String> {
    let stage = |text: &String| {
        let wrong = || format!("stage \"{text}\": write DURATION:TARGET, such as 30s:10");
        let (duration, target) = text.trim().split_once(':').ok_or_else(wrong)?;
        let target: u64 = target.parse().map_err(|_| wrong())?;
        Ok(serde_json::json!({ "duration": duration, "target": target }))
    };
    written.iter().map(stage).collect::<Result<Vec<_>, String>>().map(Value::Array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_k6_become_options() {
        let variables = [("K6_VUS", "3"), ("K6_DURATION", "2s"), ("K6_STAGES", "1s:2,3s:0"), ("K6_THROW", "true"), ("HOME", "/root")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let options = options_of_environment(&variables).unwrap();
        assert_eq!(
            Value::Object(options),
            serde_json::json!({ "vus": 3, "duration": "2s", "throw": true, "stages": [{ "duration": "1s", "target": 2 }, { "duration": "3s", "target": 0 }] })
        );
        for (name, value) in [("K6_VUS", "many"), ("K6_RPS", "2.5"), ("K6_TAGS", "team=shop")] {
            let wrong = [(name.to_owned(), value.to_owned())].into();
            assert!(options_of_environment(&wrong).unwrap_err().contains(name));
        }
        let tags = [("K6_TAGS".to_owned(), "team:shop,url:http://a:80".to_owned())].into();
        assert_eq!(options_of_environment(&tags).unwrap()["tags"], serde_json::json!({ "team": "shop", "url": "http://a:80" }));
    }
}
