//! Cookies and redirects, hop by hop.

use std::net::SocketAddr;

use loadstone_metrics::Outcome;
use loadstone_protocol::http::{Client, ClientOptions, Hops, HttpSession, SessionOptions, resolve};
use loadstone_protocol::{AllowedHosts, HostPattern};
use tokio::io::AsyncReadExt;
use url::Url;

use super::support::{failed, passed, run, serve};

/// Responds with the request's head. `/to/STATUS/…` redirects to the rest of the path, `/set/…` sets it as a cookie.
async fn site() -> SocketAddr {
    serve(|mut peer, _| async move {
        while let Some(head) = peer.request().await {
            let path = head.split(' ').nth(1).unwrap();
            let answer = if let Some(rest) = path.strip_prefix("/to/") {
                let (status, location) = rest.split_once('/').unwrap();
                format!("HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
            } else if let Some(cookie) = path.strip_prefix("/set/") {
                format!("HTTP/1.1 302 Found\r\nLocation: /\r\nSet-Cookie: {cookie}; Path=/\r\nContent-Length: 0\r\n\r\n")
            } else {
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{head}", head.len())
            };
            peer.send(answer).await;
        }
    })
    .await
}

fn url(address: SocketAddr, path: &str) -> Url {
    resolve(None, &format!("http://{address}{path}")).unwrap()
}

fn session(network: &std::rc::Rc<loadstone_protocol::Network>) -> HttpSession {
    HttpSession::new(Client::new(std::rc::Rc::clone(network), ClientOptions::default()), SessionOptions::default())
}

/// The request that the last server received, as text.
fn seen(hops: &Hops) -> &str {
    std::str::from_utf8(&passed(&hops.last.exchange).body).unwrap()
}

#[test]
fn each_redirect_is_a_separate_hop() {
    run(|network| async move {
        let address = site().await;
        let session = session(&network);
        let hops = session.send(session.request("GET", &url(address, "/to/302//to/307//end?x=1")), 10).await;
        let paths: Vec<String> = hops.iter().map(|hop| hop.url().unwrap().path().to_owned()).collect();
        assert_eq!(paths, ["/to/302//to/307//end", "/to/307//end", "/end"]);
        assert!(hops.iter().all(|hop| passed(&hop.exchange).status > 0));
        assert!(seen(&hops).contains("\r\nUser-Agent: loadstone/"));
        assert_eq!(network.connections().opened, 1);
        let first = session.send(session.request("GET", &url(address, "/to/302//end")), 0).await;
        assert_eq!((passed(&first.last.exchange).status, first.before.len()), (302, 0));
        let given = session.send_at(session.request("GET", &url(address, "/to/302//end")), 10, 17).await;
        assert_eq!(given.before[0].exchange.started, 17);
    });
}

#[test]
fn methods_change_according_to_the_fetch_standard() {
    run(|network| async move {
        let address = site().await;
        let session = session(&network);
        for (method, status, follow) in [
            ("POST", 301, "GET"),
            ("POST", 302, "GET"),
            ("POST", 303, "GET"),
            ("POST", 307, "POST"),
            ("POST", 308, "POST"),
            ("PUT", 302, "PUT"),
            ("PUT", 303, "GET"),
            ("DELETE", 303, "GET"),
        ] {
            let mut request = session.request(method, &url(address, &format!("/to/{status}//end")));
            request.body = "body".into();
            request.headers.push(("Content-Type".to_owned(), "text/plain".to_owned()));
            let hops = session.send(request, 10).await;
            let kept = follow != "GET";
            assert!(seen(&hops).starts_with(&format!("{follow} /end ")), "{method} {status}: {}", seen(&hops));
            assert_eq!(seen(&hops).contains("Content-Type"), kept);
            assert_eq!(seen(&hops).contains("Content-Length: 4"), kept);
        }
    });
}

#[test]
fn credentials_stay_with_their_origin() {
    run(|network| async move {
        let (here, there) = (site().await, site().await);
        let session = session(&network);
        let send = async |path: String| {
            let mut request = session.request("GET", &url(here, &path));
            request.headers.push(("Authorization".to_owned(), "Bearer secret".to_owned()));
            request.headers.push(("Cookie".to_owned(), "mine=1".to_owned()));
            request.headers.push(("X-Kept".to_owned(), "yes".to_owned()));
            session.send(request, 10).await
        };
        let same = send("/to/302//end".to_owned()).await;
        // In the order of the first request.
        assert!(seen(&same).contains("Authorization: Bearer secret\r\nCookie: mine=1\r\nX-Kept: yes\r\n"), "{}", seen(&same));
        let mut request = session.request("GET", &url(here, "/to/302//end"));
        request.headers.push(("Cookie".to_owned(), "mine=1".to_owned()));
        let prepared = session.prepare(request).unwrap();
        let first = session.client().send_prepared(&prepared).await;
        let followed = session.follow_prepared(&prepared, first, 10).await;
        assert!(seen(&followed).contains("Cookie: mine=1\r\n"), "{}", seen(&followed));
        let other = send(format!("/to/302/http://{there}/end")).await;
        assert!(!seen(&other).contains("Bearer") && !seen(&other).contains("Cookie") && seen(&other).contains("X-Kept: yes"));
        let user = send(format!("/to/302/http://u:p@{there}/end")).await;
        assert!(seen(&user).contains("Authorization: Basic dTpw\r\n"));
    });
}

#[test]
fn redirects_end() {
    run(|network| async move {
        let address = site().await;
        let session = session(&network);
        let endless = format!("/{}end", "to/302//".repeat(12));
        let hops = session.send(session.request("GET", &url(address, &endless)), 10).await;
        assert_eq!(failed(&hops.last.exchange), (Outcome::Protocol, "too many redirects"));
        assert_eq!(hops.iter().count(), 11);
        let hops = session.send(session.request("GET", &url(address, "/to/302/mailto:a@b")), 10).await;
        assert_eq!(failed(&hops.last.exchange), (Outcome::Protocol, "the response redirects to a URL that is not http or https"));
    });
}

/// OAuth log-ins of mobile apps redirect to `myapp://…?code=…`, and a test reads the code there.
#[test]
fn a_redirect_that_is_not_followed_remains_visible() {
    run(|network| async move {
        let address = site().await;
        let session = session(&network);
        let hops = session.send(session.request("GET", &url(address, "/to/302/myapp://callback?code=1")), 10).await;
        failed(&hops.last.exchange);
        let response = hops.last.exchange.response().unwrap();
        assert_eq!((response.status, response.headers.get("location")), (302, Some("myapp://callback?code=1")));
        let endless = session.send(session.request("GET", &url(address, "/to/302//to/302//end")), 1).await;
        failed(&endless.last.exchange);
        assert_eq!(endless.last.exchange.response().unwrap().headers.get("location"), Some("/end"));
    });
}

/// curl, Node and Go send these bytes, too.
#[test]
fn bytes_outside_ascii_are_sent_back_as_they_came() {
    run(|network| async move {
        let heads: [&[u8]; 2] = [
            b"HTTP/1.1 302 Found\r\nLocation: /echo/\xc3\xa4?q=\xc3\xb6\r\nSet-Cookie: name=Jos\xc3\xa9; Path=/\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 302 Found\r\nLocation: /echo/\xe4\r\nContent-Length: 0\r\n\r\n",
        ];
        for (head, line) in heads.into_iter().zip(["GET /echo/%C3%A4?q=%C3%B6 HTTP/1.1\r\n", "GET /echo/%E4 HTTP/1.1\r\n"]) {
            let address = serve(move |mut peer, _| async move {
                while let Some(request) = peer.request().await {
                    if request.starts_with("GET / ") {
                        peer.send(head).await;
                    } else {
                        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{request}", request.len())).await;
                    }
                }
            })
            .await;
            let session = session(&network);
            let hops = session.send(session.request("GET", &url(address, "/")), 10).await;
            let request = seen(&hops);
            assert!(request.starts_with(line), "{request}");
            assert_eq!(request.contains("\r\nCookie: name=José\r\n"), head.windows(4).any(|bytes| bytes == b"name"), "{request}");
            let first = hops.iter().next().unwrap();
            if line.contains("C3") {
                assert_eq!(passed(&first.exchange).headers.get("location"), Some("/echo/ä?q=ö"));
            }
        }
    });
}

#[test]
fn cookies_are_kept_per_user() {
    run(|network| async move {
        let address = site().await;
        let (one, two) = (session(&network), session(&network));
        // Set on the redirect, sent on the next hop.
        let hops = one.send(one.request("GET", &url(address, "/set/id=7")), 10).await;
        assert!(seen(&hops).contains("\r\nCookie: id=7\r\n"), "{}", seen(&hops));
        assert_eq!(one.cookie(&url(address, "/"), "id").as_deref(), Some("7"));
        let mut request = one.request("GET", &url(address, "/"));
        request.headers.push(("cookie".to_owned(), "flag=1".to_owned()));
        assert!(seen(&one.send(request, 10).await).contains("\r\ncookie: flag=1; id=7\r\n"));
        assert!(!seen(&two.send(two.request("GET", &url(address, "/")), 10).await).contains("ookie"));
        one.clear_cookies();
        assert!(!seen(&one.send(one.request("GET", &url(address, "/")), 10).await).contains("ookie"));
        let off = HttpSession::new(
            Client::new(std::rc::Rc::clone(&network), ClientOptions::default()),
            SessionOptions { cookies: false, ..SessionOptions::default() },
        );
        let hops = off.send(off.request("GET", &url(address, "/set/id=7")), 10).await;
        assert!(!seen(&hops).contains("Cookie"));
    });
}

#[test]
fn parallel_requests_of_one_user_share_its_cookies() {
    run(|network| async move {
        let address = site().await;
        let session = session(&network);
        let requests = (0..8).map(|i| session.request("GET", &url(address, &format!("/set/c{i}={i}"))));
        let all = futures_util::future::join_all(requests.map(|request| session.send(request, 10))).await;
        assert!(all.iter().all(|hops| passed(&hops.last.exchange).status == 200));
        let hops = session.send(session.request("GET", &url(address, "/")), 10).await;
        assert!((0..8).all(|i| seen(&hops).contains(&format!("c{i}={i}"))));
        assert!(network.connections().opened <= 6);
    });
}

#[test]
fn a_redirect_to_an_unnamed_host_fails_and_keeps_its_location() {
    run(|network| async move {
        let address = site().await;
        let elsewhere = format!("/to/302/http://localhost:{}/end", address.port());
        for (hosts, follows) in [(None, false), (Some(HostPattern::host("localhost")), true)] {
            let options = SessionOptions { redirect_hosts: AllowedHosts::only(hosts), ..SessionOptions::default() };
            let session = HttpSession::new(Client::new(std::rc::Rc::clone(&network), ClientOptions::default()), options);
            let mut request = session.request("GET", &url(address, &elsewhere));
            request.headers.push(("X-Api-Key".to_owned(), "k3y".to_owned()));
            let hops = session.send(request, 10).await;
            if follows {
                assert!(seen(&hops).starts_with("GET /end ") && !seen(&hops).contains("k3y"), "{}", seen(&hops));
                continue;
            }
            let (outcome, message) = failed(&hops.last.exchange);
            assert_eq!(outcome, Outcome::Protocol);
            assert!(message.contains("redirects to localhost, which the test does not name"), "{message}");
            let kept = hops.last.exchange.answer.as_ref().expect("the redirect itself");
            assert_eq!((kept.status, kept.headers.get("location").is_some()), (302, true));
            assert_eq!(hops.before.len(), 0, "the other host received no request");
        }
    });
}

/// RFC 6265 has no encoding: a server reads the bytes that it has set.
#[test]
fn cookies_come_back_with_the_bytes_that_were_received() {
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            let sets = "HTTP/1.1 200 OK\r\nSet-Cookie: latin=Jos\u{e9}; Path=/\r\nContent-Length: 0\r\nset-cookie: utf8=Jos\u{c3}\u{a9}; Path=/\r\n\r\n";
            let _ = peer.request().await;
            peer.send(sets.chars().map(|byte| byte as u8).collect::<Vec<_>>()).await;
            let mut head = vec![0; 4096];
            let count = peer.stream.read(&mut head).await.unwrap();
            peer.send([format!("HTTP/1.1 200 OK\r\nContent-Length: {count}\r\n\r\n").as_bytes(), &head[..count]].concat()).await;
        })
        .await;
        let session = session(&network);
        session.send(session.request("GET", &url(address, "/")), 0).await;
        assert_eq!(session.cookie(&url(address, "/"), "latin").as_deref(), Some("José"));
        let hops = session.send(session.request("GET", &url(address, "/")), 0).await;
        let sent = &passed(&hops.last.exchange).body;
        let cookies = b"\r\nCookie: latin=Jos\xe9; utf8=Jos\xc3\xa9\r\n";
        assert!(sent.windows(cookies.len()).any(|part| part == cookies), "{:?}", String::from_utf8_lossy(sent));
    });
}
