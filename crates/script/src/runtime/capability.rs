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

/// What the runtime asks of a protocol, or of a step. Every method may be left out. State for a single user is made when it is first
/// needed: see [`super::parts::UserPart`].
pub(crate) trait Capability: Sync {
    /// What of its script objects is easier said in TypeScript. Evaluated in every realm, behind [`Capability::install`].
    fn sources(&self) -> &'static [ModuleSource] {
        &[]
    }

    /// The options that its verbs take.
    fn options(&self) -> &'static [OptionsOfVerb] {
        &[]
    }

    /// The addresses that its verbs take, where they can be judged by themselves.
    fn addresses(&self) -> &'static [AddressOfVerb] {
        &[]
    }

    /// How functions of a test file receive its messages. `None`: they cannot.
    fn consumers(&self) -> Option<&'static ConsumerKind> {
        None
    }

    /// Puts its verbs on the prototype of users, and shows the prototypes of its objects to its TypeScript. Called for every realm,
    /// also for one that only plans.
    fn install<'js>(&self, _ctx: &Ctx<'js>, _natives: &Natives<'js>) -> rquickjs::Result<()> {
        Ok(())
    }

    /// Puts functions into a realm in which users run, before the test file is evaluated.
    fn install_for_users<'js>(&self, _ctx: &Ctx<'js>, _native: &Object<'js>) -> rquickjs::Result<()> {
        Ok(())
    }

    /// Keeps what is common to all users of a scenario on one worker; `index` is the scenario's in the plan.
    ///
    /// # Errors
    /// A setting that makes no sense.
    fn open_scenario(&self, _loaded: &Loaded, _index: usize, _parts: &mut StateParts) -> Result<(), ScriptError> {
        Ok(())
    }

    /// Keeps what is common to all users of a realm, once the test file has been evaluated. It may hold values of the realm.
    fn open_realm(&self, _ctx: &Ctx<'_>, _parts: &mut StateParts) -> rquickjs::Result<()> {
        Ok(())
    }

    /// When the request was due whose response this is, if it is one of this capability's objects: `flow.start(key, { since })`.
    fn due_of(&self, _value: &Value<'_>) -> Option<Nanos> {
        None
    }
}

/// Where a capability puts what scripts see of it.
pub(crate) struct Natives<'js> {
    /// The hidden `__loadstone` object.
    pub(crate) native: Object<'js>,
    /// The prototype of user objects.
    pub(crate) users: Object<'js>,
}

impl<'js> Natives<'js> {
    /// Objects of this prototype have a `text`: `regex` is added to them (`module/extract.ts`).
    pub(crate) fn extractable(&self, prototype: Object<'js>) -> rquickjs::Result<()> {
        self.push("extractable", prototype)
    }

    /// Adds to a list on the native object, which a module of TypeScript goes through.
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
