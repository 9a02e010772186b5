//! `TextEncoder` and `TextDecoder`: UTF-8.

use rquickjs::prelude::Func;
use rquickjs::{Ctx, Exception, Object, Result, TypedArray, Value};

use super::bytes::bytes_of;

pub(super) fn install<'js>(ctx: &Ctx<'js>) -> Result<()> {
    let native = Object::new(ctx.clone())?;
    native.set("encode", Func::from(|ctx: Ctx<'js>, text: String| TypedArray::<u8>::new(ctx, text.into_bytes())))?;
    native.set("decode", Func::from(decode))?;
    super::half::complete(ctx, "encoding", include_str!("encoding.js"), native)
}

fn decode<'js>(ctx: Ctx<'js>, value: Value<'js>, fatal: bool, keep_mark: bool) -> Result<String> {
    let bytes =
        bytes_of(&value).ok_or_else(|| Exception::throw_type(&ctx, "TextDecoder.decode: expected a Uint8Array or an ArrayBuffer"))?;
    let bytes = if keep_mark { &bytes[..] } else { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes) };
    if fatal && std::str::from_utf8(bytes).is_err() {
        return Err(Exception::throw_type(&ctx, "TextDecoder.decode: the bytes are not UTF-8"));
    }
    Ok(String::from_utf8_lossy(bytes).into_owned())
}
