//! The hosts that a test names: in the text of its files, and in its parameters.
//!
//! A host is named by a URL anywhere in the text, or by a string that consists of a host, with or without a port: `"shop.example"`, `"redis:6379"`,
//! `"*.shop.example"`. A template names the host if only its port is computed: `` `http://127.0.0.1:${port}/` ``.

use loadstone_protocol::HostPattern;

/// A longer string is no host and port. Bytes.
const HOST_AND_PORT_BYTES_MAX: usize = 270;

/// Larger files are data. Smaller ones may hold settings, such as the URLs of an environment, which the user chose.
pub const SETTINGS_BYTES_MAX: usize = 64 << 10;

/// The hosts that a source file names.
pub(crate) fn in_source(text: &str) -> impl Iterator<Item = HostPattern> {
    text.split(['"', '\'', '`']).flat_map(in_value)
}

/// The hosts that a string names.
pub fn in_value(text: &str) -> impl Iterator<Item = HostPattern> {
    let of_urls = text.split("://").skip(1).flat_map(|rest| {
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`' | '\\' | '<' | '>' | ')');
        let authority = rest.split(ends).next().unwrap_or_default();
        let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
        // Kafka and PostgreSQL accept lists.
        hosts.split(',').filter_map(host)
    });
    let whole = (text.len() <= HOST_AND_PORT_BYTES_MAX).then_some(text);
    of_urls.chain(whole.into_iter().flat_map(|text| text.split(',').filter_map(|part| host(part.trim()))))
}

/// A host on all its ports.
fn host(written: &str) -> Option<HostPattern> {
    let after = written.rfind(']').unwrap_or_default();
    let (host, port) = match written[after..].find(':') {
        Some(colon) if written.starts_with('[') || !written[after + colon + 1..].contains(':') || written.contains("${") => {
            (&written[..after + colon], Some(&written[after + colon + 1..]))
        }
        _ => (written, None),
    };
    let is_port = |port: &str| port.is_empty() || port.starts_with("${") || port.parse::<u16>().is_ok();
    if !port.is_none_or(is_port) || host == "*" {
        return None;
    }
    host.parse().ok()
}

#[cfg(test)]
mod tests {
    use loadstone_protocol::AllowedHosts;

    use super::*;

    fn named(text: &str) -> Vec<String> {
        in_source(text).map(|host| host.to_string()).collect()
    }

    #[test]
    fn urls_and_whole_strings_name_hosts() {
        for (source, host) in [
            (r#"get("http://Shop.example:8080/a?b")"#, "shop.example"),
            ("get(`http://127.0.0.1:${port}/x`)", "127.0.0.1"),
            ("ws(`ws://[::1]:${port}`)", "[::1]"),
            (r#"tcp("redis:6379")"#, "redis"),
            ("tcp(`[::1]:${port}`)", "[::1]"),
            ("const host = 'shop.example';", "shop.example"),
            (r#"hosts: ["*.shop.example"]"#, "*.shop.example"),
            ("sql(`postgres://${user}:${password}@db.internal/shop`)", "db.internal"),
            (r#"sql("postgres://joe:p:w@db:5432/shop")"#, "db"),
            ("http.get('https://test.k6.io');", "test.k6.io"),
        ] {
            assert!(named(source).contains(&host.to_owned()), "{source}: {:?}", named(source));
        }
        assert_eq!(named(r#"kafka("kafka://b1:9092,b2:9092/t")"#), ["b1", "b2"]);
        assert_eq!(named(r#"kafka("b1:9092, b2:9092")"#), ["b1", "b2"]);
    }

    #[test]
    fn a_computed_host_is_not_named() {
        for source in [
            "`http://shop${n}.example/`",
            "`http://${host}/`",
            "`${host}:80`",
            "`http://10.0.0.${n}:80/`",
            r#""a sentence: text""#,
            "\"*\"",
        ] {
            assert_eq!(named(source), [""; 0], "{source}");
        }
    }

    #[test]
    fn a_named_host_is_permitted_on_every_port() {
        let hosts = AllowedHosts::only(in_value("http://shop.example:8080"));
        assert!(hosts.permits("shop.example", 443) && !hosts.permits("www.shop.example", 443));
    }
}
