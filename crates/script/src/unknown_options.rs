//! Unknown options, and the list of known ones.
//!
//! They are detected in literals as soon as the file is read (`compile::options`), and otherwise when a call runs.

use rquickjs::{Ctx, Exception, JsLifetime, Object};

/// The options of one call or object, and of nested objects.
#[derive(Debug)]
pub(crate) struct OptionSet {
    /// Their owner, for messages.
    pub(crate) of: &'static str,
    pub(crate) known: &'static [&'static str],
    pub(crate) within: &'static [(&'static str, &'static OptionSet)],
}

impl OptionSet {
    pub(crate) const fn new(of: &'static str, known: &'static [&'static str]) -> Self {
        Self { of, known, within: &[] }
    }
}

/// A function of users, and which of its arguments are options.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionsOfVerb {
    pub(crate) verb: &'static str,
    /// From 0.
    pub(crate) argument: usize,
    pub(crate) options: &'static OptionSet,
}

/// Called with the error message while the script that passed the option runs.
type ListenToMisuse = dyn Fn(&Ctx<'_>, &str);

/// Receives every unknown option, since a script that catches the error must not hide it. Stored as user data of realms in which users run.
#[derive(JsLifetime)]
pub(crate) struct UnknownOptionListener(pub(crate) Box<ListenToMisuse>);

/// The error message for an option that `what` does not take.
pub(crate) fn unknown_option(what: &str, option: &str, known: &[impl AsRef<str>]) -> String {
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    format!("{what} has no option `{option}`{}; its options are: {}", loadstone_units::did_you_mean(option, &known), known.join(", "))
}

/// The option that a message of [`unknown_option`] names.
pub(crate) fn option_named(message: &str) -> Option<&str> {
    message.split_once(" no option `")?.1.split_once('`').map(|(option, _)| option)
}

/// The same, and notifies the listener.
pub(crate) fn report_unknown(ctx: &Ctx<'_>, what: &str, option: &str, known: &[impl AsRef<str>]) -> String {
    report_misuse(ctx, unknown_option(what, option, known))
}

/// Notifies the listener of a call that the run must not hide, and returns the message.
pub(crate) fn report_misuse(ctx: &Ctx<'_>, message: String) -> String {
    if let Some(listener) = ctx.userdata::<UnknownOptionListener>() {
        listener.0(ctx, &message);
    }
    message
}

/// Throws if the options contain one that `what` does not take.
pub(crate) fn check_options<'js>(options: &Object<'js>, what: &str, known: &[&str]) -> rquickjs::Result<()> {
    for name in options.keys::<String>() {
        let name = name?;
        if !known.contains(&&*name) {
            let ctx = options.ctx();
            return Err(Exception::throw_type(ctx, &report_unknown(ctx, what, &name, known)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_similar_option_and_all_others_are_named() {
        let message = unknown_option("ping(…)", "nmae", &["name"]);
        assert_eq!(message, "ping(…) has no option `nmae` (did you mean `name`?); its options are: name");
        assert_eq!(option_named(&message), Some("nmae"));
        assert_eq!(option_named("a request has no body"), None);
    }
}
