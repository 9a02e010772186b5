//! What makes a script a test: its options, its default function, `setup` and `teardown`. It becomes the end of the file.

use std::collections::{HashMap, HashSet};

use oxc_ast::AstKind;
use oxc_semantic::{NodeId, SymbolId};
use oxc_span::Span;

use super::clients;
use super::edits::Pieces;
use super::effects::{is_socket, is_verb};
use super::load::{LoadReader, ScenarioLoad};
use super::names::K6Module;
use super::rewrite::{Rewrite, local_name};
use super::state::{Omissions, ScriptFile, State};
use super::thresholds::{OwnMetrics, thresholds};
use super::values::Value;
use crate::error::ImportError;
use crate::imported::{Note, NoteKind};
use crate::text::{camel_case, quoted};

/// The parts of a script that k6 itself calls or reads.
pub(super) struct Test {
    options: Option<NodeId>,
    settings: Value,
    /// Functions of scenarios, `default` among them, by the names of k6.
    functions: HashMap<String, EntryFunction>,
    setup: Option<NodeId>,
    teardown: Option<NodeId>,
}

/// A function that k6 calls.
#[derive(Clone, Copy)]
struct EntryFunction {
    /// What is exported.
    exported: NodeId,
    /// Its function, where that is in this file.
    function: Option<NodeId>,
    symbol: Option<SymbolId>,
}

impl Test {
    pub(super) fn of(state: &State<'_, '_>, file: &ScriptFile<'_>, exports: &HashMap<String, NodeId>) -> Result<Self, ImportError> {
        let options = exports.get("options").copied();
        let settings = options.map_or(Value::Object(Vec::new()), |options| state.value(options));
        let mut wanted: HashSet<String> = HashSet::from(["default".to_owned()]);
        if let Some(Value::Object(scenarios)) = settings.get("scenarios") {
            wanted.extend(scenarios.iter().filter_map(|(_, scenario)| Some(scenario.get("exec")?.text()?.to_owned())));
        }
        let entry = |name: &String| {
            let &exported = exports.get(name)?;
            let named = state.tree.symbol(exported);
            let own = state.tree.function(exported).map(|_| exported);
            let function = own.or_else(|| named.and_then(|symbol| state.tree.function_of(symbol)));
            let symbol = named.or_else(|| function.and_then(|function| state.tree.bound(function).0));
            Some((name.clone(), EntryFunction { exported, function, symbol }))
        };
        let functions: HashMap<String, EntryFunction> = wanted.iter().filter_map(entry).collect();
        if functions.is_empty() {
            return Err(ImportError::new(
                file.name,
                None,
                "the script exports no default function, and no function of a scenario",
                "give the script that you pass to `k6 run`, not a file that it imports",
            ));
        }
        let around = |name: &str| exports.get(name).copied().filter(|&id| state.tree.function(id).is_some());
        Ok(Self { options, settings, functions, setup: around("setup"), teardown: around("teardown") })
    }

    /// The functions that are handed a user.
    pub(super) fn functions(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.functions.values().filter_map(|entry| entry.function).chain(self.setup).chain(self.teardown)
    }

    /// Changes what k6 read and called, and returns what stands below it.
    pub(super) fn write(
        &self,
        state: &State<'_, '_>,
        file: &ScriptFile<'_>,
        rewrite: &mut Rewrite<'_, '_>,
        left_out: &Omissions,
        notes: &mut Vec<Note>,
    ) -> Result<String, ImportError> {
        self.take_options(state, rewrite);
        let prepare = self.setup.map(|id| rename(state, rewrite, id, "prepare"));
        let clean_up = self.teardown.map(|id| rename(state, rewrite, id, "cleanUp"));
        let mut names = HashMap::new();
        let mut entries: Vec<(&String, EntryFunction)> = self.functions.iter().map(|(name, entry)| (name, *entry)).collect();
        entries.sort_by_key(|(_, entry)| entry.exported);
        for (name, entry) in entries {
            names.insert(name.clone(), named(state, rewrite, name, entry));
        }
        let local = |name: &'static str| local_name(state.tree, state.names, name);
        let render = |id: NodeId| rewrite.edits.render(state.tree.text, state.tree.span(id));
        let mut reader = LoadReader { render: &render, local: &local, uses: Vec::new(), notes: Vec::new() };
        let parts = reader.parts(&self.settings);
        let LoadReader { mut uses, notes: mut changes, .. } = reader;
        let is_hollow = |part: &ScenarioLoad| self.is_hollow(state, rewrite, left_out, part);
        let (hollow, parts): (Vec<ScenarioLoad>, Vec<ScenarioLoad>) = parts.into_iter().partition(is_hollow);
        for part in &hollow {
            let why = if self.functions.contains_key(&part.function) {
                "nothing of it could be translated"
            } else {
                "its function does not exist"
            };
            notes.push(Note { kind: NoteKind::LeftOut, line: None, text: format!("scenario \"{}\": {why}", part.name) });
        }
        if parts.is_empty() {
            let reason = left_out.values().next().cloned().unwrap_or_else(|| "no scenario has a function".to_owned());
            let line = left_out.keys().next().map(|&id| state.tree.line(id));
            return Err(ImportError::new(
                file.name,
                line,
                format!("nothing of the script can be translated: {reason}"),
                "docs/import.md lists what is translated",
            ));
        }
        let mut text = String::new();
        let setup = self.setup.zip(prepare);
        let prepared = setup.map(|(_, name)| {
            let prepared = rewrite.fresh("prepared");
            text.push_str(&format!("\nconst {prepared} = {}({name});\n", rewrite.loadstone("setup")));
            prepared
        });
        if let Some((id, name)) = self.teardown.zip(clean_up) {
            let call = self.handed(state, rewrite, id, &name, prepared.as_deref());
            text.push_str(&format!("\n{}({call});\n", rewrite.loadstone("teardown")));
        }
        let mut loads = Vec::new();
        for part in &parts {
            let constant = rewrite.fresh(&camel_case(if part.name == "default" { "main" } else { &part.name }));
            text.push_str(&self.scenario(state, rewrite, part, &constant, &names[&part.function], prepared.as_deref()));
            loads.push(format!("{constant}.run({})", part.profile));
        }
        text.push_str(&self.closing(state, rewrite, &loads, &mut uses, &mut changes, notes));
        rewrite.uses.extend(uses);
        notes.extend(changes.into_iter().map(|text| Note { kind: NoteKind::Changed, line: None, text }));
        Ok(text)
    }

    fn is_hollow(&self, state: &State<'_, '_>, rewrite: &Rewrite<'_, '_>, left_out: &Omissions, part: &ScenarioLoad) -> bool {
        let Some(entry) = self.functions.get(&part.function) else { return true };
        // A script that needs nothing of k6 may say nothing, too.
        if left_out.is_empty() && state.is_whole {
            return false;
        }
        let Some(function) = entry.function else { return left_out.keys().any(|&id| state.tree.within(entry.exported, id)) };
        let tree = state.tree;
        let sends = |id: NodeId| {
            let verb = tree.call(id).and_then(|call| state.names.member(tree, call.callee, &K6Module::Http));
            let socket = is_socket(tree, state.names, id)
                || tree.call(id).is_some_and(|call| state.names.path(tree, call.callee).is_some_and(|(module, _)| module == K6Module::Ws));
            let elsewhere =
                tree.call(id).and_then(|call| tree.symbol(tree.strip(call.callee))).and_then(|symbol| state.names.local_effect(symbol));
            let sends = elsewhere.is_some_and(|effect| effect.awaits) || socket || clients::sends(tree, state.names, id);
            !(rewrite.left_out)(id) && (sends || verb.is_some_and(|verb| is_verb(&verb) || verb == "batch"))
        };
        // Its own requests, or those of functions that several scenarios may call.
        let others: Vec<NodeId> = self.functions().filter(|&other| other != function).collect();
        let counts = |id: NodeId| !others.iter().any(|&other| tree.within(id, other));
        !tree.all().any(|id| sends(id) && counts(id))
    }

    /// `options` is read now, and goes unless the script itself reads it.
    fn take_options(&self, state: &State<'_, '_>, rewrite: &mut Rewrite<'_, '_>) {
        let tree = state.tree;
        let Some(statement) = self.options.and_then(|options| tree.statement(options)) else { return };
        let Some(&declaration) = tree.children(statement).first() else { return };
        let name = tree.children(declaration).first().and_then(|&declarator| tree.children(declarator).first().copied());
        let read = name.and_then(|name| tree.symbol(name)).is_some_and(|symbol| !tree.references(symbol).is_empty());
        let span = if read { Span::new(tree.span(statement).start, tree.span(declaration).start) } else { tree.span(statement) };
        rewrite.edits.replace(span, Pieces::new());
    }

    /// A function as a step of Loadstone's: handed what the set-up left, where it takes it.
    fn handed(&self, state: &State<'_, '_>, rewrite: &Rewrite<'_, '_>, function: NodeId, name: &str, prepared: Option<&str>) -> String {
        let takes = state.tree.function(function).is_some_and(|parts| !parts.parameters.is_empty());
        match (takes, prepared) {
            (true, Some(prepared)) => format!("({0}) => {name}({0}, {prepared}.value)", rewrite.user),
            (true, None) => format!("({0}) => {name}({0}, undefined)", rewrite.user),
            (false, _) => name.to_owned(),
        }
    }

    fn scenario(
        &self,
        state: &State<'_, '_>,
        rewrite: &mut Rewrite<'_, '_>,
        part: &ScenarioLoad,
        constant: &str,
        name: &str,
        prepared: Option<&str>,
    ) -> String {
        let tree = state.tree;
        let entry = self.functions[&part.function];
        let user = rewrite.user;
        let counts = tree.all().any(|id| {
            !(rewrite.left_out)(id)
                && (tree.global(id) == Some("__ITER")
                    || state.names.member(tree, id, &K6Module::Execution).is_some_and(|path| path.starts_with("vu.iteration")))
        });
        let keeps = self.settings.get("noCookiesReset").is_some_and(Value::is_true);
        let requests =
            tree.all().any(|id| !(rewrite.left_out)(id) && state.names.path(tree, id).is_some_and(|(module, _)| module == K6Module::Http));
        let call = match entry.function {
            Some(function) => self.handed(state, rewrite, function, name, prepared),
            None => name.to_owned(),
        };
        let scenario = rewrite.loadstone("scenario");
        let mut first = Vec::new();
        if part.closed && requests && !keeps {
            first.push(format!("  {user}.cookies.clear(); // As k6 does before each iteration.\n"));
        }
        if counts {
            first.push(format!("  {user}.state.iteration = ({user}.state.iteration ?? -1) + 1;\n"));
        }
        let mut last = String::new();
        if rewrite.helpers.contains("K6Socket") {
            last.push_str(&format!("  await Promise.all({user}.state.sockets?.splice(0) ?? []);\n"));
        }
        if rewrite.helpers.contains("K6Stream") {
            last.push_str(&format!("  for (const stream of {user}.state.streams?.splice(0) ?? []) await stream.finished();\n"));
        }
        if first.is_empty() && last.is_empty() {
            return format!("\nconst {constant} = {scenario}({}, {call});\n", quoted(&part.name));
        }
        let call = match call.split_once("=> ") {
            Some((_, call)) => call.to_owned(),
            None => format!("{call}({user})"),
        };
        let waits = entry
            .function
            .is_none_or(|function| rewrite.effects.of_function(function).awaits || tree.function(function).is_some_and(|f| f.is_async));
        let (arrow, wait) = if waits { (format!("async ({user})"), "await ") } else { (format!("({user})"), "") };
        format!("\nconst {constant} = {scenario}({}, {arrow} => {{\n{}  {wait}{call};\n{last}}});\n", quoted(&part.name), first.concat())
    }

    fn closing(
        &self,
        state: &State<'_, '_>,
        rewrite: &mut Rewrite<'_, '_>,
        loads: &[String],
        uses: &mut Vec<&'static str>,
        changes: &mut Vec<String>,
        notes: &mut Vec<Note>,
    ) -> String {
        let mut text = format!("\nexport default {}({{\n", rewrite.loadstone("test"));
        if let Some(target) = rewrite.grpc_target() {
            text.push_str(&format!("  target: {target},\n"));
        }
        match loads {
            [one] => text.push_str(&format!("  load: {one},\n")),
            many => {
                let lines: String = many.iter().map(|load| format!("    {load},\n")).collect();
                text.push_str(&format!("  load: [\n{lines}  ],\n"));
            }
        }
        if let Some(agent) = self.settings.get("userAgent").and_then(Value::text) {
            text.push_str(&format!("  headers: {{ \"user-agent\": {} }},\n", quoted(agent)));
        }
        if let Some(declared) = self.settings.get("thresholds") {
            let local = |name: &'static str| local_name(state.tree, state.names, name);
            let own = own_metrics(state, rewrite);
            let imports = |wanted: &K6Module| {
                state.tree.all().any(|id| state.names.path(state.tree, id).is_some_and(|(module, _)| module == *wanted))
            };
            let only_grpc = imports(&K6Module::Grpc) && !imports(&K6Module::Http);
            text.push_str("  thresholds: [\n");
            for (words, translated) in thresholds(declared, &own, only_grpc, &local, uses) {
                match translated {
                    Ok(threshold) => text.push_str(&format!("    {threshold},\n")),
                    Err(reason) => {
                        text.push_str(&format!("    // Left out: {reason}.\n    // {words}\n"));
                        notes.push(Note { kind: NoteKind::LeftOut, line: None, text: format!("threshold `{words}`: {reason}") });
                    }
                }
            }
            text.push_str("  ],\n");
        }
        let options = self.run_options(state, rewrite, changes);
        if !options.is_empty() {
            text.push_str(&format!("  options: {{ {} }},\n", options.join(", ")));
        }
        text.push_str("});\n");
        text
    }

    /// k6's options of the whole run.
    fn run_options(&self, state: &State<'_, '_>, rewrite: &Rewrite<'_, '_>, changes: &mut Vec<String>) -> Vec<String> {
        let mut options = Vec::new();
        let secure = |id: NodeId| {
            let written = matches!(state.tree.kind(id), AstKind::StringLiteral(_) | AstKind::TemplateElement(_));
            let imported = state.tree.parent(id).is_some_and(|up| matches!(state.tree.kind(up), AstKind::ImportDeclaration(_)));
            written && !imported && state.tree.source(id).contains("https://")
        };
        // k6 speaks HTTP/2 where TLS agrees on it.
        if state.tree.all().any(secure) {
            options.push("http2: \"auto\"".to_owned());
        }
        let traced = state
            .tree
            .all()
            .any(|id| !(rewrite.left_out)(id) && state.names.path(state.tree, id).is_some_and(|(m, _)| m == K6Module::Tempo));
        if rewrite.reflects {
            options.push("grpcReflection: true".to_owned());
        }
        if traced {
            options.push("traceparent: true".to_owned());
        }
        let Value::Object(entries) = &self.settings else {
            changes.push("`options` could not be read, because the script computes them at run time".into());
            return options;
        };
        for (name, value) in entries {
            let number = value.number().map(crate::text::number);
            let reason = match (name.as_str(), number) {
                ("maxRedirects", Some(count)) => {
                    options.push(format!("redirects: {count}"));
                    continue;
                }
                ("batchPerHost", Some(count)) => {
                    options.push(format!("connectionsPerUser: {count}"));
                    continue;
                }
                ("insecureSkipTLSVerify", _) if value.is_true() => {
                    options.push("insecure: true".into());
                    continue;
                }
                ("noConnectionReuse", _) if value.is_true() => {
                    options.push("keepAlive: false".into());
                    continue;
                }
                ("vus" | "duration" | "stages" | "iterations" | "scenarios" | "thresholds" | "userAgent" | "noCookiesReset", _) => continue,
                (_, _) if *value == Value::Boolean(false) || *value == Value::Nothing => continue,
                ("rps", _) => "load is given as arrivals: `arrivals(rate)`",
                ("summaryTrendStats" | "summaryTimeUnit", _) => "see `--summary` of `loadstone run`",
                ("setupTimeout" | "teardownTimeout", _) => "a set-up or tear-down may take ten minutes",
                ("discardResponseBodies", _) => "it is `discardBody: true` of a request",
                _ => "it has no counterpart",
            };
            changes.push(format!("`{name}` of the options is left out: {reason}"));
        }
        options
    }
}

/// Names that hold the script's own metrics, by the metrics' names.
fn own_metrics(state: &State<'_, '_>, rewrite: &Rewrite<'_, '_>) -> OwnMetrics {
    let tree = state.tree;
    let mut metrics = OwnMetrics::new();
    for id in tree.all().filter(|&id| matches!(tree.kind(id), AstKind::NewExpression(_)) && !(rewrite.left_out)(id)) {
        let Some(call) = tree.call(id) else { continue };
        let kind = state.names.member(tree, call.callee, &K6Module::Metrics).and_then(|name| super::library::metric_kind(&name));
        let name = call.arguments.first().and_then(|&name| tree.string(name));
        let constant = tree.parent(id).filter(|&up| matches!(tree.kind(up), AstKind::VariableDeclarator(_)));
        let constant = constant.and_then(|up| tree.children(up).first()).map(|&name| tree.source(name).to_owned());
        if let (Some(kind), Some(name), Some(constant)) = (kind, name, constant) {
            metrics.insert(name, (kind, constant));
        }
    }
    metrics
}

/// Gives a function that k6 calls by its name another one, as `setup` is Loadstone's.
fn rename(state: &State<'_, '_>, rewrite: &mut Rewrite<'_, '_>, id: NodeId, wanted: &str) -> String {
    let tree = state.tree;
    let name = rewrite.fresh(wanted);
    strip_export(state, rewrite, id);
    if let (Some(symbol), _) = tree.bound(id) {
        rewrite.edits.replace(tree.symbol_span(symbol), name.clone().into());
        for used in tree.references(symbol) {
            rewrite.edits.replace(tree.span(used), name.clone().into());
        }
    }
    name
}

/// Takes `export` away from a declaration.
fn strip_export(state: &State<'_, '_>, rewrite: &mut Rewrite<'_, '_>, id: NodeId) {
    let tree = state.tree;
    let export = tree.ancestors(id).find(|&at| matches!(tree.kind(at), AstKind::ExportDeclaration(_)));
    if let Some(export) = export
        && let Some(&declaration) = tree.children(export).first()
    {
        let span = Span::new(tree.span(export).start, tree.span(declaration).start);
        if !rewrite.edits.has(span) {
            rewrite.edits.replace(span, Pieces::new());
        }
    }
}

/// What the function of a scenario is called in the file.
fn named(state: &State<'_, '_>, rewrite: &mut Rewrite<'_, '_>, name: &str, entry: EntryFunction) -> String {
    let tree = state.tree;
    if name != "default" {
        strip_export(state, rewrite, entry.exported);
        return entry.symbol.map_or_else(|| name.to_owned(), |symbol| tree.symbol_name(symbol).to_owned());
    }
    let export = tree.parent(entry.exported).unwrap_or(entry.exported);
    let (span, inner) = (tree.span(export), tree.span(entry.exported));
    // `export default name` and `export { name as default }`.
    if let Some(symbol) = tree.symbol(entry.exported) {
        let statement = tree.statement(export).unwrap_or(export);
        rewrite.edits.replace(tree.span(statement), Pieces::new());
        return tree.symbol_name(symbol).to_owned();
    }
    let before = Span::new(span.start, inner.start);
    if let AstKind::Function(function) = tree.kind(entry.exported) {
        rewrite.edits.replace(before, Pieces::new());
        if let Some(symbol) = entry.symbol {
            return tree.symbol_name(symbol).to_owned();
        }
        let function_name = rewrite.fresh("iterate");
        if let Some(parts) = tree.function(entry.exported) {
            let head = if function.r#async { "async function" } else { "function" };
            let head_span = Span::new(inner.start, tree.span(parts.list).start);
            rewrite.edits.replace(head_span, format!("{head} {function_name}").into());
        }
        return function_name;
    }
    let function_name = rewrite.fresh("iterate");
    rewrite.edits.replace(before, format!("const {function_name} = ").into());
    function_name
}
