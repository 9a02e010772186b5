//! The sources of `k6/secrets`, as k6's flag `--secret-source` describes them: `file` and `mock`.

use std::collections::BTreeMap;

use loadstone_script::read_regular;
use serde::{Deserialize, Serialize};

/// The name of a source without one.
const UNNAMED: &str = "default";

/// Secrets by key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretSource {
    pub(crate) name: String,
    /// `secrets.get` reads it without a name.
    pub(crate) is_default: bool,
    pub(crate) values: BTreeMap<String, String>,
}

impl std::fmt::Debug for SecretSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretSource").field("name", &self.name).field("keys", &self.values.keys()).finish_non_exhaustive()
    }
}

/// Reads the values of `--secret-source`: `file=PATH`, `file=filename=PATH,name=NAME,default`, `mock=KEY=VALUE,KEY=VALUE`.
///
/// # Errors
/// A source of another kind, a file that cannot be read, or two sources of the same name.
pub fn secret_sources(written: &[String]) -> Result<Vec<SecretSource>, String> {
    let mut sources = Vec::<SecretSource>::new();
    for text in written {
        let source = source(text)?;
        if sources.iter().any(|known| known.name == source.name) {
            return Err(format!("two sources have the name \"{}\": add name=NAME to one of them", source.name));
        }
        sources.push(source);
    }
    if let [only] = &mut sources[..] {
        only.is_default = true;
    }
    Ok(sources)
}

fn source(text: &str) -> Result<SecretSource, String> {
    let help = "write file=PATH or mock=KEY=VALUE,KEY=VALUE";
    let (kind, rest) = text.split_once('=').ok_or_else(|| format!("\"{text}\" has no configuration: {help}"))?;
    let mut source = SecretSource { name: UNNAMED.to_owned(), is_default: false, values: BTreeMap::new() };
    let mut file = None;
    for part in rest.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match (kind, part.split_once('=')) {
            (_, None) if part == "default" => source.is_default = true,
            (_, Some(("name", name))) => name.clone_into(&mut source.name),
            ("file", None) => file = Some(part),
            ("file", Some(("filename", path))) => file = Some(path),
            ("mock", Some((key, value))) => _ = source.values.insert(key.to_owned(), value.trim_matches('"').to_owned()),
            ("file" | "mock", _) => return Err(format!("\"{part}\" of the source {kind} is unknown: {help}")),
            _ => return Err(format!("there is no source of the kind \"{kind}\": {help}")),
        }
    }
    match (kind, file) {
        ("file", Some(path)) => {
            let bytes = read_regular(std::path::Path::new(path)).map_err(|error| format!("{path}: {error}"))?;
            source.values = lines(&String::from_utf8_lossy(&bytes)).map_err(|line| format!("{path}:{line}: write KEY=VALUE"))?;
        }
        ("file", None) => return Err(format!("the source file has no path: {help}")),
        ("mock", _) => {}
        _ => return Err(format!("there is no source of the kind \"{kind}\": {help}")),
    }
    Ok(source)
}

/// `KEY=VALUE` on each line. The error is the number of a line without it.
fn lines(text: &str) -> Result<BTreeMap<String, String>, usize> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(at, line)| line.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or(at + 1)).collect()
}

/// The value of a key, or why there is none, in k6's words.
pub(crate) fn value_of<'s>(sources: &'s [SecretSource], source: Option<&str>, key: &str) -> Result<&'s str, String> {
    let chosen = match source {
        _ if sources.is_empty() => return Err("no secret sources are configured: add --secret-source".to_owned()),
        Some(name) => {
            sources.iter().find(|known| known.name == name).ok_or_else(|| format!("no secret source with name \"{name}\" is configured"))?
        }
        None => sources.iter().find(|known| known.is_default).ok_or("no default secret source is configured")?,
    };
    chosen.values.get(key).map(String::as_str).ok_or_else(|| format!("no value for the secret \"{key}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: &[&str]) -> Result<Vec<SecretSource>, String> {
        secret_sources(&written.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn sources_are_read_as_k6_writes_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.secret");
        std::fs::write(&path, "key=a=b\n\nother=c\n").unwrap();
        let file = format!("file={}", path.display());
        let sources = read(&[&file]).unwrap();
        assert_eq!((value_of(&sources, None, "key"), value_of(&sources, None, "other")), (Ok("a=b"), Ok("c")));
        assert!(value_of(&sources, None, "none").unwrap_err().contains("\"none\""));
        let named = format!("file=filename={},name=disk,default", path.display());
        let both = read(&["mock=cool=\"a word\",name=made", &named]).unwrap();
        assert_eq!((value_of(&both, Some("made"), "cool"), value_of(&both, None, "key")), (Ok("a word"), Ok("a=b")));
        assert!(value_of(&both, Some("none"), "x").is_err() && value_of(&[], None, "x").unwrap_err().contains("--secret-source"));
        assert!(!format!("{both:?}").contains("a word"));
    }

    #[test]
    fn wrong_sources_are_refused() {
        for (written, part) in [
            (vec!["vault=x"], "vault"),
            (vec!["file"], "no configuration"),
            (vec!["file="], "no path"),
            (vec!["file=/nonexistent/keys"], "/nonexistent/keys"),
            (vec!["mock=word"], "word"),
            (vec!["mock=a=1", "mock=b=2"], "two sources"),
        ] {
            let problem = read(&written).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
        assert_eq!(lines("a=1\nb"), Err(2));
    }
}
