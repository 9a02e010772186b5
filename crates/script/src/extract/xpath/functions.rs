//! The function library (XPath 1.0, section 4).

use super::evaluate::{Evaluated, Evaluation, EvaluationError, Place, to_number};
use super::syntax::Expression;
use super::tree::{NodeId, NodeKind};
use super::value::Value;

/// Names with the least and the largest number of arguments.
const FUNCTIONS: [(&str, usize, usize); 27] = [
    ("boolean", 1, 1),
    ("ceiling", 1, 1),
    ("concat", 2, usize::MAX),
    ("contains", 2, 2),
    ("count", 1, 1),
    ("false", 0, 0),
    ("floor", 1, 1),
    ("id", 1, 1),
    ("lang", 1, 1),
    ("last", 0, 0),
    ("local-name", 0, 1),
    ("name", 0, 1),
    ("namespace-uri", 0, 1),
    ("normalize-space", 0, 1),
    ("not", 1, 1),
    ("number", 0, 1),
    ("position", 0, 0),
    ("round", 1, 1),
    ("starts-with", 2, 2),
    ("string", 0, 1),
    ("string-length", 0, 1),
    ("substring", 2, 3),
    ("substring-after", 2, 2),
    ("substring-before", 2, 2),
    ("sum", 1, 1),
    ("translate", 3, 3),
    ("true", 0, 0),
];

/// Whether there is such a function, with this number of arguments.
pub(super) fn check(name: &str, arguments: usize) -> Result<(), String> {
    match FUNCTIONS.iter().find(|(known, ..)| *known == name) {
        Some((_, least, most)) if (*least..=*most).contains(&arguments) => Ok(()),
        Some(_) => Err(format!("{name}() does not take {arguments} arguments")),
        None => Err(format!("there is no function {name}()")),
    }
}

struct Arguments<'a> {
    evaluation: &'a Evaluation<'a>,
    given: &'a [Expression],
    place: Place,
}

impl Arguments<'_> {
    /// Without this argument: the context node.
    fn value(&self, index: usize) -> Evaluated<Value> {
        match self.given.get(index) {
            Some(expression) => self.evaluation.evaluate(expression, self.place),
            None => Ok(Value::Nodes(vec![self.place.node])),
        }
    }

    fn text(&self, index: usize) -> Evaluated<String> {
        self.evaluation.text(&self.value(index)?)
    }

    fn number(&self, index: usize) -> Evaluated<f64> {
        self.evaluation.number(&self.value(index)?)
    }

    fn nodes(&self, index: usize) -> Evaluated<Vec<NodeId>> {
        match self.value(index)? {
            Value::Nodes(nodes) => Ok(nodes),
            _ => Err(EvaluationError::Expression("an argument is not a set of nodes".to_owned())),
        }
    }
}

pub(super) fn call(evaluation: &Evaluation<'_>, name: &str, given: &[Expression], place: Place) -> Evaluated<Value> {
    let arguments = Arguments { evaluation, given, place };
    let (tree, effort) = (evaluation.tree, evaluation.effort);
    Ok(match name {
        "last" => Value::Number(place.size as f64),
        "position" => Value::Number(place.position as f64),
        "count" => Value::Number(arguments.nodes(0)?.len() as f64),
        "id" => Value::Nodes(by_id(&arguments)?),
        "name" | "local-name" | "namespace-uri" => Value::Text(name_part(&arguments, name)?),
        "string" => Value::Text(arguments.text(0)?),
        "concat" => {
            let mut all = String::new();
            for index in 0..given.len() {
                all.push_str(&arguments.text(index)?);
            }
            Value::Text(all)
        }
        "starts-with" => Value::Boolean(arguments.text(0)?.starts_with(&arguments.text(1)?)),
        "contains" => Value::Boolean(arguments.text(0)?.contains(&arguments.text(1)?)),
        "substring-before" => part(&arguments, |before, _| before)?,
        "substring-after" => part(&arguments, |_, after| after)?,
        "substring" => substring(&arguments)?,
        "string-length" => Value::Number(arguments.text(0)?.chars().count() as f64),
        "normalize-space" => {
            let text = arguments.text(0)?;
            let words: Vec<&str> = text.split([' ', '\t', '\r', '\n']).filter(|word| !word.is_empty()).collect();
            Value::Text(words.join(" "))
        }
        "translate" => translate(&arguments)?,
        "boolean" => Value::Boolean(arguments.value(0)?.boolean()),
        "not" => Value::Boolean(!arguments.value(0)?.boolean()),
        "true" => Value::Boolean(true),
        "false" => Value::Boolean(false),
        "lang" => Value::Boolean(speaks(&arguments)?),
        "number" => Value::Number(arguments.number(0)?),
        "sum" => {
            let mut sum = 0.0;
            for node in arguments.nodes(0)? {
                sum += to_number(&tree.string(node, effort)?);
            }
            Value::Number(sum)
        }
        "floor" => Value::Number(arguments.number(0)?.floor()),
        "ceiling" => Value::Number(arguments.number(0)?.ceil()),
        "round" => Value::Number(round(arguments.number(0)?)),
        other => return Err(EvaluationError::Expression(format!("there is no function {other}()"))),
    })
}

/// Halves are rounded up (section 4.4).
fn round(number: f64) -> f64 {
    if number.fract() == 0.0 { number } else { (number + 0.5).floor() }
}

/// Elements whose `id` attribute is one of the words. There is no document type that declares other attributes as ids.
fn by_id(arguments: &Arguments<'_>) -> Evaluated<Vec<NodeId>> {
    let Evaluation { tree, effort } = arguments.evaluation;
    let text = match arguments.value(0)? {
        Value::Nodes(nodes) => {
            let mut all = String::new();
            for node in nodes {
                all.push_str(&tree.string(node, effort)?);
                all.push(' ');
            }
            all
        }
        other => arguments.evaluation.text(&other)?,
    };
    let wanted: std::collections::HashSet<&str> = text.split_whitespace().collect();
    let mut found = Vec::new();
    for index in 0..tree.nodes.len() {
        effort.steps(1)?;
        if tree.attributes(index).iter().any(|attribute| attribute.name.qualified() == "id" && wanted.contains(attribute.value.as_str())) {
            found.push(NodeId::node(index));
        }
    }
    Ok(found)
}

fn name_part(arguments: &Arguments<'_>, function: &str) -> Evaluated<String> {
    let Some(first) = arguments.nodes(0)?.first().copied() else { return Ok(String::new()) };
    let tree = arguments.evaluation.tree;
    if let NodeKind::Instruction { target, .. } = &tree.nodes[first.index()].kind {
        return Ok(if function == "namespace-uri" { String::new() } else { target.clone() });
    }
    Ok(tree.name(first).map_or_else(String::new, |name| match function {
        "name" => name.qualified(),
        "local-name" => name.local.clone(),
        _ => name.namespace.clone(),
    }))
}

fn part(arguments: &Arguments<'_>, choose: for<'a> fn(&'a str, &'a str) -> &'a str) -> Evaluated<Value> {
    let (text, separator) = (arguments.text(0)?, arguments.text(1)?);
    Ok(Value::Text(text.split_once(separator.as_str()).map_or_else(String::new, |(before, after)| choose(before, after).to_owned())))
}

/// Positions are rounded, and start at 1 (section 4.2).
fn substring(arguments: &Arguments<'_>) -> Evaluated<Value> {
    let text = arguments.text(0)?;
    let first = round(arguments.number(1)?);
    let end = if arguments.given.len() > 2 { first + round(arguments.number(2)?) } else { f64::INFINITY };
    let kept = text.chars().enumerate().filter(|(index, _)| {
        let position = (*index + 1) as f64;
        position >= first && position < end
    });
    Ok(Value::Text(kept.map(|(_, character)| character).collect()))
}

fn translate(arguments: &Arguments<'_>) -> Evaluated<Value> {
    let (text, from, to) = (arguments.text(0)?, arguments.text(1)?, arguments.text(2)?);
    let to: Vec<char> = to.chars().collect();
    let mut replacements = std::collections::HashMap::new();
    for (index, character) in from.chars().enumerate() {
        replacements.entry(character).or_insert_with(|| to.get(index).copied());
    }
    Ok(Value::Text(text.chars().filter_map(|character| replacements.get(&character).copied().unwrap_or(Some(character))).collect()))
}

/// `xml:lang` of the nearest ancestor that has it (section 4.3).
fn speaks(arguments: &Arguments<'_>) -> Evaluated<bool> {
    let tree = arguments.evaluation.tree;
    let wanted = arguments.text(0)?.to_ascii_lowercase();
    let mut index = arguments.place.node.index();
    loop {
        if let Some(attribute) = tree.attributes(index).iter().find(|attribute| attribute.name.qualified() == "xml:lang") {
            let lang = attribute.value.to_ascii_lowercase();
            return Ok(lang == wanted || lang.strip_prefix(&wanted).is_some_and(|rest| rest.starts_with('-')));
        }
        if index == 0 {
            return Ok(false);
        }
        index = tree.nodes[index].parent;
    }
}
