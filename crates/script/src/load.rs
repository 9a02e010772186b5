//! From a test file to a plan: compile, evaluate once, read the declarations.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loadstone_plan::{Secrets, TestPlan};
use loadstone_protocol::http::{HttpOptions, TraceSeed, Versions};
use loadstone_protocol::{AllowedHosts, HostPattern, NetworkOptions, NetworkRoute, ProtocolOptions, SourceRange};
use rquickjs::{Ctx, Exception, Function, Object, Value};
use serde::Deserialize;

use crate::compile;
use crate::data::store::Store;
use crate::error::ScriptError;
use crate::inbound::{DeclaredConsumer, DeclaredStub};
use crate::knobs::Interventions;
use crate::known_verbs::CalledVerb;
use crate::loaded::{Loaded, ProxyRecordChoice};
use crate::module;
use crate::named_hosts;
use crate::natives::{self, unix_path};
use crate::parameters::{self, Declarations, Inputs, Missing, ObserverCheck};
use crate::permissions::FileAccess;
use crate::protocols::grpc::services::Services;
use crate::realm::{Realm, TURN_NS_MAX, World};
use crate::replay::{self, RecordsOfScenarios};
use crate::settings::{Http2Use, Settings};
use crate::stubs::declared::{self, Addresses};
use crate::user::{self, flows, metrics as own_metrics};

/// The result of the module's `describe`.
#[derive(Deserialize)]
struct TestDescription {
    plan: TestPlan,
    settings: Settings,
    interventions: Interventions,
    consumers: Vec<ConsumerDescription>,
    #[serde(default)]
    record: Option<ProxyRecordChoice>,
}

#[derive(Deserialize)]
struct ConsumerDescription {
    kind: String,
    declaration: serde_json::Value,
}

/// Compiles and evaluates a test file and builds its plan.
///
/// # Errors
/// Any problem with the file or the inputs, with its place in the file and a remedy.
pub fn load(path: &Path, inputs: &Inputs) -> Result<Loaded, ScriptError> {
    load_as(ExportKind::Test, path, inputs)
}

/// Compiles and evaluates a file that describes the system for a script of another tool: `export default { observe, thresholds, stubs }`. The
/// plan's load must not run.
///
/// # Errors
/// As for [`load`].
pub fn load_system(path: &Path, inputs: &Inputs) -> Result<Loaded, ScriptError> {
    load_as(ExportKind::System, path, inputs)
}

/// What a file exports.
#[derive(Clone, Copy)]
enum ExportKind {
    Test,
    /// Observers, thresholds and stubs, without load.
    System,
}

impl ExportKind {
    /// The module's function that describes it, and the remedy if there is nothing to describe.
    fn described_by(self) -> (&'static str, &'static str) {
        match self {
            Self::Test => ("describe", "end the file with `export default test({ load: scenario.run(arrivals(10).for(\"1m\")) })`"),
            Self::System => ("describeSystem", "end the file with `export default { observe: [observe.process({ port: 8080 })] }`"),
        }
    }
}

fn load_as(file_kind: ExportKind, path: &Path, inputs: &Inputs) -> Result<Loaded, ScriptError> {
    let (describing, remedy) = file_kind.described_by();
    let program = Arc::new(compile::compile(path, &module::sources(&user::sources()), user::verbs(), &inputs.permissions)?);
    let inputs = Arc::new(inputs.clone());
    let planned = Store::new(inputs.seed.unwrap_or(1), FileAccess::new(&program.folder, &inputs.permissions));
    let world =
        World { program: Arc::clone(&program), folder: program.folder.clone(), store: Arc::clone(&planned), turn_ns_max: TURN_NS_MAX };
    let (realm, scope, (declarations, addresses)) =
        Realm::new(Rc::new(world), Rc::new(|_, _| {}), |ctx, native| install_for_planning(ctx, native, &inputs))?;
    let name = test_name(path);
    let described: Result<Option<String>, ScriptError> = realm.evaluate(|ctx, exported| describe(ctx, describing, exported, &name));
    scope.seal();
    let declared = declarations.take();
    let (mut secrets, file) = (declared.secrets.clone(), path.display());
    let resolved = || {
        // An error of the file takes priority: at that point, later parameters had not been declared.
        let described = described?;
        parameters::check_known(&inputs, &declared.parameters)?;
        declared.check_addresses(&program.checked_later.addresses)?;
        check_verbs(&realm, &program.checked_later.verbs)?;
        let Some(description) = described else {
            return Err(ScriptError::new(format!("{file} exports no test")).help(remedy));
        };
        let TestDescription { mut plan, settings, interventions, consumers, record } = serde_json::from_str(&description)
            .map_err(|error| ScriptError::new(format!("the test is not complete: {error}")).help("check the values in `test(…)`"))?;
        settings.learn_secrets(&mut secrets);
        interventions.learn_secrets(&mut secrets);
        consumers.iter().for_each(|described| secrets.learn_description(&described.declaration));
        let consumers = consumers.into_iter().map(|described| user::consumer(&described.kind, described.declaration));
        let consumers: Vec<DeclaredConsumer> = consumers.collect::<Result<_, _>>().map_err(ScriptError::new)?;
        let of_parameters: Vec<HostPattern> = declared.named_hosts().collect();
        plan.parameters = declared.parameters;
        plan.secrets = secrets.clone();
        plan.options.seed = inputs.seed.unwrap_or(plan.options.seed);
        // A record takes long to read, and a form does not show its numbers.
        let replays = match inputs.missing {
            Missing::Refused => replay::prepare(&mut plan, &program.folder, planned.access(), inputs.permissions.writes)?,
            Missing::StoodIn => RecordsOfScenarios::new(),
        };
        plan.validate().map_err(|error| ScriptError::new(error.to_string()))?;
        for (number, server) in interventions.name_servers.iter().enumerate() {
            server.check().map_err(|problem| ScriptError::new(format!("stub.dns(…) number {}: {problem}", number + 1)))?;
        }
        let stubs = declared::stubs(&plan, &addresses, (&program.folder, planned.access()), &realm.enter(Services::declared))?;
        let redirect_hosts = settings.redirect_hosts()?;
        let named = program.named_hosts().chain(of_parameters).chain(inputs.permissions.net.iter().cloned()).chain(redirect_hosts);
        let of_servers = stubs.iter().map(DeclaredStub::url).chain(interventions.proxies.iter().map(|proxy| proxy.listen.as_str()));
        let targets = settings.targets().chain(plan.target.as_deref());
        let allowed_hosts = AllowedHosts::only(named.chain(of_servers.chain(targets).flat_map(named_hosts::in_value)));
        let network = NetworkOptions { allowed_hosts, ..network_options(&settings, &plan, &program.folder)? };
        Ok((plan, settings, network, stubs, interventions, consumers, replays, record))
    };
    let (plan, settings, network, stubs, interventions, consumers, replays, record) = resolved().map_err(|error| error.hiding(&secrets))?;
    let store = Store::new(plan.options.seed, planned.access().clone());
    Ok(Loaded {
        plan,
        record,
        network,
        program,
        inputs,
        settings,
        knobs: interventions.knobs,
        proxies: interventions.proxies,
        store,
        replays,
        stubs: stubs.into(),
        name_servers: interventions.name_servers,
        consumers,
        warned_unawaited: AtomicBool::new(false),
        data_files: planned.files_read(),
        turn_ns_max: TURN_NS_MAX,
    })
}

/// Rejects calls of verbs that users do not have but whose name is similar to one of theirs. Other names may be properties that the test
/// added.
fn check_verbs(realm: &Realm, called: &[CalledVerb]) -> Result<(), ScriptError> {
    let problem = |verb: &str| {
        realm.enter(|ctx| {
            let misspelt: Function<'_> = ctx.globals().get::<_, Object<'_>>("__loadstone")?.get("misspeltVerb")?;
            misspelt.call::<_, Option<String>>((verb,))
        })
    };
    for CalledVerb { verb, at } in called {
        if let Some(problem) = problem(verb).map_err(|error| ScriptError::new(error.to_string()))? {
            return Err(ScriptError::new(problem).at(at.clone()));
        }
    }
    Ok(())
}

/// The file's name without `.load.ts`.
fn test_name(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("test");
    let stem = [".load.ts", ".load.js", ".ts", ".js", ".mjs"].iter().find_map(|end| name.strip_suffix(end));
    stem.unwrap_or(name).to_owned()
}

fn describe<'js>(ctx: &Ctx<'js>, by: &str, exported: Value<'js>, name: &str) -> rquickjs::Result<Option<String>> {
    let native: Object<'js> = ctx.globals().get("__loadstone")?;
    match native.get::<_, Option<Function<'js>>>(by)? {
        Some(describe) => describe.call((exported, name)),
        None => Ok(None),
    }
}

fn network_options(settings: &Settings, plan: &TestPlan, folder: &Path) -> Result<NetworkOptions, ScriptError> {
    let found = |file: &String| -> PathBuf { folder.join(file) };
    let mut sources = Vec::new();
    for written in &settings.sources {
        let range: SourceRange = written.parse().map_err(|error| ScriptError::new(format!("sources: {error}")))?;
        sources.extend(range.0);
    }
    let route = match (plan.target.as_deref().and_then(unix_path), &settings.proxy) {
        (Some(_), Some(_)) => return Err(ScriptError::new("proxy: a Unix socket is not reached through a proxy; leave one of them out")),
        (Some(path), None) => NetworkRoute::Unix(folder.join(path)),
        (None, Some(proxy)) => proxy.rules()?.into(),
        (None, None) => NetworkRoute::Direct,
    };
    let http = HttpOptions {
        versions: match settings.http2 {
            Http2Use::Off => Versions::Http1,
            Http2Use::Auto => Versions::Http2,
            Http2Use::Only => Versions::Http2Always,
        },
        traces: (settings.traceparent || observes_traces(plan)).then(|| TraceSeed::new(plan.options.seed)),
    };
    Ok(NetworkOptions {
        insecure: settings.insecure,
        roots: settings.roots.iter().map(found).collect(),
        identities: settings.client_certificates.iter().map(|certificate| certificate.identity(folder)).collect(),
        server_name: settings.server_name.clone(),
        full_handshakes: !settings.tls_resumption,
        sources,
        name_servers: settings.name_servers.iter().map(|text| name_server(text)).collect::<Result<_, _>>()?,
        route,
        connections_per_second: settings.connections_per_second,
        protocols: ProtocolOptions::default().with(http),
        ..NetworkOptions::default()
    })
}

/// Spans are matched with requests by the trace id that a request carries.
fn observes_traces(plan: &TestPlan) -> bool {
    plan.observers.iter().any(|observer| observer.get("kind").and_then(serde_json::Value::as_str) == Some("traces"))
}

/// An address, with port 53 if it names none.
fn name_server(text: &str) -> Result<SocketAddr, ScriptError> {
    let with_port = text.parse().or_else(|_| text.parse::<IpAddr>().map(|address| SocketAddr::new(address, 53)));
    with_port.map_err(|_| ScriptError::new(format!("nameServers: \"{text}\" is not an address: write \"10.0.0.53\" or \"127.0.0.1:5353\"")))
}

fn install_for_planning<'js>(ctx: &Ctx<'js>, native: &Object<'js>, inputs: &Arc<Inputs>) -> rquickjs::Result<(Declarations, Addresses)> {
    user::install(ctx, native)?;
    native.set("flow", Function::new(ctx.clone(), |ctx: Ctx<'_>| -> rquickjs::Result<()> { Err(flows::outside(&ctx)) })?)?;
    native.set("metric", Function::new(ctx.clone(), |ctx: Ctx<'_>| -> rquickjs::Result<()> { Err(own_metrics::outside(&ctx)) })?)?;
    let addresses = declared::install_for_planning(ctx, native, &inputs.stub_urls)?;
    if let Some(check) = inputs.check_observer {
        native
            .set("observer", Function::new(ctx.clone(), move |ctx: Ctx<'_>, description: String| observer(&ctx, check, &description))?)?;
    }
    Ok((natives::install(ctx, native, inputs, &Secrets::default())?, addresses))
}

/// Throws the problem of an observer's description.
fn observer(ctx: &Ctx<'_>, check: ObserverCheck, description: &str) -> rquickjs::Result<()> {
    let checked = serde_json::from_str(description).map_err(Into::into).and_then(|description| check(&description));
    checked.map_err(|problem| Exception::throw_message(ctx, &problem.to_string()))
}
