//! Offers tools to one client: lists them, performs calls on other threads, forwards their progress and their cancellation.

use std::sync::Arc;

use loadstone_report::access::Token;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProgressToken, ServerCapabilities, ServerConfig, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::foreign::{bounded, bounded_text, enclosed};
use crate::tool::{Cancellation, ProgressReport, Tool, ToolCall, ToolEffect, ToolError};

/// Progress reports that wait for a slow client.
const REPORTS_WAITING_MAX: usize = 8;

/// Why the server cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot serve the protocol: {0}")]
    Io(#[from] std::io::Error),
    #[error("the client did not complete the handshake of the protocol: {0}")]
    Handshake(String),
    #[error("{0} is not an address of this machine alone: the server listens on loopback only, such as 127.0.0.1:7581")]
    NotLoopback(std::net::SocketAddr),
}

/// A table of tools and what they work on.
pub struct ToolServer<T: 'static> {
    state: Arc<T>,
    tools: &'static [Tool<T>],
    instructions: &'static str,
    version: &'static str,
    closing: CancellationToken,
}

impl<T> Clone for ToolServer<T> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state), closing: self.closing.clone(), ..*self }
    }
}

impl<T: Send + Sync + 'static> ToolServer<T> {
    /// `instructions`: for the model. `version`: of the program.
    pub fn new(state: T, tools: &'static [Tool<T>], instructions: &'static str, version: &'static str) -> Self {
        Self { state: Arc::new(state), tools, instructions, version, closing: CancellationToken::new() }
    }

    /// Cancels the calls in progress.
    pub fn close(&self) {
        self.closing.cancel();
    }

    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }
}

impl<T: Send + Sync + 'static> ServerHandler for ToolServer<T> {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("loadstone", self.version))
            .with_instructions(self.instructions)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.iter().map(described).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        self.tools.iter().find(|tool| tool.name == name).map(described)
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool \"{}\"", bounded_text(&request.name)), None));
        };
        let (progress, reports) = mpsc::channel(REPORTS_WAITING_MAX);
        let call = ToolCall {
            arguments: Value::Object(request.arguments.unwrap_or_default()),
            progress,
            cancellation: Cancellation { of_call: context.ct.clone(), of_server: self.closing.clone() },
        };
        let state = Arc::clone(&self.state);
        // The call is dropped at its end, which ends its reports.
        let work = tokio::task::spawn_blocking(move || (tool.perform)(&state, &call));
        forward(reports, &context.peer, context.meta.get_progress_token()).await;
        let result =
            work.await.unwrap_or_else(|_| Err(ToolError("internal error: the server's standard error has the details".to_owned())));
        let marker = Token::random().map_err(|problem| ErrorData::internal_error(problem.to_string(), None))?;
        Ok(shown(tool.name, result, marker.as_str()).into())
    }
}

fn described<T>(tool: &Tool<T>) -> rmcp::model::Tool {
    let reads = tool.effect == ToolEffect::Reads;
    let hints = ToolAnnotations::with_title(tool.title)
        .read_only(reads)
        .destructive(tool.effect == ToolEffect::ChangesSystem)
        .idempotent(reads)
        .open_world(!reads);
    rmcp::model::Tool::new(tool.name, tool.help, Arc::new((tool.arguments)())).with_annotations(hints)
}

/// Until the call ends.
async fn forward(mut reports: mpsc::Receiver<ProgressReport>, peer: &Peer<RoleServer>, token: Option<ProgressToken>) {
    while let Some(report) = reports.recv().await {
        let Some(token) = &token else { continue };
        let mut notice = ProgressNotificationParam::new(token.clone(), report.seconds).with_message(bounded_text(&report.text));
        if let Some(total) = report.expected_seconds {
            // Progress never exceeds its total.
            notice = notice.with_total(total.max(report.seconds));
        }
        // A client that is gone ends the call by its cancellation.
        let _ = peer.notify_progress(notice).await;
    }
}

/// A problem is a result too: the model can correct its call.
fn shown(tool: &str, result: Result<Value, ToolError>, marker: &str) -> CallToolResult {
    match result {
        Ok(value) => {
            let value = bounded(value);
            let mut result = CallToolResult::success(vec![ContentBlock::text(enclosed(tool, &value, marker))]);
            result.structured_content = Some(value);
            result
        }
        Err(problem) => {
            let value = bounded(serde_json::json!({ "problem": problem.0 }));
            CallToolResult::error(vec![ContentBlock::text(enclosed(tool, &value, marker))])
        }
    }
}
