//! Options of TLS against OpenSSL's server, and the error codes of connections that fail.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::harness::folder;
use crate::real_time::run_with;

/// `openssl s_server -www`, whose page shows the version and the suite of its connection.
struct OpenSsl {
    process: Child,
    address: String,
    _files: TempDir,
}

impl OpenSsl {
    fn start() -> Self {
        Self::start_with("-www", Stdio::null())
    }

    fn start_with(arguments: &str, input: Stdio) -> Self {
        let files = folder(&[]);
        let openssl = |arguments: &str| {
            let mut command = Command::new("openssl");
            command.args(arguments.split(' ')).current_dir(files.path()).stderr(Stdio::null());
            command
        };
        let request = "req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1";
        assert!(openssl(request).stdout(Stdio::null()).status().expect("openssl is installed").success());
        let mut server = openssl(&format!("s_server -accept 127.0.0.1:0 -cert cert.pem -key key.pem {arguments}"));
        let mut process = server.stdin(input).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("ACCEPT ").map(str::to_owned));
        Self { address: address.expect("openssl prints its address"), process, _files: files }
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Prints what the page of OpenSSL shows, with these options.
fn negotiated(server: &OpenSsl, options: &str) -> Vec<String> {
    let script = format!(
        "import http from 'k6/http';
         export const options = {{ {options} }};
         export default function () {{
           const response = http.get('https://{}/');
           const shown = (what) => (new RegExp(`\\\\n *${{what}} *: *(\\\\S+)`).exec(response.body ?? '') ?? [])[1];
           console.log(response.error_code, shown('Protocol'), shown('Cipher'));
           console.log(response.tls_version, response.tls_cipher_suite, response.ocsp.status);
         }}",
        server.address
    );
    run_with(&[("script.js", &script)]).printed
}

#[test]
fn versions_and_suites_are_limited_as_the_options_say() {
    let server = OpenSsl::start();
    let with = |options: &str| negotiated(&server, &format!("insecureSkipTLSVerify: true, {options}"));
    assert_eq!(
        with("tlsVersion: 'tls1.2', tlsCipherSuites: ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256']"),
        ["0 TLSv1.2 ECDHE-RSA-AES128-GCM-SHA256", "tls1.2 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 unknown"]
    );
    assert_eq!(
        with("tlsVersion: { max: 'tls1.2' }, tlsCipherSuites: ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305']"),
        ["0 TLSv1.2 ECDHE-RSA-CHACHA20-POLY1305", "tls1.2 TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305 unknown"]
    );
    let newest = with("tlsVersion: { min: 'tls1.3' }, tlsCipherSuites: ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256']");
    // In TLS 1.3, OpenSSL has the names of the registry.
    let suite = newest[0].strip_prefix("0 TLSv1.3 ").unwrap();
    assert_eq!(newest[1], format!("tls1.3 {suite} unknown"));
    // The server's RSA certificate fits no suite that is offered.
    assert_eq!(
        with("tlsVersion: 'tls1.2', tlsCipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256']"),
        ["1010 undefined undefined", "  "]
    );
    assert_eq!(negotiated(&server, "batch: 20"), ["1310 undefined undefined", "  "], "the certificate is not trusted");
}

/// Answers each connection with these bytes after its first ones, and closes it.
fn answering(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 8192]);
            let _ = stream.write_all(bytes);
        }
    });
    port
}

/// Resets each connection after its first bytes.
fn resetting() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            // Bytes that nobody read make the kernel send a reset.
            let _ = stream.read(&mut [0; 8]);
        }
    });
    port
}

/// The code of a request to a server that sends these frames of HTTP/2 as soon as a client is connected.
fn code_after_frames(frames: &[u8]) -> Vec<String> {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let mut server = OpenSsl::start_with("-alpn h2", Stdio::piped());
    let mut input = server.process.stdin.take().unwrap();
    input.write_all(&[&SETTINGS, frames].concat()).unwrap();
    let script = format!(
        "import http from 'k6/http';
         export const options = {{ insecureSkipTLSVerify: true }};
         export default function () {{ console.log(http.get('https://{}/').error_code); }}",
        server.address
    );
    run_with(&[("script.js", &script)]).printed
}

/// The expected codes are those of k6 1.4.2 for the same servers.
#[test]
fn violations_of_http2_have_the_codes_of_k6() {
    let data_on_stream_0 = [0, 0, 1, 0, 0, 0, 0, 0, 0, b'x'];
    let overflowing_window = [0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff];
    assert_eq!(code_after_frames(&data_on_stream_0), ["1652"]);
    assert_eq!(code_after_frames(&overflowing_window), ["1654"]);
}

#[test]
fn error_codes_are_those_of_k6() {
    let plain = answering(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    let (silent, cut, reset) = (answering(b""), answering(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), resetting());
    // A fatal alert: handshake_failure.
    let alert = answering(&[21, 3, 3, 0, 2, 2, 40]);
    let undecodable = answering(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello");
    let script = format!(
        "import http from 'k6/http';
         export const options = {{ blockHostnames: ['*.blocked.test'], blacklistIPs: ['127.0.0.9/32'] }};
         const code = (url) => http.get(url).error_code;
         export default function () {{
           console.log(code('http://a.blocked.test/'), code('http://127.0.0.9:{plain}/'), code('http://no-such-host.invalid/'),
             code('https://127.0.0.1:{plain}/'), code('http://127.0.0.1:{undecodable}/'));
           console.log(code('http://127.0.0.1:{silent}/'), code('http://127.0.0.1:{cut}/'), code('http://127.0.0.1:{reset}/'),
             code('https://127.0.0.1:{silent}/'), code('https://127.0.0.1:{alert}/'), code('http://127.0.0.1:1/'), code('http://255.255.255.255/'));
         }}"
    );
    let printed = run_with(&[("script.js", &script)]).printed;
    assert_eq!(printed, ["1111 1110 1101 1301 1701", "1000 1000 1220 1000 1010 1212 1213"]);
}
