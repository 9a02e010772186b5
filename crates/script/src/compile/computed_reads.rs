//! Finds where a test reads a file, while the load runs, whose path its text does not name.
//!
//! Agents of a fleet receive the files that the test reads while it is loaded, and those that its text names. A path that a scenario computes is
//! neither. The call may be in the scenario, or in a function that it uses, in any module. Functions are followed by name, so two functions of one name
//! count as one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    Argument, BindingPattern, CallExpression, ExportDefaultDeclaration, ExportDefaultDeclarationKind, Expression, Function,
    IdentifierReference, ImportDeclarationSpecifier, MethodDefinition, ObjectProperty, Program, PropertyDefinition, Statement,
    StaticMemberExpression, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::Span;
use oxc_syntax::scope::ScopeFlags;

use super::call_place::CallsOf;
use super::source::{SourceText, source_type};
use crate::error::SourcePlace;

/// Functions whose functions run on the machines that generate the load.
const LOAD: [&str; 3] = ["scenario", "setup", "teardown"];
/// Functions that read a file when they are called.
const READERS: [&str; 5] = ["file", "template", "csv", "json", "jsonl"];
/// The name of a module's default export.
const DEFAULT: &str = "default";

/// The first such read, by file and position.
pub(super) fn place_of_computed_read<'s>(sources: impl Iterator<Item = &'s SourceText>) -> Option<SourcePlace> {
    let mut sources: Vec<&SourceText> = sources.collect();
    sources.sort_by(|a, b| a.file.cmp(&b.file));
    let mut functions = FoundFunctions::default();
    for (number, source) in sources.iter().enumerate() {
        let allocator = Allocator::default();
        let tree = Parser::new(&allocator, &source.text, source_type(Path::new(&*source.file))).parse().program;
        let mut module = ModuleReads {
            number,
            load: LOAD.map(|name| CallsOf::imported(&tree, name)).into(),
            readers: READERS.map(|name| CallsOf::imported(&tree, name)).into(),
            aliases: aliases(&tree),
            within: Vec::new(),
            depth: 0,
            functions: &mut functions,
        };
        module.visit_program(&tree);
    }
    let (number, span) = functions.first_read()?;
    Some(sources[number].place_of(span.start as usize, span.size() as usize))
}

/// Local names of imports that have another name in their module.
fn aliases(tree: &Program<'_>) -> BTreeMap<String, String> {
    let imports = tree.body.iter().filter_map(|statement| match statement {
        Statement::ImportDeclaration(import) => Some(import),
        _ => None,
    });
    let named = imports.flat_map(|import| import.specifiers.iter().flatten()).filter_map(|specifier| match specifier {
        ImportDeclarationSpecifier::ImportSpecifier(one) => Some((one.local.name.to_string(), one.imported.name().to_string())),
        ImportDeclarationSpecifier::ImportDefaultSpecifier(one) => Some((one.local.name.to_string(), DEFAULT.to_owned())),
        ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => None,
    });
    named.collect()
}

/// Module and position of a read.
type ReadAt = (usize, Span);

/// The body of a function, or (`None` as its name) the functions that generate load.
#[derive(Default)]
struct FunctionBody {
    reads: Vec<ReadAt>,
    uses: BTreeSet<String>,
}

#[derive(Default)]
struct FoundFunctions(BTreeMap<Option<String>, FunctionBody>);

impl FoundFunctions {
    /// The first read that the load reaches.
    fn first_read(&self) -> Option<ReadAt> {
        let (mut reached, mut open) = (BTreeSet::from([None]), vec![None]);
        let mut reads = Vec::new();
        while let Some(name) = open.pop() {
            let Some(body) = self.0.get(&name) else { continue };
            reads.extend(&body.reads);
            for used in body.uses.iter().map(|used| Some(used.clone())) {
                if reached.insert(used.clone()) {
                    open.push(used);
                }
            }
        }
        reads.into_iter().copied().min_by_key(|(number, span)| (*number, span.start))
    }
}

/// Collects what the functions of one module read and use.
struct ModuleReads<'n, 'f> {
    number: usize,
    load: Vec<CallsOf<'n>>,
    readers: Vec<CallsOf<'n>>,
    aliases: BTreeMap<String, String>,
    /// Names of the functions around the visited node.
    within: Vec<String>,
    /// Number of calls around the visited node that generate load.
    depth: usize,
    functions: &'f mut FoundFunctions,
}

impl ModuleReads<'_, '_> {
    /// Adds to each function around the visited node.
    fn add(&mut self, change: impl Fn(&mut FunctionBody)) {
        let load = (self.depth > 0).then_some(None);
        for name in self.within.iter().cloned().map(Some).chain(load) {
            change(self.functions.0.entry(name).or_default());
        }
    }

    fn named(&mut self, name: Option<String>, visit: impl FnOnce(&mut Self)) {
        let is_named = name.is_some();
        self.within.extend(name);
        visit(self);
        if is_named {
            self.within.pop();
        }
    }

    fn uses(&mut self, name: &str) {
        let name = self.aliases.get(name).map_or(name, String::as_str).to_owned();
        self.add(|body| {
            body.uses.insert(name.clone());
        });
    }
}

fn is_function(expression: &Expression<'_>) -> bool {
    matches!(expression.get_inner_expression(), Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_))
}

impl<'a> Visit<'a> for ModuleReads<'_, '_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        let is_computed = match call.arguments.first() {
            None | Some(Argument::StringLiteral(_)) => false,
            Some(Argument::TemplateLiteral(template)) => !template.expressions.is_empty(),
            Some(_) => true,
        };
        if is_computed && self.readers.iter().any(|reader| reader.is_it(&call.callee)) {
            let read = (self.number, call.span);
            self.add(|body| body.reads.push(read));
        }
        let generates = usize::from(self.load.iter().any(|load| load.is_it(&call.callee)));
        self.depth += generates;
        walk::walk_call_expression(self, call);
        self.depth -= generates;
    }

    fn visit_identifier_reference(&mut self, identifier: &IdentifierReference<'a>) {
        self.uses(identifier.name.as_str());
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        self.uses(member.property.name.as_str());
        walk::walk_static_member_expression(self, member);
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        let name = function.id.as_ref().map(|id| id.name.to_string());
        self.named(name, |module| walk::walk_function(module, function, flags));
    }

    fn visit_variable_declarator(&mut self, declared: &VariableDeclarator<'a>) {
        let name = match &declared.id {
            BindingPattern::BindingIdentifier(id) if declared.init.as_ref().is_some_and(is_function) => Some(id.name.to_string()),
            _ => None,
        };
        self.named(name, |module| walk::walk_variable_declarator(module, declared));
    }

    fn visit_object_property(&mut self, property: &ObjectProperty<'a>) {
        let name = property.key.static_name().filter(|_| is_function(&property.value)).map(|name| name.to_string());
        self.named(name, |module| walk::walk_object_property(module, property));
    }

    fn visit_method_definition(&mut self, method: &MethodDefinition<'a>) {
        let name = method.key.static_name().map(|name| name.to_string());
        self.named(name, |module| walk::walk_method_definition(module, method));
    }

    fn visit_property_definition(&mut self, property: &PropertyDefinition<'a>) {
        let name = property.key.static_name().filter(|_| property.value.as_ref().is_some_and(is_function)).map(|name| name.to_string());
        self.named(name, |module| walk::walk_property_definition(module, property));
    }

    fn visit_export_default_declaration(&mut self, export: &ExportDefaultDeclaration<'a>) {
        let is_one = match &export.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(_) => true,
            declaration => declaration.as_expression().is_some_and(is_function),
        };
        self.named(is_one.then(|| DEFAULT.to_owned()), |module| walk::walk_export_default_declaration(module, export));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const IMPORTS: &str = "import { csv, file, scenario, setup, template } from \"loadstone\";";

    /// `FILE:LINE:COLUMN WIDTH`
    fn computed(modules: &[(&str, &str)]) -> Option<String> {
        let sources: Vec<SourceText> =
            modules.iter().map(|(file, text)| SourceText { file: Arc::from(*file), text: (*text).to_owned() }).collect();
        place_of_computed_read(sources.iter()).map(|place| format!("{}:{}:{} {}", place.file, place.line, place.column, place.width))
    }

    fn of(body: &str) -> Option<String> {
        computed(&[("a.load.ts", &format!("{IMPORTS}\n{body}"))])
    }

    #[test]
    fn paths_that_scenarios_compute_are_found() {
        assert_eq!(of("scenario(\"S\", async (user) => {\n  file(`${user.number}.txt`);\n});").unwrap(), "a.load.ts:3:3 26");
        assert_eq!(of("scenario(\"S\", () => template(name, {}));").unwrap(), "a.load.ts:2:21 18");
        assert_eq!(of("setup(() => csv(`${1}.csv`));").unwrap(), "a.load.ts:2:13 15");
    }

    #[test]
    fn paths_that_functions_of_scenarios_compute_are_found() {
        for body in [
            "const read = (n) => file(`${n}.txt`); scenario(\"S\", () => read(1));",
            "function read(n) { return file(n + \".txt\"); } scenario(\"S\", async () => { await read(1); });",
            "function read(n) { return file(n); } const body = (n) => ({ body: read(n) }); scenario(\"S\", () => body(1));",
            "const files = { read: (n) => file(n) }; scenario(\"S\", () => files.read(1));",
            "class Files { read(n) { return file(n); } } const all = new Files(); scenario(\"S\", () => all.read(1));",
            "async function run(user) { file(user.number + \".txt\"); } scenario(\"S\", run);",
            "const run = async (user) => { [1].map((n) => file(`${n}`)); }; scenario(\"S\", run);",
        ] {
            assert!(of(body).is_some(), "{body}");
        }
    }

    #[test]
    fn functions_of_other_modules_are_followed() {
        let helper =
            "import { file } from \"loadstone\";\nexport const read = (n) => file(n);\nexport default function (n) { return read(n); }";
        for test in [
            "import { read } from \"./helper\"; scenario(\"S\", () => read(1));",
            "import { read as bodyOf } from \"./helper\"; scenario(\"S\", () => bodyOf(1));",
            "import bodyOf from \"./helper\"; scenario(\"S\", () => bodyOf(1));",
            "import * as helper from \"./helper\"; scenario(\"S\", () => helper.read(1));",
        ] {
            let found = computed(&[("a.load.ts", &format!("{IMPORTS}\n{test}")), ("helper.ts", helper)]);
            assert_eq!(found.unwrap(), "helper.ts:2:28 7", "{test}");
        }
    }

    #[test]
    fn files_that_are_known_before_the_load_are_not() {
        for known in [
            "scenario(\"S\", () => file(\"a.txt\"));",
            "scenario(\"S\", () => file(`a.txt`));",
            "const read = (n) => file(`${n}.txt`); read(1);",
            "const read = (n) => file(`${n}.txt`); const all = [1, 2].map(read); scenario(\"S\", () => all[0]);",
            "const all = [1, 2].map((n) => file(`${n}.txt`)); scenario(\"S\", () => all[0]);",
            "const all = { bodies: [1, 2].map((n) => file(`${n}.txt`)) }; scenario(\"S\", () => all.bodies[0]);",
            "scenario(\"S\", () => other.file(name));",
        ] {
            assert_eq!(of(known), None, "{known}");
        }
    }
}
