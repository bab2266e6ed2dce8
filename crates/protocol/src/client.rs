//! A client that speaks the wire.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use ureq::http::{Method, Request};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use crate::Problem;

/// Speaks to a server, as whoever its token says.
#[derive(Clone, Debug)]
pub struct Client {
    agent: ureq::Agent,
    url: String,
    token: String,
    /// For whom it speaks.
    on_behalf: Option<String>,
}

/// Why there is no answer that could be used.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot reach {url}: {why}")]
    Unreachable { url: String, why: String },
    /// The server turned it down, and says why.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    #[error("{url} answered {status} and not in words that we know: is it a Trackside server?")]
    Strange { url: String, status: u16 },
}

/// What the server said.
#[derive(Clone, Debug)]
pub struct HttpReply {
    pub status: u16,
    pub body: Json,
}

/// An answer that is read as it comes.
#[derive(Debug)]
pub struct Exchange<R> {
    pub status: u16,
    /// Its media type.
    pub kind: String,
    pub body: R,
}

impl HttpReply {
    /// The body as what it should be.
    pub fn into<T: DeserializeOwned>(self) -> Result<T, ClientError> {
        serde_json::from_value(self.body)
            .map_err(|_| ClientError::Strange { url: String::new(), status: self.status })
    }
}

impl Client {
    /// A server, by its address as in `http://127.0.0.1:7420`; without a token it shows none.
    pub fn new(url: &str, token: &str) -> Self {
        Self::with(url, token, TlsConfig::default())
    }

    /// The same for a server whose certificate was signed by somebody of your own: theirs, as PEM.
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
            .tls_config(tls);
        let url = url.trim_end_matches('/').to_owned();
        Self { agent: config.build().into(), url, token: token.to_owned(), on_behalf: None }
    }

    /// Speaks for somebody else.
    #[must_use]
    pub fn acting_for(mut self, id: &str) -> Self {
        self.on_behalf = Some(id.to_owned());
        self
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn get(&self, path: &str) -> Result<HttpReply, ClientError> {
        self.send(Method::GET, path, None, &[])
    }

    pub fn post(&self, path: &str, body: &impl Serialize) -> Result<HttpReply, ClientError> {
        self.post_with(path, body, &[])
    }

    /// The same with headers.
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

    /// Keeps content as it is.
    pub fn put_bytes(&self, path: &str, content: &[u8]) -> Result<HttpReply, ClientError> {
        let kind = [("content-type", "application/octet-stream")];
        self.send(Method::PUT, path, Some(content.to_vec()), &kind)
    }

    /// Content as it is.
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

    /// A stream, to be read line by line as events come.
    pub fn stream(&self, path: &str) -> Result<impl std::io::BufRead + use<>, ClientError> {
        let response = self.request(Method::GET, path, None, &[])?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(self.refused(response));
        }
        Ok(std::io::BufReader::new(response.into_body().into_reader()))
    }

    /// Sends a body as it is, and gives the answer whatever its status: it is read as it comes.
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
                self.agent.run(request.map_err(|it| unreachable(it.to_string()))?)
            }
            None => self.agent.run(request.body(()).map_err(|it| unreachable(it.to_string()))?),
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
