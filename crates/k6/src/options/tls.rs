//! Options of TLS: `tlsVersion`, `tlsCipherSuites` and `tlsAuth`.

use loadstone_protocol::{ClientIdentity, IdentitySource, TlsOffer, TlsVersion};
use serde_json::{Map, Value};

use super::option_error::{OptionError, wrong};

/// Names of k6 for two suites, and those of IANA.
const OTHER_NAMES: [(&str, &str); 2] = [
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
];
/// Suites of TLS 1.3. Go's client offers all of them, whatever is listed (crypto/tls, `Config.CipherSuites`).
const OF_TLS13: [&str; 3] = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];
/// Suites of k6 that rustls does not have. Source: `lib/tlsconfig.go` of k6 1.3.
const UNSAFE: [&str; 14] = [
    "TLS_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
];
const OTHER_UNSAFE: [&str; 2] = ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"];

/// `tlsVersion`: one version, or the lowest and the highest. `None`: no limit.
pub(super) fn versions(value: &Value) -> Result<Option<(TlsVersion, TlsVersion)>, OptionError> {
    let help = "write tlsVersion: \"tls1.2\", or { min: \"tls1.2\", max: \"tls1.3\" }";
    let refuse = |problem: String| wrong("tlsVersion", format!("tlsVersion: {problem}"), help);
    // Steps of k6's scale, of which rustls has the two upper ones.
    let step = |value: Option<&Value>, default: usize| match value {
        None | Some(Value::Null) => Ok(default),
        Some(Value::String(text)) if text.is_empty() => Ok(default),
        Some(Value::String(text)) => ["tls1.0", "tls1.1", "tls1.2", "tls1.3"]
            .iter()
            .position(|known| known == text)
            .ok_or_else(|| refuse(format!("there is no version \"{text}\""))),
        Some(other) => Err(refuse(format!("{other} is not a version"))),
    };
    let (low, high) = match value {
        Value::Object(range) => (step(range.get("min"), 2)?, step(range.get("max"), 3)?),
        one => (step(Some(one), 2)?, step(Some(one), 3)?),
    };
    if high < 2 {
        return Err(refuse("Loadstone has TLS 1.2 and 1.3 only".to_owned()));
    }
    if low > high {
        return Err(refuse("`min` is above `max`".to_owned()));
    }
    let of_rustls = |step: usize| if step < 3 { TlsVersion::Tls12 } else { TlsVersion::Tls13 };
    Ok(Some((of_rustls(low), of_rustls(high))))
}

/// `tlsCipherSuites`. Returns a note on suites that Loadstone cannot offer.
pub(super) fn cipher_suites(value: &Value, offer: &mut TlsOffer) -> Result<Option<String>, OptionError> {
    let help = "write tlsCipherSuites: [\"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\"]";
    let refuse = |problem: String| wrong("tlsCipherSuites", format!("tlsCipherSuites: {problem}"), help);
    let listed = value.as_array().ok_or_else(|| refuse(format!("{value} is not a list")))?;
    let known = TlsOffer::known_suites_of_tls12();
    let (mut offered, mut missing) = (Vec::new(), Vec::new());
    for written in listed {
        let name = written.as_str().unwrap_or_default();
        let name = OTHER_NAMES.iter().find(|(own, _)| *own == name).map_or(name, |(_, iana)| iana);
        match name {
            name if known.contains(&name) => offered.push(name.to_owned()),
            name if OF_TLS13.contains(&name) => {}
            name if UNSAFE.contains(&name) || OTHER_UNSAFE.contains(&name) => missing.push(name),
            _ => return Err(refuse(format!("there is no suite {written}"))),
        }
    }
    // An empty list is no limit in Go.
    if listed.is_empty() {
        return Ok(None);
    }
    let note =
        (!missing.is_empty()).then(|| format!("`tlsCipherSuites`: Loadstone does not offer {}, which are unsafe", missing.join(", ")));
    offer.suites_of_tls12 = Some(offered);
    Ok(note)
}

/// `tlsAuth`: client certificates, of which a connection presents the first that its server accepts. Returns a note on `domains`.
pub(super) fn client_certificates(value: &Value) -> Result<(Vec<ClientIdentity>, Option<String>), OptionError> {
    let help = "write tlsAuth: [{ cert: open(\"client.pem\"), key: open(\"client.key\") }], with `password` for an encrypted key";
    let refuse = |problem: String| wrong("tlsAuth", format!("tlsAuth: {problem}"), help);
    let listed = value.as_array().ok_or_else(|| refuse(format!("{value} is not a list")))?;
    let mut names_domains = false;
    let mut identity = |(index, entry): (usize, &Value)| {
        let place = format!("tlsAuth[{index}]");
        let entry: &Map<String, Value> = entry.as_object().ok_or_else(|| refuse(format!("{place} is not an object")))?;
        let text = |name: &str| match entry.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(refuse(format!("{place}.{name} is not a string"))),
        };
        if let Some(unknown) = entry.keys().find(|name| !["cert", "key", "password", "domains"].contains(&name.as_str())) {
            return Err(refuse(format!("{place}.{unknown} is unknown")));
        }
        names_domains |= entry.get("domains").and_then(Value::as_array).is_some_and(|domains| !domains.is_empty());
        let needed = |name: &str| text(name)?.ok_or_else(|| refuse(format!("{place} has no `{name}`")));
        let source = IdentitySource::Text { certificate: needed("cert")?, key: needed("key")?, place: place.clone() };
        Ok(ClientIdentity::new(source, text("password")?))
    };
    let identities = listed.iter().enumerate().map(&mut identity).collect::<Result<_, _>>()?;
    let note =
        "`domains` of `tlsAuth` has no effect, as in k6 1.4: a server gets the first certificate that its list of authorities accepts";
    Ok((identities, names_domains.then(|| note.to_owned())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_are_one_or_a_range_as_in_k6() {
        use TlsVersion::{Tls12, Tls13};
        for (written, expected) in [
            (json!("tls1.2"), (Tls12, Tls12)),
            (json!("tls1.3"), (Tls13, Tls13)),
            (json!({ "min": "tls1.0", "max": "tls1.2" }), (Tls12, Tls12)),
            (json!({ "min": "tls1.3" }), (Tls13, Tls13)),
            (json!({ "max": "tls1.3" }), (Tls12, Tls13)),
            (json!(""), (Tls12, Tls13)),
        ] {
            assert_eq!(versions(&written), Ok(Some(expected)), "{written}");
        }
        for wrong in [json!("tls1.1"), json!("ssl3"), json!(1.2), json!({ "min": "tls1.3", "max": "tls1.2" })] {
            assert!(versions(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn client_certificates_have_the_members_of_k6() {
        let (identities, note) =
            client_certificates(&json!([{ "cert": "c", "key": "of the key", "password": null, "domains": ["a.test"] }])).unwrap();
        assert!(note.unwrap().contains("`domains`") && !format!("{identities:?}").contains("of the key"));
        assert_eq!(client_certificates(&json!([])).unwrap().0.len(), 0);
        for (wrong, expected) in [
            (json!({}), "not a list"),
            (json!([1]), "tlsAuth[0] is not an object"),
            (json!([{ "cert": "c" }]), "tlsAuth[0] has no `key`"),
            (json!([{ "cert": "c", "key": 1 }]), "tlsAuth[0].key is not a string"),
            (json!([{ "cert": "c", "key": "k", "passphrase": "p" }]), "tlsAuth[0].passphrase is unknown"),
        ] {
            let refused = client_certificates(&wrong).unwrap_err();
            assert!(refused.message.contains(expected), "{}", refused.message);
        }
    }

    #[test]
    fn suites_have_k6s_names() {
        let read = |written: Value| {
            let mut offer = TlsOffer::default();
            cipher_suites(&written, &mut offer).map(|note| (offer.suites_of_tls12, note))
        };
        let (offered, note) = read(json!(["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_AES_128_GCM_SHA256"])).unwrap();
        assert_eq!((offered, note), (Some(vec!["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256".to_owned()]), None));
        let (offered, note) = read(json!(["TLS_RSA_WITH_AES_128_CBC_SHA"])).unwrap();
        assert_eq!(offered, Some(Vec::new()));
        assert!(note.unwrap().contains("TLS_RSA_WITH_AES_128_CBC_SHA"));
        assert!(read(json!(["TLS_NONE"])).is_err() && read(json!("TLS_AES_128_GCM_SHA256")).is_err());
        assert_eq!(read(json!([])).unwrap(), (None, None));
    }
}
