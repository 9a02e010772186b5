//! Compiled expressions of one realm, so that a script may write them where it uses them.

use std::collections::HashMap;
use std::rc::Rc;

use scraper::Selector;
use sxd_xpath::XPath;

use super::json::JsonPath;
use super::{ExtractError, markup};

/// Expressions kept of each kind. Scripts hold a few dozen; one that builds expressions from data starts over when it is reached.
const KEPT_MAX: usize = 256;

/// Compiles each expression once.
#[derive(Default)]
pub(crate) struct Compiled {
    json: HashMap<Box<str>, Rc<JsonPath>>,
    css: HashMap<Box<str>, Rc<Selector>>,
    xpath: HashMap<Box<str>, Rc<XPath>>,
}

impl Compiled {
    pub(crate) fn json(&mut self, path: &str) -> Result<Rc<JsonPath>, ExtractError> {
        kept(&mut self.json, path, JsonPath::parse)
    }

    pub(crate) fn css(&mut self, selector: &str) -> Result<Rc<Selector>, ExtractError> {
        kept(&mut self.css, selector, markup::selector)
    }

    pub(crate) fn xpath(&mut self, expression: &str) -> Result<Rc<XPath>, ExtractError> {
        kept(&mut self.xpath, expression, markup::expression)
    }
}

fn kept<T>(
    known: &mut HashMap<Box<str>, Rc<T>>,
    text: &str,
    compile: impl FnOnce(&str) -> Result<T, ExtractError>,
) -> Result<Rc<T>, ExtractError> {
    if let Some(found) = known.get(text) {
        return Ok(Rc::clone(found));
    }
    let compiled = Rc::new(compile(text)?);
    if known.len() >= KEPT_MAX {
        known.clear();
    }
    known.insert(text.into(), Rc::clone(&compiled));
    Ok(compiled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiles_once_and_stays_bounded() {
        let mut compiled = Compiled::default();
        let first = compiled.json("$.a").unwrap();
        assert!(Rc::ptr_eq(&first, &compiled.json("$.a").unwrap()));
        for index in 0..KEPT_MAX * 3 {
            compiled.json(&format!("$[{index}]")).unwrap();
            assert!(compiled.json.len() <= KEPT_MAX);
        }
        assert!(compiled.css("a[").is_err() && compiled.xpath("//a[").is_err());
    }
}
