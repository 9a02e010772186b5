//! Flags of `k6 run` that set an option of the script, and those that change nothing here.

use std::collections::BTreeMap;

use clap::Args;
use loadstone_k6::options_of_environment;
use serde_json::{Map, Value};

use crate::exit::UsageError;

/// A flag, the variable of k6 that sets the same option, and the value in the form of the variable.
type FlagOption = (&'static str, &'static str, String);

/// As in k6, each overrides the option of the script. A switch may have a value: `--throw=false`.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "k6 scripts")]
pub(crate) struct K6OptionArgs {
    /// Do not run `setup`.
    #[arg(long, hide_short_help = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    no_setup: Option<bool>,
    /// Do not run `teardown`.
    #[arg(long, hide_short_help = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    no_teardown: Option<bool>,
    /// Do not judge the script's thresholds.
    #[arg(long, hide_short_help = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    no_thresholds: Option<bool>,
    /// Do not call `handleSummary`.
    #[arg(long, hide_short_help = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    no_summary: Option<bool>,
    /// Accept any certificate.
    #[arg(long, hide_short_help = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    insecure_skip_tls_verify: Option<bool>,
    /// Open a connection for each request.
    #[arg(long, hide_short_help = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    no_connection_reuse: Option<bool>,
    /// Open new connections in each iteration.
    #[arg(long, hide_short_help = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    no_vu_connection_reuse: Option<bool>,
    /// Read bodies of responses, and do not keep them.
    #[arg(long, hide_short_help = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    discard_response_bodies: Option<bool>,
    /// Let failed requests throw.
    #[arg(short = 'w', long, hide_short_help = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    throw: Option<bool>,
    /// Pass the environment's variables to `__ENV`; without a value, as by default.
    #[arg(long, hide_short_help = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    include_system_env_vars: Option<bool>,
    /// Follow at most so many redirects.
    #[arg(long, hide_short_help = true, value_name = "N")]
    max_redirects: Option<u64>,
    /// Requests of `http.batch` at a time.
    #[arg(long, hide_short_help = true, value_name = "N")]
    batch: Option<u64>,
    /// The same for one host.
    #[arg(long, hide_short_help = true, value_name = "N")]
    batch_per_host: Option<u64>,
    /// Requests per second of all VUs at most.
    #[arg(long, hide_short_help = true, value_name = "N")]
    rps: Option<u64>,
    /// The header `User-Agent`.
    #[arg(long, hide_short_help = true, value_name = "TEXT")]
    user_agent: Option<String>,
    /// How long an iteration takes at least.
    #[arg(long, hide_short_help = true, value_name = "DURATION")]
    min_iteration_duration: Option<String>,
    /// Refuse addresses of this range, such as 10.0.0.0/8. Can be repeated.
    #[arg(long, hide_short_help = true, value_name = "RANGE")]
    blacklist_ip: Vec<String>,
    /// Refuse hosts, such as *.example.com. Can be repeated.
    #[arg(long, hide_short_help = true, value_name = "PATTERN")]
    block_hostnames: Vec<String>,
    /// Addresses that VUs connect from.
    #[arg(long, hide_short_help = true, value_name = "ADDRESSES")]
    local_ips: Option<String>,
    /// Values of trends in k6's summary, such as avg,p(95).
    #[arg(long, hide_short_help = true, value_name = "STATS")]
    summary_trend_stats: Option<String>,
    /// Unit of times in k6's summary: s, ms or us.
    #[arg(long, hide_short_help = true, value_name = "UNIT")]
    summary_time_unit: Option<String>,
    /// Print no colours, as `--color never`.
    #[arg(long, hide = true)]
    pub(crate) no_color: bool,
    /// Loadstone sends no reports of its use.
    #[arg(long, hide = true)]
    no_usage_report: bool,
    #[command(flatten)]
    unused: UnusedK6Args,
}

/// Flags without effect, which the scripts of CI jobs contain.
#[derive(Debug, Clone, Default, Args)]
struct UnusedK6Args {
    #[arg(short = 'v', long, hide = true)]
    verbose: bool,
    #[arg(short = 'l', long, hide = true)]
    linger: bool,
    #[arg(long, hide = true)]
    profiling_enabled: bool,
    #[arg(long, hide = true)]
    log_format: Option<String>,
    #[arg(long, hide = true)]
    log_output: Option<String>,
    #[arg(short = 'a', long = "address", hide = true)]
    k6_address: Option<String>,
    #[arg(long, hide = true)]
    compatibility_mode: Option<String>,
    #[arg(long, hide = true)]
    summary_mode: Option<String>,
    #[arg(long, hide = true)]
    traces_output: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "headers")]
    http_debug: Option<String>,
}

impl K6OptionArgs {
    /// The first of these flags that is set.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        let options = self.options().into_iter().map(|(flag, ..)| flag).next();
        let others = [
            (self.include_system_env_vars.is_some(), "--include-system-env-vars"),
            (self.no_color, "--no-color"),
            (self.no_usage_report, "--no-usage-report"),
        ];
        let others = others.into_iter().find_map(|(is_set, flag)| is_set.then_some(flag));
        options.or(others).or_else(|| self.unused.set().into_iter().next())
    }

    /// The options that the flags set, as a tier above the script's.
    ///
    /// # Errors
    /// A value that the option cannot have.
    pub(crate) fn tier(&self) -> Result<Map<String, Value>, UsageError> {
        let mut tier = Map::new();
        for (flag, variable, value) in self.options() {
            let alone = BTreeMap::from([(variable.to_owned(), value)]);
            tier.extend(options_of_environment(&alone).map_err(|problem| UsageError(problem.replace(variable, flag)))?);
        }
        Ok(tier)
    }

    /// Whether `__ENV` has the variables of the environment.
    pub(crate) fn passes_environment(&self) -> bool {
        self.include_system_env_vars.unwrap_or(true)
    }

    /// What the user should know about these flags before the run.
    pub(crate) fn notes(&self) -> Vec<String> {
        let unused = self.unused.set();
        let note = || format!("without effect: {} (flags of k6 that Loadstone does not use)", unused.join(", "));
        (!unused.is_empty()).then(note).into_iter().collect()
    }

    fn options(&self) -> Vec<FlagOption> {
        let switch = |flag, variable, value: Option<bool>| value.map(|value| (flag, variable, value.to_string()));
        let number = |flag, variable, value: Option<u64>| value.map(|value| (flag, variable, value.to_string()));
        let text = |flag, variable, value: &Option<String>| value.clone().map(|value| (flag, variable, value));
        let list = |flag, variable, values: &[String]| (!values.is_empty()).then(|| (flag, variable, values.join(",")));
        let all = [
            switch("--no-setup", "K6_NO_SETUP", self.no_setup),
            switch("--no-teardown", "K6_NO_TEARDOWN", self.no_teardown),
            switch("--no-thresholds", "K6_NO_THRESHOLDS", self.no_thresholds),
            switch("--no-summary", "K6_NO_SUMMARY", self.no_summary),
            switch("--insecure-skip-tls-verify", "K6_INSECURE_SKIP_TLS_VERIFY", self.insecure_skip_tls_verify),
            switch("--no-connection-reuse", "K6_NO_CONNECTION_REUSE", self.no_connection_reuse),
            switch("--no-vu-connection-reuse", "K6_NO_VU_CONNECTION_REUSE", self.no_vu_connection_reuse),
            switch("--discard-response-bodies", "K6_DISCARD_RESPONSE_BODIES", self.discard_response_bodies),
            switch("--throw", "K6_THROW", self.throw),
            number("--max-redirects", "K6_MAX_REDIRECTS", self.max_redirects),
            number("--batch", "K6_BATCH", self.batch),
            number("--batch-per-host", "K6_BATCH_PER_HOST", self.batch_per_host),
            number("--rps", "K6_RPS", self.rps),
            text("--user-agent", "K6_USER_AGENT", &self.user_agent),
            text("--min-iteration-duration", "K6_MIN_ITERATION_DURATION", &self.min_iteration_duration),
            list("--blacklist-ip", "K6_BLACKLIST_IPS", &self.blacklist_ip),
            list("--block-hostnames", "K6_BLOCK_HOSTNAMES", &self.block_hostnames),
            text("--local-ips", "K6_LOCAL_IPS", &self.local_ips),
            text("--summary-trend-stats", "K6_SUMMARY_TREND_STATS", &self.summary_trend_stats),
            text("--summary-time-unit", "K6_SUMMARY_TIME_UNIT", &self.summary_time_unit),
        ];
        all.into_iter().flatten().collect()
    }
}

impl UnusedK6Args {
    /// The flags that are set.
    fn set(&self) -> Vec<&'static str> {
        let all = [
            (self.verbose, "--verbose"),
            (self.linger, "--linger"),
            (self.profiling_enabled, "--profiling-enabled"),
            (self.log_format.is_some(), "--log-format"),
            (self.log_output.is_some(), "--log-output"),
            (self.k6_address.is_some(), "--address"),
            (self.compatibility_mode.is_some(), "--compatibility-mode"),
            (self.summary_mode.is_some(), "--summary-mode"),
            (self.traces_output.is_some(), "--traces-output"),
            (self.http_debug.is_some(), "--http-debug"),
        ];
        all.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_become_options_and_errors_name_the_flag() {
        let flags = K6OptionArgs {
            throw: Some(false),
            max_redirects: Some(3),
            blacklist_ip: vec!["10.0.0.0/8".to_owned(), "::1".to_owned()],
            summary_trend_stats: Some("avg,p(99)".to_owned()),
            ..K6OptionArgs::default()
        };
        assert_eq!(
            Value::Object(flags.tier().unwrap()),
            serde_json::json!({ "throw": false, "maxRedirects": 3, "blacklistIPs": "10.0.0.0/8,::1", "summaryTrendStats": ["avg", "p(99)"] })
        );
        assert_eq!((flags.first_set(), flags.notes()), (Some("--throw"), Vec::new()));
    }

    #[test]
    fn flags_without_effect_are_named() {
        let unused = UnusedK6Args { verbose: true, log_output: Some("none".to_owned()), ..UnusedK6Args::default() };
        let flags = K6OptionArgs { unused, ..K6OptionArgs::default() };
        assert_eq!(flags.notes(), ["without effect: --verbose, --log-output (flags of k6 that Loadstone does not use)"]);
        assert_eq!((flags.first_set(), flags.tier().unwrap().len()), (Some("--verbose"), 0));
    }
}
