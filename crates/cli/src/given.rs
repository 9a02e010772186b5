//! What people give in the place of a test, a URL or an address, and what they probably meant.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use url::Url;

use crate::exit::UsageError;

/// Most tests of a folder that are named.
const NAMED_MAX: usize = 3;

/// Whether a test may be there. A file that is missing or wrong is told when it is read, with more words than here.
///
/// # Errors
/// Where a URL, a host or a folder was given: what to give instead.
pub(crate) fn check_test(given: &Path) -> Result<(), UsageError> {
    let shown = given.display().to_string();
    if shown.contains("://") {
        return Err(UsageError(format!(
            "{shown} is a URL, and this command takes a test (*.load.ts): `loadstone run {shown}` makes load on a URL without one"
        )));
    }
    if given.is_dir() {
        return Err(UsageError(folder(given, &shown)));
    }
    if !given.exists() && is_host_and_port(&shown) {
        return Err(UsageError(format!("there is no file {shown}; if it is a URL, begin it with its scheme: http://{shown}")));
    }
    Ok(())
}

fn folder(given: &Path, shown: &str) -> String {
    let entries = std::fs::read_dir(given).into_iter().flatten().flatten();
    let mut tests: Vec<String> = entries
        .map(|entry| entry.path().display().to_string())
        .filter(|path| path.ends_with(".load.ts") || path.ends_with(".load.js"))
        .collect();
    tests.sort();
    match tests.len() {
        0 => format!("{shown} is a folder without tests (*.load.ts): `loadstone init {shown}` writes a first one"),
        1 => format!("{shown} is a folder: give the test in it, {}", tests[0]),
        count => {
            let more = if count > NAMED_MAX { ", …" } else { "" };
            format!(
                "{shown} is a folder: give one of its tests: {}{more}; `loadstone ui {shown}` shows all",
                tests[..count.min(NAMED_MAX)].join(", ")
            )
        }
    }
}

/// `localhost:8080/products`, `shop.test:80`: as browsers take it.
fn is_host_and_port(shown: &str) -> bool {
    let authority = shown.split('/').next().unwrap_or_default();
    authority.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// A URL of HTTP. `what`: the flag that it was given with, or nothing.
///
/// # Errors
/// What is wrong, and how a URL begins.
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

/// Files that are written after the load: a folder that is missing is told before it. `runs`: the folder of runs, which the load makes.
///
/// # Errors
/// The first flag whose file has no folder.
pub(crate) fn check_files(runs: &Path, files: &[(&str, Option<&Path>)]) -> Result<(), UsageError> {
    for (flag, file) in files.iter().filter_map(|(flag, file)| file.map(|file| (flag, file))) {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() && folder != runs {
            return Err(UsageError(format!("{flag}: there is no folder {}: make it first, or name a file elsewhere", folder.display())));
        }
        if file.is_dir() {
            return Err(UsageError(format!("{flag}: {} is a folder: name a file", file.display())));
        }
    }
    Ok(())
}

/// Where to listen: an address and a port, or a port of this machine's loopback.
///
/// # Errors
/// The forms that are understood.
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
    fn hosts_are_told_from_files() {
        for host in ["localhost:8080", "127.0.0.1:8080/products", "shop.test:80"] {
            assert!(is_host_and_port(host), "{host}");
        }
        for file in ["shop.load.ts", "tests/shop.load.ts", "a:b.load.ts", ":8080", ""] {
            assert!(!is_host_and_port(file), "{file}");
        }
    }

    #[test]
    fn a_port_alone_is_one_of_loopback() {
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
    fn a_url_says_how_it_begins() {
        for wrong in ["shop", "localhost:8080", "127.0.0.1:8080"] {
            let said = url("--target", wrong).unwrap_err().0;
            assert!(said.contains("--target") && said.contains("http://"), "{said}");
        }
        assert!(url("", "http://127.0.0.1:8080/").is_ok());
    }
}
