//! Reads the options of `user.events(…)`.

use rquickjs::{Ctx, Value};

use crate::protocols::http::options::{AUTH, RequestOptions};
use crate::protocols::messages::options::drops_unread;
use crate::protocols::options::{each, not_in, switch, text};
use crate::runtime::user::UserState;
use crate::unknown_options::{OptionSet, OptionsOfVerb};

static STREAM: OptionSet = OptionSet {
    of: "an event stream",
    known: &[
        "name",
        "headers",
        "query",
        "auth",
        "timeout",
        "redirects",
        "method",
        "json",
        "form",
        "body",
        "unread",
        "reconnect",
        "tags",
        "source",
    ],
    within: &[("auth", &AUTH)],
};

pub(super) const OPTIONS: &[OptionsOfVerb] = &[OptionsOfVerb { verb: "events", argument: 1, options: &STREAM }];

/// The options of `user.events`.
#[derive(Default)]
pub(super) struct EventOptions {
    pub(super) request: RequestOptions,
    pub(super) method: Option<String>,
    pub(super) drops_unread: bool,
    pub(super) reconnects: Option<bool>,
}

impl EventOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, user: &UserState, object: Option<&Value<'js>>) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        each(ctx, object, "events(…)", |key, value| {
            match key {
                "method" => options.method = Some(text(ctx, &value, "method")?),
                "unread" => options.drops_unread = drops_unread(ctx, &value)?,
                "reconnect" => options.reconnects = Some(switch(ctx, value, "reconnect")?),
                "name" | "headers" | "query" | "auth" | "timeout" | "redirects" | "json" | "form" | "body" | "tags" | "source" => {
                    options.request.take(ctx, user, key, value)?;
                }
                other => return Err(not_in(ctx, other, &STREAM)),
            }
            Ok(())
        })?;
        Ok(options)
    }
}
