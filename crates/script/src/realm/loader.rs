//! Passes the compiled program's modules to QuickJS. Reads nothing from disk.

use std::sync::Arc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Module, Result};

use crate::compile::{ModuleForm, Program};

#[derive(Clone)]
pub(super) struct ProgramLoader(pub(super) Arc<Program>);

impl Resolver for ProgramLoader {
    fn resolve<'js>(&mut self, _: &Ctx<'js>, base: &str, name: &str, _: Option<ImportAttributes<'js>>) -> Result<String> {
        let target = self.0.resolve(base, name).or_else(|| self.0.modules.contains_key(name).then_some(name));
        target.map(str::to_owned).ok_or_else(|| {
            Error::new_resolving_message(
                base,
                name,
                "only imports with a constant string are supported; do not build module names at run time",
            )
        })
    }
}

impl Loader for ProgramLoader {
    fn load<'js>(&mut self, ctx: &Ctx<'js>, name: &str, _: Option<ImportAttributes<'js>>) -> Result<Module<'js, Declared>> {
        match self.0.modules.get(name) {
            Some(module) if module.form == ModuleForm::Module => Module::declare(ctx.clone(), name, module.code.as_str()),
            _ => Err(Error::new_loading(name)),
        }
    }
}
