//! The tools that Loadstone knows: which record each writes, and which arguments make it write there.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use loadstone_metrics::clock::wall_ns;
use loadstone_plan::LoadModel;
use tempfile::TempDir;

use crate::error::WatchError;
use crate::formats;
use crate::k6_options;
use crate::line_source::RecordPlace;
use crate::proxy::spec::{ProxyChoice, TargetScheme};
use crate::record_format::{RecordFormat, RecordParts};
use crate::seconds::origin;
use crate::summaries::{self, SummaryPlace};
use crate::tool_scenarios::ToolScenario;

const LOCUST_PLUGIN: &str = include_str!("plugins/locust.py");
const NODE_PLUGIN: &str = include_str!("plugins/node.cjs");
/// Tools that write no record of single requests.
const WITHOUT_RECORD: [&str; 5] = ["wrk", "wrk2", "ab", "siege", "bombardier"];

/// Where exporters send OTLP unless they are configured otherwise.
pub const OTLP_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4318);

/// What to watch, as the user says it.
#[derive(Debug, Clone, Default)]
pub struct WatchChoices {
    /// The command that generates the load. Empty: none.
    pub command: Vec<String>,
    /// The format of the record. `None`: by the command, or by the file.
    pub record: Option<String>,
    /// The file of the record. `None`: Loadstone makes the command write it to a pipe.
    pub follow: Option<PathBuf>,
    /// Where to receive a record that is sent.
    pub listen: Option<SocketAddr>,
    /// Where to write the certificate of the proxy's authority.
    pub proxy_ca: Option<PathBuf>,
    /// The pattern of an access log.
    pub log_format: Option<String>,
    pub model: Option<LoadModel>,
}

/// A command and its record, ready to start.
pub(crate) struct PreparedTool {
    pub(crate) format: &'static RecordFormat,
    /// At least one.
    pub(crate) scenarios: Vec<ToolScenario>,
    pub(crate) place: RecordPlace,
    /// Exporters send the record to this address, in place of `place`.
    pub(crate) listen: Option<SocketAddr>,
    /// The proxy that records the requests, in place of `place`.
    pub(crate) proxy: Option<ProxyChoice>,
    pub(crate) command: Vec<OsString>,
    pub(crate) environment: Vec<(&'static str, OsString)>,
    /// The command prints its record.
    pub(crate) stdout: Option<PathBuf>,
    /// A second command, which converts the record.
    pub(crate) converter: Vec<OsString>,
    /// The tool's constant number of users, by its arguments.
    pub(crate) users: Option<u64>,
    /// The constant rate at which the tool is to send, by its arguments. Requests per second.
    pub(crate) rate: Option<f64>,
    /// The requests that the tool is to send until its end, by its arguments.
    pub(crate) planned_requests: Option<u64>,
    /// The file in which the tool states its percentiles.
    pub(crate) summary: Option<SummaryPlace>,
    /// Whether the command's output passes through Loadstone, because the tool may print its percentiles.
    pub(crate) reads_output: bool,
    /// Has the pipes. Removed at the end.
    pub(crate) scratch: Option<TempDir>,
}

/// How a known tool is made to write its record.
struct KnownTool {
    format: &'static str,
    /// Whether it is this command: the program's name, then the arguments.
    is: fn(&str, &[String]) -> bool,
    inject: fn(&mut PreparedTool, &Path) -> Result<(), WatchError>,
}

const TOOLS: &[KnownTool] = &[
    KnownTool { format: "k6-json", is: |program, arguments| program == "k6" && has(arguments, "run"), inject: k6 },
    KnownTool { format: "jtl", is: |program, arguments| program.starts_with("jmeter") || is_jmeter_jar(arguments), inject: jmeter },
    KnownTool { format: "locust", is: |program, arguments| program == "locust" || is_locust_module(arguments), inject: locust },
    KnownTool { format: "vegeta-csv", is: |program, arguments| program == "vegeta" && has(arguments, "attack"), inject: vegeta },
    KnownTool { format: "hey-csv", is: |program, _| program == "hey", inject: hey },
    KnownTool { format: "oha-csv", is: |program, _| program == "oha", inject: oha },
    KnownTool { format: "artillery", is: |program, arguments| is_of_node(program, arguments, "artillery"), inject: node },
    KnownTool { format: "autocannon", is: |program, arguments| is_of_node(program, arguments, "autocannon"), inject: autocannon },
];

fn has(arguments: &[String], wanted: &str) -> bool {
    arguments.iter().any(|argument| argument == wanted)
}

fn is_jmeter_jar(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument.ends_with("ApacheJMeter.jar") || argument.ends_with("jmeter.NewDriver"))
}

fn is_locust_module(arguments: &[String]) -> bool {
    arguments.windows(2).any(|pair| pair[0] == "-m" && pair[1] == "locust")
}

/// Whether it is this tool, directly or by npx or Node: `npx artillery run`, `node node_modules/.bin/artillery run`.
fn is_of_node(program: &str, arguments: &[String], tool: &str) -> bool {
    let names_it = |argument: &String| argument == tool || Path::new(argument).file_stem().is_some_and(|name| name == tool);
    program == tool
        || (matches!(program, "npx" | "node") && arguments.iter().find(|argument| !argument.starts_with('-')).is_some_and(names_it))
}

/// Finds the format and the place of the record, and completes the command.
///
/// # Errors
/// [`WatchError`], before anything is started.
pub(crate) fn prepare(choices: &WatchChoices) -> Result<PreparedTool, WatchError> {
    let known = choices.command.split_first().and_then(|(program, arguments)| {
        let name = Path::new(program).file_name().map_or(program.as_str(), |name| name.to_str().unwrap_or(program));
        TOOLS.iter().find(|tool| (tool.is)(name, arguments))
    });
    choices.command.first().map_or(Ok(()), |program| find(program))?;
    let name = match (&choices.record, known, &choices.follow) {
        (Some(name), ..) => name.as_str(),
        (None, Some(tool), None) => tool.format,
        (None, tool, Some(path)) => tool.map(|tool| tool.format).filter(|_| choices.log_format.is_none()).unwrap_or_else(|| by_name(path)),
        (None, None, None) => match choices.command.first() {
            Some(program) if WITHOUT_RECORD.iter().any(|name| Path::new(program).ends_with(name)) => {
                return Err(WatchError::NoRecord { program: program.clone() });
            }
            Some(program) => return Err(WatchError::UnknownTool { program: program.clone() }),
            None => return Err(WatchError::Nothing),
        },
    };
    let of_proxy = name.strip_prefix("proxy").filter(|rest| rest.is_empty() || rest.starts_with(':'));
    let format = formats::find(of_proxy.map_or(name, |_| "proxy"))?;
    if let Some((flag, problem)) = misplaced(choices, format.parts) {
        return Err(WatchError::Command { what: flag.to_owned(), problem: problem.to_owned() });
    }
    let proxy = of_proxy.map(|rest| ProxyChoice::parse(rest, choices.proxy_ca.clone())).transpose()?;
    // A proxy records the load of any tool.
    let model = if proxy.is_some() { model_of(known, choices.command.first()) } else { format.model };
    let mut prepared = PreparedTool::new(format, choices.model.unwrap_or(model), &choices.command);
    prepared.proxy = proxy;
    let is_sent = format.parts == RecordParts::Messages;
    match (&choices.follow, known.filter(|tool| tool.format == name)) {
        (None, _) if prepared.proxy.is_some() => {}
        (None, _) if is_sent => prepared.listen = Some(choices.listen.unwrap_or(OTLP_ADDRESS)),
        (Some(path), _) => prepared.place = place_of(path, format),
        (None, Some(tool)) => {
            let scratch = TempDir::with_prefix("loadstone-watch-").map_err(WatchError::Prepare)?;
            let pipe = scratch.path().join("record");
            make_pipe(&pipe)?;
            prepared.place = RecordPlace::Pipe(pipe.clone());
            prepared.scratch = Some(scratch);
            (tool.inject)(&mut prepared, &pipe)?;
        }
        (None, None) if choices.command.is_empty() => return Err(WatchError::Nothing),
        (None, None) => return Err(WatchError::UnknownTool { program: choices.command[0].clone() }),
    }
    // k6 and Locust state their percentiles elsewhere, and draw on a terminal.
    prepared.reads_output = known.is_none_or(|tool| !matches!(tool.format, "k6-json" | "locust"));
    let is_k6 = known.is_some_and(|tool| tool.format == "k6-json" && format.name == "k6-json");
    if let Some(scenarios) = is_k6.then(|| k6_options::inspect(&choices.command)).flatten() {
        prepared.scenarios = scenarios;
    }
    if let Some(model) = choices.model {
        prepared.scenarios.iter_mut().filter(|scenario| scenario.model != model).for_each(|scenario| {
            // A plan of users says nothing about arrivals.
            (scenario.model, scenario.stages) = (model, Vec::new());
        });
    }
    Ok(prepared)
}

/// How the load of a tool depends on the system. Without a tool, clients arrive by themselves.
fn model_of(known: Option<&KnownTool>, program: Option<&String>) -> LoadModel {
    let is_closed = |program: &String| WITHOUT_RECORD.iter().any(|name| *name != "wrk2" && Path::new(program).ends_with(name));
    let of_known = known.and_then(|tool| formats::find(tool.format).ok()).map(|format| format.model);
    of_known.unwrap_or(if program.is_some_and(is_closed) { LoadModel::Users } else { LoadModel::Arrivals })
}

/// A flag that the format does not use, and what to do.
fn misplaced(choices: &WatchChoices, parts: RecordParts) -> Option<(&'static str, &'static str)> {
    match (parts, &choices.follow, choices.listen) {
        (RecordParts::Proxied, Some(_), _) => Some(("--follow", "the proxy is the record: leave it out, or leave --record out")),
        (RecordParts::Proxied, _, Some(_)) => {
            Some(("--listen", "the address of the proxy is part of --record: `--record proxy:ADDRESS:PORT=URL`"))
        }
        (RecordParts::Proxied, ..) => None,
        _ if choices.proxy_ca.is_some() => Some(("--proxy-ca", "it is for the proxy: add --record proxy:PORT=URL, or leave it out")),
        (RecordParts::Messages, Some(_), _) => {
            Some(("--follow", "spans are sent to Loadstone, not read from a file: leave it out, or set the address with --listen"))
        }
        (RecordParts::Lines | RecordParts::Stream, _, Some(_)) => {
            Some(("--listen", "only --record otlp is sent to Loadstone: add it, or leave --listen out"))
        }
        _ => None,
    }
}

fn place_of(path: &Path, format: &RecordFormat) -> RecordPlace {
    // Gatling creates its folder of results at the first run.
    let will_be_folder = format.name == "gatling" && path.extension().is_none() && !path.exists();
    if path.is_dir() || will_be_folder {
        let since = SystemTime::UNIX_EPOCH + Duration::from_nanos(wall_ns());
        return RecordPlace::NewestIn { folder: path.to_owned(), file: "simulation.log", since };
    }
    if is_compressed(path) {
        return RecordPlace::Compressed(path.to_owned());
    }
    RecordPlace::File { path: path.to_owned(), has_header: format.name == "jtl" }
}

/// Whether it is compressed with gzip, by its name.
fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"))
}

fn by_name(path: &Path) -> &'static str {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
    let name = if is_compressed(path) { &name[..name.len() - ".gz".len()] } else { name };
    match name.rsplit('.').next() {
        Some("jtl") => "jtl",
        _ if name == "simulation.log" || path.is_dir() => "gatling",
        _ => "access-log",
    }
}

/// Finds a program as the system would.
fn find(program: &str) -> Result<(), WatchError> {
    if program.contains('/') {
        return if Path::new(program).is_file() { Ok(()) } else { Err(WatchError::NoProgram { path: program.into() }) };
    }
    let is_on_path = std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()));
    if is_on_path { Ok(()) } else { Err(WatchError::NotOnPath { program: program.to_owned() }) }
}

fn make_pipe(path: &Path) -> Result<(), WatchError> {
    loadstone_platform::files::make_pipe(path).map_err(WatchError::Prepare)
}

impl PreparedTool {
    /// The tool that generates the load, as users name it.
    pub(crate) fn name(&self) -> String {
        let program = self.command.first().filter(|_| self.proxy.is_some()).map(Path::new);
        program.and_then(Path::file_stem).map_or_else(|| self.format.tool.to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// The system, as far as the proxy or the command names it: the only scheme, host and port in its arguments. `None`: unknown.
    pub(crate) fn target(&self) -> Option<String> {
        if let Some(proxy) = &self.proxy {
            return Some(proxy.target.shown.clone());
        }
        let in_option = |argument: &str| argument.split_once('=').and_then(|(_, value)| origin(value));
        let of_argument = |argument: &str| origin(argument).or_else(|| in_option(argument));
        let urls = self.command.iter().skip(1).filter_map(|argument| of_argument(argument.to_str()?));
        let mut origins: Vec<String> = urls.collect();
        origins.dedup();
        origins.pop().filter(|_| origins.is_empty())
    }

    /// What the record does not contain, apart from the schedule.
    pub(crate) fn lacks(&self) -> &'static [&'static str] {
        let is_opaque = self.proxy.as_ref().is_some_and(|proxy| proxy.target.scheme == TargetScheme::Tcp);
        if is_opaque { formats::proxy::OPAQUE_LACKS } else { self.format.lacks }
    }

    /// The command as the user wrote it.
    fn new(format: &'static RecordFormat, model: LoadModel, command: &[String]) -> Self {
        Self {
            format,
            scenarios: vec![ToolScenario::unplanned(format.tool, model)],
            place: RecordPlace::Pipe(PathBuf::new()),
            listen: None,
            proxy: None,
            command: command.iter().map(OsString::from).collect(),
            environment: Vec::new(),
            stdout: None,
            converter: Vec::new(),
            users: None,
            rate: None,
            planned_requests: None,
            summary: None,
            reads_output: true,
            scratch: None,
        }
    }

    /// Inserts arguments after the first argument that is `after`.
    fn insert_after(&mut self, after: &str, arguments: impl IntoIterator<Item = OsString>) {
        let at = self.command.iter().skip(1).position(|argument| argument == after).map_or(self.command.len(), |at| at + 2);
        self.command.splice(at..at, arguments);
    }

    /// The value of an option that the user set: `-l FILE`, `--logfile FILE` or `--logfile=FILE`.
    fn value_of(&self, names: &[&str]) -> Option<(usize, String)> {
        let text = |index: usize| self.command.get(index).and_then(|argument| argument.to_str());
        (1..self.command.len()).find_map(|index| {
            let argument = text(index)?;
            let joined = names.iter().find_map(|name| argument.strip_prefix(name)?.strip_prefix('='));
            match joined {
                Some(value) => Some((index, value.to_owned())),
                None if names.contains(&argument) => Some((index + 1, text(index + 1)?.to_owned())),
                None => None,
            }
        })
    }
}

fn k6(tool: &mut PreparedTool, pipe: &Path) -> Result<(), WatchError> {
    tool.insert_after("run", ["--out".into(), option("json=", pipe)]);
    let own = tool.value_of(&["--summary-export"]).map(|(_, file)| file);
    let summary = match own.or_else(|| std::env::var("K6_SUMMARY_EXPORT").ok().filter(|file| !file.is_empty())) {
        Some(file) => PathBuf::from(file),
        None => {
            let file = pipe.with_file_name("summary.json");
            tool.insert_after("run", [option("--summary-export=", &file)]);
            file
        }
    };
    tool.summary = Some(SummaryPlace::File { path: summary, read: summaries::k6_export });
    Ok(())
}

fn jmeter(tool: &mut PreparedTool, pipe: &Path) -> Result<(), WatchError> {
    match tool.value_of(&["-l", "--logfile"]) {
        Some((_, file)) => tool.place = RecordPlace::File { path: file.into(), has_header: true },
        None => tool.command.extend(["-l".into(), pipe.into()]),
    }
    // The file does not say which percentiles it has.
    let has_usual_percentiles = !tool.command.iter().any(|argument| argument.to_string_lossy().contains("aggregate_rpt_pct"));
    if let Some((_, folder)) = tool.value_of(&["-o", "--reportoutputfolder"]).filter(|_| has_usual_percentiles) {
        let path = Path::new(&folder).join("statistics.json");
        tool.summary = Some(SummaryPlace::File { path, read: summaries::jmeter_dashboard });
    }
    let for_csv: &[_] = &[("output_format", "csv"), ("print_field_names", "true"), ("timestamp_format", "ms")];
    let for_both = [("thread_counts", "true"), ("autoflush", "true"), ("url", "true")];
    let properties = if writes_xml(tool) { &[] } else { for_csv }.iter().chain(&for_both);
    tool.command.extend(properties.map(|(name, value)| format!("-Jjmeter.save.saveservice.{name}={value}").into()));
    tool.command.push("-Jsampleresult.timestamp.start=true".into());
    Ok(())
}

/// Whether the user asks JMeter for XML: by `-J`, or in a file of properties that the command names. `-J` takes precedence, and the last one counts.
fn writes_xml(tool: &PreparedTool) -> bool {
    const NAME: &str = "jmeter.save.saveservice.output_format";
    let value = |line: &str| {
        let value = line.trim().strip_prefix(NAME)?.trim_start().strip_prefix(['=', ':'])?;
        Some(value.trim().eq_ignore_ascii_case("xml"))
    };
    let in_arguments = tool.command.iter().rev().filter_map(|argument| argument.to_str()).find_map(|argument| {
        let property = argument.strip_prefix("-J").or_else(|| argument.strip_prefix("--jmeterproperty=")).unwrap_or(argument);
        value(property)
    });
    let in_files = || {
        let files = [["-q", "--addprop"], ["-p", "--propfile"]].into_iter().filter_map(|names| tool.value_of(&names));
        let texts = files.filter_map(|(_, path)| std::fs::read_to_string(path).ok());
        texts.filter_map(|text| text.lines().rev().find_map(value)).next()
    };
    in_arguments.or_else(in_files).unwrap_or(false)
}

fn locust(tool: &mut PreparedTool, pipe: &Path) -> Result<(), WatchError> {
    let plugin = pipe.with_file_name("loadstone_locust.py");
    std::fs::write(&plugin, LOCUST_PLUGIN).map_err(WatchError::Prepare)?;
    match tool.value_of(&["-f", "--locustfile"]) {
        Some((at, files)) => {
            let prefix = if tool.command[at].to_string_lossy().starts_with("--") { "--locustfile=" } else { "" };
            tool.command[at] = option(&format!("{prefix}{files},"), &plugin);
        }
        None => tool.command.extend(["-f".into(), option("locustfile.py,", &plugin)]),
    }
    tool.environment.push(("LOADSTONE_RECORD", pipe.into()));
    Ok(())
}

fn vegeta(tool: &mut PreparedTool, pipe: &Path) -> Result<(), WatchError> {
    if let Some((_, file)) = tool.value_of(&["-output", "--output"]) {
        return Err(WatchError::Command {
            what: format!("-output {file}"),
            problem: "Loadstone reads vegeta's output itself: leave it out; the results are in the run directory".to_owned(),
        });
    }
    let results = pipe.with_file_name("results");
    make_pipe(&results)?;
    let vegeta = tool.command[0].clone();
    let rate = tool.value_of(&["-rate", "--rate"]).map_or_else(|| "50/1s".to_owned(), |(_, rate)| rate);
    tool.rate = vegeta_rate(&rate);
    tool.planned_requests = tool.rate.zip(tool.value_of(&["-duration", "--duration"])).and_then(|(rate, (_, text))| planned(rate, &text));
    tool.insert_after("attack", ["-output".into(), results.clone().into()]);
    if tool.value_of(&["-max-body", "--max-body"]).is_none() {
        // Bodies would fill the record, and nothing reads them.
        tool.insert_after("attack", ["-max-body".into(), "0".into()]);
    }
    tool.converter = vec![vegeta, "encode".into(), "-to".into(), "csv".into(), "-output".into(), pipe.into(), results.into()];
    Ok(())
}

/// Requests per second of `100`, `100/s` or `6000/1m`. `None`: as fast as possible.
fn vegeta_rate(text: &str) -> Option<f64> {
    let (count, per) = text.split_once('/').unwrap_or((text, "1s"));
    let per = if per.starts_with(|c: char| c.is_ascii_digit()) { per.to_owned() } else { format!("1{per}") };
    let (count, per_ns) = (count.parse::<f64>().ok()?, loadstone_units::duration::parse(&per).ok()?);
    (count > 0.0 && count.is_finite() && per_ns > 0).then(|| count * 1e9 / per_ns as f64)
}

/// Requests of a rate per second over vegeta's `-duration`. `None`: it does not end by itself.
fn planned(rate: f64, duration: &str) -> Option<u64> {
    let duration_ns = loadstone_units::duration::parse(duration).ok()?;
    (duration_ns > 0).then(|| (rate * duration_ns as f64 / 1e9) as u64)
}

fn hey(tool: &mut PreparedTool, pipe: &Path) -> Result<(), WatchError> {
    tool.users = Some(tool.value_of(&["-c"]).and_then(|(_, users)| users.parse().ok()).unwrap_or(50));
    if tool.value_of(&["-o"]).is_none() {
        tool.command.splice(1..1, ["-o".into(), "csv".into()]);
    }
    tool.stdout = Some(pipe.to_owned());
    Ok(())
}

fn oha(tool: &mut PreparedTool, pipe: &Path) -> Result<(), WatchError> {
    for names in [["-o", "--output"], ["--output-format", "--output-format"]] {
        if let Some((_, value)) = tool.value_of(&names) {
            return Err(WatchError::Command {
                what: format!("{} {value}", names[1]),
                problem: "Loadstone reads oha's output itself: leave it out; the results are in the run directory".to_owned(),
            });
        }
    }
    tool.users = Some(tool.value_of(&["-c"]).and_then(|(_, users)| users.parse().ok()).unwrap_or(50));
    tool.command.splice(1..1, ["--no-tui", "--output-format", "csv"].map(OsString::from));
    tool.stdout = Some(pipe.to_owned());
    Ok(())
}

fn autocannon(tool: &mut PreparedTool, pipe: &Path) -> Result<(), WatchError> {
    tool.users = Some(tool.value_of(&["-c", "--connections"]).and_then(|(_, users)| users.parse().ok()).unwrap_or(10));
    node(tool, pipe)
}

fn node(tool: &mut PreparedTool, pipe: &Path) -> Result<(), WatchError> {
    let plugin = pipe.with_file_name("loadstone_node.cjs");
    std::fs::write(&plugin, NODE_PLUGIN).map_err(WatchError::Prepare)?;
    let mut options = std::env::var_os("NODE_OPTIONS").unwrap_or_default();
    options.push(" --require \"");
    options.push(&plugin);
    options.push("\"");
    tool.environment.push(("NODE_OPTIONS", options));
    tool.environment.push(("LOADSTONE_RECORD", pipe.into()));
    Ok(())
}

fn option(prefix: &str, path: &Path) -> OsString {
    let mut text = OsString::from(prefix);
    text.push(path);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_command(command: &[&str], format: &str) -> PreparedTool {
        let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        PreparedTool::new(formats::find(format).unwrap(), LoadModel::Users, &command)
    }

    /// Whether Loadstone makes JMeter write CSV.
    fn forces_csv(command: &[&str]) -> bool {
        let mut tool = with_command(command, "jtl");
        jmeter(&mut tool, Path::new("/pipe")).unwrap();
        assert!(tool.command.contains(&"-Jjmeter.save.saveservice.thread_counts=true".into()));
        tool.command.contains(&"-Jjmeter.save.saveservice.output_format=csv".into())
    }

    #[test]
    fn jmeter_may_write_xml_where_the_user_asks_for_it() {
        const XML: &str = "jmeter.save.saveservice.output_format=xml";
        let (joined, long) = (format!("-J{XML}"), format!("--jmeterproperty={XML}"));
        assert!(forces_csv(&["jmeter", "-n", "-t", "plan.jmx"]));
        assert!(!forces_csv(&["jmeter", "-n", &joined, "-t", "plan.jmx"]));
        assert!(!forces_csv(&["jmeter", "-n", "-t", "plan.jmx", &long]));
        assert!(!forces_csv(&["jmeter", "-n", "-t", "plan.jmx", "-J", XML]));
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("my.properties");
        std::fs::write(&file, "# output\njmeter.save.saveservice.output_format = xml\n").unwrap();
        let file = file.to_str().unwrap();
        assert!(!forces_csv(&["jmeter", "-n", "-q", file, "-t", "plan.jmx"]));
        assert!(forces_csv(&["jmeter", "-n", "-q", file, "-Jjmeter.save.saveservice.output_format=csv"]));
    }

    #[test]
    fn the_system_is_the_only_one_that_the_command_names() {
        let target = |words: &[&str]| with_command(words, "hey-csv").target();
        assert_eq!(target(&["hey", "-c", "5", "http://me:secret@shop:81/a?b=c"]).as_deref(), Some("http://shop:81"));
        assert_eq!(target(&["java", "-Dtarget=https://shop/", "App"]).as_deref(), Some("https://shop"));
        assert_eq!(target(&["locust", "--host", "http://shop", "--x=http://other"]), None);
        assert_eq!(target(&["http://program", "run"]), None);
    }

    #[test]
    fn tools_of_node_are_recognised_by_npx_and_by_their_file() {
        let is = |words: &[&str], tool: &str| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            is_of_node(&words[0], &words[1..], tool)
        };
        assert!(is(&["artillery", "run", "test.yml"], "artillery") && is(&["npx", "--yes", "artillery", "run", "test.yml"], "artillery"));
        assert!(is(&["node", "node_modules/autocannon/autocannon.js", "http://shop/"], "autocannon"));
        assert!(!is(&["npx", "other", "artillery"], "artillery") && !is(&["node", "server.js"], "autocannon"));
    }

    #[test]
    fn oha_prints_its_record_and_may_not_write_it_elsewhere() {
        let mut tool = with_command(&["oha", "-c", "7", "http://shop/"], "oha-csv");
        oha(&mut tool, Path::new("/pipe")).unwrap();
        assert_eq!((tool.users, tool.command.len(), tool.stdout.as_deref()), (Some(7), 7, Some(Path::new("/pipe"))));
        let mut tool = with_command(&["oha", "--output-format", "json", "http://shop/"], "oha-csv");
        assert!(oha(&mut tool, Path::new("/pipe")).unwrap_err().to_string().starts_with("--output-format json: "));
    }

    #[test]
    fn vegeta_rates_are_read_as_vegeta_reads_them() {
        for (text, rate) in
            [("100", Some(100.0)), ("50/1s", Some(50.0)), ("50/s", Some(50.0)), ("6000/1m", Some(100.0)), ("5/100ms", Some(50.0))]
        {
            assert_eq!(vegeta_rate(text), rate, "{text}");
        }
        assert_eq!((vegeta_rate("0"), vegeta_rate("infinity")), (None, None));
    }

    #[test]
    fn the_requests_that_vegeta_plans_are_its_rate_times_its_duration() {
        let planned = |arguments: &[&str]| {
            let folder = TempDir::new().unwrap();
            let mut tool = with_command(&[&["vegeta", "attack"], arguments].concat(), "vegeta-csv");
            vegeta(&mut tool, &folder.path().join("record")).unwrap();
            tool.planned_requests
        };
        assert_eq!(planned(&["-rate", "100", "-duration", "8s"]), Some(800));
        assert_eq!(planned(&["-rate=6000/1m", "-duration=1m30s"]), Some(9_000));
        assert_eq!(planned(&["-duration", "4s"]), Some(200));
        assert_eq!(planned(&["-rate", "100"]), None);
        assert_eq!(planned(&["-rate", "100", "-duration", "0"]), None);
        assert_eq!(planned(&["-rate", "0", "-max-workers", "4", "-duration", "8s"]), None);
    }
}
