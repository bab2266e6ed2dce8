//! TLS.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::connection_slots::{LimitedListener, SlottedStream};

/// Time limit of a handshake.
const PATIENCE: Duration = Duration::from_secs(10);
/// Accepted connections that may wait to be served.
const WAITING: usize = 64;

/// A certificate and its key.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Reads both from PEM files, or says why not.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let of = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let chain = CertificateDer::pem_file_iter(certificate).map_err(|it| of(certificate, &it))?;
        let chain = chain.collect::<Result<Vec<_>, _>>().map_err(|it| of(certificate, &it))?;
        if chain.is_empty() {
            return Err(of(certificate, &"it contains no certificate in PEM form"));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|it| of(key, &it))?;
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, secret);
        let mut config = config.map_err(|it| of(key, &it))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// Performs handshakes concurrently.
    pub(crate) fn over(self, mut listener: LimitedListener) -> io::Result<TlsListener> {
        let address = listener.local_addr()?;
        let (ready, shaken) = mpsc::channel(WAITING);
        tokio::spawn(async move {
            loop {
                let (stream, from) = tokio::select! {
                    accepted = listener.accept() => accepted,
                    () = ready.closed() => return,
                };
                let (acceptor, ready) = (self.0.clone(), ready.clone());
                tokio::spawn(async move {
                    // A failed handshake affects no other connection.
                    if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await {
                        ready.send((stream, from)).await.ok();
                    }
                });
            }
        });
        Ok(TlsListener { shaken, address })
    }
}

/// Connections after their handshake.
#[derive(Debug)]
pub(crate) struct TlsListener {
    shaken: mpsc::Receiver<(TlsStream<SlottedStream>, SocketAddr)>,
    address: SocketAddr,
}

impl Listener for TlsListener {
    type Io = TlsStream<SlottedStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.shaken.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
