//! Inputs of k6 scripts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use loadstone_k6::{K6Inputs, options_of_environment, secret_sources};
use loadstone_script::{Permissions, RemoteModules};

use super::ParameterArgs;
use crate::exit::UsageError;
use crate::remote_imports::RemoteImports;

/// Inputs of a k6 script, for every command that takes one.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "k6 scripts")]
pub(crate) struct K6ScriptArgs {
    /// Set a variable of __ENV. Can be repeated. The environment's variables are set, too.
    #[arg(short = 'e', long = "env", value_name = "NAME=VALUE")]
    variables: Vec<String>,
    /// A TypeScript file with observers, thresholds, stubs and knobs: `export default { observe, thresholds, stubs }`. Parameters (-p) belong to it.
    /// [default: SCRIPT.system.ts next to SCRIPT.js, if it exists]
    #[arg(long = "with", value_name = "FILE")]
    system: Option<PathBuf>,
    /// Source of k6/secrets: file=PATH (lines KEY=VALUE), or mock=KEY=VALUE,KEY=VALUE. Can be repeated, with name=NAME. All values are masked.
    #[arg(long = "secret-source", value_name = "KIND=…")]
    secret_sources: Vec<String>,
    /// Download modules that the script imports by URL. Their hashes are pinned in loadstone-imports.json next to the script.
    #[arg(long)]
    allow_remote_imports: bool,
}

impl K6ScriptArgs {
    /// The first of these flags that is set.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        [
            (!self.variables.is_empty(), "--env"),
            (self.system.is_some(), "--with"),
            (!self.secret_sources.is_empty(), "--secret-source"),
            (self.allow_remote_imports, "--allow-remote-imports"),
        ]
        .into_iter()
        .find_map(|(is_set, flag)| is_set.then_some(flag))
    }

    /// Refuses these flags for a test that is no k6 script.
    ///
    /// # Errors
    /// One of them is set.
    pub(crate) fn check_unused(&self, shown: &str) -> Result<(), UsageError> {
        match self.first_set() {
            Some(flag) => Err(UsageError(format!("{flag} is for k6 scripts, and {shown} is none"))),
            None => Ok(()),
        }
    }

    /// The file that describes the system: the one of the flag, or the one next to the script.
    pub(crate) fn system_of(&self, script: &Path) -> Option<PathBuf> {
        self.system.clone().or_else(|| system_file(script))
    }

    /// The inputs of the script at `path`, and the file that describes the system.
    ///
    /// # Errors
    /// A variable of the environment is no option, a pin file cannot be read, or parameters are set that no file declares.
    pub(crate) fn inputs(&self, path: &Path, params: &ParameterArgs, seed: Option<u64>) -> Result<K6Inputs, UsageError> {
        if let Some(param) = params.params.first().filter(|_| self.system_of(path).is_none()) {
            return Err(UsageError(format!("-p {param}: parameters belong to Loadstone tests; set a variable of a k6 script with -e")));
        }
        let mut inputs = K6Inputs { seed, ..of_process(params.permissions.permissions())? };
        for written in &self.variables {
            // As in k6, a name alone takes the value from the environment.
            let (name, value) = match written.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (written.as_str(), std::env::var(written).unwrap_or_default()),
            };
            if name.is_empty() {
                return Err(UsageError(format!("--env {written}: write NAME=VALUE")));
            }
            inputs.set_by_flag.insert(name.to_owned());
            inputs.variables.insert(name.to_owned(), value);
        }
        inputs.secret_sources =
            secret_sources(&self.secret_sources).map_err(|problem| UsageError(format!("--secret-source: {problem}")))?;
        if self.allow_remote_imports {
            inputs.remote = Some(Arc::new(RemoteImports::of_script(path)?) as Arc<dyn RemoteModules + Send + Sync>);
        }
        Ok(inputs)
    }

    /// The flags that give another process the same inputs.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let variables = self.variables.iter().flat_map(|written| ["-e".into(), OsString::from(written)]);
        let system = self.system.iter().flat_map(|file| ["--with".into(), file.clone().into_os_string()]);
        let secrets = self.secret_sources.iter().flat_map(|source| ["--secret-source".into(), OsString::from(source)]);
        variables.chain(system).chain(secrets).chain(self.allow_remote_imports.then(|| "--allow-remote-imports".into())).collect()
    }
}

/// The inputs that this process passes to a k6 script for which there are no flags.
///
/// # Errors
/// A variable `K6_…` of the environment is no valid option.
pub(crate) fn of_process(permissions: Permissions) -> Result<K6Inputs, UsageError> {
    let variables: BTreeMap<String, String> = std::env::vars().collect();
    let tiers = vec![options_of_environment(&variables).map_err(UsageError)?];
    Ok(K6Inputs { variables, tiers, permissions, ..K6Inputs::default() })
}

/// `shop.system.ts` next to `shop.js` or `shop.ts`, if it exists.
pub(crate) fn system_file(script: &Path) -> Option<PathBuf> {
    let file = script.with_extension("system.ts");
    file.is_file().then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_next_to_the_script_describes_its_system() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("shop.v2.js");
        assert_eq!(K6ScriptArgs::default().system_of(&script), None);
        let file = folder.path().join("shop.v2.system.ts");
        std::fs::write(&file, "").unwrap();
        assert_eq!(K6ScriptArgs::default().system_of(&script), Some(file));
        let named = K6ScriptArgs { system: Some("other.ts".into()), ..K6ScriptArgs::default() };
        assert_eq!(named.system_of(&script), Some("other.ts".into()));
        let words: Vec<_> = named.arguments();
        assert_eq!(words, ["--with", "other.ts"]);
    }
}
