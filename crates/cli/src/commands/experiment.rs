//! `loadstone experiment`: is that really the cause?

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use loadstone_analysis::{ComparisonVerdict, Experiment, ExperimentStop, Finding};
use loadstone_plan::{Parameter, ParameterOrigin, TestLanguage, TestPlan};
use loadstone_report::terminal::Style;
use loadstone_script::{Inputs, Knob, Loaded};
use loadstone_stub::demo::{DemoOptions, DemoShop};

use crate::argument;
use crate::conclusion_files::{onto_job_page, short_path, write_if_asked};
use crate::context::CommandContext;
use crate::exit::{self, Exit, FlagError, UsageError};
use crate::experiment::{self, ExperimentEnd, ExperimentRun};
use crate::flags::{self, K6ScriptArgs, NetworkArgs, ParameterArgs};
use crate::gate;
use crate::k6_source::K6Source;
use crate::prose;
use crate::scratch::scratch_folder;
use crate::script_run::ScriptRun;
use crate::series::{RunSource, TargetUnreachable};
use crate::watched::WatchedArgs;

/// Selects the built-in shop in place of a file.
const DEMO: &str = "demo";
/// An experiment of more rounds would last for days.
const ROUNDS_MAX: usize = 10_000;
const DEMO_TEST: &str = include_str!("../../../../examples/experiment.load.ts");

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loadstone experiment demo
  loadstone experiment shop.load.ts --knob pool --measure 'p95 of Check out'
  loadstone experiment shop.load.ts --finding 1

Exit codes: 0 decided, 4 undecided, 130 interrupted; others as for all commands.")]
pub(crate) struct ExperimentArgs {
    /// A test (*.load.ts) that declares a knob, a k6 script with a file that declares one (--with), or `demo` for the built-in shop.
    #[arg(value_name = "FILE")]
    file: String,
    /// Knob to change. Required if the test has several.
    #[arg(long, value_name = "NAME")]
    knob: Option<String>,
    /// Length of one block of load.
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    block: String,
    /// Maximum number of rounds, each with one block per value. The experiment ends earlier once the result is clear.
    #[arg(long, value_name = "N", default_value = "12")]
    rounds: String,
    /// Relative change that is too small to matter.
    #[arg(long, value_name = "SHARE", default_value = "10%")]
    effect: String,
    /// Metric that decides: 'p95 of Check out', 'rate', 'mean of Search'.  [default: the rate, and p95 of the requests that take most of the time]
    #[arg(long, value_name = "METRIC [of NAME]")]
    measure: Option<String>,
    /// Verify a finding of an earlier run, by its number: change the knob that the finding names.
    #[arg(long, value_name = "N")]
    finding: Option<usize>,
    /// The run with the finding.
    #[arg(long, value_name = "RUN", default_value = "latest", requires = "finding")]
    run: String,
    /// Only set the knob to its first value, after an experiment that could not do so itself.
    #[arg(long, conflicts_with_all = ["finding", "json", "markdown", "html"])]
    put_back: bool,
    #[command(flatten)]
    params: ParameterArgs,
    #[command(flatten)]
    k6: K6ScriptArgs,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    folder: flags::RunsFolderArgs,
    /// Threads that generate the load.  [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    workers: Option<u32>,
    /// Seed of the first round's draws; overrides the test's.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print the experiment as JSON (experiment.json) instead of text.
    #[arg(long)]
    json: bool,
    /// Also write the result as Markdown to this file. GITHUB_STEP_SUMMARY is honoured.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Also write the result as an HTML page to this file, with the blocks over time.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print only the result, no progress.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    watched: WatchedArgs,
}

impl ExperimentArgs {
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        argument::check_files(&self.folder.runs, &[("--markdown", self.markdown.as_deref()), ("--html", self.html.as_deref())])?;
        let mut inputs = self.params.inputs()?;
        inputs.seed = self.seed;
        let recorded = self.recorded_parameters(&inputs)?;
        inputs.parameters.extend(recorded);
        if self.file != DEMO || Path::new(DEMO).exists() {
            argument::check_test(Path::new(&self.file))?;
            if loadstone_k6::is_k6_script(Path::new(&self.file)) {
                return self.perform_k6(context, Path::new(&self.file), inputs);
            }
            self.k6.check_unused(&self.file)?;
            return self.perform_file(context, Path::new(&self.file), &self.file, inputs);
        }
        let shop = DemoShop::start(DemoOptions::default()).context("cannot start the demo shop")?;
        let folder = scratch_folder()?;
        let file = folder.path().join("experiment.load.ts");
        std::fs::write(&file, DEMO_TEST).with_context(|| format!("cannot write {}", file.display()))?;
        inputs.parameters.push(("target".to_owned(), shop.url()));
        if !self.quiet {
            prose::line(&format!(
                "A small shop listens on {}. Twelve buyers loop. Its checkouts share a pool of four database connections.\n\
                 Is the pool the limit? Loadstone switches its size between four and eight.\n",
                shop.url()
            ));
        }
        self.perform_file(context, &file, "experiment.load.ts", inputs)
    }

    /// Checks whether an experiment is possible with this test.
    pub(crate) fn check(&self, plan: &TestPlan, knobs: &[Knob]) -> anyhow::Result<()> {
        self.chosen(plan.language, knobs, None)?;
        let block_seconds = self.block_seconds()?;
        self.rounds_max()?;
        plan.steady_load(block_seconds * 1_000_000_000).map_err(|problem| UsageError(problem.to_string()))?;
        self.effect()?;
        self.measure()?;
        Ok(())
    }

    fn perform_file(&self, context: &CommandContext, path: &Path, shown: &str, inputs: Inputs) -> anyhow::Result<Exit> {
        let script = ScriptRun {
            path,
            shown,
            inputs,
            workers: self.workers.unwrap_or_else(loadstone_session::cores).max(1),
            tags: &[],
            network: &self.network,
            fleet: None,
        };
        let loaded = script.load()?;
        let parts = ExperimentParts {
            plan: loaded.plan.clone(),
            seed: script.inputs.seed,
            loaded,
            is_demo: path != Path::new(&self.file),
            parameters: script.inputs.parameters.clone(),
            source: RunSource::Script(Box::new(script)),
        };
        self.experiment_of(context, parts)
    }

    /// The load of a k6 script, and the knobs of the file that describes its system.
    fn perform_k6(&self, context: &CommandContext, path: &Path, inputs: Inputs) -> anyhow::Result<Exit> {
        let parameters = inputs.parameters.clone();
        let script = K6Source {
            path,
            shown: &self.file,
            inputs: self.k6.inputs(path, &self.params, self.seed)?,
            system: self.k6.system_of(path),
            system_inputs: inputs,
            workers: self.workers.unwrap_or_else(loadstone_session::cores).max(1),
            tags: &[],
            network: &self.network,
            fleet: None,
        };
        let loaded = script.load_system()?.ok_or_else(|| UsageError(no_knob(TestLanguage::K6)))?;
        let (plan, _) = script.plan()?;
        let source = RunSource::K6(Box::new(script));
        self.experiment_of(context, ExperimentParts { plan, seed: self.seed, loaded, is_demo: false, parameters, source })
    }

    fn experiment_of(&self, context: &CommandContext, parts: ExperimentParts<'_>) -> anyhow::Result<Exit> {
        let secrets = parts.plan.all_secrets();
        self.experiment(context, parts).map_err(|error| exit::hiding(&secrets, error))
    }

    fn experiment(&self, context: &CommandContext, parts: ExperimentParts<'_>) -> anyhow::Result<Exit> {
        let ExperimentParts { source, plan, loaded, seed, is_demo, parameters } = parts;
        let about = self.about(&plan.name)?;
        let knob = self.chosen(plan.language, &loaded.knobs, about.as_ref().map(|(_, finding)| finding))?;
        self.network.limits.check_knob(knob)?;
        if self.put_back {
            experiment::put_back(&loaded, knob)?;
            writeln!(std::io::stderr(), "\"{}\" is restored to {}.", knob.name, knob.values[0].label)?;
            return Ok(Exit::Passed);
        }
        let experiment = ExperimentRun {
            // The demo's shop ends with this process, so there is nothing to restore.
            puts_back: (!is_demo).then(|| self.putting_back(&knob.name, &parameters)),
            source,
            plan,
            seed,
            knob: knob.clone(),
            loaded,
            block_seconds: self.block_seconds()?,
            rounds_max: self.rounds_max()?,
            effect: self.effect()?,
            measure: self.measure()?,
            finding: about.as_ref().map(|(_, finding)| finding.clone()),
            runs: self.folder.runs.clone(),
            quiet: self.quiet,
            watched: self.watched.clone(),
        };
        let ExperimentEnd { experiment, record, failure } = experiment.perform()?;
        if let (Some((run, _)), Some(proof)) = (&about, &experiment.proof) {
            record.add_to_run(run, proof)?;
        }
        self.show(&experiment, record.directory(), context)?;
        match failure {
            Some(failure) if failure.is::<TargetUnreachable>() => {
                writeln!(std::io::stderr(), "error: {failure:#}")?;
                Ok(Exit::Unreachable)
            }
            Some(failure) => Err(failure),
            None => Ok(exit_of(&experiment)),
        }
    }

    fn putting_back(&self, knob: &str, parameters: &[(String, String)]) -> Vec<String> {
        let words = ["experiment", &self.file, "--put-back", "--knob", knob].map(str::to_owned);
        let parameters = parameters.iter().flat_map(|(name, value)| ["-p".to_owned(), format!("{name}={value}")]);
        let of_k6 = self.k6.arguments().into_iter().map(|word| word.to_string_lossy().into_owned());
        words.into_iter().chain(parameters).chain(of_k6).collect()
    }

    /// The parameters of the command line that started the finding's run, unless this command line sets them: the experiment then has the load and target of
    /// that run.
    ///
    /// # Errors
    /// A secret of that run has no value now: its value is not recorded.
    fn recorded_parameters(&self, inputs: &Inputs) -> anyhow::Result<Vec<(String, String)>> {
        if self.finding.is_none() || self.file == DEMO {
            return Ok(Vec::new());
        }
        let directory = flags::find(&self.folder.runs, &self.run)?;
        let run = loadstone_run_directory::Reader::open(&directory).and_then(loadstone_run_directory::Reader::run)?;
        let is_set = |list: &[(String, String)], name: &str| list.iter().any(|(set, _)| set == name);
        let (mut recorded, mut masked) = (Vec::new(), Vec::new());
        for parameter in run.plan.parameters {
            let is_of_command_line = parameter.origin == ParameterOrigin::CommandLine;
            if !is_of_command_line || is_set(&inputs.parameters, &parameter.name) {
                continue;
            }
            // A URL's password is masked in a value that is no secret.
            if parameter.secret || parameter.value.contains(Parameter::MASK) {
                masked.push(parameter.name);
            } else {
                recorded.push((parameter.name, parameter.value));
            }
        }
        let missing = masked.iter().find(|name| !is_set(&inputs.environment, &Parameter::environment_name(name)));
        match missing {
            Some(name) => {
                let why = format!("the run {} does not record the secret in \"{name}\": give it with -p {name}=…", directory.display());
                Err(FlagError::new("finding", why).into())
            }
            None => Ok(recorded),
        }
    }

    /// The finding to verify, and the run that reported it.
    fn about(&self, test: &str) -> anyhow::Result<Option<(PathBuf, Finding)>> {
        let Some(number) = self.finding else { return Ok(None) };
        let directory = flags::find(&self.folder.runs, &self.run)?;
        let mut run = loadstone_run_directory::Reader::open(&directory).and_then(loadstone_run_directory::Reader::run)?;
        if run.plan.name != test {
            let (shown, other) = (directory.display(), &run.plan.name);
            return Err(FlagError::new("run", format!("{shown} is a run of \"{other}\", not of \"{test}\"")).into());
        }
        let mut findings = loadstone_analysis::conclude_in_place(&mut run).verdict.findings.findings;
        if number == 0 || number > findings.len() {
            let count = loadstone_units::counted(findings.len() as u64, "finding");
            return Err(FlagError::new("finding", format!("there is no {number}: the run {} has {count}", directory.display())).into());
        }
        Ok(Some((directory, findings.swap_remove(number - 1))))
    }

    fn chosen<'l>(&self, language: TestLanguage, knobs: &'l [Knob], finding: Option<&Finding>) -> anyhow::Result<&'l Knob> {
        let names = || knobs.iter().map(|knob| format!("\"{}\"", knob.name)).collect::<Vec<_>>().join(", ");
        if knobs.is_empty() {
            return Err(UsageError(no_knob(language)).into());
        }
        if let Some(name) = &self.knob {
            let known: Vec<&str> = knobs.iter().map(|knob| knob.name.as_str()).collect();
            let meant = || loadstone_units::did_you_mean(name, &known);
            let unknown = || FlagError::new("knob", format!("there is no knob \"{name}\"{}; the test has {}", meant(), names()));
            return Ok(knobs.iter().find(|knob| knob.name == *name).ok_or_else(unknown)?);
        }
        if let Some(finding) = finding {
            let named: Vec<&Knob> = knobs.iter().filter(|knob| loadstone_analysis::names_knob(finding, &knob.name)).collect();
            return match named[..] {
                [knob] => Ok(knob),
                _ => {
                    let count = if named.is_empty() { "none" } else { "several" };
                    let (claim, names) = (&finding.claim, names());
                    let why = format!("\"{claim}\" names {count} of the test's knobs ({names}): say which it is about with --knob");
                    Err(FlagError::new("finding", why).into())
                }
            };
        }
        match knobs {
            [knob] => Ok(knob),
            _ => Err(UsageError(format!("the test has several knobs ({}): choose one with --knob", names())).into()),
        }
    }

    fn block_seconds(&self) -> Result<u64, FlagError> {
        let wrong = |why: String| FlagError::new("block", why);
        let ns = loadstone_units::duration::parse(&self.block).map_err(|problem| wrong(problem.to_string()))?;
        let (seconds, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
        if rest > 0 || seconds < 4 {
            return Err(wrong(format!("{} must be a whole number of seconds, at least 4", self.block)));
        }
        Ok(seconds)
    }

    /// Even, because an experiment ends after an even number. With fewer rounds than an interval needs, nothing can be decided.
    fn rounds_max(&self) -> Result<usize, FlagError> {
        match self.rounds.trim().parse::<usize>() {
            Ok(rounds) if (4..=ROUNDS_MAX).contains(&rounds) => Ok(rounds.next_multiple_of(2)),
            _ => Err(FlagError::new("rounds", format!("\"{}\" is no number of rounds from 4 to {ROUNDS_MAX}", self.rounds))),
        }
    }

    fn effect(&self) -> Result<f64, FlagError> {
        let share = loadstone_units::share::parse(&self.effect).map_err(|problem| FlagError::new("effect", problem))?;
        if share > 0.0 && share < 1.0 { Ok(share) } else { Err(FlagError::new("effect", "give a share above 0 % and below 100 %")) }
    }

    fn measure(&self) -> Result<Option<(loadstone_analysis::ComparedMetric, Option<String>)>, FlagError> {
        let Some(text) = &self.measure else { return Ok(None) };
        let known = ["rate", "failures", "mean", "p50", "p95", "p99"];
        // The syntax of --fail-if without `worse by`.
        let gate = gate::parse(&format!("{text} worse")).ok();
        let read = gate.and_then(|gate| Some((gate.metric?, gate.name))).filter(|(metric, _)| known.contains(&metric.name()));
        read.map(Some)
            .ok_or_else(|| FlagError::new("measure", format!("\"{text}\" is none of {}, with `of NAME` for one request", known.join(", "))))
    }

    fn show(&self, experiment: &Experiment, directory: &Path, context: &CommandContext) -> anyhow::Result<()> {
        let mut out = std::io::stdout();
        if self.json {
            out.write_all(loadstone_report::experiment::json(experiment).as_bytes())?;
        } else {
            let style = Style::detect(context.color, out.is_terminal());
            write!(out, "{}\nRecord  {}\n", loadstone_report::experiment::terminal(experiment, &style), short_path(directory))?;
        }
        let markdown = loadstone_report::experiment::markdown(experiment);
        write_if_asked(self.markdown.as_deref(), || markdown.clone())?;
        onto_job_page(&markdown)?;
        write_if_asked(self.html.as_deref(), || loadstone_report::experiment::html(experiment))
    }
}

/// A test from which an experiment takes its load and its knobs.
struct ExperimentParts<'a> {
    source: RunSource<'a>,
    plan: TestPlan,
    /// The file that declares the knobs: the test, or for a k6 script the one that describes its system.
    loaded: Loaded,
    seed: Option<u64>,
    is_demo: bool,
    parameters: Vec<(String, String)>,
}

fn no_knob(language: TestLanguage) -> String {
    let knob = "knob(\"pool\", { values: [5, 10], apply: (size) => ({ command: `…${size}…` }) })";
    match language {
        TestLanguage::Loadstone => format!("the test has no knob: declare one: {knob}; see docs/experiment.md"),
        TestLanguage::K6 => format!(
            "the k6 script has no knob: declare one in a file for --with (or SCRIPT.system.ts next to the script): {knob}; see docs/experiment.md"
        ),
    }
}

fn exit_of(experiment: &Experiment) -> Exit {
    match experiment.stop {
        ExperimentStop::Interrupted => Exit::Interrupted,
        _ if experiment.contrasts.iter().all(|contrast| contrast.verdict != ComparisonVerdict::CannotTell)
            && !experiment.contrasts.is_empty() =>
        {
            Exit::Passed
        }
        _ => Exit::Invalid,
    }
}
