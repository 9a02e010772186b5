//! No line is wider than an editor window next to a diff.

/// Columns, counted in characters.
const COLUMNS_MAX: usize = 160;
const EXTENSIONS: &[&str] = &["rs", "ts", "svelte", "md"];

/// A complaint for each line that is too wide. Rows of Markdown tables and addresses cannot be broken.
pub(super) fn too_wide(extension: &str, text: &str) -> Vec<String> {
    if !EXTENSIONS.contains(&extension) {
        return Vec::new();
    }
    let is_table = |line: &str| extension == "md" && line.trim_start().starts_with('|');
    let columns = |line: &str| if extension == "md" { without_addresses(line) } else { line.chars().count() };
    let lines = (1..).zip(text.lines()).filter(|(_, line)| line.len() > COLUMNS_MAX && !is_table(line));
    let wide = lines.map(|(number, line)| (number, columns(line))).filter(|(_, columns)| *columns > COLUMNS_MAX);
    wide.map(|(number, columns)| format!(":{number}: {columns} columns (at most {COLUMNS_MAX})")).collect()
}

fn without_addresses(line: &str) -> usize {
    let addresses: usize = line.split(char::is_whitespace).filter(|word| word.contains("://")).map(|word| word.chars().count()).sum();
    line.chars().count() - addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters_and_not_bytes() {
        assert!(too_wide("rs", &"µ".repeat(160)).is_empty());
        assert_eq!(too_wide("rs", &format!("\n{}", "µ".repeat(161))), [":2: 161 columns (at most 160)"]);
        assert!(too_wide("json", &"a".repeat(500)).is_empty());
    }

    #[test]
    fn tables_and_addresses_may_be_wide_in_markdown_only() {
        let row = format!("| {} |", "a".repeat(200));
        assert!(too_wide("md", &row).is_empty() && !too_wide("rs", &row).is_empty());
        let link = format!("see https://example.com/{}", "a".repeat(200));
        assert!(too_wide("md", &link).is_empty() && !too_wide("ts", &link).is_empty());
        assert_eq!(too_wide("md", &"a ".repeat(90)).len(), 1);
    }
}
