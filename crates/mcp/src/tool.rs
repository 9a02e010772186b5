//! A tool as one value: its name, its help, the schema of its arguments, and the function that performs it.

use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What a call may change. Clients ask their user before some of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Reads files of this machine.
    Reads,
    /// Sends requests to a system.
    SendsRequests,
    /// Sends requests, and changes a setting of the system back and forth.
    ChangesSystem,
}

/// One tool, which works on a `T`.
pub struct Tool<T> {
    pub name: &'static str,
    pub title: &'static str,
    /// For the model that chooses a tool.
    pub help: &'static str,
    pub effect: ToolEffect,
    /// JSON Schema of the arguments.
    pub arguments: fn() -> JsonObject,
    /// Performs a call. It may take long, and runs on a separate thread.
    pub perform: fn(&T, &ToolCall) -> Result<Value, ToolError>,
}

/// Why a call has no result, in a sentence for the model that called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl ToolError {
    pub fn of(problem: impl std::fmt::Display) -> Self {
        Self(problem.to_string())
    }
}

/// Arguments of a tool, as a type.
pub trait ToolArguments: JsonSchema + DeserializeOwned + 'static {
    /// Their JSON Schema.
    fn schema() -> JsonObject {
        rmcp::handler::server::tool::schema_for_type::<Self>().as_ref().clone()
    }
}

impl<A: JsonSchema + DeserializeOwned + 'static> ToolArguments for A {}

/// A call in progress.
pub struct ToolCall {
    pub(crate) arguments: Value,
    pub(crate) progress: mpsc::Sender<ProgressReport>,
    pub cancellation: Cancellation,
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressReport {
    /// Seconds since the call began.
    pub seconds: f64,
    /// Expected seconds of the whole call, if they are known.
    pub expected_seconds: Option<f64>,
    /// What it is doing. Text of the target is bounded on its way to the client.
    pub text: String,
}

/// Whether the client has given up the call, or the server ends.
#[derive(Debug, Clone)]
pub struct Cancellation {
    pub(crate) of_call: CancellationToken,
    pub(crate) of_server: CancellationToken,
}

impl Cancellation {
    pub fn is_requested(&self) -> bool {
        self.of_call.is_cancelled() || self.of_server.is_cancelled()
    }
}

impl ToolCall {
    /// The arguments as their type.
    ///
    /// # Errors
    /// They do not fit. The message names the field.
    pub fn arguments<A: ToolArguments>(&self) -> Result<A, ToolError> {
        A::deserialize(&self.arguments).map_err(|problem| ToolError(format!("the arguments do not fit the tool: {problem}")))
    }

    /// Reports progress. A client that is slow to read misses reports.
    pub fn report(&self, report: ProgressReport) {
        let _ = self.progress.try_send(report);
    }
}
