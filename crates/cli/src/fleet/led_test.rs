//! A test for a fleet: what the agents receive, and the controller's side of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use loadstone_fleet::TestHost;
use loadstone_k6::{K6Inputs, K6Test};
use loadstone_script::{CommonData, Inputs, Loaded};
use loadstone_session::LineSender;
use serde::{Deserialize, Serialize};

use super::host_message::HostMessage;
use super::k6_test::FleetK6Test;
use super::test::FleetTest;

/// The test that agents receive.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SentTest {
    Loadstone(FleetTest),
    K6(FleetK6Test),
}

impl SentTest {
    /// # Errors
    /// The message does not come from a controller of this version.
    pub(super) fn parse(json: &str) -> anyhow::Result<Self> {
        serde_json::from_str(json).context("the received test is incomplete")
    }
}

/// A test on the controller.
pub(crate) struct LedTest {
    pub(super) sent: String,
    pub(super) host: Box<dyn TestHost>,
}

impl LedTest {
    /// # Errors
    /// A file cannot be read, or the files are too large.
    pub(crate) fn of(loaded: &Loaded, inputs: &Inputs, printed: LineSender) -> anyhow::Result<Self> {
        let sent = serde_json::to_string(&SentTest::Loadstone(FleetTest::of(loaded, inputs)?))?;
        Ok(Self { sent, host: Box::new(HostOfTest { printed, common: loaded.common_data() }) })
    }

    /// `aborted`: is set when the script calls `exec.test.abort()`.
    ///
    /// # Errors
    /// A file cannot be read, or the files are too large.
    pub(crate) fn of_k6(test: &Arc<K6Test>, inputs: &K6Inputs, printed: LineSender, aborted: Arc<AtomicBool>) -> anyhow::Result<Self> {
        let sent = serde_json::to_string(&SentTest::K6(FleetK6Test::of(test, inputs)?))?;
        Ok(Self { sent, host: Box::new(HostOfK6Test { printed, test: Arc::clone(test), aborted }) })
    }
}

/// The controller holds the data that users on all agents share.
struct HostOfTest {
    printed: LineSender,
    common: CommonData,
}

impl TestHost for HostOfTest {
    fn line(&mut self, text: String) {
        self.printed.line(text);
    }

    fn ask(&mut self, agent: usize, question: &str) -> String {
        self.common.answer(agent, question)
    }

    fn receive(&mut self, _agent: usize, text: &str) {
        match HostMessage::parse(text) {
            Some(HostMessage::Common(text)) => {
                if let Err(error) = self.common.take(&text) {
                    self.printed.fail(error.render());
                }
            }
            Some(HostMessage::Misuse(problem)) => self.printed.fail(problem),
            _ => {}
        }
    }

    fn news(&mut self) -> Vec<(usize, String)> {
        self.common.news()
    }
}

/// VUs on different agents share nothing but the set-up's result. The controller collects what the end of the run needs.
struct HostOfK6Test {
    printed: LineSender,
    test: Arc<K6Test>,
    aborted: Arc<AtomicBool>,
}

impl TestHost for HostOfK6Test {
    fn line(&mut self, text: String) {
        self.printed.line(text);
    }

    fn ask(&mut self, _agent: usize, _question: &str) -> String {
        String::new()
    }

    fn receive(&mut self, agent: usize, text: &str) {
        match HostMessage::parse(text) {
            Some(HostMessage::K6SetUp(json)) => self.test.keep_set_up(json),
            Some(HostMessage::K6Totals(totals)) => self.test.receive_totals(agent, &totals),
            Some(HostMessage::K6Aborted(message)) => {
                self.aborted.store(true, Ordering::Relaxed);
                self.printed.fail(abort_text(&message));
            }
            _ => {}
        }
    }

    fn news(&mut self) -> Vec<(usize, String)> {
        Vec::new()
    }
}

/// Why a run ended whose script called `exec.test.abort()`.
pub(crate) fn abort_text(message: &str) -> String {
    format!("the script called exec.test.abort(): {message}")
}
