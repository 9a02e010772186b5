//! The server of the bench: nginx with one pinned worker, a short JSON response, and its own count of requests.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use checkout::process;

/// 90 bytes, as in the published figures of the other generators.
pub(super) const BODY: &str = r#"{"id":4711,"name":"A product of middling length","price_cents":1299,"tags":["new","blue"]}"#;

/// A message of Protocol Buffers with its prefix, as gRPC sends it: `Request` of bench/call.proto with the number of the product.
const CALL: &[u8] = b"\0\0\0\0\x03\x08\xe7\x24";

/// The response to it, a `Product`: what [`BODY`] says.
const REPLY: &[u8] = b"\0\0\0\0\x2f\x08\xe7\x24\x12\x1cA product of middling length\x18\x93\x0a\x22\x03new\x22\x04blue";

/// Bytes of a body that is large.
const LARGE: usize = 100_000;

/// Where the same nginx serves what is compared.
pub(super) struct BenchUrls {
    /// HTTP/1.1 and the short response.
    pub(super) plain: String,
    /// The same over HTTP/2 without TLS.
    pub(super) http2: String,
    /// Where it answers the calls of bench/call.proto: address and port.
    pub(super) grpc: String,
    /// A file with what such a call sends.
    pub(super) grpc_call: String,
    /// The same over HTTP/1.1 and TLS 1.3, with a certificate that nobody trusts.
    pub(super) tls: String,
    /// HTTP/1.1 and a body of [`LARGE`] bytes.
    pub(super) large: String,
}

pub(crate) struct Nginx {
    pub(super) urls: BenchUrls,
    /// What lets so many pass each second, evenly, and lets the others wait.
    pub(crate) limited_url: String,
    port: u16,
    child: Child,
    folder: PathBuf,
}

impl BenchUrls {
    /// As a table of commands shows them.
    pub(super) fn words() -> Self {
        let [plain, http2, grpc, grpc_call, tls, large] =
            ["URL", "HTTP2_URL", "GRPC_HOST", "CALL_FILE", "TLS_URL", "LARGE_URL"].map(str::to_owned);
        Self { plain, http2, grpc, grpc_call, tls, large }
    }
}

impl Nginx {
    /// Requests per second of `limited_url`.
    const LIMIT: u32 = 200;

    pub(crate) fn start(core: usize) -> Result<Self> {
        let binary = process::find("nginx").context("nginx is not installed; run `cargo xtask setup`")?;
        let [port, http2_port, tls_port] = free_ports()?;
        let folder = std::env::temp_dir().join(format!("loadstone-bench-nginx-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let file = folder.join("nginx.conf");
        fs::write(&file, configuration(&folder.to_string_lossy(), [port, http2_port, tls_port], &own_user()?))?;
        write_certificate(&folder)?;
        fs::write(folder.join("limited.json"), BODY)?;
        fs::write(folder.join("large.txt"), "x".repeat(LARGE))?;
        fs::write(folder.join("reply"), REPLY)?;
        let grpc_call = folder.join("call");
        fs::write(&grpc_call, CALL)?;
        let mut command = Command::new("taskset");
        command.args(["-c", &core.to_string()]).arg(binary).arg("-p").arg(&folder).arg("-c").arg(&file).args(["-e", "stderr"]);
        let child = command.stdin(Stdio::null()).spawn().context("starting nginx")?;
        let address = format!("http://127.0.0.1:{port}");
        let urls = BenchUrls {
            plain: format!("{address}/json"),
            http2: format!("http://127.0.0.1:{http2_port}/json"),
            grpc: format!("127.0.0.1:{http2_port}"),
            grpc_call: grpc_call.to_string_lossy().into_owned(),
            tls: format!("https://127.0.0.1:{tls_port}/json"),
            large: format!("{address}/large"),
        };
        let server = Self { urls, limited_url: format!("{address}/limited"), port, child, folder };
        server.wait()?;
        Ok(server)
    }

    fn wait(&self) -> Result<()> {
        for _ in 0..500 {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("nginx does not listen after ten seconds");
    }

    /// Does something, and counts the requests that nginx answered meanwhile.
    pub(super) fn count<T>(&self, during: impl FnOnce() -> Result<T>) -> Result<(T, u64)> {
        let before = self.reading()?;
        let done = during()?;
        let after = self.reading()?;
        // The second reading is a request itself and counts itself.
        Ok((done, after.saturating_sub(before + 1)))
    }

    /// Connections open now, with the one that asks.
    pub(super) fn connections(&self) -> Result<u64> {
        let status = self.status()?;
        let line =
            status.lines().find_map(|line| line.strip_prefix("Active connections:")).context("nginx gave no count of its connections")?;
        line.trim().parse().with_context(|| format!("`{line}` is not a number of connections"))
    }

    fn reading(&self) -> Result<u64> {
        read_count(&self.status()?).context("nginx gave no count of its requests")
    }

    fn status(&self) -> Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // A polite end first: the master ends its worker on SIGTERM, but not on SIGKILL.
        let ended = Command::new("kill").arg(self.child.id().to_string()).status().is_ok_and(|status| status.success());
        if !ended {
            eprintln!("nginx (process {}) may still run", self.child.id());
            return;
        }
        if let Err(error) = self.child.wait().and_then(|_| fs::remove_dir_all(&self.folder)) {
            eprintln!("{} is left behind: {error}", self.folder.display());
        }
    }
}

/// The third number under `server accepts handled requests`.
fn read_count(response: &str) -> Option<u64> {
    let numbers = response.lines().skip_while(|line| !line.contains("requests")).nth(1)?;
    numbers.split_whitespace().nth(2)?.parse().ok()
}

fn free_ports<const N: usize>() -> Result<[u16; N]> {
    // All are held until each has another.
    let listeners: Vec<TcpListener> = (0..N).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

/// A key and a self-signed certificate, valid for a day.
fn write_certificate(folder: &Path) -> Result<()> {
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]);
    command.args(["-subj", "/CN=127.0.0.1", "-keyout"]).arg(folder.join("key.pem")).arg("-out").arg(folder.join("certificate.pem"));
    let output = command.output().context("openssl is not installed (Debian, Ubuntu: apt-get install openssl)")?;
    if !output.status.success() {
        bail!("openssl created no certificate: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

fn own_user() -> Result<String> {
    let root = process::output(Command::new("id").arg("-u"))?.trim() == "0";
    Ok(if root { "user root;".to_owned() } else { String::new() })
}

/// nginx closes idle connections once fewer than a sixteenth of its connections are free, so 15,000 users need some 16,000 and more.
fn configuration(folder: &str, [port, http2_port, tls_port]: [u16; 3], user: &str) -> String {
    let limit = Nginx::LIMIT;
    format!(
        r"{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
events {{ worker_connections 19000; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  limit_req_zone $uri zone=all:1m rate={limit}r/s;
  server {{
    listen 127.0.0.1:{port} backlog=16384;
    listen 127.0.0.1:{http2_port} http2 backlog=16384;
    listen 127.0.0.1:{tls_port} ssl backlog=16384;
    ssl_certificate {folder}/certificate.pem;
    ssl_certificate_key {folder}/key.pem;
    ssl_protocols TLSv1.3;
    location = /json {{ default_type application/json; return 200 '{BODY}'; }}
    location = /limited {{ limit_req zone=all burst=1000000; default_type application/json; alias {folder}/limited.json; }}
    location = /large {{ default_type text/plain; alias {folder}/large.txt; }}
    location = /bench.v1.Bench/Get {{ error_page 405 =200 /reply; alias {folder}/reply; }}
    location = /reply {{ internal; default_type application/grpc; add_trailer grpc-status 0 always; alias {folder}/reply; }}
    location = /status {{ stub_status; }}
  }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_has_the_published_size() {
        assert_eq!(BODY.len(), 90);
    }

    #[test]
    fn the_count_is_nginx_own() {
        let server = Nginx::start(0).unwrap();
        let port = server.port;
        let ask = || {
            for _ in 0..3 {
                let mut stream = TcpStream::connect(("127.0.0.1", port))?;
                stream.write_all(b"GET /json HTTP/1.0\r\n\r\n")?;
                stream.read_to_end(&mut Vec::new())?;
            }
            Ok(())
        };
        assert_eq!(server.count(ask).unwrap().1, 3);
        assert_eq!(server.connections().unwrap(), 1);
    }
}
