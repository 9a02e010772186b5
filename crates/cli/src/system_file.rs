//! A file that describes the system for a script of another tool: observers, thresholds, stubs and knobs.

use std::path::Path;
use std::sync::Arc;

use loadstone_plan::TestPlan;
use loadstone_script::{Inputs, Loaded};
use loadstone_session::{LineSender, Session};

use crate::exit::UsageError;
use crate::flags::observers_of;
use crate::script_run::start_stubs;

/// Adds the observers, thresholds and stubs of the file to a session, and starts the stubs.
pub(crate) fn with_system(session: Session, file: &Path, inputs: &Inputs, sender: &LineSender) -> anyhow::Result<Session> {
    with_loaded_system(session, file, loadstone_script::load_system(file, inputs)?, sender)
}

/// The same with a file that was evaluated.
pub(crate) fn with_loaded_system(session: Session, file: &Path, system: Loaded, sender: &LineSender) -> anyhow::Result<Session> {
    let system = Arc::new(system);
    let plan = merged(session.plan, &system, file)?;
    let observers = observers_of(&system.plan)?;
    let stubs = start_stubs(&system, sender).map_err(|error| error.hiding(&system.plan.all_secrets()))?;
    Ok(Session { plan, observers, stubs, ..session })
}

/// A script's plan with what the file adds to it.
///
/// # Errors
/// Both together are no valid plan.
pub(crate) fn merged(mut plan: TestPlan, system: &Loaded, file: &Path) -> Result<TestPlan, UsageError> {
    if system.record.is_some() {
        let message =
            format!("{}: `record` is for `loadstone watch`: leave it out, because the script sends the load itself", file.display());
        return Err(UsageError(message));
    }
    plan.secrets.extend_later(&system.plan.all_secrets());
    plan.thresholds.extend(system.plan.thresholds.iter().cloned());
    plan.observers.clone_from(&system.plan.observers);
    plan.stubs.clone_from(&system.plan.stubs);
    plan.flows.clone_from(&system.plan.flows);
    plan.parameters.clone_from(&system.plan.parameters);
    plan.validate().map_err(|error| UsageError(format!("{}: {error}", file.display())))?;
    Ok(plan)
}
