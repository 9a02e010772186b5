//! Secrets in every place where a test can put them. The test searches for them in everything that is written, sent or shown.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::harness::{Folder, server};

/// Strings that must not appear: the part of each secret that survives every encoding, and base64 of the token after zero, one and two other bytes.
const PLANTED: [&str; 14] = [
    "Zq7Token",
    "envKey55",
    "d3faultValue",
    "hdrSecret1",
    "basicSecret2",
    "obsPassword3",
    "313377331",
    "WnE3VG9rZW",
    "pxN1Rva2Vu",
    "acTdUb2tlb",
    "Jhc2ljU2VjcmV0M",
    // Secrets that users and stubs learn while the test runs.
    "latePass6",
    "bGF0ZVBhc3M2",
    "latePass7",
];
pub(crate) const TOKEN: &str = "Zq7Token/ä \"x\"";

pub(crate) fn script(target: &str) -> String {
    r#"import {
  arrivals, base64, failures, flow, flowTime, observe, param, requests, responseTime, scenario, scriptErrors, secret, shared, stub, test,
} from "loadstone";
const token = param.string("token", { secret: true, help: "such as d3faultValue" });
const key = param.string("apiKey", { secret: true });
const preset = param.string("preset", { secret: true, default: "d3faultValue" });
const pin = param.number("pin", { secret: true, default: 313377331 });
const hook = stub.http({ name: `hook-${key}` });
hook.on("POST /notify", (request) => {
  const learnt = secret(["late", "Pass7"].join(""));
  console.log("stub", token, request.text, learnt);
  return { json: { ok: true } };
});
hook.on("POST /broken", () => {
  throw new Error(`stub error ${token}`);
});
const journey = flow(`Journey ${token}`, { timeout: "5s", drain: "0s", stages: [`Stage ${token}`] });
console.log("top level", token);
const visit = scenario(`Visit ${token}`, async (user) => {
  console.log("console", token, encodeURIComponent(token), JSON.stringify({ token }), pin, preset);
  console.warn("base64", base64.encode(token), base64.encode(`a${token}`), base64.encode(`ab${token}`), base64.encode("ann:basicSecret2"));
  user.log({ key, nested: { token } });
  await user.group(`Group ${token}`, () => user.get(`/?q=${encodeURIComponent(token)}`, { name: `Request ${token}`, headers: { "x-echo": token } }));
  await user.get(`/${encodeURIComponent(token)}/${pin}`, { query: { key }, expect: { text: `a text with ${token} in it` } });
  await user.post("/", { name: "Post", json: { token, note: `not ${key}` }, expect: { header: { "x-none": key } } });
  await user.get("http://ann:obsPassword3@127.0.0.1:1/refused");
  const late = secret(["late", "Pass6"].join(""));
  console.log("late", late, base64.encode(late), `Bearer ${late}`);
  await user.get(`/${late}`, { name: `Late ${late}`, headers: { authorization: `Bearer ${late}` }, expect: { text: late } });
  await user.post(`${hook.url}/notify`, { name: "Notify", json: { token, pin } });
  await user.post(`${hook.url}/broken`, { name: "Broken" });
  user.check(`Check ${token}`, false);
  journey.start(`${token} ${user.iteration}`);
  journey.stage(`Stage ${token}`, `${token} ${user.iteration}`);
  if (user.iteration % 2 === 0) user.fail(`Fail ${token} ${key} hdrSecret1`);
  throw new Error(`Error ${token} basicSecret2 ${pin}`);
});
export default test({
  name: `Shop ${key}`,
  target: "TARGET",
  headers: { "X-Api-Token": "hdrSecret1" },
  auth: { username: "ann", password: "basicSecret2" },
  load: visit.run(arrivals(4).for("3s")),
  observe: [observe.prometheus("http://ann:obsPassword3@127.0.0.1:1/metrics", { name: `watch-${key}` })],
  thresholds: [
    requests(`Request ${token}`).count.equals(12),
    responseTime({ scenario: `Visit ${token}`, group: `Group ${token}` }).p50.below("20s"),
    flowTime(journey, `Stage ${token}`).p50.below("10s"),
    failures({ group: `Group ${token}` }).count.equals(0),
    scriptErrors(`Visit ${token}`).count.equals(0),
  ],
});
"#
    .replace("TARGET", target)
}

#[track_caller]
pub(crate) fn holds_none(what: &str, text: &str) {
    for secret in PLANTED {
        let found = text.find(secret).map(|at| text[..at].chars().rev().take(80).collect::<Vec<_>>().into_iter().rev().collect::<String>());
        assert!(found.is_none(), "{what} shows {secret} behind: {}", found.unwrap_or_default());
    }
}

fn set_secrets(command: &mut Command) {
    command.args(["-p", &format!("token={TOKEN}")]).env("LOADSTONE_API_KEY", "envKey55");
}

/// Everything that a server sends until it closes. Empty while it does not listen.
fn asked(address: &str, path: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(address) else { return String::new() };
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut answer = Vec::new();
    // Data before a reset counts.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

pub(crate) fn every_file(folder: &Path, look: &mut impl FnMut(&Path, String)) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        look(&path, entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            every_file(&path, look);
        } else {
            look(&path, String::from_utf8_lossy(&std::fs::read(&path).expect("a file")).into_owned());
        }
    }
}

/// Masking leaves the surrounding text and the verdict unchanged.
#[track_caller]
fn masks_stand_in_their_place(run: &Path) {
    let summary = std::fs::read_to_string(run.join("summary.json")).expect("summary.json");
    for part in
        ["Request", "Late", "Group", "Visit", "Check", "Journey", "Stage", "Fail", "Error", "Shop"].map(|kind| format!("{kind} •••"))
    {
        assert!(summary.contains(&part), "{part} is missing: {summary}");
    }
    let verdict: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    for threshold in verdict["verdict"]["thresholds"].as_array().expect("a list") {
        assert_eq!(threshold["state"], "passed", "a threshold still finds what it is about: {threshold}");
    }
    let console = std::fs::read_to_string(run.join("console.log")).expect("console.log");
    for part in [
        "console ••• ••• {\"token\":\"•••\"} ••• •••",
        "base64 ••• ",
        "late ••• ••• •••",
        "[stub] stub ••• {\"token\":\"•••\",\"pin\":•••} •••",
        "stub error •••",
    ] {
        assert!(console.contains(part), "{part} is missing: {console}");
    }
}

#[test]
fn no_output_of_a_run_shows_a_secret_that_its_script_puts_everywhere() {
    let folder = Folder::new().file("shop.load.ts", &script(server::nginx()));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let metrics = format!("127.0.0.1:{}", server::free_port("127.0.0.1"));
    let statsd = format!("statsd={}", socket.local_addr().expect("an address"));
    let arguments = ["run", "shop.load.ts", "--live", "--tag", TOKEN, "--metrics-listen", &metrics, "--out", &statsd];
    let mut command = folder.command(&arguments);
    set_secrets(&mut command);
    command.args(["--junit", "j.xml", "--html", "r.html", "--markdown", "s.md"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut stdout = child.stdout.take().expect("asked for as a pipe");
    let mut lines = BufReader::new(child.stderr.take().expect("asked for as a pipe")).lines().map_while(Result::ok);
    let announced = lines.find(|line| line.contains("Live page: ")).expect("the page is announced");
    let page = announced.split("http://").nth(1).and_then(|url| url.split('/').next()).expect("its address").to_owned();
    let watching = thread::spawn(move || asked(&page, "/events"));
    let scraping = thread::spawn(move || {
        let mut seen = String::new();
        server::wait_until("requests in the scrape", || {
            seen = asked(&metrics, "/metrics");
            seen.contains("Request •••")
        });
        seen
    });
    let stderr: String = lines.map(|line| line + "\n").collect();
    let mut stdout_text = String::new();
    stdout.read_to_string(&mut stdout_text).expect("UTF-8");
    child.wait().expect("the end");
    let (events, scraped) = (watching.join().expect("the page"), scraping.join().expect("the scrape"));
    for (what, text, part) in [
        ("standard error", &stderr, "Fail •••"),
        ("standard output", &stdout_text, "Request •••"),
        ("the live page", &events, "Request •••"),
        ("the scrape", &scraped, "Request •••"),
    ] {
        holds_none(what, text);
        assert!(text.contains(part) || what == "standard error", "{what} does not hold `{part}`:\n{text}");
    }
    let (mut buffer, mut sent) = ([0; 4000], 0);
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a time limit");
    while let Ok(length) = socket.recv(&mut buffer) {
        holds_none("statsd", &String::from_utf8_lossy(&buffer[..length]));
        sent += 1;
    }
    assert!(sent > 0);
    let run = folder.runs().pop().expect("a run");
    every_file(&folder.path().join("runs"), &mut |path, text| holds_none(&path.display().to_string(), &text));
    for file in ["j.xml", "r.html", "s.md"] {
        holds_none(file, &std::fs::read_to_string(folder.path().join(file)).expect("it is written"));
    }
    masks_stand_in_their_place(&run);
}

#[test]
fn try_inspect_and_errors_show_no_secret() {
    let folder = Folder::new()
        .file("shop.load.ts", &script(server::nginx()))
        .file(
            "wrong.load.ts",
            &script("not a url").replace("console.log(\"top", "if (token) throw new Error(`no ${token}, ${key}`); console.log(\"top"),
        )
        .file("cut.load.ts", &script(server::nginx()).replace("`a text with ${token} in it`", "`${\"a\".repeat(74)}${token}`"));
    let ended = |arguments: &[&str]| {
        let mut command = folder.command(arguments);
        set_secrets(&mut command);
        let ended = folder.start_command(command).ended();
        holds_none(&arguments.join(" "), &format!("{}{}", ended.stdout, ended.stderr));
        ended
    };
    ended(&["try", "shop.load.ts"]).code(3).says("q=•••").says("Fail •••").says("\"token\": \"•••\"").says("[stub] stub ••• ");
    ended(&["try", "cut.load.ts"]).code(3);
    ended(&["inspect", "shop.load.ts"]).code(0).says("Visit •••");
    ended(&["run", "wrong.load.ts"]).code(2).says("no •••, •••");
    let bad = folder.command(&["run", "shop.load.ts", "-p", "token=Zq7Token", "-p", "apiKey=envKey55", "-p", "pin=hdrSecret1"]);
    let refused = folder.start_command(bad).ended().code(2).says("-p pin=•••");
    holds_none("a refused value", &refused.stderr);
}

#[test]
fn a_url_run_shows_no_credentials() {
    let folder = Folder::new();
    let host = server::nginx().trim_start_matches("http://");
    let url = format!("http://ann:basicSecret2@{host}/hdrSecret1?token=envKey55");
    let header = ["--header", "X-Token: hdrSecret1"];
    let ended = folder.run(&[["run", &url, "--rate", "5", "--for", "1s", "--tag", "basicSecret2"].as_slice(), &header].concat());
    holds_none("the terminal", &format!("{}{}", ended.stdout, ended.stderr));
    assert!(ended.stdout.contains("GET /•••"), "{}", ended.stdout);
    every_file(&folder.path().join("runs"), &mut |path, text| holds_none(&path.display().to_string(), &text));
}
