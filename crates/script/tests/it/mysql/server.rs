//! A MariaDB server for tests, on a free port and with a new database: one that all tests share, or one per test.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use tempfile::TempDir;

use crate::shared_server;

const START_LIMIT_NS: u64 = 60_000_000_000;

/// The users, and how they log in. `secured` requires TLS. `other` uses an authentication method that Loadstone does not support.
const SET_UP: &str = "\
CREATE DATABASE shop;
CREATE USER loadstone@'127.0.0.1';
GRANT ALL ON *.* TO loadstone@'127.0.0.1';
CREATE USER app@'127.0.0.1' IDENTIFIED BY 'p@ss word';
CREATE USER secured@'127.0.0.1' IDENTIFIED BY 'se:cure' REQUIRE SSL;
INSTALL SONAME 'auth_ed25519';
CREATE USER other@'127.0.0.1' IDENTIFIED VIA ed25519 USING PASSWORD('x');
";

pub(crate) struct MariaDb {
    /// `None` for the shared server, which is not a child of this process.
    process: Option<Child>,
    pub(crate) port: u16,
    folder: PathBuf,
    _temporary: Option<TempDir>,
}

impl MariaDb {
    /// The server that all tests share.
    pub(crate) fn shared() -> &'static Self {
        static SERVER: OnceLock<MariaDb> = OnceLock::new();
        SERVER.get_or_init(|| {
            let folder = shared_server::join("mariadb", |folder| prepare(folder, &[]), |folder| is_ready(folder, "errors"));
            Self { process: None, port: port(&folder), folder, _temporary: None }
        })
    }

    pub(crate) fn start(settings: &[&str]) -> Self {
        let mut problem = String::new();
        for _ in 0..3 {
            match Self::try_start(settings) {
                Ok(server) => return server,
                Err(log_text) => problem = log_text,
            }
        }
        panic!("MariaDB did not start (`cargo xtask setup` installs it): {problem}")
    }

    fn try_start(settings: &[&str]) -> Result<Self, String> {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().to_path_buf();
        let output = fs::File::create(folder.join("log")).unwrap();
        let process = prepare(&folder, settings).stdout(Stdio::null()).stderr(output).spawn().unwrap();
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

    /// Ends the server and its connections at once.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Creates a database in the folder, which also gets the server's `port` and its certificate, and returns the server's command.
fn prepare(folder: &Path, settings: &[&str]) -> Command {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    fs::write(folder.join("port"), port.to_string()).unwrap();
    let data_flag = format!("--datadir={}", folder.join("data").display());
    let user: &[&str] = if fs::metadata("/proc/self").unwrap().uid() == 0 { &["--user=root"] } else { &[] };
    let created = Command::new("mariadb-install-db")
        .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", &data_flag])
        .args(user)
        // Two that are created at once must not share their temporary tables.
        .env("TMPDIR", folder)
        .output()
        .expect("MariaDB is missing: `cargo xtask setup` installs it");
    assert!(created.status.success(), "mariadb-install-db: {}", String::from_utf8_lossy(&created.stderr));
    let path = |name: &str| folder.join(name).display().to_string();
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    fs::write(path("root.pem"), certified.cert.pem()).unwrap();
    fs::write(path("server.key"), certified.signing_key.serialize_pem()).unwrap();
    fs::write(path("set-up.sql"), SET_UP).unwrap();
    let binary = Path::new("/usr/sbin/mariadbd");
    let mut server = Command::new(if binary.is_file() { binary } else { Path::new("mariadbd") });
    server
        .args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-buffer-pool-size=32M", &data_flag])
        .args(["--max-allowed-packet=64M", "--innodb-flush-log-at-trx-commit=0"])
        .args([format!("--port={port}"), format!("--socket={}", path("socket")), format!("--init-file={}", path("set-up.sql"))])
        .args([format!("--ssl-cert={}", path("root.pem")), format!("--ssl-key={}", path("server.key"))])
        .args(user)
        .args(settings)
        .env("TMPDIR", folder)
        .current_dir(folder);
    server
}

fn port(folder: &Path) -> u16 {
    fs::read_to_string(folder.join("port")).unwrap().parse().unwrap()
}

fn is_ready(folder: &Path, log: &str) -> bool {
    let log = fs::read_to_string(folder.join(log)).unwrap_or_default();
    log.contains("ready for connections") && TcpStream::connect(("127.0.0.1", port(folder))).is_ok()
}
