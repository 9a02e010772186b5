//! Private keys that are encrypted in the older form of PEM (RFC 1421, section 4.6.1.1), as OpenSSL writes them with `-traditional`.
//!
//! The key of the cipher is derived from the passphrase as by `EVP_BytesToKey` with MD5 and one round. It protects little, but test suites have such
//! keys, and k6 reads no others.

use aes::{Aes128, Aes192, Aes256};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cbc::Decryptor;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockCipherDecrypt, BlockModeDecrypt, KeyInit, KeyIvInit};
use des::{Des, TdesEde3};
use md5::{Digest, Md5};

/// The header field that marks an encrypted key.
pub(crate) const ENCRYPTED_FIELD: &str = "Proc-Type: 4,ENCRYPTED";

/// The salt is the beginning of the initialization vector.
const SALT_BYTES: usize = 8;

/// Why a key could not be decrypted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Undecrypted {
    WrongPassphrase,
    Malformed,
    Cipher(String),
}

/// Decrypts a key: the text between the lines `-----BEGIN …` and `-----END …`.
pub(crate) fn decrypt(block: &str, passphrase: &str) -> Result<Vec<u8>, Undecrypted> {
    let mut lines = block.trim_start().lines();
    let fields: Vec<&str> = lines.by_ref().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let described = fields.iter().find_map(|field| field.strip_prefix("DEK-Info:")).ok_or(Undecrypted::Malformed)?;
    let (cipher, iv) = described.trim().split_once(',').ok_or(Undecrypted::Malformed)?;
    let iv = bytes_of_hex(iv).filter(|iv| iv.len() >= SALT_BYTES).ok_or(Undecrypted::Malformed)?;
    let encoded: String = lines.flat_map(str::split_whitespace).collect();
    let data = STANDARD.decode(encoded).map_err(|_| Undecrypted::Malformed)?;
    let key = |bytes| derived(passphrase, &iv[..SALT_BYTES], bytes);
    match cipher {
        "AES-128-CBC" => decrypted::<Aes128>(&key(16), &iv, &data),
        "AES-192-CBC" => decrypted::<Aes192>(&key(24), &iv, &data),
        "AES-256-CBC" => decrypted::<Aes256>(&key(32), &iv, &data),
        "DES-CBC" => decrypted::<Des>(&key(8), &iv, &data),
        "DES-EDE3-CBC" => decrypted::<TdesEde3>(&key(24), &iv, &data),
        other => Err(Undecrypted::Cipher(other.to_owned())),
    }
}

fn decrypted<C: BlockCipherDecrypt + KeyInit>(key: &[u8], iv: &[u8], data: &[u8]) -> Result<Vec<u8>, Undecrypted> {
    let cipher = Decryptor::<C>::new_from_slices(key, iv).map_err(|_| Undecrypted::Malformed)?;
    let decrypted = cipher.decrypt_padded_vec::<Pkcs7>(data).map_err(|_| Undecrypted::WrongPassphrase)?;
    // With a wrong passphrase, one result of 256 has the form of padded text.
    if is_sequence(&decrypted) { Ok(decrypted) } else { Err(Undecrypted::WrongPassphrase) }
}

/// Whether this is one SEQUENCE in DER, as each private key is.
fn is_sequence(der: &[u8]) -> bool {
    match der {
        [0x30, 0x82, a, b, rest @ ..] => rest.len() == usize::from(u16::from_be_bytes([*a, *b])),
        [0x30, 0x81, length, rest @ ..] | [0x30, length @ ..=0x7f, rest @ ..] => rest.len() == usize::from(*length),
        _ => false,
    }
}

/// `EVP_BytesToKey` of OpenSSL: digests of the one before, the passphrase and the salt, one after the other.
fn derived(passphrase: &str, salt: &[u8], bytes: usize) -> Vec<u8> {
    let (mut key, mut last) = (Vec::new(), Vec::new());
    while key.len() < bytes {
        last = Md5::new().chain_update(&last).chain_update(passphrase).chain_update(salt).finalize().to_vec();
        key.extend_from_slice(&last);
    }
    key.truncate(bytes);
    key
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    let pairs = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok());
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_such_key_is_refused() {
        let block = |header: &str| decrypt(&format!("\nProc-Type: 4,ENCRYPTED\n{header}\n\nAAAA\n"), "x").unwrap_err();
        assert_eq!(block("Other: 1"), Undecrypted::Malformed);
        assert_eq!(block("DEK-Info: AES-256-CBC,00"), Undecrypted::Malformed);
        assert_eq!(block("DEK-Info: AES-256-CBC,0011223344556677"), Undecrypted::Malformed);
        assert_eq!(
            block("DEK-Info: CAMELLIA-256-CBC,00112233445566778899aabbccddeeff"),
            Undecrypted::Cipher("CAMELLIA-256-CBC".to_owned())
        );
        assert_eq!(block("DEK-Info: DES-CBC,0011223344556677"), Undecrypted::WrongPassphrase);
    }
}
