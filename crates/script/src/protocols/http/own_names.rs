//! The names of an object's own properties, without a value for each: half the cost of a small options object is saved.

use rquickjs::{Ctx, Object, Value, qjs};

/// A property's name as QuickJS numbers it; equal names have equal numbers for as long as somebody holds them.
pub(super) type Name = qjs::JSAtom;

/// Names of own, enumerable properties that are texts.
pub(super) struct OwnNames<'o, 'js> {
    object: &'o Object<'js>,
    table: *mut qjs::JSPropertyEnum,
    length: u32,
}

impl<'o, 'js> OwnNames<'o, 'js> {
    pub(super) fn of(object: &'o Object<'js>) -> rquickjs::Result<Self> {
        let (mut table, mut length) = (std::ptr::null_mut(), 0);
        let flags = (qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_ENUM_ONLY) as i32;
        // SAFETY: the object is alive and belongs to the context; both places are valid for writes.
        let status = unsafe { qjs::JS_GetOwnPropertyNames(raw(object.ctx()), &raw mut table, &raw mut length, object.as_raw(), flags) };
        // A proxy's trap may have thrown.
        if status < 0 { Err(rquickjs::Error::Exception) } else { Ok(Self { object, table, length }) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Name> {
        // SAFETY: QuickJS has filled `length` entries; an empty table may be null.
        (0..self.length as usize).map(|index| unsafe { (*self.table.add(index)).atom })
    }

    pub(super) fn value(&self, name: Name) -> rquickjs::Result<Value<'js>> {
        let ctx = self.object.ctx();
        // SAFETY: object and name are alive; the value returned is ours.
        let value = unsafe { Value::from_raw(ctx.clone(), qjs::JS_GetProperty(raw(ctx), self.object.as_raw(), name)) };
        if value.is_exception() { Err(rquickjs::Error::Exception) } else { Ok(value) }
    }
}

impl Drop for OwnNames<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: the table is as `JS_GetOwnPropertyNames` gave it, and nobody holds its names.
        unsafe { qjs::JS_FreePropertyEnum(raw(self.object.ctx()), self.table, self.length) };
    }
}

fn raw(ctx: &Ctx<'_>) -> *mut qjs::JSContext {
    ctx.as_raw().as_ptr()
}

/// The number of a name, which somebody must hold.
pub(super) fn name(ctx: &Ctx<'_>, text: &str) -> Name {
    // SAFETY: the text is valid for its length; the reference that the call adds is given back.
    unsafe {
        let name = qjs::JS_NewAtomLen(raw(ctx), text.as_ptr().cast(), text.len() as _);
        qjs::JS_FreeAtom(raw(ctx), name);
        name
    }
}
