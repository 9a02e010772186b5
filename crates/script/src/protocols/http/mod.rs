//! HTTP: `user.get(…)` and the other verbs, and their responses.
//!
//! Read `verbs` (the functions), `calls` (the cache of repeated calls), `build` (a call becomes a request), `send` (the request is sent)
//! and `conclude` (the response is judged and recorded); then `response`. `state` is the state of a user, a scenario and a realm.
//! WebSockets and event streams open as requests, and use `build`, `opening` and `state`.

pub(super) mod build;
mod calls;
pub(super) mod conclude;
mod cookies;
pub(super) mod expect;
mod methods;
pub(super) mod name;
pub(super) mod opening;
pub(super) mod options;
mod own_names;
pub(super) mod response;
mod retry;
mod retry_policy;
mod send;
pub(super) mod state;
mod trace;
mod verbs;

use loadstone_metrics::Nanos;
use rquickjs::{Class, Ctx, Value};

use crate::error::ScriptError;
use crate::loaded::Loaded;
use crate::runtime::capability::{Capability, Natives};
use crate::runtime::parts::StateParts;
use crate::unknown_options::OptionsOfVerb;
pub(crate) use name::of_request as name_of_request;
use response::ResponseObject;
use state::{HttpRealm, HttpScenario};
pub(crate) use trace::show;
pub use trace::{TracedEnd, TracedOwner};

pub(crate) struct Http;

impl Capability for Http {
    fn options(&self) -> &'static [OptionsOfVerb] {
        verbs::OPTIONS
    }

    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        verbs::install(ctx, &natives.users)?;
        cookies::install(&natives.users)?;
        Class::<ResponseObject>::prototype(ctx)?.map_or(Ok(()), |prototype| natives.extractable(prototype))
    }

    fn open_scenario(&self, loaded: &Loaded, index: usize, parts: &mut StateParts) -> Result<(), ScriptError> {
        parts.insert(HttpScenario::new(loaded, index)?);
        Ok(())
    }

    fn open_realm(&self, ctx: &Ctx<'_>, parts: &mut StateParts) -> rquickjs::Result<()> {
        parts.insert(HttpRealm::new(ctx)?);
        Ok(())
    }

    fn due_of(&self, value: &Value<'_>) -> Option<Nanos> {
        Class::<ResponseObject>::from_value(value).ok().map(|response| response.borrow().due())
    }
}
