//! `open`, `console`, variables, and CommonJS files.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_script::{AccessKind, SETTINGS_BYTES_MAX, hosts_in, read_regular, running_place};
use rquickjs::context::EvalOptions;
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, IntoJs, Object, Value};

use crate::realm_inputs::RealmInputs;
use crate::turn::Turn;

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, world: &RealmInputs) -> rquickjs::Result<()> {
    let inputs = world.clone();
    let open = move |ctx: Ctx<'js>, path: String, binary: bool| -> rquickjs::Result<Value<'js>> {
        if Turn::is_running(&ctx) {
            return Err(Exception::throw_message(
                &ctx,
                "open() is available in the init context only: call it at the top level of the script",
            ));
        }
        let program = &inputs.program;
        let caller = running_place(&ctx, program).map(|place| program.folder_path().join(&*place.file));
        let folder = caller.as_deref().and_then(Path::parent).unwrap_or(program.folder_path());
        let file = inputs.file(folder, &path);
        inputs.access.check(AccessKind::Read, &file).map_err(|refused| Exception::throw_message(&ctx, &refused.to_string()))?;
        let bytes = read_regular(&file).map_err(|error| Exception::throw_message(&ctx, &format!("open(\"{path}\"): {error}")))?;
        inputs.note_opened([file]);
        if binary {
            return ArrayBuffer::new(ctx, bytes).map(ArrayBuffer::into_value);
        }
        let text = String::from_utf8_lossy(&bytes);
        if inputs.is_planning() && text.len() <= SETTINGS_BYTES_MAX {
            inputs.opened.borrow_mut().hosts.extend(hosts_in(&text));
        }
        text.into_js(&ctx)
    };
    native.set("open", Function::new(ctx.clone(), open)?)?;
    let console = Rc::clone(&world.console);
    native.set(
        "print",
        Function::new(ctx.clone(), move |ctx: Ctx<'_>, line: String| {
            // The set-up of the script prints, too. An iteration that was cut off does not.
            if Turn::is_running(&ctx) {
                Turn::of(&ctx)?;
            }
            console(&line);
            Ok::<_, rquickjs::Error>(())
        })?,
    )?;
    native.set("installUrl", Function::new(ctx.clone(), |ctx: Ctx<'_>| loadstone_script::install_url(&ctx))?)?;
    let of_run = Arc::clone(&world.variables);
    let variables = move |ctx: Ctx<'js>| {
        let variables = Object::new(ctx)?;
        of_run.iter().try_for_each(|(name, value)| variables.set(name.as_str(), value.as_str()))?;
        Ok::<_, rquickjs::Error>(variables)
    };
    native.set("variables", Function::new(ctx.clone(), variables)?)?;
    let commonjs = Object::new(ctx.clone())?;
    let program = Arc::clone(&world.program);
    let load = move |ctx: Ctx<'js>, id: String| -> rquickjs::Result<Vec<Value<'js>>> {
        let Some(body) = program.commonjs_body(&id) else {
            return Err(Exception::throw_message(&ctx, &format!("{id} cannot be loaded by `require`")));
        };
        let mut options = EvalOptions::default();
        options.strict = false;
        options.filename = Some(body.id);
        let factory = ctx.eval_with_options::<Value<'_>, _>(body.code, options)?;
        let imports = Object::new(ctx.clone())?;
        for (specifier, target) in body.imports {
            imports.set(specifier, target)?;
        }
        Ok(vec![factory, imports.into_value()])
    };
    commonjs.set("commonjs", Function::new(ctx.clone(), load)?)?;
    // `commonjs.ts` is a module of Loadstone's own tests, too, and finds its native function there.
    ctx.globals().set("__loadstone", commonjs)
}
