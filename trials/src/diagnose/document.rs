//! The tables' place in bench/results/diagnosis.md.

use std::fs;

use anyhow::{Context, Result};
use checkout::Workspace;

const FILE: &str = "bench/results/diagnosis.md";
const BEGIN: &str = "<!-- written by cargo xtask diagnose --write -->";
const END: &str = "<!-- end of what is written -->";

pub(super) fn write(workspace: &Workspace, tables: &str) -> Result<()> {
    let file = workspace.root.join(FILE);
    let text = fs::read_to_string(&file).with_context(|| format!("reading {FILE}"))?;
    let machine = checkout::machine::facts()?;
    let text = with_tables(&text, &format!("{machine}\n\n{tables}"))?;
    fs::write(&file, text).with_context(|| format!("writing {FILE}"))
}

fn with_tables(text: &str, tables: &str) -> Result<String> {
    let missing = || format!("{FILE} has no {BEGIN} … {END}");
    let (before, rest) = text.split_once(BEGIN).with_context(missing)?;
    let (_, after) = rest.split_once(END).with_context(missing)?;
    Ok(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", tables.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        let page = format!("# Findings\n{BEGIN}\nold\n{END}\n## Next\n");
        let written = with_tables(&page, "| new |\n").unwrap();
        assert_eq!(written, format!("# Findings\n{BEGIN}\n\n| new |\n\n{END}\n## Next\n"));
        assert_eq!(with_tables(&written, "| new |").unwrap(), written);
        assert!(with_tables("# Findings", "").is_err());
    }

    #[test]
    fn the_page_has_the_marks() {
        let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/results/diagnosis.md")).unwrap();
        assert!(with_tables(&page, "").is_ok());
    }
}
