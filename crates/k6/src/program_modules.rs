//! The modules of a program for QuickJS, from their bytecode or source. Nothing is read from disk.

use std::collections::HashMap;
use std::sync::Arc;

use loadstone_script::Program;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Module};

use crate::realm_inputs::RealmInputs;

/// The modules of a program, for every realm of a VU.
#[derive(Clone)]
pub(crate) struct ProgramModules {
    program: Arc<Program>,
    /// Empty: modules are compiled from their source.
    bytecode: Arc<HashMap<String, Vec<u8>>>,
}

impl ProgramModules {
    pub(crate) fn of(world: &RealmInputs) -> Self {
        Self { program: Arc::clone(&world.program), bytecode: Arc::clone(&world.bytecode) }
    }

    /// A module of the program, not yet evaluated.
    pub(crate) fn declare<'js>(&self, ctx: &Ctx<'js>, id: &str) -> rquickjs::Result<Module<'js, Declared>> {
        match (self.bytecode.get(id), self.program.module_code(id)) {
            // SAFETY: this process wrote the bytes with the same version of QuickJS.
            (Some(bytes), _) => unsafe { Module::load(ctx.clone(), bytes) },
            (None, Some(code)) => Module::declare(ctx.clone(), id, code),
            (None, None) => Err(Error::new_loading(id)),
        }
    }
}

impl Resolver for ProgramModules {
    fn resolve<'js>(&mut self, _: &Ctx<'js>, base: &str, name: &str, _: Option<ImportAttributes<'js>>) -> rquickjs::Result<String> {
        let target = self.program.import_id(base, name);
        target
            .map(str::to_owned)
            .ok_or_else(|| Error::new_resolving_message(base, name, "only imports with a constant string are supported"))
    }
}

impl Loader for ProgramModules {
    fn load<'js>(&mut self, ctx: &Ctx<'js>, name: &str, _: Option<ImportAttributes<'js>>) -> rquickjs::Result<Module<'js, Declared>> {
        self.declare(ctx, name)
    }
}
