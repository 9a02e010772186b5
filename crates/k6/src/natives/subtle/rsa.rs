//! RSA: signatures by PKCS #1 v1.5 and PSS, encryption by OAEP.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{
    KeyPair as RsaKeyPair, KeyPairComponents, KeySize, OAEP_SHA1_MGF1SHA1, OAEP_SHA256_MGF1SHA256, OAEP_SHA384_MGF1SHA384,
    OAEP_SHA512_MGF1SHA512, OaepAlgorithm, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey, PublicEncryptingKey,
    PublicKeyComponents,
};
use aws_lc_rs::signature::{
    KeyPair, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512, RsaEncoding, RsaParameters, UnparsedPublicKey,
};
use rquickjs::{ArrayBuffer, Ctx, Function, Object, Value};

use super::refusal::{SubtleRefusal, SubtleResult, field, fields, or_throw};
use crate::natives::crypto::bytes_of;

pub(super) fn install<'js>(ctx: &Ctx<'js>, subtle: &Object<'js>) -> rquickjs::Result<()> {
    subtle.set("rsaGenerate", Function::new(ctx.clone(), generate)?)?;
    subtle.set("rsaPrivate", Function::new(ctx.clone(), private)?)?;
    subtle.set("rsaPublic", Function::new(ctx.clone(), public)?)?;
    subtle.set("rsaFromParts", Function::new(ctx.clone(), from_parts)?)?;
    subtle.set("rsaSign", Function::new(ctx.clone(), sign)?)?;
    subtle.set("rsaVerify", Function::new(ctx.clone(), verify)?)?;
    subtle.set("oaep", Function::new(ctx.clone(), oaep)?)
}

/// Names of the integers of a private key in PKCS #1, after the version (RFC 8017, appendix A.1.2), as in a JSON Web Key.
const PRIVATE_PARTS: [&str; 8] = ["n", "e", "d", "p", "q", "dp", "dq", "qi"];

const NO_PRIVATE_KEY: SubtleRefusal = SubtleRefusal::Key("the bytes are no private key of RSA in PKCS #8");
const NO_PUBLIC_KEY: SubtleRefusal = SubtleRefusal::Key("the bytes are no public key of RSA");
const FAILED: SubtleRefusal = SubtleRefusal::Operation("the data does not fit the key");

fn unsupported<T>(scheme: &str, hash: &str) -> SubtleResult<T> {
    Err(SubtleRefusal::Unsupported(format!("{scheme} with {hash}")))
}

fn signing(scheme: &str, hash: &str) -> SubtleResult<(&'static dyn RsaEncoding, &'static RsaParameters)> {
    Ok(match (scheme, hash) {
        ("RSA-PSS", "SHA-256") => (&RSA_PSS_SHA256, &RSA_PSS_2048_8192_SHA256),
        ("RSA-PSS", "SHA-384") => (&RSA_PSS_SHA384, &RSA_PSS_2048_8192_SHA384),
        ("RSA-PSS", "SHA-512") => (&RSA_PSS_SHA512, &RSA_PSS_2048_8192_SHA512),
        ("RSASSA-PKCS1-v1_5", "SHA-256") => (&RSA_PKCS1_SHA256, &RSA_PKCS1_2048_8192_SHA256),
        ("RSASSA-PKCS1-v1_5", "SHA-384") => (&RSA_PKCS1_SHA384, &RSA_PKCS1_2048_8192_SHA384),
        ("RSASSA-PKCS1-v1_5", "SHA-512") => (&RSA_PKCS1_SHA512, &RSA_PKCS1_2048_8192_SHA512),
        _ => return unsupported(scheme, hash),
    })
}

fn encryption(hash: &str) -> SubtleResult<&'static OaepAlgorithm> {
    Ok(match hash {
        "SHA-1" => &OAEP_SHA1_MGF1SHA1,
        "SHA-256" => &OAEP_SHA256_MGF1SHA256,
        "SHA-384" => &OAEP_SHA384_MGF1SHA384,
        "SHA-512" => &OAEP_SHA512_MGF1SHA512,
        _ => return unsupported("RSA-OAEP", hash),
    })
}

fn pkcs8_of(pair: &RsaKeyPair) -> SubtleResult<Vec<u8>> {
    let der: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| NO_PRIVATE_KEY)?;
    Ok(der.as_ref().to_vec())
}

fn generate<'js>(ctx: Ctx<'js>, bits: u32) -> rquickjs::Result<ArrayBuffer<'js>> {
    let size = match bits {
        2048 => Ok(KeySize::Rsa2048),
        3072 => Ok(KeySize::Rsa3072),
        4096 => Ok(KeySize::Rsa4096),
        8192 => Ok(KeySize::Rsa8192),
        other => Err(SubtleRefusal::Unsupported(format!("an RSA key of {other} bits"))),
    };
    let failed = |_| SubtleRefusal::Operation("could not generate RSA key pair");
    let answer = size.and_then(|size| RsaKeyPair::generate(size).map_err(failed)).and_then(|pair| pkcs8_of(&pair));
    ArrayBuffer::new(ctx.clone(), or_throw(&ctx, answer)?)
}

/// The integers of a private key, its `der`, and its public key as `spki`.
fn private<'js>(ctx: Ctx<'js>, pkcs8: Value<'js>) -> rquickjs::Result<Object<'js>> {
    let der = bytes_of(&ctx, &pkcs8)?;
    let answer = RsaKeyPair::from_pkcs8(&der).map_err(|_| NO_PRIVATE_KEY).and_then(|pair| {
        let spki: PublicKeyX509Der<'_> = pair.public_key().as_der().map_err(|_| NO_PRIVATE_KEY)?;
        Ok((private_parts(&der).ok_or(NO_PRIVATE_KEY)?, spki.as_ref().to_vec()))
    });
    let (parts, spki) = or_throw(&ctx, answer)?;
    let mut all: Vec<(&str, &[u8])> = PRIVATE_PARTS.into_iter().zip(parts.iter().map(Vec::as_slice)).collect();
    all.extend([("der", der.as_slice()), ("spki", spki.as_slice())]);
    fields(&ctx, &all)
}

/// The integers of a public key, and its `der`.
fn public<'js>(ctx: Ctx<'js>, spki: Value<'js>) -> rquickjs::Result<Object<'js>> {
    let der = bytes_of(&ctx, &spki)?;
    let read = || {
        PublicEncryptingKey::from_der(&der).ok()?;
        // SEQUENCE { algorithm, BIT STRING { SEQUENCE { n, e } } } (RFC 8017, appendix A.1.1)
        let mut outer = Der(Der(&der).next(SEQUENCE)?);
        outer.next(SEQUENCE)?;
        let mut inner = Der(Der(outer.next(BIT_STRING)?.get(1..)?).next(SEQUENCE)?);
        Some((inner.integer()?, inner.integer()?))
    };
    let (n, e) = or_throw(&ctx, read().ok_or(NO_PUBLIC_KEY))?;
    fields(&ctx, &[("n", &n), ("e", &e), ("der", &der)])
}

/// PKCS #8 if there is a secret exponent, and SubjectPublicKeyInfo otherwise.
fn from_parts<'js>(ctx: Ctx<'js>, parts: Object<'js>) -> rquickjs::Result<ArrayBuffer<'js>> {
    let part = |name| field(&ctx, &parts, name);
    let public_key = PublicKeyComponents { n: part("n")?, e: part("e")? };
    let answer = if parts.contains_key("d")? {
        let (d, p, q) = (part("d")?, part("p")?, part("q")?);
        let components = KeyPairComponents { public_key, d, p, q, dP: part("dp")?, dQ: part("dq")?, qInv: part("qi")? };
        RsaKeyPair::from_components(&components).map_err(|_| NO_PRIVATE_KEY).and_then(|pair| pkcs8_of(&pair))
    } else {
        let der: Result<PublicKeyX509Der<'_>, _> = public_key.as_der();
        der.map(|der| der.as_ref().to_vec()).map_err(|_| NO_PUBLIC_KEY)
    };
    ArrayBuffer::new(ctx.clone(), or_throw(&ctx, answer)?)
}

fn sign<'js>(ctx: Ctx<'js>, scheme: String, hash: String, pkcs8: Value<'js>, data: Value<'js>) -> rquickjs::Result<ArrayBuffer<'js>> {
    let (pkcs8, data) = (bytes_of(&ctx, &pkcs8)?, bytes_of(&ctx, &data)?);
    let answer = signing(&scheme, &hash).and_then(|(encoding, _)| {
        let pair = RsaKeyPair::from_pkcs8(&pkcs8).map_err(|_| NO_PRIVATE_KEY)?;
        let mut signature = vec![0; pair.public_modulus_len()];
        pair.sign(encoding, &SystemRandom::new(), &data, &mut signature).map_err(|_| FAILED)?;
        Ok(signature)
    });
    ArrayBuffer::new(ctx.clone(), or_throw(&ctx, answer)?)
}

/// `key`: the public key's `der`, then the signature.
fn verify<'js>(ctx: Ctx<'js>, scheme: String, hash: String, key: Vec<Value<'js>>, data: Value<'js>) -> rquickjs::Result<bool> {
    let [der, signature] = key.as_slice() else { return Ok(false) };
    let (der, signature, data) = (bytes_of(&ctx, der)?, bytes_of(&ctx, signature)?, bytes_of(&ctx, &data)?);
    let answer = signing(&scheme, &hash).map(|(_, parameters)| UnparsedPublicKey::new(parameters, &der).verify(&data, &signature).is_ok());
    or_throw(&ctx, answer)
}

/// Encrypts with the public key, or decrypts with the private one.
fn oaep<'js>(ctx: Ctx<'js>, encrypts: bool, hash: String, parameters: Object<'js>, data: Value<'js>) -> rquickjs::Result<ArrayBuffer<'js>> {
    let (key, label, data) = (field(&ctx, &parameters, "key")?, field(&ctx, &parameters, "label")?, bytes_of(&ctx, &data)?);
    let label = (!label.is_empty()).then_some(label.as_slice());
    let answer = encryption(&hash).and_then(|algorithm| match encrypts {
        true => {
            let key =
                PublicEncryptingKey::from_der(&key).and_then(|key| Ok(OaepPublicEncryptingKey::new(key)?)).map_err(|_| NO_PUBLIC_KEY)?;
            let mut room = vec![0; key.ciphertext_size()];
            key.encrypt(algorithm, &data, &mut room, label).map(|encrypted| encrypted.to_vec()).map_err(|_| FAILED)
        }
        false => {
            let key = PrivateDecryptingKey::from_pkcs8(&key)
                .and_then(|key| Ok(OaepPrivateDecryptingKey::new(key)?))
                .map_err(|_| NO_PRIVATE_KEY)?;
            let mut room = vec![0; key.min_output_size()];
            key.decrypt(algorithm, &data, &mut room, label).map(|plain| plain.to_vec()).map_err(|_| FAILED)
        }
    });
    ArrayBuffer::new(ctx.clone(), or_throw(&ctx, answer)?)
}

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// The integers of PKCS #1 within PKCS #8 (RFC 5208, section 5), without leading zeros.
fn private_parts(pkcs8: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut outer = Der(Der(pkcs8).next(SEQUENCE)?);
    outer.next(INTEGER)?;
    outer.next(SEQUENCE)?;
    let mut inner = Der(Der(outer.next(OCTET_STRING)?).next(SEQUENCE)?);
    inner.next(INTEGER)?;
    PRIVATE_PARTS.iter().map(|_| inner.integer()).collect()
}

/// What is left of a sequence in DER (ITU-T X.690). Only keys that aws-lc-rs has accepted are read.
struct Der<'b>(&'b [u8]);

impl<'b> Der<'b> {
    /// The content of the next element, which must have this tag.
    fn next(&mut self, tag: u8) -> Option<&'b [u8]> {
        let (head, rest) = self.0.split_first_chunk::<2>()?;
        if head[0] != tag {
            return None;
        }
        let (length, rest) = match head[1] {
            short @ 0..0x80 => (usize::from(short), rest),
            long => {
                let (bytes, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                // A key's length takes at most three bytes.
                if bytes.len() > 3 {
                    return None;
                }
                (bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(content)
    }

    fn integer(&mut self) -> Option<Vec<u8>> {
        let bytes = self.next(INTEGER)?;
        let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
        Some(bytes[start..].to_vec())
    }
}
