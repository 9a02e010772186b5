//! Reads types/loadstone.d.ts: sections opened by `// # Title`, declarations with a comment before them.
//!
//! Start with [`sections`]. The parser knows the structure of that one file and rejects anything else, so that nothing is missing from
//! the reference silently. Declarations marked `@unreleased` are left out on purpose.

use anyhow::{Result, bail, ensure};

/// The file.
pub(super) const SOURCE: &str = "types/loadstone.d.ts";

/// All sections of the file, with what they declare.
pub(super) fn sections(source: &str) -> Result<Vec<ReferenceSection>> {
    DeclarationParser::new(source).sections()
}

#[derive(Debug, Default)]
pub(super) struct ReferenceSection {
    pub(super) title: String,
    pub(super) introduction: String,
    pub(super) items: Vec<Declaration>,
}

/// A declaration, or a member of one.
#[derive(Debug, Default)]
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) comment: DocComment,
    /// Several if it is overloaded.
    pub(super) signatures: Vec<String>,
    pub(super) members: Vec<Declaration>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct DocComment {
    pub(super) text: String,
    pub(super) example: String,
    unreleased: bool,
}

struct DeclarationParser<'a> {
    lines: std::iter::Peekable<std::iter::Enumerate<std::str::Lines<'a>>>,
}

impl<'a> DeclarationParser<'a> {
    fn new(source: &'a str) -> Self {
        Self { lines: source.lines().enumerate().peekable() }
    }

    fn sections(mut self) -> Result<Vec<ReferenceSection>> {
        let mut sections: Vec<ReferenceSection> = Vec::new();
        let mut comment = None;
        while let Some((number, line)) = self.lines.next() {
            let line = line.trim();
            if let Some(title) = line.strip_prefix("// # ") {
                sections.push(ReferenceSection { title: title.to_owned(), introduction: self.introduction(), items: Vec::new() });
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

    fn comment(&mut self, first: &str) -> DocComment {
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
        let mut comment = DocComment::default();
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
    fn item(&mut self, number: usize, line: &str, comment: Option<DocComment>) -> Result<Declaration> {
        let mut text = line.to_owned();
        let bodied = is_bodied(line);
        if !bodied {
            while !is_complete(&text) {
                let next = self.lines.next().filter(|(_, next)| !(is_closed(&text) && begins_another(next)));
                let Some((_, next)) = next else { bail!("{SOURCE}:{}: does not end: is a semicolon missing?", number + 1) };
                text.push('\n');
                text.push_str(next);
            }
        }
        let name = name_of(line);
        ensure!(!name.is_empty(), "{SOURCE}:{}: not a declaration: {line}", number + 1);
        let mut item = Declaration { name, comment: comment.unwrap_or_default(), signatures: vec![dedented(&text)], members: Vec::new() };
        if bodied {
            self.members(&mut item)?;
        }
        Ok(item)
    }

    fn members(&mut self, owner: &mut Declaration) -> Result<()> {
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
fn add(items: &mut Vec<Declaration>, item: Declaration, number: usize) -> Result<()> {
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

fn add_member(members: &mut Vec<Declaration>, member: Declaration) {
    // Marks that only keep types apart are not part of the interface.
    let brand = member.name == "[brand]";
    match members.last_mut() {
        Some(last) if last.name == member.name && member.comment.text.is_empty() => last.signatures.extend(member.signatures),
        _ if brand || member.comment.unreleased => {}
        _ => members.push(member),
    }
}

fn is_interface_or_class(text: &str) -> bool {
    let plain = text.trim_start_matches("export ").trim_start_matches("declare ");
    plain.starts_with("interface ") || plain.starts_with("class ")
}

fn is_bodied(line: &str) -> bool {
    is_interface_or_class(line) && line.ends_with('{')
}

/// Whether brackets are closed and a semicolon ends the declaration, which an interface (`interface Empty {}`) does not need.
fn is_complete(text: &str) -> bool {
    is_closed(text) && (text.trim_end().ends_with(';') || is_interface_or_class(text) && text.trim_end().ends_with('}'))
}

/// Whether brackets are closed. The arrow of a function type closes nothing.
fn is_closed(text: &str) -> bool {
    let open = text.chars().filter(|c| "({[".contains(*c)).count();
    let closed = text.chars().filter(|c| ")}]".contains(*c)).count();
    open == closed
}

/// A line that cannot belong to the declaration before it. A comment may: of a part of a union.
fn begins_another(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with("export ")
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
