//! Hashes, HMAC and encodings for signed requests, and random numbers with the interface of the Web's `crypto`, from the run's seed.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use rquickjs::function::Opt;
use rquickjs::prelude::Func;
use rquickjs::{Ctx, Exception, IntoJs, Object, Result, TypedArray, Value};
use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha256, Sha512};

use super::bytes::bytes_or_throw;
use crate::data::bindings::RandomHandle;

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, random: &RandomHandle) -> Result<()> {
    let encoding = Object::new(ctx.clone())?;
    encoding.set("hash", Func::from(js_hash))?;
    encoding.set("hmac", Func::from(js_hmac))?;
    encoding.set("base64", codec(ctx, TextEncoding::Base64)?)?;
    encoding.set("base64url", codec(ctx, TextEncoding::Base64Url)?)?;
    encoding.set("hex", codec(ctx, TextEncoding::Hex)?)?;
    native.set("encoding", encoding)?;

    let draws = Object::new(ctx.clone())?;
    let source = random.clone();
    draws.set("unit", Func::from(move || source.draws().unit()))?;
    let source = random.clone();
    draws.set("uuid", Func::from(move || source.draws().uuid()))?;
    let source = random.clone();
    let bytes = move |ctx: Ctx<'js>, count: usize| {
        let mut bytes = vec![0; count];
        source.draws().fill(&mut bytes);
        TypedArray::<u8>::new(ctx, bytes)
    };
    draws.set("bytes", Func::from(bytes))?;
    super::half::complete(ctx, "crypto", include_str!("crypto.js"), draws)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextEncoding {
    Hex,
    Base64,
    Base64Url,
    Bytes,
}

/// Encoded with padding; decoded with or without it.
const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, PADDING_OPTIONAL);
const BASE64_URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, PADDING_OPTIONAL.with_encode_padding(false));
const PADDING_OPTIONAL: GeneralPurposeConfig = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

impl TextEncoding {
    fn parse(ctx: &Ctx<'_>, name: Option<&str>) -> Result<Self> {
        match name.unwrap_or("hex") {
            "hex" => Ok(Self::Hex),
            "base64" => Ok(Self::Base64),
            "base64url" => Ok(Self::Base64Url),
            "bytes" => Ok(Self::Bytes),
            other => Err(Exception::throw_type(ctx, &format!("no encoding \"{other}\": expected hex, base64, base64url or bytes"))),
        }
    }

    fn write<'js>(self, ctx: &Ctx<'js>, bytes: &[u8]) -> Result<Value<'js>> {
        match self {
            Self::Hex => hex(bytes).into_js(ctx),
            Self::Base64 => BASE64.encode(bytes).into_js(ctx),
            Self::Base64Url => BASE64_URL.encode(bytes).into_js(ctx),
            Self::Bytes => TypedArray::<u8>::new_copy(ctx.clone(), bytes)?.into_js(ctx),
        }
    }

    fn read(self, text: &str) -> std::result::Result<Vec<u8>, String> {
        match self {
            Self::Hex => from_hex(text).ok_or_else(|| "hex: each byte needs two characters from 0–9 and a–f".to_owned()),
            Self::Base64 => BASE64.decode(text).map_err(|error| format!("base64: {error}")),
            Self::Base64Url => BASE64_URL.decode(text).map_err(|error| format!("base64url: {error}")),
            Self::Bytes => Ok(text.as_bytes().to_vec()),
        }
    }
}

/// An object with `encode`, `decode` and `decodeText`.
fn codec<'js>(ctx: &Ctx<'js>, encoding: TextEncoding) -> Result<Object<'js>> {
    let codec = Object::new(ctx.clone())?;
    let read = move |ctx: &Ctx<'js>, text: &str| encoding.read(text).map_err(|problem| Exception::throw_type(ctx, &problem));
    let encode = move |ctx: Ctx<'js>, data: Value<'js>| encoding.write(&ctx, &bytes_or_throw(&ctx, &data, "encode(data)")?);
    codec.set("encode", Func::from(encode))?;
    codec.set("decode", Func::from(move |ctx: Ctx<'js>, text: String| TypedArray::<u8>::new(ctx.clone(), read(&ctx, &text)?)))?;
    let decode_text =
        move |ctx: Ctx<'js>, text: String| -> Result<String> { Ok(String::from_utf8_lossy(&read(&ctx, &text)?).into_owned()) };
    codec.set("decodeText", Func::from(decode_text))?;
    Ok(codec)
}

fn js_hash<'js>(ctx: Ctx<'js>, name: String, data: Value<'js>, encoding: Opt<Option<String>>) -> Result<Value<'js>> {
    let data = bytes_or_throw(&ctx, &data, "hash(name, data)")?;
    let digest = match name.as_str() {
        "md5" => Md5::digest(&data).to_vec(),
        "sha1" => Sha1::digest(&data).to_vec(),
        "sha256" => Sha256::digest(&data).to_vec(),
        "sha512" => Sha512::digest(&data).to_vec(),
        other => return Err(no_hash(&ctx, other)),
    };
    TextEncoding::parse(&ctx, encoding.0.flatten().as_deref())?.write(&ctx, &digest)
}

fn js_hmac<'js>(ctx: Ctx<'js>, name: String, key: Value<'js>, data: Value<'js>, encoding: Opt<Option<String>>) -> Result<Value<'js>> {
    let key = bytes_or_throw(&ctx, &key, "hmac(name, key, data): the key")?;
    let data = bytes_or_throw(&ctx, &data, "hmac(name, key, data): the data")?;
    let code = match name.as_str() {
        "md5" => authenticate::<Hmac<Md5>>(&key, &data),
        "sha1" => authenticate::<Hmac<Sha1>>(&key, &data),
        "sha256" => authenticate::<Hmac<Sha256>>(&key, &data),
        "sha512" => authenticate::<Hmac<Sha512>>(&key, &data),
        other => return Err(no_hash(&ctx, other)),
    };
    let code = code.ok_or_else(|| Exception::throw_type(&ctx, "hmac: the key cannot be used"))?;
    TextEncoding::parse(&ctx, encoding.0.flatten().as_deref())?.write(&ctx, &code)
}

/// Never `None`: HMAC accepts keys of any length.
fn authenticate<M: Mac + KeyInit>(key: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let mut code = <M as KeyInit>::new_from_slice(key).ok()?;
    code.update(data);
    Some(code.finalize().into_bytes().to_vec())
}

fn no_hash(ctx: &Ctx<'_>, name: &str) -> rquickjs::Error {
    Exception::throw_type(ctx, &format!("no hash \"{name}\": expected md5, sha1, sha256 or sha512"))
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let pairs = digits.chunks(2).map(|pair| Some(value(pair[0])? << 4 | value(*pair.get(1)?)?));
    pairs.collect()
}
