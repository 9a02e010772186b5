//! The work that a form starts: a run, an experiment or a search. Read [`OrderedWork`].

use clap::{Args, Parser};
use loadstone_script::Loaded;
use serde::{Deserialize, Serialize};

use crate::commands::capacity::CapacityArgs;
use crate::commands::experiment::ExperimentArgs;
use crate::commands::run::UrlArgs;

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
            OrderedWork::Url { rate, duration } => {
                give("rate", rate);
                give("for", duration);
            }
            OrderedWork::Experiment { knob, block, rounds, effect, measure } => {
                let fields = [("knob", knob), ("block", block), ("rounds", rounds), ("effect", effect), ("measure", measure)];
                fields.iter().for_each(|(flag, text)| give(flag, text));
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

impl OrderedWork {
    /// Checks whether its command accepts this test. The error is worded for a form.
    pub(crate) fn check(&self, file: &str, loaded: &Loaded) -> Result<(), String> {
        let checked = match self {
            OrderedWork::Run => Ok(()),
            OrderedWork::Url { .. } => return self.check_url(file),
            OrderedWork::Experiment { .. } => self.read::<ExperimentArgs>(file)?.check(loaded),
            OrderedWork::Capacity { .. } => self.read::<CapacityArgs>(file)?.check(&loaded.plan),
        };
        checked.map_err(|problem| for_a_form(&format!("{problem:#}")))
    }

    /// Checks whether the URL can be loaded. A password would be visible to other users of the machine.
    pub(crate) fn check_url(&self, url: &str) -> Result<(), String> {
        let words = CommandWords::<UrlArgs>::try_parse_from(self.flags()).map(|words| words.arguments);
        let load = words.map_err(|problem| for_a_form(problem.to_string().lines().next().unwrap_or_default()))?;
        let request = load.request(url).map_err(|problem| for_a_form(&problem.to_string()))?;
        if !request.url.username().is_empty() || request.url.password().is_some() {
            return Err("URL: credentials belong in a test, as a secret parameter".to_owned());
        }
        load.plan(&request, 1).map(drop).map_err(|problem| for_a_form(&problem.to_string()))
    }

    fn read<A: Args>(&self, file: &str) -> Result<A, String> {
        let words = [file.to_owned()].into_iter().chain(self.flags());
        let read = CommandWords::try_parse_from(words).map(|words| words.arguments);
        read.map_err(|problem| for_a_form(problem.to_string().lines().next().unwrap_or_default()))
    }
}

/// The command-line arguments of one command.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct CommandWords<A: Args> {
    #[command(flatten)]
    arguments: A,
}

/// Rewords an error: a form has fields where a command has flags.
fn for_a_form(problem: &str) -> String {
    let problem = problem.trim_start_matches("error: ").replace("'--", "'").replace("give --", "give an ");
    // clap's `invalid value 'many' for 'rounds <N>': why`, in the wording of the other problems.
    let invalid = || {
        let (value, rest) = problem.strip_prefix("invalid value ")?.split_once(" for '")?;
        let (field, why) = rest.split_once("': ")?;
        Some(format!("{}: {value}: {why}", field.split(' ').next().unwrap_or(field)))
    };
    invalid().unwrap_or_else(|| problem.trim_start_matches("--").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_worded_for_fields() {
        for (of_command, of_form) in [
            ("--block: 2s is not a whole number", "block: 2s is not a whole number"),
            (
                "error: invalid value 'many' for '--rounds <N>': invalid digit found in string",
                "rounds: 'many': invalid digit found in string",
            ),
            ("no objective: give --objective 'p99 < 300ms'", "no objective: give an objective 'p99 < 300ms'"),
        ] {
            assert_eq!(for_a_form(of_command), of_form);
        }
    }

    #[test]
    fn a_url_is_checked_before_it_is_queued() {
        let work = |rate: &str| OrderedWork::Url { rate: rate.to_owned(), duration: "30s".to_owned() };
        assert_eq!((work("50").command(), work("50").flags()), ("run", vec!["--rate=50".to_owned(), "--for=30s".to_owned()]));
        assert_eq!(work("50").check_url("http://127.0.0.1:8080/"), Ok(()));
        for (rate, url, why) in [
            ("many", "http://127.0.0.1/", "many"),
            ("50", "ftp://127.0.0.1/", "only http:// and https://"),
            ("50", "--runs=/", "URL"),
            ("50", "http://user:word@127.0.0.1/", "credentials belong in a test"),
        ] {
            let problem = work(rate).check_url(url).unwrap_err();
            assert!(problem.contains(why), "{problem}");
        }
    }

    #[test]
    fn empty_fields_are_not_passed_on() {
        let read = |text: &str| serde_json::from_str::<OrderedWork>(text);
        let search = read(r#"{"kind":"capacity","objectives":["p99 < 300ms"," "],"probe":"30s","budget":""}"#).unwrap();
        assert_eq!((search.command(), search.flags()), ("capacity", vec!["--objective=p99 < 300ms".to_owned(), "--probe=30s".to_owned()]));
        let turned = read(r#"{"kind":"experiment","knob":"-x"}"#).unwrap();
        assert_eq!(turned.flags(), ["--knob=-x"], "no value can be taken for a flag");
        assert!(read(r#"{"kind":"capacity","runs":"/"}"#).is_err() && read(r#"{"kind":"stub"}"#).is_err());
    }
}
