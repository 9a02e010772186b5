//! The user object and what hangs on it: requests, responses, timers.
//!
//! Read `class` (the object) and `verbs` (its functions that send), then `request` (a call becomes a request), `judge` (an answer is judged and recorded) and
//! `response`. Deliberately absent: sockets, who is run when.

pub(crate) mod body;
mod class;
mod expect;
mod home;
pub(crate) mod journeys;
mod judge;
mod name;
mod options;
mod own_names;
mod prepared;
mod request;
mod response;
mod socket;
mod timers;
mod verbs;

use std::rc::{Rc, Weak};

use rquickjs::{Class, Ctx, Object, Persistent};

pub(crate) use class::Method;
pub(crate) use judge::conclude;
pub(crate) use prepared::{Checks, PreparedRequests};
pub(crate) use request::Issued;
pub(crate) use socket::{Happened, Pending, SocketCell, close_all, settle as settle_socket};
pub(crate) use timers::call_timer;

use crate::crew::cell::UserCell;
use crate::crew::desk::{Desk, RealmHandle};
use class::User;
use home::Home;
use response::Response;
use socket::{Events, Message, Socket};

/// Puts prototypes and timers on a new realm.
pub(crate) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, desk: &Rc<Desk>) -> rquickjs::Result<()> {
    let prototype = Class::<User>::prototype(ctx)?.unwrap_or(Object::new(ctx.clone())?);
    verbs::install(ctx, &prototype)?;
    native.set("userPrototype", prototype)?;
    native.set("responsePrototype", Class::<Response>::prototype(ctx)?)?;
    native.set("socketPrototype", Class::<Socket>::prototype(ctx)?)?;
    native.set("eventsPrototype", Class::<Events>::prototype(ctx)?)?;
    native.set("messagePrototype", Class::<Message>::prototype(ctx)?)?;
    timers::install(ctx)?;
    journeys::install(ctx, native)?;
    // The store is new: nobody can have borrowed from it.
    let _ = ctx.store_userdata(Home::new(Rc::clone(desk)));
    Ok(())
}

/// Tells a realm's timers where they are, once the test file has been evaluated.
pub(crate) fn settle_in(handle: &Rc<RealmHandle>) {
    handle.realm.enter(|ctx| {
        if let Some(home) = ctx.userdata::<Home>() {
            *home.realm.borrow_mut() = Rc::downgrade(handle);
        }
    });
}

/// The prototype of responses, looked up once for all of a realm's.
pub(crate) fn response_prototype(ctx: &Ctx<'_>) -> rquickjs::Result<Persistent<Object<'static>>> {
    let prototype = Class::<Response>::prototype(ctx)?.unwrap_or(Object::new(ctx.clone())?);
    Ok(Persistent::save(ctx, prototype))
}

/// The user object of a user.
pub(crate) fn object<'js>(ctx: &Ctx<'js>, cell: &Rc<UserCell>, realm: Weak<RealmHandle>) -> rquickjs::Result<Object<'js>> {
    let user = Class::instance(ctx.clone(), User::new(Rc::clone(cell), realm))?.into_inner();
    forget(&user)?;
    Ok(user)
}

/// Gives a user a new, empty `state`.
pub(crate) fn forget(user: &Object<'_>) -> rquickjs::Result<()> {
    user.set("state", Object::new(user.ctx().clone())?)
}
