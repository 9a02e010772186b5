//! Finds the place of a member that an object does not have. QuickJS knows only the start of the expression.

use loadstone_units::source::guarded;
use oxc_allocator::Allocator;
use oxc_ast::ast::{BindingProperty, ComputedMemberExpression, Expression, StaticMemberExpression};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType, Span};

use super::source::SourceText;
use crate::error::SourcePlace;

/// The place of `name` in an access at `known`: `known.name`, `known["name"]`, or `const { name } = known`.
pub(super) fn place_of_member(source: &SourceText, source_type: SourceType, known: &SourcePlace, name: &str) -> Option<SourcePlace> {
    guarded(&source.text, || find(source, source_type, known, name)).ok()?
}

fn find(source: &SourceText, source_type: SourceType, known: &SourcePlace, name: &str) -> Option<SourcePlace> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &source.text, source_type).parse();
    let at = source.offset(known.line, known.column) as u32;
    let mut members = MembersNamed { name, found: Vec::new(), destructured: Vec::new() };
    members.visit_program(&parsed.program);
    let around = members.found.iter().filter(|(whole, _)| (whole.start..whole.end).contains(&at)).min_by_key(|(whole, _)| whole.size());
    // QuickJS may report the start of the statement, or the last place before it.
    let behind = || {
        let in_line = members.found.iter().filter(|(_, word)| source.place_of(word.start as usize, 1).line == known.line);
        in_line.min_by_key(|(whole, _)| whole.start.abs_diff(at))
    };
    // For a destructuring it reports no place.
    let only = || match &members.destructured[..] {
        [only] => Some(only),
        _ => None,
    };
    let member = around.or_else(behind).map(|(_, member)| member).or_else(only)?;
    Some(source.place_of(member.start as usize, member.size() as usize))
}

struct MembersNamed<'n> {
    name: &'n str,
    /// The expression, and the name in it.
    found: Vec<(Span, Span)>,
    /// The names in `const { name } = …`.
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

    /// `LINE:COLUMN WIDTH` of `wrong`, where QuickJS reports the place of `known`.
    fn place(text: &str, known: &str) -> Option<String> {
        let source = SourceText { file: Arc::from("a.load.ts"), text: text.to_owned() };
        let known = source.place_of(text.find(known).unwrap(), 1);
        let found = place_of_member(&source, source_type(Path::new("a.load.ts")), &known, "wrong");
        found.map(|place| format!("{}:{} {}", place.line, place.column, place.width))
    }

    #[test]
    fn the_name_is_found_in_every_kind_of_access() {
        assert_eq!(place("const n = a.wrong(1);", "a.").unwrap(), "1:13 5");
        assert_eq!(place("b.wrong(); a.wrong();", "a.").unwrap(), "1:14 5");
        assert_eq!(place("a\n  .wrong();", "a").unwrap(), "2:4 5");
        assert_eq!(place("a?.[\"wrong\"]();", "a").unwrap(), "1:5 7");
        assert_eq!(place("b();\nconst { wrong: mine } = a;", "b").unwrap(), "2:9 5");
        assert_eq!(place("a.wrong(b.wrong());", "b").unwrap(), "1:11 5");
    }

    #[test]
    fn an_absent_or_ambiguous_name_has_no_place() {
        assert_eq!(place("a[key]();\nb.wrong();", "a["), None);
        assert_eq!(place("b();\nconst { wrong } = a, { wrong: other } = c;", "b"), None);
    }
}
