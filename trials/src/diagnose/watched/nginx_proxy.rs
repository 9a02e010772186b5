//! An nginx in front of the shop, whose access log is the record.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use checkout::process;

/// It ends with this value.
pub(super) struct NginxProxy {
    pub(super) address: String,
    pub(super) log: PathBuf,
    child: Child,
}

impl NginxProxy {
    pub(super) const LOG_FORMAT: &str = r#"$remote_addr $msec "$request" $status $body_bytes_sent $request_time"#;

    pub(super) fn program() -> Option<PathBuf> {
        process::find("nginx").or_else(|| Some(PathBuf::from("/usr/sbin/nginx")).filter(|path| path.is_file()))
    }

    pub(super) fn start(program: &Path, target: &str, folder: &Path) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (place, log) = (folder.display(), folder.join("access.log"));
        let temporary =
            ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|name| format!("{name}_temp_path {place}/{name};")).join(" ");
        // SAFETY: it only reads the user's number.
        let user = if unsafe { libc::geteuid() } == 0 { "user root;" } else { "" };
        let shop = target.trim_start_matches("http://").trim_end_matches('/');
        let configuration = format!(
            "daemon off; {user} pid {place}/pid; events {{ worker_connections 4096; }}\nhttp {{ {temporary}\n\
             log_format timed '{}'; access_log {} timed; keepalive_requests 1000000;\n\
             upstream shop {{ server {shop}; keepalive 64; }}\n\
             server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://shop; proxy_http_version 1.1; proxy_set_header Connection \"\"; \
             proxy_next_upstream off; }} }} }}\n",
            Self::LOG_FORMAT,
            log.display()
        );
        let file = folder.join("nginx.conf");
        fs::write(&file, configuration)?;
        File::create(&log)?;
        let mut command = Command::new(program);
        command.args(["-e", "stderr", "-p"]).arg(folder).arg("-c").arg(&file).stdin(Stdio::null());
        let child = command.spawn().with_context(|| format!("starting {}", program.display()))?;
        let mut proxy = Self { address: format!("http://127.0.0.1:{port}"), log, child };
        for _ in 0..200 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(proxy);
            }
            if let Some(status) = proxy.child.try_wait()? {
                bail!("nginx ended with {status}");
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("nginx does not listen")
    }
}

impl Drop for NginxProxy {
    fn drop(&mut self) {
        if let Ok(pid) = i32::try_from(self.child.id()) {
            // SAFETY: a plain system call on a process that has not been waited for, so its number is still its own.
            unsafe { libc::kill(pid, libc::SIGTERM) };
        }
        let _ = self.child.wait();
    }
}
