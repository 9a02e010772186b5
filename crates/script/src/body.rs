//! Values that scripts read from a body: of a response, or of a request that a stub received.

use std::borrow::Cow;
use std::cell::RefCell;

use rquickjs::function::Opt;
use rquickjs::{Ctx, Exception, IntoJs, Object, Value};

use crate::charset::{json_in_charset, text_of, without_mark};
use crate::exact_json;
use crate::extract::cache::Compiled;
use crate::extract::effort::Effort;
use crate::extract::json::JsonValue;
use crate::extract::{ExtractError, markup};
use crate::unknown_options::check_options;

/// Maximum number of values that `cssAll` and `xpathAll` return.
const VALUES_MAX: usize = 1_000_000;

/// A body, with its description for messages.
pub(crate) struct BodyReader<'a> {
    pub(crate) bytes: &'a [u8],
    /// The `Content-Type`. A closure, since the header lines must be split to find it.
    pub(crate) content_type: &'a dyn Fn() -> Option<&'a str>,
    pub(crate) compiled: &'a RefCell<Compiled>,
    /// `"Create ticket" answered 200`.
    pub(crate) described: &'a dyn Fn() -> String,
}

impl<'js> BodyReader<'_> {
    pub(crate) fn text(&self) -> Cow<'_, str> {
        text_of(self.bytes, self.content_type)
    }

    fn json_in_charset(&self) -> Option<String> {
        json_in_charset(self.bytes, self.content_type)
    }

    fn missing(&self, ctx: &Ctx<'js>, what: &str, fallback: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
        fallback.0.ok_or_else(|| Exception::throw_message(ctx, &format!("{}: {what}", (self.described)())))
    }

    fn refused(&self, ctx: &Ctx<'_>, error: &ExtractError) -> rquickjs::Error {
        match error {
            ExtractError::Expression { .. } => Exception::throw_syntax(ctx, &error.to_string()),
            ExtractError::Body(problem) => Exception::throw_message(ctx, &format!("{}: {problem}", (self.described)())),
        }
    }

    fn select(&self, ctx: &Ctx<'_>, selector: &str, options: Option<Object<'_>>, limit: usize) -> rquickjs::Result<Vec<String>> {
        let selector = self.compiled.borrow_mut().css(selector).map_err(|error| self.refused(ctx, &error))?;
        let attribute = match options {
            Some(options) => {
                check_options(&options, "css(…)", &["attribute"])?;
                options.get::<_, Option<String>>("attribute")?
            }
            None => None,
        };
        markup::css(&self.text(), &selector, attribute.as_deref(), limit, &Effort::of_one_turn()).map_err(|error| self.refused(ctx, &error))
    }

    fn evaluate(&self, ctx: &Ctx<'_>, expression: &str, limit: usize) -> rquickjs::Result<Vec<String>> {
        let compiled = self.compiled.borrow_mut().xpath(expression).map_err(|error| self.refused(ctx, &error))?;
        markup::xpath(&self.text(), &compiled, (self.content_type)(), limit, &Effort::of_one_turn())
            .map_err(|error| self.refused(ctx, &error))
    }

    pub(crate) fn json(&self, ctx: &Ctx<'js>, path: Opt<Value<'js>>, fallback: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
        let Some(path) = path.0.filter(|path| !path.is_undefined()) else {
            let decoded = self.json_in_charset();
            let json = decoded.as_ref().map_or(without_mark(self.bytes), String::as_bytes);
            return exact_json::parse(ctx, json).map_err(|_| {
                ctx.catch();
                Exception::throw_message(ctx, &format!("{}: the body is not JSON", (self.described)()))
            });
        };
        let written = path.get::<String>()?;
        let path = self.compiled.borrow_mut().json(&written).map_err(|error| self.refused(ctx, &error))?;
        let decoded = self.json_in_charset();
        match path.first(decoded.as_ref().map_or(self.bytes, String::as_bytes)) {
            Ok(Some(value)) => to_js(ctx, value),
            Ok(None) => self.missing(ctx, &format!("nothing at {written}"), fallback),
            Err(error) if fallback.0.is_none() => Err(self.refused(ctx, &error)),
            Err(_) => self.missing(ctx, "", fallback),
        }
    }

    pub(crate) fn json_all(&self, ctx: &Ctx<'js>, path: &str) -> rquickjs::Result<Value<'js>> {
        let path = self.compiled.borrow_mut().json(path).map_err(|error| self.refused(ctx, &error))?;
        let decoded = self.json_in_charset();
        let all = path.all(decoded.as_ref().map_or(self.bytes, String::as_bytes)).map_err(|error| self.refused(ctx, &error))?;
        exact_json::parse(ctx, all.as_bytes())
    }

    pub(crate) fn css(
        &self,
        ctx: &Ctx<'js>,
        selector: &str,
        options: Option<Object<'js>>,
        fallback: Opt<Value<'js>>,
    ) -> rquickjs::Result<Value<'js>> {
        match self.select(ctx, selector, options, 1)?.into_iter().next() {
            Some(text) => text.into_js(ctx),
            None => self.missing(ctx, &format!("nothing is selected by {selector}"), fallback),
        }
    }

    pub(crate) fn css_all(&self, ctx: &Ctx<'js>, selector: &str, options: Option<Object<'js>>) -> rquickjs::Result<Vec<String>> {
        self.select(ctx, selector, options, VALUES_MAX)
    }

    pub(crate) fn xpath(&self, ctx: &Ctx<'js>, expression: &str, fallback: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
        match self.evaluate(ctx, expression, 1)?.into_iter().next() {
            Some(text) => text.into_js(ctx),
            None => self.missing(ctx, &format!("nothing is found by {expression}"), fallback),
        }
    }

    pub(crate) fn xpath_all(&self, ctx: &Ctx<'js>, expression: &str) -> rquickjs::Result<Vec<String>> {
        self.evaluate(ctx, expression, VALUES_MAX)
    }
}

/// A value that was found, for the script.
pub(crate) fn to_js<'js>(ctx: &Ctx<'js>, value: JsonValue<'_>) -> rquickjs::Result<Value<'js>> {
    match value {
        JsonValue::Null => Ok(Value::new_null(ctx.clone())),
        JsonValue::Boolean(boolean) => Ok(Value::new_bool(ctx.clone(), boolean)),
        JsonValue::Number(number) => Ok(Value::new_number(ctx.clone(), number)),
        JsonValue::BigInteger(digits) => exact_json::big_int(ctx, &digits),
        JsonValue::Text(text) => text.as_ref().into_js(ctx),
        JsonValue::Json(text) => exact_json::parse(ctx, text.as_bytes()),
    }
}
