//! `k6/crypto`, `k6/encoding`, and random bytes.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, Object, TypedArray, Value};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    native.set("text", Function::new(ctx.clone(), text)?)?;
    native.set("bytes", Function::new(ctx.clone(), buffer)?)
}

pub(super) fn install_digests<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    native.set("hash", Function::new(ctx.clone(), hash)?)?;
    native.set("hmac", Function::new(ctx.clone(), hmac)?)?;
    native.set("base64", Function::new(ctx.clone(), encode)?)?;
    native.set("unbase64", Function::new(ctx.clone(), decode)?)
}

/// The bytes of a string, an ArrayBuffer or a typed array.
pub(crate) fn bytes_of<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<Vec<u8>> {
    if let Some(text) = value.as_string() {
        return Ok(text.to_string()?.into_bytes());
    }
    if let Some(object) = value.as_object() {
        // SAFETY: the bytes are copied before any JavaScript can run, detach the buffer or change it.
        let buffer = ArrayBuffer::from_object(object.clone()).and_then(|buffer| unsafe { buffer.as_bytes() }.map(<[u8]>::to_vec));
        if let Some(bytes) = buffer {
            return Ok(bytes);
        }
        if let Ok(array) = TypedArray::<u8>::from_object(object.clone()) {
            // SAFETY: as above.
            return Ok(unsafe { array.as_bytes() }.map(<[u8]>::to_vec).unwrap_or_default());
        }
        if let Ok(list) = object.clone().into_value().get::<Vec<u8>>() {
            return Ok(list);
        }
    }
    Err(Exception::throw_type(ctx, "expected a string, an ArrayBuffer or a Uint8Array"))
}

fn digest_of(ctx: &Ctx<'_>, algorithm: &str, bytes: &[u8]) -> rquickjs::Result<Vec<u8>> {
    Ok(match algorithm {
        "md5" => Md5::digest(bytes).to_vec(),
        "sha1" => Sha1::digest(bytes).to_vec(),
        "sha224" => Sha224::digest(bytes).to_vec(),
        "sha256" => Sha256::digest(bytes).to_vec(),
        "sha384" => Sha384::digest(bytes).to_vec(),
        "sha512" => Sha512::digest(bytes).to_vec(),
        "sha512_224" => Sha512_224::digest(bytes).to_vec(),
        "sha512_256" => Sha512_256::digest(bytes).to_vec(),
        other => return Err(unsupported(ctx, other)),
    })
}

fn unsupported(ctx: &Ctx<'_>, algorithm: &str) -> rquickjs::Error {
    Exception::throw_message(ctx, &format!("k6/crypto: the algorithm \"{algorithm}\" is not supported: see docs/k6-compatibility.md"))
}

fn hash<'js>(ctx: Ctx<'js>, algorithm: String, data: Value<'js>) -> rquickjs::Result<ArrayBuffer<'js>> {
    let bytes = bytes_of(&ctx, &data)?;
    ArrayBuffer::new(ctx.clone(), digest_of(&ctx, &algorithm, &bytes)?)
}

fn hmac<'js>(ctx: Ctx<'js>, algorithm: String, key: Value<'js>, data: Value<'js>) -> rquickjs::Result<ArrayBuffer<'js>> {
    let (key, data) = (bytes_of(&ctx, &key)?, bytes_of(&ctx, &data)?);
    macro_rules! with {
        ($digest:ty) => {{
            // A key of any length is valid.
            let mut mac = <Hmac<$digest> as KeyInit>::new_from_slice(&key).map_err(|_| unsupported(&ctx, &algorithm))?;
            mac.update(&data);
            mac.finalize().into_bytes().to_vec()
        }};
    }
    let mac = match algorithm.as_str() {
        "md5" => with!(Md5),
        "sha1" => with!(Sha1),
        "sha224" => with!(Sha224),
        "sha256" => with!(Sha256),
        "sha384" => with!(Sha384),
        "sha512" => with!(Sha512),
        "sha512_224" => with!(Sha512_224),
        "sha512_256" => with!(Sha512_256),
        other => return Err(unsupported(&ctx, other)),
    };
    ArrayBuffer::new(ctx, mac)
}

fn encode<'js>(ctx: Ctx<'js>, data: Value<'js>, encoding: String) -> rquickjs::Result<String> {
    let bytes = bytes_of(&ctx, &data)?;
    Ok(match encoding.as_str() {
        "rawstd" => STANDARD_NO_PAD.encode(bytes),
        "url" => URL_SAFE.encode(bytes),
        "rawurl" => URL_SAFE_NO_PAD.encode(bytes),
        _ => STANDARD.encode(bytes),
    })
}

fn decode<'js>(ctx: Ctx<'js>, data: String, encoding: String) -> rquickjs::Result<ArrayBuffer<'js>> {
    let decoded = match encoding.as_str() {
        "rawstd" => STANDARD_NO_PAD.decode(data),
        "url" => URL_SAFE.decode(data),
        "rawurl" => URL_SAFE_NO_PAD.decode(data),
        _ => STANDARD.decode(data),
    };
    let bytes = decoded.map_err(|error| Exception::throw_message(&ctx, &format!("b64decode: {error}")))?;
    ArrayBuffer::new(ctx, bytes)
}

/// The text of bytes in UTF-8.
fn text<'js>(ctx: Ctx<'js>, data: Value<'js>) -> rquickjs::Result<String> {
    Ok(String::from_utf8_lossy(&bytes_of(&ctx, &data)?).into_owned())
}

/// Bytes as an ArrayBuffer.
fn buffer<'js>(ctx: Ctx<'js>, data: Value<'js>) -> rquickjs::Result<ArrayBuffer<'js>> {
    let bytes = bytes_of(&ctx, &data)?;
    ArrayBuffer::new(ctx, bytes)
}
