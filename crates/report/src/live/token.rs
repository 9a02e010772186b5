//! The secret that lets a page steer its run.

use std::fs::File;
use std::io::{self, Read};

/// 128 random bits, as hexadecimal digits.
#[derive(Debug, Clone)]
pub(super) struct Token(String);

impl Token {
    /// # Errors
    /// When the system gives no random bytes.
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0u8; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not tell how much of a guess was right.
    pub(super) fn matches(&self, given: &str) -> bool {
        given.len() == self.0.len() && given.bytes().zip(self.0.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_match_only_themselves() {
        let (a, b) = (Token::random().unwrap(), Token::random().unwrap());
        assert_eq!(a.as_str().len(), 32);
        assert!(a.matches(a.as_str()) && !a.matches(b.as_str()) && !a.matches("") && !a.matches(&a.as_str()[1..]));
    }
}
