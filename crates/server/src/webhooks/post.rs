//! Sends one message to one receiver, once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use axum::http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::address::is_public;
use super::backoff;
use super::{WebhookOptions, cloud_event};

/// Bytes of an answer that are read, so that the receiver can finish sending.
const HEARD: usize = 64 * 1024;

/// The target of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebhookTarget {
    uri: Uri,
    host: String,
    port: u16,
    is_tls: bool,
}

impl WebhookTarget {
    /// Parses and checks a URL, or returns the reason why it is invalid.
    pub fn parse(url: &str, allow_private: bool) -> Result<Self, String> {
        let uri: Uri =
            url.parse().map_err(|_| "it is not a URL: write it as https://example.com/hooks".to_owned())?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") if allow_private => false,
            Some("http") => {
                return Err("it must begin with https://. A server started with --allow-private-webhooks also allows http".to_owned());
            }
            _ => return Err("it must begin with https://".to_owned()),
        };
        let authority = uri.authority().map(|it| it.as_str()).unwrap_or_default();
        if authority.contains('@') {
            return Err("it must not contain a user name or password: messages are signed instead".to_owned());
        }
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if host.is_empty() {
            return Err("it has no host".to_owned());
        }
        if !allow_private && host.parse().is_ok_and(|it| !is_public(it)) {
            return Err(format!("{host} {PRIVATE}"));
        }
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        Ok(Self { uri, host, port, is_tls })
    }

    /// The path with the query.
    pub fn path(&self) -> &str {
        self.uri.path_and_query().map_or("/", |it| it.as_str())
    }

    /// The host as a request names it, with the port if it is not the usual one.
    pub fn authority(&self) -> &str {
        self.uri.authority().map(|it| it.as_str()).unwrap_or_default()
    }
}

/// Why an address is not allowed.
const PRIVATE: &str = "is on this machine or in a private network, and the server was not started with --allow-private-webhooks";

/// A signed message.
#[derive(Debug)]
pub(crate) struct WebhookMessage {
    /// The id of the message, the same for every attempt.
    pub id: String,
    /// Seconds since 1970.
    pub timestamp: u64,
    pub signature: String,
    pub body: Vec<u8>,
}

/// The outcome of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PostOutcome {
    Delivered(u16),
    /// The receiver answered 410: it wants no more messages.
    Gone,
    Failed(PostFailure),
}

/// Why an attempt failed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PostFailure {
    pub status: Option<u16>,
    pub why: String,
    /// The `Retry-After` of the receiver.
    pub wait: Option<Duration>,
}

/// Sends messages over HTTP.
pub(crate) struct WebhookSender {
    tls: TlsConnector,
    allow_private: bool,
    patience: Duration,
}

impl std::fmt::Debug for WebhookSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebhookSender")
    }
}

impl WebhookSender {
    pub fn new(options: &WebhookOptions) -> Self {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        roots.add_parsable_certificates(options.authorities.iter().cloned());
        let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let tls = TlsConnector::from(Arc::new(config));
        Self { tls, allow_private: options.allow_private, patience: options.patience }
    }

    /// Sends a message within the time limit.
    pub async fn post(&self, target: &WebhookTarget, message: WebhookMessage) -> PostOutcome {
        match tokio::time::timeout(self.patience, self.try_post(target, message)).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(why)) => PostOutcome::Failed(PostFailure { why, ..PostFailure::default() }),
            Err(_) => {
                let why = format!("no answer within {} s", self.patience.as_secs_f64());
                PostOutcome::Failed(PostFailure { why, ..PostFailure::default() })
            }
        }
    }

    /// Sends any request within the time limit, and returns the status and the body of the answer. Redirects are not
    /// followed.
    pub async fn exchange(
        &self,
        target: &WebhookTarget,
        request: Request<Full<Bytes>>,
        most: usize,
    ) -> Result<(StatusCode, Bytes), String> {
        let exchange = async {
            let stream = self.connect(&target.host, target.port).await?;
            if !target.is_tls {
                return exchanged(stream, request, most).await;
            }
            exchanged(self.secure(&target.host, stream).await?, request, most).await
        };
        let late = |_| format!("{} did not answer within {} s", target.host, self.patience.as_secs_f64());
        tokio::time::timeout(self.patience, exchange).await.map_err(late)?
    }

    async fn try_post(&self, target: &WebhookTarget, message: WebhookMessage) -> Result<PostOutcome, String> {
        let stream = self.connect(&target.host, target.port).await?;
        if !target.is_tls {
            return send(stream, target, message).await;
        }
        send(self.secure(&target.host, stream).await?, target, message).await
    }

    /// The time limit of a request.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Whether receivers on this machine and in private networks are allowed.
    pub fn allows_private(&self) -> bool {
        self.allow_private
    }

    /// Secures a connection with TLS, and checks the certificate of the host.
    pub async fn secure(&self, host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|it| it.to_string())?;
        self.tls.connect(name, stream).await.map_err(|it| format!("TLS: {it}"))
    }

    /// Connects to an address that was checked, so that a DNS change between check and connection has no effect.
    pub async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, String> {
        let found = tokio::net::lookup_host((host, port)).await;
        let found: Vec<SocketAddr> = found.map_err(|it| format!("{host}: {it}"))?.collect();
        let allowed = found.iter().filter(|it| self.allow_private || is_public(it.ip()));
        let mut why = match found.is_empty() {
            true => format!("{host} has no address"),
            false => format!("{host} {PRIVATE}"),
        };
        for address in allowed {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => why = format!("{address}: {error}"),
            }
        }
        Err(why)
    }
}

async fn send<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    target: &WebhookTarget,
    message: WebhookMessage,
) -> Result<PostOutcome, String> {
    let request = request(target, message).map_err(|it| it.to_string())?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|it| it.to_string())?;
    let connection = Ending(tokio::spawn(connection));
    let answer = sender.send_request(request).await.map_err(|it| it.to_string())?;
    let status = answer.status();
    let wait = answer.headers().get(header::RETRY_AFTER).and_then(|it| it.to_str().ok());
    let wait = wait.and_then(|it| backoff::asked(it, SystemTime::now()));
    // The body is ignored. Redirects count as failures and are not followed.
    Limited::new(answer.into_body(), HEARD).collect().await.ok();
    drop(connection);
    Ok(match status {
        it if it.is_success() => PostOutcome::Delivered(it.as_u16()),
        StatusCode::GONE => PostOutcome::Gone,
        it => PostOutcome::Failed(PostFailure {
            status: Some(it.as_u16()),
            why: format!("it answered {it}"),
            wait,
        }),
    })
}

async fn exchanged<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    request: Request<Full<Bytes>>,
    most: usize,
) -> Result<(StatusCode, Bytes), String> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|it| it.to_string())?;
    let connection = Ending(tokio::spawn(connection));
    let answer = sender.send_request(request).await.map_err(|it| it.to_string())?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), most).collect().await.map_err(|it| it.to_string())?;
    drop(connection);
    Ok((status, body.to_bytes()))
}

fn request(
    target: &WebhookTarget,
    message: WebhookMessage,
) -> Result<Request<Full<Bytes>>, axum::http::Error> {
    Request::post(target.path())
        .header(header::HOST, target.authority())
        .header(header::CONTENT_TYPE, cloud_event::KIND)
        .header(header::USER_AGENT, concat!("trackside/", env!("CARGO_PKG_VERSION")))
        .header(header::CONNECTION, "close")
        .header("webhook-id", message.id)
        .header("webhook-timestamp", message.timestamp)
        .header("webhook-signature", message.signature)
        .body(Full::from(message.body))
}

/// A connection that is closed when it is dropped.
struct Ending(tokio::task::JoinHandle<Result<(), hyper::Error>>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_named_by_a_plain_url() {
        for (url, why) in [
            ("", "not a URL"),
            ("example.com", "https://"),
            ("ftp://example.com/", "https://"),
            ("http://example.com/", "--allow-private-webhooks"),
            ("https://ada:word@example.com/", "password"),
            ("https://127.0.0.1/", "--allow-private-webhooks"),
            ("https://[::1]:8443/", "--allow-private-webhooks"),
            ("https://[::ffff:10.0.0.1]/", "--allow-private-webhooks"),
            ("https:///path", "not a URL"),
        ] {
            let refused = WebhookTarget::parse(url, false).unwrap_err();
            assert!(refused.contains(why), "{url}: {refused}");
        }
        let target = WebhookTarget::parse("https://example.com/hooks?a=b", false).unwrap();
        assert_eq!((target.host.as_str(), target.port, target.is_tls), ("example.com", 443, true));
        let target = WebhookTarget::parse("http://[::1]:7/x", true).unwrap();
        assert_eq!((target.host.as_str(), target.port, target.is_tls), ("::1", 7, false));
    }

    #[tokio::test]
    async fn a_name_that_resolves_to_this_machine_is_refused() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let options = WebhookOptions { patience: Duration::from_secs(5), ..WebhookOptions::default() };
        let target = WebhookTarget::parse(&format!("https://localhost:{port}/"), false).unwrap();
        let refused = WebhookSender::new(&options).connect(&target.host, target.port).await.unwrap_err();
        assert!(refused.contains("--allow-private-webhooks"), "{refused}");
        assert!(listener.accept().is_err(), "a connection was made");
        let options = WebhookOptions { allow_private: true, ..options };
        WebhookSender::new(&options).connect(&target.host, target.port).await.unwrap();
    }
}
