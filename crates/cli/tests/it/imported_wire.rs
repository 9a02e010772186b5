//! Imported tests send what their source sends, request by request, against one recording server: real curl, and what JMeter 5.6.3 sent.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::harness::Folder;

/// Request line, header lines in lower case and sorted, body.
type Recorded = (String, Vec<String>, String);

/// Records every request, and answers with a small JSON document.
pub(crate) struct Recorder {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<Recorded>>>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let requests: Arc<Mutex<Vec<Recorded>>> = Arc::default();
        let all = Arc::clone(&requests);
        // The thread ends with the test process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let all = Arc::clone(&all);
                thread::spawn(move || serve(stream, &all).ok());
            }
        });
        Self { address, requests }
    }

    /// The requests since the last call.
    pub(crate) fn taken(&self) -> Vec<Recorded> {
        std::mem::take(&mut self.requests.lock().expect("not poisoned"))
    }
}

fn serve(mut stream: TcpStream, requests: &Mutex<Vec<Recorded>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut lines: Vec<String> = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let first = lines.remove(0);
        let mut headers: Vec<String> = lines
            .iter()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| format!("{}: {}", name.to_lowercase(), value.trim()))
            .collect();
        headers.sort();
        let value = |name: &str| headers.iter().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        if headers.iter().any(|line| line == "expect: 100-continue") {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let mut body = vec![0; value("content-length: ").map_or(0, |length| length.parse().expect("a number"))];
        reader.read_exact(&mut body)?;
        let mut body = String::from_utf8_lossy(&body).into_owned();
        // Boundaries differ from run to run, and in length.
        if let Some(boundary) = value("content-type: multipart/form-data; boundary=") {
            body = body.replace(&boundary, "B");
            while body.contains("---B") {
                body = body.replace("---B", "--B");
            }
            headers.retain(|line| !line.starts_with("content-"));
        }
        let is_head = first.starts_with("HEAD");
        requests.lock().expect("not poisoned").push((first, headers, body));
        let content = if is_head { "" } else { "{\"id\":\"id-1\",\"token\":\"abc\"}" };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nset-cookie: sid=1; Path=/\r\ncontent-length: {}\r\n\r\n",
            content.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(content.as_bytes())?;
    }
}

/// Files that the commands read.
fn folder() -> Folder {
    Folder::new()
        .file("up.csv", "a,b\n1,2\n")
        .file("body.txt", "line 1\nline 2\n")
        .file("data.json", "{\"from\":\"file\"}")
        .file("headers.txt", "X-From-File: 1\nX-Second: 2\n")
}

/// What curl adds and Loadstone does not, by design: its name, and the negotiation of large uploads. Compression is asked for in another order.
fn without_own(mut requests: Vec<Recorded>) -> Vec<Recorded> {
    for (first, headers, _) in &mut requests {
        let own = ["user-agent: curl/", "user-agent: loadstone/", "expect: 100-continue", "accept-encoding: identity", "content-length: 0"];
        headers.retain(|line| !own.iter().any(|own| line.starts_with(own)));
        for line in headers.iter_mut().filter(|line| line.starts_with("accept-encoding")) {
            *line = "accept-encoding: compressed".to_owned();
        }
        // curl writes the digits of percent-encoding in a URL in either case.
        first.make_ascii_lowercase();
    }
    requests
}

/// Runs the commands with curl and as an imported test; `$URL` is the server.
#[track_caller]
fn same(commands: &str, parameters: &[&str]) {
    let server = Recorder::new();
    let script = commands.replace("$URL", &server.address);
    let folder = folder().file("commands.sh", &script);
    let ran = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(ran.expect("bash and curl are installed").success(), "curl failed: {script}");
    let by_curl = without_own(server.taken());
    folder.run(&["import", "curl", "commands.sh", "-o", "t.load.ts"]).code(0);
    let mut arguments = vec!["try", "t.load.ts"];
    arguments.extend(parameters.iter().flat_map(|parameter| ["-p", parameter]));
    let tried = folder.run(&arguments).code(0);
    let by_loadstone = without_own(server.taken());
    assert!(!by_curl.is_empty(), "{script}");
    assert_eq!(by_loadstone, by_curl, "{script}\n{}", tried.everything());
}

#[test]
fn bodies_are_those_of_curl() {
    same(
        "curl -d '{\"a\": 1.0}' $URL/raw\n\
         curl -d 'a=1&b=2 3' -d c=%41 $URL/form\n\
         curl --json '{\"tool\": \"curl\"}' --json ', \"x\": 12345678901234567890' $URL/json\n\
         curl -d @body.txt $URL/lines\n\
         curl --data-binary @body.txt -H 'Content-Type: text/plain' $URL/binary\n\
         curl -d @data.json $URL/file\n\
         curl $URL/escaped --data-raw $'{\"t\":\"a\\nb\\u00e9\\x41\"}' --compressed\n\
         curl $URL/encoded --data-urlencode 'q=a b&c=~*' --data-urlencode name@body.txt --data-urlencode '=x y'\n\
         curl -G $URL/query --data-urlencode 'q=a b' -d limit=10",
        &[],
    );
}

#[test]
fn files_and_fields_are_those_of_curl() {
    same(
        "curl -F 'p=@up.csv;type=text/csv;filename=web.csv' -F 'm={\"a\":1};type=application/json' -F 'note=<body.txt' $URL/parts\n\
         curl -F f=@body.txt -F 'g=@data.json' --form-string 'h=@plain;x' $URL/types\n\
         curl -T up.csv $URL/put/\n\
         curl -T up.csv $URL/named",
        &[],
    );
}

#[test]
fn urls_and_operations_are_those_of_curl() {
    same(
        "curl $URL/one $URL/two -o /dev/null\n\
         curl \"$URL/item/[1-3]\" \"$URL/{a,b}\"\n\
         curl -g '$URL/x?ids[]=1'\n\
         curl -d x=1 $URL/p --next -X DELETE $URL/del\n\
         curl -sS -I $URL/head | cat\n\
         curl --url-query 'z=1' '$URL/q?y=1'",
        &[],
    );
}

#[test]
fn headers_are_those_of_curl() {
    same(
        "curl -H @headers.txt -H 'Accept:' -H 'X-Empty;' -A 'my agent' -e http://ref.test/ $URL/h\n\
         curl -b 'a=1; b=2' $URL/cookies\n\
         curl -r 0-10 -H 'If-None-Match: \"x\"' -H 'Origin: http://o' $URL/ranges\n\
         curl -u 'ann:pa:ss' $URL/basic\n\
         curl -A '' $URL/nameless",
        &["aCookie=1", "bCookie=2", "username=ann", "password=pa:ss"],
    );
}

#[test]
fn input_from_the_script_is_that_of_curl() {
    same(
        "TOKEN=abc; PLACE=north\n\
         curl -H \"Authorization: Bearer $TOKEN\" \"$URL/x?y=${PLACE}&z=${NONE:-0}\"\n\
         curl -X POST $URL/heredoc -H 'Content-Type: application/json' -d @- <<EOF\n{\"place\": \"$PLACE\"}\nEOF\n\
         echo '{\"x\": 1}' | curl --json @- $URL/piped\n\
         curl -d \"$(cat data.json)\" $URL/output",
        &["token=abc"],
    );
}

/// The fixtures have the requests that JMeter 5.6.3 sent for the same plans to a server with the same responses.
#[track_caller]
fn same_as_jmeter(plan: &str) {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/files/jmeter");
    let read = |name: &str| std::fs::read_to_string(files.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let server = Recorder::new();
    let folder = Folder::new().file("plan.jmx", &read(&format!("{plan}.jmx"))).file("people.csv", &read("people.csv"));
    folder.run(&["import", "jmeter", "plan.jmx"]).code(0);
    let port = format!("port={}", server.address.rsplit(':').next().expect("a port"));
    let ran = folder.run(&["run", "plan.load.ts", "-p", &port, "--quiet"]);
    assert!(matches!(ran.status.code(), Some(0 | 4)), "{}", ran.everything());
    let mut sent: BTreeMap<Recorded, u64> = BTreeMap::new();
    for (first, mut headers, body) in server.taken() {
        headers.retain(|line| !["host: ", "user-agent: ", "accept-encoding: "].iter().any(|own| line.starts_with(own)));
        *sent.entry((first, headers, body)).or_default() += 1;
    }
    let expected: Vec<serde_json::Value> = serde_json::from_str(&read(&format!("{plan}.requests.json"))).expect("JSON");
    let expected: BTreeMap<Recorded, u64> = expected
        .iter()
        .map(|row| (serde_json::from_value(row["request"].clone()).expect("a request"), row["count"].as_u64().expect("a count")))
        .collect();
    assert_eq!(sent, expected, "{}", ran.everything());
}

#[test]
fn a_plan_sends_what_jmeter_sends() {
    same_as_jmeter("shop");
}

#[test]
fn bodies_of_a_plan_are_those_of_jmeter() {
    same_as_jmeter("bodies");
}
