//! `k6/secrets`: values of the sources that the command line names.

use std::sync::Arc;

use rquickjs::{Ctx, Exception, Function, Object};

use crate::realm_inputs::RealmInputs;
use crate::secret_sources::value_of;

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, world: &RealmInputs) -> rquickjs::Result<()> {
    let shared = Arc::clone(&world.shared);
    let secret = move |ctx: Ctx<'_>, source: Option<String>, key: String| {
        let value = value_of(&shared.secret_sources, source.as_deref(), &key);
        value.map(str::to_owned).map_err(|problem| Exception::throw_message(&ctx, &problem))
    };
    native.set("secret", Function::new(ctx.clone(), secret)?)?;
    let shared = Arc::clone(&world.shared);
    native.set(
        "hasSecretSource",
        Function::new(ctx.clone(), move |name: String| shared.secret_sources.iter().any(|source| source.name == name))?,
    )
}
