//! The official SDK's client, and `loadstone mcp` as its server.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rmcp::model::{CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ProgressNotificationParam, Tool};
use rmcp::service::{NotificationContext, PeerRequestOptions, RunningService};
use rmcp::transport::IntoTransport;
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::Value;
use tokio::runtime::Runtime;

/// Stores the progress that the server reports.
#[derive(Clone, Default)]
struct ProgressLog(Arc<Mutex<Vec<ProgressNotificationParam>>>);

impl ClientHandler for ProgressLog {
    async fn on_progress(&self, progress: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        self.0.lock().expect("no panic in between").push(progress);
    }
}

/// A client. If it has its own server, the server ends with it.
pub(crate) struct McpClient {
    runtime: Runtime,
    service: Option<RunningService<RoleClient, ProgressLog>>,
    log: ProgressLog,
    child: Option<Child>,
}

/// The result of a call: its data, or the problem.
pub(crate) type Answer = Result<Value, String>;

impl McpClient {
    /// Starts the command, whose standard input and output are one socket.
    pub(crate) fn start(mut command: Command) -> Self {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let input: OwnedFd = theirs.try_clone().expect("a copy of the socket").into();
        command.stdin(Stdio::from(input)).stdout(Stdio::from(OwnedFd::from(theirs))).stderr(Stdio::null());
        let child = command.spawn().expect("the binary starts");
        // The command holds copies of the server's end, which would keep it open.
        drop(command);
        ours.set_nonblocking(true).expect("a socket");
        let transport = move || tokio::net::UnixStream::from_std(ours).expect("a socket");
        Self::connect(transport, Some(child)).expect("the handshake")
    }

    /// Completes the handshake over a transport, which is created in the client's runtime. The error is that of the server.
    pub(crate) fn connect<T, E, A>(transport: impl FnOnce() -> T, child: Option<Child>) -> Result<Self, String>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let log = ProgressLog::default();
        let served = runtime.block_on(async { log.clone().serve(transport()).await });
        Ok(Self { runtime, service: Some(served.map_err(|problem| format!("{problem:?}"))?), log, child })
    }

    fn service(&self) -> &RunningService<RoleClient, ProgressLog> {
        self.service.as_ref().expect("it runs until it is dropped")
    }

    pub(crate) fn tools(&self) -> Vec<Tool> {
        self.runtime.block_on(self.service().list_all_tools()).expect("a list of tools")
    }

    /// What the model reads before it chooses a tool.
    pub(crate) fn instructions(&self) -> String {
        self.service().peer_info().and_then(|info| info.instructions.clone()).unwrap_or_default()
    }

    fn request(name: &'static str, arguments: &Value) -> CallToolRequestParams {
        CallToolRequestParams::new(name).with_arguments(arguments.as_object().expect("an object").clone())
    }

    /// The result as the client receives it.
    pub(crate) fn result(&self, name: &'static str, arguments: &Value) -> CallToolResult {
        let request = Self::request(name, arguments);
        self.runtime.block_on(self.service().call_tool(request)).expect("a response")
    }

    pub(crate) fn call(&self, name: &'static str, arguments: &Value) -> Answer {
        let result = self.result(name, arguments);
        let text = result.content.first().and_then(|content| content.as_text()).map(|content| content.text.clone()).unwrap_or_default();
        if result.is_error == Some(true) { Err(text) } else { result.structured_content.ok_or(text) }
    }

    /// The data of a call that succeeds.
    #[track_caller]
    pub(crate) fn data(&self, name: &'static str, arguments: &Value) -> Value {
        self.call(name, arguments).unwrap_or_else(|problem| panic!("{name} {arguments}: {problem}"))
    }

    /// The message of a call that fails.
    #[track_caller]
    pub(crate) fn problem(&self, name: &'static str, arguments: &Value) -> String {
        match self.call(name, arguments) {
            Err(problem) => problem,
            Ok(data) => panic!("{name} {arguments} succeeded: {data}"),
        }
    }

    /// Starts a call and cancels it after the first report of its load, which has an expected duration.
    pub(crate) fn cancel_after_progress(&self, name: &'static str, arguments: &Value) {
        let before = self.progress().len();
        self.runtime.block_on(async {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(Self::request(name, arguments)));
            let handle = self.service().send_cancellable_request(request, PeerRequestOptions::no_options()).await.expect("it is sent");
            while !self.progress()[before..].iter().any(|report| report.total.is_some()) {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            handle.cancel(Some("not needed any more".to_owned())).await.expect("it is cancelled");
        });
    }

    pub(crate) fn progress(&self) -> Vec<ProgressNotificationParam> {
        self.log.0.lock().expect("no panic in between").clone()
    }

    /// Closes the connection. Returns once the server has ended.
    pub(crate) fn close(mut self) -> std::process::ExitStatus {
        self.disconnect();
        self.child.take().expect("it has its own server").wait().expect("the server ends")
    }

    fn disconnect(&mut self) {
        if let Some(service) = self.service.take() {
            let _ = self.runtime.block_on(service.cancel());
        }
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        self.disconnect();
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
