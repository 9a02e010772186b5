//! The user object, assembled from capabilities. Protocols supply most of its verbs. The others, which belong to no protocol, are in this
//! folder.
//!
//! Read [`capabilities`], then any file: each is one capability. Deliberately absent: requests and responses (`protocols`), the scheduling
//! of users (`runtime`).

mod checks;
pub(crate) mod flows;
mod groups;
mod log;
pub(crate) mod metrics;
mod pauses;
mod replays;
mod set_up;
mod timers;

use rquickjs::{Ctx, Object};

use crate::inbound::{ConsumerKind, DeclaredConsumer};
use crate::known_verbs::KnownVerbs;
use crate::protocols::PROTOCOLS;
use crate::runtime::capability::{Capability, ModuleSource, Natives};
use crate::runtime::object::UserObject;

/// Steps that belong to no protocol.
const STEPS: &[&dyn Capability] = &[
    &pauses::Pauses,
    &replays::Replays,
    &groups::Groups,
    &checks::Checks,
    &flows::Flows,
    &metrics::Metrics,
    &set_up::SetUpValue,
    &timers::TimerFunctions,
    &log::Logging,
];

/// Everything that users can do.
pub(crate) fn capabilities() -> Vec<&'static dyn Capability> {
    PROTOCOLS.iter().chain(STEPS).copied().collect()
}

/// TypeScript of all capabilities. A module that several of them bring is listed once.
pub(crate) fn sources() -> Vec<ModuleSource> {
    let mut sources: Vec<ModuleSource> = Vec::new();
    for source in capabilities().iter().flat_map(|capability| capability.sources()) {
        if !sources.iter().any(|known| known.id == source.id) {
            sources.push(*source);
        }
    }
    sources
}

/// The options and addresses of everything that users can do.
pub(crate) fn verbs() -> KnownVerbs {
    let capabilities = capabilities();
    KnownVerbs {
        options: capabilities.iter().flat_map(|capability| capability.options()).copied().collect(),
        addresses: capabilities.iter().flat_map(|capability| capability.addresses()).copied().collect(),
    }
}

/// Reads a consumer that the test file declared with the TypeScript of the protocol `kind`.
pub(crate) fn consumer(kind: &str, declaration: serde_json::Value) -> Result<DeclaredConsumer, String> {
    let kinds = capabilities().into_iter().filter_map(Capability::consumers);
    let kind: &'static ConsumerKind =
        kinds.into_iter().find(|known| known.name == kind).ok_or_else(|| format!("no protocol has consumers called {kind}"))?;
    let consumer = (kind.read)(declaration).map_err(|error| format!("a consumer of {}: {error}", kind.name))?;
    Ok(DeclaredConsumer { kind, consumer })
}

/// Puts everything that scripts see of users into a new realm.
pub(crate) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    let natives = Natives { native: native.clone(), users: UserObject::prototype(ctx)? };
    native.set("userPrototype", natives.users.clone())?;
    capabilities().iter().try_for_each(|capability| capability.install(ctx, &natives))
}
