//! The four types of an expression's value (XPath 1.0, section 3).

use super::tree::NodeId;

#[derive(Debug)]
pub(super) enum XPathValue {
    /// In document order, without duplicates.
    Nodes(Vec<NodeId>),
    Boolean(bool),
    Number(f64),
    Text(String),
}

impl XPathValue {
    pub(super) fn boolean(&self) -> bool {
        match self {
            Self::Nodes(nodes) => !nodes.is_empty(),
            Self::Boolean(boolean) => *boolean,
            Self::Number(number) => *number != 0.0 && !number.is_nan(),
            Self::Text(text) => !text.is_empty(),
        }
    }
}

/// Section 4.2: no exponent, and no sign of zero.
pub(super) fn number_text(number: f64) -> String {
    if number == 0.0 {
        "0".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        number.to_string()
    }
}
