//! Evaluates an expression on a tree (XPath 1.0, sections 2 and 3). It recurses over the expression, whose nesting is limited, never over the
//! document.

mod functions;

use super::syntax::{LocationStep, NodeTest, Operator, Start, XPathAxis, XPathExpression};
use super::tree::{DocumentTree, NodeId, TreeNode, TreeNodeKind};
use super::value::XPathValue;
use crate::extract::effort::Effort;

/// Why an evaluation failed.
pub(super) enum EvaluationError {
    /// The expression does not fit.
    Expression(String),
    /// The body, or the work on it.
    Body(super::ExtractError),
}

impl From<super::ExtractError> for EvaluationError {
    fn from(error: super::ExtractError) -> Self {
        Self::Body(error)
    }
}

pub(super) type Evaluated<T> = Result<T, EvaluationError>;

/// The document, and the work on it so far.
pub(super) struct Evaluation<'a> {
    pub(super) tree: &'a DocumentTree,
    pub(super) effort: &'a Effort,
}

/// The context of an expression (section 1).
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) node: NodeId,
    pub(super) position: usize,
    pub(super) size: usize,
}

impl Evaluation<'_> {
    pub(super) fn evaluate(&self, expression: &XPathExpression, place: Place) -> Evaluated<XPathValue> {
        self.effort.steps(1)?;
        match expression {
            XPathExpression::Literal(text) => Ok(XPathValue::Text(text.clone())),
            XPathExpression::Number(number) => Ok(XPathValue::Number(*number)),
            XPathExpression::Negative(inner) => Ok(XPathValue::Number(-self.number(&self.evaluate(inner, place)?)?)),
            XPathExpression::Call(name, arguments) => functions::call(self, name, arguments, place),
            XPathExpression::Path(start, steps) => self.path(start, steps, place),
            XPathExpression::Chain(first, further) => {
                let mut value = self.evaluate(first, place)?;
                for (operator, right) in further {
                    value = self.operate(value, *operator, right, place)?;
                }
                Ok(value)
            }
        }
    }

    fn operate(&self, left: XPathValue, operator: Operator, right: &XPathExpression, place: Place) -> Evaluated<XPathValue> {
        // The right side of these is not evaluated if the left decides.
        if let Operator::Or | Operator::And = operator {
            let left = left.boolean();
            let decided = left == (operator == Operator::Or);
            return Ok(XPathValue::Boolean(if decided { left } else { self.evaluate(right, place)?.boolean() }));
        }
        let right = self.evaluate(right, place)?;
        let arithmetic = |calculate: fn(f64, f64) -> f64| Ok(XPathValue::Number(calculate(self.number(&left)?, self.number(&right)?)));
        match operator {
            Operator::Add => arithmetic(|left, right| left + right),
            Operator::Subtract => arithmetic(|left, right| left - right),
            Operator::Multiply => arithmetic(|left, right| left * right),
            Operator::Divide => arithmetic(|left, right| left / right),
            Operator::Remainder => arithmetic(|left, right| left % right),
            Operator::Union => match (left, right) {
                (XPathValue::Nodes(mut nodes), XPathValue::Nodes(more)) => {
                    nodes.extend(more);
                    Ok(XPathValue::Nodes(in_order(nodes)))
                }
                _ => Err(EvaluationError::Expression("| needs nodes on both sides".to_owned())),
            },
            comparison => self.compare(&left, comparison, &right).map(XPathValue::Boolean),
        }
    }

    /// Section 3.4.
    fn compare(&self, left: &XPathValue, operator: Operator, right: &XPathValue) -> Evaluated<bool> {
        let texts = |nodes: &[NodeId]| nodes.iter().map(|node| self.tree.string(*node, self.effort)).collect::<Result<Vec<_>, _>>();
        match (left, right) {
            (XPathValue::Nodes(_), XPathValue::Boolean(_)) | (XPathValue::Boolean(_), XPathValue::Nodes(_)) => {
                self.compare_single(left, operator, right)
            }
            (XPathValue::Nodes(left), XPathValue::Nodes(right)) => {
                let (left, right) = (texts(left)?, texts(right)?);
                for one in &left {
                    for other in &right {
                        self.effort.steps(1 + one.len().min(other.len()) / 64)?;
                        let is_text = matches!(operator, Operator::Equal | Operator::NotEqual);
                        let found = if is_text {
                            (one == other) == (operator == Operator::Equal)
                        } else {
                            ordered(to_number(one), operator, to_number(other))
                        };
                        if found {
                            return Ok(true);
                        }
                    }
                }
                Ok(false)
            }
            (XPathValue::Nodes(nodes), single) => {
                for text in texts(nodes)? {
                    if self.compare_single(&typed_as(text, single), operator, single)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (single, XPathValue::Nodes(nodes)) => {
                for text in texts(nodes)? {
                    if self.compare_single(single, operator, &typed_as(text, single))? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => self.compare_single(left, operator, right),
        }
    }

    fn compare_single(&self, left: &XPathValue, operator: Operator, right: &XPathValue) -> Evaluated<bool> {
        if !matches!(operator, Operator::Equal | Operator::NotEqual) {
            return Ok(ordered(self.number(left)?, operator, self.number(right)?));
        }
        let equal = match (left, right) {
            (XPathValue::Boolean(_), _) | (_, XPathValue::Boolean(_)) => left.boolean() == right.boolean(),
            (XPathValue::Number(_), _) | (_, XPathValue::Number(_)) => {
                return Ok(ordered(self.number(left)?, operator, self.number(right)?));
            }
            _ => self.text(left)? == self.text(right)?,
        };
        Ok(equal == (operator == Operator::Equal))
    }

    fn path(&self, start: &Start, steps: &[LocationStep], place: Place) -> Evaluated<XPathValue> {
        let mut nodes = match start {
            Start::Root => vec![NodeId::ROOT],
            Start::Context => vec![place.node],
            Start::Expression(inner, predicates) => match self.evaluate(inner, place)? {
                XPathValue::Nodes(nodes) => predicates.iter().try_fold(nodes, |nodes, predicate| self.keep(nodes, predicate))?,
                _ => {
                    return Err(EvaluationError::Expression("a predicate or path follows something that is not a set of nodes".to_owned()));
                }
            },
        };
        for step in steps {
            nodes = self.step(&nodes, step)?;
        }
        Ok(XPathValue::Nodes(nodes))
    }

    fn step(&self, from: &[NodeId], step: &LocationStep) -> Evaluated<Vec<NodeId>> {
        let namespace = match &step.test {
            NodeTest::Name { prefix, .. } if !prefix.is_empty() => {
                let declared = self.tree.declared.iter().find(|(declared, _)| declared == prefix);
                let unknown = || {
                    let remedy = "*[local-name()='…'] needs none";
                    EvaluationError::Expression(format!("the body's root element declares no prefix \"{prefix}\"; {remedy}"))
                };
                declared.map(|(_, namespace)| namespace.as_str()).ok_or_else(unknown)?
            }
            _ => "",
        };
        let mut found = Vec::new();
        for node in from {
            let mut near = Vec::new();
            self.walk(*node, step.axis, |id| {
                if self.is_match(id, step, namespace) {
                    near.push(id);
                }
            })?;
            for predicate in &step.predicates {
                near = self.keep(near, predicate)?;
            }
            found.append(&mut near);
        }
        Ok(in_order(found))
    }

    /// The nodes for which a predicate holds (section 2.4).
    fn keep(&self, nodes: Vec<NodeId>, predicate: &XPathExpression) -> Evaluated<Vec<NodeId>> {
        let size = nodes.len();
        let mut kept = Vec::new();
        for (index, node) in nodes.into_iter().enumerate() {
            let position = index + 1;
            let holds = match self.evaluate(predicate, Place { node, position, size })? {
                XPathValue::Number(number) => number == position as f64,
                other => other.boolean(),
            };
            if holds {
                kept.push(node);
            }
        }
        Ok(kept)
    }

    fn is_match(&self, id: NodeId, step: &LocationStep, namespace: &str) -> bool {
        let kind = &self.tree.nodes[id.index()].kind;
        let is_attribute = id.attribute_number().is_some();
        match &step.test {
            NodeTest::AnyNode => true,
            NodeTest::Text => matches!(kind, TreeNodeKind::Text(_)),
            NodeTest::Comment => matches!(kind, TreeNodeKind::Comment(_)),
            NodeTest::Instruction(wanted) => {
                matches!(kind, TreeNodeKind::Instruction { target, .. } if wanted.as_ref().is_none_or(|wanted| wanted == target))
            }
            NodeTest::Name { prefix, local } => self.tree.name(id).is_some_and(|name| {
                let is_principal = is_attribute == (step.axis == XPathAxis::Attribute);
                let any_namespace = prefix.is_empty() && local.is_none();
                is_principal && local.as_ref().is_none_or(|local| *local == name.local) && (any_namespace || name.namespace == namespace)
            }),
        }
    }

    /// Visits an axis, the nearest node first (section 2.2).
    fn walk(&self, id: NodeId, axis: XPathAxis, mut visit: impl FnMut(NodeId)) -> Evaluated<()> {
        let nodes = &self.tree.nodes;
        let index = id.index();
        let is_attribute = id.attribute_number().is_some();
        let parent = if is_attribute { index } else { nodes[index].parent };
        let is_root = id == NodeId::ROOT;
        let mut step = |id: NodeId| -> Evaluated<()> {
            self.effort.steps(1)?;
            visit(id);
            Ok(())
        };
        match axis {
            XPathAxis::Itself => step(id),
            XPathAxis::Attribute if is_attribute => Ok(()),
            XPathAxis::Attribute => (0..self.tree.attributes(index).len()).try_for_each(|number| step(NodeId::attribute(index, number))),
            XPathAxis::Child | XPathAxis::Descendant if is_attribute => Ok(()),
            XPathAxis::DescendantOrSelf if is_attribute => step(id),
            XPathAxis::Child => siblings(nodes, index + 1, nodes[index].end).try_for_each(step),
            XPathAxis::Descendant => (index + 1..nodes[index].end).try_for_each(|index| step(NodeId::node(index))),
            XPathAxis::DescendantOrSelf => (index..nodes[index].end).try_for_each(|index| step(NodeId::node(index))),
            XPathAxis::Parent if is_root => Ok(()),
            XPathAxis::Parent => step(NodeId::node(parent)),
            XPathAxis::AncestorOrSelf | XPathAxis::Ancestor => {
                if axis == XPathAxis::AncestorOrSelf {
                    step(id)?;
                }
                let mut next = (!is_root).then_some(parent);
                while let Some(index) = next {
                    step(NodeId::node(index))?;
                    next = (index != 0).then(|| nodes[index].parent);
                }
                Ok(())
            }
            XPathAxis::FollowingSibling | XPathAxis::PrecedingSibling if is_attribute || is_root => Ok(()),
            XPathAxis::FollowingSibling => siblings(nodes, nodes[index].end, nodes[parent].end).try_for_each(step),
            XPathAxis::PrecedingSibling => {
                let mut before = Vec::new();
                for sibling in siblings(nodes, parent + 1, index) {
                    self.effort.steps(1)?;
                    before.push(sibling);
                }
                before.into_iter().rev().try_for_each(step)
            }
            XPathAxis::Following => {
                let first = if is_attribute { index + 1 } else { nodes[index].end };
                (first..nodes.len()).try_for_each(|index| step(NodeId::node(index)))
            }
            // What ends before this node begins: everything before it but its ancestors.
            XPathAxis::Preceding => {
                (1..index).rev().filter(|before| nodes[*before].end <= index).try_for_each(|index| step(NodeId::node(index)))
            }
        }
    }

    pub(super) fn text(&self, value: &XPathValue) -> Evaluated<String> {
        Ok(match value {
            XPathValue::Nodes(nodes) => match nodes.first() {
                Some(first) => self.tree.string(*first, self.effort)?,
                None => String::new(),
            },
            XPathValue::Boolean(boolean) => boolean.to_string(),
            XPathValue::Number(number) => super::value::number_text(*number),
            XPathValue::Text(text) => text.clone(),
        })
    }

    pub(super) fn number(&self, value: &XPathValue) -> Evaluated<f64> {
        Ok(match value {
            XPathValue::Number(number) => *number,
            XPathValue::Boolean(boolean) => f64::from(u8::from(*boolean)),
            XPathValue::Nodes(_) | XPathValue::Text(_) => to_number(&self.text(value)?),
        })
    }
}

/// The nodes of one level between two indices.
fn siblings(nodes: &[TreeNode], first: usize, end: usize) -> impl Iterator<Item = NodeId> {
    let mut next = first;
    std::iter::from_fn(move || {
        let index = next;
        (index < end).then(|| {
            next = nodes[index].end;
            NodeId::node(index)
        })
    })
}

fn in_order(mut nodes: Vec<NodeId>) -> Vec<NodeId> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

fn ordered(left: f64, operator: Operator, right: f64) -> bool {
    match operator {
        Operator::Equal => left == right,
        Operator::NotEqual => left != right,
        Operator::Less => left < right,
        Operator::LessOrEqual => left <= right,
        Operator::Greater => left > right,
        _ => left >= right,
    }
}

/// A node's text as the type that it is compared with.
fn typed_as(text: String, other: &XPathValue) -> XPathValue {
    if let XPathValue::Number(_) = other { XPathValue::Number(to_number(&text)) } else { XPathValue::Text(text) }
}

/// Section 4.4: an optional minus and digits, or NaN.
pub(super) fn to_number(text: &str) -> f64 {
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = digits.contains(|c: char| c.is_ascii_digit()) && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    if is_number { text.parse().unwrap_or(f64::NAN) } else { f64::NAN }
}
