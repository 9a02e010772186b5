//! Options that are written as a literal in a call.

use oxc_allocator::Allocator;
use oxc_ast::ast::{Argument, ArrayExpressionElement, CallExpression, Expression, ObjectExpression, ObjectPropertyKind};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType, Span};

use super::source::SourceText;
use crate::error::SourcePlace;

/// Names in literals, their places and their values.
pub(super) fn properties<'o, 'a>(object: &'o ObjectExpression<'a>) -> impl Iterator<Item = (String, Span, &'o Expression<'a>)> {
    object.properties.iter().filter_map(|property| match property {
        ObjectPropertyKind::ObjectProperty(property) => {
            Some((property.key.static_name()?.into_owned(), property.key.span(), &property.value))
        }
        ObjectPropertyKind::SpreadProperty(_) => None,
    })
}

/// The place of an option of a call, if the call has it as a literal. `known` is QuickJS's place of the call: its line and approximate
/// column.
pub(super) fn place_of_option(source: &SourceText, source_type: SourceType, known: &SourcePlace, option: &str) -> Option<SourcePlace> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &source.text, source_type).parse();
    let at = source.offset(known.line, known.column) as u32;
    let mut calls = CallsWithOption { option, found: Vec::new() };
    calls.visit_program(&parsed.program);
    let around = calls.found.iter().filter(|(call, _)| (call.start..call.end).contains(&at)).min_by_key(|(call, _)| call.size());
    let in_line = || calls.found.iter().find(|(call, _)| source.place_of(call.start as usize, 1).line == known.line);
    let (_, span) = around.or_else(in_line)?;
    Some(source.place_of(span.start as usize, span.size() as usize))
}

struct CallsWithOption<'o> {
    option: &'o str,
    /// The call, and the option.
    found: Vec<(Span, Span)>,
}

impl CallsWithOption<'_> {
    fn look(&mut self, call: Span, value: &Expression<'_>) {
        match value.get_inner_expression() {
            Expression::ObjectExpression(object) => {
                for (name, span, value) in properties(object) {
                    if name == self.option {
                        self.found.push((call, span));
                    }
                    self.look(call, value);
                }
            }
            Expression::ArrayExpression(array) => {
                array.elements.iter().filter_map(ArrayExpressionElement::as_expression).for_each(|value| self.look(call, value));
            }
            _ => {}
        }
    }
}

impl<'a> Visit<'a> for CallsWithOption<'_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        call.arguments.iter().filter_map(Argument::as_expression).for_each(|value| self.look(call.span, value));
        walk::walk_call_expression(self, call);
    }
}
