//! What deny.toml says, in cargo-deny's words (<https://embarkstudios.github.io/cargo-deny/checks/cfg.html>).

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use toml_edit::{DocumentMut, Item, TableLike, Value};

/// The only place that packages may come from, by the name that cargo gives it.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[derive(Debug, Default)]
pub(super) struct Policy {
    /// Only what is compiled for these counts; everything where none is named.
    pub(super) platforms: Vec<String>,
    pub(super) allowed: Vec<String>,
    /// Name → reason.
    pub(super) banned: BTreeMap<String, String>,
}

/// Settings that are held with these values only: any other value would need code that does not exist.
const FIXED: &[(&str, &str, &str)] = &[
    ("bans", "multiple-versions", "allow"),
    ("bans", "wildcards", "deny"),
    ("bans", "allow-wildcard-paths", "true"),
    ("sources", "unknown-registry", "deny"),
    ("sources", "unknown-git", "deny"),
];

impl Policy {
    /// # Errors
    ///
    /// If the text is not TOML, or has a setting that is not held.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let document: DocumentMut = text.parse()?;
        let mut policy = Self::default();
        for (section, settings) in document.iter() {
            let settings = settings.as_table_like().with_context(|| format!("{section} is not a section"))?;
            for (name, value) in settings.iter() {
                match (section, name) {
                    ("graph", "targets") => policy.platforms = texts(value)?,
                    ("licenses", "allow") => policy.allowed = texts(value)?,
                    ("bans", "deny") => policy.banned = bans(value)?,
                    _ => fixed(section, name, value)?,
                }
            }
        }
        Ok(policy)
    }

    pub(super) fn allows(&self, licence: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed == licence)
    }
}

pub(super) fn is_known_source(source: &str) -> bool {
    source == REGISTRY
}

fn fixed(section: &str, name: &str, value: &Item) -> Result<()> {
    let Some((_, _, held)) = FIXED.iter().find(|fixed| (fixed.0, fixed.1) == (section, name)) else {
        bail!("[{section}] {name} is not held by `cargo xtask licences`; remove it or write the check");
    };
    let given = value.as_str().map(str::to_owned).or_else(|| Some(value.as_bool()?.to_string())).unwrap_or_default();
    ensure!(given == *held, "[{section}] {name} = {given} is not held by `cargo xtask licences`, which knows only {held}");
    Ok(())
}

fn texts(value: &Item) -> Result<Vec<String>> {
    let values = value.as_array().context("expected a list")?;
    values.iter().map(|value| value.as_str().map(str::to_owned).context("expected a list of strings")).collect()
}

fn bans(value: &Item) -> Result<BTreeMap<String, String>> {
    let values = value.as_array().context("expected a list")?;
    let ban = |value: &Value| {
        let ban: &dyn TableLike = value.as_inline_table().context("expected a list of { crate = …, reason = … }")?;
        let text = |field: &str| ban.get(field).and_then(Item::as_str).map(str::to_owned).with_context(|| format!("a ban has no {field}"));
        ensure!(ban.iter().all(|(field, _)| ["crate", "reason"].contains(&field)), "a ban has only `crate` and `reason`");
        Ok((text("crate")?, text("reason")?))
    };
    values.iter().map(ban).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_policy_is_held_in_full() {
        let policy = Policy::parse(include_str!("../../../deny.toml")).unwrap();
        assert!(policy.allows("MIT") && !policy.allows("GPL-3.0-only"));
        assert!(policy.banned.contains_key("openssl-sys") && policy.platforms.len() > 1);
    }

    #[test]
    fn a_setting_that_is_not_held_is_an_error() {
        let error = |text: &str| Policy::parse(text).unwrap_err().to_string();
        assert_eq!(
            error("[advisories]\nyanked = \"deny\"\n"),
            "[advisories] yanked is not held by `cargo xtask licences`; remove it or write the check"
        );
        assert!(error("[bans]\nmultiple-versions = \"deny\"\n").contains("knows only allow"));
        assert!(error("[bans]\ndeny = [{ crate = \"ring\" }]\n").contains("no reason"));
        assert!(Policy::parse("[bans]\nallow-wildcard-paths = true\n").is_ok());
    }
}
