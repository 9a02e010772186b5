//! The TLS settings of one client of the script: `tls` of gRPC and of Redis.

use std::rc::Rc;

use loadstone_protocol::{ClientIdentity, ClientTls, IdentitySource, Network};
use rquickjs::{Ctx, Exception, Object};

/// Reads `authorities`, `certificate`, `key` and `password`.
pub(super) fn client_tls(tls: Option<Object<'_>>) -> rquickjs::Result<ClientTls> {
    let mut own = ClientTls { place: "tls: authority ".to_owned(), ..ClientTls::default() };
    if let Some(tls) = tls {
        own.authorities = tls.get("authorities")?;
        own.trust_issuer = (!own.authorities.is_empty()).then_some("add its issuer to the authorities in the `tls` of the client");
        if let (Some(certificate), Some(key)) = (tls.get("certificate")?, tls.get("key")?) {
            let source = IdentitySource::Text { place: "tls".to_owned(), certificate, key };
            own.identity = Some(ClientIdentity::new(source, tls.get("password")?));
        }
    }
    Ok(own)
}

/// The network of a client with these settings.
pub(super) fn network_with(ctx: &Ctx<'_>, network: &Rc<Network>, tls: &ClientTls) -> rquickjs::Result<Rc<Network>> {
    if tls.authorities.is_empty() && tls.identity.is_none() && tls.server_name.is_none() {
        return Ok(Rc::clone(network));
    }
    network.with_tls(tls).map_err(|error| Exception::throw_message(ctx, &error.to_string()))
}
