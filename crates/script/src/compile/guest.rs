//! Scripts of other tools: their modules take the place of the `"loadstone"` module.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::commonjs::quoted;

/// The modules that a script of another tool may import.
#[derive(Debug, Clone, Copy)]
pub struct GuestModules {
    /// Id and TypeScript. `loadstone:commonjs` must be one of them: it exports `load` and `provide`.
    pub own: &'static [(&'static str, &'static str)],
    /// The id of the module that a specifier names. `None`: it names a file.
    pub id_of: fn(&str) -> Option<String>,
    /// TypeScript that exports these names, which the module of this id does not have. The names fail when they are used.
    pub missing: fn(id: &str, names: &[&str]) -> String,
}

/// Modules that are imported by URL.
pub trait RemoteModules: std::fmt::Debug {
    /// The local file with the module's code.
    ///
    /// # Errors
    /// What is wrong, and the remedy.
    fn file(&self, url: &str) -> Result<PathBuf, (String, String)>;
}

/// Declares `require` in an ES module, on one line. `required`: specifier to id.
pub(super) fn require_prelude(id: &str, required: &BTreeMap<&str, &str>, is_module: impl Fn(&str) -> bool) -> String {
    let mut line = String::from("import { load as __load, provide as __provide } from \"loadstone:commonjs\"; ");
    for (index, target) in required.values().filter(|target| is_module(target)).enumerate() {
        let target = quoted(target);
        line.push_str(&format!("import * as __m{index} from {target}; __provide({target}, __m{index}); "));
    }
    let table = serde_json::to_string(required).unwrap_or_default();
    line.push_str(&format!(
        "var require = (specifier) => {{ const target = {table}[specifier]; if (target === undefined) throw new Error(`cannot find \"${{specifier}}\", \
         required by {id}`); return __load(target); }};"
    ));
    line
}
