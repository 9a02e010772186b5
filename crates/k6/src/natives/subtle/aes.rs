//! AES in the modes CBC, CTR and GCM.

use aws_lc_rs::aead::{AES_128_GCM, AES_192_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext, PaddedBlockDecryptingKey,
    PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::iv::FixedLength;
use rquickjs::{ArrayBuffer, Ctx, Function, Object, Value};

use super::refusal::{SubtleRefusal, SubtleResult, field, or_throw};
use crate::natives::crypto::bytes_of;

const TAG_BYTES_MAX: usize = 16;

pub(super) fn install<'js>(ctx: &Ctx<'js>, subtle: &Object<'js>) -> rquickjs::Result<()> {
    subtle.set("aes", Function::new(ctx.clone(), aes)?)
}

/// Parameters of one operation.
struct Aes {
    key: Vec<u8>,
    /// The initial counter of CTR.
    iv: Vec<u8>,
    additional: Vec<u8>,
    tag_bytes: usize,
}

fn aes<'js>(ctx: Ctx<'js>, mode: String, encrypts: bool, parameters: Object<'js>, data: Value<'js>) -> rquickjs::Result<ArrayBuffer<'js>> {
    let read = |name| field(&ctx, &parameters, name);
    let tag_bytes = parameters.get::<_, usize>("tagBytes")?.min(TAG_BYTES_MAX);
    let aes = Aes { key: read("key")?, iv: read("iv")?, additional: read("additional")?, tag_bytes };
    let data = bytes_of(&ctx, &data)?;
    let answer = match (mode.as_str(), encrypts) {
        ("AES-CBC", true) => aes.cbc_encrypt(data),
        ("AES-CBC", false) => aes.cbc_decrypt(data),
        // Encryption and decryption are the same operation.
        ("AES-CTR", _) => aes.ctr(data),
        ("AES-GCM", true) => aes.gcm_encrypt(data),
        ("AES-GCM", false) => aes.gcm_decrypt(&data),
        (other, _) => Err(SubtleRefusal::Unsupported(other.to_owned())),
    };
    ArrayBuffer::new(ctx.clone(), or_throw(&ctx, answer)?)
}

impl Aes {
    fn cipher_key(&self) -> SubtleResult<UnboundCipherKey> {
        let algorithm = match self.key.len() {
            16 => &AES_128,
            24 => &AES_192,
            32 => &AES_256,
            _ => return Err(SubtleRefusal::Key("an AES key has 16, 24 or 32 bytes")),
        };
        UnboundCipherKey::new(algorithm, &self.key).map_err(|_| SubtleRefusal::Key("invalid AES key"))
    }

    fn block(&self) -> SubtleResult<FixedLength<16>> {
        let iv =
            <[u8; 16]>::try_from(self.iv.as_slice()).map_err(|_| SubtleRefusal::Operation("the iv or counter is not 16 bytes long"))?;
        Ok(FixedLength::from(iv))
    }

    fn cbc_encrypt(&self, mut data: Vec<u8>) -> SubtleResult<Vec<u8>> {
        // As in k6.
        if data.is_empty() {
            return Err(SubtleRefusal::Operation("could not pad plaintext: it is empty"));
        }
        let failed = |_| SubtleRefusal::Operation("AES-CBC failed");
        let key = PaddedBlockEncryptingKey::cbc_pkcs7(self.cipher_key()?).map_err(failed)?;
        key.less_safe_encrypt(&mut data, EncryptionContext::Iv128(self.block()?)).map_err(failed)?;
        Ok(data)
    }

    fn cbc_decrypt(&self, mut data: Vec<u8>) -> SubtleResult<Vec<u8>> {
        let failed = |_| SubtleRefusal::Operation("invalid padding");
        let key = PaddedBlockDecryptingKey::cbc_pkcs7(self.cipher_key()?).map_err(failed)?;
        key.decrypt(&mut data, DecryptionContext::Iv128(self.block()?)).map(|plain| plain.to_vec()).map_err(failed)
    }

    fn ctr(&self, mut data: Vec<u8>) -> SubtleResult<Vec<u8>> {
        let failed = |_| SubtleRefusal::Operation("AES-CTR failed");
        let key = EncryptingKey::ctr(self.cipher_key()?).map_err(failed)?;
        key.less_safe_encrypt(&mut data, EncryptionContext::Iv128(self.block()?)).map_err(failed)?;
        Ok(data)
    }

    fn gcm_encrypt(&self, mut data: Vec<u8>) -> SubtleResult<Vec<u8>> {
        let algorithm = match self.key.len() {
            16 => &AES_128_GCM,
            24 => &AES_192_GCM,
            32 => &AES_256_GCM,
            _ => return Err(SubtleRefusal::Key("an AES key has 16, 24 or 32 bytes")),
        };
        let failed = |_| SubtleRefusal::Operation("AES-GCM failed");
        let key = LessSafeKey::new(UnboundKey::new(algorithm, &self.key).map_err(failed)?);
        let nonce = Nonce::try_assume_unique_for_key(&self.iv).map_err(|_| SubtleRefusal::Operation("the iv is not 12 bytes long"))?;
        key.seal_in_place_append_tag(nonce, Aad::from(&self.additional), &mut data).map_err(failed)?;
        data.truncate(data.len() - TAG_BYTES_MAX + self.tag_bytes);
        Ok(data)
    }

    /// A tag may be shortened (NIST SP 800-38D, section 7.2), so it is computed from the plaintext and compared.
    fn gcm_decrypt(&self, data: &[u8]) -> SubtleResult<Vec<u8>> {
        let at = data.len().checked_sub(self.tag_bytes).ok_or(SubtleRefusal::Operation("ciphertext is too short"))?;
        let (encrypted, tag) = data.split_at(at);
        let mut counter = self.iv.clone();
        if counter.len() != 12 {
            return Err(SubtleRefusal::Operation("the iv is not 12 bytes long"));
        }
        // The first block of the data has the counter 2 (section 7.1).
        counter.extend([0, 0, 0, 2]);
        let decrypting = DecryptingKey::ctr(self.cipher_key()?).map_err(|_| SubtleRefusal::Operation("AES-GCM failed"))?;
        let context = DecryptionContext::Iv128(FixedLength::from(<[u8; 16]>::try_from(counter.as_slice()).unwrap_or_default()));
        let mut plain = encrypted.to_vec();
        decrypting.decrypt(&mut plain, context).map_err(|_| SubtleRefusal::Operation("AES-GCM failed"))?;
        let sealed = self.gcm_encrypt(plain.clone())?;
        let is_authentic = verify_slices_are_equal(sealed.get(at..).unwrap_or_default(), tag).is_ok();
        if is_authentic { Ok(plain) } else { Err(SubtleRefusal::Operation("could not decrypt ciphertext")) }
    }
}
