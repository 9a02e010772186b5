//! Strings with `${…}`: variables, properties and functions of JMeter, as expressions of the test.

use std::collections::{BTreeMap, BTreeSet};

use crate::imported::Note;
use crate::steps::value;
use crate::text::{camel_case, quoted};

/// Everything that a `${name}` may stand for.
#[derive(Default)]
pub(super) struct Values {
    /// Variables of the plan (User Defined Variables), which become parameters.
    pub(super) defined: BTreeMap<String, String>,
    /// Variables that elements set while the test runs.
    pub(super) set: BTreeSet<String>,
    /// Parameters in use: their code, by name.
    pub(super) parameters: BTreeMap<String, String>,
    /// Parameters by the credentials whose place they take.
    pub(super) secrets: BTreeMap<String, String>,
    /// Counters of functions: each call in the plan has its own.
    pub(super) counters: usize,
    /// The order in which parameters were first used.
    pub(super) order: Vec<String>,
    pub(super) notes: Vec<Note>,
    /// Functions of the test's end that the text needs.
    pub(super) helpers: BTreeSet<&'static str>,
    /// Where in the plan the text is, for notes.
    pub(super) place: String,
}

/// How a variable is read and written in the test.
pub(super) fn state(name: &str) -> String {
    let key = crate::text::key(name);
    if key == name { format!("user.state.{name}") } else { format!("user.state[{}]", quoted(name)) }
}

impl Values {
    pub(super) fn lost(&mut self, what: impl std::fmt::Display) {
        self.notes.push(Note::lost(format!("{}: {what}", self.place)));
    }

    /// A string with its expressions between marks.
    pub(super) fn filled(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            out.push_str(&rest[..at]);
            let Some(end) = closing(&rest[at + 2..]) else { break };
            let inner = &rest[at + 2..at + 2 + end];
            match self.expression(inner) {
                Some(expression) => out.push_str(&expression),
                None => out.push_str(&rest[at..=(at + 2 + end)]),
            }
            rest = &rest[at + 3 + end..];
        }
        out.push_str(rest);
        out
    }

    /// What is between the braces: a marked expression, or plain text.
    fn expression(&mut self, inner: &str) -> Option<String> {
        if let Some(call) = inner.strip_prefix("__") {
            let (name, arguments) = match call.split_once('(') {
                Some((name, arguments)) => (name, split_arguments(arguments.strip_suffix(')').unwrap_or(arguments))),
                None => (call, Vec::new()),
            };
            let found = self.function(name, &arguments);
            if found.is_none() {
                self.lost(format!("the function ${{{inner}}}"));
            }
            return found;
        }
        let name = inner.trim();
        if self.set.contains(name) {
            let fallback = match self.defined.get(name).cloned() {
                Some(default) => self.parameter(name, &default),
                None => quoted(&format!("${{{name}}}")),
            };
            return Some(value(&format!("({} ?? {fallback})", state(name))));
        }
        if let Some(default) = self.defined.get(name).cloned() {
            // A definition may use properties and other definitions.
            if default.contains("${") {
                return Some(self.filled(&default));
            }
            return Some(value(&self.parameter(name, &default)));
        }
        self.notes
            .push(Note::changed(format!("{}: no element sets ${{{name}}}, so the text is sent as it is, as JMeter does", self.place)));
        None
    }

    /// A parameter of this name; its name in the test.
    pub(super) fn parameter(&mut self, wanted: &str, default: &str) -> String {
        let name = camel_case(wanted);
        let name = if RESERVED.contains(&name.as_str()) { format!("{name}Value") } else { name };
        let secret = loadstone_secrets::is_credential(wanted);
        let (default, secret) = if secret { ("", ", secret: true") } else { (default, "") };
        if !self.parameters.contains_key(&name) {
            let code = format!("const {name} = param.string({}, {{ default: {}{secret} }});\n", quoted(&name), quoted(default));
            self.parameters.insert(name.clone(), code);
            self.order.push(name.clone());
        }
        name
    }

    /// A credential: what the plan states is not written, a secret parameter takes its place.
    pub(super) fn hidden(&mut self, wanted: &str, text: String) -> String {
        if text.is_empty() || text.contains('\u{E000}') {
            return text;
        }
        let stated = self.secrets.entry(text).or_insert_with(|| camel_case(wanted)).clone();
        let name = if RESERVED.contains(&stated.as_str()) { format!("{stated}Value") } else { stated };
        if !self.parameters.contains_key(&name) {
            let code = format!("const {name} = param.string({}, {{ default: \"\", secret: true }});\n", quoted(&name));
            self.parameters.insert(name.clone(), code);
            self.order.push(name.clone());
        }
        value(&name)
    }

    /// The value of a field or header, hidden if its name is that of a credential.
    pub(super) fn filled_for(&mut self, name: &str, text: &str) -> String {
        let filled = self.filled(text);
        if loadstone_secrets::is_credential(name) { self.hidden(name, filled) } else { filled }
    }

    /// A number of a thread group: a literal, or a parameter.
    pub(super) fn number(&mut self, text: &str, default: f64) -> Number {
        let text = text.trim();
        if text.is_empty() {
            return Number::Literal(default);
        }
        if let Ok(number) = text.parse() {
            return Number::Literal(number);
        }
        let inner = text.strip_prefix("${").and_then(|text| text.strip_suffix('}')).unwrap_or("");
        let (name, default) = if let Some(call) = inner.strip_prefix("__P(").or_else(|| inner.strip_prefix("__property(")) {
            let arguments = split_arguments(call.strip_suffix(')').unwrap_or(call));
            (arguments.first().cloned().unwrap_or_default(), arguments.last().cloned().unwrap_or_default())
        } else if let Some(defined) = self.defined.get(inner) {
            (inner.to_owned(), defined.clone())
        } else {
            self.lost(format!("the number {text}"));
            return Number::Literal(default);
        };
        if default.contains("${") && default != text {
            return self.number(&default, 1.0);
        }
        let default: f64 = default.trim().parse().unwrap_or(1.0);
        let name = camel_case(&name);
        let name = if RESERVED.contains(&name.as_str()) { format!("{name}Value") } else { name };
        if !self.parameters.contains_key(&name) {
            self.order.push(name.clone());
        }
        let code = format!("const {name} = param.number({}, {{ default: {} }});\n", quoted(&name), crate::text::number(default));
        self.parameters.insert(name.clone(), code);
        Number::Parameter(name)
    }

    fn function(&mut self, name: &str, arguments: &[String]) -> Option<String> {
        let of = |index: usize| arguments.get(index).map_or("", |argument| argument.trim());
        Some(match name {
            "P" | "property" if !of(0).is_empty() => value(&self.parameter(of(0), arguments.last().map_or("", |last| last.trim()))),
            "env" => value(&self.parameter(of(0), of(2))),
            "UUID" => value("user.random.uuid()"),
            "Random" => {
                let (from, to) = (self.code(of(0)), self.code(of(1)));
                let call = format!("user.random.integer({from}, {to})");
                self.stored(of(2), &call)
            }
            "RandomString" if of(1).is_empty() => {
                let length = self.code(of(0));
                self.stored(of(2), &format!("user.random.string({length})"))
            }
            "RandomString" => {
                let length = self.code(of(0));
                self.stored(of(2), &format!("user.random.string({length}, {})", quoted(of(1))))
            }
            "time" if of(0).is_empty() => self.stored(of(1), "Date.now()"),
            "time" if of(0) == "/1000" => self.stored(of(1), "Math.floor(Date.now() / 1000)"),
            "timeShift" if of(0).is_empty() && of(2).is_empty() => value("Date.now()"),
            "threadNum" => value("user.number"),
            "urlencode" => {
                let inner = self.filled(of(0));
                {
                    self.helpers.insert("encoded");
                    value(&format!("encoded({})", crate::write::text(&inner)))
                }
            }
            "V" => {
                let inner = self.filled(of(0));
                value(&format!("String(user.state[{}] ?? \"\")", crate::write::text(&inner)))
            }
            "intSum" | "longSum" => {
                let terms = arguments.iter().filter(|term| !term.trim().is_empty() && !is_name(term));
                let terms: Vec<String> = terms.map(|term| self.code(term.trim())).collect();
                let terms: Vec<String> = terms.iter().map(|term| format!("Number({term})")).collect();
                value(&format!("({})", terms.join(" + ")))
            }
            // Each user counts; one counter of all users is shared state.
            "counter" if of(0).eq_ignore_ascii_case("true") => {
                self.counters += 1;
                let counter = format!("user.state.counter{}", self.counters);
                self.stored(of(1), &format!("({counter} = ({counter} ?? 0) + 1)"))
            }
            _ => return None,
        })
    }

    /// A function whose last argument names a variable stores its value there, too.
    fn stored(&mut self, name: &str, code: &str) -> String {
        if name.is_empty() {
            return value(code);
        }
        self.set.insert(name.to_owned());
        value(&format!("({} = {code})", state(name)))
    }

    /// An argument as code: a number, or the expression of a string.
    fn code(&mut self, text: &str) -> String {
        if text.parse::<f64>().is_ok() {
            return text.to_owned();
        }
        let filled = self.filled(text);
        format!("Number({})", crate::write::text(&filled))
    }

    /// A condition of an If or While Controller as code. `None`: it contains more than comparisons.
    pub(super) fn condition(&mut self, text: &str) -> Option<String> {
        let text = text.trim();
        let call = ["${__jexl3(", "${__jexl2(", "${__groovy(", "${__javaScript("].iter().find_map(|call| text.strip_prefix(call));
        let inner = match call {
            Some(inner) => inner.strip_suffix(")}").or_else(|| inner.strip_suffix(",)}"))?.trim_end_matches(',').trim(),
            None => text,
        };
        if let Some(variable) = inner.strip_prefix("${").and_then(|inner| inner.strip_suffix('}'))
            && is_name(variable)
        {
            let filled = self.filled(inner);
            return Some(format!("String({}) === \"true\"", crate::write::text(&filled)));
        }
        self.comparison(inner)
    }

    /// Comparisons that mean the same in JavaScript: literals, variables, `==`, `!=`, `<`, `&&`, `||`, `!`.
    fn comparison(&mut self, text: &str) -> Option<String> {
        let mut code = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if c == '"' || c == '\'' {
                let end = rest[1..].find(c)? + 1;
                let filled = self.filled(&rest[1..end]);
                let is_value = filled.contains('\u{E000}');
                let literal = crate::write::text(&filled);
                code.push_str(&if is_value { format!("String({literal})") } else { literal });
                rest = &rest[end + 1..];
            } else if rest.starts_with("${") {
                let end = closing(&rest[2..])? + 3;
                let filled = self.filled(&rest[..end]);
                code.push_str(&format!("Number({})", crate::write::text(&filled)));
                rest = &rest[end..];
            } else if let Some(inner) = rest.strip_prefix("vars.get(") {
                let (name, behind) = inner.split_once(')')?;
                let name = name.trim().trim_matches(['"', '\'']);
                let filled = self.filled(&format!("${{{name}}}"));
                code.push_str(&format!("String({})", crate::write::text(&filled)));
                rest = behind;
            } else if let Some(behind) = rest.strip_prefix("==") {
                code.push_str("===");
                rest = behind;
            } else if let Some(behind) = rest.strip_prefix("!=") {
                code.push_str("!==");
                rest = behind;
            } else if c.is_ascii_digit() || " ()!<>=&|.-\n\t".contains(c) {
                code.push(c);
                rest = &rest[1..];
            } else {
                let word: String = rest.chars().take_while(|c| c.is_alphabetic()).collect();
                if !matches!(word.as_str(), "true" | "false") {
                    return None;
                }
                code.push_str(&word);
                rest = &rest[word.len()..];
            }
        }
        Some(code)
    }
}

/// A number that the plan states, or that a person sets.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Number {
    Literal(f64),
    Parameter(String),
}

impl Number {
    pub(super) fn code(&self) -> String {
        match self {
            Self::Literal(number) => crate::text::number(*number),
            Self::Parameter(name) => name.clone(),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        matches!(self, Self::Literal(number) if *number <= 0.0)
    }

    /// As a duration in seconds.
    pub(super) fn seconds(&self) -> String {
        match self {
            Self::Literal(number) => quoted(&crate::text::seconds(*number)),
            Self::Parameter(name) => format!("`${{{name}}}s`"),
        }
    }
}

/// Names that the written test uses itself.
const RESERVED: [&str; 23] = [
    "encoded",
    "nth",
    "user",
    "test",
    "scenario",
    "response",
    "param",
    "csv",
    "users",
    "iterations",
    "arrivals",
    "setup",
    "teardown",
    "file",
    "rows",
    "matched",
    "paced",
    "asText",
    "sequence",
    "once",
    "base",
    "target",
    "step",
];

/// The brace that closes `${`, with others inside.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (index, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(index),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Arguments between commas; `\,` is a comma, and calls inside keep theirs.
fn split_arguments(text: &str) -> Vec<String> {
    let mut arguments = vec![String::new()];
    let (mut depth, mut letters) = (0, text.chars());
    while let Some(c) = letters.next() {
        match c {
            '\\' => arguments.last_mut().unwrap_or(&mut String::new()).extend(letters.next()),
            ',' if depth == 0 => arguments.push(String::new()),
            _ => {
                depth += i32::from(c == '(' || c == '{') - i32::from(c == ')' || c == '}');
                arguments.last_mut().unwrap_or(&mut String::new()).push(c);
            }
        }
    }
    arguments
}

fn is_name(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_alphanumeric() || "_.-".contains(c))
}
