//! The steps of a user from recordings, collections, API descriptions and command lines: one model, from which the test is written.
//!
//! Strings may contain values that are known only when the test runs: [`value`] inserts the expression into the string, between two marks.

use serde_json::Value;

/// What is written.
#[derive(Debug, Default)]
pub(crate) struct Journey {
    /// `har`, as in `loadstone import har`.
    pub(crate) format: &'static str,
    pub(crate) file: String,
    pub(crate) title: String,
    /// Scheme and host that relative paths stand for.
    pub(crate) base: Option<String>,
    pub(crate) parameters: Vec<TestParameter>,
    /// Headers of every request.
    pub(crate) headers: Vec<(String, String)>,
    /// Options of the whole test, as code.
    pub(crate) options: Vec<String>,
    /// Cookies that were there before the first request.
    pub(crate) cookies: Vec<EarlierCookie>,
    /// What could not be translated of the whole source.
    pub(crate) comments: Vec<String>,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug)]
pub(crate) struct EarlierCookie {
    pub(crate) name: String,
    /// The expression of its value.
    pub(crate) value: String,
    /// The origin that receives it, if it is not the journey's base.
    pub(crate) site: Option<String>,
}

/// What a person may set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TestParameter {
    pub(crate) name: String,
    pub(crate) default: String,
    pub(crate) secret: bool,
    pub(crate) help: String,
}

/// A function of the test: one page, folder or operation.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: String,
    /// Whether its time counts as a group.
    pub(crate) is_group: bool,
    pub(crate) actions: Vec<Action>,
    /// Seconds of thinking behind it.
    pub(crate) pause: f64,
}

#[derive(Debug)]
pub(crate) enum Action {
    Request(Box<PlannedRequest>),
    /// Static resources, fetched at the same time.
    Assets(Vec<String>),
    /// What could not be kept, and why.
    Comment(String),
}

#[derive(Debug, Default)]
pub(crate) struct PlannedRequest {
    pub(crate) name: String,
    pub(crate) method: String,
    /// A path where it is the journey's base, else a whole URL.
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
    /// Where an answer below 400 is not what is expected.
    pub(crate) status: Option<u16>,
    /// Basic credentials, or a bearer token alone.
    pub(crate) auth: Option<(String, Option<String>)>,
    /// Names in the user's state and how they are read from the response.
    pub(crate) extracted: Vec<(String, String)>,
    /// Names of checks and expressions of `response`.
    pub(crate) checks: Vec<(String, String)>,
    /// Further options, as code: `redirects: 0`.
    pub(crate) options: Vec<String>,
}

/// A field of a multipart body.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct FormPart {
    pub(crate) name: String,
    /// The value, or the path of a file.
    pub(crate) content: String,
    pub(crate) is_file: bool,
    pub(crate) file_name: Option<String>,
    pub(crate) media_type: Option<String>,
}

impl FormPart {
    pub(crate) fn text(name: impl Into<String>, content: impl Into<String>) -> Self {
        Self { name: name.into(), content: content.into(), ..Self::default() }
    }

    pub(crate) fn file(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self { is_file: true, ..Self::text(name, path) }
    }
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) enum Body {
    #[default]
    None,
    Json(Value),
    Form(Vec<(String, String)>),
    Multipart(Vec<FormPart>),
    Text(String),
    /// The path of a file.
    File(String),
}

const BEGIN: char = '\u{E000}';
const END: char = '\u{E001}';

/// A text that stands for the value of an expression.
pub(crate) fn value(expression: &str) -> String {
    format!("{BEGIN}{expression}{END}")
}

/// A text in pieces: literal, or (`true`) an expression.
pub(crate) fn pieces(text: &str) -> Vec<(String, bool)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find(BEGIN) {
        let Some(end) = rest[begin..].find(END).map(|end| begin + end) else { break };
        if begin > 0 {
            pieces.push((rest[..begin].to_owned(), false));
        }
        pieces.push((rest[begin + BEGIN.len_utf8()..end].to_owned(), true));
        rest = &rest[end + END.len_utf8()..];
    }
    if !rest.is_empty() {
        pieces.push((rest.to_owned(), false));
    }
    pieces
}

impl Journey {
    /// A parameter of this name, made where there is none; the name that it got.
    pub(crate) fn parameter(&mut self, wanted: &str, default: &str, secret: bool, help: &str) -> String {
        let name = crate::text::camel_case(wanted);
        let name = if matches!(name.as_str(), "base" | "user" | "test") { format!("{name}Value") } else { name };
        let new = TestParameter { name: name.clone(), default: default.to_owned(), secret, help: help.to_owned() };
        match self.parameters.iter().find(|known| known.name == name) {
            None => self.parameters.push(new),
            // Two values want one name: the second is another parameter.
            Some(known) if known.default != default => return self.parameter(&format!("{wanted}2"), default, secret, help),
            Some(_) => {}
        }
        name
    }
}
