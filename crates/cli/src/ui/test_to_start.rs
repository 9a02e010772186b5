//! A test of the folder with the values of a form: Loadstone's own, or a k6 script.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use loadstone_plan::TestPlan;
use loadstone_script::{Inputs, Knob, Missing, ObserverCheck, Permissions, ScriptError};

use crate::flags::{k6_inputs_of_process, system_file};
use crate::system_file::merged;

/// A test of either language, with a form's values.
pub(super) struct TestToStart {
    pub(super) plan: TestPlan,
    /// Of the test, or of the file that describes a k6 script's system.
    pub(super) knobs: Vec<Knob>,
    /// Variables of `__ENV` that a k6 script reads.
    pub(super) variables: BTreeSet<String>,
}

impl TestToStart {
    /// `values`: parameters, or variables of a k6 script.
    ///
    /// # Errors
    /// The test does not load.
    pub(super) fn load(
        path: &Path,
        permissions: &Permissions,
        values: &BTreeMap<String, String>,
        missing: Missing,
    ) -> Result<Self, ScriptError> {
        let own = || -> Result<Inputs, ScriptError> {
            let check_observer = Some(loadstone_session::check_observer as ObserverCheck);
            Ok(Inputs { missing, permissions: permissions.clone(), check_observer, ..Inputs::from_process(&[])? })
        };
        if !loadstone_k6::is_k6_script(path) {
            let loaded = loadstone_script::load(path, &Inputs { parameters: values.clone().into_iter().collect(), ..own()? })?;
            return Ok(Self { plan: loaded.plan, knobs: loaded.knobs, variables: BTreeSet::new() });
        }
        let mut inputs = k6_inputs_of_process(permissions.clone()).map_err(|problem| ScriptError::new(problem.to_string()))?;
        inputs.variables.extend(values.clone());
        let test = loadstone_k6::load(path, &inputs).map_err(|problem| problem.error)?;
        let variables = test.variables_read();
        let Some(file) = system_file(path) else { return Ok(Self { plan: test.plan, knobs: Vec::new(), variables }) };
        let system = loadstone_script::load_system(&file, &own()?)?;
        let plan = merged(test.plan, &system, &file).map_err(|problem| ScriptError::new(problem.to_string()))?;
        Ok(Self { plan, knobs: system.knobs, variables })
    }
}
