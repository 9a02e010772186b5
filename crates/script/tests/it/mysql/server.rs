//! A MariaDB server for the tests: on a free port, in a temporary folder, ended with the last test that holds it.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use tempfile::TempDir;

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
    process: Child,
    pub(crate) port: u16,
    folder: TempDir,
}

impl MariaDb {
    /// The server that concurrent tests share.
    pub(crate) fn shared() -> Arc<Self> {
        static SERVER: Mutex<Weak<MariaDb>> = Mutex::new(Weak::new());
        // A test that failed to start it leaves it unchanged.
        let mut known = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
        known.upgrade().unwrap_or_else(|| {
            let started = Arc::new(Self::start(&[]));
            *known = Arc::downgrade(&started);
            started
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
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let (data, log) = (folder.path().join("data"), folder.path().join("log"));
        let data_flag = format!("--datadir={}", data.display());
        let user: &[&str] = if fs::metadata("/proc/self").unwrap().uid() == 0 { &["--user=root"] } else { &[] };
        let created = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", &data_flag])
            .args(user)
            // Two servers that are created at the same time must not share their temporary tables.
            .env("TMPDIR", folder.path())
            .output()
            .expect("MariaDB is missing: `cargo xtask setup` installs it");
        assert!(created.status.success(), "mariadb-install-db: {}", String::from_utf8_lossy(&created.stderr));
        let path = |name: &str| folder.path().join(name).display().to_string();
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        fs::write(path("root.pem"), certified.cert.pem()).unwrap();
        fs::write(path("server.key"), certified.signing_key.serialize_pem()).unwrap();
        fs::write(path("set-up.sql"), SET_UP).unwrap();
        let binary = Path::new("/usr/sbin/mariadbd");
        let process = Command::new(if binary.is_file() { binary } else { Path::new("mariadbd") })
            .args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-buffer-pool-size=32M", &data_flag])
            .args(["--max-allowed-packet=64M", "--innodb-flush-log-at-trx-commit=0"])
            .args([format!("--port={port}"), format!("--socket={}", path("socket")), format!("--init-file={}", path("set-up.sql"))])
            .args([format!("--ssl-cert={}", path("root.pem")), format!("--ssl-key={}", path("server.key"))])
            .args(user)
            .args(settings)
            .env("TMPDIR", folder.path())
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut server = Self { process, port, folder };
        let log_text = || fs::read_to_string(&log).unwrap_or_default();
        let clock = Monotonic::start();
        while !(log_text().contains("ready for connections") && TcpStream::connect(("127.0.0.1", port)).is_ok()) {
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

    /// Ends the server and its connections at once.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        self.kill();
    }
}
