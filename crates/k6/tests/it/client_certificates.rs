//! `tlsAuth`, and `tls` of a gRPC client, against nginx, which demands certificates of one authority on one port and of another on the other.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use loadstone_metrics::clock::Monotonic;
use tempfile::TempDir;

use crate::free_port::free_port;
use crate::harness::{folder, refused};
use crate::real_time::run_with;

const START_NS_MAX: u64 = 20_000_000_000;

struct Nginx {
    process: Child,
    /// Ports that accept certificates of the authority `one`, of `two`, and no certificates.
    ports: [u16; 3],
    files: TempDir,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The master process ends its workers on SIGTERM.
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().expect("openssl is installed");
    assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Nginx {
    fn start() -> Self {
        let files = folder(&[]);
        let place = files.path();
        openssl(
            place,
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout own.key -out own.pem -days 2 -subj /CN=localhost \
             -addext subjectAltName=DNS:shop.test -addext basicConstraints=CA:FALSE",
        );
        for name in ["one", "two"] {
            openssl(
                place,
                &format!("req -x509 -newkey rsa:2048 -nodes -keyout ca-{name}.key -out ca-{name}.pem -days 2 -subj /CN=ca-{name}"),
            );
            openssl(place, &format!("req -newkey rsa:2048 -nodes -keyout {name}.key -out {name}.csr -subj /CN={name}"));
            openssl(
                place,
                &format!("x509 -req -in {name}.csr -CA ca-{name}.pem -CAkey ca-{name}.key -CAcreateserial -days 2 -out {name}.pem"),
            );
        }
        // The encryption that k6 reads.
        openssl(place, "rsa -aes256 -traditional -in two.key -passout pass:hidden -out two-encrypted.key");
        let ports = [free_port("127.0.0.1"), free_port("127.0.0.1"), free_port("127.0.0.1")];
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|name| format!("{name}_temp_path {name};")).join(" ");
        let server = |port: u16, rest: &str| {
            format!(
                "server {{ listen 127.0.0.1:{port} ssl http2; ssl_certificate own.pem; ssl_certificate_key own.key; {rest}\n\
                 location / {{ return 200 \"$ssl_client_s_dn\"; }}\n\
                 location /talk.v1.Talk {{ default_type application/grpc; add_header grpc-status 5; \
                 add_header grpc-message \"$host|$ssl_client_s_dn\"; return 200; }} }}\n"
            )
        };
        let demands = |port, name: &str| server(port, &format!("ssl_client_certificate ca-{name}.pem; ssl_verify_client on;"));
        let configuration = format!(
            "daemon off; pid pid; events {{ worker_connections 200; }}\nhttp {{ access_log off; {temporary}\n{}{}{} }}",
            demands(ports[0], "one"),
            demands(ports[1], "two"),
            server(ports[2], "")
        );
        std::fs::write(place.join("nginx.conf"), configuration).unwrap();
        let mut command = Command::new("/usr/sbin/nginx");
        command.arg("-p").arg(place).arg("-c").arg(place.join("nginx.conf")).args(["-e", "stderr"]).stderr(Stdio::null());
        let process = command.spawn().expect("nginx is installed");
        let clock = Monotonic::start();
        while let Err(error) = TcpStream::connect(("127.0.0.1", ports[0])) {
            assert!(error.kind() == ErrorKind::ConnectionRefused && clock.now() < START_NS_MAX, "nginx does not listen: {error}");
            std::thread::yield_now();
        }
        Self { process, ports, files }
    }

    /// What each port answers to a script with this option.
    fn answers(&self, tls_auth: &str) -> Vec<String> {
        let [one, two, none] = self.ports;
        let script = format!(
            "import http from 'k6/http';
             export const options = {{ insecureSkipTLSVerify: true, tlsAuth: {tls_auth} }};
             const get = (port) => http.get(`https://127.0.0.1:${{port}}/`);
             const shown = (got) => `${{got.status}} ${{got.status === 200 ? got.body : ''}}`;
             export default function () {{ [{one}, {two}, {none}].forEach((port) => console.log(shown(get(port)))); }}"
        );
        let read = |name: &str| std::fs::read_to_string(self.files.path().join(name)).unwrap();
        let names = ["one.pem", "one.key", "two.pem", "two-encrypted.key"];
        let texts = names.map(read);
        let mut files: Vec<(&str, &str)> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
        files.push(("script.js", &script));
        run_with(&files).printed
    }
}

#[test]
fn a_server_gets_the_certificate_that_it_accepts() {
    let nginx = Nginx::start();
    let one = "{ cert: open('one.pem'), key: open('one.key') }";
    let two = "{ cert: open('two.pem'), key: open('two-encrypted.key'), password: 'hidden', domains: ['other.test'] }";
    assert_eq!(nginx.answers(&format!("[{one}, {two}]")), ["200 CN=one", "200 CN=two", "200 "]);
    assert_eq!(nginx.answers(&format!("[{two}]")), ["400 ", "200 CN=two", "200 "]);
    assert_eq!(nginx.answers("[]"), ["400 ", "400 ", "200 "]);
}

#[test]
fn a_grpc_client_has_its_own_certificates_and_authority() {
    let nginx = Nginx::start();
    let script = format!(
        "import {{ Client }} from 'k6/net/grpc';
         const client = new Client();
         client.load([], 'talk.proto');
         const [cacerts, cert, key] = ['own.pem', 'one.pem', 'one.key'].map((name) => open(name));
         export default function () {{
           for (const params of [{{}}, {{ tls: {{ cacerts }} }}, {{ tls: {{ cacerts: [cacerts], cert, key }}, authority: 'shop.test:7' }},
             {{ tls: {{ cacerts: [cacerts] }}, authority: 'shop.test' }}, {{ tls: {{ cacerts, cert, key: 'none' }} }}, {{ tls: {{ cacerts: 'none' }} }}]) {{
             try {{
               client.connect('127.0.0.1:{}', params);
               const {{ status, error }} = client.invoke('talk.v1.Talk/Say', {{}});
               console.log(status, error.message);
             }} catch (error) {{ console.log(error.message); }}
           }}
         }}",
        nginx.ports[0]
    );
    let texts = ["own.pem", "one.pem", "one.key"].map(|name| (name, std::fs::read_to_string(nginx.files.path().join(name)).unwrap()));
    let mut files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let proto = "syntax = \"proto3\"; package talk.v1; message Line {} service Talk { rpc Say(Line) returns (Line); }";
    files.extend([("script.js", script.as_str()), ("talk.proto", proto)]);
    let printed = run_with(&files).printed;
    let expected = [
        "cannot be verified",
        "for another host name (shop.test)",
        "5 shop.test|CN=one",
        "400",
        "tls.key: contains no PEM private key",
        "tls: authority [0]: contains no PEM",
    ];
    assert_eq!(printed.len(), expected.len(), "{printed:?}");
    for (line, part) in printed.iter().zip(expected) {
        assert!(line.contains(part), "{part}: {printed:?}");
    }
}

#[test]
fn certificates_that_cannot_be_used_are_refused_before_the_load() {
    let script = |entry: &str| format!("export const options = {{ tlsAuth: [{entry}] }}; export default function () {{}}");
    assert!(refused(&script("{ cert: 'x' }")).contains("tlsAuth[0] has no `key`"));
}
