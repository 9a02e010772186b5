//! Limits the nesting of expressions that a library parses by recursion.

use super::ExtractError;

/// Nested parentheses and brackets.
const NESTING_MAX: usize = 32;
/// Longest expression. Bytes.
const EXPRESSION_BYTES_MAX: usize = 16 << 10;

/// Refuses an expression that is long or nested deeply. Brackets inside quotes count, too: the limit need not be exact.
pub(super) fn check(kind: &'static str, expression: &str) -> Result<(), ExtractError> {
    let refused = |problem: String| Err(ExtractError::Expression { kind, expression: shortened(expression), problem });
    if expression.len() > EXPRESSION_BYTES_MAX {
        return refused(format!("it is longer than {EXPRESSION_BYTES_MAX} bytes"));
    }
    let mut depth = 0_usize;
    for byte in expression.bytes() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth > NESTING_MAX {
            return refused(format!("it is nested more than {NESTING_MAX} deep"));
        }
    }
    Ok(())
}

/// The start of an expression, for a message.
fn shortened(expression: &str) -> String {
    match expression.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &expression[..end]),
        None => expression.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_deep_expressions_are_refused() {
        assert!(check("CSS selector", "ul > li:not(:has(a[href])) ~ p").is_ok());
        assert!(check("JSON path", "$.a[?(@.b == 1 && (@.c || !@.d))]").is_ok());
        let error = check("CSS selector", &(":not(".repeat(33) + &")".repeat(33))).unwrap_err().to_string();
        assert!(error.contains("nested more than 32 deep") && error.len() < 200, "{error}");
        assert!(check("JSON path", &"a".repeat(EXPRESSION_BYTES_MAX + 1)).is_err());
    }
}
