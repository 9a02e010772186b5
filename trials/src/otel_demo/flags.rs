//! The demo's flag file, which flagd reads again whenever it changes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A copy of the demo's flag file, in which flags are switched on.
pub(super) struct FlagFile {
    path: PathBuf,
    original: Value,
}

impl FlagFile {
    /// Copies the demo's file, with all flags off.
    pub(super) fn create(checkout: &Path, folder: &Path) -> Result<Self> {
        let source = checkout.join("src/flagd/demo.flagd.json");
        let text = fs::read_to_string(&source)
            .with_context(|| format!("{} is not a checkout of the demo: no {}", checkout.display(), source.display()))?;
        let original = serde_json::from_str(&text).with_context(|| format!("reading {}", source.display()))?;
        let file = Self { path: folder.join("demo.flagd.json"), original };
        file.write(&file.original)?;
        Ok(file)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Switches one flag on.
    pub(super) fn switch(&self, flag: &str, variant: &str) -> Result<()> {
        self.write(&switched(&self.original, flag, variant)?)
    }

    fn write(&self, flags: &Value) -> Result<()> {
        fs::write(&self.path, serde_json::to_string_pretty(flags)?).with_context(|| format!("writing {}", self.path.display()))
    }
}

/// The file with one flag on: by its default, or by the first branch of its targeting rule.
fn switched(original: &Value, flag: &str, variant: &str) -> Result<Value> {
    let mut flags = original.clone();
    let Some(entry) = flags["flags"].get_mut(flag) else { bail!("the demo has no flag {flag}") };
    if entry["variants"].get(variant).is_none() {
        bail!("the flag {flag} has no variant {variant}");
    }
    match entry.pointer_mut("/targeting/if/1") {
        Some(branch) => *branch = variant.into(),
        None => entry["defaultVariant"] = variant.into(),
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_flag_is_switched_by_its_default_or_by_its_rule() {
        let original = json!({ "flags": {
            "plain": { "defaultVariant": "off", "variants": { "off": false, "on": true } },
            "aimed": { "defaultVariant": "off", "targeting": { "if": [{}, "off", "off"] }, "variants": { "off": false, "on": true } },
        } });
        assert_eq!(switched(&original, "plain", "on").unwrap()["flags"]["plain"]["defaultVariant"], "on");
        let aimed = switched(&original, "aimed", "on").unwrap();
        assert_eq!(aimed["flags"]["aimed"]["targeting"]["if"], json!([{}, "on", "off"]));
        assert_eq!(aimed["flags"]["aimed"]["defaultVariant"], "off");
    }

    #[test]
    fn unknown_flags_and_variants_are_errors() {
        let original = json!({ "flags": { "plain": { "variants": { "off": false } } } });
        assert!(switched(&original, "other", "on").is_err());
        assert!(switched(&original, "plain", "on").is_err());
    }
}
