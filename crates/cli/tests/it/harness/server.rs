//! Real servers, each started once for all tests on a free port, and ended with the test process.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, set_parent_process_death_signal};

pub(crate) use super::free_port::free_port;
use super::shared_server;

const START_LIMIT: Duration = Duration::from_secs(120);

/// The example shop: Node and PostgreSQL, over TLS.
pub(crate) struct Shop {
    /// `https://localhost:PORT`
    pub(crate) address: String,
    /// PEM file to trust.
    pub(crate) certificate: String,
    /// URL of its database.
    pub(crate) database: String,
}

/// nginx with the files of `examples/nginx`. Returns its address.
pub(crate) fn nginx() -> &'static str {
    static SERVER: OnceLock<String> = OnceLock::new();
    SERVER.get_or_init(|| {
        let mut command = Command::new("node");
        command.arg(examples().join("nginx/start.mjs")).args(["--port", "0"]);
        shared("nginx", command, &["nginx: "]).remove(0)
    })
}

pub(crate) fn shop() -> &'static Shop {
    static SERVER: OnceLock<Shop> = OnceLock::new();
    SERVER.get_or_init(|| {
        let mut command = Command::new("node");
        command.arg(examples().join("shop/start.mjs")).args(["--port", "0", "--tls"]);
        let printed = shared("shop", command, &["shop: ", "database: ", "certificate: "]);
        let [address, database, certificate] = printed.try_into().expect("a value of each");
        Shop { address, certificate, database }
    })
}

/// The Kafka of `crates/observe/tests`, with a topic `orders`. Returns its address.
pub(crate) fn kafka() -> &'static str {
    static SERVER: OnceLock<String> = OnceLock::new();
    SERVER.get_or_init(|| {
        let mut command = Command::new("node");
        command.arg(examples().join("../crates/observe/tests/it/kafka.mjs"));
        start(command, &["kafka: "]).remove(0)
    })
}

/// The webhook lab, without faults.
pub(crate) struct Webhooks {
    pub(crate) payments: String,
    pub(crate) webhooks: String,
}

pub(crate) fn webhooks() -> &'static Webhooks {
    static SERVER: OnceLock<Webhooks> = OnceLock::new();
    SERVER.get_or_init(|| {
        let mut command = Command::new("node");
        command.arg(labs().join("webhooks/start.mjs")).args(["--port", "0"]);
        let mut lines = start(command, &["payments: ", "webhooks: "]);
        let webhooks = lines.remove(1);
        Webhooks { payments: lines.remove(0), webhooks }
    })
}

/// The ticket lab, without faults.
pub(crate) struct Tickets {
    pub(crate) issuing: String,
    pub(crate) validation: String,
    pub(crate) database: String,
}

pub(crate) fn tickets() -> &'static Tickets {
    static SERVER: OnceLock<Tickets> = OnceLock::new();
    SERVER.get_or_init(|| {
        let mut command = Command::new("node");
        command.arg(labs().join("tickets/start.mjs")).args(["--port", "0"]);
        let mut lines = start(command, &["issuing: ", "validation: ", "database: "]);
        let (database, validation) = (lines.remove(2), lines.remove(1));
        Tickets { issuing: lines.remove(0), validation, database }
    })
}

/// A Redis server without persistence. Returns `host:port`.
pub(crate) fn redis() -> &'static str {
    static SERVER: OnceLock<String> = OnceLock::new();
    SERVER.get_or_init(|| {
        let port = free_port("127.0.0.1");
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        start_quietly(command);
        wait_until("redis-server to listen", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        format!("127.0.0.1:{port}")
    })
}

/// A MariaDB server with an empty database. Returns the database's URL.
pub(crate) fn mariadb() -> &'static str {
    static SERVER: OnceLock<String> = OnceLock::new();
    SERVER.get_or_init(|| {
        let port = free_port("127.0.0.1");
        // The server may outlive its folder's owner, so the next one removes it.
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mariadb");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let data = format!("--datadir={}", folder.join("data").display());
        let user: &[&str] = if rustix::process::geteuid().is_root() { &["--user=root"] } else { &[] };
        let installed = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-name-resolve", &data])
            .args(user)
            .env("TMPDIR", &folder)
            .output()
            .expect("MariaDB is missing: `cargo xtask setup` installs it");
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let binary = Path::new("/usr/sbin/mariadbd");
        let mut command = Command::new(if binary.is_file() { binary } else { Path::new("mariadbd") });
        command.args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-buffer-pool-size=32M", &data]);
        command
            .arg(format!("--port={port}"))
            .arg(format!("--socket={}", folder.join("socket").display()))
            .args(user)
            .env("TMPDIR", &folder)
            .current_dir(&folder);
        start_quietly(command);
        wait_until("MariaDB to listen", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        format!("mysql://root@127.0.0.1:{port}/test")
    })
}

/// Node's HTTP/2 server, without TLS, whose response contains the version. Returns its address.
pub(crate) fn http2() -> &'static str {
    static SERVER: OnceLock<String> = OnceLock::new();
    SERVER.get_or_init(|| {
        let mut command = Command::new("node");
        command.args([
            "-e",
            "const server = require('http2').createServer((request, response) => request.on('end', () => response.end(request.httpVersion)).resume()); \
             server.listen(0, '127.0.0.1', () => console.log(`http2: http://127.0.0.1:${server.address().port}`));",
        ]);
        start(command, &["http2: "]).remove(0)
    })
}

/// Node's HTTP server with event streams. Returns its address. `/prices` sends three events and ends, and resumes after the last id. `/broken` cuts its
/// connection. `/once` has one event and accepts no second connection. `/nothing` is not a stream.
pub(crate) fn events() -> &'static str {
    static SERVER: OnceLock<String> = OnceLock::new();
    SERVER.get_or_init(|| {
        let mut command = Command::new("node");
        command.args(["-e", include_str!("events.js")]);
        shared("events", command, &["events: "]).remove(0)
    })
}

/// A shop that requests prices from another service, both with OpenTelemetry's automatic instrumentation. One exports over HTTP, the other over gRPC.
pub(crate) struct Traced {
    pub(crate) address: String,
    /// Address to which both send their spans.
    pub(crate) spans_to: String,
}

pub(crate) fn traced() -> &'static Traced {
    static SERVER: OnceLock<Traced> = OnceLock::new();
    SERVER.get_or_init(|| traced_with(&[]))
}

/// New services with these variables in their environment.
pub(crate) fn traced_with(environment: &[(&str, &str)]) -> Traced {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traced");
    let spans_to = format!("127.0.0.1:{}", free_port("127.0.0.1"));
    let service = |name: &str, protocol: &str, asks: &[&str]| {
        let mut command = Command::new("node");
        command.current_dir(&folder).args(["--require", "@opentelemetry/auto-instrumentations-node/register", "shop.cjs"]).args(asks);
        command.env("OTEL_SERVICE_NAME", name).env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{spans_to}")).env("OTEL_BSP_SCHEDULE_DELAY", "500");
        // Other detectors query the metadata services of cloud providers.
        command
            .env("OTEL_NODE_RESOURCE_DETECTORS", "env,process")
            .env("OTEL_METRICS_EXPORTER", "none")
            .env("OTEL_LOGS_EXPORTER", "none")
            .envs(environment.iter().copied());
        start(command, &["listening: "]).remove(0)
    };
    let prices = service("prices", "grpc", &[]);
    Traced { address: service("shop", "http/protobuf", &[&prices]), spans_to }
}

/// A Python service with three request threads. `/report` occupies one for 100 ms, and `/quick` for 2 ms.
pub(crate) struct ThreeThreads {
    pub(crate) address: String,
    /// Its metrics on the same threads, and on a separate thread.
    pub(crate) metrics: String,
    pub(crate) separate_metrics: String,
}

/// A new one, since a test leaves requests in its queue.
pub(crate) fn three_threads() -> ThreeThreads {
    let mut command = Command::new("python3");
    command.args(["-c", include_str!("three_threads.py")]);
    let [address, separate] = start(command, &["listening: ", "metrics: "]).try_into().expect("a value of each");
    ThreeThreads { metrics: format!("{address}/metrics"), separate_metrics: format!("{separate}/metrics"), address }
}

/// nginx over TLS that requires a client certificate, with the files needed.
pub(crate) struct Guarded {
    /// `https://127.0.0.1:PORT`. Its certificate is for `members.test` only. The response describes the connection.
    pub(crate) address: String,
    /// PEM files: the issuer of both sides' certificates, and a client's certificate and key.
    pub(crate) root: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
}

pub(crate) fn guarded() -> &'static Guarded {
    static SERVER: OnceLock<Guarded> = OnceLock::new();
    SERVER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guarded-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).expect("writing a file of the server");
            path.display().to_string()
        };
        let issuer_key = rcgen::KeyPair::generate().expect("a key");
        let mut issuer = rcgen::CertificateParams::default();
        issuer.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        issuer.distinguished_name.push(rcgen::DnType::CommonName, "Test issuer");
        let root = file("root.pem", &issuer.self_signed(&issuer_key).expect("a certificate").pem());
        let issuer = rcgen::Issuer::new(issuer, issuer_key);
        let signed = |name: &str| {
            let key = rcgen::KeyPair::generate().expect("a key");
            let mut parameters = rcgen::CertificateParams::new(vec![name.to_owned()]).expect("a name");
            parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
            let certificate = parameters.signed_by(&key, &issuer).expect("a certificate");
            (file(&format!("{name}.pem"), &certificate.pem()), file(&format!("{name}.key"), &key.serialize_pem()))
        };
        let (own, own_key) = signed("members.test");
        let (certificate, key) = signed("visitor.test");
        let (port, place) = (free_port("127.0.0.1"), folder.display());
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|name| format!("{name}_temp_path {place}/{name};")).join(" ");
        let user = if rustix::process::getuid().is_root() { "user root;" } else { "" };
        let configuration = format!(
            "daemon off; {user} pid {place}/pid; events {{ worker_connections 200; }}\n\
             http {{ access_log off; {temporary}\n\
             server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {own}; ssl_certificate_key {own_key};\n\
             ssl_client_certificate {root}; ssl_verify_client on; ssl_session_cache shared:sessions:1m;\n\
             location / {{ return 200 '{{\"client\":\"$ssl_client_s_dn\",\"reused\":\"$ssl_session_reused\",\"name\":\"$ssl_server_name\"}}'; }} }} }}\n"
        );
        let mut command = Command::new("/usr/sbin/nginx");
        command.args(["-p", &place.to_string(), "-c", &file("nginx.conf", &configuration), "-e", "stderr"]).stderr(Stdio::inherit());
        start_quietly(command);
        wait_until("nginx to listen", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Guarded { address: format!("https://127.0.0.1:{port}"), root, certificate, key }
    })
}

/// A third-party echo server. Returns its address.
pub(crate) fn httpbin() -> &'static str {
    static SERVER: OnceLock<String> = OnceLock::new();
    SERVER.get_or_init(|| httpbin_at("127.0.0.1"))
}

/// The same on IPv6. `None` on a machine without IPv6.
pub(crate) fn httpbin_ipv6() -> Option<&'static str> {
    static SERVER: OnceLock<Option<String>> = OnceLock::new();
    let start = || std::net::TcpListener::bind("[::1]:0").is_ok().then(|| httpbin_at("::1"));
    SERVER.get_or_init(start).as_deref()
}

fn httpbin_at(host: &str) -> String {
    // go-httpbin takes a port and does not print which one it uses.
    let prepare = |folder: &Path| {
        let port = free_port(host);
        std::fs::write(folder.join("port"), port.to_string()).expect("writing the server's port");
        let mut command = Command::new(tools().join("go-httpbin"));
        command.args(["-host", host, "-port", &port.to_string(), "-max-duration", "60s"]);
        command
    };
    let port = |folder: &Path| std::fs::read_to_string(folder.join("port")).ok().and_then(|port| port.parse::<u16>().ok());
    let answers = |folder: &Path| port(folder).is_some_and(|port| std::net::TcpStream::connect((host, port)).is_ok());
    let name = if host.contains(':') { "httpbin-ipv6" } else { "httpbin" };
    let server = shared_server::join(name, prepare, answers);
    let port = port(&server).expect("the server's port");
    if host.contains(':') { format!("http://[{host}]:{port}") } else { format!("http://{host}:{port}") }
}

/// Polls for an effect of another process.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    const STEP: Duration = Duration::from_millis(20);
    for _ in 0..START_LIMIT.as_millis() / STEP.as_millis() {
        if holds() {
            return;
        }
        thread::sleep(STEP);
    }
    panic!("waited {START_LIMIT:?} for {what}");
}

pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().expect("the examples are next to the crates")
}

pub(crate) fn labs() -> PathBuf {
    examples().with_file_name("labs")
}

/// Folder where `cargo xtask setup` installs programs: `tools` in the target folder.
fn tools() -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    scratch.parent().expect("a folder of the target folder").join("tools")
}

/// Joins or starts a server that all test processes share. Returns what it printed after each of these prefixes.
fn shared(name: &str, command: Command, beginnings: &[&str]) -> Vec<String> {
    let values = |folder: &Path| -> Option<Vec<String>> {
        let output = std::fs::read_to_string(folder.join("output")).ok()?;
        let complete = &output[..output.rfind('\n')? + 1];
        let value = |beginning: &&str| complete.lines().rev().find_map(|line| line.strip_prefix(*beginning)).map(str::to_owned);
        beginnings.iter().map(value).collect()
    };
    let program = |_: &Path| {
        let mut again = Command::new(command.get_program());
        again.args(command.get_args());
        again
    };
    let folder = shared_server::join(name, program, |folder| values(folder).is_some());
    values(&folder).expect("the lines that were there when it was ready")
}

/// Starts a server and waits for lines with these prefixes. Returns the rest of each line.
fn start(mut command: Command, beginnings: &[&str]) -> Vec<String> {
    command.stdout(Stdio::piped());
    let described = format!("{command:?}");
    let stdout = keep(command);
    let beginnings: Vec<String> = beginnings.iter().map(ToString::to_string).collect();
    let (found, wait) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut lines = BufReader::new(stdout.expect("asked for as a pipe")).lines().map_while(Result::ok);
        let mut values = vec![None; beginnings.len()];
        while values.iter().any(Option::is_none) {
            let Some(line) = lines.next() else { return };
            for (value, beginning) in values.iter_mut().zip(&beginnings) {
                *value = line.strip_prefix(beginning.as_str()).map(str::to_owned).or(value.take());
            }
        }
        let _test_is_gone = found.send(values.into_iter().flatten().collect());
        // Continue reading, or the server would block on a full pipe.
        lines.for_each(drop);
    });
    wait.recv_timeout(START_LIMIT).unwrap_or_else(|_| panic!("{described} did not start; `cargo xtask setup` installs what it needs"))
}

fn start_quietly(mut command: Command) {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    keep(command);
}

/// Starts a child that ends with this process, however this process ends.
///
/// The kernel sends the signal when the *thread* that started the child ends. Tests run in short-lived threads, so one permanent thread starts all servers.
fn keep(mut command: Command) -> Option<std::process::ChildStdout> {
    type Job = (Command, mpsc::SyncSender<Option<std::process::ChildStdout>>);
    static KEEPER: OnceLock<mpsc::SyncSender<Job>> = OnceLock::new();
    // SAFETY: only one system call runs between fork and exec, and it allocates nothing.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?)) };
    // Some servers end with their standard input, which the keeper holds open.
    command.stdin(Stdio::piped()).process_group(0);
    let keeper = KEEPER.get_or_init(|| {
        let (jobs, inbox) = mpsc::sync_channel::<Job>(8);
        thread::spawn(move || {
            let mut children = Vec::new();
            for (mut command, reply) in inbox {
                let mut child = command.spawn().unwrap_or_else(|error| {
                    panic!("{command:?} does not start ({error}); `cargo xtask setup` installs what the tests need")
                });
                let _asker_is_gone = reply.send(child.stdout.take());
                children.push(child);
            }
        });
        jobs
    });
    let (reply, answer) = mpsc::sync_channel(1);
    keeper.send((command, reply)).expect("the keeper stays");
    answer.recv().expect("the server starts")
}
