//! Unix sockets and HTTP proxies.

use std::cell::RefCell;
use std::rc::Rc;

use loadstone_metrics::Outcome;
use loadstone_metrics::clock::{Clock, Monotonic};
use loadstone_protocol::http::{Origin, PreparedRequest, Request, resolve};
use loadstone_protocol::ws::{SocketOptions, open};
use loadstone_protocol::{DirectHosts, Network, NetworkOptions, NetworkRoute, Proxy, ProxyRules};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener};

use super::support::{client, failed, get, passed, run, serve, serve_bytes, shared};
use super::tls::{Authority, acceptor, answer_ok, over_tls, trusting};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn routed(options: NetworkOptions, route: NetworkRoute) -> Rc<Network> {
    Network::new(Clock::real(Monotonic::start()), NetworkOptions { route, ..options }).unwrap()
}

#[test]
fn a_unix_socket_replaces_any_host() {
    let folder = tempfile::tempdir().unwrap();
    run(|_| async {
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        tokio::task::spawn_local(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 4096];
            while let Ok(1..) = stream.read(&mut buffer).await {
                assert!(buffer.starts_with(b"GET /containers HTTP/1.1\r\nHost: docker\r\n"));
                stream.write_all(OK.as_bytes()).await.unwrap();
            }
        });
        let network = routed(NetworkOptions::default(), NetworkRoute::Unix(path));
        let client = client(&network);
        let origin = Rc::new(Origin { tls: false, host: "docker".to_owned(), port: 80 });
        let request = Request { origin, ..get("127.0.0.1:1".parse().unwrap(), "/containers") };
        for turn in 0..3 {
            let exchange = client.send(&request).await;
            assert_eq!((&passed(&exchange).body[..], exchange.connected), (&b"ok"[..], turn == 0));
        }
        let nowhere = routed(NetworkOptions::default(), NetworkRoute::Unix(folder.path().join("missing")));
        let exchange = super::support::client(&nowhere).send(&request).await;
        assert_eq!(failed(&exchange), (Outcome::Connect, "no Unix socket exists at this path"));
    });
}

#[test]
fn a_proxy_forwards_plain_requests() {
    run(|_| async move {
        let seen = shared();
        let proxy_seen = Rc::clone(&seen);
        let proxy = serve(move |mut peer, _| {
            let seen = Rc::clone(&proxy_seen);
            async move {
                while let Some(head) = peer.request().await {
                    seen.borrow_mut().push(head);
                    peer.send(OK).await;
                }
            }
        })
        .await;
        let url = resolve(None, &format!("http://me:secret@{proxy}")).unwrap();
        let network = routed(NetworkOptions::default(), Proxy::of(&url).unwrap().into());
        let client = client(&network);
        let request = get("203.0.113.9:8080".parse().unwrap(), "/x?y=z");
        passed(&client.send(&request).await);
        passed(&client.send_prepared(&PreparedRequest::new(&request).unwrap()).await);
        for head in &*seen.borrow() {
            assert!(head.starts_with("GET http://203.0.113.9:8080/x?y=z HTTP/1.1\r\nHost: 203.0.113.9:8080\r\n"), "{head}");
            assert!(head.contains("\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n"));
        }
        // Requests to other origins use the same connection.
        passed(&client.send(&get("203.0.113.10:81".parse().unwrap(), "/")).await);
        assert!(seen.borrow()[2].starts_with("GET http://203.0.113.10:81/ HTTP/1.1\r\n"), "{}", seen.borrow()[2]);
        assert_eq!((seen.borrow().len(), network.connections().opened), (3, 1));
    });
}

#[test]
fn proxies_apply_by_scheme_and_not_to_direct_hosts() {
    run(|_| async move {
        let (proxied, direct) = (shared::<String>(), shared::<String>());
        let recording = |seen: &Rc<RefCell<Vec<String>>>| {
            let seen = Rc::clone(seen);
            serve(move |mut peer, _| {
                let seen = Rc::clone(&seen);
                async move {
                    while let Some(head) = peer.request().await {
                        seen.borrow_mut().push(head.lines().next().unwrap_or_default().to_owned());
                        peer.send(OK).await;
                    }
                }
            })
        };
        let (proxy, target) = (recording(&proxied).await, recording(&direct).await);
        let proxy = Proxy::parse(&format!("http://{proxy}")).unwrap();
        let send = async |rules: ProxyRules| {
            let network = routed(NetworkOptions::default(), rules.into());
            passed(&client(&network).send(&get(target, "/")).await);
            (proxied.take().len(), direct.take())
        };
        let through = |rules: ProxyRules| ProxyRules { all: rules.all.or_else(|| Some(proxy.clone())), ..rules };
        assert_eq!(send(through(ProxyRules::default())).await, (1, vec![]));
        assert_eq!(send(ProxyRules { http: Some(proxy.clone()), ..ProxyRules::default() }).await, (1, vec![]));
        let of_tls = ProxyRules { https: Some(proxy.clone()), ..ProxyRules::default() };
        // In origin form, since no proxy forwards it.
        assert_eq!(send(of_tls).await, (0, vec!["GET / HTTP/1.1".to_owned()]));
        let excluded = ProxyRules { direct: DirectHosts::parse("127.0.0.0/8"), ..ProxyRules::default() };
        assert_eq!(send(through(excluded)).await, (0, vec!["GET / HTTP/1.1".to_owned()]));
    });
}

/// A proxy that only opens tunnels.
async fn tunneller() -> Proxy {
    let address = serve(|mut peer, _| async move {
        let head = peer.head().await.unwrap();
        let Some(target) = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()) else {
            return peer.send("HTTP/1.1 405 Only Tunnels\r\nContent-Length: 0\r\n\r\n").await;
        };
        let mut target = TcpStream::connect(target).await.unwrap();
        peer.send("HTTP/1.1 200 Connection Established\r\n\r\n").await;
        let _ = copy_bidirectional(&mut peer.stream, &mut target).await;
    })
    .await;
    Proxy::of(&resolve(None, &format!("http://{address}")).unwrap()).unwrap()
}

#[test]
fn tls_and_sockets_go_through_a_tunnel() {
    let authority = Authority::new("Known");
    let (certificate, key) = authority.sign(&["localhost"], |_| {});
    run(|_| async {
        let network = routed(trusting(&authority), tunneller().await.into());
        let acceptor = acceptor(certificate.der().clone(), &key, None, &[]);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::task::spawn_local(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                if let Ok(stream) = acceptor.accept(stream).await {
                    tokio::task::spawn_local(answer_ok(stream));
                }
            }
        });
        let exchange = client(&network).send(&over_tls(address, "localhost")).await;
        assert_eq!(passed(&exchange).body, "ok");
        assert!(exchange.phases.connect > 0 && exchange.phases.tls > 0);
        let declined = serve_bytes("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n").await;
        let opening = open(&network, get(declined, "/"), &SocketOptions::default()).await;
        assert_eq!(passed(&opening.exchange).status, 403);
    });
}

#[test]
fn a_proxy_that_refuses_is_named() {
    run(|_| async move {
        for (answer, message) in [
            ("HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n", "requires a user name and password: put them into its URL (status 407)"),
            ("HTTP/1.1 502 Bad\r\nContent-Length: 3\r\n\r\nbad", "did not open a tunnel: status 502"),
        ] {
            let address = serve_bytes(answer).await;
            let message = &*format!("the proxy {address} {message}");
            let url = resolve(None, &format!("http://{address}")).unwrap();
            let network = routed(NetworkOptions::default(), Proxy::of(&url).unwrap().into());
            let exchange = client(&network).send(&over_tls("127.0.0.1:1".parse().unwrap(), "localhost")).await;
            assert_eq!(failed(&exchange), (Outcome::Connect, message));
        }
        let proxy = Proxy::of(&resolve(None, "http://127.0.0.1:1").unwrap()).unwrap();
        let network = routed(NetworkOptions::default(), proxy.into());
        let exchange = client(&network).send(&get("127.0.0.1:2".parse().unwrap(), "/")).await;
        assert_eq!(failed(&exchange), (Outcome::Refused, "proxy: connection refused"));
    });
}

/// The target has not received a request to which a proxy answers 407.
#[test]
fn a_proxy_that_wants_credentials_is_named_also_for_plain_requests() {
    run(|_| async move {
        const WANTED: &str = "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\nContent-Length: 3\r\n\r\nwho";
        for (user, problem) in [
            ("", "requires a user name and password: put them into its URL"),
            ("me:wrong@", "does not accept the user name and password of its URL"),
        ] {
            let address = serve_bytes(WANTED).await;
            let url = resolve(None, &format!("http://{user}{address}")).unwrap();
            let network = routed(NetworkOptions::default(), Proxy::of(&url).unwrap().into());
            let exchange = client(&network).send(&get("127.0.0.1:1".parse().unwrap(), "/")).await;
            assert_eq!(failed(&exchange), (Outcome::Connect, &*format!("the proxy {address} {problem} (status 407)")));
            let response = exchange.response().unwrap();
            assert_eq!((response.status, &response.body[..]), (407, &b"who"[..]));
        }
        // A target's own 407 is its response.
        let address = serve_bytes(WANTED).await;
        run_directly(&get(address, "/")).await;
    });
}

async fn run_directly(request: &Request) {
    let network = routed(NetworkOptions::default(), NetworkRoute::Direct);
    assert_eq!(passed(&client(&network).send(request).await).status, 407);
}
