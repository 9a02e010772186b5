//! Compiled expressions of one realm, so that a script can write them inline.

use std::collections::HashMap;
use std::rc::Rc;

use scraper::Selector;

use super::json::JsonPath;
use super::xpath::XPath;
use super::{ExtractError, markup};

/// Maximum number of cached expressions of each kind. Scripts have a few dozen. The cache is cleared when a script that builds expressions
/// from data reaches the limit.
const EXPRESSIONS_MAX: usize = 256;

/// Compiles each expression once.
#[derive(Default)]
pub(crate) struct Compiled {
    json: HashMap<Box<str>, Rc<JsonPath>>,
    css: HashMap<Box<str>, Rc<Selector>>,
    xpath: HashMap<Box<str>, Rc<XPath>>,
}

impl Compiled {
    pub(crate) fn json(&mut self, path: &str) -> Result<Rc<JsonPath>, ExtractError> {
        cached(&mut self.json, path, JsonPath::parse)
    }

    pub(crate) fn css(&mut self, selector: &str) -> Result<Rc<Selector>, ExtractError> {
        cached(&mut self.css, selector, markup::selector)
    }

    pub(crate) fn xpath(&mut self, expression: &str) -> Result<Rc<XPath>, ExtractError> {
        cached(&mut self.xpath, expression, XPath::parse)
    }
}

fn cached<T>(
    known: &mut HashMap<Box<str>, Rc<T>>,
    text: &str,
    compile: impl FnOnce(&str) -> Result<T, ExtractError>,
) -> Result<Rc<T>, ExtractError> {
    if let Some(found) = known.get(text) {
        return Ok(Rc::clone(found));
    }
    let compiled = Rc::new(compile(text)?);
    if known.len() >= EXPRESSIONS_MAX {
        known.clear();
    }
    known.insert(text.into(), Rc::clone(&compiled));
    Ok(compiled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_compile_once_and_are_bounded() {
        let mut compiled = Compiled::default();
        let first = compiled.json("$.a").unwrap();
        assert!(Rc::ptr_eq(&first, &compiled.json("$.a").unwrap()));
        for index in 0..EXPRESSIONS_MAX * 3 {
            compiled.json(&format!("$[{index}]")).unwrap();
            assert!(compiled.json.len() <= EXPRESSIONS_MAX);
        }
        assert!(compiled.css("a[").is_err() && compiled.xpath("//a[").is_err());
    }
}
