//! Options of webhook delivery.

use std::path::Path;
use std::time::Duration;

use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

/// Options of webhook delivery. The defaults suit everything but tests and internal receivers.
#[derive(Clone, Debug)]
pub struct WebhookOptions {
    /// Allow receivers on this machine and in private networks, and plain HTTP.
    pub allow_private: bool,
    /// Certificate authorities to trust besides the built-in ones.
    pub authorities: Vec<CertificateDer<'static>>,
    /// Attempts before a message is a dead letter.
    pub attempts: u32,
    /// The wait after the first failure; it doubles with each further one.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
    /// Time limit of a request.
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
    /// Adds the certificates of a PEM file, or says why not.
    pub fn trust(&mut self, file: &Path) -> Result<(), String> {
        let of = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let found = CertificateDer::pem_file_iter(file).map_err(|it| of(&it))?;
        let found = found.collect::<Result<Vec<_>, _>>().map_err(|it| of(&it))?;
        if found.is_empty() {
            return Err(of(&"it contains no certificate in PEM form"));
        }
        self.authorities.extend(found);
        Ok(())
    }
}
