//! A simulation as it is read: its named values, what all its requests have in common, and what could not be kept.

use std::collections::HashMap;

use super::expressions::{ChainCall, Expression};
use crate::imported::{Input, Note};
use crate::sent::{keeps, origin, set_header};
use crate::steps::{PlannedRequest, value};
use crate::text::quoted;

/// What requests of a simulation have in common.
#[derive(Default)]
pub(super) struct Protocol {
    pub(super) base: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) auth: Option<(String, Option<String>)>,
}

/// A simulation as it is read.
pub(super) struct Simulation<'i> {
    pub(super) input: &'i Input<'i>,
    pub(super) values: HashMap<String, Expression>,
    pub(super) protocol: Protocol,
    pub(super) notes: Vec<Note>,
    /// Requests left out, by reason.
    pub(super) left: HashMap<&'static str, usize>,
}

impl Simulation<'_> {
    /// Name and calls of the scenario that is set up, or else of the first one.
    pub(super) fn scenario(&mut self, set_up: &[Expression]) -> Option<(String, Vec<ChainCall>)> {
        let mut found: Vec<(String, Vec<ChainCall>)> = Vec::new();
        for expression in set_up {
            let Expression::Chain(calls) = expression else { continue };
            let Some(first) = calls.first() else { continue };
            if let Some(injected) = calls.iter().find(|call| call.name.starts_with("inject")) {
                self.injected(injected);
            }
            found.extend(match self.values.get(&first.name) {
                Some(Expression::Chain(chain)) => named(chain),
                _ => named(calls),
            });
        }
        if found.is_empty() {
            let mut chains: Vec<&Vec<ChainCall>> =
                self.values.values().filter_map(|value| if let Expression::Chain(c) = value { Some(c) } else { None }).collect();
            chains.sort_by_key(|chain| chain.first().map(|call| call.line));
            found.extend(chains.into_iter().find_map(|chain| named(chain)));
        }
        for (name, _) in found.iter().skip(1) {
            self.notes.push(Note::lost(format!("scenario {name:?}: only the first scenario is imported")));
        }
        found.into_iter().next()
    }

    /// How many users there are is the test's to say; a recording has one.
    fn injected(&mut self, call: &ChainCall) {
        let one = |argument: &Expression| {
            matches!(argument, Expression::Chain(calls) if calls.len() == 1 && calls[0].name == "atOnceUsers"
            && calls[0].arguments.as_deref() == Some(&[Expression::Number(1.0)]))
        };
        if !call.arguments.as_deref().unwrap_or_default().iter().all(one) {
            let text = "the injection profile: write it as `load` (see docs/from-gatling.md)".to_owned();
            self.notes.push(Note { line: Some(call.line), ..Note::lost(text) });
        }
    }

    /// `http.baseUrl("…").header("name", "value")`, by whatever name.
    pub(super) fn read_protocol(&mut self) {
        let is_protocol = |calls: &Vec<ChainCall>| calls.first().is_some_and(|call| call.name == "http" && call.arguments.is_none());
        let mut found: Vec<Vec<ChainCall>> =
            self.values.values().filter_map(|value| if let Expression::Chain(c) = value { Some(c.clone()) } else { None }).collect();
        found.retain(is_protocol);
        found.sort_by_key(|calls| calls[0].line);
        let mut request = PlannedRequest::default();
        for call in found.first().map(|calls| &calls[1..]).unwrap_or_default() {
            let text = |index: usize| call.arguments.as_ref().and_then(|all| self.text(all.get(index)?));
            match (call.name.as_str(), text(0), text(1)) {
                ("baseUrl" | "baseURL", Some(url), _) => self.protocol.base = origin(&url).map(|_| url.trim_end_matches('/').to_owned()),
                ("header", Some(name), Some(value)) => request.headers.push((name.to_ascii_lowercase(), value)),
                ("contentTypeHeader", Some(value), _) => request.headers.push(("content-type".into(), value)),
                ("acceptHeader", Some(value), _) if keeps("accept", &value) => request.headers.push(("accept".into(), value)),
                ("authorizationHeader", Some(value), _) => set_header(&mut request, "authorization", &value),
                ("basicAuth", Some(user), Some(password)) => request.auth = Some((user, Some(password))),
                _ => {}
            }
        }
        self.protocol.headers = request.headers;
        self.protocol.auth = request.auth;
    }

    /// A text, put together where it is: `uri1 + "/a"`; `#{name}` is what a check has saved.
    pub(super) fn text(&self, expression: &Expression) -> Option<String> {
        self.plain(expression, 0).map(|text| with_saved(&text))
    }

    pub(super) fn plain(&self, expression: &Expression, depth: usize) -> Option<String> {
        match expression {
            Expression::Text(text) => Some(text.clone()),
            Expression::Number(number) => Some(crate::text::number(*number)),
            Expression::Sum(parts) => parts.iter().map(|part| self.plain(part, depth)).collect(),
            Expression::Chain(_) => self.plain(self.named_value(expression).filter(|_| depth < 20)?, depth + 1),
            _ => None,
        }
    }

    /// What a name stands for: `headers_0`, `Search.search`.
    pub(super) fn named_value(&self, expression: &Expression) -> Option<&Expression> {
        let Expression::Chain(calls) = expression else { return None };
        let plain = calls.iter().all(|call| call.arguments.as_ref().is_none_or(Vec::is_empty));
        self.values.get(&calls.last().filter(|_| plain)?.name)
    }

    /// Names and values of `Map("a" -> "b")`, `Map.of("a", "b")`, `mapOf("a" to "b")` and `{ "a": "b" }`.
    pub(super) fn pairs(&self, expression: &Expression) -> Option<Vec<(String, String)>> {
        let expression = self.named_value(expression).unwrap_or(expression);
        match expression {
            Expression::Object(entries) => entries.iter().map(|(name, value)| Some((name.clone(), self.text(value)?))).collect(),
            Expression::Chain(calls) => {
                let arguments = calls.last()?.arguments.as_ref()?;
                if calls.last()?.name == "of" {
                    return arguments.chunks(2).map(|pair| Some((self.text(&pair[0])?, self.text(pair.get(1)?)?))).collect();
                }
                arguments.iter().map(|entry| self.pair(entry)).collect()
            }
            _ => None,
        }
    }

    fn pair(&self, entry: &Expression) -> Option<(String, String)> {
        match entry {
            Expression::Pair(name, value) => Some((self.text(name)?, self.text(value)?)),
            Expression::Chain(calls) => match calls.last()?.arguments.as_deref()? {
                [name, value] => Some((self.text(name)?, self.text(value)?)),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn left(&mut self, reason: &'static str) {
        *self.left.entry(reason).or_default() += 1;
    }
}

/// The name of `scenario("name")…`, and what follows.
fn named(chain: &[ChainCall]) -> Option<(String, Vec<ChainCall>)> {
    let first = chain.first().filter(|call| call.name == "scenario")?;
    let Expression::Text(name) = first.arguments.as_ref()?.first()? else { return None };
    Some((name.clone(), chain[1..].to_vec()))
}

/// `#{name}` and `${name}` of Gatling's expressions.
fn with_saved(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("#{").into_iter().chain(rest.find("${")).min() {
        let Some(end) = rest[at..].find('}').map(|end| at + end) else { break };
        let name = &rest[at + 2..end];
        let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        out.push_str(&rest[..at]);
        out.push_str(&if plain { value(&saved(name)) } else { rest[at..=end].to_owned() });
        rest = &rest[end + 1..];
    }
    out + rest
}

/// Where a check keeps what it saves.
pub(super) fn saved(name: &str) -> String {
    let plain = !name.starts_with(|c: char| c.is_ascii_digit());
    if plain { format!("user.state.{name}") } else { format!("user.state[{}]", quoted(name)) }
}
