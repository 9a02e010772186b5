//! What is checked: this checkout, or what its changes affect.

use anyhow::Result;
use checkout::Workspace;

use super::affected_packages::AffectedPackages;

pub(super) struct Scope<'a> {
    pub(super) workspace: &'a Workspace,
    /// `None`: everything.
    pub(super) affected: Option<AffectedPackages>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(workspace: &'a Workspace, only_changed: bool) -> Result<Self> {
        let affected = only_changed.then(|| AffectedPackages::of_working_tree(workspace)).transpose()?;
        if let Some(affected) = &affected {
            println!("{}", affected.describe());
        }
        Ok(Self { workspace, affected })
    }
}
