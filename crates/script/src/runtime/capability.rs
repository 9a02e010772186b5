//! Something that users can do: a protocol that they speak, or a step such as a pause.

use loadstone_metrics::Nanos;
use rquickjs::{Array, Ctx, Object, Value};

use super::parts::StateParts;
use crate::error::ScriptError;
use crate::inbound::ConsumerKind;
use crate::known_verbs::AddressOfVerb;
use crate::loaded::Loaded;
use crate::unknown_options::OptionsOfVerb;

/// A module that Loadstone brings, in TypeScript.
#[derive(Clone, Copy)]
pub(crate) struct ModuleSource {
    /// `loadstone:NAME`.
    pub(crate) id: &'static str,
    pub(crate) text: &'static str,
    /// The names of it that test files import from `"loadstone"`.
    pub(crate) exports: &'static [&'static str],
}

/// A protocol or a step, as the runtime uses it. Every method is optional. State of a single user is created on first use: see
/// [`super::parts::UserPart`].
pub(crate) trait Capability: Sync {
    /// The parts of its script objects that need less code in TypeScript. Evaluated in every realm, after [`Capability::install`].
    fn sources(&self) -> &'static [ModuleSource] {
        &[]
    }

    /// The options of its verbs.
    fn options(&self) -> &'static [OptionsOfVerb] {
        &[]
    }

    /// The addresses of its verbs, if they can be checked by their text alone.
    fn addresses(&self) -> &'static [AddressOfVerb] {
        &[]
    }

    /// How functions of a test file receive its messages. `None`: they cannot.
    fn consumers(&self) -> Option<&'static ConsumerKind> {
        None
    }

    /// Puts its verbs on the prototype of users, and passes the prototypes of its objects to its TypeScript. Called for every realm, also
    /// for one that only plans.
    fn install<'js>(&self, _ctx: &Ctx<'js>, _natives: &Natives<'js>) -> rquickjs::Result<()> {
        Ok(())
    }

    /// Puts functions into a realm in which users run, before the test file is evaluated.
    fn install_for_users<'js>(&self, _ctx: &Ctx<'js>, _native: &Object<'js>) -> rquickjs::Result<()> {
        Ok(())
    }

    /// Stores state that all users of a scenario on one worker share. `index` is the scenario's in the plan.
    ///
    /// # Errors
    /// An invalid setting.
    fn open_scenario(&self, _loaded: &Loaded, _index: usize, _parts: &mut StateParts) -> Result<(), ScriptError> {
        Ok(())
    }

    /// Stores state that all users of a realm share, once the test file has been evaluated. It may contain values of the realm.
    fn open_realm(&self, _ctx: &Ctx<'_>, _parts: &mut StateParts) -> rquickjs::Result<()> {
        Ok(())
    }

    /// When the request of this response was due, if it is one of this capability's objects: `flow.start(key, { since })`.
    fn due_of(&self, _value: &Value<'_>) -> Option<Nanos> {
        None
    }
}

/// Where a capability puts its script interface.
pub(crate) struct Natives<'js> {
    /// The hidden `__loadstone` object.
    pub(crate) native: Object<'js>,
    /// The prototype of user objects.
    pub(crate) users: Object<'js>,
}

impl<'js> Natives<'js> {
    /// Objects of this prototype have a `text`: `module/extract.ts` adds `regex` to them.
    pub(crate) fn extractable(&self, prototype: Object<'js>) -> rquickjs::Result<()> {
        self.push("extractable", prototype)
    }

    /// Adds to a list on the native object, which a TypeScript module reads.
    pub(crate) fn push(&self, list: &str, prototype: Object<'js>) -> rquickjs::Result<()> {
        let known: Option<Array<'js>> = self.native.get(list)?;
        let known = match known {
            Some(known) => known,
            None => Array::new(self.native.ctx().clone())?,
        };
        known.set(known.len(), prototype)?;
        self.native.set(list, known)
    }
}
