//! A PostgreSQL server for the tests: on a free port, in a temporary folder, ended with the last test that holds it.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use tempfile::TempDir;

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
    process: Child,
    pub(crate) port: u16,
    folder: TempDir,
}

impl Postgres {
    /// The server that concurrent tests share.
    pub(crate) fn shared() -> Arc<Self> {
        static SERVER: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());
        // A test that failed to start it leaves it unchanged.
        let mut known = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
        known.upgrade().unwrap_or_else(|| {
            let started = Arc::new(Self::start());
            *known = Arc::downgrade(&started);
            started
        })
    }

    pub(crate) fn start() -> Self {
        let mut tries = (0..3).map(|_| Self::try_start());
        tries.find_map(Result::ok).unwrap_or_else(|| panic!("PostgreSQL did not start: `cargo xtask setup` installs it"))
    }

    fn try_start() -> Result<Self, String> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let (data, log) = (folder.path().join("data"), folder.path().join("log"));
        own(folder.path());
        let created = command("initdb")
            .args(["--auth=trust", "--username=loadstone", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(&data)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(created.status.success(), "initdb: {}", String::from_utf8_lossy(&created.stderr));
        fs::write(data.join("pg_hba.conf"), USERS).unwrap();
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        fs::write(data.join("server.crt"), certified.cert.pem()).unwrap();
        fs::write(data.join("server.key"), certified.signing_key.serialize_pem()).unwrap();
        fs::set_permissions(data.join("server.key"), fs::Permissions::from_mode(0o600)).unwrap();
        ["server.crt", "server.key"].iter().for_each(|file| own(&data.join(file)));
        fs::copy(data.join("server.crt"), folder.path().join("root.pem")).unwrap();
        let mut process = command("postgres");
        process.arg("-D").arg(&data).args(["-p", &port.to_string()]);
        for setting in ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "ssl=on"] {
            process.args(["-c", setting]);
        }
        let output = fs::File::create(&log).unwrap();
        let process = process.current_dir(folder.path()).stdout(Stdio::null()).stderr(output).spawn().unwrap();
        let mut server = Self { process, port, folder };
        let log_text = || fs::read_to_string(&log).unwrap_or_default();
        let clock = Monotonic::start();
        while !(log_text().contains("ready to accept connections") && TcpStream::connect(("127.0.0.1", port)).is_ok()) {
            if server.process.try_wait().unwrap().is_some() || clock.now() > START_LIMIT_NS {
                return Err(log_text());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    /// The root certificate.
    pub(crate) fn root(&self) -> String {
        self.folder.path().join("root.pem").to_str().unwrap().to_owned()
    }

    /// Ends the server and its connections at once, in an orderly way, unlike SIGKILL.
    pub(crate) fn kill(&mut self) {
        let Ok(None) = self.process.try_wait() else { return };
        let _ = Command::new("kill").args(["-QUIT", &self.process.id().to_string()]).status();
        let clock = Monotonic::start();
        while let Ok(None) = self.process.try_wait() {
            if clock.now() > START_LIMIT_NS {
                let _ = self.process.kill();
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
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(path);
    command
}
