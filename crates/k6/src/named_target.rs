//! The service that a script sends to, as far as its text and its variables say.

use std::collections::BTreeSet;

use url::Url;

/// The only service that the values of variables name, or else the only one that the text names. `None`: there is none, or there are several.
pub(crate) fn named_target<'t>(values: impl Iterator<Item = &'t str>, texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let of_values: BTreeSet<String> = values.flat_map(services_in).collect();
    let services = if of_values.is_empty() { texts.flat_map(of_source).collect() } else { of_values };
    let mut services = services.into_iter();
    services.next().filter(|_| services.next().is_none())
}

/// The services that the code of a source file names: not those of imports and comments.
fn of_source(text: &str) -> BTreeSet<String> {
    let code = text.lines().filter_map(|line| {
        let code = line.split_once(" //").map_or(line, |(code, _)| code).trim_start();
        let is_other = ["//", "/*", "*", "import ", "export * from ", "} from "].iter().any(|start| code.starts_with(start));
        (!is_other && !code.contains("require(")).then_some(code)
    });
    code.flat_map(|line| line.split(['"', '\'', '`'])).flat_map(services_in).collect()
}

/// Those of the URLs in a string, or of a string such as `shop.test:8080`.
fn services_in(text: &str) -> BTreeSet<String> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`' | '\\' | '<' | '>' | ')' | ',');
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let urls = text.match_indices("://").filter_map(|(at, _)| {
        let scheme = text[..at].rsplit(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        service(scheme, text[at + 3..].split(ends).next().unwrap_or_default())
    });
    let whole = text.trim().rsplit_once(':').filter(|(host, port)| {
        host.chars().all(is_name)
            && host.contains(|c: char| c.is_ascii_alphabetic() || c == '.')
            && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    urls.chain(whole.and_then(|_| service("http", text.trim()))).collect()
}

fn service(scheme: &str, authority: &str) -> Option<String> {
    let scheme = match scheme {
        "http" | "ws" => "http",
        "https" | "wss" => "https",
        _ => return None,
    };
    // A computed host or port is unknown.
    let url = Url::parse(&format!("{scheme}://{authority}")).ok().filter(|_| !authority.contains(['$', '{']))?;
    Some(format!("{scheme}://{}:{}", url.host_str()?, url.port_or_known_default()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_service_that_a_script_names_is_its_target() {
        let target = |values: &[&str], text: &str| named_target(values.iter().copied(), std::iter::once(text));
        let text = "import x from 'https://jslib.k6.io/x.js';\n// see https://k6.io/docs
            const B = __ENV.BASE || 'http://u:p@127.0.0.1:9000/api'; // http://other";
        assert_eq!(target(&[], text).as_deref(), Some("http://127.0.0.1:9000"));
        assert_eq!(target(&["https://shop.test/x", "60", "/usr/bin:/bin"], text).as_deref(), Some("https://shop.test:443"));
        assert_eq!(target(&["shop.test:8443"], text).as_deref(), Some("http://shop.test:8443"));
        assert_eq!(target(&[], "ws.connect(`wss://shop.test/${id}`)").as_deref(), Some("https://shop.test:443"));
        assert_eq!(target(&[], "client.connect('127.0.0.1:50051', { plaintext: true })").as_deref(), Some("http://127.0.0.1:50051"));
        for unknown in ["`http://127.0.0.1:${port}/`", "`http://${host}/`", "get('http://a/'); get('http://b/')", "at('12:30'); on('a:b')"]
        {
            assert_eq!(target(&[], unknown), None, "{unknown}");
        }
    }
}
