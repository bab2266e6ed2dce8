//! A minimal HTTP/1.1 client on one open connection, so that the load generator costs little.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::ops::Range;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// An answer fits in this as a rule.
const USUAL: usize = 8 * 1024;
/// The longest accepted answer.
const LONGEST: usize = 16 << 20;

/// A connection on which one request is under way at a time.
#[derive(Debug)]
pub(crate) struct HttpConnection {
    stream: TcpStream,
    got: Vec<u8>,
}

/// A whole answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionReply<'a> {
    pub status: u16,
    pub head: &'a str,
    pub body: &'a [u8],
    /// The size of the whole answer, including its head.
    pub bytes: usize,
}

impl ConnectionReply<'_> {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(self.head, name)
    }

    /// Status and the start of the body.
    pub fn describe(&self) -> String {
        let body: String = String::from_utf8_lossy(self.body).chars().take(300).collect();
        format!("{} {body}", self.status)
    }
}

impl HttpConnection {
    pub async fn open(to: SocketAddr) -> Result<Self, Error> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, got: Vec::with_capacity(USUAL) })
    }

    /// Sends a request unchanged and waits for the whole answer.
    pub async fn ask(&mut self, request: &[u8]) -> Result<ConnectionReply<'_>, Error> {
        self.stream.write_all(request).await?;
        self.got.clear();
        let whole = loop {
            if self.stream.read_buf(&mut self.got).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Some(whole) = ReplyRanges::of(&self.got)? {
                break whole;
            }
            if self.got.len() > LONGEST {
                return Err(Error::other("an answer without end"));
            }
        };
        let head = self.got.get(whole.head).and_then(|it| std::str::from_utf8(it).ok()).unwrap_or_default();
        let body = self.got.get(whole.body).unwrap_or_default();
        Ok(ConnectionReply { status: whole.status, head, body, bytes: self.got.len() })
    }

    /// Sends a request whose answer has no end, and returns the connection once it has begun.
    pub async fn stream(mut self, request: &[u8]) -> Result<(TcpStream, Vec<u8>), Error> {
        self.stream.write_all(request).await?;
        loop {
            if self.stream.read_buf(&mut self.got).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Some(end) = end_of_head(&self.got) {
                let head = self.got.get(..end).unwrap_or_default();
                if !head.starts_with(b"HTTP/1.1 200") {
                    return Err(Error::other(String::from_utf8_lossy(&self.got).into_owned()));
                }
                self.got.drain(..end);
                return Ok((self.stream, self.got));
            }
        }
    }
}

/// The ranges of the parts of an answer.
#[derive(Debug, PartialEq, Eq)]
struct ReplyRanges {
    status: u16,
    head: Range<usize>,
    body: Range<usize>,
}

impl ReplyRanges {
    /// None while the answer is incomplete.
    fn of(got: &[u8]) -> Result<Option<Self>, Error> {
        let Some(end) = end_of_head(got) else { return Ok(None) };
        let odd = || Error::new(ErrorKind::InvalidData, "this is not HTTP");
        let head = got.get(..end).and_then(|it| std::str::from_utf8(it).ok()).ok_or_else(odd)?;
        let status = head.get(9..12).and_then(|it| it.parse().ok()).ok_or_else(odd)?;
        let body = match header(head, "content-length") {
            Some(length) => {
                let length: usize = length.parse().map_err(|_| odd())?;
                (got.len() >= end + length).then_some(end..end + length)
            }
            // The content does not matter, only where it ends.
            None if header(head, "transfer-encoding").is_some() => {
                got.ends_with(b"\r\n0\r\n\r\n").then_some(end..got.len())
            }
            None => Some(end..end),
        };
        Ok(body.map(|body| Self { status, head: 0..end, body }))
    }
}

fn end_of_head(got: &[u8]) -> Option<usize> {
    got.windows(4).position(|it| it == b"\r\n\r\n").map(|it| it + 4)
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.split("\r\n").skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_body_is() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTrackside-Seq: 41\r\n\r\nhello";
        for cut in 0..text.len() {
            assert_eq!(ReplyRanges::of(&text[..cut]).unwrap(), None, "{cut}");
        }
        let whole = ReplyRanges::of(text).unwrap().unwrap();
        assert_eq!((whole.status, &text[whole.body]), (200, b"hello".as_slice()));
        let head = std::str::from_utf8(&text[whole.head]).unwrap();
        assert_eq!(header(head, "trackside-seq"), Some("41"));
    }

    #[test]
    fn a_chunked_answer_ends_with_an_empty_chunk() {
        let pieces = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
        assert_eq!(ReplyRanges::of(&pieces[..pieces.len() - 2]).unwrap(), None);
        assert!(ReplyRanges::of(pieces).unwrap().is_some());
        let nothing = ReplyRanges::of(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap().unwrap();
        assert!(nothing.status == 204 && nothing.body.is_empty());
        assert!(ReplyRanges::of(b"what is this\r\n\r\n").is_err());
    }
}
