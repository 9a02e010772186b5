//! XPath 1.0 over XML and HTML from servers.
//!
//! Read [`XPath`]. The document is a list of nodes ([`tree`]), so nothing recurses over it, and each visited node is accounted for
//! ([`Effort`]). Deliberately absent: the namespace axis, variables, and entities that a document type declares.

mod evaluate;
mod functions;
mod syntax;
mod tree;
mod value;

use scraper::Html;

use self::evaluate::{Evaluation, EvaluationError, Place};
use self::syntax::Expression;
use self::tree::{NodeId, Tree};
use self::value::Value;
use super::ExtractError;
use super::effort::Effort;

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct XPath {
    written: String,
    expression: Expression,
}

/// A document in the form that expressions read.
pub(super) enum Source<'a> {
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
    pub(super) fn texts(&self, source: &Source<'_>, limit: usize, effort: &Effort) -> Result<Vec<String>, ExtractError> {
        let tree = match source {
            Source::Xml(body) => Tree::from_xml(body, effort)?,
            Source::Html(page) => Tree::from_html(page, effort)?,
        };
        let evaluation = Evaluation { tree: &tree, effort };
        let place = Place { node: NodeId::ROOT, position: 1, size: 1 };
        let texts = || match evaluation.evaluate(&self.expression, place)? {
            Value::Nodes(nodes) => {
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
