//! Templates with `{{name}}` placeholders, compiled once and filled many times.
//!
//! `{{a.b}}` reads a member of an object, `{{name|json}}` writes a value as JSON, `{{name|url}}` encodes it for a URL, `\{{` yields `{{`.
//! Deliberately absent: loops and conditions. A script has those.

use thiserror::Error;
use url::form_urlencoded;

/// A template that cannot be compiled or filled. `name` is the file, or `template` for a string.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum TemplateError {
    #[error("{name}:{line}: {problem}")]
    Syntax { name: String, line: usize, problem: String },
    #[error("{name}:{line}: no value for {{{{{placeholder}}}}}: add it to the template's values")]
    Missing { name: String, line: usize, placeholder: String },
}

/// The format of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    /// Strings as they are, other values as JSON.
    Plain,
    Json,
    Url,
}

/// A compiled template.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextTemplate {
    name: String,
    parts: Vec<TemplatePart>,
    /// Bytes of the fixed parts: the minimum size of a filled template.
    fixed_bytes: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(Box<str>),
    Value(Placeholder),
}

/// A placeholder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placeholder {
    /// Member names in the values: `a.b` is two.
    pub(crate) path: Vec<Box<str>>,
    pub(crate) filter: Filter,
    line: usize,
}

/// A value for a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Filling {
    Text(String),
    /// JSON of any value except a string.
    Json(String),
}

impl TextTemplate {
    /// `name` appears in errors.
    pub(crate) fn compile(name: &str, text: &str) -> Result<Self, TemplateError> {
        let (mut parts, mut fixed, mut rest, mut line) = (Vec::new(), String::new(), text, 1);
        while let Some(at) = rest.find("{{") {
            let (before, after) = (&rest[..at], &rest[at + 2..]);
            line += before.matches('\n').count();
            if let Some(before) = before.strip_suffix('\\') {
                fixed.push_str(before);
                fixed.push_str("{{");
                rest = after;
                continue;
            }
            fixed.push_str(before);
            let syntax = |problem: String| TemplateError::Syntax { name: name.to_owned(), line, problem };
            let end = after.find("}}").ok_or_else(|| syntax("{{ without }}; write \\{{ for the characters themselves".to_owned()))?;
            if !fixed.is_empty() {
                parts.push(TemplatePart::Text(std::mem::take(&mut fixed).into()));
            }
            parts.push(TemplatePart::Value(placeholder(&after[..end], line).map_err(syntax)?));
            line += after[..end].matches('\n').count();
            rest = &after[end + 2..];
        }
        fixed.push_str(rest);
        if !fixed.is_empty() {
            parts.push(TemplatePart::Text(fixed.into()));
        }
        let fixed_bytes = parts.iter().map(|part| if let TemplatePart::Text(text) = part { text.len() } else { 0 }).sum();
        Ok(Self { name: name.to_owned(), parts, fixed_bytes })
    }

    /// The filled template. `value` yields the value of a placeholder, or `None` when there is none.
    pub(crate) fn fill<E: From<TemplateError>>(
        &self,
        mut value: impl FnMut(&Placeholder) -> Result<Option<Filling>, E>,
    ) -> Result<String, E> {
        let mut out = String::with_capacity(self.fixed_bytes + 64);
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => out.push_str(text),
                TemplatePart::Value(placeholder) => {
                    let filling = value(placeholder)?.ok_or_else(|| self.missing(placeholder))?;
                    write(&mut out, placeholder.filter, &filling);
                }
            }
        }
        Ok(out)
    }

    fn missing(&self, placeholder: &Placeholder) -> TemplateError {
        TemplateError::Missing { name: self.name.clone(), line: placeholder.line, placeholder: placeholder.path.join(".") }
    }
}

fn placeholder(inside: &str, line: usize) -> Result<Placeholder, String> {
    let (path, filter) = inside.split_once('|').unwrap_or((inside, ""));
    let filter = match filter.trim() {
        "" if !inside.contains('|') => Filter::Plain,
        "json" => Filter::Json,
        "url" => Filter::Url,
        other => return Err(format!("no filter \"{other}\": there are json and url")),
    };
    let path: Vec<Box<str>> = path.trim().split('.').map(Into::into).collect();
    if path.iter().any(|name| name.is_empty() || name.contains(|c: char| c.is_whitespace() || "{}".contains(c))) {
        return Err(format!("{{{{{inside}}}}} is not the name of a value"));
    }
    Ok(Placeholder { path, filter, line })
}

fn write(out: &mut String, filter: Filter, filling: &Filling) {
    match (filter, filling) {
        (Filter::Plain, Filling::Text(text) | Filling::Json(text)) | (Filter::Json, Filling::Json(text)) => out.push_str(text),
        (Filter::Json, Filling::Text(text)) => out.push_str(&serde_json::Value::from(text.as_str()).to_string()),
        // `application/x-www-form-urlencoded` except for the space: in a path it is not `+`.
        (Filter::Url, Filling::Text(text) | Filling::Json(text)) => {
            form_urlencoded::byte_serialize(text.as_bytes())
                .for_each(|part| if part == "+" { out.push_str("%20") } else { out.push_str(part) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str) -> Result<String, String> {
        let values = serde_json::json!({"name": "Ada \"L\"", "n": 1.5, "a": {"b": [1, "x"]}, "q": "a b/ü&+", "empty": ""});
        let template = TextTemplate::compile("t.txt", text).map_err(|error| error.to_string())?;
        template
            .fill(|placeholder| {
                let mut value = &values;
                for name in &placeholder.path {
                    let Some(inner) = value.get(&**name) else { return Ok(None) };
                    value = inner;
                }
                Ok::<_, TemplateError>(Some(match value {
                    serde_json::Value::String(text) => Filling::Text(text.clone()),
                    other => Filling::Json(other.to_string()),
                }))
            })
            .map_err(|error| error.to_string())
    }

    #[test]
    fn every_form_of_placeholder_is_filled() {
        for (text, filled) in [
            ("", ""),
            ("plain } { text", "plain } { text"),
            ("Hello {{name}}!", "Hello Ada \"L\"!"),
            ("{{n}}{{ n }}", "1.51.5"),
            ("{{a.b}}", "[1,\"x\"]"),
            ("{\"name\": {{name|json}}, \"n\": {{n | json}}}", "{\"name\": \"Ada \\\"L\\\"\", \"n\": 1.5}"),
            ("/s?q={{q|url}}", "/s?q=a%20b%2F%C3%BC%26%2B"),
            ("\\{{name}} {{empty}}.", "{{name}} ."),
            ("{\"a\":{\"b\":{{n}}}}", "{\"a\":{\"b\":1.5}}"),
        ] {
            assert_eq!(fill(text).as_deref(), Ok(filled), "{text}");
        }
    }

    #[test]
    fn mistakes_name_file_and_line() {
        for (text, message) in [
            ("one\n{{nmae}}", "t.txt:2: no value for {{nmae}}: add it to the template's values"),
            ("{{a.c}}", "t.txt:1: no value for {{a.c}}: add it to the template's values"),
            ("\n\n{{name", "t.txt:3: {{ without }}; write \\{{ for the characters themselves"),
            ("{{}}", "t.txt:1: {{}} is not the name of a value"),
            ("{{two words}}", "t.txt:1: {{two words}} is not the name of a value"),
            ("{{name|upper}}", "t.txt:1: no filter \"upper\": there are json and url"),
            ("{{name|}}", "t.txt:1: no filter \"\": there are json and url"),
        ] {
            assert_eq!(fill(text).unwrap_err(), message);
        }
    }
}
