//! Checks a test, URL or address argument, and suggests what the user probably meant.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use loadstone_units::text::without_os_numbers;
use url::Url;

use crate::exit::UsageError;

/// Maximum number of tests to list from a folder.
const LISTED_TESTS_MAX: usize = 3;

/// Checks whether the argument can be a test. An invalid file is reported when it is read, in more detail.
///
/// # Errors
/// The argument is a URL, a host, a folder or no file. The error suggests what to use instead.
pub(crate) fn check_test(given: &Path) -> Result<(), UsageError> {
    let shown = given.display().to_string();
    if shown.contains("://") {
        return Err(UsageError(format!(
            "{shown} is a URL, and this command takes a test (*.load.ts): `loadstone run {shown}` generates load on a URL without a test"
        )));
    }
    if given.is_dir() {
        return Err(UsageError(folder(given, &shown)));
    }
    if !given.exists() && is_host_and_port(&shown) {
        return Err(UsageError(format!("there is no file {shown}; if it is a URL, add its scheme: http://{shown}")));
    }
    if given.try_exists().is_ok_and(|exists| !exists) {
        return Err(UsageError(missing_test(given, &shown)));
    }
    Ok(())
}

fn missing_test(given: &Path, shown: &str) -> String {
    let folder = folder_of(given);
    let tests: Vec<String> = files_in(folder).into_iter().filter(|name| is_test(name)).collect();
    if !folder.is_dir() {
        return missing_file(given);
    }
    if let Some(similar) = similar_in(&tests, given).or_else(|| similar_of_its_kind(given)).or_else(|| similar_k6_script(given)) {
        return there_is_no_file(given, Some(&similar));
    }
    let problem = there_is_no_file(given, None);
    match tests.len() {
        0 => format!("{problem}, and no test (*.load.ts) in its folder: check the path; `loadstone init` creates a first test"),
        count => {
            let more = if count > LISTED_TESTS_MAX { ", …" } else { "" };
            format!("{problem}; the tests in {} are {}{more}", place(folder, shown), tests[..count.min(LISTED_TESTS_MAX)].join(", "))
        }
    }
}

fn place(folder: &Path, shown: &str) -> String {
    if shown.contains('/') { folder.display().to_string() } else { "this folder".to_owned() }
}

/// Why a file that the user named cannot be read, and what to do.
pub(crate) fn cannot_read(path: &Path, error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => missing_file(path),
        ErrorKind::IsADirectory => format!("{} is a folder: name a file", path.display()),
        _ => format!("cannot read {}: {}", path.display(), without_os_numbers(&error.to_string())),
    }
}

/// Names what is missing: the file, with a similar one in its folder, or the folder.
fn missing_file(path: &Path) -> String {
    let folder = folder_of(path);
    if !folder.is_dir() {
        return format!("there is no folder {}: check the path {}", folder.display(), path.display());
    }
    there_is_no_file(path, similar_of_its_kind(path).as_deref())
}

/// The most similar name among the files with the same extension.
fn similar_of_its_kind(path: &Path) -> Option<String> {
    let extension = |name: &str| name.split_once('.').map(|(_, rest)| rest.to_owned());
    let own = path.file_name().and_then(|name| extension(&name.to_string_lossy()));
    let alike: Vec<String> = files_in(folder_of(path)).into_iter().filter(|name| extension(name) == own).collect();
    similar_in(&alike, path)
}

/// The k6 script with the most similar name.
fn similar_k6_script(path: &Path) -> Option<String> {
    let folder = folder_of(path);
    let scripts = files_in(folder).into_iter().filter(|name| [".js", ".ts", ".mjs"].iter().any(|end| name.ends_with(end)));
    let scripts: Vec<String> = scripts.filter(|name| loadstone_k6::is_k6_script(&folder.join(name))).collect();
    similar_in(&scripts, path)
}

fn there_is_no_file(path: &Path, similar: Option<&str>) -> String {
    let hint = similar.map(|name| format!(" (did you mean `{}`?)", path.with_file_name(name).display())).unwrap_or_default();
    format!("there is no file {}{hint}", path.display())
}

/// The file whose name before the extension is most similar.
fn similar_in(names: &[String], path: &Path) -> Option<String> {
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let stems: Vec<String> = names.iter().map(|name| stem(name)).collect();
    let written = stem(&path.file_name()?.to_string_lossy());
    let found = loadstone_units::nearest(&written, &stems.iter().map(String::as_str).collect::<Vec<_>>())?.to_owned();
    names.iter().find(|name| stem(name) == found).cloned()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Names of the files of a folder, sorted.
fn files_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter(|entry| entry.path().is_file()).filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn is_test(name: &str) -> bool {
    name.ends_with(".load.ts") || name.ends_with(".load.js")
}

fn folder(given: &Path, shown: &str) -> String {
    let tests: Vec<String> =
        files_in(given).into_iter().filter(|name| is_test(name)).map(|name| given.join(name).display().to_string()).collect();
    match tests.len() {
        0 => format!("{shown} is a folder without tests (*.load.ts): `loadstone init {shown}` creates one"),
        1 => format!("{shown} is a folder: give the test in it, {}", tests[0]),
        count => {
            let more = if count > LISTED_TESTS_MAX { ", …" } else { "" };
            format!(
                "{shown} is a folder: give one of its tests: {}{more}; `loadstone ui {shown}` shows all",
                tests[..count.min(LISTED_TESTS_MAX)].join(", ")
            )
        }
    }
}

/// Whether it looks like `localhost:8080/products` or `shop.test:80`, which browsers accept.
fn is_host_and_port(shown: &str) -> bool {
    let authority = shown.split('/').next().unwrap_or_default();
    authority.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// Parses an HTTP URL. `what`: the flag that it belongs to, or empty.
///
/// # Errors
/// What is wrong, and how a URL starts.
pub(crate) fn url(what: &str, text: &str) -> Result<Url, UsageError> {
    let flag = if what.is_empty() { String::new() } else { format!("{what}: ") };
    match Url::parse(text) {
        Ok(url) if url.has_host() => Ok(url),
        Ok(_) | Err(url::ParseError::RelativeUrlWithoutBase) => {
            Err(UsageError(format!("{flag}\"{text}\" is not a URL: it begins with http:// or https:// and a host")))
        }
        Err(problem) => Err(UsageError(format!("{flag}\"{text}\" is not a URL: {problem}"))),
    }
}

/// Checks the paths of files that are written after the load, so that a missing folder is reported before it. `runs`: the folder of runs, which the load
/// creates.
///
/// # Errors
/// The first flag whose file has no parent folder.
pub(crate) fn check_files(runs: &Path, files: &[(&str, Option<&Path>)]) -> Result<(), UsageError> {
    for (flag, file) in files.iter().filter_map(|(flag, file)| file.map(|file| (flag, file))) {
        let folder = folder_of(file);
        if !folder.is_dir() && folder != runs {
            return Err(UsageError(format!("{flag}: there is no folder {}: create it, or choose a different path", folder.display())));
        }
        if file.is_dir() {
            return Err(UsageError(format!("{flag}: {} is a folder: name a file", file.display())));
        }
    }
    Ok(())
}

/// A listen address: an address and a port, or a port on loopback.
///
/// # Errors
/// The valid forms.
pub(crate) fn listen(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    if let Ok(port) = port.parse::<u16>() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse().map_err(|_| "write an address and a port, such as 127.0.0.1:8080, or a port alone (0 to 65535)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_files_are_distinguished() {
        for host in ["localhost:8080", "127.0.0.1:8080/products", "shop.test:80"] {
            assert!(is_host_and_port(host), "{host}");
        }
        for file in ["shop.load.ts", "tests/shop.load.ts", "a:b.load.ts", ":8080", ""] {
            assert!(!is_host_and_port(file), "{file}");
        }
    }

    #[test]
    fn a_port_alone_means_loopback() {
        for text in ["8080", "localhost:8080", ":8080", "127.0.0.1:8080"] {
            assert_eq!(listen(text).unwrap().to_string(), "127.0.0.1:8080", "{text}");
        }
        assert_eq!(listen("0.0.0.0:7580").unwrap().to_string(), "0.0.0.0:7580");
        assert_eq!(listen("[::1]:80").unwrap().to_string(), "[::1]:80");
        for wrong in ["99999", "shop.test:80", "", "127.0.0.1"] {
            assert!(listen(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_invalid_url_error_names_the_scheme() {
        for wrong in ["shop", "localhost:8080", "127.0.0.1:8080"] {
            let message = url("--target", wrong).unwrap_err().0;
            assert!(message.contains("--target") && message.contains("http://"), "{message}");
        }
        assert!(url("", "http://127.0.0.1:8080/").is_ok());
    }

    #[test]
    fn a_missing_script_suggests_a_k6_script_of_any_extension() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("shop.js"), "export default function () {}").unwrap();
        std::fs::write(folder.path().join("shopper.js"), "module.exports = 1").unwrap();
        for written in ["shop.jss", "shpo.ts"] {
            let message = check_test(&folder.path().join(written)).unwrap_err().0;
            assert!(message.contains("did you mean") && message.contains("/shop.js`"), "{message}");
        }
        let message = check_test(&folder.path().join("other.jss")).unwrap_err().0;
        assert!(!message.contains("did you mean"), "{message}");
    }
}
