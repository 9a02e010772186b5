//! `loadstone capacity`: how much load can the system take?

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use loadstone_analysis::{Capacity, CapacitySettings, LoadUnit};
use loadstone_plan::{Aggregate, Threshold};
use loadstone_report::terminal::Style;
use loadstone_script::Inputs;
use loadstone_stub::demo::{DemoOptions, DemoShop};

use super::demo::TEST as DEMO_TEST;
use super::run::UrlArgs;
use crate::argument;
use crate::capacity::{CapacityRequest, CapacitySearch, TestLoad};
use crate::command_run::check_network;
use crate::comparison::ConcludedRun;
use crate::conclusion_files::{onto_job_page, short_path, write_if_asked};
use crate::context::CommandContext;
use crate::exit::{Exit, FlagError, UsageError};
use crate::flags::{self, K6ScriptArgs, NetworkArgs, ObserverArgs, ParameterArgs, RunsFolderArgs, observers_of};
use crate::k6_source::K6Source;
use crate::objective;
use crate::scratch::scratch_folder;
use crate::script_run::ScriptRun;
use crate::series::RunSource;
use crate::url_run::UrlRun;
use crate::watched::WatchedArgs;

/// Maximum load as a multiple of the test's own load, unless `--most` is set.
const LOAD_FACTOR_MAX: f64 = 64.0;
/// Multiple of the minimum sample count of a percentile from which its interval has two ends.
const PERCENTILE_SAMPLES_FACTOR: f64 = 3.0;
/// Minimum length of the ramp that looks for the cause, and the budget from which there is one, as a multiple of its length.
const RAMP_SECONDS_MIN: f64 = 30.0;
const BUDGET_RAMPS_MIN: f64 = 4.0;
/// Length of a bracketing probe as a share of a full probe.
const LADDER_PROBE_SHARE: f64 = 0.4;

/// Flags that have no effect where no load is generated.
const SEARCH_FLAGS: [&str; 15] = [
    "what",
    "objectives",
    "params",
    "variables",
    "system",
    "first",
    "most",
    "precision",
    "probe",
    "pause",
    "budget",
    "resume",
    "workers",
    "seed",
    "tags",
];

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loadstone capacity shop.load.ts --objective 'p99 < 300ms'
  loadstone capacity script.js -e BASE_URL=http://127.0.0.1:8080 --objective 'p99 < 300ms'    # a k6 script
  loadstone capacity http://127.0.0.1:8080/ --rate 50 --objective 'p99 < 300ms' --objective 'failures < 1%'
  loadstone capacity --of-run latest --html capacity.html
  loadstone capacity demo")]
pub(crate) struct CapacityArgs {
    /// A test (*.load.ts), a k6 script, a URL, or `demo` for the built-in shop.
    #[arg(value_name = "FILE|URL|demo", required_unless_present = "of_run")]
    what: Option<String>,
    /// Analyze a finished run with a rising load instead of searching: what was its highest throughput?
    #[arg(long, value_name = "RUN", conflicts_with_all = SEARCH_FLAGS)]
    of_run: Option<String>,
    /// Objective: 'p99 < 300ms', 'p95 of Buy < 200ms', 'mean < 1s', 'failures < 1%'. Can be repeated.  [default: the test's thresholds]
    #[arg(long = "objective", value_name = "OBJECTIVE")]
    objectives: Vec<String>,
    #[command(flatten)]
    params: ParameterArgs,
    #[command(flatten)]
    k6: K6ScriptArgs,
    /// Load of the first probe: arrivals per second or users, summed over all scenarios.  [default: a quarter of the test's]
    #[arg(long, value_name = "LOAD")]
    first: Option<String>,
    /// Highest load to try.  [default: 64 times the test's]
    #[arg(long, value_name = "LOAD")]
    most: Option<String>,
    /// Target precision: half the width of the 95 % interval, relative.
    #[arg(long, value_name = "SHARE", default_value = "3%")]
    precision: String,
    /// Length of a probe, of which a sixth is warm-up. Probes that only bracket the answer are shorter, probes at a low rate are longer.  [default: 1m]
    #[arg(long, value_name = "DURATION")]
    probe: Option<String>,
    /// Pause between probes. After an overload, the time that the system needs to drain is added.  [default: 5s]
    #[arg(long, value_name = "DURATION")]
    pause: Option<String>,
    /// Time limit of the search. It ends earlier once the answer is precise enough.  [default: 20m]
    #[arg(long, value_name = "DURATION")]
    budget: Option<String>,
    /// Resume the newest search of this test, which was interrupted or ran out of time.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    url: UrlArgs,
    #[command(flatten)]
    observers: ObserverArgs,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    folder: RunsFolderArgs,
    /// Threads that generate the load.  [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    workers: Option<u32>,
    /// Seed of all random draws; overrides the test's.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Label the runs. Can be repeated.
    #[arg(long = "tag", value_name = "TEXT")]
    tags: Vec<String>,
    /// Print only the answer, no progress.
    #[arg(short, long)]
    quiet: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Also write the answer as Markdown to this file. GITHUB_STEP_SUMMARY is honoured.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Also write the answer as an HTML page to this file, with the probes as a ladder or the segments of the ramp.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    watched: WatchedArgs,
}

impl CapacityArgs {
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        argument::check_files(&self.folder.runs, &[("--markdown", self.markdown.as_deref()), ("--html", self.html.as_deref())])?;
        if let Some(run) = &self.of_run {
            return self.of_ramp(run, context);
        }
        let what = self.what.as_deref().unwrap_or_default();
        if what == "demo" {
            return self.demo(context);
        }
        let source = if what.contains("://") {
            self.of_url(what)?
        } else {
            argument::check_test(Path::new(what))?;
            if let Some(flag) = self.url.first_set() {
                return Err(UsageError(format!("{flag} is for a URL without a script; {what} defines its own load")).into());
            }
            if let Some(flag) = self.observers.first_set() {
                return Err(
                    UsageError(format!("{flag} is for a URL without a script; {what} names its observers in `observe: [ … ]`")).into()
                );
            }
            if loadstone_k6::is_k6_script(Path::new(what)) {
                self.of_k6(Path::new(what), what)?
            } else {
                self.k6.check_unused(what)?;
                self.of_script(Path::new(what), what, Inputs { seed: self.seed, ..self.params.inputs()? })
            }
        };
        self.search(source, &SearchPace::USUAL, context)
    }

    /// Checks whether a search is possible with this test.
    pub(crate) fn check(&self, plan: &loadstone_plan::TestPlan) -> anyhow::Result<()> {
        let objectives = self.objectives(&plan.thresholds)?;
        self.settings(&TestLoad::of(plan)?, &objectives, &SearchPace::USUAL)?;
        Ok(())
    }

    fn of_url(&self, what: &str) -> anyhow::Result<RunSource<'_>> {
        if let Some(flag) = self.url.length_flag_set() {
            return Err(UsageError(format!("{flag}: a search decides how long its probes last, see --probe and --budget")).into());
        }
        let request = self.url.request(what)?;
        let mut plan = self.url.plan(&request, self.seed.unwrap_or(1))?;
        self.observers.apply(&mut plan);
        observers_of(&plan)?;
        Ok(RunSource::Url(Box::new(UrlRun { request, plan, workers: self.workers(), network: &self.network })))
    }

    fn of_script<'a>(&'a self, path: &'a Path, shown: &'a str, inputs: Inputs) -> RunSource<'a> {
        RunSource::Script(Box::new(ScriptRun {
            path,
            shown,
            inputs,
            workers: self.workers(),
            tags: &[],
            network: &self.network,
            fleet: None,
        }))
    }

    fn of_k6<'a>(&'a self, path: &'a Path, shown: &'a str) -> anyhow::Result<RunSource<'a>> {
        Ok(RunSource::K6(Box::new(K6Source {
            path,
            shown,
            inputs: self.k6.inputs(path, &self.params, self.seed)?,
            system: self.k6.system_of(path),
            system_inputs: self.params.inputs()?,
            workers: self.workers(),
            tags: &[],
            network: &self.network,
            fleet: None,
        })))
    }

    fn workers(&self) -> u32 {
        self.workers.unwrap_or_else(loadstone_session::cores).max(1)
    }

    /// The analysis of a finished run.
    fn of_ramp(&self, run: &str, context: &CommandContext) -> anyhow::Result<Exit> {
        let of_load = self.url.first_set().map(str::to_owned).or(self.observers.first_set());
        if let Some(flag) = of_load {
            return Err(UsageError(format!("{flag} has no effect with --of-run, which generates no load")).into());
        }
        let run = ConcludedRun::read(&flags::find(&self.folder.runs, run)?)?;
        let (estimate, summary) = run.as_ramp();
        let mut out = std::io::stdout();
        let text = if self.json {
            loadstone_report::capacity::ramp_json(&estimate)
        } else {
            loadstone_report::capacity::ramp(&estimate, summary, &Style::detect(context.color, out.is_terminal()))
        };
        out.write_all(text.as_bytes())?;
        self.write_files(&loadstone_report::capacity::ramp_markdown(&estimate, summary), || {
            loadstone_report::capacity::ramp_html(&estimate, summary)
        })?;
        Ok(Exit::Passed)
    }

    /// Runs the search on the built-in shop, in two minutes.
    fn demo(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        let shop = DemoShop::start(DemoOptions::default()).context("cannot start the demo shop")?;
        let folder = scratch_folder()?;
        let file = folder.path().join("demo.load.ts");
        std::fs::write(&file, DEMO_TEST).with_context(|| format!("cannot write {}", file.display()))?;
        let parameters = vec![("target".to_owned(), shop.url())];
        let inputs = Inputs { parameters, check_observer: Some(loadstone_session::check_observer), ..Inputs::default() };
        self.search(self.of_script(&file, "demo.load.ts", inputs), &SearchPace::DEMO, context)
    }

    fn search(&self, source: RunSource<'_>, pace: &SearchPace, context: &CommandContext) -> anyhow::Result<Exit> {
        let (plan, script) = source.plan()?;
        let load = TestLoad::of(&plan)?;
        let objectives = self.objectives(&plan.thresholds)?;
        let mut settings = self.settings(&load, &objectives, pace)?;
        let ramp_seconds = ramp_seconds(&settings);
        settings.budget_seconds -= ramp_seconds;
        let mut options = loadstone_protocol::NetworkOptions::default();
        self.network.apply(&mut options, plan.options.seed);
        check_network(&options)?;
        let request = CapacityRequest {
            source,
            objectives,
            settings,
            load,
            ramp_seconds,
            test: plan.name.clone(),
            script,
            tags: self.tags.clone(),
            runs: self.folder.runs.clone(),
            quiet: self.quiet,
            color: context.color,
            watched: self.watched.clone(),
        };
        let mut search = if self.resume { CapacitySearch::resume(request)? } else { CapacitySearch::begin(request)? };
        let (capacity, exit) = search.run()?;
        self.show(&capacity, search.folder(), context)?;
        Ok(exit)
    }

    fn show(&self, capacity: &Capacity, folder: &Path, context: &CommandContext) -> anyhow::Result<()> {
        let mut out = std::io::stdout();
        let text = if self.json {
            loadstone_report::capacity::json(capacity)
        } else {
            let style = Style::detect(context.color, out.is_terminal());
            format!("\n{}", loadstone_report::capacity::terminal(capacity, &short_path(folder), &style))
        };
        out.write_all(text.as_bytes())?;
        self.write_files(&loadstone_report::capacity::markdown(capacity), || loadstone_report::capacity::html(capacity))
    }

    /// Writes the files that flags and the environment request.
    fn write_files(&self, markdown: &str, html: impl FnOnce() -> String) -> anyhow::Result<()> {
        write_if_asked(self.markdown.as_deref(), || markdown.to_owned())?;
        write_if_asked(self.html.as_deref(), html)?;
        onto_job_page(markdown)
    }

    /// The objectives from the flags, or else those thresholds of the test that a search can use.
    fn objectives(&self, of_test: &[Threshold]) -> Result<Vec<Threshold>, FlagError> {
        let refused = |threshold: &Threshold| loadstone_analysis::objective_problem(threshold);
        if self.objectives.is_empty() {
            let usable: Vec<Threshold> = of_test.iter().filter(|threshold| refused(threshold).is_none()).cloned().collect();
            let none = || {
                FlagError::new(
                    "objective",
                    "there is no objective: the test has no threshold on times or failures; give one, such as 'p99 < 300ms'",
                )
            };
            return if usable.is_empty() { Err(none()) } else { Ok(usable) };
        }
        let read = |text: &String| {
            let threshold = objective::parse("objective", text)?;
            match refused(&threshold) {
                Some(problem) => Err(FlagError::new("objective", format!("'{text}': {problem}"))),
                None => Ok(threshold),
            }
        };
        self.objectives.iter().map(read).collect()
    }

    /// The highest load that the limits of the command line allow.
    fn limited(&self, unit: LoadUnit, most: f64) -> f64 {
        let limits = &self.network.limits;
        let limit = match unit {
            LoadUnit::Arrivals => limits.rate(),
            LoadUnit::Users => limits.users().map(|users| users as f64),
            LoadUnit::Times => None,
        };
        limit.map_or(most, |limit| most.min(limit))
    }

    fn settings(&self, load: &TestLoad, objectives: &[Threshold], pace: &SearchPace) -> Result<CapacitySettings, FlagError> {
        let level = |flag: &'static str, text: &Option<String>, default: f64| match text {
            None => Ok(default),
            Some(text) => {
                let read = if load.unit == LoadUnit::Arrivals {
                    loadstone_units::rate::parse(text).map_err(|error| error.to_string())
                } else {
                    text.trim().parse::<f64>().map_err(|_| format!("\"{text}\" is not a number"))
                };
                match read {
                    Ok(level) if level > 0.0 && level.is_finite() => Ok(level),
                    Ok(_) => Err(FlagError::new(flag, "must be above 0")),
                    Err(problem) => Err(FlagError::new(flag, problem)),
                }
            }
        };
        let seconds = |flag: &'static str, text: &Option<String>, default: f64| match text {
            None => Ok(default),
            Some(text) => loadstone_units::duration::parse(text).map(|ns| ns as f64 / 1e9).map_err(|problem| FlagError::new(flag, problem)),
        };
        let precision = loadstone_units::share::parse(&self.precision).map_err(|problem| FlagError::new("precision", problem))?;
        if !(0.001..=0.5).contains(&precision) {
            return Err(FlagError::new("precision", "give a share from 0.1 % to 50 %"));
        }
        let probe_seconds = seconds("probe", &self.probe, pace.probe_seconds)?;
        if probe_seconds < 6.0 {
            return Err(FlagError::new("probe", "a probe needs at least 6s, of which one is warm-up"));
        }
        let first = load.unit.rounded(level("first", &self.first, load.level / 4.0)?);
        let needed = |threshold: &Threshold| match threshold.aggregate {
            Aggregate::Quantile(quantile) => PERCENTILE_SAMPLES_FACTOR * loadstone_analysis::samples_needed(quantile) as f64,
            _ => 0.0,
        };
        let ladder_seconds = (probe_seconds * LADDER_PROBE_SHARE).max(6.0).round();
        let budget_seconds = seconds("budget", &self.budget, pace.budget_seconds)?;
        if budget_seconds < ladder_seconds {
            let (budget, ladder) = (loadstone_units::seconds(budget_seconds), loadstone_units::seconds(ladder_seconds));
            let why = format!("{budget} is shorter than the first probe, {ladder}: increase it, or shorten the probes");
            return Err(FlagError::new("budget", why));
        }
        Ok(CapacitySettings {
            unit: load.unit,
            first,
            most: self.limited(load.unit, level("most", &self.most, load.level * LOAD_FACTOR_MAX)?.max(first)),
            precision: if self.precision == DEFAULT_PRECISION { pace.precision } else { precision },
            ladder_seconds,
            probe_seconds,
            arrivals_needed: objectives.iter().map(needed).fold(0.0, f64::max),
            pause_seconds: seconds("pause", &self.pause, pace.pause_seconds)?,
            budget_seconds,
        })
    }
}

/// The part of the budget that is reserved for a ramp. A short budget has none.
fn ramp_seconds(settings: &CapacitySettings) -> f64 {
    let seconds = settings.probe_seconds.max(RAMP_SECONDS_MIN);
    if settings.budget_seconds >= seconds * BUDGET_RAMPS_MIN { seconds } else { 0.0 }
}

const DEFAULT_PRECISION: &str = "3%";

/// Time limit of a search without flags.
struct SearchPace {
    probe_seconds: f64,
    pause_seconds: f64,
    budget_seconds: f64,
    precision: f64,
}

impl SearchPace {
    const USUAL: Self = Self { probe_seconds: 60.0, pause_seconds: 5.0, budget_seconds: 1_200.0, precision: 0.03 };
    const DEMO: Self = Self { probe_seconds: 12.0, pause_seconds: 1.0, budget_seconds: 120.0, precision: 0.05 };
}
