//! SQL: `user.sql(…)`, statements and transactions on it, and their results.
//!
//! Read `object` (what a script has of a database), then `query` (a statement as a measured request), `transaction` (which has the
//! connection until its `ending`) and `result`. `parameters` writes values, `value` reads them, `name` derives the name of a statement.
//! Deliberately absent: the format on the wire (`loadstone_protocol::sql`).

mod conclude;
mod ending;
mod name;
mod object;
mod open;
mod open_transaction;
mod options;
mod parameters;
mod query;
mod result;
mod state;
mod transaction;
mod value;

use rquickjs::{Class, Ctx};

use crate::known_verbs::AddressOfVerb;
use crate::runtime::capability::{Capability, ModuleSource, Natives};
use crate::runtime::verb;
use crate::unknown_options::OptionsOfVerb;
use object::SqlObject;

pub(crate) struct Databases;

impl Capability for Databases {
    fn options(&self) -> &'static [OptionsOfVerb] {
        options::OPTIONS
    }

    fn addresses(&self) -> &'static [AddressOfVerb] {
        std::slice::from_ref(&open::ADDRESS)
    }

    fn sources(&self) -> &'static [ModuleSource] {
        &[ModuleSource { id: "loadstone:sql", text: include_str!("transaction.ts"), exports: &[] }]
    }

    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        verb::install::<open::OpenSql>(ctx, &natives.users)?;
        natives.native.set("sqlPrototype", Class::<SqlObject>::prototype(ctx)?)
    }
}
