//! `user.check(…)`.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_metrics::{Outcome, SeriesId, SeriesKind, Tags};
use rquickjs::{Ctx, Exception, Persistent, Value};

use crate::realm::address_of;
use crate::runtime::capability::{Capability, Natives};
use crate::runtime::object::UserObject;
use crate::runtime::parts::StateParts;
use crate::runtime::user::UserState;
use crate::runtime::verb::{self, Verb, VerbArguments};
use crate::sinks::TracedCheck;
use crate::tags;
use crate::unknown_options::{OptionSet, OptionsOfVerb, check_options};

static CHECK: OptionSet = OptionSet::new("check(…)", &["tags"]);

/// Checks found by the address of their name. A power of two.
const KNOWN_MAX: usize = 128;

pub(super) struct Checks;

impl Capability for Checks {
    fn options(&self) -> &'static [OptionsOfVerb] {
        const { &[OptionsOfVerb { verb: "check", argument: 2, options: &CHECK }] }
    }

    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        verb::install::<ScriptCheck>(ctx, &natives.users)
    }

    fn open_realm(&self, _: &Ctx<'_>, parts: &mut StateParts) -> rquickjs::Result<()> {
        parts.insert(KnownChecks::default());
        Ok(())
    }
}

struct ScriptCheck;

impl Verb for ScriptCheck {
    const NAME: &'static str = "check";
    const ARGUMENTS: usize = 3;

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        let (name, holds) = (arguments.get(0), arguments.get(1));
        let text =
            || name.as_string().ok_or_else(|| Exception::throw_type(ctx, "check(name, …): expected the name as a string"))?.to_string();
        let Some(passed) = holds.as_bool() else {
            return Err(Exception::throw_type(ctx, &format!("check \"{}\": the second argument must be true or false", text()?)));
        };
        let state = &user.state;
        let worker = &state.worker;
        let of = |group: &Arc<str>| Ok(state.scenario.series(&worker.recorder, SeriesKind::Check, group, &text()?));
        let series = match user.group() {
            Some(group) => of(&group.name)?,
            None if name.is_string() => state.realm(ctx)?.parts.get::<KnownChecks>().series(ctx, state, &name, || of(&worker.no_group))?,
            None => of(&worker.no_group)?,
        };
        if let Some(checks) = &worker.sinks.checks {
            checks(&TracedCheck { scenario: &state.scenario.name, name: &text()?, holds: passed });
        }
        let tags = tags_of(ctx, &arguments.get(2), &text)?;
        let mut recorder = worker.recorder.borrow_mut();
        recorder.check(series, passed);
        let tagged = if tags.is_empty() { None } else { recorder.tagged(series, &tags) };
        if let Some(tagged) = tagged {
            recorder.check_tagged(tagged, passed);
        }
        if !passed {
            recorder.error(series, Outcome::Expect, worker.clock.now(), "the check failed");
        }
        Ok(Value::new_bool(ctx.clone(), passed))
    }
}

/// The options of a check.
fn tags_of<'js>(ctx: &Ctx<'js>, options: &Value<'js>, name: &impl Fn() -> rquickjs::Result<String>) -> rquickjs::Result<Tags> {
    let Some(options) = options.as_object() else { return Ok(Tags::default()) };
    check_options(options, CHECK.of, CHECK.known)?;
    tags::read(ctx, &options.get("tags")?, &format_args!("check \"{}\"", name()?))
}

/// Series of checks by the addresses of their names, outside groups. A literal name is the same string object every time. Each name is
/// held, so that no other string can have its address.
struct KnownChecks(RefCell<Vec<Option<KnownCheck>>>);

struct KnownCheck {
    name: usize,
    scenario: usize,
    series: SeriesId,
    _text: Persistent<Value<'static>>,
}

impl Default for KnownChecks {
    fn default() -> Self {
        Self(RefCell::new((0..KNOWN_MAX).map(|_| None).collect()))
    }
}

impl KnownChecks {
    /// The series of a check. `find` finds it the first time.
    fn series<'js>(
        &self,
        ctx: &Ctx<'js>,
        user: &UserState,
        name: &Value<'js>,
        find: impl FnOnce() -> rquickjs::Result<SeriesId>,
    ) -> rquickjs::Result<SeriesId> {
        let (address, scenario) = (address_of(name), Rc::as_ptr(&user.scenario) as usize);
        let entry = &mut self.0.borrow_mut()[(address >> 4 ^ scenario >> 6) & (KNOWN_MAX - 1)];
        match entry {
            Some(known) if known.name == address && known.scenario == scenario => Ok(known.series),
            _ => {
                let series = find()?;
                *entry = Some(KnownCheck { name: address, scenario, series, _text: Persistent::save(ctx, name.clone()) });
                Ok(series)
            }
        }
    }
}
