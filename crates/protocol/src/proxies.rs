//! Which proxy a connection uses: by the scheme of its requests, and by the hosts that are reached directly. The same rules as curl's.

use std::net::IpAddr;

use url::Url;

use crate::http::Origin;
use crate::proxy::{Proxy, ProxyError};

/// The port of a proxy in the environment that names none, as in curl.
const ENVIRONMENT_PORT: u16 = 1080;

/// The requests of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProxiedScheme {
    /// `http`, and `ws`, which begins as HTTP.
    Http,
    /// `https` and `wss`.
    Https,
    /// Redis, SQL, Kafka and raw TCP.
    Other,
}

impl ProxiedScheme {
    pub(crate) fn of_http(tls: bool) -> Self {
        if tls { Self::Https } else { Self::Http }
    }
}

/// Proxies by scheme, and hosts without one.
#[derive(Debug, Clone, Default)]
pub struct ProxyRules {
    pub http: Option<Proxy>,
    pub https: Option<Proxy>,
    /// For all connections that have no proxy of their scheme.
    pub all: Option<Proxy>,
    pub direct: DirectHosts,
}

impl ProxyRules {
    /// From the variables that curl reads: `http_proxy`, `https_proxy`, `HTTPS_PROXY`, `all_proxy`, `ALL_PROXY`, `no_proxy` and `NO_PROXY`. Empty
    /// ones count as missing. `HTTP_PROXY` is not read, since clients of CGI programs can set it.
    ///
    /// # Errors
    /// The variable, and why its value is no proxy. Without credentials.
    pub fn from_environment(read: impl Fn(&str) -> Option<String>) -> Result<Self, (&'static str, ProxyError)> {
        let first =
            |names: &[&'static str]| names.iter().find_map(|name| read(name).filter(|value| !value.is_empty()).map(|value| (*name, value)));
        let proxy = |names: &[&'static str]| {
            let Some((name, value)) = first(names) else { return Ok(None) };
            let text = if value.contains("://") { value } else { format!("http://{value}") };
            Proxy::parse_with_port(&text, ENVIRONMENT_PORT).map(Some).map_err(|error| (name, error))
        };
        Ok(Self {
            http: proxy(&["http_proxy"])?,
            https: proxy(&["https_proxy", "HTTPS_PROXY"])?,
            all: proxy(&["all_proxy", "ALL_PROXY"])?,
            direct: DirectHosts::parse(&first(&["no_proxy", "NO_PROXY"]).unwrap_or_default().1),
        })
    }

    pub(crate) fn proxy_for(&self, scheme: ProxiedScheme, host: &str) -> Option<&Proxy> {
        let own = match scheme {
            ProxiedScheme::Http => self.http.as_ref(),
            ProxiedScheme::Https => self.https.as_ref(),
            ProxiedScheme::Other => None,
        };
        own.or(self.all.as_ref()).filter(|_| !self.direct.contains(host))
    }

    /// The proxy for requests to a URL.
    pub fn proxy_to(&self, url: &Url) -> Option<&Proxy> {
        let origin = Origin::of(url);
        self.proxy_for(ProxiedScheme::of_http(origin.tls), &origin.host)
    }
}

impl From<Proxy> for ProxyRules {
    fn from(proxy: Proxy) -> Self {
        Self { all: Some(proxy), ..Self::default() }
    }
}

/// Hosts that are reached without a proxy: the value of `NO_PROXY`, read as curl does.
///
/// - `*` alone: all hosts.
/// - A name: this host and those below it. A leading or trailing dot is ignored, and so is case.
/// - An address, or a block such as `10.0.0.0/8`. Names are not resolved. curl 7.88 compares IPv6 addresses as text; later versions read them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectHosts {
    all: bool,
    entries: Vec<String>,
}

impl DirectHosts {
    /// From entries between commas or blanks.
    pub fn parse(text: &str) -> Self {
        let entries = text.split([',', ' ', '\t']).filter(|entry| !entry.is_empty()).map(str::to_ascii_lowercase);
        if text == "*" { Self { all: true, entries: Vec::new() } } else { Self { all: false, entries: entries.collect() } }
    }

    /// `host`: a name in lower case or an address, without brackets.
    fn contains(&self, host: &str) -> bool {
        if self.all || self.entries.is_empty() {
            return self.all;
        }
        match host.parse::<IpAddr>() {
            Ok(address) => self.entries.iter().any(|entry| is_address_in(address, entry)),
            Err(_) => self.entries.iter().any(|entry| is_name_in(host.strip_suffix('.').unwrap_or(host), entry)),
        }
    }
}

fn is_name_in(name: &str, entry: &str) -> bool {
    let entry = entry.strip_suffix('.').unwrap_or(entry);
    let entry = entry.strip_prefix('.').unwrap_or(entry);
    match name.strip_suffix(entry) {
        Some("") => true,
        Some(below) => !entry.is_empty() && below.ends_with('.'),
        None => false,
    }
}

/// A length of 0, or one that is no number, compares the whole address, as in curl.
fn is_address_in(address: IpAddr, entry: &str) -> bool {
    let (network, length) = entry.split_once('/').unwrap_or((entry, ""));
    let digits = length.len() - length.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let wanted: u32 = length[..digits].parse().unwrap_or_default();
    match (address, network.parse()) {
        (IpAddr::V4(address), Ok(IpAddr::V4(network))) => is_in_block(address.to_bits().into(), network.to_bits().into(), 32, wanted),
        (IpAddr::V6(address), Ok(IpAddr::V6(network))) => is_in_block(address.to_bits(), network.to_bits(), 128, wanted),
        _ => false,
    }
}

fn is_in_block(address: u128, network: u128, bits: u32, length: u32) -> bool {
    if length > bits {
        return false;
    }
    let ignored = if length == 0 { 0 } else { bits - length };
    address >> ignored == network >> ignored
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second column is what curl 7.88.1 did with `--noproxy` and with `NO_PROXY`.
    #[test]
    fn hosts_are_reached_directly_as_by_curl() {
        for (list, host, is_direct) in [
            ("example.com", "example.com", true),
            ("example.com", "www.example.com", true),
            ("example.com", "nonexample.com", false),
            (".example.com", "example.com", true),
            (".example.com", "www.example.com", true),
            ("example.com.", "example.com", true),
            ("example.com", "example.com.", true),
            ("EXAMPLE.com", "www.example.com", true),
            ("*", "example.com", true),
            ("*,x", "example.com", false),
            (" * ", "example.com", false),
            ("*.example.com", "www.example.com", false),
            ("a.test, example.com", "example.com", true),
            ("a.test example.com", "example.com", true),
            ("a.test,,example.com", "example.com", true),
            (",example.com", "example.com", true),
            ("a.test ,example.com", "example.com", true),
            ("\texample.com", "example.com", true),
            ("com", "example.com", true),
            ("www.example.com", "example.com", false),
            ("", "example.com", false),
            (".", "example.com", false),
            ("..example.com", "example.com", false),
            ("example.com:80", "example.com", false),
            ("example.com/24", "example.com", false),
            ("localhost", "localhost", true),
            ("127.0.0.0/8", "localhost", false),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1;192.0.2.2", "192.0.2.2", false),
            ("192.0.2.0/24", "192.0.2.77", true),
            ("192.0.2.0/24", "192.0.3.77", false),
            ("192.0.2.0/25", "192.0.2.200", false),
            ("192.0.2.0/25", "192.0.2.100", true),
            ("192.0.2.1/32", "192.0.2.1", true),
            ("192.0.2.9/0", "192.0.2.1", false),
            ("192.0.2.0/33", "192.0.2.0", false),
            ("192.0.2.0/", "192.0.2.0", true),
            ("192.0.2.0/x", "192.0.2.0", true),
            ("192.0.2.0/24x", "192.0.2.5", true),
            ("2.1", "192.0.2.1", false),
            (".0.2.1", "192.0.2.1", false),
            ("192.0.2", "192.0.2.1", false),
            ("192.0.2.1", "x.192.0.2.1.example.com", false),
            ("192.0.2.1.", "192.0.2.1", false),
            ("0300.0.2.1", "192.0.2.1", false),
            ("::ffff:192.0.2.1", "192.0.2.1", false),
            ("2001:db8::1", "2001:db8::1", true),
            ("[2001:db8::1]", "2001:db8::1", false),
            ("::1", "::1", true),
            ("2001:db8::/129", "2001:db8::", false),
            ("2001:db8::1/0", "2001:db8::2", false),
        ] {
            assert_eq!(DirectHosts::parse(list).contains(host), is_direct, "{list:?} {host}");
        }
    }

    /// As curl documents it. Its version 7.88 compares the text of IPv6 addresses.
    #[test]
    fn blocks_of_ipv6_addresses_are_reached_directly() {
        for (list, host, is_direct) in [
            ("2001:db8::/32", "2001:db8:1::5", true),
            ("2001:db8::/32", "2001:db9::5", false),
            ("2001:DB8:0::1", "2001:db8::1", true),
            ("2001:db8::/33", "2001:db8:8000::1", false),
        ] {
            assert_eq!(DirectHosts::parse(list).contains(host), is_direct, "{list:?} {host}");
        }
    }

    #[test]
    fn the_environment_is_read_as_by_curl() {
        let rules = |variables: &[(&str, &str)]| {
            let variables: Vec<(String, String)> =
                variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            ProxyRules::from_environment(|name| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
        };
        let used = |variables: &[(&str, &str)], scheme, host: &str| {
            rules(variables).unwrap().proxy_for(scheme, host).map(|proxy| format!("{}:{}", proxy.host, proxy.port))
        };
        use ProxiedScheme::{Http, Https, Other};
        assert_eq!(used(&[("http_proxy", "http://a:1")], Http, "h").as_deref(), Some("a:1"));
        assert_eq!(used(&[("http_proxy", "http://a:1")], Https, "h"), None);
        assert_eq!(used(&[("HTTP_PROXY", "http://a:1")], Http, "h"), None);
        assert_eq!(used(&[("http_proxy", "a")], Http, "h").as_deref(), Some("a:1080"));
        assert_eq!(used(&[("HTTPS_PROXY", "http://a:1"), ("https_proxy", "http://b:2")], Https, "h").as_deref(), Some("b:2"));
        let all = [("https_proxy", ""), ("ALL_PROXY", "http://a:1"), ("no_proxy", ""), ("NO_PROXY", "h")];
        assert_eq!(used(&all, Https, "i").as_deref(), Some("a:1"));
        assert_eq!(used(&all, Other, "i").as_deref(), Some("a:1"));
        assert_eq!(used(&all, Https, "h"), None);
        assert_eq!(rules(&[("all_proxy", "socks5://u:secret@a")]).unwrap_err().0, "all_proxy");
    }
}
