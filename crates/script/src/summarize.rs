//! A test's custom summary: `export function summarize(summary)`, called once the run is over.

use std::rc::Rc;

use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Exception, Function, Promise, Value};

use crate::error::ScriptError;
use crate::loaded::Loaded;
use crate::natives;
use crate::realm::Realm;
use crate::stubs::declared;
use crate::user;

const EXPORT: &str = "summarize";

/// Maximum number of its jobs.
const JOBS_MAX: usize = 1_000_000;

impl Loaded {
    /// The files that the test generates from a summary in JSON: their names and text. Empty if it exports no `summarize`.
    ///
    /// # Errors
    /// The error that it throws, or a result of another kind.
    pub fn summarize(&self, summary: &str) -> Result<Vec<(String, String)>, ScriptError> {
        // A file that does not contain the name need not be evaluated again.
        if !self.program.modules.get(&self.program.entry).is_some_and(|module| module.code.contains(EXPORT)) {
            return Ok(Vec::new());
        }
        let (realm, scope, ()) = Realm::new(Rc::new(self.world()), Rc::new(|_, _| {}), |ctx, native| {
            user::install(ctx, native)?;
            natives::install(ctx, native, &self.inputs, &self.plan.secrets)?;
            declared::install_for_running(ctx, native, &self.stubs, &self.plan)
        })?;
        let files = realm.evaluate_for(EXPORT, |ctx, exported| {
            if exported.is_undefined() {
                return Ok(Vec::new());
            }
            let summarize =
                exported.as_function().ok_or_else(|| Exception::throw_type(ctx, "summarize is exported but is not a function"))?;
            let value: Value<'_> = ctx.json_parse(summary)?;
            files_of(ctx, &settled(ctx, &realm, summarize, value)?)
        });
        scope.seal();
        files
    }
}

/// Its result, awaited.
fn settled<'js>(ctx: &Ctx<'js>, realm: &Realm, summarize: &Function<'js>, value: Value<'js>) -> rquickjs::Result<Value<'js>> {
    let returned: Value<'js> = summarize.call((value,))?;
    let Some(promise) = returned.as_promise() else { return Ok(returned) };
    let promise: &Promise<'js> = promise;
    realm.run_jobs(ctx, JOBS_MAX).map_err(|error| Exception::throw_message(ctx, &error.to_string()))?;
    match (promise.state(), promise.result()) {
        (PromiseState::Pending, _) | (_, None) => {
            Err(Exception::throw_message(ctx, "summarize awaits a promise that never settles: it has no user and sends no requests"))
        }
        (_, Some(result)) => result,
    }
}

fn files_of<'js>(ctx: &Ctx<'js>, returned: &Value<'js>) -> rquickjs::Result<Vec<(String, String)>> {
    let wrong =
        || Exception::throw_type(ctx, "summarize: return an object of file names and their text, such as { \"summary.csv\": text }");
    if returned.is_undefined() {
        return Ok(Vec::new());
    }
    let files = returned.as_object().filter(|object| !object.is_array()).ok_or_else(wrong)?;
    let mut written = Vec::new();
    for property in files.props::<String, Value<'js>>() {
        let (name, text) = property?;
        written.push((name, text.as_string().ok_or_else(wrong)?.to_string()?));
    }
    Ok(written)
}
