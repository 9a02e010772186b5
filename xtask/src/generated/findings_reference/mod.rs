//! docs/findings.md and the pages in docs/findings/, from the files of the rules in crates/analysis/src/findings.
//!
//! A rule's page is its example and the documentation of its module, with the values of constants (see `constants`); the overview is a table of the `RULE`
//! values. Read [`RuleFile`].

mod constants;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use syn::{Expr, ExprLit, ExprStruct, Item, Lit, Member};

use constants::{RuleConstants, stem};

const RULES: &str = "crates/analysis/src/findings";
pub(super) const OVERVIEW: &str = "docs/findings.md";
pub(super) const PAGES: &str = "docs/findings/";
pub(super) const GALLERY: &str = "docs/gallery.md";
/// What the page draws for the example of each rule: `npm run gallery` in `web/` writes them, and a test there compares them with the page.
const PICTURES: &str = "docs/images/findings";

const GALLERY_INTRODUCTION: &str = "# Gallery: what each finding looks like\n\n\
    Written by `cargo xtask gen`. Each picture is what the report draws for a recorded run; `npm run gallery` in `web/` redraws them. \
    [Findings](findings.md) lists the rules. A page for your terminal:\n\n\
    ```sh\n\
    loadstone explain effective-concurrency\n\
    ```\n";

const INTRODUCTION: &str = "# Findings: what limits the system\n\n\
    Written by `cargo xtask gen` from the rules in crates/analysis/src/findings; edit the text there. [How findings work](how-findings-work.md) explains \
    ranking, confidence and what \"cannot tell\" means.\n\n\
    ```sh\n\
    loadstone show RUN          # the findings of a run, with their evidence\n\
    loadstone explain cpu       # the page of a rule, without a network\n\
    ```\n\n\
    The [gallery](gallery.md) shows one picture of each.\n";

const WHEN_WORK_WAITS: &str = include_str!("when_work_waits.md");

/// What a rule's file declares.
struct RuleFile {
    /// Identifiers of its findings.
    ids: Vec<String>,
    /// The name of its page, without `.md`.
    page: String,
    title: String,
    says: String,
    needs: Vec<String>,
    /// A claim that the rule reports; a test of the analysis verifies it.
    example: String,
    /// The module's documentation, as Markdown.
    documentation: String,
    /// Whether its example has a picture.
    has_picture: bool,
}

/// Every document by its path relative to the workspace.
pub(super) fn documents(workspace: &Workspace) -> Result<BTreeMap<String, String>> {
    let mut pages: BTreeMap<String, RuleFile> = BTreeMap::new();
    let mut constants = RuleConstants::read(&workspace.root)?;
    let mut files: Vec<_> = fs::read_dir(workspace.root.join(RULES))?.collect::<Result<Vec<_>, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    for file in files.into_iter().map(|file| file.path()).filter(|file| file.file_name().is_some_and(|name| name != "mod.rs")) {
        let mut rule = read(&file, &mut constants).with_context(|| format!("reading the rule in {}", file.display()))?;
        let name = rule.page.clone();
        rule.has_picture = workspace.root.join(PICTURES).join(format!("{name}.svg")).is_file();
        if pages.insert(name.clone(), rule).is_some() {
            bail!("{}: another rule has the page {name}, too", file.display());
        }
    }
    let mut documents: BTreeMap<String, String> = pages.iter().map(|(name, rule)| (format!("{PAGES}{name}.md"), page(rule))).collect();
    documents.insert(OVERVIEW.to_owned(), overview(&pages));
    documents.insert(GALLERY.to_owned(), gallery(&pages));
    Ok(documents)
}

fn read(file: &Path, constants: &mut RuleConstants) -> Result<RuleFile> {
    let (name, source) = (stem(file), fs::read_to_string(file)?);
    let mut rule = parse(&source)?;
    constants.add(&name, &source)?;
    rule.documentation = constants.interpolate(&name, &rule.documentation)?;
    Ok(rule)
}

fn parse(source: &str) -> Result<RuleFile> {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let documentation = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
    for item in syn::parse_file(source)?.items {
        if let Item::Const(item) = item
            && item.ident == "RULE"
            && let Expr::Struct(value) = *item.expr
        {
            let all = |name: &str| field(&value, name).map(strings).unwrap_or_default();
            let one = |name: &str| all(name).into_iter().next().with_context(|| format!("RULE has no {name}"));
            let ids = all("ids");
            if ids.is_empty() {
                bail!("RULE has no ids");
            }
            let example = match field(&value, "example") {
                Some(Expr::Struct(example)) => field(example, "claim").map(strings).unwrap_or_default().into_iter().next(),
                _ => None,
            };
            let example = example.context("RULE has no example with a claim")?;
            let page = one("page")?;
            return Ok(RuleFile {
                ids,
                page,
                title: one("title")?,
                says: one("says")?,
                needs: all("needs"),
                example,
                documentation,
                has_picture: false,
            });
        }
    }
    bail!("there is no constant RULE")
}

fn field<'a>(value: &'a ExprStruct, name: &str) -> Option<&'a Expr> {
    let is_it = |member: &Member| matches!(member, Member::Named(ident) if ident == name);
    value.fields.iter().find(|field| is_it(&field.member)).map(|field| &field.expr)
}

/// The string literals of a literal, or of a reference to an array of them.
fn strings(expression: &Expr) -> Vec<String> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => vec![text.value()],
        Expr::Reference(reference) => strings(&reference.expr),
        Expr::Array(array) => array.elems.iter().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

fn page(rule: &RuleFile) -> String {
    let (summary, rest) = rule.documentation.split_once("\n\n").unwrap_or((&rule.documentation, ""));
    let (head, example) = (format!("Rule {}. {}.", in_code(&rule.ids), needs(&rule.needs)), format!("> {}", rule.example));
    let picture = if rule.has_picture { picture(rule, "../") } else { String::new() };
    let parts = [&head, summary, &example, &picture, rest].into_iter().filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join("\n\n");
    format!("# {}\n\nWritten by `cargo xtask gen`; [all findings](../findings.md).\n\n{text}\n", rule.title)
}

fn overview(pages: &BTreeMap<String, RuleFile>) -> String {
    let mut text = format!("{INTRODUCTION}\n| rule | reports | needs |\n|---|---|---|\n");
    for (name, rule) in pages {
        let _ = writeln!(text, "| [{}](findings/{name}.md) | {} | {} |", in_code(&rule.ids), rule.says, observers(&rule.needs));
    }
    format!("{text}\n## When work waits\n\n{WHEN_WORK_WAITS}")
}

/// The picture of the example, for a document whose path to docs/ is `docs`.
fn picture(rule: &RuleFile, docs: &str) -> String {
    format!("![{}: what the report draws]({docs}images/findings/{}.svg)", rule.title, rule.page)
}

/// Every rule that has a picture: its title, its claim and the picture.
fn gallery(pages: &BTreeMap<String, RuleFile>) -> String {
    let mut text = GALLERY_INTRODUCTION.to_owned();
    for (name, rule) in pages.iter().filter(|(_, rule)| rule.has_picture) {
        let _ = write!(text, "\n## [{}](findings/{name}.md)\n\n> {}\n\n{}\n", rule.title, rule.example, picture(rule, ""));
    }
    text
}

fn in_code(ids: &[String]) -> String {
    ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

fn observers(names: &[String]) -> String {
    if names.is_empty() {
        "the load alone".to_owned()
    } else {
        names.iter().map(|name| format!("`observe.{name}`")).collect::<Vec<_>>().join(", ")
    }
}

fn needs(names: &[String]) -> String {
    if names.is_empty() {
        "It needs no observer".to_owned()
    } else {
        format!("It needs {} or an observer with the same signals", observers(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "//! Short.\n//!\n//! Long `text`.\n\nuse a::B;\n\npub(super) const RULE: Rule = Rule {\n    ids: &[\"one\", \"two\"],\n    \
                        page: \"one\",\n    \
                        title: \"Title\",\n    says: \"what it reports\",\n    example: Example { run: \"corpus/a\", claim: \"It \\\n        is.\" \
                        },\n    needs: &[\"redis\"],\n};\n";

    #[test]
    fn a_rules_file_is_its_page() {
        let rule = parse(RULE).unwrap();
        let page = page(&rule);
        assert!(page.starts_with("# Title\n") && page.contains("Rule `one`, `two`. It needs `observe.redis`"), "{page}");
        assert!(page.ends_with("\nShort.\n\n> It is.\n\nLong `text`.\n"), "{page}");
    }

    #[test]
    fn a_picture_is_in_the_page_and_in_the_gallery() {
        let rule = RuleFile { has_picture: true, ..parse(RULE).unwrap() };
        assert!(page(&rule).contains("> It is.\n\n![Title: what the report draws](../images/findings/one.svg)\n\nLong"), "{}", page(&rule));
        let pages = BTreeMap::from([("one".to_owned(), rule), ("two".to_owned(), parse(RULE).unwrap())]);
        assert!(
            gallery(&pages)
                .ends_with("\n## [Title](findings/one.md)\n\n> It is.\n\n![Title: what the report draws](images/findings/one.svg)\n")
        );
    }

    #[test]
    fn a_file_without_a_rule_is_an_error() {
        assert_eq!(parse("//! Doc.\nfn find() {}\n").err().unwrap().to_string(), "there is no constant RULE");
    }
}
