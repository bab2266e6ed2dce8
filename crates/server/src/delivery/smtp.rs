//! One e-mail over SMTP (RFC 5321), with STARTTLS or TLS from the start, and sign-in with AUTH PLAIN.
//!
//! It is our own because it must connect as webhooks do: a library resolves the name again, and could be led to another
//! address than the one that was checked.

use std::net::{IpAddr, SocketAddr};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::transport::SendFailure;
use crate::webhooks::WebhookSender;

/// Most bytes of an answer.
const HEARD: usize = 64 * 1024;
/// Bytes of a subject that are encoded in one word: a line with one has at most 76 characters.
const WORD: usize = 39;
/// The longest line of a body.
const LINE: usize = 76;

/// How the connection is secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SmtpSecurity {
    StartTls,
    Tls,
    None,
}

impl SmtpSecurity {
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "starttls" => Some(Self::StartTls),
            "tls" => Some(Self::Tls),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

/// An e-mail, and the server that takes it.
#[derive(Debug)]
pub(crate) struct SmtpMail {
    pub server: String,
    pub port: u16,
    pub security: SmtpSecurity,
    /// Empty for no sign-in.
    pub user: String,
    pub password: String,
    pub from: String,
    pub to: String,
    pub subject: String,
    pub text: String,
    /// The same for every attempt, so that mail programs recognise a repeated message.
    pub id: String,
}

/// Sends an e-mail. The connection is closed at the end.
pub(super) async fn send_mail(sender: &WebhookSender, mail: &SmtpMail) -> Result<(), SendFailure> {
    let patience = sender.patience();
    let sent = tokio::time::timeout(patience, try_send(sender, mail)).await;
    sent.unwrap_or_else(|_| {
        Err(SendFailure::passing(format!("no answer within {} s", patience.as_secs_f64())))
    })
}

async fn try_send(sender: &WebhookSender, mail: &SmtpMail) -> Result<(), SendFailure> {
    for address in [&mail.from, &mail.to] {
        check_address(address)?;
    }
    if !mail.user.is_empty() && mail.security == SmtpSecurity::None {
        return Err(SendFailure::lasting("a password is sent only over TLS: set tls to starttls or tls"));
    }
    let stream = sender.connect(&mail.server, mail.port).await.map_err(SendFailure::passing)?;
    let own = stream.local_addr().map_err(|it| SendFailure::passing(it.to_string()))?;
    let secured = |stream| async { sender.secure(&mail.server, stream).await.map_err(SendFailure::passing) };
    match mail.security {
        SmtpSecurity::Tls => {
            let mut dialogue = SmtpDialogue::new(secured(stream).await?, own);
            dialogue.expect(220).await?;
            dialogue.hello().await?;
            dialogue.submit(mail).await
        }
        SmtpSecurity::None => {
            let mut dialogue = SmtpDialogue::new(stream, own);
            dialogue.expect(220).await?;
            dialogue.hello().await?;
            dialogue.submit(mail).await
        }
        SmtpSecurity::StartTls => {
            let mut dialogue = SmtpDialogue::new(stream, own);
            dialogue.expect(220).await?;
            let offers = dialogue.hello().await?;
            if !offers.iter().any(|it| it.eq_ignore_ascii_case("STARTTLS")) {
                return Err(SendFailure::lasting("the server does not offer STARTTLS"));
            }
            dialogue.command("STARTTLS", 220).await?;
            if !dialogue.heard.is_empty() {
                // A machine in between could have added it, and it would count as received over TLS.
                return Err(SendFailure::lasting("the server said more before TLS than it may"));
            }
            let mut dialogue = SmtpDialogue::new(secured(dialogue.stream).await?, own);
            dialogue.hello().await?;
            dialogue.submit(mail).await
        }
    }
}

/// A bare address. Anything that could end a command or a header line is refused.
fn check_address(address: &str) -> Result<(), SendFailure> {
    let is_plain = |it: char| it.is_ascii_graphic() && !"<>,;:\\\"()[]".contains(it);
    match address.split_once('@') {
        Some((name, host)) if !name.is_empty() && !host.is_empty() && address.chars().all(is_plain) => Ok(()),
        _ => Err(SendFailure::lasting("from and to must be bare e-mail addresses, such as ada@example.com")),
    }
}

/// A connection to a server, and received bytes that were not read yet.
struct SmtpDialogue<S> {
    stream: S,
    own: IpAddr,
    heard: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> SmtpDialogue<S> {
    fn new(stream: S, own: SocketAddr) -> Self {
        Self { stream, own: own.ip(), heard: Vec::new() }
    }

    /// Greets the server, and returns what it offers.
    async fn hello(&mut self) -> Result<Vec<String>, SendFailure> {
        let name = match self.own {
            IpAddr::V4(it) => format!("[{it}]"),
            IpAddr::V6(it) => format!("[IPv6:{it}]"),
        };
        self.command(&format!("EHLO {name}"), 250).await
    }

    async fn submit(&mut self, mail: &SmtpMail) -> Result<(), SendFailure> {
        if !mail.user.is_empty() {
            let both = STANDARD.encode(format!("\0{}\0{}", mail.user, mail.password));
            self.command(&format!("AUTH PLAIN {both}"), 235).await?;
        }
        self.command(&format!("MAIL FROM:<{}>", mail.from), 250).await?;
        self.command(&format!("RCPT TO:<{}>", mail.to), 250).await?;
        self.command("DATA", 354).await?;
        self.command(&format!("{}\r\n.", content(mail, SystemTime::now())), 250).await?;
        // It has accepted the message; a lost answer to this changes nothing.
        self.command("QUIT", 221).await.ok();
        Ok(())
    }

    async fn command(&mut self, line: &str, expected: u16) -> Result<Vec<String>, SendFailure> {
        let lost = |it: std::io::Error| SendFailure::passing(format!("the connection was lost: {it}"));
        self.stream.write_all(format!("{line}\r\n").as_bytes()).await.map_err(lost)?;
        self.stream.flush().await.map_err(lost)?;
        self.expect(expected).await
    }

    /// Reads an answer, and returns its lines without the code.
    async fn expect(&mut self, expected: u16) -> Result<Vec<String>, SendFailure> {
        let (mut lines, mut length) = (Vec::new(), 0);
        loop {
            let line = self.line().await?;
            length += line.len();
            let (code, rest) = line.split_at_checked(3).unwrap_or((&line, ""));
            let is_last = !rest.starts_with('-');
            lines.push(rest.get(1..).unwrap_or_default().to_owned());
            if !is_last && length < HEARD {
                continue;
            }
            return match code.parse::<u16>() {
                Ok(code) if code == expected => Ok(lines),
                Ok(code @ 500..=599) => {
                    Err(SendFailure::lasting(format!("it answered {code} {}", lines.join(" "))))
                }
                Ok(code) => Err(SendFailure::passing(format!("it answered {code} {}", lines.join(" ")))),
                Err(_) => Err(SendFailure::passing("it does not speak SMTP")),
            };
        }
    }

    async fn line(&mut self) -> Result<String, SendFailure> {
        loop {
            if let Some(end) = self.heard.iter().position(|it| *it == b'\n') {
                let line: Vec<u8> = self.heard.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            let mut piece = [0; 1024];
            let read = self.stream.read(&mut piece).await;
            let read = read.map_err(|it| SendFailure::passing(format!("the connection was lost: {it}")))?;
            if read == 0 || self.heard.len() > HEARD {
                return Err(SendFailure::passing("it ended the connection"));
            }
            self.heard.extend(piece.iter().take(read));
        }
    }
}

/// The message with its headers. The body is in base64, so no line of it is a single dot.
fn content(mail: &SmtpMail, now: SystemTime) -> String {
    let domain = mail.from.split_once('@').map_or("trackside", |(_, it)| it);
    let mut body = STANDARD.encode(mail.text.replace('\n', "\r\n"));
    let mut lines = String::new();
    while body.len() > LINE {
        let rest = body.split_off(LINE);
        lines.push_str(&body);
        lines.push_str("\r\n");
        body = rest;
    }
    lines.push_str(&body);
    // The only zone of this form is GMT, which mail writes as a number.
    let date = httpdate::fmt_http_date(now).replace("GMT", "+0000");
    [
        format!("From: <{}>", mail.from),
        format!("To: <{}>", mail.to),
        format!("Subject: {}", encoded_words(&mail.subject)),
        format!("Date: {date}"),
        format!("Message-ID: <{}@{domain}>", mail.id),
        "Auto-Submitted: auto-generated".to_owned(),
        "MIME-Version: 1.0".to_owned(),
        "Content-Type: text/plain; charset=utf-8".to_owned(),
        "Content-Transfer-Encoding: base64".to_owned(),
        String::new(),
        lines,
    ]
    .join("\r\n")
}

/// A header value in encoded words (RFC 2047), so that no text of an agent can end its line.
fn encoded_words(text: &str) -> String {
    let (mut words, mut word) = (Vec::new(), String::new());
    for letter in text.chars() {
        if word.len() + letter.len_utf8() > WORD {
            words.push(std::mem::take(&mut word));
        }
        word.push(letter);
    }
    words.push(word);
    let encoded: Vec<String> =
        words.iter().map(|it| format!("=?UTF-8?B?{}?=", STANDARD.encode(it))).collect();
    encoded.join("\r\n ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_agents_ends_neither_a_header_nor_the_message() {
        let hostile = "a\r\nBcc: eve@example.com\r\n\r\n.\r\nMAIL FROM:<eve@example.com> \u{e9}";
        let mail = SmtpMail {
            server: String::new(),
            port: 25,
            security: SmtpSecurity::None,
            user: String::new(),
            password: String::new(),
            from: "trackside@example.com".to_owned(),
            to: "ada@example.com".to_owned(),
            subject: hostile.repeat(3),
            text: hostile.repeat(30),
            id: "d7".to_owned(),
        };
        let content = content(&mail, SystemTime::UNIX_EPOCH);
        assert!(!content.contains("Bcc") && !content.contains("MAIL FROM"), "{content}");
        let (head, body) = content.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains("\r\nDate: Thu, 01 Jan 1970 00:00:00 +0000\r\nMessage-ID: <d7@example.com>\r\n")
        );
        assert!(content.lines().all(|it| it.len() <= 78 && !it.starts_with('.')), "{content}");
        let decoded = STANDARD.decode(body.replace("\r\n", "")).unwrap();
        assert_eq!(String::from_utf8(decoded).unwrap(), hostile.repeat(30).replace('\n', "\r\n"));
    }

    #[test]
    fn addresses_are_bare() {
        for good in ["ada@example.com", "a+b.c_d@x"] {
            assert!(check_address(good).is_ok(), "{good}");
        }
        for wrong in ["ada", "@x", "a@", "a@x>\r\nRCPT TO:<e@x", "Ada <a@x>", "a@x,b@x", "a b@x", "\u{e9}@x"]
        {
            assert!(check_address(wrong).is_err(), "{wrong}");
        }
    }
}
