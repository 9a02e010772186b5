//! Proves that we know the password, in the way that the server asks for.

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use loadstone_metrics::Outcome;
use mysql_common::scramble::{scramble_native, scramble_sha256};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

use super::wire::malformed;
use crate::failure::Failure;

const NATIVE: &str = "mysql_native_password";
const CACHING: &str = "caching_sha2_password";
const CLEAR: &str = "mysql_clear_password";
/// What `caching_sha2_password` says of a proof: enough, or that it wants the password itself.
const ENOUGH: u8 = 3;
const ALL_OF_IT: u8 = 4;
/// Asks for the key that a password is encrypted with.
const KEY_PLEASE: u8 = 2;

/// A password, and what it is proven against.
pub(super) struct PasswordProof<'a> {
    pub(super) password: &'a str,
    pub(super) nonce: Vec<u8>,
    pub(super) plugin: String,
    pub(super) is_secured: bool,
}

impl PasswordProof<'_> {
    /// What is said at once. Where the server's way is not known, nothing: it may ask for another.
    pub(super) fn first(&self) -> Vec<u8> {
        if self.password.is_empty() {
            return Vec::new();
        }
        let password = self.password.as_bytes();
        match &*self.plugin {
            NATIVE => scramble_native(&self.nonce, password).map(Vec::from).unwrap_or_default(),
            CACHING => scramble_sha256(&self.nonce, password).map(Vec::from).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// What is said when the server has chosen this way, of which it said it last.
    ///
    /// # Errors
    /// We do not know that way, or it would show the password to others.
    pub(super) fn chosen(&self) -> Result<Vec<u8>, Failure> {
        match &*self.plugin {
            NATIVE | CACHING => Ok(self.first()),
            CLEAR if self.is_secured => Ok(self.in_clear()),
            CLEAR => Err(Failure::new(Outcome::Tls, "the server wants the password in clear text: write sslmode=require in the URL")),
            other => Err(Failure::protocol(format!(
                "the server wants to know us by {other}: {NATIVE}, {CACHING} and, through TLS, {CLEAR} are known"
            ))),
        }
    }

    /// What is said to a further question; nothing where it is none.
    ///
    /// # Errors
    /// The question makes no sense.
    pub(super) fn further(&self, question: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        match question {
            [ENOUGH] => Ok(None),
            [ALL_OF_IT] if self.is_secured => Ok(Some(self.in_clear())),
            [ALL_OF_IT] => Ok(Some(vec![KEY_PLEASE])),
            key if key.starts_with(b"-----BEGIN PUBLIC KEY-----") => self.encrypted(key).map(Some),
            _ => Err(malformed("a question for a password cannot be read")),
        }
    }

    fn in_clear(&self) -> Vec<u8> {
        let mut password = self.password.as_bytes().to_vec();
        password.push(0);
        password
    }

    /// The password, mixed with the nonce, for the server's eyes only.
    fn encrypted(&self, pem: &[u8]) -> Result<Vec<u8>, Failure> {
        let unusable = || malformed("its public key cannot be used");
        let mixed: Vec<u8> = self.in_clear().iter().zip(self.nonce.iter().cycle()).map(|(byte, with)| byte ^ with).collect();
        let key = SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| unusable())?;
        let key = PublicEncryptingKey::from_der(&key).and_then(|key| Ok(OaepPublicEncryptingKey::new(key)?)).map_err(|_| unusable())?;
        let mut encrypted = vec![0; key.ciphertext_size()];
        let length = key.encrypt(&OAEP_SHA1_MGF1SHA1, &mixed, &mut encrypted, None).map_err(|_| unusable())?.len();
        encrypted.truncate(length);
        Ok(encrypted)
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::digest::{SHA256, digest};
    use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
    use aws_lc_rs::rsa::{KeySize, OaepPrivateDecryptingKey, PrivateDecryptingKey};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    const NONCE: &[u8; 20] = b"0123456789abcdefghij";

    fn proof(plugin: &str, is_secured: bool) -> PasswordProof<'static> {
        PasswordProof { password: "p@ss", nonce: NONCE.to_vec(), plugin: plugin.to_owned(), is_secured }
    }

    /// A server keeps the hash of the hash, and finds the hash in the proof ("Caching_sha2_password information").
    #[test]
    fn what_is_said_at_once_proves_the_password_to_who_has_its_hash() {
        let said = proof(CACHING, false).first();
        let hash = digest(&SHA256, b"p@ss");
        let kept = digest(&SHA256, hash.as_ref());
        let mixed = digest(&SHA256, &[kept.as_ref(), NONCE].concat());
        let found: Vec<u8> = said.iter().zip(mixed.as_ref()).map(|(a, b)| a ^ b).collect();
        assert_eq!(found, hash.as_ref());
        assert_eq!(proof(NATIVE, false).first().len(), 20);
        assert!(proof("client_ed25519", false).first().is_empty());
    }

    #[test]
    fn the_password_itself_is_shown_to_nobody_between() {
        let proof_in_clear = proof(CACHING, true).further(&[ALL_OF_IT]).unwrap();
        assert_eq!(proof_in_clear.as_deref(), Some(&b"p@ss\0"[..]));
        let proof = proof(CACHING, false);
        assert_eq!(proof.further(&[ENOUGH]), Ok(None));
        assert_eq!(proof.further(&[ALL_OF_IT]), Ok(Some(vec![KEY_PLEASE])));
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
        let der: PublicKeyX509Der<'_> = key.public_key().as_der().unwrap();
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der.as_ref()));
        let said = proof.further(pem.as_bytes()).unwrap().unwrap();
        let key = OaepPrivateDecryptingKey::new(key).unwrap();
        let mut plain = vec![0; key.min_output_size()];
        let read = key.decrypt(&OAEP_SHA1_MGF1SHA1, &said, &mut plain, None).unwrap();
        let password: Vec<u8> = read.iter().zip(NONCE).map(|(a, b)| a ^ b).collect();
        assert_eq!(password, b"p@ss\0");
    }

    #[test]
    fn ways_that_are_not_known_and_questions_that_make_no_sense_are_told() {
        for (told, said) in [
            (proof("client_ed25519", true).chosen().map(|_| ()), "by client_ed25519: mysql_native_password, caching_sha2_password"),
            (proof(CLEAR, false).chosen().map(|_| ()), "write sslmode=require"),
            (proof(CACHING, false).further(b"-----BEGIN PUBLIC KEY-----\nno\n").map(|_| ()), "public key cannot be used"),
            (proof(CACHING, false).further(&[9]).map(|_| ()), "question for a password"),
        ] {
            let message = told.unwrap_err().message;
            assert!(message.contains(said), "{message}");
        }
        assert_eq!(proof(CLEAR, true).chosen(), Ok(b"p@ss\0".to_vec()));
    }
}
