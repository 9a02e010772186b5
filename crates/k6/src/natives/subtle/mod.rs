//! `crypto.subtle`: the algorithms of k6 on bytes, by aws-lc-rs. `js/subtle.ts` has its keys, parameters and checks.
//!
//! Keys cross this border as bytes: secret keys raw, private keys in PKCS #8, public keys in SubjectPublicKeyInfo. Deliberately absent: combinations that
//! aws-lc-rs does not sign with, such as P-256 with SHA-512. They throw an error that names them.

mod aes;
mod elliptic;
mod refusal;
mod rsa;

use aws_lc_rs::rand;
use rquickjs::{ArrayBuffer, Ctx, Function, Object};

use refusal::{SubtleRefusal, or_throw};

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    let subtle = Object::new(ctx.clone())?;
    subtle.set("random", Function::new(ctx.clone(), random)?)?;
    aes::install(ctx, &subtle)?;
    elliptic::install(ctx, &subtle)?;
    rsa::install(ctx, &subtle)?;
    native.set("subtle", subtle)
}

fn random<'js>(ctx: Ctx<'js>, length: usize) -> rquickjs::Result<ArrayBuffer<'js>> {
    let mut bytes = vec![0; length.min(1 << 16)];
    or_throw(&ctx, rand::fill(&mut bytes).map_err(|_| SubtleRefusal::Operation("there are no random bytes")))?;
    ArrayBuffer::new(ctx, bytes)
}
