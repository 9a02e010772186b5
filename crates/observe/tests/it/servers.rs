//! Real servers as child processes, on free ports and in separate folders. They end with the test.

use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::free_port::free_port;

/// How long a server may take to come up on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct ServerProcess {
    child: Child,
    pub(crate) port: u16,
    /// Removed after the child has ended.
    folder: TempDir,
}

impl ServerProcess {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it and waits until it has ended; the port is free afterwards. SIGQUIT makes PostgreSQL take its backends down with it,
    /// which SIGKILL would leave running; Redis just dies of it.
    pub(crate) fn kill(&mut self) {
        let Ok(None) = self.child.try_wait() else { return };
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), rustix::process::Signal::QUIT);
        let clock = loadstone_metrics::clock::Monotonic::start();
        while let Ok(None) = self.child.try_wait() {
            if clock.now() > 10_000_000_000 {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until `ready` holds; fails with what the server wrote when it ends or takes too long.
fn await_start(child: &mut Child, log: &Path, ready: impl Fn() -> bool) -> Result<(), String> {
    let clock = loadstone_metrics::clock::Monotonic::start();
    while !ready() {
        let ended = child.try_wait().unwrap();
        if ended.is_some() || clock.now() > START_LIMIT.as_nanos() as u64 {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("the server did not start ({ended:?}):\n{}", std::fs::read_to_string(log).unwrap_or_default()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A port found free may be taken before the server binds it, so a start is tried three times.
fn three_times(start: impl Fn(u16) -> Result<ServerProcess, String>) -> ServerProcess {
    let mut problems = String::new();
    for _ in 0..3 {
        match start(free_port("127.0.0.1")) {
            Ok(server) => return server,
            Err(problem) => problems.push_str(&problem),
        }
    }
    panic!("{problems}");
}

pub(crate) fn redis() -> ServerProcess {
    three_times(|port| redis_on(port, tempfile::tempdir().unwrap()))
}

pub(crate) fn redis_on(port: u16, folder: TempDir) -> Result<ServerProcess, String> {
    let log = folder.path().join("log");
    let mut child = Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"])
        .arg(folder.path())
        .stdout(std::fs::File::create(&log).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server must be installed to run this test");
    // Another server on the same port would answer as well; the process id distinguishes them.
    let answers = |pid: u32| redis_says(port, "INFO server\r\n").contains(&format!("process_id:{pid}\r"));
    let pid = child.id();
    await_start(&mut child, &log, || answers(pid))?;
    Ok(ServerProcess { child, port, folder })
}

/// Starts a server again where another one was.
pub(crate) fn redis_again(mut old: ServerProcess) -> ServerProcess {
    old.kill();
    redis_on(old.port, tempfile::tempdir().unwrap()).unwrap()
}

/// Sends inline commands; returns what came back within a moment.
pub(crate) fn redis_says(port: u16, commands: &str) -> String {
    use std::io::{Read, Write};
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return String::new() };
    let mut text = String::new();
    let _ = stream.write_all(format!("{commands}QUIT\r\n").as_bytes());
    let _ = stream.read_to_string(&mut text);
    text
}

/// The newest PostgreSQL installed.
fn postgres_binaries() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<u32> = folders.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    versions.sort_unstable();
    let newest = versions.last().expect("PostgreSQL must be installed under /usr/lib/postgresql to run this test");
    PathBuf::from(format!("/usr/lib/postgresql/{newest}/bin"))
}

/// A command of PostgreSQL, which refuses to run as root: then as its own user.
fn postgres_command(binary: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(binary);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(binary);
    command
}

pub(crate) fn postgres() -> ServerProcess {
    three_times(postgres_on)
}

fn postgres_on(port: u16) -> Result<ServerProcess, String> {
    let folder = tempfile::tempdir().unwrap();
    if rustix::process::geteuid().is_root() {
        let owner = std::fs::read_to_string("/etc/passwd").unwrap();
        let owner = owner.lines().find(|line| line.starts_with("postgres:")).expect("a user postgres, whom the server may run as");
        let ids: Vec<u32> = owner.split(':').skip(2).take(2).map(|id| id.parse().unwrap()).collect();
        chown(folder.path(), Some(ids[0]), Some(ids[1])).unwrap();
        assert_eq!(std::fs::metadata(folder.path()).unwrap().uid(), ids[0]);
    }
    let (binaries, data) = (postgres_binaries(), folder.path().join("data"));
    let install = postgres_command(&binaries.join("initdb"))
        .args(["--auth=trust", "--username=loadstone", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"])
        .arg(&data)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(install.status.success(), "initdb: {}", String::from_utf8_lossy(&install.stderr));
    let log = folder.path().join("log");
    let output = std::fs::File::create(&log).unwrap();
    let mut command = postgres_command(&binaries.join("postgres"));
    command.arg("-D").arg(&data).args(["-p", &port.to_string()]);
    let settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "shared_preload_libraries=pg_stat_statements"];
    for setting in settings {
        command.args(["-c", setting]);
    }
    let mut child = command.current_dir(folder.path()).stdout(Stdio::null()).stderr(output).spawn().unwrap();
    await_start(&mut child, &log, || {
        let listening = std::fs::read_to_string(&log).unwrap_or_default().contains("ready to accept connections");
        listening && TcpStream::connect(("127.0.0.1", port)).is_ok()
    })?;
    Ok(ServerProcess { child, port, folder })
}

impl ServerProcess {
    pub(crate) fn postgres_url(&self) -> String {
        assert!(self.folder.path().exists());
        format!("postgres://loadstone@127.0.0.1:{}/postgres", self.port)
    }
}

/// With its performance schema instrumenting all waits.
pub(crate) const INSTRUMENTED: &[&str] = &[
    "--performance-schema=ON",
    "--performance-schema-instrument=wait/%=ON",
    "--performance-schema-consumer-events-waits-current=ON",
    "--performance-schema-consumer-events-statements-current=ON",
];

/// A binary log, and both logs flushed for each commit.
pub(crate) const DURABLE: &[&str] = &["--log-bin=changes", "--binlog-format=ROW", "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"];

/// Its user `root` needs no password.
pub(crate) fn mariadb(settings: &[&[&str]]) -> ServerProcess {
    three_times(|port| mariadb_on(port, &settings.concat()))
}

fn mariadb_on(port: u16, settings: &[&str]) -> Result<ServerProcess, String> {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let data_flag = format!("--datadir={}", data.display());
    // It runs as root only with an explicit user.
    let user: &[&str] = if rustix::process::geteuid().is_root() { &["--user=root"] } else { &[] };
    let install = Command::new("mariadb-install-db")
        .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", &data_flag])
        .args(user)
        // Two installations at the same time must not share their temporary tables.
        .env("TMPDIR", folder.path())
        .output()
        .expect("MariaDB (mariadb-server) must be installed to run this test");
    assert!(install.status.success(), "mariadb-install-db: {}", String::from_utf8_lossy(&install.stderr));
    let binary = process_path("mariadbd");
    let mut child = Command::new(binary)
        .args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-buffer-pool-size=32M", &data_flag])
        .arg(format!("--port={port}"))
        .arg(format!("--socket={}", folder.path().join("socket").display()))
        .args(user)
        .args(settings)
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    await_start(&mut child, &log, || {
        let listening = std::fs::read_to_string(&log).unwrap_or_default().contains("ready for connections");
        listening && TcpStream::connect(("127.0.0.1", port)).is_ok()
    })?;
    Ok(ServerProcess { child, port, folder })
}

/// Servers are in folders that not every user's search path has.
fn process_path(name: &str) -> PathBuf {
    let administrators = Path::new("/usr/sbin").join(name);
    if administrators.is_file() { administrators } else { PathBuf::from(name) }
}

impl ServerProcess {
    /// For a user without a password.
    pub(crate) fn mysql_url(&self, user: &str) -> String {
        assert!(self.folder.path().exists());
        format!("mysql://{user}@127.0.0.1:{}", self.port)
    }
}

/// What a server responds to a GET.
pub(crate) fn http_get(port: u16, path: &str) -> String {
    use std::io::{Read, Write};
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return String::new() };
    let mut text = String::new();
    let _ = stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: app\r\n\r\n").as_bytes());
    let _ = stream.read_to_string(&mut text);
    text.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned())
}

/// Waits for something that must happen.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let clock = loadstone_metrics::clock::Monotonic::start();
    while !holds() {
        assert!(clock.now() < START_LIMIT.as_nanos() as u64, "{what}: never seen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The service of `runtimes/app.mjs`.
pub(crate) fn node() -> ServerProcess {
    // Inspectors of several tests must not want the same port.
    node_with(&["--inspect-port=0"])
}

pub(crate) fn node_with(flags: &[&str]) -> ServerProcess {
    three_times(|port| node_on(port, flags))
}

fn node_on(port: u16, flags: &[&str]) -> Result<ServerProcess, String> {
    let folder = tempfile::tempdir().unwrap();
    let (log, fifo) = (folder.path().join("log"), folder.path().join("fifo"));
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut child = Command::new("node")
        .args(flags)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/runtimes/app.mjs"))
        .env("PORT", port.to_string())
        .env("FIFO", &fifo)
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .expect("Node must be installed to run this test");
    await_start(&mut child, &log, || http_get(port, "/").contains("meter"))?;
    Ok(ServerProcess { child, port, folder })
}

/// A program that is called so and only sleeps.
pub(crate) fn called(name: &str) -> Child {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(name);
    std::fs::copy("/bin/sleep", &program).unwrap();
    Command::new(program).arg("600").spawn().unwrap()
}

/// The service of `runtimes/App.java`.
pub(crate) fn java() -> ServerProcess {
    three_times(|port| {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut child = Command::new("java")
            .arg("-XX:+UseSerialGC")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/runtimes/App.java"))
            .arg(port.to_string())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .expect("a JDK must be installed to run this test");
        await_start(&mut child, &log, || TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(ServerProcess { child, port, folder })
    })
}

/// The service of `runtimes/goapp`.
pub(crate) fn go() -> ServerProcess {
    three_times(|port| {
        let folder = tempfile::tempdir().unwrap();
        let (log, program) = (folder.path().join("log"), folder.path().join("app"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/runtimes/goapp");
        let built = Command::new("go").args(["build", "-o"]).arg(&program).arg(".").current_dir(source).output();
        let built = built.expect("Go must be installed to run this test");
        assert!(built.status.success(), "go build: {}", String::from_utf8_lossy(&built.stderr));
        let mut child =
            Command::new(program).arg(port.to_string()).stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
        await_start(&mut child, &log, || TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(ServerProcess { child, port, folder })
    })
}

/// The service of `runtimes/app.c`.
pub(crate) fn c() -> ServerProcess {
    three_times(|port| {
        let folder = tempfile::tempdir().unwrap();
        let (log, program) = (folder.path().join("log"), folder.path().join("app"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/runtimes/app.c");
        let mut compiler = Command::new("cc");
        let frames = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"];
        compiler.args(["-O1", "-pthread"]).args(frames).arg("-o").arg(&program).arg(source);
        let built = compiler.output().expect("a C compiler must be installed to run this test");
        assert!(built.status.success(), "cc: {}", String::from_utf8_lossy(&built.stderr));
        let mut child =
            Command::new(program).arg(port.to_string()).stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
        // A connection would begin its third thread.
        let listens = format!(":{port:04X} 00000000:0000 0A");
        await_start(&mut child, &log, || std::fs::read_to_string("/proc/net/tcp").unwrap_or_default().contains(&listens))?;
        Ok(ServerProcess { child, port, folder })
    })
}

/// The service of `runtimes/app.py`.
pub(crate) fn python() -> ServerProcess {
    three_times(|port| {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        // `cargo xtask setup` installs py-spy next to this Python.
        let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools").join("python/bin/python");
        let mut child = Command::new(tools)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/runtimes/app.py"))
            .arg(port.to_string())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .expect("`cargo xtask setup` must have been run for this test");
        await_start(&mut child, &log, || TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(ServerProcess { child, port, folder })
    })
}
