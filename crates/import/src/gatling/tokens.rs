//! Words of a simulation: what Scala, Java, Kotlin and JavaScript have in common.

/// A word, with its line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlacedWord {
    pub(super) word: SourceWord,
    pub(super) line: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum SourceWord {
    Name(String),
    Text(String),
    Number(f64),
    /// `->` is `'→'`.
    Sign(char),
}

/// All words of a text; what stands in comments is none.
pub(super) fn tokens(text: &str) -> Vec<PlacedWord> {
    let mut reader = WordReader { rest: text, line: 1 };
    let mut tokens = Vec::new();
    while let Some(token) = reader.next() {
        tokens.push(token);
    }
    tokens
}

struct WordReader<'t> {
    rest: &'t str,
    line: usize,
}

impl WordReader<'_> {
    fn next(&mut self) -> Option<PlacedWord> {
        self.skip();
        let first = self.rest.chars().next()?;
        let line = self.line;
        let word = if first == '"' || first == '\'' || first == '`' {
            SourceWord::Text(self.text(first))
        } else if first.is_ascii_digit() {
            self.number()
        } else if first.is_alphabetic() || first == '_' || first == '$' {
            let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(self.rest.len());
            SourceWord::Name(self.take(end).to_owned())
        } else if self.rest.starts_with("->") {
            self.take(2);
            SourceWord::Sign('→')
        } else if self.rest.starts_with("=>") || self.rest.starts_with("==") {
            self.take(2);
            SourceWord::Sign('⇒')
        } else {
            self.take(first.len_utf8());
            SourceWord::Sign(first)
        };
        Some(PlacedWord { word, line })
    }

    fn take(&mut self, bytes: usize) -> &str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn skip(&mut self) {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            let end = if self.rest.starts_with("//") {
                self.rest.find('\n').unwrap_or(self.rest.len())
            } else if self.rest.starts_with("/*") {
                self.rest.find("*/").map_or(self.rest.len(), |at| at + 2)
            } else {
                return;
            };
            self.take(end);
        }
    }

    /// Behind the opening quote; three of them take everything as it stands.
    fn text(&mut self, quote: char) -> String {
        if self.rest.starts_with("\"\"\"") {
            self.take(3);
            // A text that ends with quotes has more than three at its end.
            let at = self.rest.find("\"\"\"").unwrap_or(self.rest.len());
            let more = self.rest[at..].chars().take_while(|&c| c == '"').count().saturating_sub(3);
            let text = self.take(at + more).to_owned();
            self.take(self.rest.len().min(3));
            return text;
        }
        self.take(1);
        let mut text = String::new();
        while let Some(c) = self.rest.chars().next() {
            self.take(c.len_utf8());
            match c {
                _ if c == quote => break,
                '\\' => text.push(self.escaped()),
                _ => text.push(c),
            }
        }
        text
    }

    fn escaped(&mut self) -> char {
        let Some(c) = self.rest.chars().next() else { return '\\' };
        self.take(c.len_utf8());
        match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let digits = self.rest.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                match digits.and_then(char::from_u32) {
                    Some(c) => {
                        self.take(4);
                        c
                    }
                    None => 'u',
                }
            }
            other => other,
        }
    }

    fn number(&mut self) -> SourceWord {
        let mut end = self.rest.find(|c: char| !(c.is_ascii_digit() || c == '_')).unwrap_or(self.rest.len());
        let fraction = self.rest[end..].strip_prefix('.').map_or(0, |rest| rest.chars().take_while(char::is_ascii_digit).count());
        if fraction > 0 {
            end += 1 + fraction;
        }
        let number = self.take(end).replace('_', "").parse().unwrap_or(0.0);
        // `10L`, `0.5f`.
        if self.rest.starts_with(['L', 'l', 'f', 'd', 'F', 'D']) && !self.rest[1..].starts_with(|c: char| c.is_alphanumeric()) {
            self.take(1);
        }
        SourceWord::Number(number)
    }
}
