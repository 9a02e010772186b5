//! Keys that sign packets: Ed25519 (RFC 8032).
//!
//! Every participant signs its packets. An agent accepts only controllers whose public keys it knows, if it was given any.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

pub(crate) const PUBLIC_KEY_BYTES: usize = 32;
pub(crate) const SIGNATURE_BYTES: usize = 64;

/// A participant's private key.
pub struct FleetKey(Ed25519KeyPair);

/// A participant's public key. As text: base64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicFleetKey([u8; PUBLIC_KEY_BYTES]);

/// A key cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FleetKeyError {
    #[error("\"{0}\" is not a public key: copy the line that `loadstone fleet key` prints")]
    Public(String),
    #[error("it is not a private Ed25519 key: create one with `loadstone fleet key FILE`")]
    Private,
    #[error("no key can be created")]
    Creation,
}

impl FleetKey {
    /// A new key.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn generate() -> Result<Self, FleetKeyError> {
        Ed25519KeyPair::generate().map(Self).map_err(|_| FleetKeyError::Creation)
    }

    /// A key in PKCS #8 (RFC 8410), as DER.
    ///
    /// # Errors
    /// It is no such key.
    pub fn of_pkcs8(der: &[u8]) -> Result<Self, FleetKeyError> {
        // Without the public key in the file (version 1), it is derived.
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map(Self).map_err(|_| FleetKeyError::Private)
    }

    pub fn public(&self) -> PublicFleetKey {
        let mut bytes = [0; PUBLIC_KEY_BYTES];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        PublicFleetKey(bytes)
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.0.sign(message).as_ref().to_vec()
    }
}

impl PublicFleetKey {
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}

impl FromStr for PublicFleetKey {
    type Err = FleetKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = STANDARD.decode(text.trim()).ok();
        bytes.and_then(|bytes| Self::of_bytes(&bytes)).ok_or_else(|| FleetKeyError::Public(text.to_owned()))
    }
}

impl fmt::Display for PublicFleetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicFleetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicFleetKey({self})")
    }
}

/// Without the key.
impl fmt::Debug for FleetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetKey").field("public", &self.public()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_its_message_and_key_only() {
        let (key, other) = (FleetKey::generate().unwrap(), FleetKey::generate().unwrap());
        let signature = key.sign(b"message");
        assert_eq!(signature.len(), SIGNATURE_BYTES);
        assert!(key.public().has_signed(b"message", &signature));
        assert!(!key.public().has_signed(b"massage", &signature) && !other.public().has_signed(b"message", &signature));
    }

    /// RFC 8032, section 7.1, test 1: the private key as RFC 8410 encodes it.
    #[test]
    fn a_published_key_has_its_published_public_key() {
        let mut der = hex("302e020100300506032b657004220420");
        der.extend(hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"));
        let key = FleetKey::of_pkcs8(&der).unwrap();
        let public = hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
        assert_eq!(key.public().bytes(), public);
        assert_eq!(key.public().to_string().parse(), Ok(key.public()));
        assert!("c2hvcnQ=".parse::<PublicFleetKey>().is_err() && FleetKey::of_pkcs8(&der[..40]).is_err());
    }

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }
}
