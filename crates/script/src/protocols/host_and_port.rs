//! `host:port`, the form of addresses of raw protocols.

use rquickjs::Ctx;

use super::options::wrong;

/// The scheme of an address, if it has one, and its host and port.
pub(super) fn read<'w>(ctx: &Ctx<'_>, written: &'w str) -> rquickjs::Result<(Option<&'w str>, String, u16)> {
    let (scheme, authority) = written.split_once("://").map_or((None, written), |(scheme, authority)| (Some(scheme), authority));
    let parts = authority.trim_end_matches('/').rsplit_once(':').and_then(|(host, port)| {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = bare.or_else(|| (!host.contains([':', '/', '@'])).then_some(host)).filter(|host| !host.is_empty())?;
        Some((scheme, host.to_owned(), port.parse().ok().filter(|port| *port > 0)?))
    });
    parts.ok_or_else(|| {
        wrong(ctx, &format!("the address \"{written}\" is not a host and a port: write \"127.0.0.1:7000\" or \"[::1]:7000\""))
    })
}

/// The error for an address with an unsupported scheme.
pub(super) fn unknown_scheme(ctx: &Ctx<'_>, written: &str, scheme: &str, remedy: &str) -> rquickjs::Error {
    wrong(ctx, &format!("the address \"{written}\" has the scheme `{scheme}`: write {remedy}"))
}
