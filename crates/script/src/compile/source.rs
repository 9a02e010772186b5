//! Source text, and the mapping from offsets and generated positions to lines and columns of the source.

use std::path::Path;
use std::sync::Arc;

use oxc_span::SourceType;

use crate::error::SourcePlace;

/// A source file.
#[derive(Debug)]
pub(crate) struct SourceText {
    /// Path for messages, relative to the test file's folder.
    pub(crate) file: Arc<str>,
    pub(crate) text: String,
}

impl SourceText {
    /// The place of a byte range.
    pub(crate) fn place_of(&self, start: usize, length: usize) -> SourcePlace {
        let start = floor_boundary(&self.text, start.min(self.text.len()));
        let before = &self.text[..start];
        let line = before.bytes().filter(|b| *b == b'\n').count() as u32 + 1;
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = self.text[line_start..start].chars().count() as u32 + 1;
        let rest = &self.text[start..];
        let line_rest = rest.find('\n').map_or(rest, |end| &rest[..end]);
        let width = line_rest.len().min(length).max(1) as u32;
        SourcePlace { file: Arc::clone(&self.file), line, column, source_line: self.line(line), width }
    }

    pub(crate) fn place(&self, line: u32, column: u32) -> SourcePlace {
        let source_line = self.line(line);
        let width = source_line.as_deref().map_or(1, |text| identifier_width(text, column));
        SourcePlace { file: Arc::clone(&self.file), line, column, source_line, width }
    }

    /// Byte offset of a place. Clamped to the text.
    pub(crate) fn offset(&self, line: u32, column: u32) -> usize {
        let start: usize = self.text.split_inclusive('\n').take(line.saturating_sub(1) as usize).map(str::len).sum();
        let within = self.text[start..].char_indices().nth(column.saturating_sub(1) as usize).map_or(0, |(at, _)| at);
        start + within
    }

    fn line(&self, line: u32) -> Option<String> {
        self.text.lines().nth(line.saturating_sub(1) as usize).map(str::to_owned)
    }
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Length of the identifier at a column, so that the mark covers all of it.
fn identifier_width(line: &str, column: u32) -> u32 {
    let identifier =
        line.chars().skip(column.saturating_sub(1) as usize).take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '$').count();
    identifier.max(1) as u32
}

/// The language of a file, by its name.
pub(super) fn source_type(path: &Path) -> SourceType {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("ts" | "mts") => SourceType::ts(),
        Some("cts") => SourceType::ts().with_commonjs(true),
        Some("mjs") => SourceType::mjs(),
        Some("cjs") => SourceType::cjs(),
        _ => SourceType::unambiguous(),
    }
}

/// The source of each piece of generated code.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    /// `(generated line, generated column, source line, source column)`, all from 0, ascending.
    tokens: Vec<(u32, u32, u32, u32)>,
}

impl Positions {
    pub(crate) fn new(mut tokens: Vec<(u32, u32, u32, u32)>) -> Self {
        tokens.sort_unstable();
        Self { tokens }
    }

    /// The same, with the generated code moved down.
    pub(crate) fn shifted(mut self, lines: u32) -> Self {
        self.tokens.iter_mut().for_each(|token| token.0 += lines);
        self
    }

    /// The source position of a generated one. All numbers start at 1.
    pub(crate) fn source_of(&self, line: u32, column: u32) -> Option<(u32, u32)> {
        let wanted = (line.saturating_sub(1), column.saturating_sub(1));
        let after = self.tokens.partition_point(|token| (token.0, token.1) <= wanted);
        let (generated_line, _, source_line, source_column) = *self.tokens.get(after.checked_sub(1)?)?;
        (generated_line == wanted.0).then_some((source_line + 1, source_column + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_lines_and_columns() {
        let source = SourceText { file: "a.ts".into(), text: "let ä = 1;\n  foo();\n".into() };
        let place = source.place_of(source.text.find("foo").unwrap(), 3);
        assert_eq!((place.line, place.column, place.width), (2, 3, 3));
        assert_eq!(place.source_line.as_deref(), Some("  foo();"));
        assert_eq!(source.place_of(source.text.find('=').unwrap(), 1).column, 7);
    }

    #[test]
    fn the_nearest_earlier_token_of_the_same_line_is_used() {
        let positions = Positions::new(vec![(0, 0, 4, 2), (0, 10, 5, 0), (2, 4, 9, 9)]);
        assert_eq!(positions.source_of(1, 5), Some((5, 3)));
        assert_eq!(positions.source_of(1, 11), Some((6, 1)));
        assert_eq!(positions.source_of(2, 3), None);
        assert_eq!(positions.source_of(3, 50), Some((10, 10)));
    }
}
