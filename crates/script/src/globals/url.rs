//! `URL` and `URLSearchParams` on top of the `url` crate, which follows the WHATWG standard, setters included.

use ::url::{Url, form_urlencoded, quirks};
use rquickjs::function::Opt;
use rquickjs::prelude::Func;
use rquickjs::{Ctx, Object, Result};

pub(crate) fn install<'js>(ctx: &Ctx<'js>) -> Result<()> {
    let native = Object::new(ctx.clone())?;
    native.set("parse", Func::from(|url: String, base: Opt<Option<String>>| parse(&url, base.0.flatten().as_deref())))?;
    native.set("set", Func::from(|href: String, part: String, value: String| set(&href, &part, &value)))?;
    native.set("pairs", Func::from(|query: String| pairs(&query)))?;
    native.set("query", Func::from(query))?;
    super::half::complete(ctx, "url", include_str!("url.js"), native)
}

/// The parts in the order of `url.js`, or `undefined`.
fn parse(url: &str, base: Option<&str>) -> Option<Vec<String>> {
    let base = base.map(Url::parse).transpose().ok()?;
    Url::options().base_url(base.as_ref()).parse(url).ok().map(|url| parts(&url))
}

fn parts(url: &Url) -> Vec<String> {
    [
        quirks::href(url),
        &quirks::origin(url),
        quirks::protocol(url),
        quirks::username(url),
        quirks::password(url),
        quirks::host(url),
        quirks::hostname(url),
        quirks::port(url),
        quirks::pathname(url),
        quirks::search(url),
        quirks::hash(url),
    ]
    .map(str::to_owned)
    .into()
}

/// Replaces a part. The standard ignores a value that the part cannot have. An invalid `href` yields `undefined`.
fn set(href: &str, part: &str, value: &str) -> Option<Vec<String>> {
    let mut url = Url::parse(href).ok()?;
    // The setters' errors mean that nothing was changed.
    match part {
        "href" => url = Url::parse(value).ok()?,
        "protocol" => drop(quirks::set_protocol(&mut url, value)),
        "username" => drop(quirks::set_username(&mut url, value)),
        "password" => drop(quirks::set_password(&mut url, value)),
        "host" => drop(quirks::set_host(&mut url, value)),
        "hostname" => drop(quirks::set_hostname(&mut url, value)),
        "port" => drop(quirks::set_port(&mut url, value)),
        "pathname" => quirks::set_pathname(&mut url, value),
        "search" => quirks::set_search(&mut url, value),
        _ => quirks::set_hash(&mut url, value),
    }
    Some(parts(&url))
}

fn pairs(query: &str) -> Vec<Vec<String>> {
    form_urlencoded::parse(query.as_bytes()).map(|(name, value)| vec![name.into_owned(), value.into_owned()]).collect()
}

fn query(pairs: Vec<Vec<String>>) -> String {
    let mut serializer = form_urlencoded::Serializer::new(String::new());
    for pair in &pairs {
        if let [name, value] = pair.as_slice() {
            serializer.append_pair(name, value);
        }
    }
    serializer.finish()
}
