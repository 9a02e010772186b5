//! How the user adds an observer to the next run: as a line of script, or as a flag where there is no script.

use loadstone_run_directory::Run;

/// The place where the user names observers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObserverNotation {
    /// `observe` of a test, or of the file that describes the system.
    Script,
    /// Flags of `loadstone run URL`, `capacity URL` and `watch`.
    Flags,
}

/// What an observer reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ObserverTarget<'a> {
    Port(u16),
    Url(&'a str),
    /// A URL that the user knows: the value of a parameter.
    OwnUrl,
    Machine,
}

impl ObserverNotation {
    pub(crate) fn of(run: &Run) -> Self {
        if run.info.file.is_none() { Self::Flags } else { Self::Script }
    }

    /// Code to copy, in backticks. Each kind has a flag of its name.
    pub(crate) fn code(self, kind: &str, target: ObserverTarget<'_>) -> String {
        match (self, target) {
            (Self::Script, ObserverTarget::Port(port)) => format!("`observe: [observe.{kind}({{ port: {port} }})]`"),
            (Self::Script, ObserverTarget::Url(url)) => format!("`observe: [observe.{kind}(\"{url}\")]`"),
            (Self::Script, ObserverTarget::OwnUrl) => format!("`observe: [observe.{kind}(…)]`"),
            (Self::Script, ObserverTarget::Machine) => format!("`observe: [observe.{kind}()]`"),
            (Self::Flags, ObserverTarget::Port(port)) => format!("`--{kind} {port}`"),
            (Self::Flags, ObserverTarget::Url(url)) => format!("`--{kind} {url}`"),
            (Self::Flags, ObserverTarget::OwnUrl) => format!("`--{kind} URL`"),
            (Self::Flags, ObserverTarget::Machine) => format!("`--{kind}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observer_is_named_where_the_user_names_it() {
        let both = |kind, target| (ObserverNotation::Script.code(kind, target), ObserverNotation::Flags.code(kind, target));
        let pair = |script: &str, flag: &str| (script.to_owned(), flag.to_owned());
        assert_eq!(both("process", ObserverTarget::Port(80)), pair("`observe: [observe.process({ port: 80 })]`", "`--process 80`"));
        let url = ObserverTarget::Url("postgres://…");
        assert_eq!(both("postgres", url), pair("`observe: [observe.postgres(\"postgres://…\")]`", "`--postgres postgres://…`"));
        assert_eq!(both("redis", ObserverTarget::OwnUrl), pair("`observe: [observe.redis(…)]`", "`--redis URL`"));
        assert_eq!(both("host", ObserverTarget::Machine), pair("`observe: [observe.host()]`", "`--host`"));
    }
}
