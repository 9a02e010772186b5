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

/// The y coordinates of all public keys of small order, as encoded in RFC 8032, with the two that exceed the field's prime. Such a key has no private
/// key, and anybody can find signatures that it verifies (Chalkias, Garillot and Nikolaenko, "Taming the many EdDSAs", 2020, table 1).
const SMALL_ORDER: [[u8; PUBLIC_KEY_BYTES]; 7] = {
    let zero = [0; PUBLIC_KEY_BYTES];
    let mut one = zero;
    one[0] = 1;
    // The prime is 2^255 - 19.
    let mut prime = [0xff; PUBLIC_KEY_BYTES];
    (prime[0], prime[PUBLIC_KEY_BYTES - 1]) = (0xed, 0x7f);
    let (mut below, mut above) = (prime, prime);
    (below[0], above[0]) = (0xec, 0xee);
    let of_order_8 = [
        [
            0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3,
            0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
        ],
        [
            0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c,
            0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
        ],
    ];
    [zero, one, of_order_8[0], of_order_8[1], below, prime, above]
};

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
    /// `None`: this is no key, or one of small order.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let key: [u8; PUBLIC_KEY_BYTES] = bytes.try_into().ok()?;
        let mut y = key;
        // The highest bit is the sign of x.
        y[PUBLIC_KEY_BYTES - 1] &= 0x7f;
        (!SMALL_ORDER.contains(&y)).then_some(Self(key))
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

    /// Such keys verify a signature of zeros for one message of four or eight, without a private key.
    #[test]
    fn a_key_of_small_order_is_refused() {
        for y in SMALL_ORDER {
            for sign in [0, 0x80] {
                let mut key = y;
                key[PUBLIC_KEY_BYTES - 1] |= sign;
                assert_eq!(PublicFleetKey::of_bytes(&key), None, "{key:02x?}");
                let text = STANDARD.encode(key);
                assert_eq!(text.parse::<PublicFleetKey>(), Err(FleetKeyError::Public(text.clone())));
            }
        }
        let forged = |key: [u8; PUBLIC_KEY_BYTES]| {
            let verifies = |number: &u8| PublicFleetKey(key).has_signed(&[*number], &[0; SIGNATURE_BYTES]);
            (0..64).filter(verifies).count()
        };
        assert!(forged(SMALL_ORDER[0]) > 0, "the attack that this prevents");
        assert_eq!(forged(*FleetKey::generate().unwrap().public().0.first_chunk().unwrap()), 0);
    }

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
