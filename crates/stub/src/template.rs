//! Text with placeholders that are filled from the request. Read [`BodyTemplate`].
//!
//! Placeholders: `{{method}}` `{{path}}` `{{body}}` `{{sequence}}` `{{parameter.NAME}}` `{{query.NAME}}` `{{header.NAME}}`
//! `{{json.a.b.0}}` (a path into the JSON body) and `{{id}}` (a random identifier). A missing value is empty.

use std::fmt::Write;

use serde_json::Value;

use crate::{BehaviourError, SeededRandom, StubRequest};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BodyTemplate {
    parts: Vec<TemplatePiece>,
}

#[derive(Debug, Clone, PartialEq)]
enum TemplatePiece {
    Text(String),
    Method,
    Path,
    Body,
    Sequence,
    Id,
    Parameter(String),
    Query(String),
    Header(String),
    Json(Vec<String>),
}

impl BodyTemplate {
    /// # Errors
    /// Names the placeholder that is unknown or unclosed.
    pub(crate) fn parse(text: &str) -> Result<Self, BehaviourError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("{{") {
            let (before, hole) = rest.split_at(start);
            let end = hole.find("}}").ok_or_else(|| BehaviourError::UnclosedHole(hole.to_owned()))?;
            if !before.is_empty() {
                parts.push(TemplatePiece::Text(before.to_owned()));
            }
            parts.push(parse_hole(hole[2..end].trim())?);
            rest = &hole[end + 2..];
        }
        if !rest.is_empty() {
            parts.push(TemplatePiece::Text(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    pub(crate) fn fill(&self, request: &StubRequest, random: &mut SeededRandom) -> String {
        let json = if self.parts.iter().any(|part| matches!(part, TemplatePiece::Json(_))) { request.json() } else { None };
        let mut out = String::new();
        for part in &self.parts {
            match part {
                TemplatePiece::Text(text) => out.push_str(text),
                TemplatePiece::Method => out.push_str(&request.method),
                TemplatePiece::Path => out.push_str(&request.path),
                TemplatePiece::Body => out.push_str(&String::from_utf8_lossy(&request.body)),
                TemplatePiece::Sequence => {
                    let _ = write!(out, "{}", request.sequence);
                }
                TemplatePiece::Id => {
                    let _ = write!(out, "{:016x}{:016x}", random.next_u64(), random.next_u64());
                }
                TemplatePiece::Parameter(name) => out.push_str(request.parameter(name).unwrap_or_default()),
                TemplatePiece::Query(name) => out.push_str(&request.query_value(name).unwrap_or_default()),
                TemplatePiece::Header(name) => out.push_str(request.header(name).unwrap_or_default()),
                TemplatePiece::Json(path) => out.push_str(&json.as_ref().and_then(|json| walk(json, path)).unwrap_or_default()),
            }
        }
        out
    }
}

fn parse_hole(hole: &str) -> Result<TemplatePiece, BehaviourError> {
    let named = hole.split_once('.').filter(|(_, name)| !name.is_empty());
    match (hole, named) {
        ("method", _) => Ok(TemplatePiece::Method),
        ("path", _) => Ok(TemplatePiece::Path),
        ("body", _) => Ok(TemplatePiece::Body),
        ("sequence", _) => Ok(TemplatePiece::Sequence),
        ("id", _) => Ok(TemplatePiece::Id),
        (_, Some(("parameter", name))) => Ok(TemplatePiece::Parameter(name.to_owned())),
        (_, Some(("query", name))) => Ok(TemplatePiece::Query(name.to_owned())),
        (_, Some(("header", name))) => Ok(TemplatePiece::Header(name.to_owned())),
        (_, Some(("json", path))) => Ok(TemplatePiece::Json(path.split('.').map(str::to_owned).collect())),
        _ => Err(BehaviourError::UnknownHole(hole.to_owned())),
    }
}

fn walk(json: &Value, path: &[String]) -> Option<String> {
    let mut value = json;
    for step in path {
        value = match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            Value::Object(fields) => fields.get(step)?,
            _ => return None,
        };
    }
    Some(match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> StubRequest {
        StubRequest {
            method: "POST".to_owned(),
            path: "/carts/7".to_owned(),
            query: "q=red%20shoe".to_owned(),
            parameters: vec![("id".to_owned(), "7".to_owned())],
            headers: vec![("x-run".to_owned(), "42".to_owned())],
            body: r#"{"items":[{"sku":"A1","count":2}]}"#.into(),
            messages: Vec::new(),
            arrived_ns: 0,
            due_ns: 0,
            sequence: 3,
        }
    }

    #[test]
    fn every_kind_of_placeholder_is_filled() {
        let text = "{{method}} {{path}} {{parameter.id}} {{query.q}} {{ header.X-Run }} {{json.items.0.sku}} {{json.items.0.count}} \
                    {{sequence}}|{{json.none}}|";
        let filled = BodyTemplate::parse(text).unwrap().fill(&request(), &mut SeededRandom::from_seed(1));
        assert_eq!(filled, "POST /carts/7 7 red shoe 42 A1 2 3||");
    }

    #[test]
    fn errors_name_the_problem() {
        assert!(BodyTemplate::parse("{{nonsense}}").unwrap_err().to_string().contains("nonsense"));
        assert!(BodyTemplate::parse("a {{path").unwrap_err().to_string().contains("without a closing }}"));
    }
}
