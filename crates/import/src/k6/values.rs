//! What `options` and the like say, worked out without running the script.

use std::collections::HashMap;

use oxc_ast::AstKind;
use oxc_semantic::NodeId;
use oxc_syntax::operator::{BinaryOperator, UnaryOperator};

use super::tree::Tree;

/// A value as far as it is written out.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Nothing,
    Boolean(bool),
    Number(f64),
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
    /// Only known when the test runs.
    Source(NodeId),
}

impl Value {
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        match self {
            // A repeated key counts last.
            Self::Object(entries) => entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
        .filter(|value| **value != Self::Nothing)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A number, also one in quotes.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(super) fn is_true(&self) -> bool {
        *self == Self::Boolean(true)
    }
}

/// What imported names of the user's own files are.
pub(super) type ImportedValues = HashMap<oxc_semantic::SymbolId, Value>;

/// The value of an expression.
pub(super) fn value(tree: &Tree<'_>, imported: &ImportedValues, id: NodeId) -> Value {
    let of = |inner: NodeId| value(tree, imported, inner);
    let id = tree.strip(id);
    if let Some(text) = tree.string(id) {
        return Value::Text(text);
    }
    if let Some((object, name)) = tree.member(id) {
        return match of(object) {
            object @ Value::Object(_) => object.get(&name).cloned().unwrap_or(Value::Nothing),
            _ => Value::Source(id),
        };
    }
    match tree.kind(id) {
        AstKind::NumericLiteral(number) => Value::Number(number.value),
        AstKind::BooleanLiteral(boolean) => Value::Boolean(boolean.value),
        AstKind::ArrayExpression(_) => {
            let mut list = Vec::new();
            for &item in tree.children(id) {
                match tree.kind(item) {
                    AstKind::SpreadElement(_) => match tree.children(item).first().map(|&inner| of(inner)) {
                        Some(Value::List(items)) => list.extend(items),
                        _ => return Value::Source(id),
                    },
                    _ => list.push(of(item)),
                }
            }
            Value::List(list)
        }
        AstKind::ObjectExpression(_) => {
            let mut entries = Vec::new();
            for property in tree.properties(id).unwrap_or_default() {
                match (property.key, property.spread, of(property.value)) {
                    (Some(key), _, value) => entries.push((key, value)),
                    (None, true, Value::Object(more)) => entries.extend(more),
                    _ => return Value::Source(id),
                }
            }
            Value::Object(entries)
        }
        AstKind::BinaryExpression(binary) => match (binary.operator, of(tree.children(id)[0]), of(tree.children(id)[1])) {
            (BinaryOperator::Addition, Value::Number(a), Value::Number(b)) => Value::Number(a + b),
            (BinaryOperator::Subtraction, Value::Number(a), Value::Number(b)) => Value::Number(a - b),
            (BinaryOperator::Multiplication, Value::Number(a), Value::Number(b)) => Value::Number(a * b),
            (BinaryOperator::Division, Value::Number(a), Value::Number(b)) => Value::Number(a / b),
            (BinaryOperator::Addition, Value::Text(a), Value::Text(b)) => Value::Text(a + &b),
            _ => Value::Source(id),
        },
        AstKind::UnaryExpression(unary) if unary.operator == UnaryOperator::UnaryNegation => match of(tree.children(id)[0]) {
            Value::Number(number) => Value::Number(-number),
            _ => Value::Source(id),
        },
        AstKind::NullLiteral(_) => Value::Nothing,
        AstKind::IdentifierReference(_) if tree.global(id) == Some("undefined") => Value::Nothing,
        AstKind::IdentifierReference(_) => {
            let Some(symbol) = tree.symbol(id) else { return Value::Source(id) };
            if let Some(value) = imported.get(&symbol) {
                return value.clone();
            }
            let written = tree.references(symbol).iter().any(|&used| assigned(tree, used));
            match tree.initial(symbol).filter(|_| !written).map(of) {
                None | Some(Value::Source(_)) => Value::Source(id),
                Some(value) => value,
            }
        }
        _ => Value::Source(id),
    }
}

/// Whether a use of a name, or of a member of it, is an assignment.
fn assigned(tree: &Tree<'_>, used: NodeId) -> bool {
    let mut at = used;
    while let Some(parent) = tree.parent(at) {
        match tree.kind(parent) {
            AstKind::StaticMemberExpression(_) | AstKind::ComputedMemberExpression(_) if tree.children(parent).first() == Some(&at) => {
                at = parent
            }
            AstKind::AssignmentExpression(_) => return tree.children(parent).first() == Some(&at),
            AstKind::UpdateExpression(_) => return true,
            _ => return false,
        }
    }
    false
}
