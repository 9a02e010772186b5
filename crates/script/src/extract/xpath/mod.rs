//! XPath 1.0 over XML and HTML from servers.
//!
//! Read [`XPath`]. The document is a list of nodes ([`tree`]), so nothing recurses over it, and each visited node is accounted for
//! ([`Effort`]). Deliberately absent: the namespace axis, variables, and entities that a document type declares.

mod evaluate;
mod library;
mod syntax;
mod tree;
mod value;

use scraper::Html;

use self::evaluate::{Evaluation, EvaluationError, Place};
use self::syntax::XPathExpression;
use self::tree::{DocumentTree, NodeId};
use self::value::XPathValue;
use super::ExtractError;
use super::effort::Effort;

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct XPath {
    written: String,
    expression: XPathExpression,
}

/// A document in the form that expressions read.
pub(super) enum DocumentSource<'a> {
    Xml(&'a str),
    Html(&'a Html),
}

impl XPath {
    pub(crate) fn parse(written: &str) -> Result<Self, ExtractError> {
        match syntax::parse(written) {
            Ok(expression) => Ok(Self { written: written.to_owned(), expression }),
            Err(problem) => Err(refused(written, problem)),
        }
    }

    /// Text of the nodes that the expression finds, in document order. A number, string or boolean is one text. At most `limit`.
    pub(super) fn texts(&self, source: &DocumentSource<'_>, limit: usize, effort: &Effort) -> Result<Vec<String>, ExtractError> {
        let tree = match source {
            DocumentSource::Xml(body) => DocumentTree::from_xml(body, effort)?,
            DocumentSource::Html(page) => DocumentTree::from_html(page, effort)?,
        };
        let evaluation = Evaluation { tree: &tree, effort };
        let place = Place { node: NodeId::ROOT, position: 1, size: 1 };
        let texts = || match evaluation.evaluate(&self.expression, place)? {
            XPathValue::Nodes(nodes) => {
                let mut texts = Vec::new();
                for node in nodes.into_iter().take(limit) {
                    let text = tree.string(node, effort)?.trim().to_owned();
                    effort.value(text.len())?;
                    texts.push(text);
                }
                Ok(texts)
            }
            single => Ok(vec![evaluation.text(&single)?]),
        };
        texts().map_err(|error| match error {
            EvaluationError::Body(error) => error,
            EvaluationError::Expression(problem) => refused(&self.written, problem),
        })
    }
}

fn refused(written: &str, problem: String) -> ExtractError {
    ExtractError::Expression { kind: "XPath expression", expression: written.to_owned(), problem }
}

#[cfg(test)]
mod tests;
