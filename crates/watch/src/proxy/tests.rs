//! The proxy between real sockets. What the client and the server of a test send and receive is written out, so nothing here parses HTTP.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Nanos, Outcome};

use super::HttpProxy;
use super::record::{ProxiedRequest, ProxyRecord, ProxyRecords};
use super::spec::ProxyChoice;

/// A proxy in front of a server whose connections this function serves.
struct Proxied {
    proxy: HttpProxy,
    records: ProxyRecords,
    zero: Monotonic,
}

impl Proxied {
    fn before(serve: impl Fn(TcpStream) + Send + Clone + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serve = serve.clone();
                thread::spawn(move || serve(stream));
            }
        });
        Self::to("http", address, None)
    }

    fn to(scheme: &str, target: SocketAddr, authority: Option<&str>) -> Self {
        let mut spec = ProxyChoice::parse(&format!(":0={scheme}://{target}"), None).unwrap();
        spec.target.authority = authority.map(str::to_owned);
        let (mut proxy, records) = HttpProxy::listen(spec).unwrap();
        let zero = Monotonic::start();
        proxy.begin(zero).unwrap();
        Self { proxy, records, zero }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.proxy.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    fn record(&mut self) -> ProxyRecord {
        self.records.records.blocking_recv().expect("the proxy runs")
    }

    fn request(&mut self) -> ProxiedRequest {
        match self.record() {
            ProxyRecord::Request(request) => *request,
            ProxyRecord::NotRecorded(why) => panic!("not recorded: {why}"),
        }
    }
}

/// Reads exactly these bytes.
fn expect(stream: &mut TcpStream, bytes: &[u8]) {
    let mut found = vec![0; bytes.len()];
    stream.read_exact(&mut found).unwrap();
    assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(bytes));
}

/// Waits for the end of the connection, planned or not.
fn wait_for_end(mut stream: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    rest
}

const GET: &[u8] = b"GET /orders/4711?key=secret HTTP/1.1\r\nHost: shop\r\n\r\n";
const HEAD: &[u8] = b"HEAD /products HTTP/1.1\r\nHost: shop\r\n\r\n";
const POST: &[u8] =
    b"POST /carts HTTP/1.1\r\nhost: shop\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const OF_HEAD: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\n";
const CREATED: &[u8] =
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nid\r\n0\r\nX-Sum: 1\r\n\r\n";

#[test]
fn pipelined_requests_pass_through_unchanged_and_are_recorded_in_order() {
    let requests = [GET, HEAD, POST, GET].concat();
    let until_close = b"HTTP/1.0 500 Oh\r\n\r\nno length";
    let (wanted, responses) = (requests.clone(), [OK, OF_HEAD, CREATED, &until_close[..]].concat());
    let sent = responses.clone();
    let mut proxied = Proxied::before(move |mut stream| {
        expect(&mut stream, &wanted);
        stream.write_all(&sent).unwrap();
    });
    let mut client = proxied.connect();
    client.write_all(&requests).unwrap();
    assert_eq!(String::from_utf8_lossy(&wait_for_end(client)), String::from_utf8_lossy(&responses));
    let expected = [
        ("GET /orders/{id}", 200, Outcome::Passed, GET.len(), OK.len()),
        ("HEAD /products", 404, Outcome::Status, HEAD.len(), OF_HEAD.len()),
        ("POST /carts", 201, Outcome::Passed, POST.len(), CREATED.len()),
        ("GET /orders/{id}", 500, Outcome::Status, GET.len(), until_close.len()),
    ];
    for (name, status, outcome, bytes_sent, bytes_received) in expected {
        let request = proxied.request();
        assert_eq!((request.name.as_str(), request.status, request.outcome), (name, status, outcome));
        assert_eq!((request.bytes_sent, request.bytes_received), (bytes_sent as u64, bytes_received as u64), "{name}");
        assert!(request.delay.is_some() && request.sent_at < request.ended_at && request.ended_at <= proxied.zero.now(), "{request:?}");
    }
}

/// The server waits for 200 ms before it answers, which is its time and not the proxy's. A stall of the machine may delay some of the tries.
#[test]
fn the_time_of_the_target_is_not_the_delay_of_the_proxy() {
    const WAIT_NS: Nanos = 200_000_000;
    let mut proxied = Proxied::before(|mut stream| {
        for _ in 0..20 {
            expect(&mut stream, GET);
            thread::sleep(Duration::from_nanos(WAIT_NS));
            stream.write_all(OK).unwrap();
        }
    });
    let mut client = proxied.connect();
    let are_distinguished = (0..20).any(|_| {
        client.write_all(GET).unwrap();
        expect(&mut client, OK);
        let request = proxied.request();
        let delay = request.delay.expect("it was measured");
        assert!(request.ended_at - request.sent_at >= WAIT_NS, "{request:?}");
        delay.of_request + delay.of_response < WAIT_NS / 10 && request.phases.wait > WAIT_NS / 2
    });
    assert!(are_distinguished);
}

#[test]
fn a_switch_of_protocols_opens_a_tunnel() {
    const UPGRADE: &[u8] = b"GET /socket HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    const SWITCH: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let mut proxied = Proxied::before(|mut stream| {
        expect(&mut stream, UPGRADE);
        stream.write_all(&[SWITCH, b"hello"].concat()).unwrap();
        expect(&mut stream, b"\x81\x05GET /");
        stream.write_all(b"\x81\x02ok").unwrap();
        wait_for_end(stream);
    });
    let mut client = proxied.connect();
    client.write_all(UPGRADE).unwrap();
    expect(&mut client, &[SWITCH, b"hello"].concat());
    client.write_all(b"\x81\x05GET /").unwrap();
    expect(&mut client, b"\x81\x02ok");
    drop(client);
    let request = proxied.request();
    assert_eq!((request.name.as_str(), request.status, request.outcome), ("GET /socket", 101, Outcome::Passed));
}

#[test]
fn a_request_that_the_client_gives_up_is_aborted() {
    let mut proxied = Proxied::before(|stream| drop(wait_for_end(stream)));
    let mut client = proxied.connect();
    client.write_all(GET).unwrap();
    // The rest of the response never comes.
    client.shutdown(Shutdown::Both).unwrap();
    let request = proxied.request();
    assert!(request.is_aborted && request.outcome == Outcome::Timeout && request.delay.is_none(), "{request:?}");
}

/// A client that ends its side, as `nc -N` and HTTP/1.0 clients do, still reads.
#[test]
fn a_client_that_only_ends_its_side_gets_its_responses() {
    let mut proxied = Proxied::before(|mut stream| {
        expect(&mut stream, &GET.repeat(2));
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the end arrives before the responses");
        stream.write_all(&OK.repeat(2)).unwrap();
    });
    let mut client = proxied.connect();
    client.write_all(&GET.repeat(2)).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(wait_for_end(client), OK.repeat(2));
    for _ in 0..2 {
        let request = proxied.request();
        assert!(!request.is_aborted && request.outcome == Outcome::Passed && request.status == 200, "{request:?}");
    }
}

#[test]
fn a_target_that_breaks_off_fails_the_request_of_a_client_that_only_ended_its_side() {
    const HALF: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\nhalf";
    let mut proxied = Proxied::before(|mut stream| {
        expect(&mut stream, GET);
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the end arrives before the response");
        stream.write_all(HALF).unwrap();
    });
    let mut client = proxied.connect();
    client.write_all(GET).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(wait_for_end(client), HALF);
    let request = proxied.request();
    assert!(!request.is_aborted && request.outcome == Outcome::Reset, "{request:?}");
}

/// The system learns of a closed connection only when it sends a response. The time of such a request ends when its client gave up.
#[test]
fn a_response_that_nobody_takes_belongs_to_an_aborted_request() {
    let (ended, client_ended) = std::sync::mpsc::sync_channel(1);
    let mut proxied = Proxied::before(move |mut stream| {
        assert_eq!(wait_for_end(stream.try_clone().unwrap()), GET);
        ended.send(()).unwrap();
        stream.write_all(OK).unwrap();
        wait_for_end(stream);
    });
    let mut client = proxied.connect();
    client.write_all(GET).unwrap();
    drop(client);
    client_ended.recv().unwrap();
    let known_at = proxied.zero.now();
    let request = proxied.request();
    assert!(request.is_aborted && request.outcome == Outcome::Timeout && request.ended_at <= known_at, "{request:?}");
}

#[test]
fn the_end_of_the_run_cuts_off_requests_in_flight() {
    let (arrived, is_there) = std::sync::mpsc::sync_channel(1);
    let mut proxied = Proxied::before(move |mut stream| {
        expect(&mut stream, GET);
        arrived.send(()).unwrap();
        wait_for_end(stream);
    });
    let mut client = proxied.connect();
    client.write_all(GET).unwrap();
    is_there.recv().unwrap();
    proxied.proxy.end();
    let request = proxied.request();
    assert!(request.is_aborted && request.name == "GET /orders/{id}", "{request:?}");
}

#[test]
fn a_client_waits_for_the_permission_to_send_its_body() {
    const HEAD: &[u8] = b"PUT /file HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
    const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    let mut proxied = Proxied::before(|mut stream| {
        expect(&mut stream, HEAD);
        stream.write_all(CONTINUE).unwrap();
        expect(&mut stream, b"body");
        stream.write_all(OK).unwrap();
        // Or refuses the next one.
        expect(&mut stream, HEAD);
        stream.write_all(b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n").unwrap();
        wait_for_end(stream);
    });
    let mut client = proxied.connect();
    client.write_all(HEAD).unwrap();
    expect(&mut client, CONTINUE);
    client.write_all(b"body").unwrap();
    expect(&mut client, OK);
    client.write_all(HEAD).unwrap();
    expect(&mut client, b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n");
    drop(client);
    let (request, refused) = (proxied.request(), proxied.request());
    assert_eq!(
        (request.status, request.bytes_sent, request.bytes_received),
        (200, HEAD.len() as u64 + 4, (CONTINUE.len() + OK.len()) as u64)
    );
    assert_eq!((refused.status, refused.outcome, refused.delay), (417, Outcome::Status, None));
}

#[test]
fn trailers_pass_in_both_directions() {
    const REQUEST: &[u8] =
        b"POST /sum HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n3\r\nabc\r\n0\r\nSum: 1\r\nOther: 2\r\n\r\n";
    const RESPONSE: &[u8] =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Grpc-Status\r\n\r\n2\r\nok\r\n0\r\nGrpc-Status: 0\r\n\r\n";
    let mut proxied = Proxied::before(|mut stream| {
        for _ in 0..2 {
            expect(&mut stream, REQUEST);
            stream.write_all(RESPONSE).unwrap();
        }
    });
    let mut client = proxied.connect();
    for _ in 0..2 {
        // The trailers arrive apart from the last chunk.
        let (body, trailers) = REQUEST.split_at(REQUEST.len() - 12);
        client.write_all(body).unwrap();
        client.write_all(trailers).unwrap();
        expect(&mut client, RESPONSE);
        let request = proxied.request();
        assert_eq!((request.bytes_sent, request.bytes_received), (REQUEST.len() as u64, RESPONSE.len() as u64));
    }
}

/// The server answers and closes before the client has sent all, as for a body that is too large.
#[test]
fn a_response_before_the_end_of_its_request_arrives() {
    const REFUSED: &[u8] = b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let mut proxied = Proxied::before(|mut stream| {
        expect(&mut stream, b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nhalf");
        stream.write_all(REFUSED).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        wait_for_end(stream);
    });
    let mut client = proxied.connect();
    client.write_all(b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nhalf").unwrap();
    expect(&mut client, REFUSED);
    let request = proxied.request();
    assert_eq!((request.status, request.outcome, request.delay), (413, Outcome::Status, None));
    // What follows belongs to no request.
    let _ = client.write_all(&[b'x'; 1000]);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}

#[test]
fn requests_before_one_that_is_not_understood_keep_their_responses() {
    let smuggled = b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /other HTTP/1.1\r\n\r\n";
    let (all, responses) = ([GET, smuggled].concat(), [OK, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"].concat());
    let (wanted, sent) = (all.clone(), responses.clone());
    let mut proxied = Proxied::before(move |mut stream| {
        expect(&mut stream, &wanted);
        stream.write_all(&sent).unwrap();
    });
    let mut client = proxied.connect();
    client.write_all(&all).unwrap();
    assert_eq!(wait_for_end(client), responses);
    assert!(matches!(proxied.record(), ProxyRecord::NotRecorded(why) if why.contains("Content-Length and Transfer-Encoding")));
    let request = proxied.request();
    assert_eq!((request.name.as_str(), request.status, request.outcome), ("GET /orders/{id}", 200, Outcome::Passed));
}

#[test]
fn a_head_that_is_cut_off_reaches_the_other_side() {
    let mut proxied = Proxied::before(|mut stream| {
        assert_eq!(wait_for_end(stream.try_clone().unwrap()), [GET, b"GET /half HT"].concat());
        stream.write_all(&[OK, b"HTTP/1.1 200 OK\r\nContent-Le"].concat()).unwrap();
    });
    let mut client = proxied.connect();
    client.write_all(&[GET, b"GET /half HT"].concat()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(wait_for_end(client), [OK, b"HTTP/1.1 200 OK\r\nContent-Le"].concat());
    assert_eq!(proxied.request().status, 200);
}

#[test]
fn a_target_that_fails_is_named_by_how_it_fails() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut refused = Proxied::to("http", closed, None);
    let mut client = refused.connect();
    client.write_all(GET).unwrap();
    let answer = String::from_utf8(wait_for_end(client)).unwrap();
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("connection refused"), "{answer}");
    let request = refused.request();
    assert_eq!((request.outcome, request.status, request.name.as_str()), (Outcome::Refused, 0, "GET /orders/{id}"));
    assert!(request.message.contains("connection refused"), "{request:?}");

    for (answer, outcome, why) in [
        (&b""[..], Outcome::Reset, "closed the connection"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", Outcome::Reset, "before the response was complete"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Outcome::Protocol, "no HTTP/1.1 response"),
    ] {
        let mut proxied = Proxied::before(move |mut stream| {
            expect(&mut stream, GET);
            stream.write_all(answer).unwrap();
        });
        let mut client = proxied.connect();
        client.write_all(GET).unwrap();
        assert_eq!(wait_for_end(client), answer);
        let request = proxied.request();
        assert!(request.outcome == outcome && request.message.contains(why), "{request:?}");
    }
}

#[test]
fn bytes_that_are_no_http_pass_through_with_the_reason_in_the_record() {
    let mut proxied = Proxied::before(|mut stream| {
        expect(&mut stream, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        stream.write_all(b"\0\0\0\x04").unwrap();
    });
    let mut client = proxied.connect();
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    expect(&mut client, b"\0\0\0\x04");
    assert!(matches!(proxied.record(), ProxyRecord::NotRecorded(why) if why.contains("HTTP/2")));
}

#[test]
fn a_name_of_the_target_replaces_that_of_the_proxy() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut proxied = Proxied::to("http", listener.local_addr().unwrap(), Some("shop.example:81"));
    let mut client = proxied.connect();
    client.write_all(&[GET, GET].concat()).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let expected = String::from_utf8_lossy(GET).replace("Host: shop", "Host: shop.example:81");
    expect(&mut stream, expected.repeat(2).as_bytes());
    stream.write_all(&OK.repeat(2)).unwrap();
    expect(&mut client, &OK.repeat(2));
    assert_eq!(proxied.request().bytes_sent, GET.len() as u64);
}

/// A client that does not read stalls the server. What is between them are buffers of the kernel and one of the proxy.
#[test]
fn a_slow_reader_stalls_the_target_and_fills_no_memory() {
    const BODY: u64 = 1 << 30;
    let written = Arc::<AtomicU64>::default();
    let count = Arc::clone(&written);
    let proxied = Proxied::before(move |mut stream| {
        expect(&mut stream, GET);
        stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n").as_bytes()).unwrap();
        let piece = vec![b'x'; 64 << 10];
        while let Ok(bytes) = stream.write(&piece) {
            count.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    });
    let mut client = proxied.connect();
    client.write_all(GET).unwrap();
    let (mut last, mut same) = (u64::MAX, 0);
    while same < 25 {
        thread::sleep(Duration::from_millis(20));
        let now = written.load(Ordering::Relaxed);
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    assert!(last < BODY / 4, "{last} bytes were taken from the server");
    // The rest arrives when the client reads.
    let mut buffer = vec![0; 1 << 20];
    let mut read = 0;
    while read <= last {
        match client.read(&mut buffer) {
            Ok(0) => panic!("the response ended after {read} bytes"),
            Ok(bytes) => read += bytes as u64,
            Err(problem) => assert_eq!(problem.kind(), ErrorKind::Interrupted),
        }
    }
}

#[test]
fn connections_of_another_protocol_are_entries() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut proxied = Proxied::to("tcp", listener.local_addr().unwrap(), None);
    let mut client = proxied.connect();
    client.write_all(b"\x16\x03\x01").unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    expect(&mut stream, b"\x16\x03\x01");
    stream.write_all(b"\x15\x03").unwrap();
    expect(&mut client, b"\x15\x03");
    drop((client, stream));
    let connection = proxied.request();
    assert_eq!((connection.name.as_str(), connection.bytes_sent, connection.bytes_received), ("connection", 3, 2));
}
