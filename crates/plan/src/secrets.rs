//! What must not be seen, and how it is found in texts.
//!
//! Read [`Secrets`]: it learns values, and hides them wherever they turn up, also percent-encoded, escaped as in JSON, in base64, or cut
//! short before an ellipsis. Deliberately absent: hashes and encryptions of a value, and what a script spells differently on purpose.

mod find;
mod url;

use std::borrow::Cow;
use std::fmt;

use self::find::Secret;
use crate::Parameter;

/// A shorter value is no secret that could be told from other texts: masking every `1` would destroy more than it hides.
const LENGTH_MIN: usize = 3;
/// Of a cookie's value: shorter ones are settings (`theme=dark`), not keys.
const COOKIE_LENGTH_MIN: usize = 8;

/// Words in the name of a field whose text is a credential.
const CREDENTIAL_NAMES: [&str; 9] =
    ["password", "passwd", "secret", "token", "authorization", "cookie", "apikey", "credential", "privatekey"];

/// Whether a field, header or query parameter of this name holds a credential.
pub fn is_credential(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    CREDENTIAL_NAMES.iter().any(|word| plain.contains(word))
}

/// Values that no output may show. They are never serialised, and `Debug` shows how many there are.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Longest first, so that a secret that contains another is hidden whole.
    values: Vec<Secret>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.values.len())
    }
}

impl Secrets {
    /// A value that must not be seen. One below three characters is not looked for; one of three is hidden where it stands alone.
    pub fn learn(&mut self, value: &str) {
        for text in [value, value.trim()] {
            if text.chars().count() >= LENGTH_MIN && text != Parameter::MASK && !self.values.iter().any(|known| known.is(text)) {
                let place = self.values.partition_point(|known| known.length() >= text.len());
                self.values.insert(place, Secret::new(text));
            }
        }
    }

    /// Passwords, and values of query parameters named like credentials, in the URLs of a text.
    pub fn learn_urls(&mut self, text: &str) {
        url::credentials(text).iter().for_each(|value| self.learn(value));
    }

    /// The value of a header that is named like a credential: whole, without its scheme, and of cookies each value of some length.
    pub fn learn_header(&mut self, name: &str, value: &str) {
        if !is_credential(name) {
            return;
        }
        if name.to_ascii_lowercase().contains("cookie") {
            let values = value.split("; ").filter_map(|pair| Some(pair.split_once('=')?.1));
            values.filter(|value| value.len() >= COOKIE_LENGTH_MIN).for_each(|value| self.learn(value));
        }
        self.learn(value);
        if let Some((_scheme, credentials)) = value.split_once(' ') {
            self.learn(credentials);
        }
    }

    /// Everything that another has learnt.
    pub fn extend(&mut self, other: &Secrets) {
        other.values.iter().for_each(|secret| self.learn(secret.text()));
    }

    /// The text with `•••` in place of secrets, and of passwords in URLs.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let hidden = find::hide(&self.values, text);
        if hidden.contains("://") && hidden.contains(['@', '=']) {
            let masked = url::without_credentials(&hidden);
            if masked != *hidden {
                return Cow::Owned(masked);
            }
        }
        hidden
    }
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
    fn short_values_are_hidden_where_they_stand_alone() {
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
    fn debug_output_shows_none() {
        assert_eq!(format!("{:?}", secrets(&["hunter2"])), "Secrets(1)");
    }
}
