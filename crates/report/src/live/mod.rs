//! The page of a run in progress: served on loopback, fed by server-sent events, steered through a guarded endpoint.
//!
//! Read [`LiveServer`] first. It has a thread and a runtime of its own, apart from those that make the load, and knows nothing of the
//! engine: views come in, [`LiveCommand`]s go out on a bounded queue to whoever owns the run. Only the newest view is kept, so a slow
//! or stopped browser costs nothing and sees the whole state again when it comes back.

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

/// Commands that may wait for the run's owner; more are refused.
const COMMANDS_MAX: usize = 16;
/// What one page gets each second at most, on average. Bytes. A run with thousands of request names is then drawn less often.
const BYTES_PER_SECOND_MAX: usize = 256 << 10;
/// Time that open pages have to take the last view when the server is closed.
const LAST_VIEW_WAIT: Duration = Duration::from_secs(2);

/// What someone at the page asks of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LiveCommand {
    /// Start no more work until [`LiveCommand::Resume`].
    Pause,
    Resume,
    /// End the load as Ctrl-C would.
    Stop,
    /// Multiply the load asked for, from 0 to [`LiveCommand::SCALE_MAX`].
    Scale(f64),
}

impl LiveCommand {
    pub const SCALE_MAX: f64 = 100.0;
}

/// How the run stands after what was asked of it.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct Steering {
    pub paused: bool,
    /// What the planned load is multiplied by while it is not paused.
    pub scale: f64,
}

impl Default for Steering {
    fn default() -> Self {
        Self { paused: false, scale: 1.0 }
    }
}

/// Why there is no live page. The run can go on without it.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    #[error("the live page cannot listen on {address}: {source}; choose another port, or leave the port out to get a free one")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("cannot start the live page: {0}")]
    Start(#[from] std::io::Error),
}

/// A view on its way to the pages.
#[derive(Debug, Clone)]
struct ViewFrame {
    number: u64,
    view: Arc<ReportView>,
    /// For a page that has the frame before this one.
    delta: Option<Arc<str>>,
    steering: Steering,
    last: bool,
}

/// The page of one run. Dropping it ends the server at once; [`LiveServer::finish`] lets open pages have the last view.
#[derive(Debug)]
pub struct LiveServer {
    address: SocketAddr,
    token: Token,
    frames: watch::Sender<Option<ViewFrame>>,
    commands: Receiver<LiveCommand>,
    /// Seconds to let pass, to stay within the bytes per second.
    pause: Cell<usize>,
    shutdown: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LiveServer {
    /// The loopback address with a port of the system's choice: the default, since anyone who can reach the page can watch.
    pub const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

    /// Listens and serves from a thread of its own.
    ///
    /// # Errors
    /// [`LiveError::Listen`] when the address is taken or not ours, [`LiveError::Start`] when the system gives no thread.
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

    /// The page's address with the token that lets its reader steer the run. Without the token the page can only watch.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.address, self.token.as_str())
    }

    /// Asked once a second: is a view wanted? None need be made for nobody, nor where the last ones were too large for one a second.
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

    /// Gives open pages the finished view and closes the server; waits at most two seconds for slow ones.
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
