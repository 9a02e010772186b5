//! Options that do not exist.

use rquickjs::{Exception, Object};

/// What is said of an option that `what` does not take.
pub(crate) fn unknown_option(what: &str, option: &str, known: &[impl AsRef<str>]) -> String {
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    format!("{what} has no option `{option}`{}; its options are: {}", units::did_you_mean(option, &known), known.join(", "))
}

/// Throws where the options hold one that `what` does not take.
pub(crate) fn check_options<'js>(options: &Object<'js>, what: &str, known: &[&str]) -> rquickjs::Result<()> {
    for name in options.keys::<String>() {
        let name = name?;
        if !known.contains(&&*name) {
            return Err(Exception::throw_type(options.ctx(), &unknown_option(what, &name, known)));
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
    }
}
