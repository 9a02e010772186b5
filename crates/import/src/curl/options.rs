//! The options of curl (8.x, <https://curl.se/docs/manpage.html>), and what each of them means for an import.
//!
//! Every option of curl is in this table. One that is in no list is unknown, which is an error: an option that was skipped may have changed the request.

/// An option as it is written, with its value.
#[derive(Debug, PartialEq)]
pub(super) enum Argument {
    /// The long name of an option, and its value if it takes one.
    Option(&'static str, String),
    /// `--no-NAME`.
    Without(&'static str),
    Url(String),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Meaning {
    /// It changes the request, and the import translates it.
    Translated,
    /// It concerns output, progress or the name of a file: the request is the same without it.
    Output,
    /// It changes what is sent or how, and has no equivalent.
    Unsupported,
}

/// Long name, letter (or `\0`), whether it takes a value.
type OptionRow = (&'static str, char, bool);

#[rustfmt::skip]
const TRANSLATED: &[OptionRow] = &[
    ("request", 'X', true), ("header", 'H', true), ("data", 'd', true), ("data-ascii", '\0', true), ("data-raw", '\0', true),
    ("data-binary", '\0', true), ("data-urlencode", '\0', true), ("json", '\0', true), ("form", 'F', true), ("form-string", '\0', true),
    ("user", 'u', true), ("basic", '\0', false), ("oauth2-bearer", '\0', true), ("cookie", 'b', true), ("cookie-jar", 'c', true),
    ("head", 'I', false), ("get", 'G', false), ("insecure", 'k', false), ("url", '\0', true), ("url-query", '\0', true), ("next", ':', false),
    ("upload-file", 'T', true), ("user-agent", 'A', true), ("referer", 'e', true), ("location", 'L', false), ("max-redirs", '\0', true),
    ("compressed", '\0', false), ("max-time", 'm', true), ("retry", '\0', true), ("retry-delay", '\0', true), ("retry-all-errors", '\0', false),
    ("retry-connrefused", '\0', false), ("globoff", 'g', false), ("range", 'r', true), ("http2", '\0', false), ("http1.1", '\0', false),
    ("http2-prior-knowledge", '\0', false), ("proxy", 'x', true), ("noproxy", '\0', true), ("cacert", '\0', true), ("cert", 'E', true),
    ("key", '\0', true), ("pass", '\0', true), ("resolve", '\0', true), ("connect-to", '\0', true), ("keepalive", '\0', false),
    ("sessionid", '\0', false),
];

#[rustfmt::skip]
const OUTPUT: &[OptionRow] = &[
    ("output", 'o', true), ("remote-name", 'O', false), ("remote-header-name", 'J', false), ("remote-name-all", '\0', false), ("silent", 's', false),
    ("show-error", 'S', false), ("verbose", 'v', false), ("include", 'i', false), ("show-headers", '\0', false), ("fail", 'f', false),
    ("fail-with-body", '\0', false), ("fail-early", '\0', false), ("progress-bar", '#', false), ("progress-meter", '\0', false),
    ("write-out", 'w', true), ("dump-header", 'D', true), ("buffer", 'N', false), ("disable", 'q', false), ("create-dirs", '\0', false),
    ("create-file-mode", '\0', true), ("output-dir", '\0', true), ("remove-on-error", '\0', false), ("clobber", '\0', false),
    ("skip-existing", '\0', false), ("trace", '\0', true), ("trace-ascii", '\0', true), ("trace-time", '\0', false), ("trace-ids", '\0', false),
    ("trace-config", '\0', true), ("stderr", '\0', true), ("styled-output", '\0', false), ("suppress-connect-headers", '\0', false),
    ("xattr", '\0', false), ("remote-time", 'R', false), ("libcurl", '\0', true), ("dump-ca-embed", '\0', false),
    ("connect-timeout", '\0', true), ("speed-limit", 'Y', true), ("speed-time", 'y', true), ("retry-max-time", '\0', true),
    ("keepalive-time", '\0', true), ("keepalive-cnt", '\0', true), ("happy-eyeballs-timeout-ms", '\0', true), ("expect100-timeout", '\0', true),
    ("tcp-nodelay", '\0', false), ("alpn", '\0', false), ("npn", '\0', false), ("path-as-is", '\0', false), ("cert-type", '\0', true),
    ("key-type", '\0', true), ("parallel-immediate", '\0', false), ("parallel-max", '\0', true), ("parallel-max-host", '\0', true),
    ("proto", '\0', true), ("proto-default", '\0', true), ("proto-redir", '\0', true), ("disallow-username-in-url", '\0', false),
    ("tlsv1", '1', false), ("tlsv1.0", '\0', false), ("tlsv1.1", '\0', false), ("tlsv1.2", '\0', false), ("ssl", '\0', false),
    ("ssl-reqd", '\0', false), ("ssl-no-revoke", '\0', false), ("ssl-revoke-best-effort", '\0', false), ("tcp-fastopen", '\0', false),
    ("junk-session-cookies", 'j', false), ("progress", '\0', false), ("raw", '\0', false),
];

#[rustfmt::skip]
const UNSUPPORTED: &[OptionRow] = &[
    ("digest", '\0', false), ("ntlm", '\0', false), ("ntlm-wb", '\0', false), ("negotiate", '\0', false), ("anyauth", '\0', false),
    ("aws-sigv4", '\0', true), ("delegation", '\0', true), ("service-name", '\0', true), ("login-options", '\0', true),
    ("sasl-authzid", '\0', true), ("sasl-ir", '\0', false), ("netrc", 'n', false), ("netrc-file", '\0', true), ("netrc-optional", '\0', false),
    ("config", 'K', true), ("variable", '\0', true), ("parallel", 'Z', false), ("rate", '\0', true), ("limit-rate", '\0', true),
    ("continue-at", 'C', true), ("time-cond", 'z', true), ("etag-compare", '\0', true), ("etag-save", '\0', true), ("max-filesize", '\0', true),
    ("request-target", '\0', true), ("location-trusted", '\0', false), ("follow", '\0', false), ("post301", '\0', false),
    ("post302", '\0', false), ("post303", '\0', false), ("crlf", '\0', false), ("use-ascii", 'B', false), ("form-escape", '\0', false),
    ("tr-encoding", '\0', false), ("ignore-content-length", '\0', false), ("http0.9", '\0', false), ("http1.0", '0', false),
    ("http3", '\0', false), ("http3-only", '\0', false), ("proxy-http2", '\0', false), ("unix-socket", '\0', true),
    ("abstract-unix-socket", '\0', true), ("interface", '\0', true), ("local-port", '\0', true), ("ipv4", '4', false), ("ipv6", '6', false),
    ("dns-interface", '\0', true), ("dns-ipv4-addr", '\0', true), ("dns-ipv6-addr", '\0', true), ("dns-servers", '\0', true),
    ("doh-url", '\0', true), ("doh-insecure", '\0', false), ("doh-cert-status", '\0', false), ("haproxy-protocol", '\0', false),
    ("haproxy-clientip", '\0', true), ("alt-svc", '\0', true), ("hsts", '\0', true), ("preproxy", '\0', true), ("proxytunnel", 'p', false),
    ("proxy-user", 'U', true), ("proxy-header", '\0', true), ("proxy-anyauth", '\0', false), ("proxy-basic", '\0', false),
    ("proxy-digest", '\0', false), ("proxy-negotiate", '\0', false), ("proxy-ntlm", '\0', false), ("proxy-insecure", '\0', false),
    ("proxy-cacert", '\0', true), ("proxy-capath", '\0', true), ("proxy-cert", '\0', true), ("proxy-key", '\0', true), ("proxy-pass", '\0', true),
    ("proxy1.0", '\0', true), ("socks4", '\0', true), ("socks4a", '\0', true), ("socks5", '\0', true), ("socks5-hostname", '\0', true),
    ("socks5-basic", '\0', false), ("socks5-gssapi", '\0', false), ("capath", '\0', true), ("ca-native", '\0', false), ("crlfile", '\0', true),
    ("pinnedpubkey", '\0', true), ("cert-status", '\0', false), ("ciphers", '\0', true), ("curves", '\0', true), ("tls13-ciphers", '\0', true),
    ("tlsv1.3", '\0', false), ("tls-max", '\0', true), ("tls-earlydata", '\0', false), ("tlsauthtype", '\0', true), ("tlsuser", '\0', true),
    ("tlspassword", '\0', true), ("engine", '\0', true), ("ech", '\0', true), ("sslv2", '2', false), ("sslv3", '3', false),
    ("mail-from", '\0', true), ("mail-rcpt", '\0', true), ("mail-auth", '\0', true), ("telnet-option", 't', true), ("quote", 'Q', true),
    ("ftp-port", 'P', true), ("ftp-pasv", '\0', false), ("ftp-create-dirs", '\0', false), ("list-only", 'l', false), ("append", 'a', false),
    ("manual", 'M', false), ("version", 'V', false), ("help", 'h', false), ("metalink", '\0', false), ("krb", '\0', true),
];

fn rows() -> impl Iterator<Item = (&'static OptionRow, Meaning)> {
    let of = |rows: &'static [OptionRow], meaning| rows.iter().map(move |row| (row, meaning));
    of(TRANSLATED, Meaning::Translated).chain(of(OUTPUT, Meaning::Output)).chain(of(UNSUPPORTED, Meaning::Unsupported))
}

pub(super) fn meaning_of(name: &str) -> Meaning {
    rows().find(|((known, ..), _)| *known == name).map_or(Meaning::Unsupported, |(_, meaning)| meaning)
}

/// Options and URLs in order, as curl reads them: letters may be joined, and the value of a letter may follow at once.
///
/// # Errors
/// A message that names the option: it is unknown, or has no value.
pub(super) fn arguments(words: &[String]) -> Result<Vec<Argument>, String> {
    let mut found = Vec::new();
    let mut words = words.iter();
    let mut only_urls = false;
    while let Some(word) = words.next() {
        if only_urls || !word.starts_with('-') || word == "-" {
            found.push(Argument::Url(word.clone()));
        } else if word == "--" {
            only_urls = true;
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, takes_value) = match long_option(long) {
                Some(row) => (row.0, row.2),
                None => match long.strip_prefix("no-").and_then(long_option) {
                    Some((name, _, false)) => {
                        found.push(Argument::Without(name));
                        continue;
                    }
                    _ => return Err(unknown(word)),
                },
            };
            let value = if takes_value { words.next().cloned().ok_or_else(|| format!("{word} has no value"))? } else { String::new() };
            found.push(Argument::Option(name, value));
        } else {
            let mut letters = word[1..].chars();
            while let Some(letter) = letters.next() {
                let Some(((name, _, takes_value), _)) = rows().find(|((_, known, _), _)| *known == letter) else {
                    return Err(unknown(&format!("-{letter}")));
                };
                if *takes_value {
                    let rest = letters.as_str();
                    let value = if rest.is_empty() {
                        words.next().cloned().ok_or_else(|| format!("-{letter} has no value"))?
                    } else {
                        rest.to_owned()
                    };
                    found.push(Argument::Option(name, value));
                    break;
                }
                found.push(Argument::Option(name, String::new()));
            }
        }
    }
    Ok(found)
}

/// By its name, or by the beginning of one name alone.
fn long_option(name: &str) -> Option<OptionRow> {
    if let Some((row, _)) = rows().find(|((known, ..), _)| *known == name) {
        return Some(*row);
    }
    let mut begun = rows().filter(|((known, ..), _)| !name.is_empty() && known.starts_with(name));
    match (begun.next(), begun.next()) {
        (Some((row, _)), None) => Some(*row),
        _ => None,
    }
}

fn unknown(option: &str) -> String {
    format!("curl has no option {option}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_is_listed_twice() {
        let mut names: Vec<&str> = rows().map(|((name, ..), _)| *name).collect();
        let mut letters: Vec<char> = rows().map(|((_, letter, _), _)| *letter).filter(|letter| *letter != '\0').collect();
        let counts = (names.len(), letters.len());
        names.sort_unstable();
        names.dedup();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!((names.len(), letters.len()), counts);
    }

    #[test]
    fn options_are_read_as_curl_reads_them() {
        let read = |line: &str| arguments(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let option = |name, value: &str| Argument::Option(name, value.to_owned());
        assert_eq!(
            read("-sSXPUT -d a"),
            Ok(vec![option("silent", ""), option("show-error", ""), option("request", "PUT"), option("data", "a")])
        );
        assert_eq!(read("--no-buffer x"), Ok(vec![Argument::Without("buffer"), Argument::Url("x".into())]));
        assert_eq!(read("--compr"), Ok(vec![option("compressed", "")]));
        assert_eq!(read("-- -x"), Ok(vec![Argument::Url("-x".into())]));
        assert_eq!(read("--request=GET"), Err("curl has no option --request=GET".into()));
        assert_eq!(read("--mystery"), Err("curl has no option --mystery".into()));
        assert_eq!(read("-s?"), Err("curl has no option -?".into()));
        assert_eq!(read("-X"), Err("-X has no value".into()));
    }
}
