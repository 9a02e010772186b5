//! Writes docs/script.md from the documentation comments of types/loadstone.d.ts.
//!
//! Read [`page`]: text in, text out. The parser knows the shape of that one file (sections opened by `// # Title`, declarations
//! with a comment before them) and rejects what it does not know, so that nothing is left out of the reference in silence.
//! Declarations marked `@unreleased` are left out on purpose.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::command_reference::write_or_compare;
use crate::workspace::Workspace;

/// What is read.
const SOURCE: &str = "types/loadstone.d.ts";
/// What is written.
const PAGE: &str = "docs/script.md";

const INTRODUCTION: &str = "# Script reference\n\n\
    Written by `cargo xtask gen` from the comments in types/loadstone.d.ts; edit the text there. The [guide](guide.md) shows how the parts \
    work together.\n";

pub(crate) fn generate(workspace: &Workspace, check: bool) -> Result<()> {
    let source = fs::read_to_string(workspace.root.join(SOURCE)).with_context(|| format!("reading {SOURCE}"))?;
    write_or_compare(workspace, PAGE, &page(&source)?, check)
}

/// The reference as Markdown.
fn page(source: &str) -> Result<String> {
    let sections = Parser::new(source).sections()?;
    let anchors = anchors(&sections);
    let mut page = INTRODUCTION.to_owned();
    page.push('\n');
    for section in &sections {
        writeln!(page, "- [{}](#{})", section.title, slug(&section.title))?;
    }
    for section in &sections {
        write!(page, "\n## {}\n", section.title)?;
        if !section.introduction.is_empty() {
            write!(page, "\n{}\n", linked(&section.introduction, &anchors))?;
        }
        for item in &section.items {
            write!(page, "\n{}", item_text(item, &anchors)?)?;
        }
    }
    Ok(page)
}

#[derive(Debug, Default)]
struct Section {
    title: String,
    introduction: String,
    items: Vec<Item>,
}

/// A declaration, or a member of one.
#[derive(Debug, Default)]
struct Item {
    name: String,
    comment: Comment,
    /// Several where it is overloaded.
    signatures: Vec<String>,
    members: Vec<Item>,
}

#[derive(Debug, Default, Clone)]
struct Comment {
    text: String,
    example: String,
    unreleased: bool,
}

struct Parser<'a> {
    lines: std::iter::Peekable<std::iter::Enumerate<std::str::Lines<'a>>>,
}

impl<'a> Parser<'a> {
    fn new(source: &'a str) -> Self {
        Self { lines: source.lines().enumerate().peekable() }
    }

    fn sections(mut self) -> Result<Vec<Section>> {
        let mut sections: Vec<Section> = Vec::new();
        let mut comment = None;
        while let Some((number, line)) = self.lines.next() {
            let line = line.trim();
            if let Some(title) = line.strip_prefix("// # ") {
                sections.push(Section { title: title.to_owned(), introduction: self.introduction(), items: Vec::new() });
            } else if line.starts_with("/**") {
                comment = Some(self.comment(line));
            } else if !(line.is_empty()
                || line.starts_with("//")
                || line == "}"
                || line == "export {};"
                || line.starts_with("declare module"))
            {
                let item = self.item(number, line, comment.take())?;
                let Some(section) = sections.last_mut() else { bail!("{SOURCE}:{}: outside any section", number + 1) };
                add(&mut section.items, item, number)?;
            }
        }
        Ok(sections)
    }

    /// The comment lines after a section's title.
    fn introduction(&mut self) -> String {
        let mut text = String::new();
        while let Some((_, line)) = self.lines.next_if(|(_, line)| line.trim_start().starts_with("//")) {
            text.push_str(line.trim().trim_start_matches('/').trim());
            text.push('\n');
        }
        text.trim().to_owned()
    }

    fn comment(&mut self, first: &str) -> Comment {
        let mut lines = Vec::new();
        let mut line = first.trim_start_matches("/**");
        loop {
            let (body, last) = line.strip_suffix("*/").map_or((line, false), |body| (body, true));
            // One space belongs to the comment; more is the indentation of an example.
            let body = body.trim_start().strip_prefix('*').map_or(body.trim(), |body| body.strip_prefix(' ').unwrap_or(body));
            lines.push(body.trim_end().to_owned());
            if last {
                break;
            }
            let Some((_, next)) = self.lines.next() else { break };
            line = next.trim();
        }
        let mut comment = Comment::default();
        let mut example = false;
        for line in lines {
            match line.trim() {
                "@example" => example = true,
                "@unreleased" => comment.unreleased = true,
                _ if example => comment.example += &(line + "\n"),
                _ => comment.text += &(line + "\n"),
            }
        }
        comment.text = comment.text.trim().to_owned();
        comment.example = comment.example.trim().to_owned();
        comment
    }

    /// A declaration that begins on `line`, with its members.
    fn item(&mut self, number: usize, line: &str, comment: Option<Comment>) -> Result<Item> {
        let mut text = line.to_owned();
        let bodied = is_bodied(line);
        if !bodied {
            while !is_complete(&text) {
                let Some((_, next)) = self.lines.next() else { bail!("{SOURCE}:{}: does not end", number + 1) };
                text.push('\n');
                text.push_str(next);
            }
        }
        let name = name_of(line);
        ensure!(!name.is_empty(), "{SOURCE}:{}: not a declaration: {line}", number + 1);
        let mut item = Item { name, comment: comment.unwrap_or_default(), signatures: vec![dedented(&text)], members: Vec::new() };
        if bodied {
            self.members(&mut item)?;
        }
        Ok(item)
    }

    fn members(&mut self, owner: &mut Item) -> Result<()> {
        let mut comment = None;
        loop {
            let Some((number, line)) = self.lines.next() else { bail!("{SOURCE}: {} does not end", owner.name) };
            let line = line.trim();
            match line {
                "}" | "};" => return Ok(()),
                "" => {}
                _ if line.starts_with("/**") => comment = Some(self.comment(line)),
                _ if line.starts_with("//") => {}
                _ => {
                    let member = self.item(number, line, comment.take())?;
                    add_member(&mut owner.members, member);
                }
            }
        }
    }
}

/// A further signature of the item before, or a new one, which must say what it is.
fn add(items: &mut Vec<Item>, item: Item, number: usize) -> Result<()> {
    if let Some(last) = items.last_mut()
        && item.comment.text.is_empty()
        && (last.name == item.name || item.signatures[0].contains(&format!(": {};", last.name)))
    {
        last.signatures.extend(item.signatures);
        return Ok(());
    }
    ensure!(!item.comment.text.is_empty(), "{SOURCE}:{}: {} has no documentation comment", number + 1, item.name);
    if !item.comment.unreleased {
        items.push(item);
    }
    Ok(())
}

fn add_member(members: &mut Vec<Item>, member: Item) {
    // Marks that keep types apart are no part of the interface.
    let brand = member.name == "[brand]";
    match members.last_mut() {
        Some(last) if last.name == member.name && member.comment.text.is_empty() => last.signatures.extend(member.signatures),
        _ if brand || member.comment.unreleased => {}
        _ => members.push(member),
    }
}

fn is_bodied(line: &str) -> bool {
    let plain = line.trim_start_matches("export ").trim_start_matches("declare ");
    (plain.starts_with("interface ") || plain.starts_with("class ")) && line.ends_with('{')
}

/// Whether brackets are closed and a semicolon ends the text. The arrow of a function type closes nothing.
fn is_complete(text: &str) -> bool {
    let open = text.chars().filter(|c| "({[".contains(*c)).count();
    let closed = text.chars().filter(|c| ")}]".contains(*c)).count();
    open == closed && text.trim_end().ends_with(';')
}

fn name_of(line: &str) -> String {
    let mut rest = line;
    for word in ["export ", "declare ", "static ", "readonly ", "function ", "interface ", "class ", "type ", "const ", "var "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "_$".contains(c))).unwrap_or(rest.len());
    // Call signatures and symbols are shown as they are.
    if end == 0 { rest.split_inclusive(['(', ']']).next().unwrap_or_default().to_owned() } else { rest[..end].to_owned() }
}

/// Follow-on lines keep their indentation relative to the least indented of them, which is that of the first line if it closes a bracket.
fn dedented(text: &str) -> String {
    let rest = || text.lines().skip(1);
    let cut = rest().filter(|line| !line.trim().is_empty()).map(|line| line.len() - line.trim_start().len()).min().unwrap_or_default();
    let closes = rest().last().is_some_and(|line| line.trim_start().starts_with(['}', ')', ']']));
    let indent = if closes { "" } else { "  " };
    let mut out = text.lines().next().unwrap_or_default().trim().to_owned();
    for line in rest() {
        out.push('\n');
        out.push_str(indent);
        out.push_str(line.get(cut..).unwrap_or_default());
    }
    out
}

fn item_text(item: &Item, anchors: &BTreeMap<String, String>) -> Result<String> {
    let mut text = format!("### {}\n\n{}\n", item.name, linked(&item.comment.text, anchors));
    let documented = item.members.iter().any(|member| !member.comment.text.is_empty());
    let code: Vec<String> = if item.members.is_empty() {
        item.signatures.iter().filter(|signature| !signature.ends_with('{')).cloned().collect()
    } else if documented {
        Vec::new()
    } else {
        let members: Vec<String> =
            item.members.iter().flat_map(|member| &member.signatures).map(|signature| format!("  {signature}")).collect();
        vec![format!("{}\n{}\n}}", item.signatures[0], members.join("\n"))]
    };
    if !code.is_empty() {
        write!(text, "\n```ts\n{}\n```\n", code.join("\n"))?;
    }
    if !item.comment.example.is_empty() {
        write!(text, "\nExample:\n\n```ts\n{}\n```\n", item.comment.example)?;
    }
    if documented {
        text.push('\n');
        for member in &item.members {
            text.push_str(&member_text(member, anchors)?);
        }
    }
    Ok(text)
}

fn member_text(member: &Item, anchors: &BTreeMap<String, String>) -> Result<String> {
    let signatures: Vec<String> = member.signatures.iter().map(|signature| format!("`{}`", one_line(signature))).collect();
    let mut text = format!("- {}", signatures.join("  \n  "));
    if !member.comment.text.is_empty() {
        write!(text, "  \n  {}", linked(&member.comment.text, anchors).replace('\n', "\n  ").replace("\n  \n", "\n\n"))?;
    }
    text.push('\n');
    if !member.comment.example.is_empty() {
        write!(text, "\n  ```ts\n  {}\n  ```\n", member.comment.example.replace('\n', "\n  "))?;
    }
    Ok(text)
}

fn one_line(signature: &str) -> String {
    signature.trim_end_matches(';').trim_start_matches("readonly ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `{@link name}` as a link to its heading.
fn linked(text: &str, anchors: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{@link ") {
        let (target, after) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(before);
        let heading = target.split('.').next().unwrap_or_default();
        match anchors.get(heading) {
            Some(anchor) => out.push_str(&format!("[`{target}`](#{anchor})")),
            None => out.push_str(&format!("`{target}`")),
        }
        rest = after;
    }
    out + rest
}

/// The anchors that Markdown renderers give to headings: of equal ones, all but the first are numbered.
fn anchors(sections: &[Section]) -> BTreeMap<String, String> {
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeMap::new();
    for section in sections {
        *used.entry(slug(&section.title)).or_default() += 1;
        for item in &section.items {
            let slug = slug(&item.name);
            let count = used.entry(slug.clone()).or_default();
            anchors.insert(item.name.clone(), if *count == 0 { slug } else { format!("{slug}-{count}") });
            *count += 1;
        }
    }
    anchors
}

fn slug(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
    }

    #[test]
    fn a_small_file_becomes_a_page() {
        let source = r#"// Opening words.
declare module "loadstone" {
  // ────
  // # Things
  // What things are.

  /**
   * Makes a {@link Thing}, unlike {@link other}.
   *
   * @example
   * make({
   *   a: 1,
   * });
   */
  export function make(options: {
    a?: number;
  }): Thing;
  export function make(name: string): Thing;

  /** A thing. */
  export interface Thing {
    readonly [brand]: "thing";
    /** Its size. Bytes. */
    readonly size: number;
    plain(): void;
  }

  /**
   * Not yet.
   *
   * @unreleased
   */
  export function later(): void;

  export {};
}
"#;
        let page = page(source).unwrap();
        let body = page.strip_prefix(INTRODUCTION).unwrap();
        let expected = "\n- [Things](#things)\n\n## Things\n\nWhat things are.\n\n### make\n\nMakes a [`Thing`](#thing), unlike `other`.\n\n\
            ```ts\nexport function make(options: {\n  a?: number;\n}): Thing;\nexport function make(name: string): Thing;\n```\n\n\
            Example:\n\n```ts\nmake({\n  a: 1,\n});\n```\n\n### Thing\n\nA thing.\n\n- `size: number`  \n  Its size. Bytes.\n- `plain(): void`\n";
        assert_eq!(body, expected);
    }

    #[test]
    fn what_is_not_documented_is_refused() {
        let message = page("// # A\n\nexport function f(): void;\n").unwrap_err().to_string();
        assert_eq!(message, "types/loadstone.d.ts:3: f has no documentation comment");
        assert!(page("export function f(): void;\n").is_err());
        assert!(page("// # A\n/** F. */\nexport function f(\n").unwrap_err().to_string().contains("does not end"));
    }

    #[test]
    fn equal_headings_have_anchors_of_their_own() {
        let source = "// # Test\n\n/** A {@link test} and a {@link Test}. */\nexport function test(): Test;\n/** B. */\nexport interface Test {\n  /** C. */\n  c: 1;\n}\n";
        assert!(page(source).unwrap().contains("A [`test`](#test-1) and a [`Test`](#test-2)."));
    }

    #[test]
    fn the_committed_page_is_what_would_be_written() {
        let source = fs::read_to_string(root().join(SOURCE)).unwrap();
        let committed = fs::read_to_string(root().join(PAGE)).unwrap_or_default();
        assert!(page(&source).unwrap() == committed, "{PAGE} is stale: run `cargo xtask gen` and commit the result");
    }
}
