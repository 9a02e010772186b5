//! Converts a JavaScript error to an error in the coordinates of the source.

use loadstone_metrics::ErrorCause;
use loadstone_units::text::stored;
use rquickjs::{CaughtError, Coerced, Ctx, Exception, Value};

use crate::compile::Program;
use crate::error::{ScriptError, SourcePlace, StackFrame};
use crate::unknown_options::option_named;

/// The thrown value, with its stack mapped to the source.
pub(crate) fn describe<'js>(ctx: &Ctx<'js>, program: &Program, thrown: &Value<'js>) -> ScriptError {
    let Some(object) = thrown.as_object().filter(|object| object.is_error()) else {
        return ScriptError::new(stored(&format!("thrown: {}", shown(ctx, thrown))))
            .help("throw an `Error`, which records the line of the `throw`");
    };
    let text = |key: &str| object.get::<_, Option<Coerced<String>>>(key).ok().flatten().map(|text| text.0).unwrap_or_default();
    let (name, message, stack) = (text("name"), text("message"), text("stack"));
    let mut frames = frames(program, &stack);
    let interrupted = name == "InternalError" && message == "interrupted";
    let mut error = ScriptError::new(stored(&sentence(&name, &message)));
    if interrupted {
        error = ScriptError::new("the script ran without yielding and was interrupted")
            .help("a loop must end, or await something (`await user.pause(…)`), so that the other users can run");
        error.cause = Some(ErrorCause::Unyielding);
    } else if name == "InternalError" && message == "out of memory" {
        error = error.help("the script has reached its memory limit: store less at the top level of the file and in `user.state`");
    }
    if let Some(frame) = frames.first_mut() {
        if interrupted && let Some(place) = program.endless_loop(&frame.place) {
            frame.place = place;
        }
        let option = || option_named(&message).and_then(|option| program.option_place(&frame.place, option));
        let member = || member_named(&message).and_then(|member| program.member_place(&frame.place, member));
        if let Some(place) = option().or_else(member) {
            frame.place = place;
        }
        error = error.at(frame.place.clone());
    }
    error.stack = frames;
    error
}

/// Describes the error of a call into JavaScript, taking the pending exception.
pub(crate) fn caught<'js>(ctx: &Ctx<'js>, program: &Program, error: rquickjs::Error) -> ScriptError {
    match CaughtError::from_error(ctx, error) {
        CaughtError::Exception(exception) => describe(ctx, program, &exception.into_value()),
        CaughtError::Value(value) => describe(ctx, program, &value),
        CaughtError::Error(error) => ScriptError::new(error.to_string()),
    }
}

/// JavaScript strings are UTF-16 and may contain half of a character.
const HALF_PAIR: &str = "a string has half of a surrogate pair, such as \"\\ud800\", which UTF-8 cannot represent";

/// The value thrown by a call into JavaScript.
pub(crate) fn thrown<'js>(ctx: &Ctx<'js>, error: rquickjs::Error) -> Value<'js> {
    match CaughtError::from_error(ctx, error) {
        CaughtError::Exception(exception) => exception.into_value(),
        CaughtError::Value(value) => value,
        CaughtError::Error(error) => {
            let message = match error {
                rquickjs::Error::Utf8(_) => HALF_PAIR.to_owned(),
                error => error.to_string(),
            };
            let exception = Exception::from_message(ctx.clone(), &message);
            exception.map_or_else(|_| Value::new_undefined(ctx.clone()), Exception::into_value)
        }
    }
}

/// Name of a thrown error, empty for other values.
pub(crate) fn name_of(thrown: &Value<'_>) -> String {
    thrown.as_object().and_then(|object| object.get::<_, String>("name").ok()).unwrap_or_default()
}

/// The missing member in an error message of `values.ts` or QuickJS.
fn member_named(message: &str) -> Option<&str> {
    if let Some(rest) = message.strip_prefix("there is no `") {
        let (whole, _) = rest.split_once('`')?;
        return Some(whole.rsplit('.').next().unwrap_or(whole));
    }
    let (_, rest) = message.split_once("cannot read property '").or_else(|| message.split_once("cannot set property '"))?;
    rest.split_once('\'').map(|(member, _)| member)
}

fn sentence(name: &str, message: &str) -> String {
    match (name, message) {
        ("" | "Error", "") => "an Error without a message was thrown".to_owned(),
        ("" | "Error", message) => message.to_owned(),
        (name, "") => name.to_owned(),
        (name, message) => format!("{name}: {message}"),
    }
}

fn shown<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    if let Some(text) = value.as_string() {
        return text.to_string().unwrap_or_default();
    }
    match ctx.json_stringify(value.clone()) {
        Ok(Some(text)) => text.to_string().unwrap_or_default(),
        _ => value.get::<Coerced<String>>().map(|text| text.0).unwrap_or_else(|_| "a value".to_owned()),
    }
}

/// Parses QuickJS's stack (`    at name (module:line:column)`) and maps it. Loadstone's frames are omitted.
fn frames(program: &Program, stack: &str) -> Vec<StackFrame> {
    stack.lines().filter_map(|line| frame(program, line)).collect()
}

fn frame(program: &Program, line: &str) -> Option<StackFrame> {
    let text = line.trim_start().strip_prefix("at ")?;
    let (function, position) = match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
        Some((function, position)) => (function, position),
        None => ("<module>", text),
    };
    let mut parts = position.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    let place = program.place(parts.next()?, line, column)?;
    Some(StackFrame { function: if function == "<eval>" { "<module>".to_owned() } else { function.to_owned() }, place })
}

/// The place of the innermost frame outside Loadstone.
pub(crate) fn caller_place(ctx: &Ctx<'_>, program: &Program) -> Option<SourcePlace> {
    let stack: String = ctx.eval("new Error().stack").ok()?;
    frames(program, &stack).into_iter().next().map(|frame| frame.place)
}
