//! `user.ws(…)`: the opening handshake as a measured request.

use std::rc::{Rc, Weak};

use metrics::Outcome;
use protocol::http::Request;
use protocol::ws::{self, SocketOptions};
use rquickjs::{Class, Ctx, Exception, Promise, Value};

use super::cell::{End, Identity, Line, SocketCell};
use super::class::Socket;
use super::issue::Issue;
use super::options::Opening;
use super::step::{Happened, Step, begin};
use crate::crew::cell::UserCell;
use crate::crew::desk::RealmHandle;
use crate::crew::group::Group;
use crate::crew::op::Done;
use crate::user::name;
use crate::user::request::{build, url_text};

/// What is known of a handshake under way.
pub(super) struct Asked {
    user: Rc<UserCell>,
    realm: Weak<RealmHandle>,
    issue: Issue,
    /// For the trace, where there is one.
    request: Option<Request>,
    drops_unread: bool,
    keep: bool,
}

/// Opens a WebSocket; the promise resolves with the socket whatever becomes of it.
pub(in crate::user) fn open<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserCell>,
    realm: &Rc<RealmHandle>,
    group: Option<Rc<Group>>,
    url: &Value<'js>,
    given: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    if !user.is_playing() {
        return Err(Exception::throw_message(ctx, "the iteration has ended: open every socket inside the scenario's function"));
    }
    let opening = Opening::read(ctx, given)?;
    let written = as_http(url_text(ctx, url)?);
    let (request, _) = build(ctx, user, "GET".into(), &written, &opening.request)?;
    let issue = match &opening.request.name {
        Some(name) => Issue::new(user, group, name),
        None => Issue::new(user, group, &name::of_request("WS", &request.path)),
    };
    let options =
        SocketOptions { protocols: opening.protocols, compression: opening.compression, message_bytes_max: user.card.body_bytes_max };
    let mut flight = issue.flight(user);
    let traced = user.desk.sinks.trace.is_some().then(|| request.clone());
    let session = Rc::clone(&user.session);
    let network = Rc::clone(&user.desk.network);
    let work = Box::pin(async move {
        network.admit().await;
        flight.take_off();
        let opening = session.open_socket(request, &options).await;
        flight.land(opening.exchange.ended);
        Done::Socket(Box::new(Happened::Opened(Box::new(opening))))
    });
    let asked = Asked {
        user: Rc::clone(user),
        realm: Rc::downgrade(realm),
        issue,
        request: traced,
        drops_unread: opening.drops_unread,
        keep: opening.keep,
    };
    begin(ctx, user, realm, Step::Open(Box::new(asked)), work)
}

/// The handshake is a request to the http address of the same name.
fn as_http(written: String) -> String {
    let lower = written.get(..6).map(str::to_ascii_lowercase).unwrap_or_default();
    match () {
        () if lower.starts_with("ws://") => format!("http{}", &written[2..]),
        () if lower.starts_with("wss://") => format!("https{}", &written[3..]),
        () => written,
    }
}

/// Judges and records a handshake and makes the socket object.
pub(super) fn conclude<'js>(ctx: &Ctx<'js>, asked: Asked, opening: ws::WebSocketOpening) -> rquickjs::Result<Class<'js, Socket>> {
    let Asked { user, realm, issue, request, drops_unread, keep } = asked;
    let ws::WebSocketOpening { exchange, socket } = opening;
    let opened = match (socket, &exchange.result) {
        (Some(socket), _) => Ok(socket),
        (None, Err(failure)) => Err((failure.outcome, failure.message.clone())),
        (None, Ok(response)) => Err((Outcome::Status, format!("status {} instead of a WebSocket", response.status))),
    };
    issue.record_opening(&user, (request.as_ref(), &exchange), &[], opened.as_ref().err());
    let protocol = opened.as_ref().ok().and_then(ws::WebSocket::protocol).unwrap_or_default().to_owned();
    let identity = Identity { user: Rc::clone(&user), realm, name: issue.name, series: issue.series, protocol, drops_unread, kept: keep };
    let opened = opened.map(|socket| Line::Socket(Rc::new(socket))).map_err(|(outcome, message)| End::broken(outcome, message));
    let cell = SocketCell::new(identity, opened);
    if let Some(realm) = cell.identity.realm.upgrade().filter(|_| cell.is_open()) {
        cell.listen(&realm);
        user.hold_socket(&cell);
    }
    Class::instance(ctx.clone(), Socket::new(cell))
}
