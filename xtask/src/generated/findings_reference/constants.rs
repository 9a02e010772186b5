//! Constants of the analysis in the documentation of its rules: `{SHARE_MIN:%}` becomes `85 %`, so that a page cannot differ from the code.
//!
//! `{NAME}` is a constant of the rule's file, `{pools::NAME}` one of `facts/pools.rs`, and `{NAME.0}` the first number of a pair or range. A unit after a
//! colon converts: `%` from a share, `kB` and `MB` from bytes, `ms` from seconds or (`…_NS`) from nanoseconds. Read [`RuleConstants`].

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use syn::{BinOp, Expr, Item, Lit};

const SOURCES: &str = "crates/analysis/src";
const FOLDERS: &[&str] = &["facts", "evidence", "finding", "remark", "statistics"];

/// The numbers of each constant by the name of its file, without folder and extension.
#[derive(Debug, Default)]
pub(super) struct RuleConstants(BTreeMap<String, BTreeMap<String, Vec<f64>>>);

impl RuleConstants {
    /// Those of the files that rules use.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut constants = Self::default();
        for folder in FOLDERS {
            for file in fs::read_dir(root.join(SOURCES).join(folder))? {
                let path = file?.path();
                if path.extension().is_some_and(|extension| extension == "rs") {
                    let source = fs::read_to_string(&path)?;
                    constants.add(&stem(&path), &source).with_context(|| format!("reading {}", path.display()))?;
                }
            }
        }
        Ok(constants)
    }

    /// Adds the constants of a file.
    pub(super) fn add(&mut self, file: &str, source: &str) -> Result<()> {
        let known = self.0.entry(file.to_owned()).or_default();
        for item in syn::parse_file(source)?.items {
            if let Item::Const(item) = item {
                let values = match &*item.expr {
                    Expr::Tuple(pair) => pair.elems.iter().map(|part| number(part, known)).collect(),
                    Expr::Range(range) => [&range.start, &range.end].iter().map(|end| number(end.as_ref()?, known)).collect(),
                    single => number(single, known).map(|value| vec![value]),
                };
                if let Some(values) = values {
                    known.insert(item.ident.to_string(), values);
                }
            }
        }
        Ok(())
    }

    /// The documentation of the rule in `file` with numbers in place of the names.
    pub(super) fn interpolate(&self, file: &str, documentation: &str) -> Result<String> {
        let (mut text, mut rest) = (String::new(), documentation);
        while let Some(begin) = rest.find('{') {
            let (before, from) = rest.split_at(begin);
            text += before;
            match from.find('}').map(|end| &from[1..end]).filter(|name| is_placeholder(name)) {
                Some(name) => {
                    text += &self.shown(file, name)?;
                    rest = &from[name.len() + 2..];
                }
                None => {
                    text.push('{');
                    rest = &from[1..];
                }
            }
        }
        let text = text + rest;
        self.refuse_typed_numbers(file, documentation)?;
        Ok(text)
    }

    fn shown(&self, file: &str, placeholder: &str) -> Result<String> {
        let (name, unit) = placeholder.rsplit_once(':').filter(|(name, _)| !name.ends_with(':')).unwrap_or((placeholder, ""));
        let (file, name) = name.split_once("::").unwrap_or((file, name));
        let (name, part) = name.split_once('.').unwrap_or((name, "0"));
        let values = self.0.get(file).and_then(|known| known.get(name));
        let value = values.and_then(|values| values.get(part.parse::<usize>().ok()?));
        let value = value.with_context(|| format!("{{{placeholder}}}: there is no such number in {file}.rs"))?;
        in_unit(name, *value, unit).with_context(|| format!("{{{placeholder}}}: unknown unit"))
    }

    /// A number of at least two digits that equals a constant of the rule's file, although the documentation does not refer to the constant.
    fn refuse_typed_numbers(&self, file: &str, documentation: &str) -> Result<()> {
        let prose: String = documentation.split('`').step_by(2).collect();
        for (name, values) in self.0.get(file).into_iter().flatten().filter(|(name, _)| !documentation.contains(&format!("{{{name}"))) {
            for value in values {
                for unit in ["", "%", "ms", "kB", "MB"] {
                    let typed = in_unit(name, *value, unit).unwrap_or_default();
                    if typed.chars().filter(char::is_ascii_digit).count() >= 2 && has_number(&prose, &typed) {
                        bail!(
                            "the documentation has the number {typed}, which is the constant {name}: write {{{name}}}, with a unit if needed"
                        );
                    }
                }
            }
        }
        Ok(())
    }
}

pub(super) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_placeholder(name: &str) -> bool {
    let constant = name.split_once("::").map_or(name, |(_, constant)| constant);
    constant.starts_with(|first: char| first.is_ascii_uppercase()) && !name.contains(char::is_whitespace)
}

/// The value of a constant expression of numbers.
fn number(expression: &Expr, known: &BTreeMap<String, Vec<f64>>) -> Option<f64> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(value) => value.base10_parse().ok(),
            Lit::Float(value) => value.base10_parse().ok(),
            _ => None,
        },
        Expr::Paren(inner) => number(&inner.expr, known),
        Expr::Cast(cast) => number(&cast.expr, known),
        Expr::Path(path) => known.get(&path.path.get_ident()?.to_string())?.first().copied(),
        Expr::Binary(binary) => {
            let (left, right) = (number(&binary.left, known)?, number(&binary.right, known)?);
            match binary.op {
                BinOp::Add(_) => Some(left + right),
                BinOp::Sub(_) => Some(left - right),
                BinOp::Mul(_) => Some(left * right),
                BinOp::Div(_) => Some(left / right),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The number with its unit. Without a unit, the number alone.
fn in_unit(name: &str, value: f64, unit: &str) -> Option<String> {
    let factor = match unit {
        "" => return Some(decimal(value)),
        "%" => 100.0,
        "kB" => 1e-3,
        "MB" => 1e-6,
        "ms" if name.ends_with("_NS") => 1e-6,
        "ms" => 1e3,
        _ => return None,
    };
    Some(format!("{} {unit}", decimal(value * factor)))
}

/// Without rounding errors, and with separators of thousands.
fn decimal(value: f64) -> String {
    let text = format!("{}", (value * 1e9).round() / 1e9);
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(whole, fraction)| (whole, Some(fraction)));
    let mut shown = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    fraction.map_or(shown.clone(), |fraction| format!("{shown}.{fraction}"))
}

/// Whether the number occurs, and not as a part of another number.
fn has_number(text: &str, number: &str) -> bool {
    let is_part = |neighbour: Option<char>| neighbour.is_some_and(|neighbour| neighbour.is_ascii_digit());
    text.match_indices(number).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + number.len()..]);
        let begins = !is_part(before.chars().next_back()) && !before.ends_with(['.', ',']);
        begins && !is_part(after.chars().next()) && !(after.starts_with(['.', ',']) && is_part(after.chars().nth(1)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constants() -> RuleConstants {
        let mut constants = RuleConstants::default();
        let rule =
            "const SHARE_MIN: f64 = 0.85;\nconst RANGE_NS: (u64, u64) = (38_000_000, 50 * 1_000_000);\nconst BYTES_MAX: u64 = 14_600;\n";
        constants.add("rule", rule).unwrap();
        constants.add("pools", "pub(crate) const FACTOR_MIN: f64 = 1.5;\n").unwrap();
        constants
    }

    #[test]
    fn names_become_numbers_with_their_unit() {
        let text =
            "{SHARE_MIN:%} of {BYTES_MAX} ({BYTES_MAX:kB}), {RANGE_NS.0:ms} to {RANGE_NS.1:ms}, {pools::FACTOR_MIN} times; `{ json }`";
        assert_eq!(constants().interpolate("rule", text).unwrap(), "85 % of 14,600 (14.6 kB), 38 ms to 50 ms, 1.5 times; `{ json }`");
    }

    #[test]
    fn an_unknown_name_is_an_error() {
        let error = constants().interpolate("rule", "{SHARE_MAX:%}").unwrap_err().to_string();
        assert_eq!(error, "{SHARE_MAX:%}: there is no such number in rule.rs");
    }

    #[test]
    fn a_constant_that_is_typed_as_a_number_is_an_error() {
        let typed = |text: &str| constants().interpolate("rule", text).map_err(|error| error.to_string());
        assert!(typed("from 85 % on").unwrap_err().contains("SHARE_MIN"));
        assert!(typed("{BYTES_MAX:kB}, 38 ms to 50 ms").unwrap_err().contains("RANGE_NS"));
        assert!(typed("{SHARE_MIN:%}, of 14,6001 and 0.850 or `14,600`").is_ok());
    }
}
