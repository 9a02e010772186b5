//! Node: its event loop, active resources by type, its collector, and CPU time by function, through its inspector.
//!
//! A closed inspector is opened by SIGUSR1, as Node's own debugger does, and closed again after the run. A meter evaluated in the process (`meter.js`)
//! counts what only the process can count. If Loadstone is killed, the meter removes itself and closes the inspector.

mod attach;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing {
    use super::{CpuProfile, FunctionSamples};

    pub(in crate::kinds) fn profile(input: &[u8]) {
        let Ok(profile) = serde_json::from_slice::<CpuProfile>(input) else { return };
        profile.add_to(&mut FunctionSamples::at(100.0));
    }
}
mod profile;
mod session;
mod signals;

use std::time::Duration;

use loadstone_metrics::NoticeKind;
use serde_json::{Value, json};

use super::process::which::{PID, PORT, Which};
use crate::collector::SignalCollector;
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::kind::{MacSupport, ObserverKind};
use crate::option::{ObserverOption, OptionValue};
use crate::reader::{PendingRead, SignalReader};
use crate::stacks::functions::FunctionSamples;
use error::NodeError;
use profile::CpuProfile;
use session::InspectorSession;

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "node",
    watches: "a service on Node",
    example: "observe.node({ port: 8080 })",
    alternatives: ", by `pid`, or by the `name` of its command",
    reports: "`busy` (share of the event loop), `delay`, `function_cpu{function=…,under=…}`, `work{type=…}` (name look-ups and files in Node's own \
            threads), `active{type=…}`, `gc`, `heap`",
    options: &[
        PORT,
        PID,
        ObserverOption { name: "profileHz", takes: OptionValue::WholeNumber { max: 1_000, default: Some(99) }, help: "samples per second" },
    ],
    on_macos: MacSupport::Partial("only processes that were started with `--inspect`"),
    make: |description| Ok(Box::new(NodeReader::from_description(description)?)),
};

/// Time limit for removing the meter from the process at the end.
const LEAVING_LIMIT: Duration = Duration::from_secs(3);
const METER: &str = include_str!("meter.js");
const READ: &str = "globalThis[Symbol.for('loadstone.meter')].read()";
const STOP: &str = "globalThis[Symbol.for('loadstone.meter')]?.stop()";

struct NodeReader {
    which: Which,
    profile_us: u64,
    attached: Option<Attached>,
    /// A process whose inspector this observer opened and has not closed.
    opened: Option<u32>,
    /// The process for which the notice "the busiest of several" was sent.
    notified_of: Option<u32>,
    functions: FunctionSamples,
}

struct Attached {
    session: InspectorSession,
    counts: signals::NodeCounts,
    /// Profiles begun. Each begins before the previous one ends, because V8 would otherwise enumerate all functions again.
    profiles: u64,
}

impl SignalReader for NodeReader {
    fn default_name(&self, given: Option<&str>) -> Option<String> {
        self.which.default_name(KIND.name, given)
    }

    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async { Ok(self.look(out).await?) })
    }

    fn finish<'a>(&'a mut self, _out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async {
            // If the process does not respond, the meter removes itself.
            let _ = tokio::time::timeout(LEAVING_LIMIT, self.leave()).await;
            Ok(())
        })
    }

    fn reset(&mut self) {
        self.attached = None;
        self.functions.reset();
    }
}

impl NodeReader {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        let hz = description.whole_number("profileHz").unwrap_or(1);
        Ok(Self {
            which: Which::from_description(description)?,
            profile_us: 1_000_000 / u64::from(hz),
            attached: None,
            opened: None,
            notified_of: None,
            functions: FunctionSamples::at(f64::from(hz)),
        })
    }

    /// # Errors
    /// When there is no Node process that can be observed.
    async fn look(&mut self, out: &mut SignalCollector) -> Result<(), NodeError> {
        if self.attached.is_none() {
            self.attached = Some(self.attach(out).await?);
        }
        let Some(attached) = &mut self.attached else { return Ok(()) };
        let reading = attached.session.evaluate(READ).await?;
        attached.counts.put(&reading, out);
        attached.next_profile().await?;
        for mut finished in attached.session.take_events("Profiler.consoleProfileFinished") {
            let profile = finished.get_mut("profile").map(Value::take).unwrap_or_default();
            serde_json::from_value::<CpuProfile>(profile).map_err(NodeError::NotJson)?.add_to(&mut self.functions);
        }
        self.functions.report(out);
        Ok(())
    }

    /// # Errors
    /// When there is no such process, or it opens no inspector.
    async fn attach(&mut self, out: &mut SignalCollector) -> Result<Attached, NodeError> {
        let (pid, count) = self.which.runtime("Node", attach::is_node)?;
        if count > 1 && self.notified_of.replace(pid) != Some(pid) {
            out.notice(NoticeKind::Remark, format!("observes process {pid}, the busiest of {count} Node processes"));
        }
        let inspector = match attach::open_inspector(pid).await {
            Some(inspector) => inspector,
            None => {
                // Recorded first: if opening is interrupted, detaching still closes the inspector.
                self.opened = Some(pid);
                attach::have_opened(pid).await?
            }
        };
        let mut session = InspectorSession::open(inspector.address, &inspector.path).await?;
        let closes = self.opened == Some(pid);
        session.evaluate(&format!("{}({closes})", METER.trim_end())).await?;
        session.command("Profiler.enable", json!({})).await?;
        session.command("Profiler.setSamplingInterval", json!({ "interval": self.profile_us })).await?;
        let mut attached = Attached { session, counts: signals::NodeCounts::default(), profiles: 0 };
        attached.next_profile().await?;
        Ok(attached)
    }

    /// Removes everything from the process.
    async fn leave(&mut self) {
        let session = match (self.attached.take(), self.opened) {
            (Some(attached), _) => Some(attached.session),
            (None, Some(pid)) => match attach::open_inspector(pid).await {
                Some(inspector) => InspectorSession::open(inspector.address, &inspector.path).await.ok(),
                None => None,
            },
            (None, None) => None,
        };
        let Some(mut session) = session else { return };
        let stopped = session.evaluate(STOP).await;
        // Interrupted before the meter was installed: only this observer can close the inspector.
        if self.opened.take().is_some() && !matches!(stopped, Ok(Value::Bool(true))) {
            let close = "setTimeout(() => (process.getBuiltinModule ?? require)('inspector').close(), 50) && true";
            let _ = session.evaluate(close).await;
        }
        session.close().await;
    }
}

impl Attached {
    /// Begins the next profile and ends the previous one, which arrives as an event.
    async fn next_profile(&mut self) -> Result<(), NodeError> {
        self.profiles += 1;
        let (next, last) = (self.profiles, self.profiles - 1);
        let ends = if last > 0 { format!("console.profileEnd('loadstone {last}');") } else { String::new() };
        self.session.evaluate(&format!("console.profile('loadstone {next}');{ends}undefined")).await.map(drop)
    }
}
