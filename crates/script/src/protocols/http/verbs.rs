//! `user.get(…)`, `user.post(…)` and the other methods, and `user.request(…)` for any method.

use rquickjs::{Coerced, Ctx, Exception, FromJs, Object, Value};

use super::methods::{NAMES, RequestMethod, STEPPED_NAMES};
use super::options::REQUEST;
use super::{name, send};
use crate::runtime::object::UserObject;
use crate::runtime::promise::AwaitedBy;
use crate::runtime::verb::{self, Verb, VerbArguments};
use crate::unknown_options::OptionsOfVerb;

/// Their arguments after the URL.
pub(super) const OPTIONS: &[OptionsOfVerb] = &[
    with_options(NAMES[0], 1),
    with_options(NAMES[1], 1),
    with_options(NAMES[2], 1),
    with_options(NAMES[3], 1),
    with_options(NAMES[4], 1),
    with_options(NAMES[5], 1),
    with_options(NAMES[6], 1),
    with_options("request", 2),
];

const fn with_options(verb: &'static str, argument: usize) -> OptionsOfVerb {
    OptionsOfVerb { verb, argument, options: &REQUEST }
}

/// Puts the verbs on the prototype of users.
pub(super) fn install<'js>(ctx: &Ctx<'js>, users: &Object<'js>) -> rquickjs::Result<()> {
    verb::install::<SendKnown<0>>(ctx, users)?;
    verb::install::<SendKnown<1>>(ctx, users)?;
    verb::install::<SendKnown<2>>(ctx, users)?;
    verb::install::<SendKnown<3>>(ctx, users)?;
    verb::install::<SendKnown<4>>(ctx, users)?;
    verb::install::<SendKnown<5>>(ctx, users)?;
    verb::install::<SendKnown<6>>(ctx, users)?;
    verb::install::<SendStepped<0>>(ctx, users)?;
    verb::install::<SendStepped<1>>(ctx, users)?;
    verb::install::<SendStepped<2>>(ctx, users)?;
    verb::install::<SendStepped<3>>(ctx, users)?;
    verb::install::<SendStepped<4>>(ctx, users)?;
    verb::install::<SendStepped<5>>(ctx, users)?;
    verb::install::<SendStepped<6>>(ctx, users)?;
    verb::install::<SendAny>(ctx, users)
}

/// The verb of a method, by its index in `METHODS`.
struct SendKnown<const METHOD: u8>;

impl<const METHOD: u8> Verb for SendKnown<METHOD> {
    const NAME: &'static str = NAMES[METHOD as usize];
    const ARGUMENTS: usize = 2;
    const TAKES_CONSTANTS: bool = true;

    fn refused_name(arguments: &VerbArguments<'_, '_>) -> Option<String> {
        Some(name::of_refused(&Self::NAME.to_ascii_uppercase(), &arguments.get(0)))
    }

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        send::send(ctx, user, RequestMethod::Known(METHOD), &arguments.get(0), &arguments.get(1), AwaitedBy::Promise)
    }
}

/// The same, called by a function that yields at once: see `compile::stepped`.
struct SendStepped<const METHOD: u8>;

impl<const METHOD: u8> Verb for SendStepped<METHOD> {
    const NAME: &'static str = STEPPED_NAMES[METHOD as usize];
    const ARGUMENTS: usize = 2;
    const TAKES_CONSTANTS: bool = true;

    fn refused_name(arguments: &VerbArguments<'_, '_>) -> Option<String> {
        SendKnown::<METHOD>::refused_name(arguments)
    }

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        send::send(ctx, user, RequestMethod::Known(METHOD), &arguments.get(0), &arguments.get(1), AwaitedBy::Generator)
    }
}

struct SendAny;

impl Verb for SendAny {
    const NAME: &'static str = "request";
    const ARGUMENTS: usize = 3;

    fn refused_name(arguments: &VerbArguments<'_, '_>) -> Option<String> {
        Some(name::of_refused("REQUEST", &arguments.get(1)))
    }

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        let method = Coerced::<String>::from_js(ctx, arguments.get(0))?.0;
        // RFC 9110, section 5.6.2: a method is a token.
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if method.is_empty() || !method.bytes().all(token) {
            return Err(Exception::throw_type(ctx, &format!("\"{method}\" is not an HTTP method")));
        }
        // As written: methods are case-sensitive (RFC 9110, section 9.1).
        let method = RequestMethod::Other(method.into());
        send::send(ctx, user, method, &arguments.get(1), &arguments.get(2), AwaitedBy::Promise)
    }
}
