//! Requests that do not vary, prepared once for each realm.
//!
//! Most calls of a scenario have constant strings: `user.get("/products", { name: "List" })`. A constant is the same string object every
//! time, so the addresses of its strings identify the call without reading them. Options whose content never changes are one object
//! (`realm::constants`), and its address identifies all of them. Each entry holds its strings, so that no other string can have the same
//! address.

use std::cell::RefCell;
use std::rc::Rc;

use loadstone_metrics::{SeriesId, Tags};
use loadstone_protocol::http::PreparedRequest;
use rquickjs::{Atom, Ctx, Object, Persistent, Value};

use super::own_names::{Name, OwnNames, name};
use crate::realm::{Constants, address_of};
use crate::runtime::user::UserState;

/// Number of entries, a power of two. A scenario has a few dozen requests.
const ENTRIES: usize = 128;

/// Identifies a call without reading its strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallKey {
    /// Its index among the methods that have a verb.
    method: u8,
    url: usize,
    /// The name, or options that never change. 0: none.
    name: usize,
    /// The single expected status. 0: any below 400, or the expectation of options that never change.
    status: u16,
    /// The scenario on this worker.
    scenario: usize,
}

/// The strings of a key.
struct CallTexts {
    _url: Persistent<Value<'static>>,
    _name: Option<Persistent<Value<'static>>>,
}

enum CallEntry {
    Empty,
    /// Seen once. A string that was built for a single call appears only once, and its call is not worth preparing.
    Seen {
        key: CallKey,
        texts: CallTexts,
    },
    Ready {
        key: CallKey,
        _texts: CallTexts,
        prepared: Rc<PreparedCall>,
    },
}

/// A request ready for the wire.
pub(crate) struct PreparedCall {
    pub(crate) wire: PreparedRequest,
    pub(crate) redirects: u8,
    /// Series outside groups.
    pub(crate) series: SeriesId,
    pub(crate) name: String,
    pub(crate) status: u16,
    pub(crate) tags: Tags,
}

/// Names of options that the lookup recognises.
struct OptionNames {
    name: Name,
    expect: Name,
    status: Name,
    tags: Name,
    _guards: [Persistent<Atom<'static>>; 4],
}

pub(crate) struct PreparedCalls {
    entries: RefCell<Vec<CallEntry>>,
    names: OptionNames,
}

/// The result of a lookup.
pub(crate) enum CallLookup {
    Found(Rc<PreparedCall>),
    /// Seen before: prepare it and [`PreparedCalls::keep`] it. With the single expected status, as in [`PreparedCall`].
    SeenBefore(CallKey, u16),
    Unknown,
}

impl PreparedCalls {
    pub(crate) fn new(ctx: &Ctx<'_>) -> rquickjs::Result<Self> {
        let atom = |text| Ok::<_, rquickjs::Error>(Persistent::save(ctx, Atom::from_str(ctx.clone(), text)?));
        let guards = [atom("name")?, atom("expect")?, atom("status")?, atom("tags")?];
        let names = OptionNames {
            name: name(ctx, "name"),
            expect: name(ctx, "expect"),
            status: name(ctx, "status"),
            tags: name(ctx, "tags"),
            _guards: guards,
        };
        Ok(Self { entries: RefCell::new((0..ENTRIES).map(|_| CallEntry::Empty).collect()), names })
    }

    /// Looks a call up, if its addresses identify it.
    pub(super) fn look<'js>(
        &self,
        ctx: &Ctx<'js>,
        constants: &Constants,
        user: &UserState,
        method: u8,
        url: &Value<'js>,
        options: Option<&Value<'js>>,
    ) -> rquickjs::Result<CallLookup> {
        if !url.is_string() {
            return Ok(CallLookup::Unknown);
        }
        let scenario = Rc::as_ptr(&user.scenario) as usize;
        let key = |name: Option<&Value<'js>>, status| CallKey {
            method,
            url: address_of(url),
            name: name.map_or(0, address_of),
            status,
            scenario,
        };
        let options = options.and_then(Value::as_object);
        if let Some(options) = options {
            let key = key(Some(options.as_value()), 0);
            if let CallEntry::Ready { key: known, prepared, .. } = &self.entries.borrow()[key.index()]
                && *known == key
            {
                return Ok(CallLookup::Found(Rc::clone(prepared)));
            }
        }
        let (mut name, mut status) = (None, 0);
        if let Some(options) = options
            && !self.read(options, constants.has(options), &mut name, &mut status)?
        {
            return Ok(CallLookup::Unknown);
        }
        let (key, text) = match options.filter(|options| constants.has(options)) {
            Some(options) => (key(Some(options.as_value()), 0), Some(options.as_value().clone())),
            None => (key(name.as_ref(), status), name),
        };
        let entry = &mut self.entries.borrow_mut()[key.index()];
        match entry {
            CallEntry::Ready { key: known, prepared, .. } if *known == key => return Ok(CallLookup::Found(Rc::clone(prepared))),
            CallEntry::Seen { key: known, .. } if *known == key => return Ok(CallLookup::SeenBefore(key, status)),
            _ => {}
        }
        let texts = CallTexts { _url: Persistent::save(ctx, url.clone()), _name: text.map(|text| Persistent::save(ctx, text)) };
        *entry = CallEntry::Seen { key, texts };
        Ok(CallLookup::Unknown)
    }

    /// Stores a prepared request at the entry of its call.
    pub(super) fn keep(&self, key: CallKey, prepared: &Rc<PreparedCall>) {
        let entry = &mut self.entries.borrow_mut()[key.index()];
        match std::mem::replace(entry, CallEntry::Empty) {
            CallEntry::Seen { key: known, texts } if known == key => {
                *entry = CallEntry::Ready { key, _texts: texts, prepared: Rc::clone(prepared) }
            }
            other => *entry = other,
        }
    }

    /// True when the options contain only a name and one expected status, and tags if they never change.
    fn read<'js>(
        &self,
        options: &Object<'js>,
        are_constant: bool,
        name: &mut Option<Value<'js>>,
        status: &mut u16,
    ) -> rquickjs::Result<bool> {
        let names = OwnNames::of(options)?;
        for known in names.iter() {
            let value = names.value(known)?;
            if known == self.names.name && value.is_string() {
                *name = Some(value);
            } else if known == self.names.tags && are_constant {
                // Read when the call is prepared.
            } else if known != self.names.expect || !value.as_object().map_or(Ok(false), |expect| self.read_expect(expect, status))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True when the only expectation is one status.
    fn read_expect(&self, expect: &Object<'_>, status: &mut u16) -> rquickjs::Result<bool> {
        let names = OwnNames::of(expect)?;
        for known in names.iter() {
            match names.value(known)?.as_int() {
                Some(wanted @ 100..=999) if known == self.names.status => *status = wanted as u16,
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl CallKey {
    /// Addresses are multiples of 16. The multiplier is Knuth's for 64 bits.
    fn index(&self) -> usize {
        let mixed = (self.url >> 4) ^ (self.name >> 4).rotate_left(20) ^ (self.scenario >> 4).rotate_left(40) ^ usize::from(self.method);
        (mixed as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize >> (64 - ENTRIES.trailing_zeros())
    }
}
