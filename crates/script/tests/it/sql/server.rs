//! A PostgreSQL server for tests, on a free port and with a new database: one that all tests share, or one per test.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use tempfile::TempDir;

use crate::shared_server;

const START_LIMIT_NS: u64 = 60_000_000_000;

/// The users, and how they log in. `tls` requires TLS.
const USERS: &str = "\
host all loadstone 127.0.0.1/32 trust
host all app 127.0.0.1/32 scram-sha-256
host all digest 127.0.0.1/32 md5
host all plain 127.0.0.1/32 password
hostssl all secured 127.0.0.1/32 scram-sha-256
";

pub(crate) struct Postgres {
    /// `None` for the shared server, which is not a child of this process.
    process: Option<Child>,
    pub(crate) port: u16,
    folder: PathBuf,
    _temporary: Option<TempDir>,
}

impl Postgres {
    /// The server that all tests share.
    pub(crate) fn shared() -> &'static Self {
        static SERVER: OnceLock<Postgres> = OnceLock::new();
        SERVER.get_or_init(|| {
            let folder = shared_server::join("postgres", prepare, |folder| is_ready(folder, "errors"));
            Self { process: None, port: port(&folder), folder, _temporary: None }
        })
    }

    pub(crate) fn start() -> Self {
        let mut tries = (0..3).map(|_| Self::try_start());
        tries.find_map(Result::ok).unwrap_or_else(|| panic!("PostgreSQL did not start: `cargo xtask setup` installs it"))
    }

    fn try_start() -> Result<Self, String> {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().to_path_buf();
        let output = fs::File::create(folder.join("log")).unwrap();
        let process = prepare(&folder).current_dir(&folder).stdout(Stdio::null()).stderr(output).spawn().unwrap();
        let port = port(&folder);
        let mut server = Self { process: Some(process), port, folder, _temporary: Some(temporary) };
        let clock = Monotonic::start();
        while !is_ready(&server.folder, "log") {
            if server.has_ended() || clock.now() > START_LIMIT_NS {
                return Err(fs::read_to_string(server.folder.join("log")).unwrap_or_default());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    fn has_ended(&mut self) -> bool {
        self.process.as_mut().is_none_or(|process| process.try_wait().unwrap().is_some())
    }

    /// The certificate to trust.
    pub(crate) fn root(&self) -> String {
        self.folder.join("root.pem").to_str().unwrap().to_owned()
    }

    /// Ends the server and its connections at once, in an orderly way, unlike SIGKILL.
    pub(crate) fn kill(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let _ = Command::new("kill").args(["-QUIT", &process.id().to_string()]).status();
        let clock = Monotonic::start();
        while let Ok(None) = process.try_wait() {
            if clock.now() > START_LIMIT_NS {
                let _ = process.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Creates a database in the folder, which also gets the server's `port` and its certificate, and returns the server's command.
fn prepare(folder: &Path) -> Command {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    fs::write(folder.join("port"), port.to_string()).unwrap();
    let data = folder.join("data");
    own(folder);
    let created = command("initdb")
        .args(["--auth=trust", "--username=loadstone", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"])
        .arg(&data)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(created.status.success(), "initdb: {}", String::from_utf8_lossy(&created.stderr));
    fs::write(data.join("pg_hba.conf"), USERS).unwrap();
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    fs::write(data.join("server.crt"), certified.cert.pem()).unwrap();
    fs::write(data.join("server.key"), certified.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(data.join("server.key"), fs::Permissions::from_mode(0o600)).unwrap();
    ["server.crt", "server.key"].iter().for_each(|file| own(&data.join(file)));
    fs::copy(data.join("server.crt"), folder.join("root.pem")).unwrap();
    let mut server = command("postgres");
    server.arg("-D").arg(&data).args(["-p", &port.to_string()]).current_dir(folder);
    for setting in ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "ssl=on"] {
        server.args(["-c", setting]);
    }
    server
}

fn port(folder: &Path) -> u16 {
    fs::read_to_string(folder.join("port")).unwrap().parse().unwrap()
}

fn is_ready(folder: &Path, log: &str) -> bool {
    let log = fs::read_to_string(folder.join(log)).unwrap_or_default();
    log.contains("ready to accept connections") && TcpStream::connect(("127.0.0.1", port(folder))).is_ok()
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Passes the ownership of a file to the server's user.
fn own(path: &Path) {
    if is_root() {
        let users = fs::read_to_string("/etc/passwd").unwrap();
        let user = users.lines().find(|line| line.starts_with("postgres:")).expect("a user postgres, whom the server may run as");
        let ids: Vec<u32> = user.split(':').skip(2).take(2).map(|id| id.parse().unwrap()).collect();
        chown(path, Some(ids[0]), Some(ids[1])).unwrap();
    }
}

/// A program of the newest PostgreSQL. It refuses to run as root, so it then runs as its own user.
fn command(program: &str) -> Command {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).max();
    let newest = newest.expect("PostgreSQL is missing: `cargo xtask setup` installs it");
    let path = PathBuf::from(format!("/usr/lib/postgresql/{newest}/bin")).join(program);
    if !is_root() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=QUIT", "--"]).arg(path);
    command
}
