//! Runs over several machines: what the binary adds to the crate `fleet`, which knows no tests.
//!
//! `lead` is the controller's side of a run, `serve` the agent's side, [`led_test::SentTest`] what the controller sends to agents, `local` a fleet on this
//! machine, `kubernetes` a fleet in a cluster.

mod host_message;
mod k6_test;
pub(crate) mod key_file;
pub(crate) mod kubernetes;
mod lead;
mod led_test;
mod local;
mod sent_files;
mod serve;
mod share_flag;
mod test;

pub(crate) use lead::{FleetArgs, FleetRun, is_here, is_open, open_bus};
pub(crate) use led_test::{LedTest, abort_text};
pub(crate) use serve::{AgentSettings, serve};

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use crate::exit::UsageError;

/// A label of an agent, in the flag's syntax: `region=eu`.
pub(crate) fn parse_label(text: &str) -> Result<(String, String), String> {
    let is_plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    match text.split_once('=') {
        Some((key, value)) if is_plain(key) && is_plain(value) => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE of letters, digits, - _ and ., such as region=eu".to_owned()),
    }
}

/// Address of a NATS server, in the flag's syntax.
pub(crate) fn parse_address(text: &str) -> Result<String, String> {
    match text.split_once("://") {
        Some(("nats" | "tls", host)) if !host.is_empty() => Ok(text.to_owned()),
        _ => Err("write nats://HOST:4222 or tls://HOST:4222".to_owned()),
    }
}

/// Reads the authorities' file that a flag names.
///
/// # Errors
/// The file cannot be read, or contains no certificate.
pub(crate) fn authorities(flag: &str, file: Option<&Path>) -> Result<Option<PathBuf>, UsageError> {
    let Some(file) = file else { return Ok(None) };
    let wrong = |problem: &str| UsageError(format!("{flag}: {}: {problem}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|problem| wrong(&format!("cannot be read: {problem}")))?;
    if !text.contains("-----BEGIN CERTIFICATE-----") {
        return Err(wrong("has no certificate in PEM (\"-----BEGIN CERTIFICATE-----\")"));
    }
    Ok(Some(file.to_owned()))
}

/// A string that is unique to this process.
fn unique_id() -> String {
    // The standard hasher takes its keys from the operating system.
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_parsed() {
        assert_eq!(parse_label("region=eu-1"), Ok(("region".to_owned(), "eu-1".to_owned())));
        for wrong in ["", "region", "region=", "=eu", "a=b=c", "a=b c", "a=b,c=d"] {
            assert!(parse_label(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_file_without_certificates_is_refused_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.pem");
        let message = |file: &Path| authorities("--fleet-ca", Some(file)).unwrap_err().to_string();
        assert!(message(&file).contains("x.pem: cannot be read"));
        std::fs::write(&file, "-----BEGIN PRIVATE KEY-----").unwrap();
        assert!(message(&file).contains("x.pem: has no certificate"));
        assert_eq!(authorities("--fleet-ca", None).unwrap(), None);
    }
}
