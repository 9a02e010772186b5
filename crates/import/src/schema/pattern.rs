//! A string that a simple pattern matches: characters, classes and counts in a row. Patterns with groups or alternatives are left alone.

/// The shortest string that matches, if the pattern is simple.
pub(crate) fn matching(pattern: &str) -> Option<String> {
    let mut letters = pattern.strip_prefix('^').unwrap_or(pattern).chars().peekable();
    let mut text = String::new();
    while let Some(c) = letters.next() {
        let letter = match c {
            '$' if letters.peek().is_none() => break,
            '(' | ')' | '|' | '^' | '$' => return None,
            '.' => 'a',
            '[' => {
                let mut class = String::new();
                loop {
                    match letters.next()? {
                        ']' if !class.is_empty() => break,
                        '\\' => class.push(escaped(letters.next()?)?),
                        c => class.push(c),
                    }
                }
                // A class that excludes characters: most exclude punctuation.
                let first = class.chars().next()?;
                if first == '^' { Some('a').filter(|a| !class.contains(*a) && !class.contains("a-"))? } else { first }
            }
            '\\' => escaped(letters.next()?)?,
            c => c,
        };
        let least = match letters.peek() {
            Some('?' | '*') => 0,
            Some('+') => 1,
            Some('{') => {
                letters.next();
                let counts: String = letters.by_ref().take_while(|c| *c != '}').collect();
                let least: usize = counts.split(',').next()?.parse().ok()?;
                text.extend(std::iter::repeat_n(letter, least.min(1_000)));
                continue;
            }
            _ => {
                text.push(letter);
                continue;
            }
        };
        letters.next();
        text.extend(std::iter::repeat_n(letter, least));
    }
    Some(text)
}

fn escaped(c: char) -> Option<char> {
    match c {
        'd' => Some('0'),
        'w' => Some('a'),
        's' => Some(' '),
        c if c.is_ascii_alphanumeric() => None,
        c => Some(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_patterns_have_a_match() {
        for (pattern, text) in [
            ("^[A-Z]{3}$", Some("AAA")),
            (r"^\d{4}-\d{2}$", Some("0000-00")),
            (r"^sk_[a-zA-Z0-9]+\.?$", Some("sk_a")),
            ("[^/]{2,5}", Some("aa")),
            ("^(a|b)$", None),
            (r"^\p{L}+$", None),
        ] {
            assert_eq!(matching(pattern).as_deref(), text, "{pattern}");
        }
    }
}
