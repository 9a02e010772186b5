//! TLS against nginx, which verifies client certificates and reports whether a session was resumed.

use crate::harness::{Folder, once_with, server};

/// The options of a test that is accepted, and others.
fn members(more: &str) -> String {
    let server::Guarded { root, certificate, key, .. } = server::guarded();
    format!(
        "options: {{ roots: [\"{root}\"], clientCertificate: {{ certificate: \"{certificate}\", key: \"{key}\" }}, keepAlive: false, {more} }},"
    )
}

#[test]
fn a_script_shows_its_certificate_and_asks_for_a_name() {
    let body = r#"
        const first = await user.get("/");
        user.check("let in", first.status === 200 && first.json("$.client") === "CN=visitor.test");
        user.check("asked for by name", first.json("$.name") === "members.test");
        user.check("the first handshake is a full one", first.json("$.reused") === ".");
        const second = await user.get("/");
        user.check("the second resumes the session", second.json("$.reused") === "r");
        user.check("both took a handshake", first.times.tls > 0 && second.times.tls > 0);"#;
    once_with(&server::guarded().address, &members("serverName: \"members.test\""), body).all_checks_held();
}

#[test]
fn resumption_can_be_switched_off() {
    let body = r#"
        for (let n = 0; n < 3; n++) user.check("a full handshake", (await user.get("/")).json("$.reused") === ".");"#;
    once_with(&server::guarded().address, &members("serverName: \"members.test\", tlsResumption: false"), body).all_checks_held();
}

#[test]
fn connections_need_the_name_and_the_certificate() {
    let server::Guarded { address, root, .. } = server::guarded();
    let ended = once_with(address, &members(""), "await user.get(\"/\");");
    assert!(ended.errors().contains("the server's certificate is for another host name"), "{}", ended.errors());
    let ended = once_with(address, "options: { insecure: true },", "await user.get(\"/\");");
    assert!(ended.errors().contains("status 400"), "{}", ended.errors());
    let ended = once_with(address, &format!("options: {{ roots: [\"{root}\"], serverName: \"members.test\" }},"), "await user.get(\"/\");");
    assert!(ended.errors().contains("status 400"), "{}", ended.errors());
    once_with(address, "options: { serverName: \"not a name\" },", "await user.get(\"/\");").code(2).says("is not a server name");
}

#[test]
fn a_url_takes_the_same_from_flags() {
    let server::Guarded { address, root, certificate, key } = server::guarded();
    let load = ["run", address, "--rate", "5", "--for", "1s", "--root", root, "--server-name", "members.test"];
    let shown = ["--cert", certificate, "--key", key];
    let folder = Folder::new();
    for more in [[].as_slice(), &["--no-keep-alive", "--no-tls-resumption"]] {
        let ended = folder.run(&[&load, shown.as_slice(), more].concat());
        assert_eq!((ended.outcomes("passed"), ended.errors().as_str()), (5, ""), "{}", ended.everything());
    }
    let ended = folder.run(&load);
    assert!(ended.errors().contains("status 400"), "{}", ended.errors());
    folder.run(&[&load, ["--cert", certificate].as_slice()].concat()).code(2).says("--key");
    folder.run(&[&load, ["--cert", root, "--key", "missing.key"].as_slice()].concat()).code(2).says("missing.key");
}
