//! The controller's key: a PEM file (PKCS #8, Ed25519), as `openssl genpkey -algorithm ed25519` also writes it.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use loadstone_fleet::{FleetKey, PublicFleetKey};
use rcgen::{KeyPair, PKCS_ED25519};

use crate::exit::UsageError;

/// Writes a new key to a file that does not exist yet and that only this user can read. Returns the public key.
///
/// # Errors
/// The file exists, or cannot be written.
pub(crate) fn create(file: &Path) -> anyhow::Result<PublicFleetKey> {
    let pair = KeyPair::generate_for(&PKCS_ED25519)?;
    let key = FleetKey::of_pkcs8(&pair.serialize_der())?;
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let mut opened = opened.map_err(|problem| UsageError(format!("{}: {problem}", file.display())))?;
    opened.write_all(pair.serialize_pem().as_bytes())?;
    Ok(key.public())
}

/// The key that a flag names. Without one, a new key for this run.
///
/// # Errors
/// The file cannot be read, or contains no such key.
pub(crate) fn read_or_generate(flag: &str, file: Option<&Path>) -> Result<FleetKey, UsageError> {
    let Some(file) = file else { return FleetKey::generate().map_err(|problem| UsageError(problem.to_string())) };
    let wrong = |problem: String| UsageError(format!("{flag}: {}: {problem}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|problem| wrong(format!("cannot be read: {problem}")))?;
    let pair = KeyPair::from_pem(&text)
        .map_err(|_| wrong("it is not a private Ed25519 key: create one with `loadstone fleet key FILE`".to_owned()))?;
    FleetKey::of_pkcs8(&pair.serialize_der()).map_err(|problem| wrong(problem.to_string()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_written_once_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("controller.pem");
        let public = create(&file).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read_or_generate("--fleet-key", Some(&file)).unwrap().public(), public);
        assert!(create(&file).is_err(), "an existing key is not replaced");
        std::fs::write(&file, "no key").unwrap();
        let error = read_or_generate("--fleet-key", Some(&file)).unwrap_err().to_string();
        assert!(error.contains("--fleet-key") && error.contains("loadstone fleet key"), "{error}");
    }
}
