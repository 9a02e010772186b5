//! The names of an object's own properties, without their values. This halves the cost of reading a small options object.

use rquickjs::{Ctx, Object, Value, qjs};

/// A property's name as QuickJS's atom. Equal names have equal atoms while a reference to one exists.
pub(super) type Name = qjs::JSAtom;

/// The string names of own, enumerable properties.
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
        // SAFETY: object and name are alive; the returned value is owned here.
        let value = unsafe { Value::from_raw(ctx.clone(), qjs::JS_GetProperty(raw(ctx), self.object.as_raw(), name)) };
        if value.is_exception() { Err(rquickjs::Error::Exception) } else { Ok(value) }
    }
}

impl Drop for OwnNames<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: the table is as `JS_GetOwnPropertyNames` returned it, and no reference to its names remains.
        unsafe { qjs::JS_FreePropertyEnum(raw(self.object.ctx()), self.table, self.length) };
    }
}

fn raw(ctx: &Ctx<'_>) -> *mut qjs::JSContext {
    ctx.as_raw().as_ptr()
}

/// The atom of a name. The caller must hold a reference to it.
pub(super) fn name(ctx: &Ctx<'_>, text: &str) -> Name {
    // SAFETY: the string is valid for its length; the reference that the call adds is released.
    unsafe {
        let name = qjs::JS_NewAtomLen(raw(ctx), text.as_ptr().cast(), text.len() as _);
        qjs::JS_FreeAtom(raw(ctx), name);
        name
    }
}
