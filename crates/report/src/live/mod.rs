//! The page of a run in progress: served on loopback, updated by server-sent events, controlled through a guarded endpoint.
//!
//! Read [`LiveServer`] first. It has its own thread and runtime, separate from the load generation, and does not know the engine. It receives views,
//! and sends [`LiveCommand`]s to the owner of the run on a bounded queue. It stores only the newest view. A slow or stopped browser costs nothing and
//! receives the whole state when it reconnects.

mod delta;
mod routes;

use std::cell::Cell;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use crate::access::{Loopback, Token};
use crate::view::{ReportView, RunState};
pub(crate) use delta::Delta;
use routes::LiveState;

/// Maximum number of commands that wait for the run's owner; more are refused.
const COMMANDS_MAX: usize = 16;
/// Average bytes per second for one page. A run with thousands of request names is drawn less often.
const BYTES_PER_SECOND_MAX: usize = 256 << 10;
/// How long open pages may take to receive the last view when the server closes.
const LAST_VIEW_WAIT: Duration = Duration::from_secs(2);

/// A command from a reader of the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LiveCommand {
    /// Start no more work until [`LiveCommand::Resume`].
    Pause,
    Resume,
    /// End the load as Ctrl-C does.
    Stop,
    /// Multiply the planned load, from 0 to [`LiveCommand::SCALE_MAX`].
    Scale(f64),
}

impl LiveCommand {
    pub const SCALE_MAX: f64 = 100.0;
}

/// The state of the run after the commands so far.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct Steering {
    pub paused: bool,
    /// Factor of the planned load while the run is not paused.
    pub scale: f64,
}

impl Default for Steering {
    fn default() -> Self {
        Self { paused: false, scale: 1.0 }
    }
}

/// Why there is no live page. The run continues without it.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    #[error("the live page cannot listen on {address}: {source}; choose another port, or leave the port out to get a free one")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("cannot start the live page: {0}")]
    Start(#[from] std::io::Error),
}

/// A view that is being sent to the pages.
#[derive(Debug, Clone)]
struct ViewFrame {
    number: u64,
    view: Arc<ReportView>,
    /// For a page that has the previous frame.
    delta: Option<Arc<str>>,
    steering: Steering,
    last: bool,
}

/// The page of one run. Dropping it ends the server at once. [`LiveServer::finish`] first sends the last view to open pages.
#[derive(Debug)]
pub struct LiveServer {
    address: SocketAddr,
    token: Token,
    frames: watch::Sender<Option<ViewFrame>>,
    commands: Receiver<LiveCommand>,
    /// Seconds to skip, to stay within [`BYTES_PER_SECOND_MAX`].
    pause: Cell<usize>,
    shutdown: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LiveServer {
    /// The loopback address with a port that the system chooses. It is the default, because anyone who can reach the page can watch.
    pub const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

    /// Listens and serves on its own thread.
    ///
    /// # Errors
    /// [`LiveError::Listen`] when the address is in use or not local, [`LiveError::Start`] when the system cannot start a thread.
    pub fn start(address: SocketAddr) -> Result<Self, LiveError> {
        let listener = TcpListener::bind(address).map_err(|source| LiveError::Listen { address, source })?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let token = Token::random()?;
        let frames = watch::Sender::new(None);
        let (sender, commands) = sync_channel(COMMANDS_MAX);
        let (shutdown, closed) = oneshot::channel();
        let shared =
            LiveState { frames: frames.clone(), token: token.clone(), commands: sender, loopback: Loopback(address.ip().is_loopback()) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let serve = move || runtime.block_on(routes::serve(listener, shared, closed));
        let thread = std::thread::Builder::new().name("live-page".to_owned()).spawn(serve)?;
        Ok(Self { address, token, frames, commands, pause: Cell::new(0), shutdown: Some(shutdown), thread: Some(thread) })
    }

    /// The page's address with the token that allows control of the run. Without the token the page can only watch.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.address, self.token.as_str())
    }

    /// Whether a view is wanted; called once a second. None is needed without a reader, or while the last views were too large for one a second.
    pub fn wants_view(&self) -> bool {
        let pause = self.pause.get();
        self.pause.set(pause.saturating_sub(1));
        pause == 0 && self.frames.receiver_count() > 0
    }

    /// Replaces the view that open pages draw. Never blocks.
    pub fn publish(&self, view: ReportView, steering: Steering) {
        let before = self.frames.borrow().clone();
        let delta = before.as_ref().and_then(|before| Delta::between(&before.view, &view));
        let delta: Option<Arc<str>> = delta.and_then(|delta| serde_json::to_string(&delta).ok()).map(Into::into);
        self.pause.set(delta.as_ref().map_or(0, |delta| delta.len() / BYTES_PER_SECOND_MAX));
        let (number, last) = (before.map_or(0, |before| before.number + 1), view.test.state != RunState::Running);
        self.frames.send_replace(Some(ViewFrame { number, view: Arc::new(view), delta, steering, last }));
    }

    /// The next command from the page, if there is one. Never blocks.
    pub fn command(&self) -> Option<LiveCommand> {
        self.commands.try_recv().ok()
    }

    /// Sends the finished view to open pages and closes the server. Waits at most two seconds for slow pages.
    pub fn finish(mut self, view: ReportView) {
        self.publish(view, Steering::default());
        self.close();
    }

    fn close(&mut self) {
        if let Some(shutdown) = self.shutdown.take() {
            let _ = shutdown.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for LiveServer {
    fn drop(&mut self) {
        self.close();
    }
}

type CommandSender = SyncSender<LiveCommand>;
