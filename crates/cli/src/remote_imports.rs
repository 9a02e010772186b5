//! Modules that k6 scripts import by URL: downloaded once, stored in the user's cache, and pinned by hash next to the script.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use loadstone_http_client::{HttpTarget, Method, header, within};
use loadstone_script::RemoteModules;
use sha2::{Digest, Sha256};
use url::{Host, Url};

use crate::exit::UsageError;

/// Hashes by URL, next to the script. It belongs in version control.
const PIN_FILE: &str = "loadstone-imports.json";
const MODULE_BYTES_MAX: usize = 16 << 20;
const REDIRECTS_MAX: usize = 5;
const DOWNLOAD_MAX: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct RemoteImports {
    cache: PathBuf,
    pin_file: PathBuf,
    pins: Mutex<BTreeMap<String, String>>,
}

impl RemoteImports {
    /// # Errors
    /// The pin file cannot be read.
    pub(crate) fn of_script(script: &Path) -> Result<Self, UsageError> {
        let folder = script.canonicalize().ok().and_then(|script| script.parent().map(Path::to_owned)).unwrap_or_default();
        let pin_file = folder.join(PIN_FILE);
        let pins = match std::fs::read_to_string(&pin_file) {
            Ok(text) => {
                let wrong = |error| UsageError(format!("{}: {error}: correct the file, or delete it to pin again", pin_file.display()));
                serde_json::from_str(&text).map_err(wrong)?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(UsageError(format!("cannot read {}: {error}", pin_file.display()))),
        };
        let base = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
        let base = base.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"))).unwrap_or_else(std::env::temp_dir);
        Ok(Self { cache: base.join("loadstone/imports"), pin_file, pins: Mutex::new(pins) })
    }

    fn stored(&self, url: &str, digest: &str) -> PathBuf {
        let end = if url.split(['?', '#']).next().is_some_and(|path| path.ends_with(".ts")) { "ts" } else { "js" };
        self.cache.join(format!("{digest}.{end}"))
    }

    fn store(&self, url: &str, content: &[u8]) -> Result<PathBuf, (String, String)> {
        let digest = digest_of(content);
        let mut pins = self.pins.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(pinned) = pins.get(url).filter(|pinned| **pinned != digest) {
            let help = format!("review the new content, then delete its line in {}", self.pin_file.display());
            return Err((format!("{url} has changed: its SHA-256 is {digest}, and {pinned} is pinned"), help));
        }
        let path = self.stored(url, &digest);
        let unwritable = |path: &Path, error: &std::io::Error| {
            (format!("cannot write {}: {error}", path.display()), "make the folder writable".to_owned())
        };
        let written = std::fs::create_dir_all(&self.cache).and_then(|()| {
            let mut file = tempfile::NamedTempFile::new_in(&self.cache)?;
            file.write_all(content)?;
            file.persist(&path).map_err(|error| error.error)
        });
        written.map_err(|error| unwritable(&path, &error))?;
        if pins.insert(url.to_owned(), digest.clone()).is_none() {
            let text = serde_json::to_string_pretty(&*pins).unwrap_or_default() + "\n";
            std::fs::write(&self.pin_file, text).map_err(|error| unwritable(&self.pin_file, &error))?;
            // The message is optional.
            let _ = writeln!(std::io::stderr(), "Downloaded  {url} (SHA-256 {digest}, pinned in {})", self.pin_file.display());
        }
        Ok(path)
    }
}

impl RemoteModules for RemoteImports {
    fn file(&self, url: &str) -> Result<PathBuf, (String, String)> {
        let pinned = self.pins.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(url).cloned();
        if let Some(digest) = pinned {
            let path = self.stored(url, &digest);
            if std::fs::read(&path).is_ok_and(|content| digest_of(&content) == digest) {
                return Ok(path);
            }
        }
        let help = "check the URL and the network, or save the file in the script's folder and import it by its path";
        let content = download(url).map_err(|problem| (format!("cannot download {url}: {problem}"), help.to_owned()))?;
        self.store(url, &content)
    }
}

fn digest_of(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Code must not come over an unprotected network.
fn is_protected(url: &Url) -> bool {
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback)
}

fn download(url: &str) -> Result<Vec<u8>, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| text(&error))?;
    let mut url = Url::parse(url).map_err(|error| text(&error))?;
    runtime.block_on(async {
        for _ in 0..=REDIRECTS_MAX {
            if !is_protected(&url) {
                return Err(format!("{url} is not https"));
            }
            let target = HttpTarget::of(&url).map_err(|error| text(&error))?;
            let response = within(DOWNLOAD_MAX, target.send(target.request(Method::GET, ""))).await.map_err(|error| text(&error))?;
            let status = response.status();
            if status.is_redirection()
                && let Some(location) = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok())
            {
                url = url.join(location).map_err(|error| text(&error))?;
                continue;
            }
            if !status.is_success() {
                return Err(format!("the server responded with status {}", status.as_u16()));
            }
            let content = within(DOWNLOAD_MAX, response.into_body().bytes(MODULE_BYTES_MAX)).await.map_err(|error| text(&error))?;
            return Ok(content.to_vec());
        }
        Err(format!("more than {REDIRECTS_MAX} redirects"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comes_over_https_or_from_this_machine() {
        for (url, allowed) in [
            ("https://a.test/x.js", true),
            ("http://127.0.0.1:1/x.js", true),
            ("http://localhost/x.js", true),
            ("http://a.test/x.js", false),
        ] {
            assert_eq!(is_protected(&Url::parse(url).unwrap()), allowed, "{url}");
        }
    }

    #[test]
    fn content_is_pinned_by_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script.js");
        std::fs::write(&script, "").unwrap();
        let open = || RemoteImports { cache: folder.path().join("cache"), ..RemoteImports::of_script(&script).unwrap() };
        let url = "https://nowhere.invalid/lib.js";
        let path = open().store(url, b"export const a = 1;").unwrap();
        assert_eq!(open().file(url).unwrap(), path, "the pinned file needs no network");
        let (message, help) = open().store(url, b"export const a = 2;").unwrap_err();
        assert!(message.contains("has changed") && help.contains(PIN_FILE), "{message} {help}");
        std::fs::write(&path, "damaged").unwrap();
        assert!(open().file(url).unwrap_err().0.contains("cannot download"));
    }
}
