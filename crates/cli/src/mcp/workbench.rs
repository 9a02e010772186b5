//! What the tools work on: a folder of tests, a folder of runs, and the limits that the command line sets.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use loadstone_mcp::ToolError;
use loadstone_plan::Parameter;
use loadstone_script::value_problem;

use crate::flags::{LimitArgs, PermissionArgs};
use crate::ui::{CatalogueError, TestCatalogue};

pub(crate) struct Workbench {
    pub(super) catalogue: TestCatalogue,
    /// Folder of run directories.
    pub(super) runs: PathBuf,
    /// This binary, which performs the work.
    pub(super) binary: PathBuf,
    /// Flags for the permissions of all tests.
    pub(super) permissions: Vec<OsString>,
    /// Flags for permissions and limits.
    pub(super) flags: Vec<OsString>,
    pub(super) limits: LimitArgs,
    /// A call that generates load for longer is stopped.
    pub(super) call_max: Duration,
    /// Two loads would share the machine and distort each other's measurements.
    busy: Mutex<()>,
}

/// A test with the parameters of a call.
pub(super) struct ChosenTest {
    pub(super) path: PathBuf,
    /// Parameters that are not secret.
    pub(super) arguments: Vec<OsString>,
    /// Secret ones: other users of the machine can read a command line, but not an environment.
    pub(super) environment: Vec<(String, String)>,
}

impl Workbench {
    pub(crate) fn new(
        folder: &Path,
        runs: &Path,
        permissions: &PermissionArgs,
        limits: LimitArgs,
        call_max: Duration,
    ) -> anyhow::Result<Self> {
        let flags = permissions.arguments().into_iter().chain(limits.arguments()).collect();
        let of_tests = permissions.arguments();
        let catalogue = TestCatalogue::new(folder, runs, permissions.permissions());
        let binary = crate::ui::own_binary()?;
        Ok(Self { catalogue, runs: runs.to_owned(), binary, permissions: of_tests, flags, limits, call_max, busy: Mutex::default() })
    }

    pub(super) fn limits_in_words(&self) -> String {
        format!("Limits: {}.", self.limits.in_words())
    }

    /// The test of a call, with its parameters checked.
    pub(super) fn test(&self, file: &str, parameters: &BTreeMap<String, String>) -> Result<ChosenTest, ToolError> {
        let (path, test) = self.catalogue.find(file).map_err(|problem| match problem {
            CatalogueError::NotFound { .. } => ToolError(format!("{problem}; list_tests lists the tests")),
            other => ToolError::of(other),
        })?;
        if let Some(error) = test.error {
            return Err(ToolError(error));
        }
        let mut chosen = ChosenTest { path, arguments: Vec::new(), environment: Vec::new() };
        for (name, value) in parameters {
            let Some(field) = test.parameters.iter().find(|field| field.name == *name) else {
                let known: Vec<&str> = test.parameters.iter().map(|field| field.name.as_str()).collect();
                return Err(ToolError(format!("{file} has no parameter \"{name}\"; it has: {}", known.join(", "))));
            };
            if let Some(problem) = value_problem(&field.kind, value) {
                return Err(ToolError(format!("{name}: {}", if field.secret { "this value is not accepted" } else { &problem })));
            }
            if field.secret {
                let variable = if test.is_k6 { name.clone() } else { Parameter::environment_name(name) };
                chosen.environment.push((variable, value.clone()));
            } else {
                chosen.arguments.extend([if test.is_k6 { "-e" } else { "-p" }.into(), format!("{name}={value}").into()]);
            }
        }
        Ok(chosen)
    }

    /// The right to generate load, which one call has at a time.
    pub(super) fn take_turn(&self) -> Result<MutexGuard<'_, ()>, ToolError> {
        match self.busy.try_lock() {
            Ok(turn) => Ok(turn),
            Err(TryLockError::Poisoned(turn)) => Ok(turn.into_inner()),
            Err(TryLockError::WouldBlock) => Err(ToolError("another call generates load: wait for it or cancel it".to_owned())),
        }
    }
}
