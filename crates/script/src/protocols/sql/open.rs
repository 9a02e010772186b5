//! `user.sql(…)`: names a database. The first statement opens the connection.

use std::rc::Rc;

use loadstone_protocol::sql::SqlAddress;
use rquickjs::{Class, Ctx, Value};

use super::object::SqlObject;
use super::options::DatabaseOptions;
use super::state::SqlHandle;
use crate::known_verbs::AddressOfVerb;
use crate::protocols::clients::UserClients;
use crate::protocols::options::{text, wrong};
use crate::runtime::object::UserObject;
use crate::runtime::verb::{Verb, VerbArguments};

pub(super) static ADDRESS: AddressOfVerb = AddressOfVerb {
    verb: "sql",
    what: "the URL of the database",
    check: |url| SqlAddress::parse(url).map(|_| ()).map_err(|problem| problem.to_string()),
};

/// `user.sql(url, options)`.
pub(super) struct OpenSql;

impl Verb for OpenSql {
    const NAME: &'static str = "sql";
    const ARGUMENTS: usize = 2;

    fn refused_name(_: &VerbArguments<'_, '_>) -> Option<String> {
        Some("SQL".to_owned())
    }

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        let options = DatabaseOptions::read(ctx, &arguments.get(1))?;
        let url = text(ctx, &arguments.get(0), ADDRESS.what)?;
        let address = SqlAddress::parse(&url).map_err(|problem| wrong(ctx, &format!("{}: {problem}", ADDRESS.what)))?;
        let client = UserClients::of(&user.state, SqlAddress { prepare: options.prepare, ..address });
        let timeout_ns = options.timeout_ns.unwrap_or(user.state.scenario.timeout_ns);
        let handle = SqlHandle { user: Rc::clone(&user.state), group: user.inside.clone(), client, timeout_ns, within: None };
        Class::instance(ctx.clone(), SqlObject { handle }).map(Class::into_value)
    }
}
