//! Tokens, the names of methods and header fields.

/// RFC 9110, section 5.6.2.
pub(crate) fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}
