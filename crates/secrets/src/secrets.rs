//! Values that no output may show.
//!
//! They are also found percent-encoded, escaped as in JSON, in base64, or truncated before an ellipsis. Deliberately absent: hashes and encryptions
//! of a value, and values that a script spells differently on purpose.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::find::SecretValues;
use crate::later::LaterSecrets;
use crate::mask::{MASK, masked};
use crate::names::is_credential;
use crate::url;

/// Shorter values cannot be distinguished from other text: masking every `1` would destroy more than it hides.
const SECRET_LENGTH_MIN: usize = 3;
/// For a cookie's value: shorter ones are settings (`theme=dark`), not keys.
const COOKIE_VALUE_LENGTH_MIN: usize = 8;

/// Values that no output may show. They are never serialised, and `Debug` only shows their number.
#[derive(Clone, Default)]
pub struct Secrets {
    values: SecretValues,
    /// Shared by all clones, so that a value that a script names later is hidden wherever a clone is used.
    later: Arc<LaterSecrets>,
}

/// Values learnt while a test runs do not change the identity of its plan.
impl PartialEq for Secrets {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Eq for Secrets {}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.values.len() + self.later.len())
    }
}

impl Secrets {
    /// There is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.values.len() + self.later.len() == 0
    }

    /// Learns a value. A value of fewer than three characters is ignored; one of three is hidden only as a separate word.
    pub fn learn(&mut self, value: &str) {
        for text in searched(value) {
            self.values.insert(text.as_bytes().into());
        }
    }

    /// Learns a value while the test runs, for all clones of these secrets. The newest 100,000 such values are kept.
    pub fn learn_later(&self, value: &str) {
        searched(value).for_each(|text| self.later.add(text));
    }

    /// Learns the passwords, and the values of query parameters with credential names, in the URLs of a string.
    pub fn learn_urls(&mut self, text: &str) {
        url::credentials(text).iter().for_each(|value| self.learn(value));
    }

    /// Learns the value of a header with a credential name: the whole value, the value without its scheme, and each cookie that is long enough.
    pub fn learn_header(&mut self, name: &str, value: &str) {
        header_credentials(name, value).for_each(|value| self.learn(value));
    }

    /// The same while the test runs, for all clones of these secrets.
    pub fn learn_header_later(&self, name: &str, value: &str) {
        header_credentials(name, value).for_each(|value| self.learn_later(value));
    }

    /// Learns the values of query parameters with credential names (`a=1&token=abc`) while the test runs.
    pub fn learn_query_later(&self, query: &str) {
        url::query_credentials(query).iter().for_each(|value| self.learn_later(value));
    }

    /// Learns, for all clones of these secrets, the values that `other` knew before its test ran.
    pub fn extend_later(&self, other: &Secrets) {
        other.values.iter().filter_map(|value| std::str::from_utf8(value).ok()).for_each(|value| self.later.add(value));
    }

    /// Returns the string with `•••` in place of secrets and of credentials in URLs.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut spans = Vec::new();
        self.values.find(text, &mut spans);
        self.later.find(text, &mut spans);
        let hidden = masked(text, spans);
        if hidden.contains("://") && hidden.contains(['@', '=']) {
            let masked = url::without_credentials(&hidden);
            if masked != *hidden {
                return Cow::Owned(masked);
            }
        }
        hidden
    }
}

/// The values in a header with a credential name: the whole value, the value without its scheme, and each cookie that is long enough.
fn header_credentials<'a>(name: &str, value: &'a str) -> impl Iterator<Item = &'a str> {
    let is_of_credential = is_credential(name);
    let is_cookie = is_of_credential && name.to_ascii_lowercase().contains("cookie");
    let cookies = value.split("; ").filter(move |_| is_cookie).filter_map(|pair| Some(pair.split_once('=')?.1));
    let cookies = cookies.filter(|value| value.len() >= COOKIE_VALUE_LENGTH_MIN);
    let without_scheme = value.split_once(' ').map(|(_scheme, credentials)| credentials);
    let whole = [Some(value), without_scheme].into_iter().flatten().filter(move |_| is_of_credential);
    cookies.chain(whole)
}

/// The value itself, and the value without surrounding white space, if they are long enough to be distinguished from other text.
fn searched(value: &str) -> impl Iterator<Item = &str> {
    let trimmed = value.trim();
    let texts = std::iter::once(value).chain((trimmed != value).then_some(trimmed));
    texts.filter(|text| text.chars().count() >= SECRET_LENGTH_MIN && *text != MASK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(values: &[&str]) -> Secrets {
        let mut secrets = Secrets::default();
        values.iter().for_each(|value| secrets.learn(value));
        secrets
    }

    #[test]
    fn a_secret_is_hidden_in_every_spelling() {
        let hidden = secrets(&["p\"ä/s + x9", "hunter2", "hunter22"]);
        for (text, shown) in [
            ("it is p\"ä/s + x9!", "it is •••!"),
            ("GET /p%22%C3%A4%2Fs%20%2B%20x9/a", "GET /•••/a"),
            ("?q=p%22%c3%a4/s+%2B+x9", "?q=•••"),
            (r#"{"a":"p\"ä/s + x9"}"#, r#"{"a":"•••"}"#),
            (r#"{"a":"p\"\u00e4\/s + x9"}"#, r#"{"a":"•••"}"#),
            ("hunter2 hunter22 hunter222", "••• ••• •••2"),
            ("expected \"hunt…\"", "expected \"•••…\""),
            ("hun… hunt hunters", "hun… hunt hunters"),
            ("Basic YWxhZGRpbjpodW50ZXIy", "Basic YWxhZGRpbj•••"),
            ("YTpodW50ZXIy YWI6aHVudGVyMg== aHVudGVyMg", "YT••• YWI6••• •••"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(hidden.hide(text), shown, "{text}");
            assert_eq!(hidden.hide(shown), shown, "hiding twice changes nothing");
        }
    }

    #[test]
    fn short_values_are_hidden_as_separate_words() {
        let hidden = secrets(&["123", "ab"]);
        assert_eq!(hidden.hide("pin 123, 1234, v123, \"123\" ab"), "pin •••, 1234, v123, \"•••\" ab");
    }

    #[test]
    fn credentials_of_urls_and_headers_are_learnt() {
        let mut hidden = Secrets::default();
        hidden.learn_urls("postgres://app:p%40ss1@db/shop and https://host/?api_key=k3y-9&x=1");
        hidden.learn_header("Authorization", "Bearer abc.def");
        hidden.learn_header("Cookie", "session=0123456789; theme=dark");
        hidden.learn_header("Accept", "text/plain");
        assert_eq!(hidden.hide("p@ss1 p%40ss1 k3y-9 abc.def 0123456789"), "••• ••• ••• ••• •••");
        assert_eq!(hidden.hide("dark text/plain app"), "dark text/plain app");
    }

    #[test]
    fn values_learnt_during_a_test_are_hidden_by_earlier_clones() {
        let original = secrets(&["hunter2"]);
        let shown = original.clone();
        original.learn_later(" abc-hunter2-def\n");
        original.learn_later("ab");
        assert_eq!(shown.hide("ab hunter2 and abc-hunter2-def or YWJjLWh1bnRlcjItZGVm"), "ab ••• and ••• or •••");
        assert_eq!(secrets(&["hunter2"]).hide("abc-hunter2-def"), "abc-•••-def", "a separate set does not learn the value");
        assert_eq!(original, secrets(&["hunter2"]));
    }

    #[test]
    fn many_values_with_a_common_prefix_are_distinguished() {
        let hidden = Secrets::default();
        (0..2_000).for_each(|number| hidden.learn_later(&format!("eyJhbGciOiJIUzI1NiJ9.user-{number:04}.x")));
        let text = "eyJhbGciOiJIUzI1NiJ9.user-1234.x eyJhbGciOiJIUzI1NiJ9.user-2000.x eyJhbGciOiJIUzI1NiJ9.us… eyJ…";
        assert_eq!(hidden.hide(text), "••• eyJhbGciOiJIUzI1NiJ9.user-2000.x •••… eyJ…");
        assert_eq!(hidden.hide("eyJhbGciOiJIUzI1NiJ9%2Euser%2D0007%2Ex"), "•••");
        assert_eq!(hidden.hide(r"\u0065yJhbGciOiJIUzI1NiJ9.user-0007.x \ud83d\ude00"), r"••• \ud83d\ude00");
    }

    #[test]
    fn debug_output_shows_no_value() {
        assert_eq!(format!("{:?}", secrets(&["hunter2"])), "Secrets(1)");
    }
}
