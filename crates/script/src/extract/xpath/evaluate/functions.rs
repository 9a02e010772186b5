//! The function library (XPath 1.0, section 4).

use super::super::syntax::XPathExpression;
use super::super::tree::{NodeId, TreeNodeKind};
use super::super::value::XPathValue;
use super::{Evaluated, Evaluation, EvaluationError, Place, to_number};

struct GivenArguments<'a> {
    evaluation: &'a Evaluation<'a>,
    given: &'a [XPathExpression],
    place: Place,
}

impl GivenArguments<'_> {
    /// Without this argument: the context node.
    fn value(&self, index: usize) -> Evaluated<XPathValue> {
        match self.given.get(index) {
            Some(expression) => self.evaluation.evaluate(expression, self.place),
            None => Ok(XPathValue::Nodes(vec![self.place.node])),
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
            XPathValue::Nodes(nodes) => Ok(nodes),
            _ => Err(EvaluationError::Expression("an argument is not a set of nodes".to_owned())),
        }
    }
}

pub(super) fn call(evaluation: &Evaluation<'_>, name: &str, given: &[XPathExpression], place: Place) -> Evaluated<XPathValue> {
    let arguments = GivenArguments { evaluation, given, place };
    let (tree, effort) = (evaluation.tree, evaluation.effort);
    Ok(match name {
        "last" => XPathValue::Number(place.size as f64),
        "position" => XPathValue::Number(place.position as f64),
        "count" => XPathValue::Number(arguments.nodes(0)?.len() as f64),
        "id" => XPathValue::Nodes(by_id(&arguments)?),
        "name" | "local-name" | "namespace-uri" => XPathValue::Text(name_part(&arguments, name)?),
        "string" => XPathValue::Text(arguments.text(0)?),
        "concat" => {
            let mut all = String::new();
            for index in 0..given.len() {
                all.push_str(&arguments.text(index)?);
            }
            XPathValue::Text(all)
        }
        "starts-with" => XPathValue::Boolean(arguments.text(0)?.starts_with(&arguments.text(1)?)),
        "contains" => XPathValue::Boolean(arguments.text(0)?.contains(&arguments.text(1)?)),
        "substring-before" => part(&arguments, |before, _| before)?,
        "substring-after" => part(&arguments, |_, after| after)?,
        "substring" => substring(&arguments)?,
        "string-length" => XPathValue::Number(arguments.text(0)?.chars().count() as f64),
        "normalize-space" => {
            let text = arguments.text(0)?;
            let words: Vec<&str> = text.split([' ', '\t', '\r', '\n']).filter(|word| !word.is_empty()).collect();
            XPathValue::Text(words.join(" "))
        }
        "translate" => translate(&arguments)?,
        "boolean" => XPathValue::Boolean(arguments.value(0)?.boolean()),
        "not" => XPathValue::Boolean(!arguments.value(0)?.boolean()),
        "true" => XPathValue::Boolean(true),
        "false" => XPathValue::Boolean(false),
        "lang" => XPathValue::Boolean(speaks(&arguments)?),
        "number" => XPathValue::Number(arguments.number(0)?),
        "sum" => {
            let mut sum = 0.0;
            for node in arguments.nodes(0)? {
                sum += to_number(&tree.string(node, effort)?);
            }
            XPathValue::Number(sum)
        }
        "floor" => XPathValue::Number(arguments.number(0)?.floor()),
        "ceiling" => XPathValue::Number(arguments.number(0)?.ceil()),
        "round" => XPathValue::Number(round(arguments.number(0)?)),
        other => return Err(EvaluationError::Expression(format!("there is no function {other}()"))),
    })
}

/// Halves are rounded up (section 4.4).
fn round(number: f64) -> f64 {
    if number.fract() == 0.0 { number } else { (number + 0.5).floor() }
}

/// Elements whose `id` attribute is one of the words. There is no document type that declares other attributes as ids.
fn by_id(arguments: &GivenArguments<'_>) -> Evaluated<Vec<NodeId>> {
    let Evaluation { tree, effort } = arguments.evaluation;
    let text = match arguments.value(0)? {
        XPathValue::Nodes(nodes) => {
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

fn name_part(arguments: &GivenArguments<'_>, function: &str) -> Evaluated<String> {
    let Some(first) = arguments.nodes(0)?.first().copied() else { return Ok(String::new()) };
    let tree = arguments.evaluation.tree;
    if let TreeNodeKind::Instruction { target, .. } = &tree.nodes[first.index()].kind {
        return Ok(if function == "namespace-uri" { String::new() } else { target.clone() });
    }
    Ok(tree.name(first).map_or_else(String::new, |name| match function {
        "name" => name.qualified(),
        "local-name" => name.local.clone(),
        _ => name.namespace.clone(),
    }))
}

fn part(arguments: &GivenArguments<'_>, choose: for<'a> fn(&'a str, &'a str) -> &'a str) -> Evaluated<XPathValue> {
    let (text, separator) = (arguments.text(0)?, arguments.text(1)?);
    Ok(XPathValue::Text(text.split_once(separator.as_str()).map_or_else(String::new, |(before, after)| choose(before, after).to_owned())))
}

/// Positions are rounded, and start at 1 (section 4.2).
fn substring(arguments: &GivenArguments<'_>) -> Evaluated<XPathValue> {
    let text = arguments.text(0)?;
    let first = round(arguments.number(1)?);
    let end = if arguments.given.len() > 2 { first + round(arguments.number(2)?) } else { f64::INFINITY };
    let kept = text.chars().enumerate().filter(|(index, _)| {
        let position = (*index + 1) as f64;
        position >= first && position < end
    });
    Ok(XPathValue::Text(kept.map(|(_, character)| character).collect()))
}

fn translate(arguments: &GivenArguments<'_>) -> Evaluated<XPathValue> {
    let (text, from, to) = (arguments.text(0)?, arguments.text(1)?, arguments.text(2)?);
    let to: Vec<char> = to.chars().collect();
    let mut replacements = std::collections::HashMap::new();
    for (index, character) in from.chars().enumerate() {
        replacements.entry(character).or_insert_with(|| to.get(index).copied());
    }
    Ok(XPathValue::Text(text.chars().filter_map(|character| replacements.get(&character).copied().unwrap_or(Some(character))).collect()))
}

/// `xml:lang` of the nearest ancestor that has it (section 4.3).
fn speaks(arguments: &GivenArguments<'_>) -> Evaluated<bool> {
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
