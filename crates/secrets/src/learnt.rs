//! Credentials that become known while a test runs: learnt when a request is built and when a response is read, so that no output shows them.

use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use base64::Engine;

use crate::Secrets;
use crate::fields::{self, is_credential_value};
use crate::names::is_credential_field;

/// Remembered headers, queries and bodies. Most requests repeat them, and then cost one hash.
const SEEN_MAX: usize = 4_096;
/// Larger bodies of requests are files, which are not searched.
const REQUEST_BYTES_MAX: usize = 64 << 10;

/// Of one worker.
#[derive(Debug, Default)]
pub struct LearntCredentials {
    hasher: RandomState,
    seen: RefCell<HashSet<u64>>,
}

impl LearntCredentials {
    /// Learns the credentials of a request: of its headers, of its path's query, and of a form or JSON in its body.
    pub fn of_request(&self, secrets: &Secrets, headers: &[(String, String)], path: &str, body: &[u8]) {
        headers.iter().for_each(|(name, value)| self.of_header(secrets, name, value));
        if let Some((_, query)) = path.split_once('?')
            && self.is_new(("?", query.as_bytes()))
        {
            secrets.learn_query_later(query);
        }
        if body.is_empty() || body.len() > REQUEST_BYTES_MAX || !self.is_new(("", body)) {
            return;
        }
        match headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            Some((_, kind)) if kind.starts_with("application/x-www-form-urlencoded") => {
                secrets.learn_query_later(&String::from_utf8_lossy(body));
            }
            _ => self.of_fields(secrets, body),
        }
    }

    /// Learns the cookies that a response sets.
    pub fn of_cookies<'a>(&self, secrets: &Secrets, set_cookies: impl Iterator<Item = &'a str>) {
        // What follows the first semicolon are attributes.
        set_cookies.for_each(|line| self.of_header(secrets, "Cookie", line.split(';').next().unwrap_or_default()));
    }

    /// Learns the credentials of a response that is about to be shown, or that the script reads.
    pub fn of_response<'a>(&self, secrets: &Secrets, headers: impl Iterator<Item = (&'a str, &'a str)>, body: &[u8]) {
        for (name, value) in headers {
            if name.eq_ignore_ascii_case("set-cookie") {
                self.of_cookies(secrets, std::iter::once(value));
            } else if is_credential_field(name.as_bytes()) && is_credential_value(value) {
                // Responses have more such names than requests: `access-control-allow-credentials: true`.
                self.of_header(secrets, name, value);
            }
        }
        self.of_fields(secrets, body);
    }

    /// Learns the values of string fields with credential names, in JSON or in anything that contains it.
    pub fn of_fields(&self, secrets: &Secrets, body: &[u8]) {
        let values = fields::credentials(body);
        values.iter().filter(|value| self.is_new(("", value.as_bytes()))).for_each(|value| secrets.learn_later(value));
    }

    /// Learns the credential in a header with such a name.
    pub fn of_header(&self, secrets: &Secrets, name: &str, value: &str) {
        if !self.is_new((name, value.as_bytes())) {
            return;
        }
        secrets.learn_header_later(name, value);
        // Servers also show the decoded form. The name of the user is no secret.
        let encoded = value.strip_prefix("Basic ").and_then(|encoded| base64::engine::general_purpose::STANDARD.decode(encoded).ok());
        if let Some(login) = encoded.and_then(|bytes| String::from_utf8(bytes).ok())
            && let Some((_, password)) = login.split_once(':')
        {
            secrets.learn_later(password);
        }
    }

    fn is_new(&self, credential: (&str, &[u8])) -> bool {
        let mut seen = self.seen.borrow_mut();
        if seen.len() >= SEEN_MAX {
            seen.clear();
        }
        seen.insert(self.hasher.hash_one(credential))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_a_request_are_hidden_in_every_spelling() {
        let (learnt, secrets) = (LearntCredentials::default(), Secrets::default());
        let headers = [
            ("Authorization", "Basic YWxpY2U6TElURVJBTCBTRUNSRVQ="),
            ("authorization", "Bearer BEARERLITERAL77"),
            ("x-api-key", "KEYHEADER99"),
            ("Cookie", "sid=COOKIE00; theme=dark"),
            ("Accept", "text/plain"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        for _ in 0..2 {
            learnt.of_request(&secrets, &headers, "/d?token=QUERY%2FTOKEN88&page=seven", b"");
        }
        let echo = "LITERAL SECRET LITERAL%20SECRET YWxpY2U6TElURVJBTCBTRUNSRVQ= BEARERLITERAL77 KEYHEADER99 COOKIE00 QUERY/TOKEN88 QUERY%2FTOKEN88";
        let shown = secrets.hide(echo).into_owned();
        assert_eq!(shown, "••• ••• ••• ••• ••• ••• ••• •••");
        assert_eq!(secrets.hide("alice dark text/plain seven"), "alice dark text/plain seven");
    }
    #[test]
    fn credentials_in_bodies_and_those_that_servers_set_are_hidden() {
        let (learnt, secrets) = (LearntCredentials::default(), Secrets::default());
        let form = [("content-type".to_owned(), "application/x-www-form-urlencoded; charset=utf-8".to_owned())];
        learnt.of_request(&secrets, &form, "/login", b"user=ann&password=FORM%2FPASS1");
        learnt.of_request(&secrets, &[], "/login", br#"{"user":"ann","password":"JSONPASS2"}"#);
        learnt.of_cookies(&secrets, ["sid=SETCOOKIE3; Path=/; HttpOnly", "theme=dark"].into_iter());
        let headers = [
            ("x-auth-token", "HEADERTOKEN4"),
            ("set-cookie", "b=SETCOOKIE5;Secure"),
            ("server", "nginx/1.26.0"),
            ("access-control-allow-credentials", "true"),
        ];
        learnt.of_response(&secrets, headers.into_iter(), br#"{"access_token":"BODYTOKEN6"}"#);
        let echo = "FORM/PASS1 FORM%2FPASS1 JSONPASS2 SETCOOKIE3 HEADERTOKEN4 SETCOOKIE5 BODYTOKEN6 U0VUQ09PS0lFMw==";
        assert_eq!(secrets.hide(echo), "••• ••• ••• ••• ••• ••• ••• •••");
        assert_eq!(secrets.hide("ann dark nginx/1.26.0 HttpOnly true"), "ann dark nginx/1.26.0 HttpOnly true");
    }
}
