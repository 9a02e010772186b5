//! `user.group(…)`: several steps measured as one. The call is TypeScript (`group.ts`). The group is opened and closed here.

use std::rc::Rc;

use rquickjs::{Class, Coerced, Ctx, FromJs, Value};

use crate::runtime::capability::{Capability, ModuleSource, Natives};
use crate::runtime::group::GroupEnd;
use crate::runtime::object::UserObject;
use crate::runtime::verb::{self, Verb, VerbArguments};
use crate::tags;
use crate::unknown_options::{OptionSet, OptionsOfVerb};

pub(super) struct Groups;

impl Capability for Groups {
    fn options(&self) -> &'static [OptionsOfVerb] {
        static GROUP: OptionSet = OptionSet::new("group(…)", &["tags"]);
        const { &[OptionsOfVerb { verb: "group", argument: 2, options: &GROUP }] }
    }

    fn sources(&self) -> &'static [ModuleSource] {
        &[ModuleSource { id: "loadstone:group", text: include_str!("group.ts"), exports: &[] }]
    }

    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        verb::install::<EnterGroup>(ctx, &natives.users)?;
        verb::install::<LeaveGroup>(ctx, &natives.users)
    }
}

/// Opens a group and returns the user inside it.
struct EnterGroup;

impl Verb for EnterGroup {
    const NAME: &'static str = "enterGroup";
    const ARGUMENTS: usize = 2;

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        let name = Coerced::<String>::from_js(ctx, arguments.get(0))?.0;
        let tags = tags::read(ctx, &arguments.get(1), &format_args!("group \"{name}\""))?;
        let inside = Some(user.state.enter_group(&name, user.group(), tags));
        Class::instance(ctx.clone(), UserObject { state: Rc::clone(&user.state), inside }).map(Class::into_value)
    }
}

/// Closes the group of this user. The argument is whether its function has returned.
struct LeaveGroup;

impl Verb for LeaveGroup {
    const NAME: &'static str = "leaveGroup";
    const ARGUMENTS: usize = 1;

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        let returned = arguments.get(0).as_bool() == Some(true);
        if let Some(group) = &user.inside {
            user.state.leave_group(group, if returned { GroupEnd::Returned } else { GroupEnd::Threw });
        }
        Ok(Value::new_undefined(ctx.clone()))
    }
}
