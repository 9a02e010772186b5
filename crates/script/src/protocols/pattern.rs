//! Regular expressions that scripts pass as options. The script's engine runs them.

use rquickjs::function::This;
use rquickjs::{Function, Object};

pub(super) fn is_pattern(object: &Object<'_>) -> bool {
    object.contains_key("source").unwrap_or(false) && object.get::<_, Function<'_>>("test").is_ok()
}

/// As written in the script: `/a+/i`.
pub(super) fn text_of(pattern: &Object<'_>) -> String {
    let part = |name| pattern.get::<_, String>(name).unwrap_or_default();
    format!("/{}/{}", part("source"), part("flags"))
}

/// `pattern.test(text)` from the start, whatever the flags.
pub(super) fn test(pattern: &Object<'_>, text: &str) -> rquickjs::Result<bool> {
    pattern.set("lastIndex", 0)?;
    let test: Function<'_> = pattern.get("test")?;
    test.call((This(pattern.clone()), text))
}
