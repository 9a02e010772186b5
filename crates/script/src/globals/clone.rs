//! `structuredClone`.

use rquickjs::{Ctx, Result};

pub(super) fn install(ctx: &Ctx<'_>) -> Result<()> {
    super::half::complete(ctx, "clone", include_str!("clone.js"), ())
}
