//! Message signatures: Standard Webhooks, symmetric.
//!
//! The secret of a webhook is derived from a key in the data folder and the webhook's id, so that it is not stored.

use std::io::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use trackside_lifecycle::hex;

/// The key file in the data folder.
const FILE: &str = "webhook.key";

/// The key from which all secrets are derived.
pub(crate) struct SigningKey([u8; 32]);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey")
    }
}

impl SigningKey {
    /// Reads the key of a folder; none if there is none yet.
    pub fn read(data: &Path) -> std::io::Result<Option<Self>> {
        let text = match std::fs::read_to_string(data.join(FILE)) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let bytes = STANDARD.decode(text.trim()).ok().and_then(|it| it.try_into().ok());
        let wrong = || std::io::Error::other(format!("{FILE} is damaged. Restore it, or move it away"));
        bytes.map(|it| Some(Self(it))).ok_or_else(wrong)
    }

    /// Creates a key file that only its owner can read. Never overwrites one.
    pub fn make(data: &Path) -> std::io::Result<Self> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|it| std::io::Error::other(it.to_string()))?;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let mut file = options.open(data.join(FILE))?;
        file.write_all(STANDARD.encode(bytes).as_bytes())?;
        file.sync_all()?;
        Ok(Self(bytes))
    }

    /// The secret of a webhook.
    pub fn secret_of(&self, webhook: &str) -> SigningSecret {
        SigningSecret(hmac(&self.0, &[b"webhook\0", webhook.as_bytes()]))
    }

    /// The CloudEvents source of this project: stable across restarts, different for every project.
    pub fn source(&self) -> String {
        let mut id: [u8; 16] = hmac(&self.0, &[b"source\0"]).first_chunk().copied().unwrap_or_default();
        let [_, _, _, _, _, _, version, _, variant, ..] = &mut id;
        *version = (*version & 0x0f) | 0x80;
        *variant = (*variant & 0x3f) | 0x80;
        format!("urn:uuid:{}", hex::encode_uuid(&id))
    }
}

/// The signing secret of one webhook.
pub(crate) struct SigningSecret([u8; 32]);

impl std::fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningSecret")
    }
}

impl SigningSecret {
    /// The text for the receiver: `whsec_…`.
    pub fn text(&self) -> String {
        format!("whsec_{}", STANDARD.encode(self.0))
    }

    /// The signature of a message sent at this time.
    pub fn sign(&self, id: &str, timestamp: u64, body: &[u8]) -> String {
        let head = format!("{id}.{timestamp}.");
        format!("v1,{}", STANDARD.encode(hmac(&self.0, &[head.as_bytes(), body])))
    }
}

/// HMAC-SHA256 over several parts.
fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC accepts keys of any length, so this cannot fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|it| mac.update(it));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_is_signed_as_it_says() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = br#"{"test": 2432232314}"#;
        let head = "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.";
        let signed = STANDARD.encode(hmac(&secret, &[head.as_bytes(), body]));
        assert_eq!(signed, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn every_webhook_has_its_own_secret_and_a_key_that_is_there_stays() {
        let data = std::env::temp_dir().join(format!("trackside-key-{}", std::process::id()));
        std::fs::create_dir_all(&data).unwrap();
        assert!(SigningKey::read(&data).unwrap().is_none());
        let key = SigningKey::make(&data).unwrap();
        assert!(SigningKey::make(&data).is_err(), "it would be written over");
        let again = SigningKey::read(&data).unwrap().unwrap();
        assert_eq!(key.secret_of("a").text(), again.secret_of("a").text());
        assert_ne!(key.secret_of("a").text(), key.secret_of("b").text());
        assert_eq!(key.source(), again.source());
        assert_eq!(key.source().len(), "urn:uuid:".len() + 36);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(data.join(FILE)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        std::fs::write(data.join(FILE), "short").unwrap();
        assert!(SigningKey::read(&data).is_err());
        std::fs::remove_dir_all(&data).unwrap();
    }
}
