//! The server's identity: an Ed25519 key pair in the data folder.

use std::io::Write as _;
use std::path::Path;

use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use sha2::{Digest as _, Sha256};
use trackside_lifecycle::hex;
use trackside_protocol::{ISSUER_DIGITS, ServerIdentity};

/// The key file in the data folder.
const FILE: &str = "server.key";

/// The key pair by which clients recognise the server.
pub(crate) struct ServerKey {
    pair: Ed25519KeyPair,
    fingerprint: String,
    is_new: bool,
}

impl std::fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServerKey {}", self.fingerprint)
    }
}

impl ServerKey {
    /// Reads the key of a folder. Creates it if there is none.
    pub fn open(data: &Path) -> std::io::Result<Self> {
        let path = data.join(FILE);
        let (stored, is_new) = match std::fs::read(&path) {
            Ok(stored) => (stored, false),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (create(&path)?, true),
            Err(error) => return Err(error),
        };
        let damaged = |_| {
            std::io::Error::other(
                "it is damaged. Restore it, or move it away: the server then makes a new key, and every token must be created again",
            )
        };
        let pair = Ed25519KeyPair::from_pkcs8(&stored).map_err(damaged)?;
        let fingerprint = hex::encode(Sha256::digest(pair.public_key().as_ref()));
        Ok(Self { pair, fingerprint, is_new })
    }

    /// The SHA-256 of the public key, in hexadecimal.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Whether this start created the key: the project is new, imported, restored or has lost its key.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The start of the fingerprint, which every token of this server contains.
    pub fn issuer(&self) -> &str {
        self.fingerprint.get(..ISSUER_DIGITS).unwrap_or_default()
    }

    /// The proof that this server, at this address, received the nonce.
    pub fn prove(&self, nonce: &str, address: String, addresses: Vec<String>) -> ServerIdentity {
        let signature = self.pair.sign(&ServerIdentity::signed_text(nonce, &address));
        ServerIdentity {
            public_key: hex::encode(self.pair.public_key().as_ref()),
            fingerprint: self.fingerprint.clone(),
            addresses,
            address,
            signature: hex::encode(signature.as_ref()),
        }
    }
}

/// Creates a key file that only its owner can read. Never overwrites one.
fn create(path: &Path) -> std::io::Result<Vec<u8>> {
    let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
    let made = made.map_err(|_| std::io::Error::other("the system has no source of randomness"))?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    file.write_all(made.as_ref())?;
    file.sync_all()?;
    Ok(made.as_ref().to_vec())
}
