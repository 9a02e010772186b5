//! The default name of a statement: its first word, and its table.

use loadstone_protocol::sql::SqlDialect;

/// Maximum length of identifiers, as in PostgreSQL.
const IDENTIFIER_MAX: usize = 63;

/// Words between `CREATE` and the kind of object.
const MODIFIERS: [&str; 8] = ["or", "replace", "temp", "temporary", "unlogged", "unique", "materialized", "local"];

/// `SELECT orders`, `INSERT orders`, `CREATE TABLE`, `SELECT pg_sleep`; never a value.
pub(super) fn name_of(text: &str, dialect: SqlDialect) -> String {
    let words: Vec<SqlWord<'_>> = Words { rest: text, depth: 0, is_mysql: dialect == SqlDialect::MySql }.collect();
    let Some(verb) = words.first().map(|first| shortened(&first.text.to_ascii_uppercase())) else { return "SQL".to_owned() };
    let behind = |keyword: &str, anywhere: bool| {
        let at = words.iter().position(|word| (anywhere || word.depth == 0) && word.text.eq_ignore_ascii_case(keyword))?;
        words[at + 1..].iter().find(|word| !is_among(word, &["only", "lateral"]))
    };
    let subject = match &*verb {
        "INSERT" | "REPLACE" | "MERGE" => behind("into", false),
        "UPDATE" | "CALL" => behind(&verb, false),
        "DELETE" => behind("from", false),
        "SELECT" | "WITH" => {
            behind("from", false).or_else(|| behind("from", true)).or_else(|| words.iter().skip(1).find(|word| word.is_called))
        }
        "CREATE" | "ALTER" | "DROP" | "TRUNCATE" | "SET" | "LOCK" => words.iter().skip(1).find(|word| !is_among(word, &MODIFIERS)),
        _ => None,
    };
    match (&*verb, subject) {
        (_, None) => verb,
        ("CREATE" | "ALTER" | "DROP", Some(kind)) => format!("{verb} {}", shortened(&kind.text.to_ascii_uppercase())),
        (_, Some(subject)) => format!("{verb} {}", shortened(&subject.text)),
    }
}

fn is_among(word: &SqlWord<'_>, known: &[&str]) -> bool {
    known.iter().any(|known| word.text.eq_ignore_ascii_case(known))
}

fn shortened(text: &str) -> String {
    text.chars().take(IDENTIFIER_MAX).collect()
}

/// A keyword or an identifier.
struct SqlWord<'a> {
    text: std::borrow::Cow<'a, str>,
    /// Number of open parentheses around it.
    depth: usize,
    /// A parenthesis follows directly.
    is_called: bool,
}

/// The words of a statement, without comments and values.
struct Words<'a> {
    rest: &'a str,
    depth: usize,
    /// The dialect has quotes, comments and strings that PostgreSQL does not have.
    is_mysql: bool,
}

impl<'a> Words<'a> {
    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    /// After the next `end` after the first `from` bytes.
    fn skip_past(&mut self, from: usize, end: &str) {
        let rest = self.rest.get(from..).unwrap_or_default();
        self.rest = rest.find(end).map_or("", |at| &rest[at + end.len()..]);
    }

    /// After a string in these quotes, with which the rest begins.
    fn skip_text(&mut self, quote: char) {
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' if self.is_mysql => drop(characters.next()),
                _ if character == quote => return self.skip(at + 1),
                _ => {}
            }
        }
        self.rest = "";
    }

    /// Around identifiers.
    fn quote(&self) -> char {
        if self.is_mysql { '`' } else { '"' }
    }

    fn word(&mut self) -> SqlWord<'a> {
        let quote = self.quote();
        let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '.' | '$') || character == quote;
        let (mut end, mut in_quotes) = (self.rest.len(), false);
        for (at, character) in self.rest.char_indices() {
            in_quotes ^= character == quote;
            if !in_quotes && !is_part(character) {
                end = at;
                break;
            }
        }
        let (written, rest) = self.rest.split_at(end);
        self.rest = rest;
        let text = if written.contains(quote) { written.replace(quote, "").into() } else { written.into() };
        SqlWord { text, depth: self.depth, is_called: rest.starts_with('(') }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = SqlWord<'a>;

    fn next(&mut self) -> Option<SqlWord<'a>> {
        loop {
            let first = self.rest.chars().next()?;
            match first {
                '-' if self.rest.starts_with("--") => self.skip_past(2, "\n"),
                '/' if self.rest.starts_with("/*") => self.skip_past(2, "*/"),
                '#' if self.is_mysql => self.skip_past(1, "\n"),
                '\'' => self.skip_text(first),
                '"' if self.is_mysql => self.skip_text(first),
                '(' | ')' => {
                    self.depth = if first == '(' { self.depth + 1 } else { self.depth.saturating_sub(1) };
                    self.skip(1);
                }
                // A value, or a placeholder for one.
                '0'..='9' | '$' => drop(self.word()),
                _ if first.is_alphabetic() || first == '_' || first == self.quote() => return Some(self.word()),
                _ => self.skip(first.len_utf8()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_action_and_the_table() {
        for (text, name) in [
            ("SELECT id, total FROM orders WHERE id = $1", "SELECT orders"),
            ("select extract(year from created) from shop.orders o", "SELECT shop.orders"),
            ("-- of the day\nSELECT 'from x', count(*)\n  FROM \"Order Items\" AS i", "SELECT Order Items"),
            ("SELECT pg_sleep(0.1)", "SELECT pg_sleep"),
            ("SELECT 1", "SELECT"),
            ("WITH due AS (SELECT * FROM jobs) SELECT * FROM due", "WITH due"),
            ("INSERT INTO orders (product, note) VALUES ($1, 'secret')", "INSERT orders"),
            ("insert into orders select * from drafts", "INSERT orders"),
            ("UPDATE ONLY seats SET taken = true", "UPDATE seats"),
            ("/* x */ DELETE FROM carts WHERE id IN (SELECT id FROM old)", "DELETE carts"),
            ("create table x (id int)", "CREATE TABLE"),
            ("CREATE UNIQUE INDEX x ON y (z)", "CREATE INDEX"),
            ("TRUNCATE orders", "TRUNCATE orders"),
            ("CALL book($1, 2)", "CALL book"),
            ("VALUES (1)", "VALUES"),
            ("'unended", "SQL"),
            ("", "SQL"),
            ("SELECT * FROM größe", "SELECT größe"),
        ] {
            assert_eq!(name_of(text, SqlDialect::Postgres), name, "{text}");
        }
        assert_eq!(name_of(&format!("SELECT * FROM {}", "x".repeat(1000)), SqlDialect::Postgres).len(), 7 + IDENTIFIER_MAX);
    }

    #[test]
    fn mysql_quotes_are_recognised() {
        for (text, name) in [
            ("SELECT `id` FROM `order items` WHERE a = ?", "SELECT order items"),
            ("SELECT \"it's from secret\", 'it\\'s from secret' FROM shop.`orders` # from x", "SELECT shop.orders"),
            ("SELECT 'it\\'s from secret'", "SELECT"),
            ("REPLACE INTO carts VALUES (?, \"into x\")", "REPLACE carts"),
            ("# what\ninsert ignore into orders values (1)", "INSERT orders"),
            ("SHOW TABLES", "SHOW"),
        ] {
            assert_eq!(name_of(text, SqlDialect::MySql), name, "{text}");
        }
    }
}
