//! How webhooks are delivered.

use std::path::Path;
use std::time::Duration;

use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

/// How webhooks are delivered. The defaults are right but for tests, and for receivers within one's own walls.
#[derive(Clone, Debug)]
pub struct WebhookOptions {
    /// Whether receivers may be on this machine or in its own networks, and be spoken to without TLS.
    pub allow_private: bool,
    /// Certificate authorities that are trusted beside those that browsers trust.
    pub authorities: Vec<CertificateDer<'static>>,
    /// How often one message is tried before it is a dead letter.
    pub attempts: u32,
    /// The wait after the first failure; it doubles with each further one.
    pub first_wait: Duration,
    /// It does not grow beyond this.
    pub longest_wait: Duration,
    /// How long a receiver may take to answer.
    pub patience: Duration,
}

impl Default for WebhookOptions {
    fn default() -> Self {
        Self {
            allow_private: false,
            authorities: Vec::new(),
            // Two to three hours in all.
            attempts: 15,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60 * 60),
            patience: Duration::from_secs(15),
        }
    }
}

impl WebhookOptions {
    /// Trusts the certificates of a PEM file too; why not, in words.
    pub fn trust(&mut self, file: &Path) -> Result<(), String> {
        let of = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let found = CertificateDer::pem_file_iter(file).map_err(|it| of(&it))?;
        let found = found.collect::<Result<Vec<_>, _>>().map_err(|it| of(&it))?;
        if found.is_empty() {
            return Err(of(&"there is no certificate in it; it must be PEM"));
        }
        self.authorities.extend(found);
        Ok(())
    }
}
