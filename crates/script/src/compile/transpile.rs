//! Compiles one file: TypeScript or JavaScript in, plain JavaScript with positions out. Only this folder uses oxc's syntax tree.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    Argument, AssignmentTarget, CallExpression, Expression, ImportDeclarationSpecifier, ImportExpression, Program as Tree, PropertyKey,
    Statement,
};
use oxc_ast_visit::{Visit, walk};
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::{GetSpan, SourceType, Span};
use oxc_syntax::module_record::{ExportExportName, ModuleRecord};
use oxc_transformer::{TransformOptions, Transformer};

use super::constants;
use super::program::ModuleForm;
use super::source::{Positions, SourceText, source_type};
use super::stepped;
use super::user_calls;
use crate::error::ScriptError;
use crate::known_verbs::{CheckedLater, KnownVerbs};

/// Whose scripts are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceDialect {
    Loadstone,
    /// Scripts of another tool: nothing in them is a call of Loadstone, and ES modules may use `require`.
    Guest,
}

/// An import as written.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) specifier: String,
    pub(super) offset: usize,
    pub(super) length: usize,
    /// Names imported from the module (`default` among them), with their places. Empty for `import "x"`, `import()`, `require`.
    pub(super) names: Vec<(String, usize)>,
    pub(super) by_require: bool,
}

/// A compiled file.
#[derive(Debug)]
pub(super) struct Transpiled {
    pub(super) form: ModuleForm,
    pub(super) code: String,
    pub(super) positions: Positions,
    pub(super) imports: Vec<Import>,
    /// Names that the file exports (for CommonJS: appears to export), `default` among them.
    pub(super) exports: Vec<String>,
    /// Specifiers of `export * from`.
    pub(super) stars: Vec<String>,
    /// Byte ranges of the loops, in the source.
    pub(super) loops: Vec<(u32, u32)>,
    pub(super) checked_later: CheckedLater,
}

/// Compiles one file. Reports the first error in it.
pub(super) fn transpile(path: &Path, source: &SourceText, verbs: &KnownVerbs, dialect: SourceDialect) -> Result<Transpiled, ScriptError> {
    let compiled = loadstone_units::source::guarded(&source.text, || compile(path, source, verbs, dialect));
    compiled.unwrap_or_else(|problem| Err(ScriptError::new(format!("{}: {problem}", source.file))))
}

fn compile(path: &Path, source: &SourceText, verbs: &KnownVerbs, dialect: SourceDialect) -> Result<Transpiled, ScriptError> {
    let allocator = Allocator::default();
    let mut parsed = Parser::new(&allocator, &source.text, source_type(path)).parse();
    // A CommonJS file may return at its top level, which only a parse as CommonJS accepts.
    if dialect == SourceDialect::Guest && has_extension(path, "js") && parsed.diagnostics.errors().next().is_some() {
        let as_commonjs = Parser::new(&allocator, &source.text, SourceType::cjs()).parse();
        if as_commonjs.diagnostics.errors().next().is_none() {
            parsed = as_commonjs;
        }
    }
    if let Some(error) = parsed.diagnostics.errors().next() {
        let label = error.labels.first().map(|label| (label.offset() as usize, label.len() as usize));
        return Err(syntax_error(source, error.message.as_ref(), error.help.as_deref(), label));
    }
    let (exports, stars) = exports_of(&parsed.module_record);
    let mut tree = parsed.program;
    let form = if tree.source_type.is_module() || tree.source_type.is_typescript() && !has_extension(path, "cts") {
        ModuleForm::Module
    } else {
        ModuleForm::CommonJs
    };
    let semantic = SemanticBuilder::new().with_excess_capacity(2.0).with_enum_eval(true).with_check_syntax_error(true).build(&tree);
    if let Some(error) = semantic.diagnostics.errors().next() {
        let label = error.labels.first().map(|label| (label.offset() as usize, label.len() as usize));
        return Err(syntax_error(source, error.message.as_ref(), error.help.as_deref(), label));
    }
    let checked_later = user_calls::look_through(&tree, semantic.semantic.scoping(), source, verbs)?;
    let transformed =
        Transformer::new(&allocator, path, &TransformOptions::default()).build_with_scoping(semantic.semantic.into_scoping(), &mut tree);
    if let Some(error) = transformed.diagnostics.errors().next() {
        let label = error.labels.first().map(|label| (label.offset() as usize, label.len() as usize));
        return Err(syntax_error(source, error.message.as_ref(), error.help.as_deref(), label));
    }
    let mut scan = Scan { source, form, dialect, imports: Vec::new(), exports, loops: Vec::new(), decorator: None };
    scan.visit_program(&tree);
    if let Some(span) = scan.decorator {
        let at = source.place_of(span.start as usize, span.size() as usize);
        return Err(ScriptError::new("decorators are not supported in scenarios")
            .at(at)
            .help("call the function on the class or method instead"));
    }
    // A CommonJS file may return before its end, where the declarations would be.
    let constants = if form == ModuleForm::Module && dialect == SourceDialect::Loadstone {
        stepped::step(&mut tree, &source.text, &allocator);
        constants::hoist(&mut tree, &source.text, &allocator)
    } else {
        String::new()
    };
    let options = CodegenOptions { source_map_path: Some(path.to_path_buf()), ..CodegenOptions::default() };
    let output = Codegen::new().with_options(options).build(&tree);
    let positions = output.map.map(|map| {
        Positions::new(map.get_tokens().map(|t| (t.get_dst_line(), t.get_dst_col(), t.get_src_line(), t.get_src_col())).collect())
    });
    let Scan { imports, exports, loops, .. } = scan;
    let (code, positions) = (output.code + &constants, positions.unwrap_or_default());
    Ok(Transpiled { form, code, positions, imports, exports, stars, loops, checked_later })
}

fn exports_of(record: &ModuleRecord<'_>) -> (Vec<String>, Vec<String>) {
    let mut names = Vec::new();
    let mut stars = Vec::new();
    for entry in record.local_export_entries.iter().chain(&record.indirect_export_entries).chain(&record.star_export_entries) {
        match (&entry.export_name, &entry.module_request) {
            (ExportExportName::Name(name), _) => names.push(name.name.to_string()),
            (ExportExportName::Default(_), _) => names.push("default".to_owned()),
            (ExportExportName::Null, Some(from)) => stars.push(from.name.to_string()),
            (ExportExportName::Null, None) => {}
        }
    }
    (names, stars)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn syntax_error(source: &SourceText, message: &str, help: Option<&str>, label: Option<(usize, usize)>) -> ScriptError {
    let mut error = ScriptError::new(format!("syntax error: {message}"));
    if let Some((offset, length)) = label {
        error = error.at(source.place_of(offset, length));
    }
    error.help(help.unwrap_or("the file is read as TypeScript (ES2023, no JSX); correct the marked place"))
}

/// Collects imports, `require` calls and CommonJS exports.
struct Scan<'s> {
    source: &'s SourceText,
    form: ModuleForm,
    dialect: SourceDialect,
    imports: Vec<Import>,
    exports: Vec<String>,
    loops: Vec<(u32, u32)>,
    decorator: Option<Span>,
}

impl Scan<'_> {
    fn import(&mut self, specifier: &str, span: Span, names: Vec<(String, usize)>, by_require: bool) {
        self.imports.push(Import {
            specifier: specifier.to_owned(),
            offset: span.start as usize,
            length: span.size() as usize,
            names,
            by_require,
        });
    }

    fn export(&mut self, name: &str) {
        if name != "default" && !self.exports.iter().any(|known| known == name) {
            self.exports.push(name.to_owned());
        }
    }

    /// `exports.x = …`, `module.exports.x = …`, `module.exports = { x, … }`.
    fn assignment(&mut self, target: &AssignmentTarget<'_>, value: &Expression<'_>) {
        let AssignmentTarget::StaticMemberExpression(member) = target else { return };
        let of = self.text(member.object.span());
        if of == "exports" || of == "module.exports" {
            self.export(member.property.name.as_str());
        } else if of == "module"
            && member.property.name == "exports"
            && let Expression::ObjectExpression(object) = value
        {
            for property in &object.properties {
                if let oxc_ast::ast::ObjectPropertyKind::ObjectProperty(property) = property
                    && let PropertyKey::StaticIdentifier(name) = &property.key
                {
                    self.export(name.name.as_str());
                }
            }
        }
    }

    fn text(&self, span: Span) -> &str {
        self.source.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }
}

impl<'a> Visit<'a> for Scan<'_> {
    fn visit_program(&mut self, tree: &Tree<'a>) {
        for statement in &tree.body {
            match statement {
                Statement::ImportDeclaration(import) => {
                    let names = import.specifiers.iter().flatten().filter_map(|specifier| match specifier {
                        ImportDeclarationSpecifier::ImportSpecifier(s) => {
                            Some((s.imported.name().to_string(), s.imported.span().start as usize))
                        }
                        ImportDeclarationSpecifier::ImportDefaultSpecifier(s) => Some(("default".to_owned(), s.span.start as usize)),
                        ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => None,
                    });
                    let names = names.collect();
                    self.import(import.source.value.as_str(), import.source.span, names, false);
                }
                Statement::ExportFromDeclaration(export) => {
                    let names = export.specifiers.iter().map(|s| (s.local.name().to_string(), s.local.span().start as usize)).collect();
                    self.import(export.source.value.as_str(), export.source.span, names, false);
                }
                Statement::ExportAllDeclaration(export) => self.import(export.source.value.as_str(), export.source.span, Vec::new(), false),
                _ => {}
            }
        }
        walk::walk_program(self, tree);
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        if let Expression::StringLiteral(literal) = &import.source {
            self.import(literal.value.as_str(), literal.span, Vec::new(), false);
        }
        walk::walk_import_expression(self, import);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if self.form == ModuleForm::CommonJs || self.dialect == SourceDialect::Guest {
            if let (Expression::Identifier(callee), Some(Argument::StringLiteral(literal))) = (&call.callee, call.arguments.first())
                && callee.name == "require"
            {
                self.import(literal.value.as_str(), literal.span, Vec::new(), true);
            }
            if let (Some(Argument::Identifier(object)), Some(Argument::StringLiteral(name))) =
                (call.arguments.first(), call.arguments.get(1))
                && object.name == "exports"
                && self.text(call.callee.span()) == "Object.defineProperty"
            {
                self.export(name.value.as_str());
            }
        }
        walk::walk_call_expression(self, call);
    }

    fn visit_assignment_expression(&mut self, assignment: &oxc_ast::ast::AssignmentExpression<'a>) {
        if self.form == ModuleForm::CommonJs {
            self.assignment(&assignment.left, &assignment.right);
        }
        walk::walk_assignment_expression(self, assignment);
    }

    fn visit_statement(&mut self, statement: &Statement<'a>) {
        if statement.is_iteration_statement() {
            let span = statement.span();
            self.loops.push((span.start, span.end));
        }
        walk::walk_statement(self, statement);
    }

    fn visit_decorator(&mut self, decorator: &oxc_ast::ast::Decorator<'a>) {
        self.decorator.get_or_insert(decorator.span);
    }
}
