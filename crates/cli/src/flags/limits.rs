//! Limits on what a test may do to a system, for programs that start tests for others. A test cannot widen them.

use std::ffi::OsString;

use clap::Args;
use loadstone_metrics::SeriesKind;
use loadstone_plan::{LoadProfile, OpenStage, ScenarioRun, TestPlan};
use loadstone_protocol::HostPattern;
use loadstone_script::{Knob, KnobChange, Loaded, hosts_named_in};
use loadstone_session::{LoadControl, RunEvent, RunRequests, StopReason, Subscriber, SubscriberError};

use crate::exit::UsageError;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Refuse a test with more arrivals per second, and stop one that sends more requests in a second.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    limit_rate: Option<f64>,
    /// Refuse a test with more users at a time.
    #[arg(long, value_name = "N")]
    limit_users: Option<u64>,
    /// Refuse a test whose load lasts longer.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    limit_duration: Option<u64>,
    /// Connect to no other host, whatever the test names: 127.0.0.1, shop.example:443, *.shop.example. Can be repeated.
    #[arg(long, value_name = "HOST[:PORT]", value_delimiter = ',')]
    limit_net: Vec<HostPattern>,
    /// Refuse knobs that run commands, write files or change processes.
    #[arg(long)]
    limit_knobs: bool,
}

/// Limits that apply where the command line sets none.
pub(crate) struct LimitDefaults {
    pub(crate) rate: f64,
    pub(crate) users: u64,
    pub(crate) duration_ns: u64,
    pub(crate) hosts: &'static [&'static str],
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = loadstone_units::rate::parse(text).map_err(|error| error.to_string())?;
    if rate > 0.0 { Ok(rate) } else { Err("must be above 0".to_owned()) }
}

fn duration(text: &str) -> Result<u64, String> {
    loadstone_units::duration::parse(text).map_err(|error| error.to_string())
}

impl LimitArgs {
    /// The hosts that may be reached. `None`: all.
    pub(crate) fn hosts(&self) -> Option<&[HostPattern]> {
        (!self.limit_net.is_empty()).then_some(&self.limit_net)
    }

    pub(crate) fn rate(&self) -> Option<f64> {
        self.limit_rate
    }

    pub(crate) fn users(&self) -> Option<u64> {
        self.limit_users
    }

    /// These limits, with a default for each that is not set. Knobs are limited unless `allows_knobs`.
    pub(crate) fn or_default(self, defaults: &LimitDefaults, allows_knobs: bool) -> Self {
        let hosts = || defaults.hosts.iter().map(|host| HostPattern::host(host)).collect();
        Self {
            limit_rate: self.limit_rate.or(Some(defaults.rate)),
            limit_users: self.limit_users.or(Some(defaults.users)),
            limit_duration: self.limit_duration.or(Some(defaults.duration_ns)),
            limit_net: if self.limit_net.is_empty() { hosts() } else { self.limit_net },
            limit_knobs: !allows_knobs,
        }
    }

    /// `at most 200 requests/s, 200 users, 10m of load per run; hosts: 127.0.0.1`.
    pub(crate) fn in_words(&self) -> String {
        let rate = self.limit_rate.map(loadstone_units::rate);
        let users = self.limit_users.map(|users| loadstone_units::counted(users, "user"));
        let duration = self.limit_duration.map(|ns| format!("{} of load per run", loadstone_units::duration::format(ns)));
        let parts: Vec<String> = [rate, users, duration].into_iter().flatten().collect();
        let hosts: Vec<String> = self.limit_net.iter().map(ToString::to_string).collect();
        format!("at most {}; hosts: {}", parts.join(", "), hosts.join(", "))
    }

    /// The flags that give another process the same limits.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let rate = self.limit_rate.map(|rate| format!("--limit-rate={rate}"));
        let users = self.limit_users.map(|users| format!("--limit-users={users}"));
        let duration = self.limit_duration.map(|ns| format!("--limit-duration={}", loadstone_units::duration::format(ns)));
        let hosts = self.limit_net.iter().map(|host| format!("--limit-net={host}"));
        let knobs = self.limit_knobs.then(|| "--limit-knobs".to_owned());
        rate.into_iter().chain(users).chain(duration).chain(hosts).chain(knobs).map(OsString::from).collect()
    }

    /// Checks a test with its proxies and observers.
    ///
    /// # Errors
    /// [`UsageError`] with the first limit that it exceeds.
    pub(crate) fn check(&self, loaded: &Loaded) -> Result<(), UsageError> {
        self.check_plan(&loaded.plan)?;
        for proxy in &loaded.proxies {
            self.check_text("proxy.tcp(…)", &proxy.to)?;
        }
        Ok(())
    }

    /// Checks the load of a plan, its target and its observers.
    ///
    /// # Errors
    /// As for [`LimitArgs::check`].
    pub(crate) fn check_plan(&self, plan: &TestPlan) -> Result<(), UsageError> {
        let arrivals = plan.load.users_at_once(&arrivals_per_second);
        if let Some(most) = self.limit_rate.filter(|most| arrivals as f64 > *most) {
            return Err(refused(format!("{arrivals} arrivals/s"), format!("--limit-rate {most}")));
        }
        let users = plan.load.users_certain();
        if let Some(most) = self.limit_users.filter(|most| users > *most) {
            return Err(refused(loadstone_units::counted(users, "user"), format!("--limit-users {most}")));
        }
        if let (Some(most), Some(ns)) = (self.limit_duration, plan.load.duration_ns())
            && ns > most
        {
            let format = loadstone_units::duration::format;
            return Err(refused(format!("{} of load", format(ns)), format!("--limit-duration {}", format(most))));
        }
        self.check_text("target", plan.target.as_deref().unwrap_or_default())?;
        plan.observers.iter().try_for_each(|observer| self.check_json("observe", observer))
    }

    /// Checks what an experiment would change.
    ///
    /// # Errors
    /// As for [`LimitArgs::check`].
    pub(crate) fn check_knob(&self, knob: &Knob) -> Result<(), UsageError> {
        self.check_text("knob", knob.ready.as_deref().unwrap_or_default())?;
        for change in knob.values.iter().flat_map(|value| &value.changes) {
            match change {
                KnobChange::Http { http, .. } => self.check_text("knob", http)?,
                KnobChange::Proxy { .. } => {}
                _ if self.limit_knobs => {
                    return Err(refused(
                        format!("the knob \"{}\", which changes this machine and not only a URL or a proxy", knob.name),
                        "--limit-knobs".to_owned(),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_json(&self, what: &str, value: &serde_json::Value) -> Result<(), UsageError> {
        match value {
            serde_json::Value::String(text) => self.check_text(what, text),
            serde_json::Value::Array(values) => values.iter().try_for_each(|value| self.check_json(what, value)),
            serde_json::Value::Object(fields) => fields.values().try_for_each(|value| self.check_json(what, value)),
            _ => Ok(()),
        }
    }

    fn check_text(&self, what: &str, text: &str) -> Result<(), UsageError> {
        let Some(permitted) = self.hosts() else { return Ok(()) };
        // Only what contains a host and a port, or a URL, is an address: other settings are words.
        if !text.contains(':') {
            return Ok(());
        }
        match hosts_named_in(text).find(|host| !permitted.iter().any(|allowed| allowed.covers(host))) {
            Some(host) => Err(refused(format!("{what} at {host}"), "--limit-net".to_owned())),
            None => Ok(()),
        }
    }
}

fn refused(what: String, flag: String) -> UsageError {
    UsageError(format!("the test has {what}, and {flag} does not allow it"))
}

/// The highest rate of a leaf. A burst arrives within a second.
fn arrivals_per_second(run: &ScenarioRun) -> u64 {
    let LoadProfile::Open { stages } = &run.profile else { return 0 };
    let rate = |stage: &OpenStage| match stage {
        OpenStage::Rate { from, to, .. } => from.max(*to).ceil() as u64,
        OpenStage::Burst { count } => *count,
        OpenStage::Replay(replay) => replay.peak,
    };
    stages.iter().map(rate).max().unwrap_or(0)
}

/// Stops a run that sends more requests in a second than the limit allows. An iteration may send any number, so the plan does not show them.
#[derive(Debug)]
pub(crate) struct RateGuard(Option<f64>);

impl RateGuard {
    pub(crate) fn new(limits: &LimitArgs) -> Self {
        Self(limits.limit_rate)
    }
}

impl Subscriber for RateGuard {
    fn take(&mut self, event: &RunEvent<'_>, requests: &mut RunRequests) -> Result<(), SubscriberError> {
        if let (RunEvent::Snapshot { snapshot, .. }, Some(most)) = (event, self.0) {
            let sent: u64 = snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| series.count).sum();
            let seconds = (snapshot.end.saturating_sub(snapshot.start)) as f64 / 1e9;
            if sent as f64 > most * seconds.max(1.0) {
                let why = format!("{sent} requests ended in a second, and --limit-rate {most} does not allow it");
                requests.control(LoadControl::Halt(StopReason::Script(why)));
            }
        }
        Ok(())
    }
}
