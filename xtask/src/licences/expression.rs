//! Licence expressions of SPDX (<https://spdx.github.io/spdx-spec/v2.3/SPDX-license-expressions/>), and the older `MIT/Apache-2.0`.

use std::iter::Peekable;
use std::vec::IntoIter;

type ExpressionWords = Peekable<IntoIter<String>>;

/// Whether an expression grants what the allowed licences grant: of alternatives one must be allowed, of conditions all.
///
/// # Errors
///
/// What is wrong with the expression.
pub(super) fn is_granted(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> Result<bool, String> {
    let mut words = words(expression).into_iter().peekable();
    let granted = alternatives(&mut words, is_allowed)?;
    words.next().map_or(Ok(granted), |word| Err(format!("unexpected `{word}`")))
}

/// Every licence that an expression names, with its exception: `Apache-2.0 WITH LLVM-exception`.
pub(super) fn licences(expression: &str) -> Vec<String> {
    let named = std::cell::RefCell::new(Vec::new());
    // One that cannot be read was complained about already.
    let _granted = is_granted(expression, &|licence| {
        named.borrow_mut().push(licence.to_owned());
        true
    });
    named.into_inner()
}

fn words(expression: &str) -> Vec<String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// `AND` binds closer than `OR`. Both sides are read in any case.
fn alternatives(words: &mut ExpressionWords, is_allowed: &dyn Fn(&str) -> bool) -> Result<bool, String> {
    let mut granted = conditions(words, is_allowed)?;
    while words.next_if(|word| word == "OR").is_some() {
        granted |= conditions(words, is_allowed)?;
    }
    Ok(granted)
}

fn conditions(words: &mut ExpressionWords, is_allowed: &dyn Fn(&str) -> bool) -> Result<bool, String> {
    let mut granted = one(words, is_allowed)?;
    while words.next_if(|word| word == "AND").is_some() {
        granted &= one(words, is_allowed)?;
    }
    Ok(granted)
}

fn one(words: &mut ExpressionWords, is_allowed: &dyn Fn(&str) -> bool) -> Result<bool, String> {
    let word = words.next().ok_or("it ends too early")?;
    match word.as_str() {
        "(" => {
            let granted = alternatives(words, is_allowed)?;
            words.next_if(|word| word == ")").ok_or("a parenthesis is not closed")?;
            Ok(granted)
        }
        ")" | "AND" | "OR" | "WITH" => Err(format!("unexpected `{word}`")),
        licence if words.next_if(|word| word == "WITH").is_some() => {
            let exception = words.next().ok_or("it ends too early")?;
            Ok(is_allowed(&format!("{licence} WITH {exception}")))
        }
        licence => Ok(is_allowed(licence)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(expression: &str) -> Result<bool, String> {
        is_granted(expression, &|licence| ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].contains(&licence))
    }

    #[test]
    fn of_alternatives_one_is_enough_and_of_conditions_all_are_needed() {
        for expression in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "GPL-3.0 AND X OR MIT",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert_eq!(granted(expression), Ok(true), "{expression}");
        }
        for expression in
            ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR X) AND GPL-3.0", "Apache-2.0", "MIT WITH LLVM-exception", "X AND (MIT OR Y)"]
        {
            assert_eq!(granted(expression), Ok(false), "{expression}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for expression in ["", "MIT OR", "(MIT", "MIT)", "MIT MIT", "OR MIT", "MIT WITH"] {
            assert!(granted(expression).is_err(), "{expression}");
        }
    }

    #[test]
    fn licences_are_named_with_their_exceptions() {
        assert_eq!(licences("(MIT OR Zlib) AND Apache-2.0 WITH LLVM-exception"), ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"]);
    }
}
