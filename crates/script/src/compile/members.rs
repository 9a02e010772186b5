//! Where a member stands that an object does not have: the word itself, not the start of the expression, which is all that QuickJS knows.

use oxc_allocator::Allocator;
use oxc_ast::ast::{BindingProperty, ComputedMemberExpression, Expression, StaticMemberExpression};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType, Span};

use super::source::SourceText;
use crate::error::SourcePlace;

/// The place of `name` in what is read at `known`: `known.name`, `known["name"]`, or `const { name } = known`.
pub(super) fn place_of_member(source: &SourceText, source_type: SourceType, known: &SourcePlace, name: &str) -> Option<SourcePlace> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &source.text, source_type).parse();
    let at = source.offset(known.line, known.column) as u32;
    let mut members = MembersNamed { name, found: Vec::new(), destructured: Vec::new() };
    members.visit_program(&parsed.program);
    let around = members.found.iter().filter(|(whole, _)| (whole.start..whole.end).contains(&at)).min_by_key(|(whole, _)| whole.size());
    // QuickJS may name the statement's start, or the last place before it.
    let behind = || {
        let in_line = members.found.iter().filter(|(_, word)| source.place_of(word.start as usize, 1).line == known.line);
        in_line.min_by_key(|(whole, _)| whole.start.abs_diff(at))
    };
    // Of a destructuring it knows no place at all.
    let only = || match &members.destructured[..] {
        [only] => Some(only),
        _ => None,
    };
    let word = around.or_else(behind).map(|(_, word)| word).or_else(only)?;
    Some(source.place_of(word.start as usize, word.size() as usize))
}

struct MembersNamed<'n> {
    name: &'n str,
    /// The expression, and the word in it.
    found: Vec<(Span, Span)>,
    /// The words in `const { name } = …`.
    destructured: Vec<Span>,
}

impl<'a> Visit<'a> for MembersNamed<'_> {
    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        if member.property.name == self.name {
            self.found.push((member.span, member.property.span));
        }
        walk::walk_static_member_expression(self, member);
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        if matches!(&member.expression, Expression::StringLiteral(written) if written.value == self.name) {
            self.found.push((member.span, member.expression.span()));
        }
        walk::walk_computed_member_expression(self, member);
    }

    fn visit_binding_property(&mut self, property: &BindingProperty<'a>) {
        if property.key.static_name().is_some_and(|key| key == self.name) {
            self.destructured.push(property.key.span());
        }
        walk::walk_binding_property(self, property);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::super::source::source_type;
    use super::*;

    /// `LINE:COLUMN WIDTH` of `wrong`, where QuickJS names the place of `known`.
    fn place(text: &str, known: &str) -> Option<String> {
        let source = SourceText { file: Arc::from("a.load.ts"), text: text.to_owned() };
        let known = source.place_of(text.find(known).unwrap(), 1);
        let found = place_of_member(&source, source_type(Path::new("a.load.ts")), &known, "wrong");
        found.map(|place| format!("{}:{} {}", place.line, place.column, place.width))
    }

    #[test]
    fn the_word_is_found_however_it_is_written() {
        assert_eq!(place("const n = a.wrong(1);", "a.").unwrap(), "1:13 5");
        assert_eq!(place("b.wrong(); a.wrong();", "a.").unwrap(), "1:14 5");
        assert_eq!(place("a\n  .wrong();", "a").unwrap(), "2:4 5");
        assert_eq!(place("a?.[\"wrong\"]();", "a").unwrap(), "1:5 7");
        assert_eq!(place("b();\nconst { wrong: mine } = a;", "b").unwrap(), "2:9 5");
        assert_eq!(place("a.wrong(b.wrong());", "b").unwrap(), "1:11 5");
    }

    #[test]
    fn a_name_that_is_not_written_there_has_no_place() {
        assert_eq!(place("a[key]();\nb.wrong();", "a["), None);
        assert_eq!(place("b();\nconst { wrong } = a, { wrong: other } = c;", "b"), None);
    }
}
