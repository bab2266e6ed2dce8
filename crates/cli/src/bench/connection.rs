//! One HTTP/1.1 connection that stays open. It does as little as possible, so that the load leaves the processor to
//! the server it measures.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The longest answer that is read.
const LONGEST: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

/// Status, body, and the size of the whole answer.
#[derive(Debug)]
pub(super) struct HttpAnswer<'a> {
    pub(super) status: u16,
    pub(super) body: &'a [u8],
    pub(super) bytes: usize,
}

impl Connection {
    pub(super) async fn open(to: SocketAddr) -> Result<Self, Error> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::with_capacity(8 * 1024) })
    }

    pub(super) async fn get(&mut self, path: &str) -> Result<HttpAnswer<'_>, Error> {
        self.get_with(path, "").await
    }

    /// Gets a path; `headers` are whole lines.
    pub(super) async fn get_with(&mut self, path: &str, headers: &str) -> Result<HttpAnswer<'_>, Error> {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n").as_bytes()).await
    }

    /// Posts JSON; `headers` are whole lines.
    pub(super) async fn post(
        &mut self,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Result<HttpAnswer<'_>, Error> {
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        );
        self.send(request.as_bytes()).await
    }

    async fn send(&mut self, request: &[u8]) -> Result<HttpAnswer<'_>, Error> {
        self.stream.write_all(request).await?;
        self.received.clear();
        let (status, body) = loop {
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Some(found) = parse(&self.received)? {
                break found;
            }
            if self.received.len() > LONGEST {
                return Err(Error::other("the answer is too long"));
            }
        };
        Ok(HttpAnswer {
            status,
            body: self.received.get(body..).unwrap_or_default(),
            bytes: self.received.len(),
        })
    }
}

/// The status and where the body begins; none while bytes are missing.
fn parse(received: &[u8]) -> Result<Option<(u16, usize)>, Error> {
    let Some(end) = received.windows(4).position(|it| it == b"\r\n\r\n").map(|it| it + 4) else {
        return Ok(None);
    };
    let invalid = || Error::new(ErrorKind::InvalidData, "the answer is not HTTP");
    let head = received.get(..end).and_then(|it| std::str::from_utf8(it).ok()).ok_or_else(invalid)?;
    let status = head.get(9..12).and_then(|it| it.parse().ok()).ok_or_else(invalid)?;
    let length = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())
    });
    let length = length.transpose().map_err(|_| invalid())?.unwrap_or(0);
    Ok((received.len() >= end + length).then_some((status, end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_when_its_body_is() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        for cut in 0..text.len() {
            assert_eq!(parse(&text[..cut]).unwrap(), None, "{cut}");
        }
        assert_eq!(parse(text).unwrap(), Some((200, text.len() - 5)));
        assert_eq!(parse(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap(), Some((204, 27)));
        assert!(parse(b"hello there, world\r\n\r\n").is_err());
    }
}
