//! Asks a server to prove its identity, before a token is sent to it.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, UnparsedPublicKey};
use trackside_lifecycle::hex;

use crate::{Client, ClientError, ServerIdentity};

/// The longest wait for a proof. A server that does not answer must not hold up a hook.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// A server that proved that it has the private key of this fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenServer {
    pub fingerprint: String,
    /// Whether the server itself received the request at the address that was called. False behind a proxy or a relay.
    pub is_direct: bool,
}

/// Why a server did not prove its identity.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    #[error(transparent)]
    Unreachable(ClientError),
    /// Something answered, but not with a proof.
    #[error("{0}")]
    Unproven(String),
}

impl Client {
    /// Asks the server to prove its identity. Sends no token.
    pub fn prove(&self) -> Result<ProvenServer, ProofError> {
        let unproven = |why: &str| ProofError::Unproven(why.to_owned());
        let mut random = [0_u8; 32];
        SystemRandom::new()
            .fill(&mut random)
            .map_err(|_| unproven("this system has no source of randomness"))?;
        let nonce = hex::encode(random);
        let answer = self.get_identity(&nonce).map_err(|error| match error {
            ClientError::Unreachable { .. } => ProofError::Unreachable(error),
            ClientError::Refused(problem) if problem.status == 404 || problem.status == 401 => {
                unproven("it is an older release, which has no identity")
            }
            ClientError::Refused(problem) => unproven(&problem.detail),
            ClientError::Strange { .. } => unproven("it is no Trackside server"),
        })?;
        verify(&answer, &nonce).ok_or_else(|| unproven("its signature is wrong"))?;
        let called = addresses(self.url());
        let is_direct = answer.address.parse().is_ok_and(|it| called.contains(&canonical(it)));
        Ok(ProvenServer { fingerprint: answer.fingerprint, is_direct })
    }
}

/// Checks that the key has the fingerprint, and that the key signed this nonce and the address.
fn verify(identity: &ServerIdentity, nonce: &str) -> Option<()> {
    let key: [u8; 32] = hex::decode(&identity.public_key)?;
    let signature: [u8; 64] = hex::decode(&identity.signature)?;
    let fingerprint = ring::digest::digest(&ring::digest::SHA256, &key);
    if hex::encode(fingerprint.as_ref()) != identity.fingerprint {
        return None;
    }
    let text = ServerIdentity::signed_text(nonce, &identity.address);
    UnparsedPublicKey::new(&ED25519, key).verify(&text, &signature).ok()
}

/// The socket addresses that a URL leads to.
fn addresses(url: &str) -> Vec<SocketAddr> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.bytes().all(|it| it.is_ascii_digit()) && !port.is_empty());
    let usual = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    let place = if has_port { host.to_owned() } else { format!("{host}:{usual}") };
    place.to_socket_addrs().map(|it| it.map(canonical).collect()).unwrap_or_default()
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_a_url_are_found() {
        let one = |url: &str| addresses(url).first().map(ToString::to_string).unwrap_or_default();
        assert_eq!(one("http://127.0.0.1:7420"), "127.0.0.1:7420");
        assert_eq!(one("https://127.0.0.1/x"), "127.0.0.1:443");
        assert_eq!(one("http://[::1]:9/"), "[::1]:9");
        assert_eq!(one("http://[::1]"), "[::1]:80");
        assert_eq!(one("http://[::ffff:127.0.0.1]:5"), "127.0.0.1:5");
        assert_eq!(one("http://"), "");
    }
}
