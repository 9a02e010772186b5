//! The terms of advice: in what the user defines a run, and therefore where the advised load, observer or limit is written.

use loadstone_plan::{TestLanguage, TestPlan};
use loadstone_run_directory::Run;

/// In what the user defines the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdviceTerms {
    /// Flags of a run of a URL.
    Flags,
    /// A test file.
    TestFile,
    /// A k6 script. Observers are in the file of `--with`; if there is none yet, this one is read by default.
    K6Script { system_file: Option<String> },
    /// Flags of `loadstone watch`, which follows another tool.
    WatchFlags,
}

/// An observer to add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedObserver<'a> {
    Process {
        port: u16,
    },
    Host,
    /// A database, by the name of its observer. Its URL is as in code.
    Database {
        name: &'a str,
        url: &'a str,
    },
    /// Metrics in Prometheus' format.
    Prometheus,
    /// The runtime of a service, by the name of its observer.
    Runtime {
        name: &'a str,
        port: u16,
    },
}

impl AdviceTerms {
    pub fn of(run: &Run) -> Self {
        match (&run.info.file, run.plan.language) {
            (None, _) if run.plan.recorded.is_some() => Self::WatchFlags,
            (None, _) => Self::Flags,
            (Some(file), TestLanguage::K6) => {
                let stem = [".js", ".ts", ".mjs"].iter().find_map(|end| file.strip_suffix(end)).unwrap_or(file);
                Self::K6Script { system_file: run.plan.observers.is_empty().then(|| format!("{stem}.system.ts")) }
            }
            (Some(_), TestLanguage::Loadstone) => Self::TestFile,
        }
    }

    /// What adds these observers, as code or flags, with the place.
    pub fn observing(&self, wanted: &[WantedObserver<'_>]) -> String {
        let list = || format!("observe: [{}]", wanted.iter().map(|wanted| wanted.call()).collect::<Vec<_>>().join(", "));
        match self {
            Self::TestFile => format!("`{}`", list()),
            Self::K6Script { system_file: None } => format!("`{}` in the file of --with", list()),
            Self::K6Script { system_file: Some(file) } => {
                format!(
                    "`import {{ observe }} from \"loadstone\"; export default {{ {} }};` in {file}, or in another file for --with",
                    list()
                )
            }
            Self::Flags | Self::WatchFlags => format!("`{}`", wanted.iter().map(WantedObserver::flag).collect::<Vec<_>>().join(" ")),
        }
    }

    /// Names observers in passing: `observe.process` or `--process`, with the place if it is not the test itself.
    pub fn named(&self, observers: &[&str]) -> String {
        let with = |prefix: &str| observers.iter().map(|name| format!("{prefix}{name}")).collect::<Vec<_>>().join(", ");
        match self {
            Self::K6Script { .. } => format!("{} in the file of --with", with("observe.")),
            Self::TestFile => with("observe."),
            Self::Flags | Self::WatchFlags => with("--"),
        }
    }
}

/// The setting that limits the concurrent users of open load.
pub(crate) fn users_max(plan: &TestPlan) -> &'static str {
    match plan.language {
        TestLanguage::Loadstone => "the scenario's maximum number of users",
        TestLanguage::K6 => "the scenario's `maxVUs`",
    }
}

impl WantedObserver<'_> {
    /// As in a test file.
    fn call(&self) -> String {
        match self {
            Self::Process { port } => format!("observe.process({{ port: {port} }})"),
            Self::Host => "observe.host()".to_owned(),
            Self::Database { name, url } => format!("observe.{name}({url})"),
            Self::Prometheus => "observe.prometheus(\"http://…/metrics\")".to_owned(),
            Self::Runtime { name, port } => format!("observe.{name}({{ port: {port} }})"),
        }
    }

    /// As for a run without a file. Each kind has a flag of its name.
    fn flag(&self) -> String {
        match self {
            Self::Process { port } => format!("--process {port}"),
            Self::Host => "--host".to_owned(),
            Self::Database { name, .. } => format!("--{name} URL"),
            Self::Prometheus => "--prometheus http://…/metrics".to_owned(),
            Self::Runtime { name, port } => format!("--{name} {port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observer_is_advised_where_the_user_can_write_it() {
        let observing = |terms: AdviceTerms, wanted| terms.observing(&[wanted]);
        let process = WantedObserver::Process { port: 9000 };
        assert_eq!(observing(AdviceTerms::TestFile, process), "`observe: [observe.process({ port: 9000 })]`");
        assert_eq!(observing(AdviceTerms::WatchFlags, process), "`--process 9000`");
        let k6 = AdviceTerms::K6Script { system_file: Some("shop.system.ts".to_owned()) };
        assert_eq!(
            observing(k6.clone(), process),
            "`import { observe } from \"loadstone\"; export default { observe: [observe.process({ port: 9000 })] };` in shop.system.ts, or in \
             another file for --with"
        );
        let with_file = AdviceTerms::K6Script { system_file: None };
        assert_eq!(observing(with_file, process), "`observe: [observe.process({ port: 9000 })]` in the file of --with");
        assert_eq!(k6.named(&["postgres", "mysql"]), "observe.postgres, observe.mysql in the file of --with");
        let jvm = WantedObserver::Runtime { name: "jvm", port: 8080 };
        assert_eq!(observing(AdviceTerms::Flags, jvm), "`--jvm 8080`");
        assert_eq!(AdviceTerms::Flags.named(&["postgres", "mysql"]), "--postgres, --mysql");
    }
}
