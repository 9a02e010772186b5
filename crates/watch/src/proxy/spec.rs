//! Where a proxy listens and where it forwards to, as the user writes it: `proxy:18080=http://127.0.0.1:8080`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use url::{Host, Url};

use crate::error::{EXAMPLE, WatchError};

/// A proxy that is to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProxyChoice {
    pub(crate) listen: SocketAddr,
    pub(crate) target: ProxyTarget,
    /// The proxy accepts TLS with a certificate of an authority whose own certificate it writes to this file.
    pub(crate) ca: Option<PathBuf>,
}

/// What the proxy does with the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetScheme {
    Http,
    /// HTTP within TLS, which the proxy opens.
    Https,
    /// Any protocol, such as TLS of the client.
    Tcp,
}

/// The only place to which a proxy forwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProxyTarget {
    pub(crate) scheme: TargetScheme,
    /// Without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The value of `Host` that replaces the client's, if the target has a name by which servers and load balancers may choose a site.
    pub(crate) authority: Option<String>,
    /// As the user wrote it.
    pub(crate) shown: String,
}

impl ProxyChoice {
    /// Reads the part after `proxy`: `:18080=http://127.0.0.1:8080`.
    ///
    /// # Errors
    /// It is incomplete, or has what a proxy cannot use.
    pub(crate) fn parse(text: &str, ca: Option<PathBuf>) -> Result<Self, WatchError> {
        let problem =
            |problem: String| WatchError::Command { what: format!("--record proxy{}", loadstone_units::text::stored(text)), problem };
        let parts = text.strip_prefix(':').and_then(|text| text.split_once('='));
        let (listen, url) =
            parts.ok_or_else(|| problem(format!("name the port of the proxy and the URL of the system: --record {EXAMPLE}")))?;
        let listen = listen_address(listen)
            .ok_or_else(|| problem(format!("`{listen}` is no port or address: write a port, or an address and a port, as in {EXAMPLE}")))?;
        let target = ProxyTarget::parse(url).map_err(problem)?;
        let is_itself = target.port == listen.port()
            && listen.port() != 0
            && (target.host == listen.ip().to_string() || (listen.ip().is_loopback() && target.host == "localhost"));
        if is_itself {
            return Err(problem("the proxy would forward to itself: give it another port than the system".to_owned()));
        }
        if ca.is_some() && target.scheme == TargetScheme::Tcp {
            return Err(problem(
                "--proxy-ca ends the TLS of clients, and tcp:// passes it on: use https:// with it, or leave it out".to_owned(),
            ));
        }
        Ok(Self { listen, target, ca })
    }
}

/// A port alone is one of loopback.
fn listen_address(text: &str) -> Option<SocketAddr> {
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    port.parse::<u16>().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).ok().or_else(|| text.parse().ok())
}

impl ProxyTarget {
    fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|problem| format!("the URL of the system is wrong ({problem}): write it as in {EXAMPLE}"))?;
        let (scheme, default_port) = match url.scheme() {
            "http" => (TargetScheme::Http, Some(80)),
            "https" => (TargetScheme::Https, Some(443)),
            "tcp" => (TargetScheme::Tcp, None),
            other => return Err(format!("{other}:// is not forwarded: use http://, https://, or tcp:// for TLS that the proxy passes on")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the proxy sends no credentials: let the tool send them, and leave them out of the URL".to_owned());
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err("the requests have the paths: leave the path out of the URL".to_owned());
        }
        // The url crate reads addresses only in URLs of the web.
        let host = match url.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => return Err(format!("the URL has no host: write it as in {EXAMPLE}")),
        };
        let port = url.port().or(default_port).ok_or_else(|| "the URL has no port: add it, as in tcp://127.0.0.1:8443".to_owned())?;
        let is_name = host.parse::<IpAddr>().is_err() && host != "localhost";
        let authority = url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
        let authority = (is_name && scheme != TargetScheme::Tcp).then_some(authority);
        Ok(Self { scheme, host, port, authority, shown: text.trim_end_matches('/').to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> ProxyChoice {
        ProxyChoice::parse(text, None).unwrap()
    }

    #[test]
    fn a_port_alone_is_one_of_loopback() {
        for (text, listen, host, port) in [
            (":18080=http://127.0.0.1:8080", "127.0.0.1:18080", "127.0.0.1", 8080),
            (":localhost:18080=https://shop.test/", "127.0.0.1:18080", "shop.test", 443),
            (":0.0.0.0:18080=http://[::1]:8080", "0.0.0.0:18080", "::1", 8080),
            (":[::1]:0=tcp://10.0.0.1:8443", "[::1]:0", "10.0.0.1", 8443),
        ] {
            let spec = parsed(text);
            assert_eq!((spec.listen.to_string().as_str(), spec.target.host.as_str(), spec.target.port), (listen, host, port), "{text}");
        }
        assert_eq!(parsed(":1=http://shop.test:81").target.authority.as_deref(), Some("shop.test:81"));
        assert_eq!(parsed(":1=http://localhost:81").target.authority, None);
    }

    #[test]
    fn what_a_proxy_cannot_use_is_refused_with_the_remedy() {
        for (text, remedy) in [
            ("", "name the port"),
            (":18080", "name the port"),
            (":shop=http://127.0.0.1:8080", "is no port"),
            (":18080=127.0.0.1:8080", "write it as in"),
            (":18080=ftp://shop", "use http://"),
            (":18080=http://me:secret@shop/", "leave them out"),
            (":18080=http://shop/v1", "leave the path out"),
            (":18080=tcp://shop", "no port"),
            (":18080=http://localhost:18080", "forward to itself"),
        ] {
            let found = ProxyChoice::parse(text, None).unwrap_err().to_string();
            assert!(found.contains(remedy), "{text}: {found}");
        }
        assert!(ProxyChoice::parse(":1=tcp://shop:443", Some(PathBuf::from("ca.pem"))).unwrap_err().to_string().contains("use https://"));
    }
}
