//! From a k6 script to a plan: compile, evaluate once, read its options.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_plan::{DeclaredMetric, Load, LoadProfile, RunOptions, RunRole, ScenarioId, ScenarioRun, TestLanguage, TestPlan};
use loadstone_protocol::http::{HttpOptions, Versions};
use loadstone_protocol::{AllowedHosts, HostPattern, IdentityChoice, NetworkOptions, ProtocolOptions, TlsRemedies};
use loadstone_script::{FileAccess, Program, ScriptError, compile_guest, hosts_in};
use loadstone_secrets::Secrets;
use rquickjs::{Ctx, Object, Value};
use serde_json::Map;

use crate::environment_notes::environment_notes;
use crate::input::K6Inputs;
use crate::modules::{GUEST, NoRemoteModules};
use crate::named_target::named_target;
use crate::options::{self, K6Settings, OptionError, Planned};
use crate::rate_limit::RequestRateLimit;
use crate::realm::K6Realm;
use crate::realm_inputs::{OpenedFiles, RealmInputs};
use crate::test::{K6Test, SET_UP, Shared, TEAR_DOWN};

/// The stack of JavaScript while a script is planned, on the main thread.
const PLANNING_STACK_BYTES: usize = 1 << 20;
/// k6's time limit of connecting. Source: `NewFromBundle` in `internal/js/runner.go` of k6 1.4.
const CONNECT_TIMEOUT_NS: u64 = 30_000_000_000;
/// k6's time limit of a request.
pub(crate) const REQUEST_TIMEOUT_NS: u64 = 60_000_000_000;

/// Why a script cannot be loaded.
#[derive(Debug)]
pub struct LoadError {
    pub error: ScriptError,
    /// An option is wrong, not the code.
    pub is_of_options: bool,
}

impl From<ScriptError> for LoadError {
    fn from(error: ScriptError) -> Self {
        Self { error, is_of_options: false }
    }
}

/// What a script exports.
struct Exports {
    options: Map<String, serde_json::Value>,
    functions: Vec<String>,
}

/// The script, and the files that it may access. k6 has no permissions, and scripts often read `../data/users.json`, so they may also read what is in the
/// working folder and in the repository. A script that another machine sent may not.
fn compiled(path: &Path, inputs: &K6Inputs) -> Result<(Arc<Program>, FileAccess), LoadError> {
    let mut permissions = inputs.permissions.clone();
    if inputs.moved.is_none() {
        permissions.read.extend(std::env::current_dir().ok());
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        permissions.read.extend(absolute.ancestors().skip(1).find(|folder| folder.join(".git").exists()).map(Path::to_path_buf));
    }
    let remote = inputs.remote.as_deref().unwrap_or(&NoRemoteModules);
    let program = Arc::new(compile_guest(path, &GUEST, remote, &permissions)?);
    let access = FileAccess::new(program.folder_path(), &permissions);
    Ok((program, access))
}

/// Compiles and evaluates a k6 script.
///
/// # Errors
/// The script cannot be compiled or evaluated, or has an option that Loadstone does not support.
pub fn load(path: &Path, inputs: &K6Inputs) -> Result<K6Test, LoadError> {
    let (program, access) = compiled(path, inputs)?;
    let variables = Arc::new(inputs.variables.clone());
    let shared = Arc::new(Shared { secret_sources: inputs.secret_sources.clone(), ..Shared::default() });
    let declared = Rc::new(RefCell::new(Vec::new()));
    let opened = Rc::<RefCell<OpenedFiles>>::default();
    let world = RealmInputs {
        program: Arc::clone(&program),
        bytecode: Arc::default(),
        variables: Arc::clone(&variables),
        shared: Arc::clone(&shared),
        options: "{}".into(),
        metrics: None,
        console: Rc::new(|_| {}),
        access: access.clone(),
        id: 0,
        id_in_test: 0,
        declared: Rc::clone(&declared),
        opened: Rc::clone(&opened),
        moved: inputs.moved.clone(),
    };
    let realm = K6Realm::open(world, None, PLANNING_STACK_BYTES)?;
    let exports = realm.enter(|ctx, exports| read(ctx, &exports)).map_err(|error| ScriptError::new(error.to_string()))?;
    let at = |error| option_error(&program, error);
    let options = options::merged(exports.options, &inputs.tiers);
    let settings = K6Settings::read(&options).map_err(at)?;
    let segment = options::Segment::of(&options).map_err(at)?;
    let scenarios = options::scenarios(&options, segment.as_ref()).map_err(at)?;
    check_functions(&program, &scenarios, &exports.functions)?;
    let mut planned = options::thresholds(&options, &declared.borrow()).map_err(at)?;
    let handles_summary = settings.runs_summary && exports.functions.iter().any(|function| function == "handleSummary");
    let summarizes = handles_summary || inputs.exports_summary;
    if summarizes {
        planned.add_summary_metrics(settings.system_tags.contains("expected_response"));
    }
    let runs = |name: &str, wanted: bool| wanted && exports.functions.iter().any(|function| function == name);
    let around = (runs("setup", settings.runs_setup), runs("teardown", settings.runs_teardown));
    let plan = plan(&program, &settings, &scenarios, &planned, around, inputs);
    plan.validate().map_err(|error| ScriptError::new(error.to_string()))?;
    let of_scenarios = scenarios.iter().flat_map(|scenario| scenario.notes.clone());
    let of_environment = environment_notes(&inputs.variables, |name| program.contains_word(name));
    let notes = settings.notes.iter().cloned().chain(of_scenarios).chain(of_environment).collect();
    let metric_numbers: HashMap<String, usize> =
        planned.metrics.iter().enumerate().map(|(number, metric)| (metric.declared.name.clone(), number)).collect();
    let OpenedFiles { paths: opened_files, hosts } = opened.take();
    Ok(K6Test {
        opened_files,
        moved: inputs.moved.clone(),
        rate_limit: RequestRateLimit::per_second(settings.rps),
        network: NetworkOptions { allowed_hosts: allowed_hosts(&program, inputs, hosts), ..network(&settings) },
        notes,
        bytecode: Arc::new(realm.compile()?),
        metrics: planned.metrics,
        sub_metrics: planned.sub_metrics,
        metric_numbers: Arc::new(metric_numbers),
        handles_summary,
        summarizes,
        variables,
        access,
        options: serde_json::Value::Object(options).to_string().into(),
        shared,
        plan,
        program,
        prepares_vus: true,
        planned_vus: options::planned_vus(&scenarios),
        scenarios,
        stripe: segment.map(|segment| segment.stripe().clone()),
        settings,
    })
}

fn option_error(program: &Program, error: OptionError) -> LoadError {
    let place = program.place_of_word(&error.option).or_else(|| program.place_of_word("options"));
    let shown = ScriptError::new(error.message).help(error.help);
    let error = match place {
        Some(place) => shown.at(place),
        None => shown,
    };
    LoadError { error, is_of_options: true }
}

/// Each scenario's function is exported.
fn check_functions(program: &Program, scenarios: &[options::K6Scenario], exported: &[String]) -> Result<(), LoadError> {
    let Some(scenario) = scenarios.iter().find(|scenario| !exported.contains(&scenario.exec)) else { return Ok(()) };
    let error = ScriptError::new(format!("scenario {}: the script exports no function `{}`", scenario.name, scenario.exec));
    let error = error.help(format!("export it, or correct `exec`; the script exports: {}", exported.join(", ")));
    let error = match program.place_of_word(&scenario.exec) {
        Some(place) if scenario.exec != "default" => error.at(place),
        _ => error,
    };
    Err(LoadError { error, is_of_options: true })
}

fn read<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<Exports> {
    let options: Value<'js> = exports.get("options").unwrap_or_else(|_| {
        ctx.catch();
        Value::new_undefined(ctx.clone())
    });
    let options = match ctx.json_stringify(options)? {
        Some(text) => serde_json::from_str(&text.to_string()?).unwrap_or_default(),
        None => Map::new(),
    };
    let mut functions = Vec::new();
    for key in exports.keys::<String>() {
        let key = key?;
        let value: Value<'js> = exports.get(&*key)?;
        if value.is_function() {
            functions.push(key);
        } else if key == "default"
            && let Some(object) = value.as_object()
        {
            // A CommonJS script exports its functions on one object.
            let inner: Value<'js> = object.get("default")?;
            functions.extend(inner.is_function().then_some(key));
        }
    }
    Ok(Exports { options, functions })
}

fn plan(
    program: &Program,
    settings: &K6Settings,
    scenarios: &[options::K6Scenario],
    planned: &Planned,
    (sets_up, tears_down): (bool, bool),
    inputs: &K6Inputs,
) -> TestPlan {
    let mut names: Vec<String> = scenarios.iter().map(|scenario| scenario.name.clone()).collect();
    let mut once = |name: &str, role, graceful_stop_ns| {
        names.push(name.to_owned());
        let run = ScenarioRun::new(ScenarioId(names.len() as u32 - 1), LoadProfile::burst(1));
        ScenarioRun { role, graceful_stop_ns: Some(graceful_stop_ns), ..run }
    };
    let with_work = scenarios.iter().filter(|scenario| scenario.has_work);
    let parallel = Load::Parallel(with_work.map(|scenario| Load::Run(scenario.run.clone())).collect());
    let load = match sets_up {
        true => Load::Sequence(vec![Load::Run(once(SET_UP, RunRole::SetUp, settings.setup_timeout_ns)), parallel]),
        false => parallel,
    };
    let tear_down = tears_down.then(|| once(TEAR_DOWN, RunRole::TearDown, settings.teardown_timeout_ns));
    let path = program.entry_path();
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("test");
    let name = [".js", ".ts", ".mjs"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let defaults = RunOptions::default();
    let metrics: Vec<DeclaredMetric> = planned.metrics.iter().map(|metric| metric.declared.clone()).collect();
    TestPlan {
        tear_down,
        thresholds: planned.thresholds.clone(),
        metrics,
        options: RunOptions { seed: inputs.seed.unwrap_or(defaults.seed), request_timeout_ns: REQUEST_TIMEOUT_NS, ..defaults },
        secrets: secrets(program, inputs),
        named_target: named_target(values_read(program, inputs).map(String::as_str), program.source_files().map(|(_, text)| text)),
        language: TestLanguage::K6,
        ..TestPlan::new(name, names, load)
    }
}

/// Passwords in URLs of the script and of its variables, and the values of `k6/secrets`.
fn secrets(program: &Program, inputs: &K6Inputs) -> Secrets {
    let mut secrets = Secrets::default();
    if let Ok(text) = std::fs::read_to_string(program.entry_path()) {
        secrets.learn_urls(&text);
    }
    for value in inputs.variables.values() {
        secrets.learn_urls(value);
    }
    inputs.secret_sources.iter().flat_map(|source| source.values.values()).for_each(|value| secrets.learn(value));
    secrets
}

/// The values of the variables that the script reads.
fn values_read<'i>(program: &Program, inputs: &'i K6Inputs) -> impl Iterator<Item = &'i String> {
    inputs.variables.iter().filter(|(name, _)| program.contains_word(name)).map(|(_, value)| value)
}

/// The hosts that the script, a variable that it reads, or a file that it opens names, and those that the user permits.
fn allowed_hosts(program: &Program, inputs: &K6Inputs, opened: Vec<HostPattern>) -> AllowedHosts {
    let of_variables = values_read(program, inputs).flat_map(|value| hosts_in(value));
    AllowedHosts::only(program.hosts_in_text().chain(of_variables).chain(opened).chain(inputs.permissions.net.iter().cloned()))
}

fn network(settings: &K6Settings) -> NetworkOptions {
    // k6 negotiates HTTP/2 for https.
    let http = HttpOptions { versions: Versions::Http2, ..HttpOptions::default() };
    NetworkOptions {
        insecure: settings.insecure,
        address_rules: settings.address_rules.clone(),
        resolution: settings.resolution,
        sources: settings.sources.clone(),
        connect_timeout_ns: Some(CONNECT_TIMEOUT_NS),
        tls: settings.tls.clone(),
        identities: settings.identities.clone(),
        identity_choice: IdentityChoice::ByServer,
        protocols: ProtocolOptions::default().with(http),
        tls_remedies: TlsRemedies {
            trust_issuer: "trust its issuer with a root file (--root), or with `cacerts` in the `tls` of a gRPC client",
            set_name: "use a host name of the certificate, or set one with --server-name",
            accept_any: "accept any certificate with the option `insecureSkipTLSVerify: true`",
        },
        ..NetworkOptions::default()
    }
}
