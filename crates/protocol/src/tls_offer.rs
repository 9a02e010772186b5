//! What clients offer in TLS: versions and cipher suites.

use rustls::SupportedProtocolVersion;
use rustls::crypto::{CryptoProvider, aws_lc_rs};

/// A version of TLS that rustls has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    Tls12,
    Tls13,
}

/// What a client offers. The default is everything that rustls has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsOffer {
    /// The lowest and the highest version.
    pub versions: Option<(TlsVersion, TlsVersion)>,
    /// IANA names of the suites of TLS 1.2, such as `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`. Suites of TLS 1.3 are always offered with it.
    pub suites_of_tls12: Option<Vec<String>>,
}

impl TlsOffer {
    /// IANA names of the suites of TLS 1.2 that a client can offer.
    pub fn known_suites_of_tls12() -> Vec<&'static str> {
        let suites = aws_lc_rs::default_provider().cipher_suites.into_iter();
        suites.filter(|suite| suite.tls13().is_none()).filter_map(|suite| suite.suite().as_str()).collect()
    }

    pub(crate) fn versions(&self) -> Vec<&'static SupportedProtocolVersion> {
        let (low, high) = self.versions.unwrap_or((TlsVersion::Tls12, TlsVersion::Tls13));
        let all = [(TlsVersion::Tls13, &rustls::version::TLS13), (TlsVersion::Tls12, &rustls::version::TLS12)];
        all.into_iter().filter(|(version, _)| (low..=high).contains(version)).map(|(_, of_rustls)| of_rustls).collect()
    }

    pub(crate) fn provider(&self) -> CryptoProvider {
        let mut provider = aws_lc_rs::default_provider();
        if let Some(suites) = &self.suites_of_tls12 {
            let is_listed = |name: &str| suites.iter().any(|listed| listed == name);
            provider.cipher_suites.retain(|suite| suite.tls13().is_some() || suite.suite().as_str().is_some_and(is_listed));
        }
        provider
    }
}
