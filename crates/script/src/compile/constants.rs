//! Options that never change, such as `{ name: "List", expect: { status: 200 } }` in `user.get("/products", { … })`.
//!
//! A literal creates its objects again for every request, and its reader must inspect each of them. If the whole literal is constant, the
//! realm creates one frozen object instead, which the reader recognises by its address (`realm::constants`):
//!
//! ```js
//! user.get("/products", user.get?.__loadstone ? $loadstone0 : { … })
//! ```
//!
//! Only Loadstone's functions carry the mark, and they neither change nor store their arguments. Any other function receives the literal as
//! written, so a wrapper around a user observes no difference.

use oxc_allocator::{Allocator, GetAllocator, TakeIn};
use oxc_ast::ast::{
    Argument, ArrayExpressionElement, CallExpression, ChainElement, Expression, IdentifierName, ObjectExpression, ObjectPropertyKind,
    Program as Tree, PropertyKey, PropertyKind, StaticMemberExpression,
};
use oxc_ast::builder::AstBuilder;
use oxc_ast_visit::{VisitMut, walk_mut};
use oxc_syntax::operator::UnaryOperator;
use serde_json::{Map, Number, Value};

/// Begins the names of verbs for functions that `stepped` writes, which are resumed with the response.
pub(super) const STEPPED_PREFIX: &str = "$loadstone_";

/// Functions of the user object that take options after the URL.
pub(super) const METHODS: [&str; 7] = ["get", "head", "options", "post", "put", "patch", "delete"];

/// Replaces constant options in a module's tree. Returns the declarations to append to its code: users call only after all of it has run.
pub(super) fn hoist<'a>(tree: &mut Tree<'a>, text: &str, allocator: &'a Allocator) -> String {
    if text.contains("$loadstone") {
        return String::new(); // The file uses these names itself.
    }
    let mut hoist = Hoist { builder: AstBuilder::new(allocator), values: Vec::new() };
    hoist.visit_program(tree);
    let declare = |(index, value): (usize, &Value)| format!("const $loadstone{index} = __loadstone.constant({value});\n");
    hoist.values.iter().enumerate().map(declare).collect()
}

struct Hoist<'a> {
    builder: AstBuilder<'a>,
    values: Vec<Value>,
}

impl<'a> VisitMut<'a> for Hoist<'a> {
    fn visit_call_expression(&mut self, call: &mut CallExpression<'a>) {
        walk_mut::walk_call_expression(self, call);
        let Expression::StaticMemberExpression(callee) = &call.callee else { return };
        let Expression::Identifier(user) = &callee.object else { return };
        let (user, method) = (user.name, callee.property.name);
        if callee.optional || call.optional || call.arguments.len() != 2 || !is_request(&method) {
            return;
        }
        let Some(Argument::ObjectExpression(options)) = call.arguments.get_mut(1) else { return };
        let Some(value) = constant_object(options) else { return };
        let (span, builder) = (options.span, &self.builder);
        let written = Expression::ObjectExpression(options.take_in_box(builder));
        let user = Expression::new_identifier(span, user, builder);
        let function = Expression::new_static_member_expression(span, user, IdentifierName::new(span, method, builder), false, builder);
        let mark = IdentifierName::new(span, "__loadstone", builder);
        let mark = ChainElement::StaticMemberExpression(StaticMemberExpression::boxed(span, function, mark, true, builder));
        let mark = Expression::new_chain_expression(span, mark, builder);
        let name = builder.allocator().alloc_str(&format!("$loadstone{}", self.values.len()));
        let known = Expression::new_identifier(span, name, builder);
        call.arguments[1] = Argument::from(Expression::new_conditional_expression(span, mark, known, written, builder));
        self.values.push(value);
    }
}

/// The name of such a function, also as `stepped` writes it.
fn is_request(method: &str) -> bool {
    METHODS.contains(&method.strip_prefix(STEPPED_PREFIX).unwrap_or(method))
}

/// The fixed value of an object literal. `None` if any part of it can vary.
fn constant_object(object: &ObjectExpression<'_>) -> Option<Value> {
    let mut values = Map::new();
    for property in &object.properties {
        let ObjectPropertyKind::ObjectProperty(property) = property else { return None };
        let name = match &property.key {
            PropertyKey::StaticIdentifier(name) => name.name.as_str(),
            PropertyKey::StringLiteral(name) if !name.lone_surrogates => name.value.as_str(),
            _ => return None,
        };
        // `__proto__: …` sets the prototype, and the last of several equal names wins.
        if property.kind != PropertyKind::Init || property.method || property.computed || name == "__proto__" || values.contains_key(name) {
            return None;
        }
        values.insert(name.to_owned(), constant(&property.value)?);
    }
    Some(Value::Object(values))
}

fn constant(expression: &Expression<'_>) -> Option<Value> {
    match expression {
        Expression::StringLiteral(text) if !text.lone_surrogates => Some(Value::from(text.value.as_str())),
        Expression::NumericLiteral(literal) => number(literal.value),
        Expression::BooleanLiteral(literal) => Some(Value::Bool(literal.value)),
        Expression::NullLiteral(_) => Some(Value::Null),
        Expression::ObjectExpression(object) => constant_object(object),
        Expression::ArrayExpression(array) => array.elements.iter().map(constant_element).collect::<Option<_>>().map(Value::Array),
        Expression::UnaryExpression(unary) if unary.operator == UnaryOperator::UnaryNegation => match &unary.argument {
            Expression::NumericLiteral(literal) if literal.value != 0.0 => number(-literal.value),
            _ => None,
        },
        _ => None,
    }
}

fn constant_element(element: &ArrayExpressionElement<'_>) -> Option<Value> {
    element.as_expression().and_then(constant)
}

/// Whole numbers without a fraction: QuickJS does not treat `200.0` as an integer.
fn number(value: f64) -> Option<Value> {
    let whole = value.fract() == 0.0 && value.abs() < 9e15;
    if whole { Some(Value::from(value as i64)) } else { Number::from_f64(value).map(Value::Number) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::compile::source::SourceText;
    use crate::compile::transpile::{SourceDialect, transpile};
    use crate::known_verbs::KnownVerbs;

    fn compiled(file: &str, text: &str) -> String {
        let source = SourceText { file: file.into(), text: text.into() };
        transpile(Path::new(file), &source, &KnownVerbs { options: Vec::new(), addresses: Vec::new() }, SourceDialect::Loadstone)
            .unwrap()
            .code
    }

    #[test]
    fn options_that_never_change_are_declared_once() {
        let code = compiled(
            "t.ts",
            "const go = (user: any) => user.get('/', { name: 'a\\u2028\"', expect: { status: [200, -1.5] }, 'x-y': null });",
        );
        assert_eq!(
            code,
            "const go = (user) => user.get(\"/\", user.get?.__loadstone ? $loadstone0 : {\n\tname: \"a\\u2028\\\"\",\n\t\
             expect: { status: [200, -1.5] },\n\t\"x-y\": null\n});\n\
             const $loadstone0 = __loadstone.constant({\"name\":\"a\u{2028}\\\"\",\"expect\":{\"status\":[200,-1.5]},\"x-y\":null});\n"
        );
        let two = compiled("t.ts", "u.post(p, { json: { a: [] } }); (async () => v.delete(`/${p}`, {}))();");
        assert!(two.contains("u.post?.__loadstone ? $loadstone0 :") && two.contains("v.delete?.__loadstone ? $loadstone1 :"), "{two}");
    }

    #[test]
    fn literals_that_can_vary_are_unchanged() {
        for text in [
            "user.get('/', { name });",
            "user.get('/', { name: `a${1}` });",
            "user.get('/', { ['name']: 'a' });",
            "user.get('/', { ...more });",
            "user.get('/', { expect: () => true });",
            "user.get('/', { expect: { text: /a/ } });",
            "user.get('/', { __proto__: { name: 'a' } });",
            "user.get('/', { get name() { return 'a'; } });",
            "user.get('/', { name: 'a', name: 'b' });",
            "user.get('/', { a: [1, , 2] });",
            "user.get('/', { a: -0 });",
            "user.get('/', { a: 10n });",
            "user.get({ name: 'a' });",
            "user.get('/', { name: 'a' }, 1);",
            "user.get?.('/', { name: 'a' });",
            "user?.get('/', { name: 'a' });",
            "this.user.get('/', { name: 'a' });",
            "user().get('/', { name: 'a' });",
            "user.find('/', { name: 'a' });",
            "const $loadstone0 = 1; user.get('/', { name: 'a' });",
        ] {
            let code = compiled("t.mjs", text);
            assert!(!code.contains("__loadstone"), "{text}: {code}");
        }
        let code = compiled("t.cjs", "user.get('/', { name: 'a' });");
        assert!(!code.contains("__loadstone"), "{code}");
    }
}
