//! `SharedArray`, and the data of `setup`.

use std::sync::Arc;

use rquickjs::{Ctx, Function, Object};

use crate::realm_inputs::RealmInputs;

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, world: &RealmInputs) -> rquickjs::Result<()> {
    let shared = Arc::clone(&world.shared);
    native.set("setUpData", Function::new(ctx.clone(), move || shared.set_up.get().filter(|json| !json.is_empty()).cloned())?)
}

pub(super) fn install_arrays<'js>(ctx: &Ctx<'js>, native: &Object<'js>, world: &RealmInputs) -> rquickjs::Result<()> {
    let shared = Arc::clone(&world.shared);
    // The length of a shared array, if it exists.
    let length = move |name: String| shared.arrays.lock().ok()?.get(&name).map(|elements| elements.len());
    native.set("sharedLength", Function::new(ctx.clone(), length)?)?;
    let shared = Arc::clone(&world.shared);
    let store = move |name: String, elements: Vec<String>| {
        let elements = Arc::new(elements.into_iter().map(String::into_boxed_str).collect::<Vec<_>>());
        if let Ok(mut arrays) = shared.arrays.lock() {
            arrays.entry(name).or_insert(elements);
        }
    };
    native.set("shareArray", Function::new(ctx.clone(), store)?)?;
    let shared = Arc::clone(&world.shared);
    let element = move |name: String, index: usize| {
        let elements = shared.arrays.lock().ok()?.get(&name).cloned()?;
        elements.get(index).map(|json| json.to_string())
    };
    native.set("sharedElement", Function::new(ctx.clone(), element)?)
}
