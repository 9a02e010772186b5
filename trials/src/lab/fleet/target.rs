//! What the load goes to: nginx, whose log says which row came when. It knows nothing of agents.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use checkout::process;

use super::daemon::Daemon;
use super::network::GATEWAY;
use crate::lab::system::free_port;

pub(super) struct Target {
    pub(super) url: String,
    log: PathBuf,
    /// Lines that were read before.
    read: usize,
    _server: Daemon,
}

impl Target {
    pub(super) fn start(folder: &Path, logs: &Path) -> Result<Self> {
        let (port, log, file) = (free_port()?, folder.join("rows.log"), folder.join("nginx.conf"));
        fs::create_dir_all(folder)?;
        fs::write(&file, configuration(folder, &log, port))?;
        let nginx = process::find("nginx").context("nginx is not installed; run `cargo xtask setup`")?;
        let mut command = Command::new(nginx);
        command.arg("-p").arg(folder).arg("-c").arg(&file).args(["-e", "stderr"]);
        let mut server = Daemon::start("target", &mut command, logs)?;
        server.wait("listening", 20, || TcpStream::connect((GATEWAY, port)).is_ok())?;
        Ok(Self { url: format!("http://{GATEWAY}:{port}"), log, read: 0, _server: server })
    }

    fn lines(&self) -> Result<Vec<String>> {
        Ok(fs::read_to_string(&self.log)?.lines().map(str::to_owned).collect())
    }

    /// Requests since rows were taken last.
    pub(super) fn requests(&self) -> Result<usize> {
        Ok(self.lines()?.len() - self.read)
    }

    /// How often each row came since the last call.
    pub(super) fn take_rows(&mut self) -> Result<BTreeMap<String, usize>> {
        let lines = self.lines()?;
        let mut rows = BTreeMap::new();
        for row in lines.iter().skip(self.read) {
            *rows.entry(row.clone()).or_default() += 1;
        }
        self.read = lines.len();
        Ok(rows)
    }
}

fn configuration(folder: &Path, log: &Path, port: u16) -> String {
    let (folder, log) = (folder.display(), log.display());
    format!(
        r#"daemon off;
# One process, which is found by its arguments: a worker of a master that was killed would not be.
master_process off;
user root;
pid {folder}/nginx.pid;
events {{ worker_connections 4096; }}
http {{
  log_format row "$arg_n";
  access_log {log} row;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{ listen {GATEWAY}:{port}; location / {{ return 200 "ok"; }} }}
}}
"#
    )
}
