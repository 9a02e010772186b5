//! Names of headers, fields and query parameters whose values are credentials.

/// Words in the name of a field whose value is a password. Such a field is secret everywhere, also in a body.
const PASSWORD_NAMES: [&str; 5] = ["password", "passwd", "pwd", "passphrase", "secret"];
/// Further words in the name of a field whose value is a credential. `key` alone is not one: most keys are names of things.
const CREDENTIAL_NAMES: [&str; 10] =
    ["token", "authorization", "cookie", "credential", "signature", "apikey", "accesskey", "authkey", "subscriptionkey", "privatekey"];

/// Whether a field with this name contains a password.
pub fn is_password(name: &str) -> bool {
    contains_one_of(&PASSWORD_NAMES, name)
}

/// Whether a field, header or query parameter with this name contains a credential, such as a password.
pub fn is_credential(name: &str) -> bool {
    is_password(name) || contains_one_of(&CREDENTIAL_NAMES, name)
}

/// Whether a field of JSON with this name contains a credential. Its last word counts: a `token_endpoint` and `total_tokens` are none.
pub(crate) fn is_credential_field(name: &[u8]) -> bool {
    let last_first = || {
        let plain = name.iter().rev().filter(|byte| byte.is_ascii_alphanumeric());
        plain.map(u8::to_ascii_lowercase).skip_while(u8::is_ascii_digit)
    };
    let ends_with = |word: &&str| word.bytes().rev().eq(last_first().take(word.len()));
    PASSWORD_NAMES.iter().chain(&CREDENTIAL_NAMES).any(ends_with)
}

/// Case, hyphens, dots and underscores make no difference.
fn contains_one_of(words: &[&str], name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    words.iter().any(|word| plain.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_field_counts() {
        for name in ["token", "access_token", "refreshToken", "X-CSRF-Token", "new_password", "password2", "client.secret", "apiKey"] {
            assert!(is_credential_field(name.as_bytes()), "{name}");
        }
        for name in ["token_type", "tokens", "total_tokens", "tokenUrl", "password_policy", "key", "", "en"] {
            assert!(!is_credential_field(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_of_credentials_are_distinguished_from_other_names() {
        for name in ["X-Api-Key", "access_key", "X-Amz-Signature", "Ocp-Apim-Subscription-Key", "X-CSRF-Token", "Set-Cookie", "db.pwd"] {
            assert!(is_credential(name) && is_password(name) == (name == "db.pwd"), "{name}");
        }
        for name in ["key", "Idempotency-Key", "Sec-WebSocket-Key", "Content-Type", "author"] {
            assert!(!is_credential(name), "{name}");
        }
    }
}
