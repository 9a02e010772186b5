//! The functions on every realm's hidden `__loadstone` object, whether it plans, runs users or runs functions of stubs.

use std::sync::Arc;

use loadstone_plan::Secrets;
use rquickjs::{Ctx, Exception, Function, Object};

use crate::parameters::{self, Declarations, Inputs};

/// Puts `target(text)`, and the functions of parameters and secrets, on the native object.
pub(crate) fn install<'js>(
    ctx: &Ctx<'js>,
    native: &Object<'js>,
    inputs: &Arc<Inputs>,
    secrets: &Secrets,
) -> rquickjs::Result<Declarations> {
    native.set("target", Function::new(ctx.clone(), target)?)?;
    parameters::install(ctx, native, inputs, secrets)
}

/// Checks a base URL, whose path precedes each relative path. Returns a bare origin without a trailing slash.
fn target(ctx: Ctx<'_>, text: String) -> rquickjs::Result<String> {
    let wrong = |problem: &str| {
        let message =
            format!("target: \"{text}\" {problem}: write it in full, such as \"http://127.0.0.1:8080\" or \"unix:/run/app.sock\"");
        Exception::throw_message(&ctx, &message)
    };
    if let Some(path) = unix_path(&text) {
        return if path.is_empty() { Err(wrong("names no socket")) } else { Ok(text) };
    }
    let url = url::Url::parse(&text).map_err(|_| wrong("is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("is not an http or https URL"));
    }
    let unsent = [(url.query(), "query", "write it in the requests, as `query: { … }`"), (url.fragment(), "fragment", "remove it")];
    if let Some((_, part, remedy)) = unsent.into_iter().find(|(part, ..)| part.is_some()) {
        return Err(Exception::throw_message(&ctx, &format!("target: \"{text}\" has a {part}, which no request sends: {remedy}")));
    }
    Ok(if url.path() == "/" { text.trim_end_matches('/').to_owned() } else { text })
}

/// The path of a target such as `unix:/run/app.sock`.
pub(crate) fn unix_path(target: &str) -> Option<&str> {
    target.strip_prefix("unix:").map(|rest| rest.strip_prefix("//").unwrap_or(rest))
}
