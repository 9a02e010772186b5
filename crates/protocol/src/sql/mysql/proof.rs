//! Proves knowledge of the password with the method that the server requests.

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
/// The response of `caching_sha2_password` to a proof: it suffices, or the server needs the password itself.
const PROOF_SUFFICIENT: u8 = 3;
const PASSWORD_REQUIRED: u8 = 4;
/// Requests the public key that encrypts the password.
const PUBLIC_KEY_REQUEST: u8 = 2;

/// A password, and the parameters of its proof.
pub(super) struct PasswordProof<'a> {
    pub(super) password: &'a str,
    pub(super) nonce: Vec<u8>,
    pub(super) plugin: String,
    pub(super) is_secured: bool,
}

impl PasswordProof<'_> {
    /// The initial response. Empty if the server's method is not supported: it may request another one.
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

    /// The response after the server has selected its final method.
    ///
    /// # Errors
    /// The method is not supported, or it would expose the password.
    pub(super) fn chosen(&self) -> Result<Vec<u8>, Failure> {
        match &*self.plugin {
            NATIVE | CACHING => Ok(self.first()),
            CLEAR if self.is_secured => Ok(self.in_clear()),
            CLEAR => Err(Failure::new(Outcome::Tls, "the server wants the password in clear text: write sslmode=require in the URL")),
            other => Err(Failure::protocol(format!(
                "the server requires authentication by {other}: supported are {NATIVE}, {CACHING} and, over TLS, {CLEAR}"
            ))),
        }
    }

    /// The response to a further request. `None` if none is needed.
    ///
    /// # Errors
    /// The request is invalid.
    pub(super) fn further(&self, question: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        match question {
            [PROOF_SUFFICIENT] => Ok(None),
            [PASSWORD_REQUIRED] if self.is_secured => Ok(Some(self.in_clear())),
            [PASSWORD_REQUIRED] => Ok(Some(vec![PUBLIC_KEY_REQUEST])),
            key if key.starts_with(b"-----BEGIN PUBLIC KEY-----") => self.encrypted(key).map(Some),
            _ => Err(malformed("an authentication request cannot be read")),
        }
    }

    fn in_clear(&self) -> Vec<u8> {
        let mut password = self.password.as_bytes().to_vec();
        password.push(0);
        password
    }

    /// The password mixed with the nonce and encrypted, so that only the server can read it.
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

    /// A server stores the hash of the hash, and derives the hash from the proof ("Caching_sha2_password information").
    #[test]
    fn the_first_message_proves_the_password_to_a_server_with_its_hash() {
        let message = proof(CACHING, false).first();
        let hash = digest(&SHA256, b"p@ss");
        let kept = digest(&SHA256, hash.as_ref());
        let mixed = digest(&SHA256, &[kept.as_ref(), NONCE].concat());
        let found: Vec<u8> = message.iter().zip(mixed.as_ref()).map(|(a, b)| a ^ b).collect();
        assert_eq!(found, hash.as_ref());
        assert_eq!(proof(NATIVE, false).first().len(), 20);
        assert!(proof("client_ed25519", false).first().is_empty());
    }

    #[test]
    fn the_password_is_never_sent_in_clear_text() {
        let proof_in_clear = proof(CACHING, true).further(&[PASSWORD_REQUIRED]).unwrap();
        assert_eq!(proof_in_clear.as_deref(), Some(&b"p@ss\0"[..]));
        let proof = proof(CACHING, false);
        assert_eq!(proof.further(&[PROOF_SUFFICIENT]), Ok(None));
        assert_eq!(proof.further(&[PASSWORD_REQUIRED]), Ok(Some(vec![PUBLIC_KEY_REQUEST])));
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
        let der: PublicKeyX509Der<'_> = key.public_key().as_der().unwrap();
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der.as_ref()));
        let message = proof.further(pem.as_bytes()).unwrap().unwrap();
        let key = OaepPrivateDecryptingKey::new(key).unwrap();
        let mut plain = vec![0; key.min_output_size()];
        let read = key.decrypt(&OAEP_SHA1_MGF1SHA1, &message, &mut plain, None).unwrap();
        let password: Vec<u8> = read.iter().zip(NONCE).map(|(a, b)| a ^ b).collect();
        assert_eq!(password, b"p@ss\0");
    }

    #[test]
    fn unsupported_methods_and_invalid_requests_are_reported() {
        for (result, expected) in [
            (
                proof("client_ed25519", true).chosen().map(|_| ()),
                "by client_ed25519: supported are mysql_native_password, caching_sha2_password",
            ),
            (proof(CLEAR, false).chosen().map(|_| ()), "write sslmode=require"),
            (proof(CACHING, false).further(b"-----BEGIN PUBLIC KEY-----\nno\n").map(|_| ()), "public key cannot be used"),
            (proof(CACHING, false).further(&[9]).map(|_| ()), "authentication request"),
        ] {
            let message = result.unwrap_err().message;
            assert!(message.contains(expected), "{message}");
        }
        assert_eq!(proof(CLEAR, true).chosen(), Ok(b"p@ss\0".to_vec()));
    }
}
