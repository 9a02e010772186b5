//! The target of a redirect (fetch standard, HTTP-redirect fetch).

use url::Url;

use super::address::{path_of, resolve};
use super::body::SharedBody;
use super::message::{Request, Response};
use crate::credentials::basic_authorization;
use crate::failure::Failure;

pub(super) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The request to which a response redirects. `None`: it is not a redirect.
pub(super) fn redirected(
    request: &Request,
    response: &Response,
    original_cookie: Option<String>,
) -> Option<Result<(Request, Url), Failure>> {
    if !is_redirect(response.status) {
        return None;
    }
    let location = response.headers.location()?;
    let base = request.url();
    let url = match resolve(base.as_ref(), &location) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => url,
        _ => return Some(Err(Failure::protocol("the response redirects to a URL that is not http or https"))),
    };
    let mut next = Request { path: path_of(&url), ..request.clone() };
    let becomes_get = match response.status {
        301 | 302 => &*request.method == "POST",
        303 => !matches!(&*request.method, "GET" | "HEAD"),
        _ => false,
    };
    if becomes_get {
        next.method = "GET".into();
        next.body = SharedBody::default();
        next.trailers = None;
        next.headers.retain(|(name, _)| !is_about_body(name));
    }
    let own_cookie = if request.origin.serves(&url) {
        original_cookie
    } else {
        next.headers.retain(|(name, _)| !is_for_one_origin(name));
        None
    };
    // The caller's cookies keep their place among the headers. Those of the jar are added again.
    match own_cookie {
        Some(value) => next.headers.iter_mut().find(|(name, _)| is_cookie(name)).into_iter().for_each(|line| line.1.clone_from(&value)),
        None => next.headers.retain(|(name, _)| !is_cookie(name)),
    }
    if let Some(value) = basic_authorization(&url) {
        next.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
        next.headers.push(("Authorization".to_owned(), value));
    }
    Some(Ok((next, url)))
}

/// "Request-body-header name" of the fetch standard, the length, and what announces trailers.
fn is_about_body(name: &str) -> bool {
    ["content-encoding", "content-language", "content-location", "content-type", "content-length", "trailer"]
        .iter()
        .any(|other| name.eq_ignore_ascii_case(other))
}

fn is_cookie(name: &str) -> bool {
    name.eq_ignore_ascii_case("cookie")
}

/// The host, and credentials under any name: another origin must not receive them.
fn is_for_one_origin(name: &str) -> bool {
    name.eq_ignore_ascii_case("host") || loadstone_secrets::is_credential(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_for_one_origin_under_any_name() {
        for name in ["Host", "authorization", "X-Api-Key", "x-auth-token", "Proxy-Authorization"] {
            assert!(is_for_one_origin(name), "{name}");
        }
        assert!(!is_for_one_origin("Accept") && !is_for_one_origin("Idempotency-Key"));
    }
}
