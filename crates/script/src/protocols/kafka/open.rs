//! `user.kafka(…)`: names a cluster. The first records open its connections.

use std::rc::Rc;

use loadstone_protocol::kafka::KafkaAddress;
use rquickjs::{Class, Ctx, Value};

use super::object::KafkaObject;
use super::options::KafkaOptions;
use super::state::KafkaHandle;
use crate::known_verbs::AddressOfVerb;
use crate::protocols::clients::UserClients;
use crate::protocols::options::{text, wrong};
use crate::runtime::object::UserObject;
use crate::runtime::verb::{Verb, VerbArguments};

pub(super) static ADDRESS: AddressOfVerb = AddressOfVerb {
    verb: "kafka",
    what: "the URL of the Kafka broker",
    check: |url| KafkaAddress::parse(url).map(|_| ()).map_err(|problem| problem.to_string()),
};

/// Throws the problem with an address.
pub(super) fn check(ctx: Ctx<'_>, url: String) -> rquickjs::Result<()> {
    address(&ctx, &url).map(drop)
}

fn address(ctx: &Ctx<'_>, url: &str) -> rquickjs::Result<KafkaAddress> {
    KafkaAddress::parse(url).map_err(|problem| wrong(ctx, &format!("{}: {problem}", ADDRESS.what)))
}

/// `user.kafka(url, options)`.
pub(super) struct OpenKafka;

impl Verb for OpenKafka {
    const NAME: &'static str = "kafka";
    const ARGUMENTS: usize = 2;

    fn refused_name(_: &VerbArguments<'_, '_>) -> Option<String> {
        Some("Kafka".to_owned())
    }

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        let options = KafkaOptions::read(ctx, &arguments.get(1))?;
        let address = address(ctx, &text(ctx, &arguments.get(0), ADDRESS.what)?)?;
        let client = UserClients::of(&user.state, address);
        let timeout_ns = options.timeout_ns.unwrap_or(user.state.scenario.timeout_ns);
        let handle = KafkaHandle { user: Rc::clone(&user.state), group: user.inside.clone(), client, writing: options.writing, timeout_ns };
        Class::instance(ctx.clone(), KafkaObject { handle }).map(Class::into_value)
    }
}
