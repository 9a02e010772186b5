//! Scripts of a collection: statuses and comparisons become checks, values that are kept become state. Both generations of the API are read: `pm.*` and
//! the older `postman.*`, `tests[…]` and `responseBody`.
//!
//! Only statements that run in any case are translated: none inside a condition or loop, and none whose value is computed.

use crate::text::quoted;

/// A statement that has an equivalent.
#[derive(Debug, PartialEq)]
pub(super) enum Statement {
    /// Name, status.
    Status(Option<String>, u16),
    /// Name, path of the response, literal.
    Equals(Option<String>, String, String),
    /// Variable, path of the response.
    Kept(String, String),
}

/// The statements, and the lines that have no equivalent.
pub(super) fn statements<'t>(lines: &[&'t str]) -> (Vec<Statement>, Vec<&'t str>) {
    let mut reader = PostmanScriptReader { bodies: Vec::new(), title: None };
    let (mut found, mut rest) = (Vec::new(), Vec::new());
    for (index, line) in lines.iter().enumerate() {
        let trimmed = line.trim();
        if branches(trimmed) {
            // What follows may belong to the branch.
            rest.extend(lines[index..].iter().copied());
            break;
        }
        reader.names(trimmed);
        match reader.statement(trimmed) {
            Some(statement) => found.push(statement),
            None if reader.is_frame(trimmed) => {}
            None => rest.push(*line),
        }
    }
    rest.retain(|line| !line.trim().is_empty());
    (found, rest)
}

fn branches(line: &str) -> bool {
    let words = ["if", "else", "for", "while", "switch", "try", "do"];
    let first: String = line.trim_start_matches(['}', ' ']).chars().take_while(|c| c.is_alphabetic()).collect();
    words.contains(&first.as_str()) || ["forEach(", ".map(", "setTimeout(", "sendRequest(", " ? "].iter().any(|call| line.contains(call))
}

struct PostmanScriptReader {
    /// Variables that hold the response's JSON.
    bodies: Vec<String>,
    /// Of the test that the line belongs to.
    title: Option<String>,
}

impl PostmanScriptReader {
    fn names(&mut self, line: &str) {
        if let Some(title) = between(line, "pm.test(", ",") {
            self.title = Some(title.trim_matches(['"', '\'', '`']).to_owned());
        }
        if let Some((left, right)) = line.split_once('=')
            && is_body(right.trim().trim_end_matches(';'))
        {
            self.bodies.extend(left.split_whitespace().last().map(str::to_owned));
        }
    }

    fn statement(&self, line: &str) -> Option<Statement> {
        if let Some((variable, value)) = kept(line) {
            return Some(Statement::Kept(variable, self.path(&value)?));
        }
        if let Some((title, condition)) = line.strip_prefix("tests[").and_then(|rest| rest.split_once(']')) {
            let title = title.trim_matches(['"', '\'', '`']).to_owned();
            let condition = condition.trim_start().strip_prefix('=')?.trim().trim_end_matches(';');
            let (left, right) = condition.split_once("===").or_else(|| condition.split_once("=="))?;
            let (left, right) = (left.trim(), right.trim());
            return if matches!(left, "responseCode.code" | "pm.response.code") {
                Some(Statement::Status(Some(title), right.parse().ok()?))
            } else {
                Some(Statement::Equals(Some(title), self.path(left)?, literal(right)?))
            };
        }
        if let Some(status) = between(line, "to.have.status(", ")").and_then(|status| status.parse().ok()) {
            return Some(Statement::Status(self.title.clone(), status));
        }
        let (value, rest) = line.split_once("pm.expect(")?.1.split_once(").to.")?;
        let call = ["eql(", "equal(", "eq(", "be.eql(", "be.equal("].iter().find_map(|call| rest.strip_prefix(call))?;
        let expected = call.trim_end_matches([';', ' ', '}', ')']);
        if matches!(value.trim(), "pm.response.code" | "responseCode.code") {
            return Some(Statement::Status(self.title.clone(), expected.parse().ok()?));
        }
        Some(Statement::Equals(self.title.clone(), self.path(value.trim())?, literal(expected)?))
    }

    /// `body.items[0].id` or `pm.response.json().id` as a path.
    fn path(&self, value: &str) -> Option<String> {
        let value = value.trim();
        let members =
            ["pm.response.json()", "JSON.parse(responseBody)"].iter().find_map(|call| value.strip_prefix(call)).or_else(|| {
                self.bodies.iter().find_map(|body| value.strip_prefix(body.as_str()).filter(|rest| rest.starts_with(['.', '['])))
            })?;
        let plain = members.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '[' | ']'));
        (plain && !members.ends_with(".length")).then(|| format!("${members}"))
    }

    /// Lines that only hold others together.
    fn is_frame(&self, line: &str) -> bool {
        let reads = self.bodies.iter().any(|body| {
            line.split_once('=')
                .is_some_and(|(left, right)| left.split_whitespace().last() == Some(body) && is_body(right.trim().trim_end_matches(';')))
        });
        let ends = !line.is_empty() && line.chars().all(|c| matches!(c, '}' | ')' | ';' | ' '));
        let begins = line.starts_with("pm.test(") && line.ends_with('{');
        line.is_empty() || line.starts_with("//") || ends || begins || reads
    }
}

fn is_body(expression: &str) -> bool {
    matches!(expression, "pm.response.json()" | "JSON.parse(responseBody)")
}

/// `pm.environment.set("token", body.token)`: the variable and the expression.
fn kept(line: &str) -> Option<(String, String)> {
    let calls = [
        "pm.environment.set(",
        "pm.collectionVariables.set(",
        "pm.globals.set(",
        "pm.variables.set(",
        "postman.setEnvironmentVariable(",
        "postman.setGlobalVariable(",
    ];
    let call = calls.iter().find_map(|call| line.strip_prefix(call))?;
    let (name, expression) = call.trim_end_matches([';', ' ']).strip_suffix(')')?.split_once(',')?;
    Some((name.trim().trim_matches(['"', '\'', '`']).to_owned(), expression.trim().to_owned()))
}

/// A literal as TypeScript.
fn literal(text: &str) -> Option<String> {
    let text = text.trim();
    if text.parse::<f64>().is_ok() || matches!(text, "true" | "false" | "null") {
        return Some(text.to_owned());
    }
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = text[1..].strip_suffix(quote).filter(|inner| !inner.contains(['\\', quote]))?;
    Some(quoted(inner))
}

fn between<'t>(line: &'t str, left: &str, right: &str) -> Option<&'t str> {
    let (_, rest) = line.split_once(left)?;
    Some(rest.split_once(right)?.0.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_generations_of_the_api_are_read() {
        let kept = |name: &str, path: &str| Statement::Kept(name.into(), path.into());
        for (script, expected) in [
            ("const j = pm.response.json();\npm.environment.set('id', j.items[0].id);", vec![kept("id", "$.items[0].id")]),
            ("var data = JSON.parse(responseBody);\npostman.setEnvironmentVariable(\"t\", data.t);", vec![kept("t", "$.t")]),
            ("tests[\"ok\"] = responseCode.code === 201;", vec![Statement::Status(Some("ok".into()), 201)]),
            ("pm.test('a', function () {\n  pm.response.to.have.status(200);\n});", vec![Statement::Status(Some("a".into()), 200)]),
            (
                "pm.test(\"b\", () => { pm.expect(pm.response.json().n).to.eql(3); });",
                vec![Statement::Equals(Some("b".into()), "$.n".into(), "3".into())],
            ),
        ] {
            assert_eq!(statements(&script.lines().collect::<Vec<_>>()), (expected, Vec::new()), "{script}");
        }
    }

    #[test]
    fn what_runs_only_sometimes_is_not_translated() {
        for script in [
            "if (x) { pm.environment.set('id', pm.response.json().id); }",
            "if (x) {\n  pm.environment.set('id', pm.response.json().id);\n}",
            "postman.setNextRequest('form');",
            "pm.environment.set('now', Date.now());",
            "pm.environment.set('id', config.id);",
            "pm.expect(pm.response.responseTime).to.be.below(200);",
        ] {
            let lines: Vec<&str> = script.lines().collect();
            let (found, rest) = statements(&lines);
            assert!(found.is_empty() && rest.len() == lines.len(), "{script}: {found:?}");
        }
    }
}
