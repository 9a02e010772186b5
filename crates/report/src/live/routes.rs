//! The routes of a live page: `/` is the page, `/events` its views, `/control` its commands. Read [`serve`].

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::mpsc::TrySendError;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::StatusCode;
use axum::middleware;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::{Stream, stream};
use tokio::sync::{oneshot, watch};

use super::{CommandSender, LAST_VIEW_WAIT, LiveCommand, Steering, ViewFrame};
use crate::access::{Loopback, Token, guard};
use crate::html::{LiveSource, live_html};

/// Maximum number of pages that watch at the same time.
const PAGES_MAX: usize = 32;
/// A command is a line of JSON.
const CONTROL_BYTES_MAX: usize = 4096;

#[derive(Debug, Clone)]
pub(super) struct LiveState {
    pub(super) frames: watch::Sender<Option<ViewFrame>>,
    pub(super) token: Token,
    pub(super) commands: CommandSender,
    pub(super) loopback: Loopback,
}

/// Serves until `closed` fires or its sender is dropped. Open pages then have a short time to receive the last view.
pub(super) async fn serve(listener: TcpListener, shared: LiveState, closed: oneshot::Receiver<()>) {
    // Registering with the runtime fails only when the process has no descriptors left. The run then continues without its page.
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let frames = shared.frames.clone();
    let router = Router::new()
        .route("/", get(page))
        .route("/events", get(events))
        .route("/control", post(control))
        .layer(DefaultBodyLimit::max(CONTROL_BYTES_MAX))
        .layer(middleware::from_fn_with_state(shared.loopback, guard))
        .with_state(shared);
    let server = axum::serve(listener, router);
    tokio::select! {
        _ = async { server.await } => {}
        () = last_view(closed, frames) => {}
    }
}

/// Completes when the server may end: it was closed, and every page has received the last view or exceeded its time.
async fn last_view(closed: oneshot::Receiver<()>, frames: watch::Sender<Option<ViewFrame>>) {
    let _ = closed.await;
    if frames.borrow().as_ref().is_some_and(|frame| frame.last) {
        let _ = tokio::time::timeout(LAST_VIEW_WAIT, frames.closed()).await;
        // The streams have ended, but their last bytes have not reached the sockets yet.
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[derive(serde::Deserialize)]
struct LivePageQuery {
    #[serde(default)]
    token: String,
}

/// A reader without the token gets a page that can watch and not control.
async fn page(State(shared): State<LiveState>, Query(query): Query<LivePageQuery>) -> Html<String> {
    let token = if shared.token.matches(&query.token) { shared.token.as_str() } else { "" };
    Html(live_html(&LiveSource { feed: "live", events: "/events", control: "/control", token, home: None }))
}

async fn events(State(shared): State<LiveState>) -> Response {
    if shared.frames.receiver_count() >= PAGES_MAX {
        return (StatusCode::SERVICE_UNAVAILABLE, "Too many pages are watching this run.\n").into_response();
    }
    Sse::new(views(shared.frames.subscribe())).keep_alive(KeepAlive::default()).into_response()
}

/// The state of one page's stream.
struct PageStream {
    frames: watch::Receiver<Option<ViewFrame>>,
    frame: Option<u64>,
    steering: Option<Steering>,
    over: bool,
}

/// Sends the present view at once, then each change. Ends after the last view.
fn views(frames: watch::Receiver<Option<ViewFrame>>) -> impl Stream<Item = Result<Event, Infallible>> {
    let start = PageStream { frames, frame: None, steering: None, over: false };
    stream::unfold(start, |mut sent| async move {
        let event = sent.next().await?;
        Some((Ok(event), sent))
    })
}

impl PageStream {
    async fn next(&mut self) -> Option<Event> {
        if self.over {
            return None;
        }
        let frame = self.newer().await?;
        if self.steering != Some(frame.steering) {
            self.steering = Some(frame.steering);
            return Event::default().event("steering").json_data(frame.steering).ok();
        }
        self.over = frame.last;
        let before = self.frame.replace(frame.number);
        let event = Event::default().retry(std::time::Duration::from_secs(1));
        match frame.delta {
            Some(delta) if before.is_some_and(|before| before + 1 == frame.number) => Some(event.event("delta").data(&*delta)),
            _ => event.event("view").json_data(&*frame.view).ok(),
        }
    }

    /// A frame that was not sent yet.
    async fn newer(&mut self) -> Option<ViewFrame> {
        loop {
            if let Some(frame) = self.frames.borrow_and_update().clone().filter(|frame| self.frame != Some(frame.number)) {
                return Some(frame);
            }
            self.frames.changed().await.ok()?;
        }
    }
}

#[derive(serde::Deserialize)]
struct ControlRequest {
    token: String,
    action: String,
    value: Option<f64>,
}

async fn control(State(shared): State<LiveState>, body: String) -> (StatusCode, String) {
    let control: ControlRequest = match serde_json::from_str(&body) {
        Ok(control) => control,
        Err(error) => return (StatusCode::BAD_REQUEST, format!("Not a command: {error}\n")),
    };
    if !shared.token.matches(&control.token) {
        let text = "This page is read-only: open the address that the terminal shows, with its token.\n";
        return (StatusCode::FORBIDDEN, text.to_owned());
    }
    let command = match (control.action.as_str(), control.value) {
        ("pause", _) => LiveCommand::Pause,
        ("resume", _) => LiveCommand::Resume,
        ("stop", _) => LiveCommand::Stop,
        ("scale", Some(factor)) if (0.0..=LiveCommand::SCALE_MAX).contains(&factor) => LiveCommand::Scale(factor),
        ("scale", _) => return (StatusCode::BAD_REQUEST, format!("scale needs a value from 0 to {}\n", LiveCommand::SCALE_MAX)),
        (other, _) => return (StatusCode::BAD_REQUEST, format!("Unknown command {other:?}: expected pause, resume, stop or scale\n")),
    };
    match shared.commands.try_send(command) {
        Ok(()) => (StatusCode::ACCEPTED, String::new()),
        Err(TrySendError::Full(_)) => (StatusCode::SERVICE_UNAVAILABLE, "The run is still busy with earlier commands.\n".to_owned()),
        Err(TrySendError::Disconnected(_)) => (StatusCode::GONE, "The run is over.\n".to_owned()),
    }
}
