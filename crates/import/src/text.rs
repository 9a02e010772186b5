//! How values, names and times are written in a test file.

use std::collections::HashSet;

use serde_json::Value;

/// A text in double quotes.
pub(crate) fn quoted(text: &str) -> String {
    // JSON is a part of JavaScript.
    Value::from(text).to_string()
}

/// A number as a person would write it.
pub(crate) fn number(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    rounded.to_string()
}

/// A duration of so many milliseconds: `"500ms"`, `"2s"`.
pub(crate) fn milliseconds(value: f64) -> String {
    if value >= 1000.0 && value % 1000.0 == 0.0 { seconds(value / 1000.0) } else { format!("{}ms", number(value)) }
}

/// A duration of so many seconds: `"1m30s"`, `"500ms"`.
pub(crate) fn seconds(value: f64) -> String {
    if value.fract() != 0.0 {
        return if value < 1.0 { format!("{}ms", number(value * 1000.0)) } else { format!("{}s", number(value)) };
    }
    let whole = value as u64;
    let parts = [(whole / 3600, "h"), (whole / 60 % 60, "m"), (whole % 60, "s")];
    let text: String = parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect();
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// A length of time as Go writes it (`"1m30s"`, `"1.5h"`), in seconds.
pub(crate) fn go_duration(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    if let Ok(milliseconds) = rest.parse::<f64>() {
        return Some(milliseconds / 1000.0);
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let value: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 0.001,
            "us" | "µs" => 0.000_001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
        total += value * unit;
        rest = &rest[letters..];
    }
    Some(total)
}

/// `BASE_URL`, `base-url` and `Base URL` are `baseUrl`. Never empty, never beginning with a digit.
pub(crate) fn camel_case(text: &str) -> String {
    let mut name = String::new();
    for word in words(text) {
        let lower = if word.chars().any(char::is_lowercase) && !name.is_empty() { word.clone() } else { word.to_lowercase() };
        let mut letters = lower.chars();
        match letters.next() {
            Some(first) if !name.is_empty() => {
                name.extend(first.to_uppercase());
                name.push_str(letters.as_str());
            }
            Some(first) => {
                name.extend(first.to_lowercase());
                name.push_str(letters.as_str());
            }
            None => {}
        }
    }
    match name.chars().next() {
        None => "step".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("n{name}"),
        _ if RESERVED.contains(&name.as_str()) => format!("{name}It"),
        _ => name,
    }
}

/// Runs of letters and digits; a capital behind a small letter begins a new one.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() {
            words.push(String::new());
        } else {
            if c.is_ascii_uppercase() && before.is_ascii_lowercase() {
                words.push(String::new());
            }
            words.last_mut().unwrap_or(&mut String::new()).push(c);
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Words of the language that are no names.
const RESERVED: [&str; 24] = [
    "delete", "default", "new", "import", "export", "return", "switch", "case", "class", "function", "in", "if", "for", "while", "do",
    "this", "with", "void", "try", "catch", "var", "let", "const", "await",
];

/// A key of an object literal: quoted where it must be.
pub(crate) fn key(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '$');
    if first && letters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$') { name.to_owned() } else { quoted(name) }
}

/// Lines with more blanks in front.
pub(crate) fn indented(code: &str, levels: usize) -> String {
    let blanks = "  ".repeat(levels);
    code.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{blanks}{line}\n") }).collect()
}

/// Text between backquotes, apart from what is put in.
pub(crate) fn in_template(text: &str) -> String {
    text.replace('\\', "\\\\").replace('`', "\\`").replace("${", "\\${")
}

/// The first of `wanted`, `wanted2`, … that is free; it is then taken.
pub(crate) fn fresh(taken: &mut HashSet<String>, wanted: &str) -> String {
    let free = |name: &String| !taken.contains(name);
    let name = std::iter::once(wanted.to_owned()).chain((2..).map(|n| format!("{wanted}{n}"))).find(free).unwrap_or_default();
    taken.insert(name.clone());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_camel_case() {
        for (text, name) in [
            ("BASE_URL", "baseUrl"),
            ("List products", "listProducts"),
            ("getPizza", "getPizza"),
            ("GET /tickets/:id", "getTicketsId"),
            ("3 users", "n3Users"),
            ("delete", "deleteIt"),
            ("  ", "step"),
            ("quickPizza-number_of", "quickPizzaNumberOf"),
        ] {
            assert_eq!(camel_case(text), name, "{text}");
        }
    }

    #[test]
    fn durations_of_go_are_read() {
        for (text, value) in [("1m30s", Some(90.0)), ("1.5h", Some(5400.0)), ("500ms", Some(0.5)), ("1500", Some(1.5)), ("3 weeks", None)] {
            assert_eq!(go_duration(text), value, "{text}");
        }
        assert_eq!((seconds(90.0), seconds(0.5), seconds(1.5), seconds(0.0)), ("1m30s".into(), "500ms".into(), "1.5s".into(), "0s".into()));
        assert_eq!((milliseconds(60000.0), milliseconds(1500.0)), ("1m".into(), "1500ms".into()));
    }
}
