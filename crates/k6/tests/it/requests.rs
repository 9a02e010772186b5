//! Requests on the wire, against a server that records what it receives.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use loadstone_engine::{Arrival, Iteration, IterationEnd, UserFactory, VirtualUser, WorkerContext};
use loadstone_k6::{K6Inputs, K6Sinks, K6Users};
use loadstone_metrics::clock::{Clock, Monotonic};
use loadstone_metrics::{MetricValue, Outcome, Recorder, SeriesKind, Snapshot};
use loadstone_plan::ScenarioId;

use crate::harness::{folder, loaded};

/// Head and body of each request, in the order of their arrival.
type Received = Arc<Mutex<Vec<String>>>;

/// Answers by path. `/wait/N` answers when N such requests have arrived, and `/never` never.
fn server() -> (u16, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let received = Received::default();
    let of_threads = Arc::clone(&received);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let received = Arc::clone(&of_threads);
            std::thread::spawn(move || serve(stream, &received));
        }
    });
    (port, received)
}

fn serve(mut stream: TcpStream, received: &Mutex<Vec<String>>) {
    let mut buffer = Vec::new();
    while let Some(request) = next_request(&mut stream, &mut buffer) {
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        received.lock().unwrap().push(request);
        let arrived = || received.lock().unwrap().iter().filter(|request| request.contains(" /wait/")).count();
        if let Some(wanted) = path.strip_prefix("/wait/").and_then(|wanted| wanted.parse::<usize>().ok()) {
            while arrived() < wanted {
                std::thread::yield_now();
            }
        }
        let answer = match path.as_str() {
            "/never" => continue,
            "/redirect" => "HTTP/1.1 302 Found\r\nLocation: /target\r\nContent-Length: 0\r\n\r\n".to_owned(),
            "/page/forms" => {
                let body = "<form action='../sent' method='post'><input name='user' value='ann'><input type='submit' name='go' value='Go'></form>\
                            <form id='search' action='/find?old=1'><input name='q' value='a b'></form><a href='next?p=2'>next</a>";
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            }
            "/failing" => "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n".to_owned(),
            _ => {
                let body = r#"{"id": 7, "list": [{"n": 1}, {"n": 2}]}"#;
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nset-cookie: sid=abc; Path=/\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                )
            }
        };
        stream.write_all(answer.as_bytes()).unwrap();
    }
}

fn next_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<String> {
    loop {
        let text = String::from_utf8_lossy(buffer).into_owned();
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
            if rest.len() >= length {
                let request = format!("{head}\r\n\r\n{}", &rest[..length]);
                buffer.drain(..request.len());
                return Some(request);
            }
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return None,
            Ok(read) => buffer.extend_from_slice(&chunk[..read]),
        }
    }
}

/// The result of iterations of one VU.
struct Ran {
    ends: Vec<IterationEnd>,
    received: Vec<String>,
    printed: Vec<String>,
    snapshot: Snapshot,
}

/// Runs iterations of a script. It finds the server at `B`. `until`: drops the first iteration when the server has received this many requests.
fn run(script: &str, iterations: u64, until: Option<usize>) -> Ran {
    let (port, received) = server();
    let script = format!("import http from 'k6/http';\nconst B = 'http://127.0.0.1:{port}';\n{script}");
    let folder = folder(&[("script.js", &script)]);
    let test = Arc::new(loaded(folder.path(), &K6Inputs::default()).unwrap_or_else(|error| panic!("{}", error.render())));
    let clock = Clock::real(Monotonic::start());
    let recorder = Rc::new(RefCell::new(Recorder::new(0, 100)));
    let context = WorkerContext { index: 0, workers: 1, first: 0, clock: clock.clone(), recorder: Rc::clone(&recorder) };
    let printed = Rc::<RefCell<Vec<String>>>::default();
    let lines = Rc::clone(&printed);
    let sinks = K6Sinks { console: Some(Rc::new(move |line: &str| lines.borrow_mut().push(line.to_owned()))), ..K6Sinks::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let ends = runtime.block_on(async {
        let users = K6Users::new(&test, &context, sinks).unwrap();
        let mut user = users.new_user(0, ScenarioId(0), 0).unwrap();
        let mut ends = Vec::new();
        for sequence in 0..iterations {
            let arrival = Arrival { scheduled: clock.now(), scenario: ScenarioId(0), sequence };
            let iteration = Iteration { arrival, leaf: 0, open: false, waited_for_user: false, load_end: Rc::new(Cell::new(u64::MAX)) };
            let mut running = pin!(user.iterate(iteration));
            let end = poll_fn(|context| {
                if let Poll::Ready(end) = running.as_mut().poll(context) {
                    return Poll::Ready(Some(end));
                }
                let is_cut = sequence == 0 && until.is_some_and(|until| received.lock().unwrap().len() >= until);
                if until.is_some() {
                    context.waker().wake_by_ref();
                }
                if is_cut { Poll::Ready(None) } else { Poll::Pending }
            })
            .await;
            ends.extend(end);
        }
        ends
    });
    let received = received.lock().unwrap().iter().map(|request| request.replace(&format!("127.0.0.1:{port}"), "HOST")).collect();
    let snapshot = recorder.borrow_mut().drain(0, 0, clock.now());
    Ran { ends, received, printed: printed.take(), snapshot }
}

impl Ran {
    fn passed(self) -> Self {
        let passed = self.ends.iter().all(|end| *end == IterationEnd::Ended(Outcome::Passed));
        assert!(passed && !self.ends.is_empty(), "{:?}: {:?}", self.ends, self.printed);
        self
    }

    fn metric(&self, name: &str) -> (u64, f64) {
        let metric = self.snapshot.metrics.iter().find(|metric| &*metric.name == name && metric.tags.is_empty());
        match &metric.unwrap_or_else(|| panic!("no {name}")).value {
            MetricValue::Counter { count, sum } => (*count, *sum),
            MetricValue::Rate { count, hits } => (*count, *hits as f64),
            other => panic!("{other:?}"),
        }
    }
}

const AGENT: &str = concat!("User-Agent: loadstone/", env!("CARGO_PKG_VERSION"));

#[test]
fn requests_are_sent_as_written() {
    let ran = run(
        "export default function () {
           http.post(`${B}/a`, JSON.stringify({ a: 1 }));
           http.post(`${B}/b`, { b: ['x', 'y'], a: 'ä b' }, { headers: { 'X-A': 1 }, cookies: { k: 'v' } });
           http.del(`${B}/c`);
           http.put(`${B}/d`, new Uint8Array([104, 105]).buffer);
           http.request('GET', `${B}/e?x=1#f`);
         }",
        1,
        None,
    )
    .passed();
    let cookie = "Cookie: sid=abc";
    assert_eq!(
        ran.received,
        [
            format!("POST /a HTTP/1.1\r\nHost: HOST\r\n{AGENT}\r\nContent-Length: 7\r\n\r\n{{\"a\":1}}"),
            format!(
                "POST /b HTTP/1.1\r\nHost: HOST\r\nX-A: 1\r\nContent-Type: application/x-www-form-urlencoded\r\n{AGENT}\r\nCookie: k=v; sid=abc\r\n\
                 Content-Length: 18\r\n\r\na=%C3%A4+b&b=x&b=y"
            ),
            format!("DELETE /c HTTP/1.1\r\nHost: HOST\r\n{AGENT}\r\n{cookie}\r\n\r\n"),
            format!("PUT /d HTTP/1.1\r\nHost: HOST\r\n{AGENT}\r\n{cookie}\r\nContent-Length: 2\r\n\r\nhi"),
            format!("GET /e?x=1 HTTP/1.1\r\nHost: HOST\r\n{AGENT}\r\n{cookie}\r\n\r\n"),
        ]
    );
}

#[test]
fn a_vu_forgets_its_cookies_before_each_iteration() {
    let ran = run("export default function () { http.get(`${B}/a`); http.get(`${B}/b`); }", 2, None).passed();
    let with_cookie: Vec<bool> = ran.received.iter().map(|request| request.contains("Cookie: sid=abc")).collect();
    assert_eq!(with_cookie, [false, true, false, true]);
}

#[test]
fn redirects_are_followed_up_to_their_limit_and_counted() {
    let ran = run(
        "export const options = { thresholds: { http_reqs: ['count>0'] } };
         export default function () {
           const followed = http.get(`${B}/redirect`);
           const not = http.get(`${B}/redirect`, { redirects: 0 });
           console.log(followed.status, followed.url.endsWith('/target'), not.status, not.headers.Location);
         }",
        1,
        None,
    )
    .passed();
    assert_eq!((ran.printed.as_slice(), ran.metric("http_reqs")), (&["200 true 302 /target".to_owned()][..], (3, 3.0)));
}

#[test]
fn a_batch_is_sent_in_parallel_and_answered_in_order() {
    let ran = run(
        "export default function () {
           const [a, b] = http.batch([['GET', `${B}/wait/2`], `${B}/wait/2`]);
           console.log(a.status, b.json('list.#.n'));
         }",
        1,
        None,
    )
    .passed();
    assert_eq!(ran.printed, ["200 [1,2]"]);
}

#[test]
fn responses_report_failures_as_k6_does() {
    let ran = run(
        "export const options = { thresholds: { http_req_failed: ['rate<1'] } };
         export default function () {
           const failing = http.get(`${B}/failing`);
           console.log(failing.status, JSON.stringify(failing.error), failing.error_code, failing.headers['Content-Length']);
           const refused = http.get('http://127.0.0.1:1/');
           console.log(refused.status, refused.error !== '', refused.error_code, refused.body);
           const invalid = http.get('ftp://h/');
           console.log(invalid.status, invalid.error_code);
           const expected = http.get(`${B}/failing`, { responseCallback: http.expectedStatuses(500) });
           http.get(`${B}/failing`, { responseCallback: null });
           try { http.get('http://127.0.0.1:1/', { throw: true }); } catch (error) { console.log('thrown'); }
         }",
        1,
        None,
    )
    .passed();
    assert_eq!(ran.printed, ["500 \"\" 1500 0", "0 true 1212 null", "0 1000", "thrown"]);
    assert_eq!(ran.metric("http_req_failed"), (5, 4.0));
}

#[test]
fn members_of_a_response_are_its_own_and_can_be_replaced() {
    let ran = run(
        "export default function () {
           const response = http.get(`${B}/a#part`);
           const written = JSON.parse(JSON.stringify(response));
           console.log(Object.keys(response).sort().join());
           console.log(written.headers['Content-Type'], written.request.method, written.timings.duration > 0, response.url === `${B}/a`);
           console.log(response.timings === response.timings, response.headers === response.headers);
           response.headers = { replaced: 1 };
           console.log(response.headers.replaced, response.cookies.sid[0].value);
           const refused = http.get('http://127.0.0.1:1/');
           console.log(JSON.stringify(refused.headers), refused.request.url, refused.timings.receiving);
           console.log(JSON.stringify(http.get('ftp://h/').timings));
         }",
        1,
        None,
    )
    .passed();
    let expected = [
        "body,error,error_code,headers,proto,request,status,timings,url",
        "application/json GET true true",
        "true true",
        "1 abc",
        "{} http://127.0.0.1:1/ 0",
        "{}",
    ];
    assert_eq!(ran.printed, expected);
}

#[test]
fn asynchronous_requests_settle_their_promises() {
    let ran = run(
        "export default async function () {
           const both = await Promise.all([http.asyncRequest('GET', `${B}/wait/2`), http.asyncRequest('GET', `${B}/wait/2`)]);
           console.log(both.map((response) => response.json('id')).join());
         }",
        1,
        None,
    )
    .passed();
    assert_eq!(ran.printed, ["7,7"]);
}

#[test]
fn an_interrupted_request_is_recorded_and_the_vu_continues() {
    let ran = run(
        "export default function () {
           if (__ITER === 0) try { http.get(`${B}/never`, { tags: { name: 'Never' } }); } finally { console.log('not printed'); }
           http.get(`${B}/next`);
         }",
        2,
        Some(1),
    );
    assert_eq!((ran.ends.as_slice(), ran.printed.len()), (&[IterationEnd::Ended(Outcome::Passed)][..], 0));
    let never = ran.snapshot.series.iter().find(|series| &*series.key.name == "Never" && series.key.kind == SeriesKind::Request).unwrap();
    assert_eq!((never.count, never.censored.count()), (0, 1));
    assert_eq!(ran.received.iter().filter(|request| request.starts_with("GET /next")).count(), 1);
}

#[test]
fn forms_and_links_of_pages_are_followed() {
    let ran = run(
        "export default function () { const page = http.get(`${B}/page/forms`);
           page.submitForm({ fields: { user: 'bob' } }); page.submitForm({ formSelector: '#search' }); page.clickLink();
           console.log(page.html('a').text()); try { page.clickLink({ selector: 'b' }); } catch (error) { console.log(error.message); } }",
        1,
        None,
    )
    .passed();
    let sent = |index: usize| ran.received[index].split("\r\n").next().unwrap().to_owned();
    assert_eq!([sent(1), sent(2), sent(3)], ["POST /sent HTTP/1.1", "GET /find?q=a+b HTTP/1.1", "GET /page/next?p=2 HTTP/1.1"]);
    assert!(ran.received[1].ends_with("\r\n\r\ngo=Go&q=a+b&user=bob"), "{}", ran.received[1]);
    assert!(ran.printed[0] == "next" && ran.printed[1].starts_with("no element found for selector 'b'"), "{:?}", ran.printed);
}

#[test]
fn a_separate_jar_is_used_by_the_requests_that_name_it() {
    let ran = run(
        "const jar = new http.CookieJar();
         export default function () {
           http.cookieJar().set(B, 'of', 'vu');
           jar.set(B, 'of', 'jar');
           http.get(B + '/redirect', { jar });
           http.batch([['GET', B + '/batch', null, { jar }]]);
           http.get(B + '/vu', { jar: http.cookieJar() });
           http.get(B + '/no-jar', { jar: {} });
           console.log(JSON.stringify(jar.cookiesForURL(B)), JSON.stringify(new http.CookieJar().cookiesForURL(B)));
         }",
        1,
        None,
    )
    .passed();
    let cookies = |request: &String| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let cookie = request.lines().find_map(|line| line.strip_prefix("Cookie: ")).unwrap_or_default();
        format!("{path} {cookie}")
    };
    let sent: Vec<String> = ran.received.iter().map(cookies).collect();
    // The responses set `sid`, each in the jar of its request.
    assert_eq!(sent, ["/redirect of=jar", "/target of=jar", "/batch of=jar; sid=abc", "/vu of=vu", "/no-jar of=vu; sid=abc"]);
    assert_eq!(ran.printed, [r#"{"of":["jar"],"sid":["abc"]} {}"#]);
}

/// As k6 1.4.2 sends them.
#[test]
fn cookies_of_a_call_are_sent_next_to_those_of_the_jar() {
    let ran = run(
        "export default function () {
           http.cookieJar().set(B, 'a', 'jar');
           http.get(B + '/both', { cookies: { a: 'own' } });
           http.get(B + '/replaced', { cookies: { a: { value: 'own', replace: true } } });
           http.get(B + '/redirect', { cookies: { a: 'own' }, headers: { Cookie: 'line=1' } });
           http.get(B + '/quoted', { jar: new http.CookieJar(), cookies: { a: 'x y;\"z' } });
         }",
        1,
        None,
    )
    .passed();
    let cookies = |request: &String| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let cookie = request.lines().find_map(|line| line.strip_prefix("Cookie: ")).unwrap_or_default();
        format!("{path} {cookie}")
    };
    let sent: Vec<String> = ran.received.iter().map(cookies).collect();
    assert_eq!(
        sent,
        [
            "/both a=own; a=jar",
            "/replaced a=own; sid=abc",
            "/redirect line=1; a=own; a=jar; sid=abc",
            "/target a=own; a=jar; sid=abc",
            "/quoted a=\"x yz\"",
        ]
    );
}

#[test]
fn a_response_names_the_other_end_of_its_connection() {
    let ran = run(
        "export default function () {
           const [there, nowhere] = [http.get(B + '/x'), http.get('http://127.0.0.1:1/')];
           console.log(B === `http://${there.remote_ip}:${there.remote_port}`, there.tls_version, JSON.stringify(there.ocsp.status));
           console.log(JSON.stringify([nowhere.remote_ip, nowhere.remote_port]));
         }",
        1,
        None,
    )
    .passed();
    assert_eq!(ran.printed, ["true  \"\"", r#"["",0]"#]);
}

#[test]
fn system_tags_are_those_of_the_option() {
    let counted = |options: &str| {
        let script = format!(
            "export const options = {{ {options} thresholds: {{ 'http_reqs{{status:200}}': ['count>0'], 'http_reqs{{ip:127.0.0.1}}': ['count>0'],
               'http_reqs{{vu:1}}': ['count>0'], 'http_reqs{{kind:x}}': ['count>0'] }} }};
             export default function () {{ http.get(B + '/x', {{ tags: {{ kind: 'x' }} }}); }}"
        );
        let parts = run(&script, 1, None).passed().snapshot.metrics;
        let tags = parts.iter().filter(|metric| &*metric.name == "http_reqs").flat_map(|metric| metric.tags.iter());
        tags.map(|(name, _)| name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(counted(""), ["kind", "status"]);
    assert_eq!(counted("systemTags: ['ip', 'vu'],"), ["ip", "kind"]);
    assert_eq!(counted("systemTags: [],"), ["kind"]);
}
