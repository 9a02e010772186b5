//! docs/script.md, from the documentation comments of types/loadstone.d.ts.
//!
//! Read [`page`]: text in, text out. What the file declares is read by [`declarations`].

mod declarations;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};
use checkout::Workspace;

use declarations::{Declaration, ReferenceSection, SOURCE};

const INTRODUCTION: &str = "# Script reference\n\n\
    Written by `cargo xtask gen` from the comments in types/loadstone.d.ts; edit the text there. The [guide](guide.md) shows how the parts \
    work together.\n";

/// The page for the current types.
pub(super) fn text(workspace: &Workspace) -> Result<String> {
    page(&fs::read_to_string(workspace.root.join(SOURCE)).with_context(|| format!("reading {SOURCE}"))?)
}

/// The reference as Markdown.
fn page(source: &str) -> Result<String> {
    let sections = declarations::sections(source)?;
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

fn item_text(item: &Declaration, anchors: &BTreeMap<String, String>) -> Result<String> {
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

fn member_text(member: &Declaration, anchors: &BTreeMap<String, String>) -> Result<String> {
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
fn anchors(sections: &[ReferenceSection]) -> BTreeMap<String, String> {
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
    fn an_interface_in_one_line_ends_there() {
        let source = "// # A\n\n/** Empty. */\nexport interface Empty {}\n\n/** More. */\nexport interface More extends Empty { a: 1; }\n\n\
                      /** F. */\nexport function f(): void;\n";
        let page = page(source).unwrap();
        let (_, body) = page.split_once("## A\n").unwrap();
        assert_eq!(
            body,
            "\n### Empty\n\nEmpty.\n\n```ts\nexport interface Empty {}\n```\n\n### More\n\nMore.\n\n```ts\n\
             export interface More extends Empty { a: 1; }\n```\n\n### f\n\nF.\n\n```ts\nexport function f(): void;\n```\n"
        );
    }

    #[test]
    fn what_is_not_documented_is_refused() {
        let message = page("// # A\n\nexport function f(): void;\n").unwrap_err().to_string();
        assert_eq!(message, "types/loadstone.d.ts:3: f has no documentation comment");
        assert!(page("export function f(): void;\n").is_err());
        assert!(page("// # A\n/** F. */\nexport function f(\n").unwrap_err().to_string().contains("does not end"));
        let unended = "// # A\n/** F. */\nexport function f(): void\n\n/** G. */\nexport function g(): void;\n";
        assert_eq!(page(unended).unwrap_err().to_string(), "types/loadstone.d.ts:3: does not end: is a semicolon missing?");
    }

    #[test]
    fn an_editor_has_something_to_say_of_every_member() {
        let source = fs::read_to_string(root().join(SOURCE)).unwrap();
        // An index signature has no name to point at.
        let silent: Vec<String> = declarations::sections(&source)
            .unwrap()
            .iter()
            .flat_map(|section| &section.items)
            .flat_map(|item| {
                item.members
                    .iter()
                    .filter(|member| member.comment.text.is_empty() && !member.name.starts_with('['))
                    .map(|member| format!("{}.{}", item.name, member.name))
            })
            .collect();
        assert_eq!(silent, [] as [String; 0], "these have no documentation comment");
    }

    #[test]
    fn equal_headings_have_anchors_of_their_own() {
        let source = "// # Test\n\n/** A {@link test} and a {@link Test}. */\nexport function test(): Test;\n\
                      /** B. */\nexport interface Test {\n  /** C. */\n  c: 1;\n}\n";
        assert!(page(source).unwrap().contains("A [`test`](#test-1) and a [`Test`](#test-2)."));
    }

    #[test]
    fn the_committed_page_is_what_would_be_written() {
        let source = fs::read_to_string(root().join(SOURCE)).unwrap();
        let committed = fs::read_to_string(root().join("docs/script.md")).unwrap_or_default();
        assert!(page(&source).unwrap() == committed, "docs/script.md is stale: run `cargo xtask gen` and commit the result");
    }
}
