//! Relative imports of TypeScript, JavaScript and Svelte files.
//!
//! Read line by line, without a parser: formatters put `from "./x"` and `import("./x")` on one line.

use std::collections::BTreeSet;

/// The endings that a relative import may omit.
const ENDINGS: &[&str] = &["", ".ts", ".svelte", ".js", ".mjs", "/index.ts"];

/// The files that a file imports; `exists` returns whether there is such a file. Paths are relative to the workspace.
pub(crate) fn of(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let targets = text.lines().flat_map(specifiers).map(|specifier| joined(folder, specifier));
    targets.filter_map(|target| ENDINGS.iter().map(|ending| format!("{target}{ending}")).find(|file| exists(file))).collect()
}

/// Strings after `from`, `import` or `import(` that begin with a dot.
fn specifiers(line: &str) -> impl Iterator<Item = &str> {
    let is_comment = line.trim_start().starts_with("//") || line.trim_start().starts_with('*');
    let starts = line.match_indices(['"', '\'']).filter(move |_| !is_comment);
    starts.filter_map(|(at, quote)| {
        let before = line[..at].trim_end();
        let before = before.strip_suffix('(').map_or(before, str::trim_end);
        let imports =
            ["from", "import"].iter().any(|word| before.strip_suffix(word).is_some_and(|rest| !rest.ends_with(char::is_alphanumeric)));
        let (specifier, _) = line[at + 1..].split_once(quote)?;
        (imports && specifier.starts_with('.')).then_some(specifier)
    })
}

/// `web/src/data` and `../view` → `web/src/view`.
fn joined(folder: &str, specifier: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in specifier.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(text: &str) -> Vec<String> {
        let files = [
            "web/src/view.ts",
            "web/src/state/screen.svelte.ts",
            "web/src/feed/live.ts",
            "web/src/sections/Icon.svelte",
            "web/src/data/index.ts",
        ];
        of("web/src/feed/feed.ts", text, |file| files.contains(&file)).into_iter().collect()
    }

    #[test]
    fn imports_are_found_in_every_form() {
        assert_eq!(imported("import { mount } from \"svelte\";\nimport type { View } from \"../view\";"), ["web/src/view.ts"]);
        assert_eq!(
            imported("import {\n  follow,\n} from './live';\nexport * from \"../view.ts\";"),
            ["web/src/feed/live.ts", "web/src/view.ts"]
        );
        assert_eq!(imported("const later = await import(\"./live\"); type V = import(\"../view\").View;").len(), 2);
        assert_eq!(imported("import { screen } from \"../state/screen.svelte\";"), ["web/src/state/screen.svelte.ts"]);
        assert_eq!(imported("import Icon from \"../sections/Icon.svelte\";\nimport \"../data\";").len(), 2);
    }

    #[test]
    fn what_is_not_an_import_is_passed_by() {
        assert!(imported("// import x from \"./live\"\nconst from = \"./live\";\nread(\"../view\");\nfetch(\"./live\");").is_empty());
    }
}
