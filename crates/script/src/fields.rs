//! Header fields as scripts read them: of responses, and of the requests and calls that stubs receive.

use rquickjs::object::Property;
use rquickjs::{Ctx, IntoJs, Object};

/// An object by name, in the order received. Lines of one name are joined (RFC 9110, 5.3).
pub(crate) fn object_of<'js, 'a>(ctx: &Ctx<'js>, lines: impl Iterator<Item = (&'a str, &'a str)>) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let mut joined: Vec<(&str, String)> = Vec::new();
    for (name, value) in lines {
        match joined.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => {
                values.push_str(", ");
                values.push_str(value);
            }
            None => joined.push((name, value.to_owned())),
        }
    }
    for (name, value) in joined {
        define(&object, name, value)?;
    }
    Ok(object)
}

/// Adds a property whose name is data. Setting it would change the prototype if the name is `__proto__`.
pub(crate) fn define<'js>(object: &Object<'js>, name: &str, value: impl IntoJs<'js>) -> rquickjs::Result<()> {
    object.prop(name, Property::from(value).writable().enumerable().configurable())
}
