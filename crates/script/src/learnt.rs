//! Credentials that scripts use while they run: learnt when a request is built, so that no output shows them if the target echoes them.

use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use base64::Engine;
use loadstone_plan::Secrets;

/// Remembered headers and queries. Most requests repeat them, and then cost one hash.
const SEEN_MAX: usize = 4_096;

/// Of one worker.
#[derive(Default)]
pub(crate) struct LearntCredentials {
    hasher: RandomState,
    seen: RefCell<HashSet<u64>>,
}

impl LearntCredentials {
    /// Learns the credentials of a request: of its headers, and of its path's query.
    pub(crate) fn of_request(&self, secrets: &Secrets, headers: &[(String, String)], path: &str) {
        headers.iter().for_each(|(name, value)| self.of_header(secrets, name, value));
        if let Some((_, query)) = path.split_once('?')
            && self.is_new(&("?", query))
        {
            secrets.learn_query_later(query);
        }
    }

    pub(crate) fn of_header(&self, secrets: &Secrets, name: &str, value: &str) {
        if !self.is_new(&(name, value)) {
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

    fn is_new(&self, credential: &(&str, &str)) -> bool {
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
            learnt.of_request(&secrets, &headers, "/d?token=QUERY%2FTOKEN88&page=seven");
        }
        let echo = "LITERAL SECRET LITERAL%20SECRET YWxpY2U6TElURVJBTCBTRUNSRVQ= BEARERLITERAL77 KEYHEADER99 COOKIE00 QUERY/TOKEN88 QUERY%2FTOKEN88";
        let shown = secrets.hide(echo).into_owned();
        assert_eq!(shown, "••• ••• ••• ••• ••• ••• ••• •••");
        assert_eq!(secrets.hide("alice dark text/plain seven"), "alice dark text/plain seven");
    }
}
