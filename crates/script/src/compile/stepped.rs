//! Scenario functions that wait for nothing but requests, such as `scenario("List", async (user) => { await user.get("/products"); })`.
//!
//! An async function costs a promise for each of its calls and one for each request that it awaits, with functions that settle them, though no other
//! code can have any of them. If every `await` of a scenario's function is on a request, the function becomes a generator. Loadstone resumes it with
//! the response (`iterations`):
//!
//! ```js
//! scenario("List", __loadstone.stepped(function* (user) {
//!   yield user.get?.__loadstone ? user.$loadstone_get("/products") : user.get("/products");
//! }));
//! ```
//!
//! Only Loadstone's functions carry the mark. The result of any other function is awaited as usual.

use oxc_allocator::{Allocator, CloneIn, GetAllocator, TakeIn, Vec};
use oxc_ast::ast::{
    Argument, ArrowFunctionBody, ArrowFunctionExpression, AwaitExpression, CallExpression, ChainElement, Directive, Expression,
    ForOfStatement, FormalParameterKind, Function, FunctionBody, FunctionType, IdentifierName, IdentifierReference, NewTarget,
    Program as Tree, Statement, StaticMemberExpression, Super, ThisExpression, VariableDeclaration, VariableDeclarationKind,
};
use oxc_ast::builder::AstBuilder;
use oxc_ast_visit::{Visit, VisitMut, walk, walk_mut};
use oxc_span::GetSpan;
use oxc_syntax::scope::ScopeFlags;

use super::call_place::CallsOf;
use super::constants::{METHODS, STEPPED_PREFIX};

/// Replaces the functions of scenarios in a module's tree.
pub(super) fn step<'a>(tree: &mut Tree<'a>, text: &str, allocator: &'a Allocator) {
    if text.contains(STEPPED_PREFIX) {
        return; // The file uses these names itself.
    }
    let scenarios = CallsOf::imported(tree, "scenario");
    Scenarios { builder: AstBuilder::new(allocator), scenarios }.visit_program(tree);
}

struct Scenarios<'a> {
    builder: AstBuilder<'a>,
    scenarios: CallsOf<'static>,
}

impl<'a> VisitMut<'a> for Scenarios<'a> {
    fn visit_call_expression(&mut self, call: &mut CallExpression<'a>) {
        walk_mut::walk_call_expression(self, call);
        if !self.scenarios.is_it(&call.callee) {
            return;
        }
        let builder = &self.builder;
        let stepped = match call.arguments.get_mut(1) {
            Some(Argument::ArrowFunctionExpression(arrow)) if arrow.r#async && Awaits::of_arrow(arrow).are_requests() => {
                from_arrow(arrow, builder)
            }
            Some(Argument::FunctionExpression(function))
                if function.r#async && !function.generator && Awaits::of_function(function).are_requests() =>
            {
                let mut function = function.take_in_box(builder);
                (function.r#async, function.generator) = (false, true);
                Expression::FunctionExpression(function)
            }
            _ => return,
        };
        let span = stepped.span();
        let native = Expression::new_identifier(span, "__loadstone", builder);
        let callee = Expression::new_static_member_expression(span, native, IdentifierName::new(span, "stepped", builder), false, builder);
        let mut wrapped =
            Expression::new_call_expression(span, callee, None, Vec::from_value_in(Argument::from(stepped), builder), false, builder);
        if let Expression::CallExpression(wrapped) = &mut wrapped {
            wrapped.arguments.iter_mut().for_each(|function| Steps { builder, depth: 0 }.visit_argument(function));
        }
        call.arguments[1] = Argument::from(wrapped);
    }
}

fn from_arrow<'a>(arrow: &mut ArrowFunctionExpression<'a>, builder: &AstBuilder<'a>) -> Expression<'a> {
    let span = arrow.span;
    let mut params = arrow.params.take_in_box(builder);
    params.kind = FormalParameterKind::FormalParameter;
    let body = match &mut arrow.body {
        ArrowFunctionBody::FunctionBody(body) => body.take_in_box(builder),
        returned => {
            let value = returned.to_expression_mut().take_in(builder);
            let statement = Statement::new_return_statement(value.span(), Some(value), builder);
            let directives: Vec<'a, Directive<'a>> = Vec::new_in(builder);
            FunctionBody::boxed(span, directives, Vec::from_value_in(statement, builder), builder)
        }
    };
    let kind = FunctionType::FunctionExpression;
    Expression::new_function_expression(span, kind, None, true, false, false, None, None, params, None, Some(body), builder)
}

/// The request that an expression makes, if it is a call like `user.get(…)`.
fn request<'e, 'a>(awaited: &'e Expression<'a>) -> Option<(&'e CallExpression<'a>, &'e StaticMemberExpression<'a>)> {
    let Expression::CallExpression(call) = awaited.get_inner_expression() else { return None };
    let Expression::StaticMemberExpression(callee) = &call.callee else { return None };
    let method = callee.property.name.as_str();
    let is_request = !callee.optional && !call.optional && (METHODS.contains(&method) || method == "grpc");
    (is_request && matches!(callee.object, Expression::Identifier(_))).then_some((&**call, &**callee))
}

/// What a function awaits, apart from the functions inside it.
#[derive(Default)]
struct Awaits {
    requests: usize,
    /// It awaits something else, or a generator would not be the same.
    others: bool,
    /// Names in it that mean something else in a function that is no arrow function are allowed.
    has_own_this: bool,
    /// Depth of functions inside it, and of those with their own `this`.
    inside: usize,
    inside_this: usize,
}

impl Awaits {
    fn of_arrow(arrow: &ArrowFunctionExpression<'_>) -> Self {
        let mut awaits = Self::default();
        awaits.visit_formal_parameters(&arrow.params);
        awaits.visit_arrow_function_body(&arrow.body);
        awaits
    }

    fn of_function(function: &Function<'_>) -> Self {
        let mut awaits = Self { has_own_this: true, ..Self::default() };
        awaits.visit_formal_parameters(&function.params);
        function.body.iter().for_each(|body| awaits.visit_function_body(body));
        awaits
    }

    fn are_requests(&self) -> bool {
        self.requests > 0 && !self.others
    }

    fn uses_this(&mut self) {
        self.others |= !self.has_own_this && self.inside_this == 0;
    }
}

impl<'a> Visit<'a> for Awaits {
    fn visit_await_expression(&mut self, awaited: &AwaitExpression<'a>) {
        if self.inside == 0 {
            match request(&awaited.argument) {
                Some(_) => self.requests += 1,
                None => self.others = true,
            }
        }
        walk::walk_await_expression(self, awaited);
    }

    fn visit_for_of_statement(&mut self, statement: &ForOfStatement<'a>) {
        self.others |= self.inside == 0 && statement.r#await;
        walk::walk_for_of_statement(self, statement);
    }

    fn visit_variable_declaration(&mut self, declaration: &VariableDeclaration<'a>) {
        self.others |= self.inside == 0 && declaration.kind == VariableDeclarationKind::AwaitUsing;
        walk::walk_variable_declaration(self, declaration);
    }

    fn visit_this_expression(&mut self, _: &ThisExpression) {
        self.uses_this();
    }

    fn visit_super(&mut self, _: &Super) {
        self.uses_this();
    }

    fn visit_new_target(&mut self, _: &NewTarget) {
        self.uses_this();
    }

    fn visit_identifier_reference(&mut self, identifier: &IdentifierReference<'a>) {
        if matches!(identifier.name.as_str(), "arguments" | "eval") {
            self.uses_this();
        }
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        (self.inside, self.inside_this) = (self.inside + 1, self.inside_this + 1);
        walk::walk_function(self, function, flags);
        (self.inside, self.inside_this) = (self.inside - 1, self.inside_this - 1);
    }

    fn visit_arrow_function_expression(&mut self, arrow: &ArrowFunctionExpression<'a>) {
        self.inside += 1;
        walk::walk_arrow_function_expression(self, arrow);
        self.inside -= 1;
    }
}

/// Replaces each `await` of a function, which is the outermost one.
struct Steps<'b, 'a> {
    builder: &'b AstBuilder<'a>,
    depth: usize,
}

impl<'a> VisitMut<'a> for Steps<'_, 'a> {
    fn visit_function(&mut self, function: &mut Function<'a>, flags: ScopeFlags) {
        if self.depth == 0 {
            self.depth = 1;
            walk_mut::walk_function(self, function, flags);
        }
    }

    fn visit_arrow_function_expression(&mut self, _: &mut ArrowFunctionExpression<'a>) {}

    fn visit_expression(&mut self, expression: &mut Expression<'a>) {
        walk_mut::walk_expression(self, expression);
        let Expression::AwaitExpression(awaited) = expression else { return };
        let (span, builder) = (awaited.span, self.builder);
        let Some((call, callee)) = request(&awaited.argument) else { return };
        let member = |object: &Expression<'a>, name: &str| {
            let name = IdentifierName::new(callee.span, builder.allocator().alloc_str(name), builder);
            let object = object.clone_in(builder.allocator());
            Expression::new_static_member_expression(callee.span, object, name, false, builder)
        };
        let method = callee.property.name.as_str();
        let mark = IdentifierName::new(span, "__loadstone", builder);
        let mark = StaticMemberExpression::boxed(span, member(&callee.object, method), mark, true, builder);
        let mark = Expression::new_chain_expression(span, ChainElement::StaticMemberExpression(mark), builder);
        let stepped = member(&callee.object, &format!("{STEPPED_PREFIX}{method}"));
        let arguments = call.arguments.clone_in(builder.allocator());
        let stepped = Expression::new_call_expression(call.span, stepped, None, arguments, false, builder);
        let written = awaited.argument.take_in(builder);
        let either = Expression::new_conditional_expression(span, mark, stepped, written, builder);
        *expression = Expression::new_yield_expression(span, false, Some(either), builder);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::compile::source::SourceText;
    use crate::compile::transpile::{SourceDialect, transpile};
    use crate::known_verbs::KnownVerbs;

    fn compiled(text: &str) -> String {
        let text = format!("import {{ scenario }} from \"loadstone\";\n{text}");
        let source = SourceText { file: "t.ts".into(), text };
        let verbs = KnownVerbs { options: Vec::new(), addresses: Vec::new() };
        transpile(Path::new("t.ts"), &source, &verbs, SourceDialect::Loadstone).unwrap().code
    }

    #[test]
    fn a_function_that_awaits_requests_alone_becomes_a_generator() {
        let code = compiled("scenario('a', async (user: any) => { const r = await user.get(url); if (r.ok) await (user.post('/', r)); });");
        assert!(code.contains("scenario(\"a\", __loadstone.stepped(function* (user) {"), "{code}");
        let yielded = "const r = yield user.get?.__loadstone ? user.$loadstone_get(url) : user.get(url);";
        assert!(code.contains(yielded) && code.contains("yield user.post?.__loadstone ? user.$loadstone_post(\"/\", r) :"), "{code}");
        assert!(!code.contains("await") && !code.contains("async"), "{code}");
        let code = compiled("scenario('a', async (user) => await user.get('/'), {});");
        assert!(code.contains("return yield user.get?.__loadstone ?"), "{code}");
        let code = compiled("scenario('a', async function named(user) { await user.get(this ? `/${await user.get('/')}` : '') });");
        assert!(code.contains("__loadstone.stepped(function* named(user) {") && !code.contains("await"), "{code}");
        // Functions inside it keep theirs.
        let code = compiled("scenario('a', async (user) => { await user.get('/'); [].map(async (x) => { await x; this; }); });");
        assert!(!code.contains("stepped"), "the inner function uses the outer `this`: {code}");
        let code = compiled("scenario('a', async (user) => { await user.get('/'); [].map(async (x) => { await x; }); });");
        assert!(code.contains("stepped") && code.contains("await x"), "{code}");
    }

    #[test]
    fn all_other_functions_remain() {
        for text in [
            "scenario('a', async (user) => { await user.get('/'); await user.pause('1s'); });",
            "scenario('a', async (user) => { user.get('/'); });",
            "scenario('a', async (user) => { await Promise.all([user.get('/')]); });",
            "scenario('a', async (user) => { for await (const x of y) await user.get('/'); });",
            "scenario('a', async (user) => { await user.get('/', this.x); });",
            "scenario('a', async (user) => { await user.get(arguments[1]); });",
            "scenario('a', async (user) => { await user?.get('/'); });",
            "scenario('a', async (user) => { await user.get?.('/'); });",
            "scenario('a', (user) => user.get('/'));",
            "scenario('a', run); async function run(user) { await user.get('/'); }",
            "mine('a', async (user) => { await user.get('/'); });",
            "scenario('a', async (user) => { await user.get('/'); }); // $loadstone_get",
        ] {
            assert!(!compiled(text).contains("stepped"), "{text}");
        }
    }
}
