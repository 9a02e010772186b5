//! Notes on the environment's `K6_*` variables that change nothing in Loadstone.

use std::collections::BTreeMap;

use crate::input::sets_option;

/// Variables of k6 without effect, by the start of their names.
/// Source: the variables that the code of k6 1.3 and its outputs reads.
const KNOWN_STARTS: [&str; 37] = [
    "K6_AUTO_EXTENSION_RESOLUTION",
    "K6_BINARY_PROVISIONING",
    "K6_BROWSER_",
    "K6_BUILD_SERVICE_URL",
    "K6_CLOUD",
    "K6_COMPATIBILITY_MODE",
    "K6_CONFIG",
    "K6_CONSOLE_OUTPUT",
    "K6_CSV_",
    "K6_ENABLE_COMMUNITY_EXTENSIONS",
    "K6_EXIT_ON_RUNNING",
    "K6_HOSTS",
    "K6_HTTP_DEBUG",
    "K6_INCLUDE_SYSTEM_ENV_VARS",
    "K6_INFLUXDB_",
    "K6_INSTANCE_SCENARIOS",
    "K6_LINGER",
    "K6_LOG_",
    "K6_METRIC_SAMPLES_BUFFER_SIZE",
    "K6_NO_ARCHIVE_UPLOAD",
    "K6_NO_COLOR",
    "K6_NO_USAGE_REPORT",
    "K6_OTEL_",
    "K6_OUT",
    "K6_PAUSED",
    "K6_PROFILING_ENABLED",
    "K6_PROMETHEUS_RW_",
    "K6_SHOW_CLOUD_LOGS",
    "K6_STATSD_",
    "K6_SUMMARY_EXPORT",
    "K6_SUMMARY_MODE",
    "K6_THRESHOLDS",
    "K6_TLSAUTH",
    "K6_TLS_CIPHER_SUITES",
    "K6_TRACES_OUTPUT",
    "K6_TYPE",
    "K6_WEB_DASHBOARD",
];

/// One note on k6's variables that Loadstone does not support, and one on unknown ones. Variables that the script reads are its own.
pub(crate) fn environment_notes(variables: &BTreeMap<String, String>, is_read: impl Fn(&str) -> bool) -> Vec<String> {
    let ignored = variables.keys().filter(|name| name.starts_with("K6_") && !sets_option(name) && !is_read(name));
    let (known, unknown): (Vec<&str>, Vec<&str>) =
        ignored.map(String::as_str).partition(|name| KNOWN_STARTS.iter().any(|start| name.starts_with(start)));
    let note = |names: Vec<&str>, why: &str| (!names.is_empty()).then(|| format!("without effect: {} ({why})", names.join(", ")));
    let known = note(known, "variables of k6 that Loadstone does not use");
    known.into_iter().chain(note(unknown, "no variables of k6 that Loadstone knows; check the spelling")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_without_effect_are_named() {
        let names = ["HOME", "K6_VUS", "K6_STAGES", "K6_SUMMARY_TREND_STATS", "K6_CLOUD_TOKEN", "K6_OUT", "K6_DURATIONS", "K6_USER"];
        let variables = names.map(|name| (name.to_owned(), "s3cret".to_owned())).into();
        let notes = environment_notes(&variables, |name| name == "K6_USER");
        assert_eq!(
            notes,
            [
                "without effect: K6_CLOUD_TOKEN, K6_OUT (variables of k6 that Loadstone does not use)",
                "without effect: K6_DURATIONS (no variables of k6 that Loadstone knows; check the spelling)",
            ]
        );
    }
}
