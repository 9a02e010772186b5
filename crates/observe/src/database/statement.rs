//! Statements without their values, so that a million different orders are one statement.

/// Characters that are kept, and how many of them from the end, which contains `for update` and `order by`.
const LENGTH_MAX: usize = 116;
const TAIL: usize = 45;

/// Replaces literals and lists of literals by `?`, and white space by single blanks. In a long statement, the list of columns and then the middle are
/// removed, so that statements with different conditions remain distinct.
pub(crate) fn normalise(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len().min(128));
    let mut rest = sql.trim();
    while let Some(first) = rest.chars().next() {
        if out.len() >= 2_000 {
            break;
        }
        let taken = match first {
            '\'' => {
                out.push('?');
                quoted(rest)
            }
            c if c.is_ascii_digit() && !out.ends_with(|p: char| p.is_alphanumeric() || p == '_' || p == '$') => {
                drop_sign(&mut out);
                out.push('?');
                rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap_or(rest.len())
            }
            '$' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                out.push('?');
                1 + rest[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - 1)
            }
            c if c.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
                c.len_utf8()
            }
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            c => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    while let Some(shorter) = ["?, ?", "?,?", "(?), (?)", "(?),(?)"].iter().find(|list| out.contains(**list)) {
        out = out.replace(shorter, if shorter.starts_with('(') { "(?)" } else { "?" });
    }
    crate::collector::label(&shortened(out.trim()))
}

/// At most [`LENGTH_MAX`] characters.
fn shortened(statement: &str) -> String {
    if statement.chars().count() <= LENGTH_MAX {
        return statement.to_owned();
    }
    let columns_go = without_columns(statement);
    let statement = columns_go.as_deref().unwrap_or(statement);
    let length = statement.chars().count();
    if length <= LENGTH_MAX {
        return statement.to_owned();
    }
    let head: String = statement.chars().take(LENGTH_MAX - TAIL - 3).collect();
    let tail: String = statement.chars().skip(length - TAIL).collect();
    format!("{} … {}", head.trim_end(), tail.trim_start())
}

/// `select a, b, c from …` as `select … from …`, also in subqueries, so that the tables remain.
fn without_columns(statement: &str) -> Option<String> {
    const SELECT: &str = "select ";
    let lower = statement.to_ascii_lowercase();
    let mut out = String::new();
    let mut copied = 0;
    while let Some(found) = lower[copied..].find(SELECT) {
        let columns = copied + found + SELECT.len();
        let Some(from) = lower[columns..].find(" from ") else { break };
        out.push_str(&statement[copied..columns]);
        out.push('…');
        copied = columns + from;
    }
    (copied > 0).then(|| out + &statement[copied..])
}

/// A minus after an operator, a bracket or a comma belongs to the number; after a name it subtracts.
fn drop_sign(out: &mut String) {
    let Some(before) = out.strip_suffix('-') else { return };
    if before.trim_end().ends_with(['(', ',', '=', '<', '>', '+', '-', '*', '/', '%']) {
        out.pop();
    }
}

/// Bytes of the quoted text at the start, with doubled quotes inside.
fn quoted(text: &str) -> usize {
    let mut at = 1;
    while let Some(quote) = text[at..].find('\'') {
        at += quote + 1;
        if !text[at..].starts_with('\'') {
            return at;
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn literals_go_and_names_stay() {
        for (sql, expected) in [
            ("select * from t1 where id = 42 and name = 'O''Brien'", "select * from t1 where id = ? and name = ?"),
            ("SELECT\n  a  -- why\n FROM b /* c 1 */ where x in (1, 2,3)", "SELECT a FROM b where x in (?)"),
            ("insert into a values (1, 'x'), (2, 'y')", "insert into a values (?)"),
            ("update c set n = $1 where k = $12", "update c set n = ? where k = ?"),
            ("select 1.5e3, -7, 'open", "select ?"),
            ("update a set b = b + -5, c = c - 5 where d = -1", "update a set b = b + ?, c = c - ? where d = ?"),
        ] {
            assert_eq!(normalise(sql), expected, "{sql}");
        }
    }

    #[test]
    fn long_statements_stay_apart_by_their_ends() {
        let columns = (0..40).map(|number| format!("orders.column_{number}")).collect::<Vec<_>>().join(", ");
        let of = |end: &str| normalise(&format!("SELECT {columns} FROM orders WHERE {end}"));
        assert_eq!(of("id = 7"), "SELECT … FROM orders WHERE id = ?");
        let joins = (0..9).map(|number| format!("join part_{number} on part_{number}.id = orders.id ")).collect::<String>();
        let long = |end: &str| normalise(&format!("SELECT {columns} FROM orders {joins} WHERE {end}"));
        let (plain, locking) = (long("state = 'new' limit 1"), long("state = 'new' limit 1 for update"));
        assert!(
            plain != locking && locking.ends_with("limit ? for update") && locking.starts_with("SELECT … FROM orders join"),
            "{locking}"
        );
    }

    #[test]
    fn long_statements_name_the_tables_of_their_subqueries() {
        let sql = "WITH existing AS (SELECT last_modified, as_epoch(last_modified) AS last_epoch FROM timestamps WHERE parent_id = 1 AND name = 'a') \
                   SELECT existing.last_modified, existing.last_epoch FROM existing";
        assert_eq!(normalise(sql), "WITH existing AS (SELECT … FROM timestamps WHERE parent_id = ? AND name = ?) SELECT … FROM existing");
    }

    proptest! {
        #[test]
        fn any_text_is_short_and_safe(sql in "\\PC{0,300}") {
            let normal = normalise(&sql);
            let unsafe_characters = ['{', '}', '\n'];
            prop_assert!(normal.chars().count() <= LENGTH_MAX);
            prop_assert!(!normal.contains(unsafe_characters));
        }
    }
}
