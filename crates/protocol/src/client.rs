//! An HTTP client for the server.

use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use ureq::http::{Method, Request, Uri};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use crate::prove::PATIENCE;
use crate::{Problem, ServerIdentity};

/// A client of one server, with the identity of its token.
#[derive(Clone, Debug)]
pub struct Client {
    agent: ureq::Agent,
    url: String,
    token: String,
    /// The actor on whose behalf it sends requests.
    on_behalf: Option<String>,
    /// The longest time of one request.
    timeout: Option<Duration>,
}

/// Why a request got no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot reach {url}: {why}")]
    Unreachable { url: String, why: String },
    /// The server returned a problem document.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    #[error("{url} answered {status} and not in words that we know: is it a Trackside server?")]
    Strange { url: String, status: u16 },
}

/// The status and body of a response.
#[derive(Clone, Debug)]
pub struct HttpReply {
    pub status: u16,
    pub body: Json,
}

/// A response whose body is read as a stream.
#[derive(Debug)]
pub struct Exchange<R> {
    pub status: u16,
    /// The media type.
    pub kind: String,
    pub body: R,
}

impl HttpReply {
    /// Parses the body.
    pub fn into<T: DeserializeOwned>(self) -> Result<T, ClientError> {
        serde_json::from_value(self.body)
            .map_err(|_| ClientError::Strange { url: String::new(), status: self.status })
    }
}

impl Client {
    /// A client of the server at this address, such as `http://127.0.0.1:7420`. An empty token is not sent.
    pub fn new(url: &str, token: &str) -> Self {
        Self::with(url, token, TlsConfig::default())
    }

    /// A client that trusts a private certificate authority; `authority` is its certificate as PEM.
    pub fn trusting(url: &str, token: &str, authority: &[u8]) -> Result<Self, String> {
        let mut trusted = Vec::new();
        for item in parse_pem(authority) {
            if let PemItem::Certificate(it) = item.map_err(|it| it.to_string())? {
                trusted.push(it);
            }
        }
        if trusted.is_empty() {
            return Err("it contains no certificate in PEM form".to_owned());
        }
        let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&trusted)).build();
        Ok(Self::with(url, token, tls))
    }

    fn with(url: &str, token: &str, tls: TlsConfig) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(5)))
            .max_redirects(0)
            .proxy(proxy_for(url))
            .tls_config(tls);
        let url = url.trim_end_matches('/').to_owned();
        Self { agent: config.build().into(), url, token: token.to_owned(), on_behalf: None, timeout: None }
    }

    /// Sends requests on behalf of another actor.
    #[must_use]
    pub fn acting_for(mut self, id: &str) -> Self {
        self.on_behalf = Some(id.to_owned());
        self
    }

    /// Gives up a request after this time.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Waits for answers as long as they take, for streams.
    #[must_use]
    pub fn without_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn get(&self, path: &str) -> Result<HttpReply, ClientError> {
        self.send(Method::GET, path, None, &[])
    }

    /// The server's answer to a nonce, without a token and within a short time.
    pub(crate) fn get_identity(&self, nonce: &str) -> Result<ServerIdentity, ClientError> {
        let unreachable = |why: String| ClientError::Unreachable { url: self.url.clone(), why };
        let request = Request::get(format!("{}/v1/identity?nonce={nonce}", self.url)).body(());
        let request = request.map_err(|it| unreachable(it.to_string()))?;
        let request = self.agent.configure_request(request).timeout_global(Some(PATIENCE)).build();
        let mut response = self.agent.run(request).map_err(|it| unreachable(it.to_string()))?;
        let status = response.status().as_u16();
        if status >= 300 {
            return Err(self.refused(response));
        }
        let text = response.body_mut().with_config().limit(64 * 1024).read_to_string().unwrap_or_default();
        serde_json::from_str(&text).map_err(|_| ClientError::Strange { url: self.url.clone(), status })
    }

    pub fn post(&self, path: &str, body: &impl Serialize) -> Result<HttpReply, ClientError> {
        self.post_with(path, body, &[])
    }

    /// Sends a POST request with further headers.
    pub fn post_with(
        &self,
        path: &str,
        body: &impl Serialize,
        headers: &[(&str, &str)],
    ) -> Result<HttpReply, ClientError> {
        self.send(Method::POST, path, serde_json::to_vec(body).ok(), headers)
    }

    pub fn put(&self, path: &str, body: &impl Serialize) -> Result<HttpReply, ClientError> {
        self.send(Method::PUT, path, serde_json::to_vec(body).ok(), &[])
    }

    /// Sends content as `application/octet-stream`.
    pub fn put_bytes(&self, path: &str, content: &[u8]) -> Result<HttpReply, ClientError> {
        let kind = [("content-type", "application/octet-stream")];
        self.send(Method::PUT, path, Some(content.to_vec()), &kind)
    }

    /// Downloads content of up to 64 MiB.
    pub fn get_bytes(&self, path: &str) -> Result<Vec<u8>, ClientError> {
        let mut response = self.request(Method::GET, path, None, &[])?;
        if response.status().as_u16() >= 300 {
            return Err(self.refused(response));
        }
        let all = response.body_mut().with_config().limit(64 * 1024 * 1024).read_to_vec();
        all.map_err(|error| ClientError::Unreachable { url: self.url.clone(), why: error.to_string() })
    }

    pub fn delete(&self, path: &str) -> Result<HttpReply, ClientError> {
        self.send(Method::DELETE, path, None, &[])
    }

    /// Opens an event stream, which is read line by line.
    pub fn stream(&self, path: &str) -> Result<impl std::io::BufRead + use<>, ClientError> {
        let response = self.request(Method::GET, path, None, &[("accept", "text/event-stream")])?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(self.refused(response));
        }
        Ok(std::io::BufReader::new(response.into_body().into_reader()))
    }

    /// Sends a raw body and returns the response with any status. Its body is read as a stream.
    pub fn exchange(
        &self,
        path: &str,
        body: Vec<u8>,
        headers: &[(&str, &str)],
    ) -> Result<Exchange<impl std::io::BufRead + use<>>, ClientError> {
        let response = self.request(Method::POST, path, Some(body), headers)?;
        let kind = response.headers().get("content-type").and_then(|it| it.to_str().ok());
        let (status, kind) = (response.status().as_u16(), kind.unwrap_or_default().to_owned());
        Ok(Exchange { status, kind, body: std::io::BufReader::new(response.into_body().into_reader()) })
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        headers: &[(&str, &str)],
    ) -> Result<ureq::http::Response<ureq::Body>, ClientError> {
        let unreachable = |why: String| ClientError::Unreachable { url: self.url.clone(), why };
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        if !self.token.is_empty() {
            request = request.header("authorization", format!("Bearer {}", self.token));
        }
        if let Some(id) = &self.on_behalf {
            request = request.header("trackside-for", id);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = match body {
            Some(body) => {
                let has_kind = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
                let kind = (!has_kind).then_some(("content-type", "application/json"));
                let request =
                    kind.into_iter().fold(request, |it, (name, value)| it.header(name, value)).body(body);
                let request = request.map_err(|it| unreachable(it.to_string()))?;
                self.agent.run(self.agent.configure_request(request).timeout_global(self.timeout).build())
            }
            None => {
                let request = request.body(()).map_err(|it| unreachable(it.to_string()))?;
                self.agent.run(self.agent.configure_request(request).timeout_global(self.timeout).build())
            }
        };
        sent.map_err(|error| unreachable(error.to_string()))
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        headers: &[(&str, &str)],
    ) -> Result<HttpReply, ClientError> {
        let mut response = self.request(method, path, body, headers)?;
        let status = response.status().as_u16();
        if status >= 300 {
            return Err(self.refused(response));
        }
        let text = response.body_mut().with_config().limit(64 * 1024 * 1024).read_to_string();
        let text =
            text.map_err(|error| ClientError::Unreachable { url: self.url.clone(), why: error.to_string() })?;
        let body = match text.is_empty() {
            true => Json::Null,
            false => serde_json::from_str(&text).unwrap_or(Json::String(text)),
        };
        Ok(HttpReply { status, body })
    }

    fn refused(&self, mut response: ureq::http::Response<ureq::Body>) -> ClientError {
        let status = response.status().as_u16();
        let text = response.body_mut().read_to_string().unwrap_or_default();
        match serde_json::from_str::<Problem>(&text) {
            Ok(problem) => ClientError::Refused(Box::new(problem)),
            Err(_) => ClientError::Strange { url: self.url.clone(), status },
        }
    }
}

/// The proxy that the environment names, for HTTPS only: a proxy reads all of HTTP, also the token. A loopback address is
/// always called directly.
fn proxy_for(url: &str) -> Option<ureq::Proxy> {
    let url: Uri = url.parse().ok()?;
    let host = url.host()?.trim_matches(['[', ']']);
    let address: Option<IpAddr> = host.parse().ok();
    let is_loopback = host == "localhost" || address.is_some_and(|it| it.to_canonical().is_loopback());
    match url.scheme_str() == Some("https") && !is_loopback {
        true => ureq::Proxy::try_from_env(),
        false => None,
    }
}
