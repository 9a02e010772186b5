//! `KIND=ADDRESS`, as typed.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use url::Url;

/// Where a run's numbers go besides its directory.
#[derive(Debug, Clone, PartialEq)]
pub enum Destination {
    /// Remote write; response times as classic histograms.
    Prometheus(Url),
    /// Remote write; response times as native histograms.
    PrometheusNative(Url),
    /// OTLP over HTTP with protobuf; response times as exponential histograms.
    Otlp(Url),
    /// InfluxDB's line protocol over HTTP.
    Influx(Url),
    Statsd(SocketAddr),
    /// StatsD with Datadog's tags.
    DogStatsd(SocketAddr),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DestinationError {
    #[error("\"{0}\" is not KIND=ADDRESS, such as prometheus=http://127.0.0.1:9090/api/v1/write")]
    Form(String),
    #[error("there is no output of kind \"{0}\"; there are {KINDS}")]
    Kind(String),
    #[error("{kind} needs an http or https URL, not \"{given}\"")]
    Url { kind: String, given: String },
    #[error("{kind} needs HOST:PORT, such as 127.0.0.1:8125, not \"{given}\": {problem}")]
    Address { kind: String, given: String, problem: String },
}

const KINDS: &str = "prometheus, prometheus-native, otlp, influx, statsd, dogstatsd";
/// Where a collector takes metrics when the URL names no path (OpenTelemetry specification, OTLP exporter).
const OTLP_PATH: &str = "/v1/metrics";

impl FromStr for Destination {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, address) = text.split_once('=').ok_or_else(|| DestinationError::Form(text.to_owned()))?;
        let url = || {
            let parsed = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
            parsed.ok_or_else(|| DestinationError::Url { kind: kind.to_owned(), given: address.to_owned() })
        };
        let socket = || {
            let wrong = |problem: String| DestinationError::Address { kind: kind.to_owned(), given: address.to_owned(), problem };
            let mut found = address.to_socket_addrs().map_err(|problem| wrong(problem.to_string()))?;
            found.next().ok_or_else(|| wrong("the name has no address".to_owned()))
        };
        match kind {
            "prometheus" => url().map(Destination::Prometheus),
            "prometheus-native" => url().map(Destination::PrometheusNative),
            "otlp" => url().map(|mut url| {
                if url.path() == "/" {
                    url.set_path(OTLP_PATH);
                }
                Destination::Otlp(url)
            }),
            "influx" => url().map(Destination::Influx),
            "statsd" => socket().map(Destination::Statsd),
            "dogstatsd" => socket().map(Destination::DogStatsd),
            other => Err(DestinationError::Kind(other.to_owned())),
        }
    }
}

/// For people: without what a URL may hold of credentials.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = |url: &Url| url.origin().ascii_serialization();
        match self {
            Destination::Prometheus(url) | Destination::PrometheusNative(url) => write!(f, "Prometheus at {}", origin(url)),
            Destination::Otlp(url) => write!(f, "OTLP at {}", origin(url)),
            Destination::Influx(url) => write!(f, "InfluxDB at {}", origin(url)),
            Destination::Statsd(address) => write!(f, "StatsD at {address}"),
            Destination::DogStatsd(address) => write!(f, "DogStatsD at {address}"),
        }
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
        let path = |text: &str| match text.parse::<Destination>() {
            Ok(Destination::Otlp(url)) => url.path().to_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(path("otlp=http://127.0.0.1:4318"), "/v1/metrics");
        assert_eq!(path("otlp=http://127.0.0.1:4318/otlp/v1/metrics"), "/otlp/v1/metrics");
    }

    #[test]
    fn what_is_wrong_is_said_with_what_there_is() {
        for (text, part) in [
            ("prometheus", "is not KIND=ADDRESS"),
            ("graphite=127.0.0.1:2003", "there are prometheus, prometheus-native, otlp"),
            ("otlp=127.0.0.1:4318", "needs an http or https URL"),
            ("statsd=http://127.0.0.1", "needs HOST:PORT"),
        ] {
            let error = text.parse::<Destination>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
