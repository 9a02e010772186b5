//! The hosts that users may connect to.
//!
//! Every connection of a network is checked when it is opened, before its name is looked up. A name is compared as written: the addresses to which it
//! resolves are not.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;
use url::Host;

use crate::failure::Failure;

/// The longest name of a host (RFC 1035, section 2.3.4). Bytes.
const NAME_BYTES_MAX: usize = 253;

/// Hosts that users may connect to. The default is all hosts.
#[derive(Debug, Clone, Default)]
pub struct AllowedHosts {
    /// The hosts that the test names.
    named: Option<Arc<[HostPattern]>>,
    /// The hosts to which the command line limits the test, whatever it names.
    limit: Option<Arc<[HostPattern]>>,
}

/// Hosts of a name, and their ports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPattern {
    name: NamePattern,
    /// `None`: every port.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum NamePattern {
    Any,
    /// Every name below this domain.
    Below(String),
    Exactly(String),
}

/// Why a string names no hosts.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "\"{0}\" is not a host: write a name or an address, with or without a port, such as shop.example:443, 10.0.0.7, [::1]:80, *.shop.example or *"
)]
pub struct HostPatternError(String);

impl AllowedHosts {
    /// No other host than these.
    pub fn only(hosts: impl IntoIterator<Item = HostPattern>) -> Self {
        let mut hosts: Vec<HostPattern> = hosts.into_iter().collect();
        hosts.sort();
        hosts.dedup();
        Self { named: Some(hosts.into()), limit: None }
    }

    /// Of these hosts, only those that are also in `limit`.
    #[must_use]
    pub fn within(self, limit: &[HostPattern]) -> Self {
        Self { limit: Some(limit.into()), ..self }
    }

    pub fn permits(&self, host: &str, port: u16) -> bool {
        [&self.named, &self.limit].into_iter().all(|hosts| is_permitted(hosts.as_deref(), host, port))
    }

    /// # Errors
    /// The generator refuses the connection. The message contains the flag that allows it.
    pub(crate) fn check(&self, host: &str, port: u16) -> Result<(), Failure> {
        if self.permits(host, port) {
            return Ok(());
        }
        let is_beyond_limit = !is_permitted(self.limit.as_deref(), host, port);
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        if is_beyond_limit {
            return Err(Failure::unsendable(format!("`--limit-net` does not permit the host {host}:{port}")));
        }
        Err(Failure::unsendable(format!("the test does not name the host {host}: to permit it, add `--allow-net {host}:{port}`")))
    }
}

/// `hosts`: `None` permits all.
fn is_permitted(hosts: Option<&[HostPattern]>, host: &str, port: u16) -> bool {
    let Some(hosts) = hosts else { return true };
    let is_allowed = |host: &str| hosts.iter().any(|allowed| allowed.matches(host, port));
    // Hosts of URLs are written in this form already, so connections seldom pay for it.
    is_allowed(host) || as_in_urls(host).is_some_and(|host| is_allowed(&host))
}

impl HostPattern {
    /// Whether every host that `other` names is one of these. Ports are not compared.
    pub fn covers(&self, other: &HostPattern) -> bool {
        match (&self.name, &other.name) {
            (NamePattern::Below(domain), NamePattern::Below(below)) => below == domain || self.name.matches(below),
            (name, NamePattern::Exactly(host)) => name.matches(host),
            (name, NamePattern::Below(_) | NamePattern::Any) => *name == NamePattern::Any,
        }
    }

    /// A host on all its ports.
    pub fn host(name: &str) -> Self {
        Self { name: NamePattern::Exactly(as_in_urls(name).unwrap_or_else(|| name.to_ascii_lowercase())), port: None }
    }

    /// Whether it names this host, in any form.
    pub(crate) fn names(&self, host: &str, port: u16) -> bool {
        self.matches(host, port) || as_in_urls(host).is_some_and(|host| self.matches(&host, port))
    }

    fn matches(&self, host: &str, port: u16) -> bool {
        self.port.is_none_or(|allowed| allowed == port) && self.name.matches(host)
    }
}

impl NamePattern {
    fn matches(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(name) => name.eq_ignore_ascii_case(host),
            Self::Below(domain) => {
                let below = host.len().checked_sub(domain.len() + 1).and_then(|at| host.get(at..));
                below.is_some_and(|end| end.starts_with('.') && end[1..].eq_ignore_ascii_case(domain))
            }
        }
    }
}

impl FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || HostPatternError(text.to_owned());
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, "")) => (address, None),
            Some((address, rest)) => (address, Some(rest.strip_prefix(':').ok_or_else(wrong)?)),
            None if text.parse::<Ipv6Addr>().is_ok() => (text, None),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map(str::parse).transpose().map_err(|_| wrong())?;
        let name = match host {
            "*" => NamePattern::Any,
            _ if host.contains(':') => NamePattern::Exactly(host.parse::<Ipv6Addr>().map_err(|_| wrong())?.to_string()),
            _ => match host.strip_prefix("*.") {
                Some(domain) if is_name(domain) => NamePattern::Below(as_in_urls(domain).ok_or_else(wrong)?),
                None if is_name(host) => NamePattern::Exactly(as_in_urls(host).ok_or_else(wrong)?),
                _ => return Err(wrong()),
            },
        };
        Ok(Self { name, port })
    }
}

/// The host as a URL's host is written: in lower case, with an encoded international name, and an IPv4 address as four numbers.
fn as_in_urls(host: &str) -> Option<String> {
    match Host::parse(host).ok()? {
        Host::Domain(name) => Some(name),
        Host::Ipv4(address) => Some(address.to_string()),
        Host::Ipv6(address) => Some(address.to_string()),
    }
}

/// Names of the network also contain underscores, a dot at their end, and non-ASCII letters and escapes before their encoding.
fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || !c.is_ascii() || matches!(c, '-' | '_' | '.' | '%');
    let labels = text.strip_suffix('.').unwrap_or(text);
    (1..=NAME_BYTES_MAX).contains(&text.len()) && text.chars().all(is_part) && labels.split('.').all(|label| !label.is_empty())
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            NamePattern::Any => f.write_str("*")?,
            NamePattern::Below(domain) => write!(f, "*.{domain}")?,
            NamePattern::Exactly(name) if name.contains(':') => write!(f, "[{name}]")?,
            NamePattern::Exactly(name) => f.write_str(name)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_removes_hosts_that_the_test_names() {
        let pattern = |text: &str| text.parse::<HostPattern>().unwrap();
        let hosts = AllowedHosts::only(["shop.example", "other.example"].map(pattern)).within(&["*.example:443", "127.0.0.1"].map(pattern));
        assert!(hosts.permits("shop.example", 443));
        assert!(!hosts.permits("shop.example", 80) && !hosts.permits("127.0.0.1", 80), "both must permit a host");
        let refused = format!("{:?}", hosts.check("shop.example", 80).unwrap_err());
        assert!(refused.contains("--limit-net"), "{refused}");
        assert!(AllowedHosts::default().within(&[pattern("a.example")]).permits("a.example", 1));
        for (limit, host, covered) in [
            ("*", "*.shop.example", true),
            ("*.example", "shop.example", true),
            ("*.example", "*.shop.example", true),
            ("*.example", "*.example", true),
            ("shop.example", "*.shop.example", false),
            ("127.0.0.1:80", "127.0.0.1", true),
            ("*.example", "shop.test", false),
        ] {
            assert_eq!(pattern(limit).covers(&pattern(host)), covered, "{limit} {host}");
        }
    }

    fn pattern(text: &str) -> HostPattern {
        text.parse().unwrap()
    }

    #[test]
    fn hosts_match_by_name_or_below_a_domain() {
        let permits = |allowed: &str, host: &str, port| AllowedHosts::only([pattern(allowed)]).permits(host, port);
        assert!(permits("Example.com", "example.COM", 1) && permits("*.example.com", "a.b.EXAMPLE.com", 1));
        for host in ["example.com", "badexample.com", "example.com.evil", "é.com"] {
            assert!(!permits("*.example.com", host, 1), "{host}");
        }
        assert!(permits("h:80", "h", 80) && !permits("h:80", "h", 81) && permits("*", "anything", 7) && permits("*:7", "anything", 7));
        assert!(permits("[::1]:80", "::1", 80) && permits("::1", "::1", 443) && !permits("127.0.0.1", "127.0.0.2", 80));
        assert!(permits("bücher.example", "xn--bcher-kva.example", 80) && permits("BÜCHER.example", "bücher.example", 80));
        assert!(permits("shop.example.", "shop.example.", 80) && permits("sh%6Fp.example", "shop.example", 80));
        assert!(permits("[0:0::0:2]", "::2", 80) && permits("127.1", "127.0.0.1", 80) && permits("127.0.0.1", "127.1", 80));
        assert!(AllowedHosts::default().permits("anything", 1) && !AllowedHosts::only([]).permits("localhost", 80));
    }

    #[test]
    fn patterns_are_written_as_they_are_read() {
        for text in ["*", "*:80", "*.a.b", "a-b_c.d:443", "[::1]:80", "127.0.0.1"] {
            assert_eq!(pattern(text).to_string(), text);
        }
        for wrong in ["", "a:b", "a:", ":80", "http://a", "a/b", "*.", "a..b", "[::1", "[::1]80", "a b", "*x", "a:99999"] {
            assert!(wrong.parse::<HostPattern>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_refusal_contains_the_flag() {
        let failure = AllowedHosts::only([]).check("::1", 80).unwrap_err();
        assert_eq!(failure.outcome, loadstone_metrics::Outcome::Unsendable);
        assert!(failure.message.ends_with("add `--allow-net [::1]:80`"), "{}", failure.message);
    }
}
