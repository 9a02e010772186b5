//! `proto(path, options)`: the gRPC services of a realm.

use std::cell::RefCell;
use std::rc::Rc;

use prost_reflect::DescriptorPool;
use rquickjs::function::Opt;
use rquickjs::prelude::Func;
use rquickjs::{Ctx, Exception, JsLifetime, Object, Result};

use super::realm_data::RealmData;
use crate::data::protos::ProtoSource;
use crate::permissions::AccessKind;
use crate::unknown_options::check_options;

/// The services that a realm has declared, in order. Stored as its user data, for the protocol that calls them.
#[derive(Default, JsLifetime)]
pub(crate) struct DeclaredServices(pub(crate) RefCell<Vec<DescriptorPool>>);

pub(super) fn install<'js>(ctx: &Ctx<'js>, data: &Object<'js>, scope: &Rc<RealmData>) -> Result<()> {
    // The store is new, so no code has borrowed from it.
    let _ = ctx.store_userdata(DeclaredServices::default());
    let scope = Rc::clone(scope);
    let declare = move |ctx: Ctx<'js>, path: String, options: Opt<Option<Object<'js>>>| {
        if scope.is_sealed() {
            return Err(Exception::throw_message(&ctx, "proto(…): declare services at the top level of the test, outside scenarios"));
        }
        let mut source = ProtoSource { path: scope.path(&ctx, AccessKind::Read, &path)?, imports: Vec::new() };
        if let Some(options) = options.0.flatten() {
            check_options(&options, "proto(…)", &["imports"])?;
            let written: Option<Vec<String>> =
                options.get("imports").map_err(|_| Exception::throw_type(&ctx, "proto(…) imports: expected a list of folders"))?;
            source.imports =
                written.unwrap_or_default().iter().map(|folder| scope.path(&ctx, AccessKind::Read, folder)).collect::<Result<_>>()?;
        }
        let compiled = scope.store.services(&source).map_err(|error| Exception::throw_message(&ctx, &format!("proto(…): {error}")))?;
        let methods: Vec<String> = compiled
            .services()
            .flat_map(|service| service.methods().map(|method| format!("{}/{}", service.full_name(), method.name())).collect::<Vec<_>>())
            .collect();
        if let Some(declared) = ctx.userdata::<DeclaredServices>() {
            declared.0.borrow_mut().push((*compiled).clone());
        }
        Ok(methods)
    };
    data.set("proto", Func::from(declare))?;
    let _ = ctx;
    Ok(())
}
