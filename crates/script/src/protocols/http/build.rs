//! Converts a call of the script to a request.

use std::rc::Rc;

use loadstone_metrics::span::RequestLabel;
use loadstone_protocol::http::{BodyUse, Origin, Request, RequestTrailers, add_query, basic_authorization, path_of};
use rquickjs::{Ctx, Exception, Value};
use url::Url;

use super::options::RequestOptions;
use super::state::{HttpScenario, HttpUser, set_header};
use crate::runtime::user::UserState;

/// The URL of a call: a string, or a `URL` object.
pub(in crate::protocols) fn url_text<'js>(ctx: &Ctx<'js>, url: &Value<'js>) -> rquickjs::Result<String> {
    if let Some(text) = url.as_string() {
        return text.to_string();
    }
    // A `URL` object is equivalent to its text.
    match url.as_object().and_then(|object| object.get::<_, String>("href").ok()) {
        Some(href) => Ok(href),
        None => Err(Exception::throw_type(ctx, "expected the URL as a string, such as \"/products\"")),
    }
}

/// The request of a call, and the number of redirects that it may follow.
pub(in crate::protocols) fn build(
    ctx: &Ctx<'_>,
    user: &UserState,
    method: Rc<str>,
    written: &str,
    options: &RequestOptions,
) -> rquickjs::Result<(Request, u8)> {
    let scenario = HttpScenario::of(user);
    let RequestAddress { origin, path, authorization: of_url } = address(ctx, scenario, written, &options.query)?;
    let mut headers = scenario.headers.clone();
    let at_base = scenario.base.as_ref().is_some_and(|base| base.origin == origin);
    let authorization = match &options.authorization {
        Some(own) => own.as_deref(),
        None => of_url.as_deref().or(scenario.authorization.as_deref().filter(|_| at_base)),
    };
    if let Some(value) = authorization {
        set_header(&mut headers, "Authorization", value);
    }
    if let Some(content_type) = &options.content_type {
        set_header(&mut headers, "Content-Type", content_type);
    }
    for (number, (name, value)) in options.headers.iter().enumerate() {
        // The first value of a name replaces the scenario's. A list has further values, and so has a name in two spellings.
        if options.headers[..number].iter().any(|(earlier, _)| earlier.eq_ignore_ascii_case(name)) {
            headers.push((name.clone(), value.clone()));
        } else {
            set_header(&mut headers, name, value);
        }
    }
    // A body of several pieces contains files.
    let body = if let [body] = options.body.pieces() { body } else { &b""[..] };
    user.worker.learnt.of_request(&user.worker.loaded.plan.secrets, &headers, &path, body);
    let request = Request {
        origin,
        method,
        path,
        headers,
        trailers: (!options.trailers.is_empty()).then(|| Rc::new(RequestTrailers::new(options.trailers.clone(), &options.body))),
        body: options.body.clone(),
        timeout_ns: options.timeout_ns.unwrap_or(user.scenario.timeout_ns),
        body_use: options.body_use.unwrap_or(BodyUse::Keep),
        body_bytes_max: scenario.body_bytes_max,
        label: RequestLabel::default(),
        source: options.source,
    };
    Ok((request, options.redirects.unwrap_or(scenario.redirects).min(255) as u8))
}

/// Names the request in its traces, if it carries one.
pub(in crate::protocols) fn label(user: &UserState, request: &mut Request, name: &str) {
    if HttpUser::of(user).session.client().makes_traces() {
        request.label = RequestLabel::of(&user.scenario.name, name);
    }
}

/// The destination of a request.
struct RequestAddress {
    origin: Rc<Origin>,
    /// With the query.
    path: String,
    /// The value of the `Authorization` header for the user name in the URL.
    authorization: Option<String>,
}

fn address(ctx: &Ctx<'_>, scenario: &HttpScenario, written: &str, query: &[(String, String)]) -> rquickjs::Result<RequestAddress> {
    if let Some(base) = &scenario.base
        && query.is_empty()
        && is_plain_path(written)
    {
        let path = format!("{}{written}", base.prefix());
        return Ok(RequestAddress { origin: Rc::clone(&base.origin), path, authorization: None });
    }
    let mut url: Url = scenario.url(written).map_err(|error| Exception::throw_message(ctx, &error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Exception::throw_message(ctx, &format!("`{written}`: only http:// and https:// URLs can be requested")));
    }
    add_query(&mut url, query.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let origin = Origin::of(&url);
    let origin = match &scenario.base {
        Some(base) if *base.origin == origin => Rc::clone(&base.origin),
        _ => Rc::new(origin),
    };
    Ok(RequestAddress { origin, path: path_of(&url), authorization: basic_authorization(&url) })
}

/// Whether a path is absolute and the URL standard would not change it.
fn is_plain_path(text: &str) -> bool {
    let bytes = text.as_bytes();
    let plain = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~' | b'%' | b'?' | b'=' | b'&' | b'+' | b',' | b':' | b'@')
    };
    bytes.first() == Some(&b'/') && bytes.get(1) != Some(&b'/') && bytes.iter().all(plain) && !text.contains("/.") && !text.contains("%2")
}

#[cfg(test)]
mod tests {
    use loadstone_protocol::http::resolve;

    use super::*;

    #[test]
    fn paths_used_unchanged_are_those_that_the_standard_does_not_change() {
        let base = Url::parse("http://h").unwrap();
        for path in [
            "/",
            "/a/b-c_d~e?x=1&y=a,b:c@d+e",
            "/%C3%BC",
            "/a/b",
            "/a b",
            "/ü",
            "//h/x",
            "/a/../b",
            "/a/./b",
            "/a#b",
            "/a%2e",
            "/<x>",
            "a",
            "",
        ] {
            if is_plain_path(path) {
                assert_eq!(path_of(&resolve(Some(&base), path).unwrap()), path);
            }
        }
        assert!(is_plain_path("/v1/tickets/7?full=1") && !is_plain_path("/a b") && !is_plain_path("//x"));
    }
}
