//! Controllers as loops, branches and groups.

use std::fmt::Write as _;

use super::output::GroupOutput;
use super::sampler::sampler;
use super::scope::{ElementRole, SamplerScope, role};
use super::tree::PlanNode;
use super::values::{Number, state};
use crate::text::{indented, number, quoted};

/// The code of a level: its samplers and controllers in order.
pub(super) fn level(nodes: &[PlanNode], outer: &SamplerScope, output: &mut GroupOutput<'_>) -> String {
    let scope = outer.within(nodes, output.values);
    nodes.iter().map(|node| at(node, &scope, output)).collect()
}

/// The code of one node, with its place for notes.
fn at(node: &PlanNode, scope: &SamplerScope, output: &mut GroupOutput<'_>) -> String {
    let outer = output.values.place.clone();
    output.values.place = format!("{outer} > {}", node.name());
    let code = code(node, scope, output);
    output.values.place = outer;
    code
}

fn code(node: &PlanNode, scope: &SamplerScope, output: &mut GroupOutput<'_>) -> String {
    match (role(node), node.kind()) {
        (ElementRole::Other, _) => {}
        _ => return String::new(),
    }
    let inside = |output: &mut GroupOutput<'_>| level(&node.children, scope, output);
    match node.kind() {
        "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2" => {
            let scope = scope.within(&node.children, output.values);
            let before = others(node, output);
            format!("{before}{}", sampler(node, &scope, output))
        }
        "GenericController" | "RecordingController" | "LogicController" => inside(output),
        "TransactionController" => {
            let inner = inside(output);
            format!("await user.group({}, async (user) => {{\n{}}});\n", quoted(node.name()), indented(&inner, 1))
        }
        "LoopController" => repeated(node, scope, output),
        "IfController" => match output.values.condition(node.text("IfController.condition")) {
            Some(condition) => format!("if ({condition}) {{\n{}}}\n", indented(&inside(output), 1)),
            None => not_translated(node, "its condition is a script", output),
        },
        "WhileController" => match Some(node.text("WhileController.condition")).filter(|text| !matches!(*text, "" | "LAST")) {
            Some(condition) => match output.values.condition(condition) {
                Some(condition) => format!("while ({condition}) {{\n{}}}\n", indented(&inside(output), 1)),
                None => not_translated(node, "its condition is a script", output),
            },
            None => not_translated(node, "it ends when a sampler fails", output),
        },
        "OnceOnlyController" => {
            let flag = state(&format!("done {}", node.name()));
            let inner = inside(output);
            format!("if (!{flag}) {{\n  {flag} = true;\n{}}}\n", indented(&inner, 1))
        }
        "RandomController" | "RandomOrderController" | "InterleaveControl" => choice(node, scope, output),
        "ThroughputController" if node.text("ThroughputController.style") == "1" => share(node, scope, output),
        "TestAction" => action(node, output),
        "Arguments" | "CSVDataSet" | "CounterConfig" | "RandomVariableConfig" | "VariableThroughputTimer" => String::new(),
        "JSR223Listener" | "BeanShellListener" => not_translated(node, "a script", output),
        _ => not_translated(node, "there is no equivalent", output),
    }
}

/// Children of a sampler that are neither timers, assertions, extractors nor configuration.
fn others(node: &PlanNode, output: &mut GroupOutput<'_>) -> String {
    node.children
        .iter()
        .filter(|child| role(child) == ElementRole::Other)
        .map(|child| not_translated(child, "there is no equivalent", output))
        .collect()
}

/// A comment in the place of an element, and a note.
fn not_translated(node: &PlanNode, why: &str, output: &mut GroupOutput<'_>) -> String {
    let samplers = node.samplers();
    let with = if samplers > 0 { format!(", with {samplers} samplers") } else { String::new() };
    output.values.lost(format!("{} \"{}\"{with}: {why}", node.kind(), node.name()));
    format!("// Not translated: {} \"{}\"{with}: {why}.\n", node.kind(), node.name().replace(['\n', '\r'], " "))
}

fn repeated(node: &PlanNode, scope: &SamplerScope, output: &mut GroupOutput<'_>) -> String {
    let loops = node.text("LoopController.loops");
    if loops.trim() == "-1" || (loops.is_empty() && node.is_true("LoopController.continue_forever")) {
        return not_translated(node, "it repeats forever inside an iteration", output);
    }
    let count = output.values.number(loops, 1.0);
    let inner = level(&node.children, scope, output);
    if count == Number::Literal(1.0) {
        return inner;
    }
    format!("for (let loop = 0; loop < {}; loop++) {{\n{}}}\n", count.code(), indented(&inner, 1))
}

/// One of several, all in random order, or one after another.
fn choice(node: &PlanNode, scope: &SamplerScope, output: &mut GroupOutput<'_>) -> String {
    let inner_scope = scope.within(&node.children, output.values);
    let parts: Vec<String> =
        node.children.iter().map(|child| at(child, &inner_scope, output)).filter(|code| !code.trim().is_empty()).collect();
    if parts.is_empty() {
        return String::new();
    }
    let mut code = String::new();
    let list: String = parts.iter().map(|part| format!("  async () => {{\n{}  }},\n", indented(part, 2))).collect();
    match node.kind() {
        "RandomController" => write!(code, "await user.random.choice([\n{list}])();\n"),
        "RandomOrderController" => write!(code, "for (const part of user.random.shuffle([\n{list}])) await part();\n"),
        _ => {
            let turn = state(&format!("turn {}", node.name()));
            write!(code, "{turn} = ({turn} ?? -1) + 1;\nawait [\n{list}][{turn} % {}]!();\n", parts.len())
        }
    }
    .unwrap_or_default();
    code
}

/// A share of the iterations. JMeter counts executions, so that the share is exact; here each iteration draws.
fn share(node: &PlanNode, scope: &SamplerScope, output: &mut GroupOutput<'_>) -> String {
    let percent = node.inner("ThroughputController.percentThroughput").map(|inner| inner.text("value").to_owned()).unwrap_or_default();
    let percent = if percent.is_empty() { node.text("ThroughputController.percentThroughput").to_owned() } else { percent };
    match percent.trim().parse::<f64>() {
        Ok(percent) => {
            let inner = level(&node.children, scope, output);
            format!("if (user.random.boolean({})) {{\n{}}}\n", quoted(&format!("{}%", number(percent))), indented(&inner, 1))
        }
        Err(_) => not_translated(node, "its share is computed", output),
    }
}

/// A Flow Control Action.
fn action(node: &PlanNode, output: &mut GroupOutput<'_>) -> String {
    match node.text("ActionProcessor.action").trim() {
        "1" => match node.text("ActionProcessor.duration").trim().parse::<f64>() {
            Ok(duration) => format!("await user.pause({});\n", quoted(&crate::text::milliseconds(duration))),
            Err(_) => not_translated(node, "its duration is computed", output),
        },
        _ => not_translated(node, "it ends a thread or the test", output),
    }
}
