//! `KIND=ADDRESS`, as typed.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use url::Url;

use crate::kinds::KINDS;
use crate::sink::{OutputKind, OutputSetup, OutputSink, SinkError, StartAtSocket, StartAtUrl, StartOutput};

/// Where a run's numbers go in addition to its directory.
#[derive(Clone)]
pub struct Destination {
    kind: &'static OutputKind,
    address: OutputAddress,
}

/// An address, and what its kind does with it.
#[derive(Clone)]
enum OutputAddress {
    Url(Url, StartAtUrl),
    Socket(SocketAddr, StartAtSocket),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DestinationError {
    #[error("\"{0}\" is not KIND=ADDRESS, such as prometheus=http://127.0.0.1:9090/api/v1/write")]
    Form(String),
    #[error("there is no output of kind \"{given}\"; there are {known}")]
    Kind { given: String, known: String },
    #[error("{name} is an output of k6: {remedy}")]
    OfK6 { name: &'static str, remedy: &'static str },
    #[error("{kind} needs an http or https URL, not \"{given}\"")]
    Url { kind: &'static str, given: String },
    #[error("{kind} needs HOST:PORT, such as 127.0.0.1:8125, not \"{given}\": {problem}")]
    Address { kind: &'static str, given: String, problem: String },
}

/// Outputs of k6, and what replaces them.
const OUTPUTS_OF_K6: [(&str, &str); 8] = [
    ("json", EXPORT),
    ("csv", EXPORT),
    ("influxdb", "use influx=URL"),
    ("experimental-prometheus-rw", "use prometheus=URL"),
    ("opentelemetry", "use otlp=URL"),
    ("experimental-opentelemetry", "use otlp=URL"),
    ("web-dashboard", "use --live"),
    ("cloud", "Loadstone sends nothing to the cloud of k6"),
];
const EXPORT: &str = "Loadstone stores each second, and not each value; `loadstone export RUN` writes tables after the run";

impl FromStr for Destination {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((name, remedy)) = OUTPUTS_OF_K6.into_iter().find(|(name, _)| text.split('=').next() == Some(name)) {
            return Err(DestinationError::OfK6 { name, remedy });
        }
        let (name, given) = text.split_once('=').ok_or_else(|| DestinationError::Form(text.to_owned()))?;
        let Some(kind) = KINDS.iter().copied().find(|kind| kind.name == name) else {
            let known = KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
            return Err(DestinationError::Kind { given: name.to_owned(), known });
        };
        let address = match &kind.start {
            StartOutput::Url { default_path, start } => OutputAddress::Url(url(kind.name, given, *default_path)?, *start),
            StartOutput::Socket { start } => OutputAddress::Socket(socket(kind.name, given)?, *start),
        };
        Ok(Self { kind, address })
    }
}

fn url(kind: &'static str, given: &str, default_path: Option<&str>) -> Result<Url, DestinationError> {
    let parsed = Url::parse(given).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let mut url = parsed.ok_or_else(|| DestinationError::Url { kind, given: given.to_owned() })?;
    if let Some(path) = default_path.filter(|_| url.path() == "/") {
        url.set_path(path);
    }
    Ok(url)
}

fn socket(kind: &'static str, given: &str) -> Result<SocketAddr, DestinationError> {
    let wrong = |problem: String| DestinationError::Address { kind, given: given.to_owned(), problem };
    let mut found = given.to_socket_addrs().map_err(|problem| wrong(problem.to_string()))?;
    found.next().ok_or_else(|| wrong("the name has no address".to_owned()))
}

impl Destination {
    /// What delivers to it.
    pub(crate) fn sink(&self, setup: OutputSetup<'_>) -> Result<Box<dyn OutputSink>, SinkError> {
        match &self.address {
            OutputAddress::Url(url, start) => start(url, setup),
            OutputAddress::Socket(address, start) => start(*address, setup),
        }
    }
}

/// For people: without what a URL may hold of credentials.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at ", self.kind.title)?;
        match &self.address {
            OutputAddress::Url(url, _) => f.write_str(&url.origin().ascii_serialization()),
            OutputAddress::Socket(address, _) => address.fmt(f),
        }
    }
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Destination({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_read_and_shown_without_credentials() {
        for (text, shown) in [
            ("prometheus=http://me:pw@127.0.0.1:9090/api/v1/write", "Prometheus at http://127.0.0.1:9090"),
            ("prometheus-native=https://example.org/push", "Prometheus at https://example.org"),
            ("influx=http://127.0.0.1:8086/api/v2/write?org=a&bucket=b", "InfluxDB at http://127.0.0.1:8086"),
            ("statsd=127.0.0.1:8125", "StatsD at 127.0.0.1:8125"),
            ("dogstatsd=[::1]:8125", "DogStatsD at [::1]:8125"),
        ] {
            assert_eq!(text.parse::<Destination>().unwrap().to_string(), shown);
        }
        let path = |text: &str| match text.parse::<Destination>().unwrap().address {
            OutputAddress::Url(url, _) => url.path().to_owned(),
            OutputAddress::Socket(..) => panic!("{text} is not a URL"),
        };
        assert_eq!(path("otlp=http://127.0.0.1:4318"), "/v1/metrics");
        assert_eq!(path("otlp=http://127.0.0.1:4318/otlp/v1/metrics"), "/otlp/v1/metrics");
        assert_eq!(path("influx=http://127.0.0.1:8086"), "/");
    }

    #[test]
    fn errors_name_the_problem_and_the_valid_choices() {
        for (text, part) in [
            ("prometheus", "is not KIND=ADDRESS"),
            ("graphite=127.0.0.1:2003", "there are prometheus, prometheus-native, otlp, influx, statsd, dogstatsd"),
            ("json=results.json", "json is an output of k6: Loadstone stores each second"),
            ("experimental-prometheus-rw", "use prometheus=URL"),
            ("otlp=127.0.0.1:4318", "needs an http or https URL"),
            ("statsd=http://127.0.0.1", "needs HOST:PORT"),
        ] {
            let error = text.parse::<Destination>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let mut names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KINDS.len());
    }
}
