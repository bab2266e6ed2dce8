//! A server with a certificate, and commands that trust its issuer.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::ground::{ClientServer, scratch};

/// An authority, and a server's certificate and key that it signed; all as files.
fn certificates(root: &Path, name: &str) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let signed = authority.self_signed(&key).unwrap();
    let issuer = Issuer::new(authority, key);
    let own = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&own, &issuer).unwrap();
    std::fs::write(root.join("ca.pem"), signed.pem()).unwrap();
    std::fs::write(root.join("cert.pem"), server.pem()).unwrap();
    std::fs::write(root.join("key.pem"), own.serialize_pem()).unwrap();
}

#[test]
fn commands_trust_only_the_given_certificate() {
    let root = scratch("tls");
    certificates(&root, "127.0.0.1");
    let ground =
        ClientServer::start_with(root, "mission", &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    let address = std::fs::read_to_string(ground.root.join("data/address")).unwrap();
    assert!(address.starts_with("https://127.0.0.1:"), "{address}");
    ground.ask(&["whoami"]).says(3, &["cannot reach https://127.0.0.1"]);
    let trusting = |authority: &str| {
        let mut command = ground.command(&["whoami"]);
        command.env("TRACKSIDE_CA", authority);
        crate::program::run_command(command)
    };
    trusting("ca.pem").says(0, &["owner (human)"]);
    trusting("none.pem").says(3, &["TRACKSIDE_CA, none.pem"]);
    trusting("key.pem").says(3, &["it contains no certificate"]);
    let other = scratch("tls-other");
    certificates(&other, "127.0.0.1");
    trusting(other.join("ca.pem").to_str().unwrap()).says(3, &["cannot reach"]);
}
