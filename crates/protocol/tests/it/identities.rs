//! Client certificates in files that OpenSSL has written: with passphrases, as PKCS #12, one for each user, and wrong in each possible way.

use std::path::{Path, PathBuf};
use std::process::Command;

use loadstone_metrics::clock::Clock;
use loadstone_protocol::{ClientIdentity, IdentitySource, Network, NetworkOptions};

use super::support::{client, passed, run_with};
use super::tls::{Authority, over_tls, serve, trusting};

/// Runs OpenSSL in a folder.
fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output();
    let output = output.expect("openssl is missing: `cargo xtask setup` installs it");
    assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An authority with a client certificate `own.pem` and its key `own.key` in its folder.
fn authority() -> (Authority, PathBuf) {
    let authority = Authority::new("Known");
    let (own, own_key) = authority.sign(&["client"], |_| {});
    authority.file("own.key", &own_key.serialize_pem());
    let folder = authority.file("own.pem", &own.pem()).parent().unwrap().to_owned();
    authority.root();
    (authority, folder)
}

fn pem(folder: &Path, certificate: &str, key: &str, passphrase: Option<&str>) -> ClientIdentity {
    let files = IdentitySource::Pem { certificate: folder.join(certificate), key: folder.join(key) };
    ClientIdentity::new(files, passphrase.map(str::to_owned))
}

fn pkcs12(folder: &Path, file: &str, passphrase: Option<&str>) -> ClientIdentity {
    ClientIdentity::new(IdentitySource::Pkcs12(folder.join(file)), passphrase.map(str::to_owned))
}

/// Why the identity cannot be used, without the folder.
fn problem(identity: ClientIdentity, folder: &Path) -> String {
    let options = NetworkOptions { identities: vec![identity], ..NetworkOptions::default() };
    let error = Network::new(Clock::virtual_time(), options).err().map(|error| error.to_string()).unwrap_or_default();
    error.replace(&format!("{}/", folder.display()), "")
}

/// A server that requires a client certificate of the authority accepts each of these.
fn all_are_accepted(authority: &Authority, identities: Vec<(&str, ClientIdentity)>) {
    let (certificate, key) = &authority.sign(&["localhost"], |_| {});
    for (what, identity) in identities {
        run_with(NetworkOptions { identities: vec![identity], ..trusting(authority) }, |network| async move {
            let address = serve(certificate.der().clone(), key, Some(authority.roots())).await;
            let exchange = client(&network).send(&over_tls(address, "localhost")).await;
            assert_eq!(passed(&exchange).body, "ok", "{what}");
        });
    }
}

#[test]
fn encrypted_keys_are_decrypted_with_their_passphrase() {
    let (authority, folder) = authority();
    let mut identities = Vec::new();
    for how in ["-v2 aes-256-cbc", "-v2 aes-128-cbc -v2prf hmacWithSHA1", "-v2 des3", "-scrypt"] {
        let file = format!("{}.key", how.replace(' ', ""));
        openssl(&folder, &format!("pkcs8 -topk8 {how} -in own.key -passout pass:höflich -out {file}"));
        assert_eq!(problem(pem(&folder, "own.pem", &file, Some("wrong")), &folder), format!("{file}: the passphrase is wrong"));
        identities.push((how, pem(&folder, "own.pem", &file, Some("höflich"))));
    }
    // The older form, of RSA and EC keys.
    openssl(&folder, "ec -in own.key -aes256 -passout pass:höflich -out old.key");
    assert_eq!(problem(pem(&folder, "own.pem", "old.key", Some("wrong")), &folder), "old.key: the passphrase is wrong");
    identities.push(("old form", pem(&folder, "own.pem", "old.key", Some("höflich"))));
    // A key in front of its certificate, in one file.
    openssl(&folder, "pkcs8 -topk8 -in own.key -passout pass:höflich -out both.pem");
    let both = [std::fs::read(folder.join("both.pem")).unwrap(), std::fs::read(folder.join("own.pem")).unwrap()].concat();
    std::fs::write(folder.join("both.pem"), both).unwrap();
    identities.push(("one file", pem(&folder, "both.pem", "both.pem", Some("höflich"))));
    all_are_accepted(&authority, identities);
}

#[test]
fn pkcs12_files_are_read() {
    let (authority, folder) = authority();
    let mut identities = Vec::new();
    for (file, how) in [
        ("modern.p12", "-passout pass:secret"),
        ("chain.p12", "-passout pass:secret -certfile root.pem -name own"),
        ("legacy.p12", "-passout pass:secret -legacy"),
        ("empty.p12", "-passout pass:"),
    ] {
        openssl(&folder, &format!("pkcs12 -export -in own.pem -inkey own.key {how} -out {file}"));
        identities.push((file, pkcs12(&folder, file, (file != "empty.p12").then_some("secret"))));
    }
    all_are_accepted(&authority, identities);
    assert_eq!(problem(pkcs12(&folder, "modern.p12", Some("wrong")), &folder), "modern.p12: the passphrase is wrong");
    assert_eq!(problem(pkcs12(&folder, "legacy.p12", Some("wrong")), &folder), "legacy.p12: the passphrase is wrong");
    let unset = problem(pkcs12(&folder, "modern.p12", None), &folder);
    assert!(unset.starts_with("modern.p12: the PKCS #12 file is encrypted: set its passphrase (clientCertificate.passphrase"), "{unset}");
}

#[test]
fn files_of_the_wrong_format_name_the_right_one() {
    let (authority, folder) = authority();
    openssl(&folder, "pkcs12 -export -in own.pem -inkey own.key -passout pass:secret -out own.p12");
    openssl(&folder, "pkcs12 -export -in own.pem -nokeys -passout pass:secret -out keyless.p12");
    openssl(&folder, "x509 -in own.pem -outform DER -out own.der");
    let (_, other_key) = authority.sign(&["other"], |_| {});
    authority.file("other.key", &other_key.serialize_pem());
    authority.file("garbage.p12", "nothing");
    for (identity, expected) in [
        (pkcs12(&folder, "own.pem", None), "own.pem: is a PEM file, not PKCS #12: write { certificate, key } (--cert and --key)"),
        (pkcs12(&folder, "garbage.p12", None), "garbage.p12: cannot be read as PKCS #12: "),
        (pkcs12(&folder, "none.p12", None), "none.p12: cannot be read: No such file"),
        (pkcs12(&folder, "keyless.p12", Some("secret")), "keyless.p12: the PKCS #12 file contains no private key"),
        (
            pem(&folder, "own.p12", "own.key", None),
            "own.p12: contains no PEM certificate (-----BEGIN CERTIFICATE-----); it is a binary file: if",
        ),
        (
            pem(&folder, "own.der", "own.key", None),
            "own.der: contains no PEM certificate (-----BEGIN CERTIFICATE-----); it is a binary file: if",
        ),
        (pem(&folder, "own.pem", "own.key", Some("secret")), "own.key: a passphrase is set, but the private key is not encrypted"),
        (pem(&folder, "own.pem", "other.key", None), "other.key: the private key does not belong to the certificate in own.pem"),
    ] {
        let found = problem(identity, &folder);
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn users_take_certificates_in_turn_and_share_no_sessions_across_them() {
    let (authority, folder) = authority();
    let (second, second_key) = authority.sign(&["second"], |_| {});
    authority.file("second.pem", &second.pem());
    authority.file("second.key", &second_key.serialize_pem());
    let identities = vec![pem(&folder, "own.pem", "own.key", None), pem(&folder, "second.pem", "second.key", None)];
    let (certificate, key) = &authority.sign(&["localhost"], |_| {});
    let authority = &authority;
    run_with(NetworkOptions { identities, ..trusting(authority) }, |network| async move {
        let address = serve(certificate.der().clone(), key, Some(authority.roots())).await;
        let mut shown = Vec::new();
        for user in 0..4 {
            let exchange = client(&network.of_user(user)).send(&over_tls(address, "localhost")).await;
            let headers = &passed(&exchange).headers;
            shown.push((headers.get("x-client").unwrap().to_owned(), headers.get("x-resumed").unwrap().to_owned()));
        }
        assert_ne!(shown[0].0, shown[1].0);
        assert_eq!((&shown[0].0, &shown[1].0), (&shown[2].0, &shown[3].0));
        let resumed: Vec<_> = shown.iter().map(|(_, resumed)| resumed.as_str()).collect();
        assert_eq!(resumed, ["false", "false", "true", "true"]);
        assert_eq!(network.connections().opened, 4);
    });
}
