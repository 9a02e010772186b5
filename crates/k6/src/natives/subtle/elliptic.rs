//! ECDSA and ECDH on P-256, P-384 and P-521.

use aws_lc_rs::agreement::{self, ECDH_P256, ECDH_P384, ECDH_P521, UnparsedPublicKey};
use aws_lc_rs::encoding::{AsBigEndian, AsDer, EcPrivateKeyBin, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED, ECDSA_P384_SHA384_FIXED_SIGNING,
    ECDSA_P521_SHA256_FIXED, ECDSA_P521_SHA256_FIXED_SIGNING, ECDSA_P521_SHA384_FIXED, ECDSA_P521_SHA384_FIXED_SIGNING,
    ECDSA_P521_SHA512_FIXED, ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, EcdsaVerificationAlgorithm, KeyPair,
    ParsedPublicKey,
};
use rquickjs::{ArrayBuffer, Ctx, Function, Object, Value};

use super::refusal::{SubtleRefusal, SubtleResult, fields, or_throw};
use crate::natives::crypto::bytes_of;

pub(super) fn install<'js>(ctx: &Ctx<'js>, subtle: &Object<'js>) -> rquickjs::Result<()> {
    subtle.set("ecGenerate", Function::new(ctx.clone(), generate)?)?;
    subtle.set("ecPrivate", Function::new(ctx.clone(), private)?)?;
    subtle.set("ecFromParts", Function::new(ctx.clone(), from_parts)?)?;
    subtle.set("ecPublic", Function::new(ctx.clone(), public)?)?;
    subtle.set("ecSign", Function::new(ctx.clone(), sign)?)?;
    subtle.set("ecVerify", Function::new(ctx.clone(), verify)?)?;
    subtle.set("ecdh", Function::new(ctx.clone(), derive)?)
}

struct Curve {
    name: &'static str,
    agreement: &'static agreement::Algorithm,
    /// Bytes of an uncompressed point.
    point_bytes: usize,
    /// By hash. The first one reads and writes keys.
    signatures: &'static [(&'static str, &'static EcdsaSigningAlgorithm, &'static EcdsaVerificationAlgorithm)],
}

const CURVES: [Curve; 3] = [
    Curve {
        name: "P-256",
        agreement: &ECDH_P256,
        point_bytes: 65,
        signatures: &[("SHA-256", &ECDSA_P256_SHA256_FIXED_SIGNING, &ECDSA_P256_SHA256_FIXED)],
    },
    Curve {
        name: "P-384",
        agreement: &ECDH_P384,
        point_bytes: 97,
        signatures: &[("SHA-384", &ECDSA_P384_SHA384_FIXED_SIGNING, &ECDSA_P384_SHA384_FIXED)],
    },
    Curve {
        name: "P-521",
        agreement: &ECDH_P521,
        point_bytes: 133,
        signatures: &[
            ("SHA-512", &ECDSA_P521_SHA512_FIXED_SIGNING, &ECDSA_P521_SHA512_FIXED),
            ("SHA-384", &ECDSA_P521_SHA384_FIXED_SIGNING, &ECDSA_P521_SHA384_FIXED),
            ("SHA-256", &ECDSA_P521_SHA256_FIXED_SIGNING, &ECDSA_P521_SHA256_FIXED),
        ],
    },
];

const NO_PRIVATE_KEY: SubtleRefusal = SubtleRefusal::Key("the bytes are no private key of this curve in PKCS #8");
const NO_PUBLIC_KEY: SubtleRefusal = SubtleRefusal::Key("the bytes are no public key of this curve");

impl Curve {
    fn named(name: &str) -> SubtleResult<&'static Self> {
        CURVES.iter().find(|curve| curve.name == name).ok_or_else(|| SubtleRefusal::Unsupported(format!("the curve \"{name}\"")))
    }

    fn with_hash(&self, hash: &str) -> SubtleResult<(&'static EcdsaSigningAlgorithm, &'static EcdsaVerificationAlgorithm)> {
        let found = self.signatures.iter().find(|(name, ..)| *name == hash);
        found
            .map(|(_, signing, verifying)| (*signing, *verifying))
            .ok_or_else(|| SubtleRefusal::Unsupported(format!("ECDSA of {} with {hash}", self.name)))
    }

    fn key_pair(&self, pkcs8: &[u8]) -> SubtleResult<EcdsaKeyPair> {
        EcdsaKeyPair::from_pkcs8(self.signatures[0].1, pkcs8).map_err(|_| NO_PRIVATE_KEY)
    }
}

fn generate<'js>(ctx: Ctx<'js>, curve: String) -> rquickjs::Result<ArrayBuffer<'js>> {
    let answer = Curve::named(&curve).and_then(|curve| {
        let pair = EcdsaKeyPair::generate(curve.signatures[0].1);
        pair.and_then(|pair| pair.to_pkcs8v1()).map_err(|_| SubtleRefusal::Operation("the key pair was not generated"))
    });
    ArrayBuffer::new(ctx.clone(), or_throw(&ctx, answer)?.as_ref().to_vec())
}

/// The parts of a private key in PKCS #8: itself, the public point, and the secret number `d`.
fn private<'js>(ctx: Ctx<'js>, curve: String, pkcs8: Value<'js>) -> rquickjs::Result<Object<'js>> {
    let bytes = bytes_of(&ctx, &pkcs8)?;
    let answer = Curve::named(&curve).and_then(|curve| {
        let pair = curve.key_pair(&bytes)?;
        let own: EcPrivateKeyBin<'_> = pair.private_key().as_be_bytes().map_err(|_| NO_PRIVATE_KEY)?;
        Ok((pair.public_key().as_ref().to_vec(), own.as_ref().to_vec()))
    });
    let (point, d) = or_throw(&ctx, answer)?;
    fields(&ctx, &[("der", &bytes), ("point", &point), ("d", &d)])
}

/// A private key in PKCS #8 from its number and its point.
fn from_parts<'js>(ctx: Ctx<'js>, curve: String, d: Value<'js>, point: Value<'js>) -> rquickjs::Result<ArrayBuffer<'js>> {
    let (d, point) = (bytes_of(&ctx, &d)?, bytes_of(&ctx, &point)?);
    let answer = Curve::named(&curve).and_then(|curve| {
        let pair = EcdsaKeyPair::from_private_key_and_public_key(curve.signatures[0].1, &d, &point);
        pair.map_err(|_| NO_PRIVATE_KEY)?.to_pkcs8v1().map_err(|_| NO_PRIVATE_KEY)
    });
    ArrayBuffer::new(ctx.clone(), or_throw(&ctx, answer)?.as_ref().to_vec())
}

/// A public key, from a point or SubjectPublicKeyInfo.
fn public<'js>(ctx: Ctx<'js>, curve: String, key: Value<'js>) -> rquickjs::Result<Object<'js>> {
    let bytes = bytes_of(&ctx, &key)?;
    let answer = Curve::named(&curve).and_then(|curve| {
        let parsed = ParsedPublicKey::new(curve.signatures[0].2, &bytes).map_err(|_| NO_PUBLIC_KEY)?;
        let der: PublicKeyX509Der<'_> = parsed.as_der().map_err(|_| NO_PUBLIC_KEY)?;
        let der = der.as_ref().to_vec();
        // The point is the end of the structure (RFC 5480, section 2).
        let at = der.len().checked_sub(curve.point_bytes).ok_or(NO_PUBLIC_KEY)?;
        Ok((der[at..].to_vec(), der))
    });
    let (point, der) = or_throw(&ctx, answer)?;
    fields(&ctx, &[("der", &der), ("point", &point)])
}

fn sign<'js>(ctx: Ctx<'js>, curve: String, hash: String, pkcs8: Value<'js>, data: Value<'js>) -> rquickjs::Result<ArrayBuffer<'js>> {
    let (pkcs8, data) = (bytes_of(&ctx, &pkcs8)?, bytes_of(&ctx, &data)?);
    let answer = Curve::named(&curve).and_then(|curve| {
        let pair = EcdsaKeyPair::from_pkcs8(curve.with_hash(&hash)?.0, &pkcs8).map_err(|_| NO_PRIVATE_KEY)?;
        pair.sign(&SystemRandom::new(), &data).map_err(|_| SubtleRefusal::Operation("unable to sign data"))
    });
    ArrayBuffer::new(ctx.clone(), or_throw(&ctx, answer)?.as_ref().to_vec())
}

/// `key`: the public key's `der`, then the signature.
fn verify<'js>(ctx: Ctx<'js>, curve: String, hash: String, key: Vec<Value<'js>>, data: Value<'js>) -> rquickjs::Result<bool> {
    let [der, signature] = key.as_slice() else { return Ok(false) };
    let (der, signature, data) = (bytes_of(&ctx, der)?, bytes_of(&ctx, signature)?, bytes_of(&ctx, &data)?);
    let answer = Curve::named(&curve).and_then(|curve| {
        let key = ParsedPublicKey::new(curve.with_hash(&hash)?.1, &der).map_err(|_| NO_PUBLIC_KEY)?;
        Ok(key.verify_sig(&data, &signature).is_ok())
    });
    or_throw(&ctx, answer)
}

fn derive<'js>(ctx: Ctx<'js>, curve: String, pkcs8: Value<'js>, point: Value<'js>) -> rquickjs::Result<ArrayBuffer<'js>> {
    let (pkcs8, point) = (bytes_of(&ctx, &pkcs8)?, bytes_of(&ctx, &point)?);
    let answer = Curve::named(&curve).and_then(|curve| {
        let own = agreement::PrivateKey::from_private_key_der(curve.agreement, &pkcs8).map_err(|_| NO_PRIVATE_KEY)?;
        let peer = UnparsedPublicKey::new(curve.agreement, &point);
        agreement::agree(&own, peer, SubtleRefusal::Operation("the keys do not fit each other"), |secret| Ok(secret.to_vec()))
    });
    ArrayBuffer::new(ctx.clone(), or_throw(&ctx, answer)?)
}
