//! Tags as scripts write them: `{ tags: { type: "static" } }`.

use std::fmt::Display;

use loadstone_metrics::Tags;
use rquickjs::{Coerced, Ctx, Exception, FromJs, Value};

/// Maximum length of a name or value. Characters.
const LENGTH_MAX: usize = 200;

/// Reads `tags`. `undefined` yields none.
///
/// # Errors
/// Throws the problem with them. `what`: the tagged thing.
pub(crate) fn read<'js>(ctx: &Ctx<'js>, tags: &Value<'js>, what: &dyn Display) -> rquickjs::Result<Tags> {
    if tags.is_undefined() {
        return Ok(Tags::default());
    }
    let wrong = |problem: String| Exception::throw_type(ctx, &format!("{what}: {problem}"));
    let object = tags.as_object().filter(|object| !object.is_array() && !object.is_function());
    let object = object.ok_or_else(|| wrong("tags are an object of names and values, such as { type: \"static\" }".to_owned()))?;
    let mut tags = Vec::new();
    for property in object.props::<String, Value<'js>>() {
        let (name, value) = property?;
        if !value.is_string() && !value.is_number() && !value.is_bool() {
            return Err(wrong(format!("the tag `{name}` must be a string, a number or a boolean")));
        }
        let value = Coerced::<String>::from_js(ctx, value)?.0;
        if name.is_empty() || name.chars().count() > LENGTH_MAX || value.chars().count() > LENGTH_MAX {
            return Err(wrong(format!("a tag\u{2019}s name and value have at most {LENGTH_MAX} characters, and its name at least one")));
        }
        tags.push((name, value));
    }
    if tags.len() > Tags::MAX {
        return Err(wrong(format!("there are {} tags, but at most {} are allowed", tags.len(), Tags::MAX)));
    }
    Ok(Tags::new(tags))
}
