//! Text with holes that are filled from the request.
//!
//! Holes: `{{method}}` `{{path}}` `{{body}}` `{{sequence}}` `{{parameter.NAME}}` `{{query.NAME}}` `{{header.NAME}}`
//! `{{json.a.b.0}}` (a path into the JSON body) and `{{id}}` (a random identifier). What is missing is empty.

use std::fmt::Write;

use serde_json::Value;

use crate::{BehaviourError, Random, Request};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
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

impl Template {
    /// # Errors
    /// Names the hole that is unknown or unclosed.
    pub(crate) fn parse(text: &str) -> Result<Self, BehaviourError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("{{") {
            let (before, hole) = rest.split_at(start);
            let end = hole.find("}}").ok_or_else(|| BehaviourError::UnclosedHole(hole.to_owned()))?;
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(parse_hole(hole[2..end].trim())?);
            rest = &hole[end + 2..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    pub(crate) fn fill(&self, request: &Request, random: &mut Random) -> String {
        let json = if self.parts.iter().any(|part| matches!(part, Part::Json(_))) { request.json() } else { None };
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Method => out.push_str(&request.method),
                Part::Path => out.push_str(&request.path),
                Part::Body => out.push_str(&String::from_utf8_lossy(&request.body)),
                Part::Sequence => {
                    let _ = write!(out, "{}", request.sequence);
                }
                Part::Id => {
                    let _ = write!(out, "{:016x}{:016x}", random.next_u64(), random.next_u64());
                }
                Part::Parameter(name) => out.push_str(request.parameter(name).unwrap_or_default()),
                Part::Query(name) => out.push_str(&request.query_value(name).unwrap_or_default()),
                Part::Header(name) => out.push_str(request.header(name).unwrap_or_default()),
                Part::Json(path) => out.push_str(&json.as_ref().and_then(|json| walk(json, path)).unwrap_or_default()),
            }
        }
        out
    }
}

fn parse_hole(hole: &str) -> Result<Part, BehaviourError> {
    let named = hole.split_once('.').filter(|(_, name)| !name.is_empty());
    match (hole, named) {
        ("method", _) => Ok(Part::Method),
        ("path", _) => Ok(Part::Path),
        ("body", _) => Ok(Part::Body),
        ("sequence", _) => Ok(Part::Sequence),
        ("id", _) => Ok(Part::Id),
        (_, Some(("parameter", name))) => Ok(Part::Parameter(name.to_owned())),
        (_, Some(("query", name))) => Ok(Part::Query(name.to_owned())),
        (_, Some(("header", name))) => Ok(Part::Header(name.to_owned())),
        (_, Some(("json", path))) => Ok(Part::Json(path.split('.').map(str::to_owned).collect())),
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

    fn request() -> Request {
        Request {
            method: "POST".to_owned(),
            path: "/carts/7".to_owned(),
            query: "q=red%20shoe".to_owned(),
            parameters: vec![("id".to_owned(), "7".to_owned())],
            headers: vec![("x-run".to_owned(), "42".to_owned())],
            body: r#"{"items":[{"sku":"A1","count":2}]}"#.into(),
            arrived_ns: 0,
            due_ns: 0,
            sequence: 3,
        }
    }

    #[test]
    fn fills_every_kind_of_hole() {
        let text = "{{method}} {{path}} {{parameter.id}} {{query.q}} {{ header.X-Run }} {{json.items.0.sku}} {{json.items.0.count}} {{sequence}}|{{json.none}}|";
        let filled = Template::parse(text).unwrap().fill(&request(), &mut Random::from_seed(1));
        assert_eq!(filled, "POST /carts/7 7 red shoe 42 A1 2 3||");
    }

    #[test]
    fn says_what_is_wrong() {
        assert!(Template::parse("{{nonsense}}").unwrap_err().to_string().contains("nonsense"));
        assert!(Template::parse("a {{path").unwrap_err().to_string().contains("without a closing }}"));
    }
}
