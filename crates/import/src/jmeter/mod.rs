//! Test plans of JMeter (`.jmx`): thread groups, HTTP samplers and their surroundings, as a test with the same requests and load.
//!
//! `tree` reads the file, `scope` finds what applies to a sampler, `sampler`, `checks`, `timers` and `controllers` write code, `load` reads thread groups, and
//! `values` translates `${…}`. What has no equivalent becomes a comment in its place and a note that counts as lost, with the path of the element in the plan.
//! Deliberately absent: scripts (JSR223, BeanShell) and protocols other than HTTP.

mod checks;
mod controllers;
mod load;
mod output;
mod sampler;
mod scope;
mod timers;
mod tree;
mod values;

use std::collections::{BTreeSet, HashSet};

use self::load::{GroupLoad, is_group};
use self::output::GroupOutput;
use self::sampler::origin_of;
use self::scope::{ElementRole, SamplerScope, role};
use self::tree::PlanNode;
use self::values::{Values, state};
use crate::error::ImportError;
use crate::imported::{ImportedTest, Input, Note};
use crate::text::{camel_case, fresh, indented, key, quoted};
use crate::write::text;

pub(crate) fn import(input: &Input<'_>) -> Result<ImportedTest, ImportError> {
    let root = tree::parse(input.text)
        .map_err(|(line, message)| ImportError::new(input.name, Some(line), message, "give a test plan (.jmx), as JMeter saves it"))?;
    let Some(plan) = root.children.iter().find(|node| node.kind() == "TestPlan") else {
        return Err(ImportError::new(input.name, None, "the file has no Test Plan", "give a test plan (.jmx), as JMeter saves it"));
    };
    if plan.samplers() == 0 {
        return Err(ImportError::new(input.name, None, "the plan has no sampler that is switched on", "enable the elements to import"));
    }
    let mut values = Values { place: plan.name().to_owned(), ..Values::default() };
    if let Some(defined) = plan.inner("TestPlan.user_defined_variables") {
        values.defined.extend(defined.arguments());
    }
    let mut writer = PlanWriter { input, sources: Vec::new(), uses: BTreeSet::from(["test"]), taken: taken() };
    writer.collect(plan, &mut values);
    Ok(writer.plan(plan, values))
}

/// Names that the written test uses itself.
fn taken() -> HashSet<String> {
    let names = [
        "base",
        "user",
        "response",
        "test",
        "scenario",
        "param",
        "setup",
        "teardown",
        "users",
        "arrivals",
        "iterations",
        "sequence",
        "csv",
    ];
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A source of values that each iteration reads: its declaration, and the code that reads it.
struct IterationSource {
    place: String,
    declaration: String,
    read: String,
}

struct PlanWriter<'i> {
    input: &'i Input<'i>,
    sources: Vec<IterationSource>,
    uses: BTreeSet<&'static str>,
    taken: HashSet<String>,
}

impl PlanWriter<'_> {
    /// Finds the variables of the whole plan, because elements may use what others set.
    fn collect(&mut self, node: &PlanNode, values: &mut Values) {
        for child in &node.children {
            let outer = values.place.clone();
            values.place = format!("{outer} > {}", child.name());
            match child.kind() {
                "Arguments" => values.defined.extend(child.arguments()),
                "CSVDataSet" => self.rows(child, values),
                "CounterConfig" => self.counter(child, values),
                "RandomVariableConfig" => self.random(child, values),
                _ => values.set.extend(checks::names(child)),
            }
            self.collect(child, values);
            values.place = outer;
        }
    }

    fn rows(&mut self, node: &PlanNode, values: &mut Values) {
        let path = node.text("filename");
        if path.contains("${") {
            values.lost(format!("the file {path}, whose name is a variable"));
            return;
        }
        let separator = match node.text("delimiter") {
            "" => ",".to_owned(),
            "\\t" => "\t".to_owned(),
            other => other.to_owned(),
        };
        let content = (self.input.read)(path);
        let header = content.as_deref().and_then(|content| content.lines().next()).unwrap_or("");
        let in_file: Vec<String> = header.split(separator.as_str()).map(|name| name.trim().trim_matches('"').to_owned()).collect();
        let stated: Vec<String> =
            node.text("variableNames").split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
        let names = if stated.is_empty() { in_file.clone() } else { stated.clone() };
        if stated.is_empty() && content.is_none() {
            values.lost(format!("cannot read {path}, whose first line names the variables"));
        }
        values.set.extend(names.iter().cloned());
        let mut options = Vec::new();
        if separator != "," {
            options.push(format!("separator: {}", quoted(&separator)));
        }
        let has_header = stated.is_empty() || node.is_true("ignoreFirstLine");
        if !has_header {
            options.push(format!("columns: [{}]", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")));
        }
        let options = if options.is_empty() { String::new() } else { format!(", {{ {} }}", options.join(", ")) };
        if node.text("shareMode") == "shareMode.thread" {
            values.lost(format!("\"{}\" is read from its start by each thread; here all users share the rows", node.name()));
        }
        let order = if node.is_false("recycle") { "queue" } else { "circular" };
        if order == "queue" && !node.is_true("stopThread") {
            values.lost(format!("\"{}\" continues after the last row; here the load ends", node.name()));
        }
        let name = fresh(&mut self.taken, &camel_case(path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or("rows")));
        let folder = self.input.folder;
        let whole = if folder.is_empty() || path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
        self.uses.insert("csv");
        let read = if has_header && !stated.is_empty() && stated != in_file {
            // The plan renames the columns.
            let list: String = names.iter().enumerate().map(|(index, name)| format!("{} = row[{index}];\n", state(name))).collect();
            format!("{{\n  const row = Object.values({name}.next());\n{}}}\n", indented(&list, 1))
        } else {
            format!("Object.assign(user.state, {name}.next());\n")
        };
        let declaration = format!("const {name} = csv({}{options}).{order}();\n", quoted(&whole));
        self.sources.push(IterationSource { place: values.place.clone(), declaration, read });
    }

    fn counter(&mut self, node: &PlanNode, values: &mut Values) {
        let number = |name: &str, default: f64| node.text(name).trim().parse::<f64>().unwrap_or(default);
        let (start, step, end) =
            (number("CounterConfig.start", 0.0), number("CounterConfig.incr", 1.0), number("CounterConfig.end", f64::MAX));
        let variable = node.text("CounterConfig.name");
        values.set.insert(variable.to_owned());
        if !node.text("CounterConfig.format").is_empty() || node.is_true("CounterConfig.per_user") {
            values.lost(format!("the format or the own count of each thread of \"{}\"", node.name()));
        }
        let name = fresh(&mut self.taken, &camel_case(&format!("{variable} counter")));
        let (start_code, step_code) = (crate::text::number(start), crate::text::number(step));
        let count = if end < f64::MAX && step > 0.0 {
            format!("(n % {})", crate::text::number(((end - start) / step).floor() + 1.0))
        } else {
            "n".to_owned()
        };
        self.uses.insert("generator");
        let declaration = format!("const {name} = generator((n) => ({{ {}: {start_code} + {count} * {step_code} }}));\n", key(variable));
        self.sources.push(IterationSource {
            place: values.place.clone(),
            declaration,
            read: format!("Object.assign(user.state, {name}.next());\n"),
        });
    }

    fn random(&mut self, node: &PlanNode, values: &mut Values) {
        let variable = node.text("variableName");
        values.set.insert(variable.to_owned());
        let bounds = (node.text("minimumValue").trim().parse::<i64>(), node.text("maximumValue").trim().parse::<i64>());
        let (Ok(from), Ok(to), "") = (bounds.0, bounds.1, node.text("outputFormat")) else {
            values.lost(format!("the bounds or the format of \"{}\"", node.name()));
            return;
        };
        let read = format!("{} = user.random.integer({from}, {to});\n", state(variable));
        self.sources.push(IterationSource { place: values.place.clone(), declaration: String::new(), read });
    }

    fn plan(mut self, plan: &PlanNode, mut values: Values) -> ImportedTest {
        let collected = values.notes.len();
        let scope = SamplerScope::default().within(&plan.children, &mut values);
        let origin = first_origin(&plan.children, &scope, &mut values).filter(|origin| !origin.contains("user."));
        // What these walks found is found again when the code is written.
        values.notes.truncate(collected);
        for node in plan.children.iter().filter(|node| role(node) == ElementRole::Other && !is_group(node) && !is_known(node)) {
            values.lost(format!("{} \"{}\"", node.kind(), node.name()));
        }
        let (mut scenarios, mut loads) = (String::new(), Vec::new());
        let mut around = Vec::new();
        for group in plan.children.iter().filter(|node| is_group(node)) {
            values.place = format!("{} > {}", plan.name(), group.name());
            let shaping: Vec<&PlanNode> =
                group.children.iter().chain(&plan.children).filter(|node| node.kind() == "VariableThroughputTimer").collect();
            let load = load::load(group, &shaping, &mut values);
            let mut output = GroupOutput {
                values: &mut values,
                uses: &mut self.uses,
                target: origin.clone(),
                threads: load.threads.clone(),
                on_error: load.on_error.clone(),
            };
            let body = controllers::level(&group.children, &scope, &mut output);
            let place = values.place.clone();
            let read: String =
                self.sources.iter().filter(|source| covers(&source.place, &place, plan)).map(|source| source.read.as_str()).collect();
            match group.kind() {
                "SetupThreadGroup" | "PostThreadGroup" => {
                    if load.profiles != ["iterations(1)"] {
                        values.lost("its threads and loops: a set-up and a tear-down run once");
                    }
                    around.push((group.kind() == "SetupThreadGroup", format!("{read}{body}")));
                }
                _ => {
                    let clears = clears_cookies(group, plan);
                    self.scenario(group, &load, &format!("{clears}{read}{body}"), &mut scenarios, &mut loads);
                }
            }
        }
        for (is_before, call) in [(true, "setup"), (false, "teardown")] {
            let body: String = around.iter().filter(|(before, _)| *before == is_before).map(|(_, body)| body.as_str()).collect();
            if !body.is_empty() {
                self.uses.insert(call);
                scenarios.push_str(&format!("\n{call}(async (user) => {{\n{}}});\n", indented(&body, 1)));
            }
        }
        if loads.is_empty() {
            values.place = plan.name().to_owned();
            values.lost("the plan has no thread group that runs load");
        }
        self.file(plan, &scenarios, &loads, origin.as_deref(), values)
    }

    fn scenario(&mut self, group: &PlanNode, load: &GroupLoad, body: &str, scenarios: &mut String, loads: &mut Vec<String>) {
        let name = fresh(&mut self.taken, &camel_case(group.name()));
        self.uses.insert("scenario");
        let body = match &load.loops {
            Some(count) => format!("for (let iteration = 0; iteration < {count}; iteration++) {{\n{}}}\n", indented(body, 1)),
            None => body.to_owned(),
        };
        scenarios.push_str(&format!(
            "\nconst {name} = scenario({}, async (user) => {{\n{}}});\n",
            quoted(group.name()),
            indented(&body, 1)
        ));
        for profile in &load.profiles {
            for function in ["users", "arrivals", "iterations"] {
                if profile.starts_with(function) {
                    self.uses.insert(function);
                }
            }
            loads.push(format!("{name}.run({profile})"));
        }
    }

    fn file(mut self, plan: &PlanNode, scenarios: &str, loads: &[String], origin: Option<&str>, mut values: Values) -> ImportedTest {
        let mut head = String::new();
        let mut target = String::new();
        if let Some(origin) = origin {
            if origin.contains('\u{E000}') {
                target = format!("  target: {},\n", text(origin));
            } else {
                self.uses.insert("param");
                head.push_str(&format!(
                    "const base = param.url(\"base\", {{ default: {}, help: \"base URL of the system\" }});\n",
                    quoted(origin)
                ));
                "  target: base,\n".clone_into(&mut target);
            }
        }
        for name in &values.order {
            self.uses.insert("param");
            head.push_str(&values.parameters[name]);
        }
        for source in &self.sources {
            head.push_str(&source.declaration);
        }
        let helpers: String = values.helpers.iter().map(|name| helper(name)).collect();
        let load = match loads {
            [one] => one.clone(),
            many if plan.is_true("TestPlan.serialize_threadgroups") && !many.is_empty() => {
                self.uses.insert("sequence");
                format!("sequence(\n    {},\n  )", many.join(",\n    "))
            }
            many => format!("[\n    {},\n  ]", many.join(",\n    ")),
        };
        let is_typed = helpers.contains(": User");
        let mut names: Vec<&str> = self.uses.iter().copied().collect();
        if is_typed {
            names.insert(0, "type User");
        }
        let file = self.input.name.rsplit('/').next().unwrap_or(self.input.name);
        let text = format!(
            "// Imported from {file}: loadstone import jmeter.\nimport {{ {} }} from \"loadstone\";\n\n{}\nexport default test({{\n  name: {},\n{target}  \
             headers: {{ \"accept-encoding\": \"identity\" }}, // As JMeter, which does not ask for compression.\n  load: {load},\n}});\n{helpers}",
            names.join(", "),
            format!("{head}{scenarios}").trim_start(),
            quoted(plan.name()),
        );
        for name in &values.order {
            values.notes.push(Note::changed(format!("a variable or property became the parameter `{name}`: set it with -p {name}=…")));
        }
        let mut seen = HashSet::new();
        values.notes.retain(|note| seen.insert(note.text.clone()));
        ImportedTest { text, notes: values.notes }
    }
}

/// Each iteration may begin without cookies: by the group's choice, or by that of its cookie manager.
fn clears_cookies(group: &PlanNode, plan: &PlanNode) -> &'static str {
    let mut managers = plan.children.iter().chain(&group.children).filter(|node| node.kind() == "CookieManager");
    let clears =
        group.is_false("ThreadGroup.same_user_on_next_iteration") || managers.any(|node| node.is_true("CookieManager.clearEachIteration"));
    if clears { "user.cookies.clear();\n" } else { "" }
}

/// Elements of the plan that other code reads.
fn is_known(node: &PlanNode) -> bool {
    matches!(node.kind(), "Arguments" | "CSVDataSet" | "CounterConfig" | "RandomVariableConfig" | "VariableThroughputTimer")
}

/// Whether a source at this place is in the scope of a group: below it, or directly below the plan.
fn covers(source: &str, group: &str, plan: &PlanNode) -> bool {
    source.starts_with(&format!("{group} > "))
        || source.strip_prefix(plan.name()).and_then(|rest| rest.strip_prefix(" > ")).is_some_and(|rest| !rest.contains(" > "))
}

fn first_origin(nodes: &[PlanNode], outer: &SamplerScope, values: &mut Values) -> Option<String> {
    let scope = outer.within(nodes, values);
    nodes.iter().find_map(|node| {
        if node.kind().starts_with("HTTPSampler") {
            return origin_of(node, &scope.within(&node.children, values), values);
        }
        first_origin(&node.children, &scope, values)
    })
}

fn helper(name: &str) -> &'static str {
    match name {
        "matched" => {
            "\n/** The nth match of a pattern (0: a random one), in the form of a template such as `$1$`, as JMeter's extractors read it. */\n\
             function matched(user: User, source: string, pattern: RegExp, template: string, number: number, otherwise: string): string {\n  \
             const all = [...source.matchAll(pattern)];\n  \
             const match = number === 0 ? (all.length > 0 ? user.random.choice(all) : undefined) : all[number - 1];\n  \
             return match === undefined ? otherwise : template.replace(/\\$(\\d+)\\$/g, (_, group: string) => match[Number(group)] ?? \"\");\n}\n"
        }
        "nth" => {
            "\n/** The nth value (0: a random one). */\n\
             function nth(user: User, all: readonly unknown[], number: number, otherwise: unknown): unknown {\n  \
             return (number === 0 ? (all.length > 0 ? user.random.choice(all) : undefined) : all[number - 1]) ?? otherwise;\n}\n"
        }
        "encoded" => {
            "\n/** A value as Java's URLEncoder writes it. */\n\
             function encoded(value: unknown): string {\n  \
             const escape = (c: string) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`;\n  \
             return encodeURIComponent(String(value)).replace(/[!'()~]/g, escape).replace(/%20/g, \"+\");\n}\n"
        }
        "asText" => {
            "\n/** A value as JMeter stores it. */\n\
             function asText(value: unknown): string {\n  return typeof value === \"string\" ? value : JSON.stringify(value);\n}\n"
        }
        _ => {
            "\n/** Waits until the interval (ms) since this user's previous sample has passed, as JMeter's Constant Throughput Timer. */\n\
             async function paced(user: User, interval: number): Promise<void> {\n  \
             const at = Math.max(Date.now(), user.state.pacedAt ?? 0);\n  user.state.pacedAt = at + interval;\n  \
             const wait = at - Date.now();\n  if (wait > 0) await user.pause(`${wait}ms`);\n}\n"
        }
    }
}
