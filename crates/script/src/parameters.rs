//! Parameters: the declarations of a test, and the values of a run. Later sources win: default, environment, command line.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_plan::{Parameter, ParameterKind, ParameterOrigin, Secrets};
use loadstone_protocol::HostPattern;
use rquickjs::{Ctx, Exception, Function, IntoJs, Object, Value};
use serde::Deserialize;

use crate::error::ScriptError;
use crate::known_verbs::AddressParameter;
use crate::named_hosts;
use crate::permissions::Permissions;

/// The inputs of a test from outside.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// `-p name=value`, in order. The last value of a name wins.
    pub parameters: Vec<(String, String)>,
    /// The process's environment, or the part of it that begins with `LOADSTONE_`.
    pub environment: Vec<(String, String)>,
    /// Replaces the test's seed.
    pub seed: Option<u64>,
    /// How to treat a parameter without a default and without a value.
    pub missing: Missing,
    /// The URLs of stubs that another machine starts, in the order of their declaration. The test then starts none itself.
    pub stub_urls: Option<Vec<String>>,
    /// What the test may do in addition to the default.
    pub permissions: Permissions,
    /// Checks the arguments of `observe.KIND(…)`, so that an error names its line. Without it, descriptions are not checked.
    pub check_observer: Option<ObserverCheck>,
}

/// Checks a description of an observer: this crate does not know the kinds and their options. The error is shown unchanged.
pub type ObserverCheck = fn(&serde_json::Value) -> Result<(), Box<dyn std::error::Error>>;

/// How to treat a parameter without a default and without a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Missing {
    /// As an error: the test cannot run.
    #[default]
    Refused,
    /// With a placeholder value of its kind, so that the test can be inspected and its form shown. Not for running.
    StoodIn,
}

impl Inputs {
    /// `name=value` pairs from the command line, and this process's environment.
    ///
    /// # Errors
    /// A pair without `=`, or two values of one parameter.
    pub fn from_process(pairs: &[String]) -> Result<Self, ScriptError> {
        let split = |pair: &String| {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| ScriptError::new(format!("-p {pair}: expected name=value")).help(format!("write `-p {pair}=…`")))?;
            Ok((name.to_owned(), value.to_owned()))
        };
        let parameters: Vec<(String, String)> = pairs.iter().map(split).collect::<Result<_, ScriptError>>()?;
        for (number, (name, _)) in parameters.iter().enumerate() {
            if parameters[..number].iter().any(|(earlier, _)| earlier == name) {
                return Err(
                    ScriptError::new(format!("-p {name}=…: the parameter has two values")).help(format!("write `-p {name}=…` once"))
                );
            }
        }
        let environment = std::env::vars().filter(|(name, _)| name.starts_with("LOADSTONE_")).collect();
        Ok(Self { parameters, environment, ..Self::default() })
    }

    /// Whether it has a value that is not a placeholder.
    fn has_value(&self, parameter: &Parameter) -> bool {
        self.missing == Missing::Refused || parameter.default.is_some() || self.supplied(&parameter.name).is_some()
    }

    fn supplied(&self, name: &str) -> Option<(&str, ParameterOrigin)> {
        let of = |list: &'_ [(String, String)], wanted: &str| list.iter().rposition(|(key, _)| key == wanted);
        if let Some(at) = of(&self.parameters, name) {
            return Some((&self.parameters[at].1, ParameterOrigin::CommandLine));
        }
        let at = of(&self.environment, &Parameter::environment_name(name))?;
        Some((&self.environment[at].1, ParameterOrigin::Environment))
    }
}

/// The options of a declaration, in addition to its kind and name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParameterOptions {
    default: Option<serde_json::Value>,
    help: Option<String>,
    #[serde(default)]
    secret: bool,
    min: Option<f64>,
    max: Option<f64>,
    options: Option<Vec<String>>,
}

/// A parameter's value as the script sees it.
#[derive(Debug, Clone, PartialEq)]
enum ResolvedValue {
    Number(f64),
    Boolean(bool),
    Text(String),
}

impl<'js> IntoJs<'js> for ResolvedValue {
    fn into_js(self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        match self {
            ResolvedValue::Number(number) => number.into_js(ctx),
            ResolvedValue::Boolean(boolean) => boolean.into_js(ctx),
            ResolvedValue::Text(text) => text.into_js(ctx),
        }
    }
}

/// The declarations of one evaluation of the file.
#[derive(Debug, Default)]
pub(crate) struct DeclaredParameters {
    /// Values of secret parameters are masked.
    pub(crate) parameters: Vec<Parameter>,
    /// The values of secret parameters.
    pub(crate) secrets: Secrets,
    /// The values of all string parameters, by name.
    texts: HashMap<String, String>,
}

impl DeclaredParameters {
    /// The hosts that values of parameters name.
    pub(crate) fn named_hosts(&self) -> impl Iterator<Item = HostPattern> {
        self.texts.values().flat_map(|text| named_hosts::in_value(text))
    }

    /// Checks the addresses of calls that are parameters, before anything runs.
    ///
    /// # Errors
    /// The first invalid address.
    pub(crate) fn check_addresses(&self, used: &[AddressParameter]) -> Result<(), ScriptError> {
        for AddressParameter { of, parameter, at } in used {
            if let Some(problem) = self.texts.get(parameter).and_then(|text| of.problem(text)) {
                let problem = ScriptError::new(problem).at(at.clone());
                return Err(
                    problem.help(format!("the address is the parameter `{parameter}`: set it with `-p {parameter}=…`, or fix its default"))
                );
            }
        }
        Ok(())
    }
}

pub(crate) type Declarations = Rc<RefCell<DeclaredParameters>>;

/// Puts `parameter(kind, name, options)` and `secret(value)` on the native object. Values of secrets are added to `secrets`.
pub(crate) fn install<'js>(
    ctx: &Ctx<'js>,
    native: &Object<'js>,
    inputs: &Arc<Inputs>,
    secrets: &Secrets,
) -> rquickjs::Result<Declarations> {
    let declarations = Rc::new(RefCell::new(DeclaredParameters { secrets: secrets.clone(), ..DeclaredParameters::default() }));
    let (inputs, declared) = (Arc::clone(inputs), Rc::clone(&declarations));
    let declare = move |ctx: Ctx<'js>, kind: String, name: String, options: String| {
        let refused = |problem: String| Exception::throw_message(&ctx, &problem);
        let options: ParameterOptions = serde_json::from_str(&options).map_err(|error| refused(format!("parameter `{name}`: {error}")))?;
        let mut declared = declared.borrow_mut();
        let (parameter, value) = resolve(&inputs, &kind, &name, options, &mut declared.secrets).map_err(refused)?;
        if declared.parameters.iter().any(|known| known.name == parameter.name) {
            return Err(refused(format!("parameter `{name}` is declared twice: use the result of the first declaration")));
        }
        if let (ResolvedValue::Text(text), true) = (&value, inputs.has_value(&parameter)) {
            declared.texts.insert(name, text.clone());
        }
        declared.parameters.push(parameter);
        Ok(value)
    };
    native.set("parameter", Function::new(ctx.clone(), declare)?)?;
    let secrets = secrets.clone();
    native.set("secret", Function::new(ctx.clone(), move |value: String| secrets.learn_later(&value))?)?;
    Ok(declarations)
}

/// Rejects parameters of `-p` that the test does not declare.
pub(crate) fn check_known(inputs: &Inputs, declared: &[Parameter]) -> Result<(), ScriptError> {
    for (name, _) in &inputs.parameters {
        if !declared.iter().any(|parameter| parameter.name == *name) {
            let known: Vec<&str> = declared.iter().map(|parameter| parameter.name.as_str()).collect();
            let help =
                if known.is_empty() { "the test declares no parameters".to_owned() } else { format!("it declares: {}", known.join(", ")) };
            return Err(
                ScriptError::new(format!("the test has no parameter `{name}`{}", loadstone_units::did_you_mean(name, &known))).help(help)
            );
        }
    }
    Ok(())
}

fn resolve(
    inputs: &Inputs,
    kind: &str,
    name: &str,
    declared: ParameterOptions,
    secrets: &mut Secrets,
) -> Result<(Parameter, ResolvedValue), String> {
    let kind = kind_of(kind, &declared)?;
    let default = declared.default.as_ref().map(|value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let (text, origin) = match (inputs.supplied(name), &default) {
        (Some((text, origin)), _) => (text.to_owned(), origin),
        (None, Some(text)) => (text.clone(), ParameterOrigin::Default),
        (None, None) if inputs.missing == Missing::StoodIn => (placeholder(&kind), ParameterOrigin::Default),
        (None, None) => {
            let variable = Parameter::environment_name(name);
            return Err(format!("parameter `{name}` has no default and no value: add `-p {name}=…` or set {variable}"));
        }
    };
    // `true` and `false` are too common to mask, and a placeholder is no secret.
    let is_placeholder = default.is_none() && inputs.supplied(name).is_none();
    let is_hidden = declared.secret && kind != ParameterKind::Boolean && !is_placeholder;
    if is_hidden {
        default.iter().chain([&text]).for_each(|text| secrets.learn(text));
    }
    secrets.learn_urls(&text);
    let value = read(&kind, &text).map_err(|problem| match origin {
        // A secret that is too short cannot be found in text.
        ParameterOrigin::CommandLine if declared.secret => format!("-p {name}={}: its value is rejected", Parameter::MASK),
        ParameterOrigin::Environment if declared.secret => format!("{}: its value is rejected", Parameter::environment_name(name)),
        ParameterOrigin::CommandLine => format!("-p {name}={text}: {problem}"),
        ParameterOrigin::Environment => format!("{}: {problem}", Parameter::environment_name(name)),
        _ => format!("the default of parameter `{name}`: {problem}"),
    });
    // It may be a URL with a password.
    let value = value.map_err(|problem| secrets.hide(&problem).into_owned())?;
    if let (true, ResolvedValue::Number(number)) = (is_hidden, &value) {
        secrets.learn(&number.to_string());
    }
    let masked = |text: String| if declared.secret { Parameter::MASK.to_owned() } else { text };
    let parameter = Parameter {
        name: name.to_owned(),
        kind,
        help: declared.help,
        default: default.map(masked),
        value: masked(text),
        origin,
        secret: declared.secret,
    };
    Ok((parameter, value))
}

fn kind_of(kind: &str, declared: &ParameterOptions) -> Result<ParameterKind, String> {
    Ok(match kind {
        "number" => ParameterKind::Number { min: declared.min, max: declared.max },
        "string" => ParameterKind::String,
        "boolean" => ParameterKind::Boolean,
        "duration" => ParameterKind::Duration,
        "url" => ParameterKind::Url,
        "delay" => ParameterKind::Delay,
        "choice" => ParameterKind::Choice { options: declared.options.clone().unwrap_or_default() },
        other => return Err(format!("there is no parameter kind `{other}`")),
    })
}

/// A value that a parameter of this kind accepts.
fn placeholder(kind: &ParameterKind) -> String {
    match kind {
        ParameterKind::Number { min, max } => min.or(*max).unwrap_or(1.0).to_string(),
        ParameterKind::Boolean => "false".to_owned(),
        ParameterKind::Duration => "1s".to_owned(),
        ParameterKind::Delay => "1ms".to_owned(),
        ParameterKind::Url => "http://127.0.0.1".to_owned(),
        ParameterKind::Choice { options } => options.first().cloned().unwrap_or_default(),
        ParameterKind::String => String::new(),
    }
}

/// Why a parameter of this kind does not accept a value, for a form. `None` if it does.
#[must_use]
pub fn value_problem(kind: &ParameterKind, text: &str) -> Option<String> {
    let mut secrets = Secrets::default();
    secrets.learn_urls(text);
    read(kind, text).err().map(|problem| secrets.hide(&problem).into_owned())
}

fn read(kind: &ParameterKind, text: &str) -> Result<ResolvedValue, String> {
    match kind {
        ParameterKind::Number { min, max } => {
            let number: f64 =
                text.trim().parse().ok().filter(|n: &f64| n.is_finite()).ok_or_else(|| format!("\"{text}\" is not a number"))?;
            match (min, max) {
                (Some(min), _) if number < *min => Err(format!("{number} is below the minimum, {min}")),
                (_, Some(max)) if number > *max => Err(format!("{number} is above the maximum, {max}")),
                _ => Ok(ResolvedValue::Number(number)),
            }
        }
        ParameterKind::Boolean => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" | "on" => Ok(ResolvedValue::Boolean(true)),
            "false" | "no" | "0" | "off" => Ok(ResolvedValue::Boolean(false)),
            _ => Err(format!("\"{text}\" is neither true nor false")),
        },
        ParameterKind::Duration => {
            loadstone_units::duration::parse(text).map(|_| ResolvedValue::Text(text.to_owned())).map_err(|error| error.to_string())
        }
        ParameterKind::Url => check_url(text).map(|()| ResolvedValue::Text(text.to_owned())),
        ParameterKind::Choice { options } if options.iter().any(|option| option == text) => Ok(ResolvedValue::Text(text.to_owned())),
        ParameterKind::Choice { options } => Err(format!("\"{text}\" is not one of {}", options.join(", "))),
        ParameterKind::Delay => {
            text.parse::<loadstone_stub::Delay>().map(|_| ResolvedValue::Text(text.to_owned())).map_err(|error| error.to_string())
        }
        ParameterKind::String => Ok(ResolvedValue::Text(text.to_owned())),
    }
}

/// URL schemes of protocols, observers and outputs.
const URL_SCHEMES: &[&str] = &[
    "http",
    "https",
    "ws",
    "wss",
    "tcp",
    "tls",
    "udp",
    "redis",
    "rediss",
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "kafka",
    "kafkas",
];

/// Checks a server's full URL. An unknown scheme is a typing mistake.
fn check_url(text: &str) -> Result<(), String> {
    let wrong = |why: &str| {
        format!("\"{text}\" is not a URL{why}: write the full URL, such as \"http://127.0.0.1:8080\" or \"redis://127.0.0.1:6379\"")
    };
    if text.starts_with("unix:/") {
        return Ok(());
    }
    let url = url::Url::parse(text).map_err(|_| wrong(""))?;
    match (url.has_host(), URL_SCHEMES.contains(&url.scheme())) {
        (true, true) => Ok(()),
        (false, _) => Err(wrong(" with a host")),
        (true, false) => Err(wrong(&format!(" that can be used here (known: {})", URL_SCHEMES.join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(parameters: &[(&str, &str)], environment: &[(&str, &str)]) -> Inputs {
        let own = |list: &[(&str, &str)]| list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Inputs { parameters: own(parameters), environment: own(environment), ..Inputs::default() }
    }

    fn resolve(inputs: &Inputs, kind: &str, name: &str, options: &str) -> Result<(Parameter, ResolvedValue), String> {
        super::resolve(inputs, kind, name, serde_json::from_str(options).unwrap(), &mut Secrets::default())
    }

    #[test]
    fn the_command_line_wins_over_the_environment_and_the_environment_over_the_default() {
        let both = inputs(&[("rate", "3"), ("rate", "4")], &[("LOADSTONE_RATE", "2")]);
        let (parameter, value) = resolve(&both, "number", "rate", r#"{"default":1}"#).unwrap();
        assert_eq!(
            (value, parameter.origin, parameter.default.as_deref()),
            (ResolvedValue::Number(4.0), ParameterOrigin::CommandLine, Some("1"))
        );
        let environment = inputs(&[], &[("LOADSTONE_RATE", "2")]);
        assert_eq!(resolve(&environment, "number", "rate", r#"{"default":1}"#).unwrap().1, ResolvedValue::Number(2.0));
        assert_eq!(resolve(&inputs(&[], &[]), "number", "rate", r#"{"default":1}"#).unwrap().1, ResolvedValue::Number(1.0));
    }

    #[test]
    fn errors_name_the_source_of_a_wrong_value_and_the_problem() {
        for (kind, options, text, part) in [
            ("number", "{}", "many", "-p x=many: \"many\" is not a number"),
            ("number", r#"{"max":5}"#, "6", "above the maximum, 5"),
            ("boolean", "{}", "maybe", "neither true nor false"),
            ("duration", "{}", "5", "not a duration"),
            ("url", "{}", "localhost", "not a URL"),
            ("choice", r#"{"options":["a","b"]}"#, "c", "not one of a, b"),
        ] {
            let error = resolve(&inputs(&[("x", text)], &[]), kind, "x", options).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let missing = resolve(&inputs(&[], &[]), "string", "apiToken", "{}").unwrap_err();
        assert!(missing.contains("LOADSTONE_API_TOKEN"), "{missing}");
    }

    #[test]
    fn urls_of_every_protocol_are_accepted_and_their_passwords_masked() {
        for text in [
            "https://app:hunter2@h/x",
            "wss://app:hunter2@h",
            "tls://app:hunter2@h:7000",
            "redis://:hunter2@h:6379/0",
            "postgres://app:hunter2@h/shop?sslmode=require",
            "postgresql://app:hunter2@[::1]:5432/shop",
            "mysql://app:hunter2@h/shop",
            "kafkas://app:hunter2@h:9092",
        ] {
            let mut secrets = Secrets::default();
            let options = serde_json::from_str("{}").unwrap();
            let (parameter, value) = super::resolve(&inputs(&[("db", text)], &[]), "url", "db", options, &mut secrets).unwrap();
            assert_eq!(value, ResolvedValue::Text(text.to_owned()));
            assert!(!secrets.hide(&parameter.value).contains("hunter2"), "{text}");
            assert_eq!(secrets.hide("the server answered hunter2"), format!("the server answered {}", Parameter::MASK), "{text}");
        }
        assert!(resolve(&inputs(&[("x", "unix:/run/app.sock")], &[]), "url", "x", "{}").is_ok());
        for (text, expected) in
            [("htpp://app:hunter2@h", "known: http, https"), ("redis:///0", "with a host"), ("app:hunter2@h", "full URL")]
        {
            let error = resolve(&inputs(&[("x", text)], &[]), "url", "x", "{}").unwrap_err();
            assert!(error.contains(expected) && (!error.contains("hunter2") || !text.contains("//")), "{error}");
        }
    }

    #[test]
    fn a_secret_is_masked_in_the_plan_and_readable_in_the_script() {
        let (parameter, value) = resolve(&inputs(&[("t", "s3cret")], &[]), "string", "t", r#"{"secret":true}"#).unwrap();
        assert_eq!((value, parameter.value.as_str()), (ResolvedValue::Text("s3cret".to_owned()), Parameter::MASK));
    }

    #[test]
    fn a_rejected_secret_is_not_shown() {
        for (kind, options) in
            [("number", r#"{"secret":true}"#), ("url", r#"{"secret":true}"#), ("choice", r#"{"secret":true,"options":["a"]}"#)]
        {
            for supplied in [inputs(&[("x", "h1")], &[]), inputs(&[], &[("LOADSTONE_X", "h1")])] {
                let error = resolve(&supplied, kind, "x", options).unwrap_err();
                assert!(!error.contains("h1") && error.contains("rejected"), "{error}");
            }
        }
    }

    #[test]
    fn a_placeholder_is_valid_for_its_kind_and_is_not_the_default() {
        let look = Inputs { missing: Missing::StoodIn, ..Inputs::default() };
        for (kind, options) in [
            ("number", r#"{"min":3,"max":5}"#),
            ("number", r#"{"max":-2}"#),
            ("number", "{}"),
            ("string", r#"{"secret":true}"#),
            ("boolean", "{}"),
            ("duration", "{}"),
            ("url", "{}"),
            ("delay", "{}"),
            ("choice", r#"{"options":["a","b"]}"#),
        ] {
            let (parameter, _) = resolve(&look, kind, "x", options).unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert_eq!(parameter.default, None);
        }
    }
}
