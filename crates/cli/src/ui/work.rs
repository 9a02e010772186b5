//! The work that a form starts: a run, an experiment or a search. Read [`OrderedWork`].

use clap::{Args, Parser};
use serde::{Deserialize, Serialize};
use url::Url;

use super::test_to_start::TestToStart;
use crate::commands::capacity::CapacityArgs;
use crate::commands::experiment::ExperimentArgs;
use crate::commands::run::UrlArgs;
use crate::exit::FlagError;
use crate::flags::{ObserverArgs, observers_of};

/// The request of the page. An empty string selects the default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum OrderedWork {
    #[default]
    Run,
    /// A run of a URL without a test.
    Url {
        #[serde(default)]
        rate: String,
        #[serde(default)]
        duration: String,
        // Ports or names, with spaces between them.
        #[serde(default)]
        process: String,
        // URLs, with spaces between them.
        #[serde(default)]
        observe: String,
        #[serde(default)]
        machine: bool,
    },
    Experiment {
        knob: String,
        #[serde(default)]
        block: String,
        #[serde(default)]
        rounds: String,
        #[serde(default)]
        effect: String,
        #[serde(default)]
        measure: String,
        // The finding to prove, by its number, and its run.
        #[serde(default)]
        finding: String,
        #[serde(default)]
        run: String,
    },
    Capacity {
        #[serde(default)]
        objectives: Vec<String>,
        #[serde(default)]
        first: String,
        #[serde(default)]
        most: String,
        #[serde(default)]
        precision: String,
        #[serde(default)]
        probe: String,
        #[serde(default)]
        budget: String,
    },
}

impl OrderedWork {
    /// The command that performs it.
    pub(crate) fn command(&self) -> &'static str {
        match self {
            OrderedWork::Run | OrderedWork::Url { .. } => "run",
            OrderedWork::Experiment { .. } => "experiment",
            OrderedWork::Capacity { .. } => "capacity",
        }
    }

    /// Its flags.
    pub(crate) fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        let mut give = |flag: &str, text: &str| {
            if !text.trim().is_empty() {
                flags.push(format!("--{flag}={}", text.trim()));
            }
        };
        match self {
            OrderedWork::Run => {}
            OrderedWork::Url { rate, duration, process, observe, machine } => {
                give("rate", rate);
                give("for", duration);
                process.split_whitespace().for_each(|process| give("process", process));
                observe.split_whitespace().for_each(|url| give(observer_of(url).unwrap_or_default(), url));
                if *machine {
                    flags.push("--host".to_owned());
                }
            }
            OrderedWork::Experiment { knob, block, rounds, effect, measure, finding, run } => {
                let fields = [("knob", knob), ("block", block), ("rounds", rounds), ("effect", effect), ("measure", measure)];
                fields.into_iter().chain([("finding", finding), ("run", run)]).for_each(|(flag, text)| give(flag, text));
            }
            OrderedWork::Capacity { objectives, first, most, precision, probe, budget } => {
                objectives.iter().for_each(|text| give("objective", text));
                let fields = [("first", first), ("most", most), ("precision", precision), ("probe", probe), ("budget", budget)];
                fields.iter().for_each(|(flag, text)| give(flag, text));
            }
        }
        flags
    }
}

/// The flag that observes what is at this URL, by its scheme. `None`: no observer has this scheme.
fn observer_of(url: &str) -> Option<&'static str> {
    match url.split_once("://")?.0 {
        "postgres" | "postgresql" => Some("postgres"),
        "mysql" => Some("mysql"),
        "redis" | "rediss" => Some("redis"),
        "http" | "https" => Some("prometheus"),
        _ => None,
    }
}

/// Why a command does not accept a form's request.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct RefusedWork {
    /// The wrong field, named like the command's flag. `None`: the request as a whole.
    pub(crate) field: Option<&'static str>,
    pub(crate) why: String,
}

impl From<anyhow::Error> for RefusedWork {
    fn from(problem: anyhow::Error) -> Self {
        match problem.downcast::<FlagError>() {
            Ok(FlagError { flag, why }) => Self { field: Some(flag), why },
            Err(problem) => Self { field: None, why: format!("{problem:#}") },
        }
    }
}

impl OrderedWork {
    /// Checks whether its command accepts this test.
    pub(super) fn check(&self, file: &str, test: &TestToStart) -> Result<(), RefusedWork> {
        match self {
            OrderedWork::Run => Ok(()),
            OrderedWork::Url { .. } => self.check_url(file),
            OrderedWork::Experiment { .. } => Ok(self.read::<ExperimentArgs>(&[file])?.check(&test.plan, &test.knobs)?),
            OrderedWork::Capacity { .. } => Ok(self.read::<CapacityArgs>(&[file])?.check(&test.plan)?),
        }
    }

    /// Checks whether the URL can be loaded and the others observed. A password would be visible to other users of the machine.
    pub(crate) fn check_url(&self, url: &str) -> Result<(), RefusedWork> {
        const CREDENTIALS: &str = "credentials belong in a test, as a secret parameter";
        let wrong = |field, why: String| RefusedWork { field: Some(field), why };
        let observe = if let OrderedWork::Url { observe, .. } = self { observe } else { "" };
        for observed in observe.split_whitespace() {
            let known = "write a URL that begins with postgres://, mysql://, redis://, or with http:// for metrics of Prometheus";
            observer_of(observed).ok_or_else(|| wrong("observe", format!("{observed}: {known}")))?;
            if Url::parse(observed).is_ok_and(|observed| observed.password().is_some()) {
                return Err(wrong("observe", CREDENTIALS.to_owned()));
            }
        }
        let UrlWork { load, observers } = self.read(&[])?;
        let request = load.request(url).map_err(|problem| RefusedWork { field: Some("url"), ..problem.into() })?;
        if !request.url.username().is_empty() || request.url.password().is_some() {
            return Err(wrong("url", CREDENTIALS.to_owned()));
        }
        let mut plan = load.plan(&request, 1)?;
        observers.apply(&mut plan);
        observers_of(&plan).map(drop).map_err(|problem| wrong("observe", problem.to_string()))
    }

    /// The command checks the values itself, so the parser accepts every flag of a form.
    fn read<A: Args>(&self, file: &[&str]) -> anyhow::Result<A> {
        let words = file.iter().map(|file| (*file).to_owned()).chain(self.flags());
        Ok(CommandWords::try_parse_from(words)?.arguments)
    }
}

/// The arguments of a run of a URL.
#[derive(Args)]
struct UrlWork {
    #[command(flatten)]
    load: UrlArgs,
    #[command(flatten)]
    observers: ObserverArgs,
}

/// The command-line arguments of one command.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct CommandWords<A: Args> {
    #[command(flatten)]
    arguments: A,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_of_a_wrong_value_is_data() {
        let refused = |problem: anyhow::Error| RefusedWork::from(problem);
        let wrong = refused(FlagError::new("block", "2s is too short").into());
        assert_eq!(wrong, RefusedWork { field: Some("block"), why: "2s is too short".to_owned() });
        let whole = refused(anyhow::anyhow!("the test has no knob").context("no experiment"));
        assert_eq!(whole, RefusedWork { field: None, why: "no experiment: the test has no knob".to_owned() });
    }

    /// Otherwise the argument parser would refuse a value before its command can name the field.
    #[test]
    fn the_parser_accepts_any_value_of_a_form() {
        let any = || "-x y=\"1\"".to_owned();
        let experiment = OrderedWork::Experiment {
            knob: any(),
            block: any(),
            rounds: any(),
            effect: any(),
            measure: any(),
            finding: "1".to_owned(),
            run: any(),
        };
        experiment.read::<ExperimentArgs>(&["a.load.ts"]).unwrap();
        let capacity =
            OrderedWork::Capacity { objectives: vec![any()], first: any(), most: any(), precision: any(), probe: any(), budget: any() };
        capacity.read::<CapacityArgs>(&["a.load.ts"]).unwrap();
        let url =
            OrderedWork::Url { rate: any(), duration: any(), process: any(), observe: "redis://a\" http://b=".to_owned(), machine: true };
        url.read::<UrlWork>(&[]).unwrap();
    }

    #[test]
    fn a_url_is_checked_before_it_is_queued() {
        let observed = |rate: &str, process: &str, observe: &str, machine| OrderedWork::Url {
            rate: rate.to_owned(),
            duration: "30s".to_owned(),
            process: process.to_owned(),
            observe: observe.to_owned(),
            machine,
        };
        let work = |rate: &str| observed(rate, "", "", false);
        assert_eq!((work("50").command(), work("50").flags()), ("run", vec!["--rate=50".to_owned(), "--for=30s".to_owned()]));
        let all = observed("50", "8080 worker", "postgres://app@127.0.0.1/shop  http://127.0.0.1:9090/metrics", true);
        let flags = all.flags();
        assert_eq!(flags[2..4], ["--process=8080", "--process=worker"]);
        assert_eq!(flags[4..], ["--postgres=postgres://app@127.0.0.1/shop", "--prometheus=http://127.0.0.1:9090/metrics", "--host"]);
        for right in [work("50"), all] {
            assert_eq!(right.check_url("http://127.0.0.1:8080/"), Ok(()));
        }
        for (observe, why) in
            [("oracle://a/", "begins with postgres://"), ("shop", "shop: write"), ("redis://:word@a/", "credentials belong in a test")]
        {
            let refused = observed("50", "", observe, false).check_url("http://127.0.0.1/").unwrap_err();
            assert!(refused.field == Some("observe") && refused.why.contains(why), "{refused:?}");
        }
        for (rate, url, field, why) in [
            ("many", "http://127.0.0.1/", "rate", "many"),
            ("0", "http://127.0.0.1/", "rate", "generates no load"),
            ("50", "ftp://127.0.0.1/", "url", "only http:// and https://"),
            ("50", "--runs=/", "url", "URL"),
            ("50", "http://user:word@127.0.0.1/", "url", "credentials belong in a test"),
        ] {
            let refused = work(rate).check_url(url).unwrap_err();
            assert!(refused.field == Some(field) && refused.why.contains(why), "{refused:?}");
        }
    }

    #[test]
    fn empty_fields_are_not_passed_on() {
        let read = |text: &str| serde_json::from_str::<OrderedWork>(text);
        let search = read(r#"{"kind":"capacity","objectives":["p99 < 300ms"," "],"probe":"30s","budget":""}"#).unwrap();
        assert_eq!((search.command(), search.flags()), ("capacity", vec!["--objective=p99 < 300ms".to_owned(), "--probe=30s".to_owned()]));
        let turned = read(r#"{"kind":"experiment","knob":"-x"}"#).unwrap();
        assert_eq!(turned.flags(), ["--knob=-x"], "no value can be taken for a flag");
        let proof = read(r#"{"kind":"experiment","knob":"pool","finding":"1","run":"0421-shop"}"#).unwrap();
        assert_eq!(proof.flags(), ["--knob=pool", "--finding=1", "--run=0421-shop"]);
        assert!(read(r#"{"kind":"capacity","runs":"/"}"#).is_err() && read(r#"{"kind":"stub"}"#).is_err());
    }
}
