//! Options that do not exist, and which there are.
//!
//! They are looked for twice: where they are written out, as soon as the file is read (`compile::options`); otherwise when a call is made.

use rquickjs::{Ctx, Exception, JsLifetime, Object};

/// The options of one thing, and of those that are objects with options of their own.
#[derive(Debug)]
pub(crate) struct OptionSet {
    /// Whose they are, in words.
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

/// Is called with what is said of the option, while the script that gave it is running.
type ListenToMisuse = dyn Fn(&Ctx<'_>, &str);

/// Hears of every option that does not exist: a script that catches what is thrown must not hide it. Kept as user data of realms in which
/// users run.
#[derive(JsLifetime)]
pub(crate) struct UnknownOptionListener(pub(crate) Box<ListenToMisuse>);

/// What is said of an option that `what` does not take.
pub(crate) fn unknown_option(what: &str, option: &str, known: &[impl AsRef<str>]) -> String {
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    format!("{what} has no option `{option}`{}; its options are: {}", loadstone_units::did_you_mean(option, &known), known.join(", "))
}

/// The option that a message of [`unknown_option`] names.
pub(crate) fn option_named(message: &str) -> Option<&str> {
    message.split_once(" no option `")?.1.split_once('`').map(|(option, _)| option)
}

/// The same, and whoever listens hears of it.
pub(crate) fn tell_unknown(ctx: &Ctx<'_>, what: &str, option: &str, known: &[impl AsRef<str>]) -> String {
    let message = unknown_option(what, option, known);
    if let Some(listener) = ctx.userdata::<UnknownOptionListener>() {
        listener.0(ctx, &message);
    }
    message
}

/// Throws where the options hold one that `what` does not take.
pub(crate) fn check_options<'js>(options: &Object<'js>, what: &str, known: &[&str]) -> rquickjs::Result<()> {
    for name in options.keys::<String>() {
        let name = name?;
        if !known.contains(&&*name) {
            let ctx = options.ctx();
            return Err(Exception::throw_type(ctx, &tell_unknown(ctx, what, &name, known)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_that_was_meant_and_all_others_are_named() {
        let told = unknown_option("ping(…)", "nmae", &["name"]);
        assert_eq!(told, "ping(…) has no option `nmae` (did you mean `name`?); its options are: name");
        assert_eq!(option_named(&told), Some("nmae"));
        assert_eq!(option_named("a request has no body"), None);
    }
}
