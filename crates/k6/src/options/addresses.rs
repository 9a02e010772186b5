//! Options that select or block addresses: `dns`, `hosts`, `blockHostnames`, `blacklistIPs` and `localIPs`.

use std::net::{IpAddr, SocketAddr};

use loadstone_protocol::{AddressPolicy, AddressRules, AddressSelection, HostPattern, NameResolution, ReplacedHost, SourceRange};
use serde_json::{Map, Value};

use super::duration::duration;
use super::option_error::{OptionError, wrong};

/// How long k6 uses the addresses of a name by default. Nanoseconds.
const TTL_NS: u64 = 300_000_000_000;

/// `dns`: an object, or as in a variable, `ttl=5m,select=random,policy=preferIPv4`.
pub(super) fn dns(value: &Value) -> Result<NameResolution, OptionError> {
    let refuse = |problem: String| {
        let help = match value {
            Value::String(_) => "write ttl=5m,select=random,policy=preferIPv4, or some of these",
            _ => "write dns: { ttl: \"5m\", select: \"random\", policy: \"preferIPv4\" }",
        };
        wrong("dns", format!("dns: {problem}"), help)
    };
    let fields: Map<String, Value> = match value {
        Value::Object(fields) => fields.clone(),
        Value::String(text) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            let field = |part: &str| part.split_once('=').map(|(name, value)| (name.to_owned(), value.into()));
            parts.map(|part| field(part).ok_or_else(|| refuse(format!("\"{part}\" is not NAME=VALUE")))).collect::<Result<_, _>>()?
        }
        _ => return Err(refuse("expected an object".to_owned())),
    };
    let mut resolution = NameResolution { ttl_ns: TTL_NS, select: AddressSelection::Random, policy: AddressPolicy::PreferIpv4 };
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let unknown = || refuse(format!("{name}: {value} is unknown"));
        match (name.as_str(), value.as_str().unwrap_or_default()) {
            ("ttl", "inf") => resolution.ttl_ns = u64::MAX,
            ("ttl", _) => resolution.ttl_ns = duration("dns", value)?,
            ("select", "first") => resolution.select = AddressSelection::First,
            ("select", "random") => resolution.select = AddressSelection::Random,
            ("select", "roundRobin") => resolution.select = AddressSelection::RoundRobin,
            ("policy", "any") => resolution.policy = AddressPolicy::Any,
            ("policy", "preferIPv4") => resolution.policy = AddressPolicy::PreferIpv4,
            ("policy", "preferIPv6") => resolution.policy = AddressPolicy::PreferIpv6,
            ("policy", "onlyIPv4") => resolution.policy = AddressPolicy::OnlyIpv4,
            ("policy", "onlyIPv6") => resolution.policy = AddressPolicy::OnlyIpv6,
            ("select" | "policy", _) => return Err(unknown()),
            _ => return Err(refuse(format!("there is no `{name}`"))),
        }
    }
    Ok(resolution)
}

/// `hosts`: an address, or an address and a port, for each pattern of hosts.
pub(super) fn hosts(value: &Value, rules: &mut AddressRules) -> Result<(), OptionError> {
    let help = "write hosts: { \"shop.test\": \"10.0.0.7\", \"*.shop.test:443\": \"10.0.0.7:8443\" }";
    let refuse = |problem: String| wrong("hosts", format!("hosts: {problem}"), help);
    let listed = value.as_object().ok_or_else(|| refuse("expected an object".to_owned()))?;
    let mut written: Vec<(&String, &Value)> = listed.iter().collect();
    // As in k6, an exact name has priority over a pattern, and a longer pattern over a shorter one.
    written.sort_by_key(|(host, _)| (host.starts_with('*'), std::cmp::Reverse(host.len())));
    for (host, target) in written {
        let pattern: HostPattern = host.parse().map_err(|problem| refuse(format!("{problem}")))?;
        let text = target.as_str().unwrap_or_default();
        let (address, port) = match (text.parse::<IpAddr>(), text.parse::<SocketAddr>()) {
            (Ok(address), _) => (address, None),
            (_, Ok(socket)) => (socket.ip(), Some(socket.port())),
            _ => return Err(refuse(format!("{target} of {host} is not an address"))),
        };
        rules.replaced.push(ReplacedHost { host: pattern, address, port });
    }
    Ok(())
}

/// A list of patterns or ranges, or as in a variable, one string with commas.
pub(super) fn list<T: std::str::FromStr<Err: std::fmt::Display>>(option: &str, value: &Value) -> Result<Vec<T>, OptionError> {
    let help = match option {
        "blockHostnames" => "write blockHostnames: [\"ads.test\", \"*.ads.test\"]",
        _ => "write blacklistIPs: [\"10.0.0.0/8\"]",
    };
    let refuse = |problem: String| wrong(option, format!("{option}: {problem}"), help);
    let parts: Vec<&str> = match value {
        Value::String(text) => text.split(',').collect(),
        Value::Array(list) => list
            .iter()
            .map(|part| part.as_str().ok_or_else(|| refuse(format!("{part} is not a string"))))
            .collect::<Result<_, OptionError>>()?,
        other => return Err(refuse(format!("{other} is not a list"))),
    };
    parts.iter().map(|part| part.trim().parse().map_err(|problem: T::Err| refuse(problem.to_string()))).collect()
}

/// `localIPs`: addresses, ranges and blocks, with commas between them.
pub(super) fn local_ips(value: &Value) -> Result<Vec<IpAddr>, OptionError> {
    let help = "write localIPs: \"192.168.0.10-192.168.0.20,192.168.1.0/28\"";
    let text = value.as_str().ok_or_else(|| wrong("localIPs", format!("localIPs: {value} is not a string"), help))?;
    let ranges = text
        .split(',')
        .map(|part| part.trim().parse::<SourceRange>().map_err(|problem| wrong("localIPs", format!("localIPs: {problem}"), help)));
    Ok(ranges.collect::<Result<Vec<_>, _>>()?.into_iter().flat_map(|range| range.0).collect())
}

#[cfg(test)]
mod tests {
    use loadstone_protocol::AddressBlock;
    use serde_json::json;

    use super::*;

    #[test]
    fn hosts_are_in_k6s_order_of_priority() {
        let mut rules = AddressRules::default();
        hosts(&json!({ "*.test": "10.0.0.1", "*.shop.test:443": "10.0.0.2:8443", "a.shop.test": "::1" }), &mut rules).unwrap();
        let targets: Vec<String> = rules.replaced.iter().map(|replaced| format!("{} {:?}", replaced.address, replaced.port)).collect();
        assert_eq!(targets, ["::1 None", "10.0.0.2 Some(8443)", "10.0.0.1 None"]);
        for wrong in [json!({ "a.test": "b.test" }), json!({ "a.test": 5 }), json!("a.test"), json!({ "a b": "10.0.0.1" })] {
            assert_eq!(hosts(&wrong, &mut rules).unwrap_err().option, "hosts", "{wrong}");
        }
    }

    #[test]
    fn lists_are_arrays_or_strings_with_commas() {
        assert_eq!(list::<HostPattern>("blockHostnames", &json!(["a.test", "*.b.test"])).unwrap().len(), 2);
        assert_eq!(list::<AddressBlock>("blacklistIPs", &json!("10.0.0.0/8, ::1")).unwrap().len(), 2);
        assert!(list::<AddressBlock>("blacklistIPs", &json!(["10.0.0.0/40"])).unwrap_err().message.contains("10.0.0.0/40"));
        assert!(list::<AddressBlock>("blacklistIPs", &json!([1])).is_err() && list::<AddressBlock>("blacklistIPs", &json!(1)).is_err());
        assert_eq!(local_ips(&json!("127.0.0.2,127.0.0.4-127.0.0.5")).unwrap().len(), 3);
        assert!(local_ips(&json!("shop.test")).is_err() && local_ips(&json!(["127.0.0.1"])).is_err());
    }

    #[test]
    fn a_name_is_resolved_as_the_option_says() {
        let default = NameResolution { ttl_ns: TTL_NS, select: AddressSelection::Random, policy: AddressPolicy::PreferIpv4 };
        let chosen = NameResolution { ttl_ns: 1_000_000_000, select: AddressSelection::RoundRobin, policy: AddressPolicy::OnlyIpv6 };
        assert_eq!(dns(&json!({})), Ok(default));
        assert_eq!(dns(&json!({ "ttl": "1s", "select": "roundRobin", "policy": "onlyIPv6" })), Ok(chosen));
        assert_eq!(dns(&json!("ttl=1s, select=roundRobin,policy=onlyIPv6")), Ok(chosen));
        assert_eq!(dns(&json!({ "ttl": "inf", "select": null })), Ok(NameResolution { ttl_ns: u64::MAX, ..default }));
        assert_eq!(dns(&json!({ "ttl": 0 })), Ok(NameResolution { ttl_ns: 0, ..default }));
        for wrong in
            [json!(5), json!("ttl"), json!({ "select": "best" }), json!({ "policy": 4 }), json!({ "ttl": "soon" }), json!({ "time": 1 })]
        {
            assert!(dns(&wrong).is_err(), "{wrong}");
        }
    }
}
