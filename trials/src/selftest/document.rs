//! The table's place in docs/validity.md.

use std::fs;

use anyhow::{Context, Result};
use checkout::Workspace;

const FILE: &str = "docs/validity.md";
const BEGIN: &str = "<!-- written by cargo xtask selftest --write -->";
const END: &str = "<!-- end of what is written -->";

pub(super) fn write(workspace: &Workspace, table: &str) -> Result<()> {
    let file = workspace.root.join(FILE);
    let text = fs::read_to_string(&file).with_context(|| format!("reading {FILE}"))?;
    fs::write(&file, with_table(&text, table)?).with_context(|| format!("writing {FILE}"))
}

fn with_table(text: &str, table: &str) -> Result<String> {
    let missing = || format!("{FILE} has no {BEGIN} … {END}");
    let (before, rest) = text.split_once(BEGIN).with_context(missing)?;
    let (_, after) = rest.split_once(END).with_context(missing)?;
    Ok(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", table.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_place_for_the_table_and_nothing_else_is_replaced() {
        let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/validity.md")).unwrap();
        let written = with_table(&page, "| new |\n").unwrap();
        assert!(written.contains(&format!("{BEGIN}\n\n| new |\n\n{END}")) && written.starts_with(page.split_once(BEGIN).unwrap().0));
        assert!(with_table("# Validity", "").is_err());
    }
}
