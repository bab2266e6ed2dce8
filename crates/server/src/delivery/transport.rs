//! Sends a message to an address: over HTTP, over SMTP, or with a program on this machine.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{HeaderValue, Request, StatusCode, header};
use http_body_util::Full;

use super::channel::{BodyTemplate, ChannelTransport, DeliveryChannel, HttpTemplate, SmtpTemplate};
use super::message::DeliveryMessage;
use super::secrets::{AddressValues, without_values};
use super::smtp::{SmtpMail, SmtpSecurity, send_mail};
use super::template::TextTemplate;
use crate::webhooks::{WebhookSender, WebhookTarget};

/// Bytes of an answer that are read.
const HEARD: usize = 64 * 1024;
/// Characters of a reason that are kept.
const LONGEST: usize = 300;
/// The interval between looks at a program that runs.
const LOOK: Duration = Duration::from_millis(20);
/// The variables that a program gets: what it needs to reach the desktop, and no credential.
const VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// Why a message was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SendFailure {
    pub why: String,
    /// Whether another attempt would fail as well.
    pub is_lasting: bool,
}

impl SendFailure {
    pub fn passing(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_lasting: false }
    }

    pub fn lasting(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_lasting: true }
    }
}

/// Sends a message. The reason of a failure contains no value of the address.
pub(crate) async fn send(
    sender: &WebhookSender,
    channel: &DeliveryChannel,
    values: &AddressValues,
    message: &DeliveryMessage,
) -> Result<(), SendFailure> {
    let value = |name: &str| {
        let of_address = || values.get(name).or_else(|| channel.optional.get(name)).cloned();
        message.value(name, channel.escapes_html).or_else(of_address)
    };
    let sent = match &channel.transport {
        ChannelTransport::Http(http) => send_http(sender, http, value).await,
        ChannelTransport::Smtp(smtp) => send_smtp(sender, smtp, value).await,
        ChannelTransport::Command(argv) => {
            run_command(argv.iter().map(|it| it.fill(value)).collect(), sender.patience()).await
        }
    };
    sent.map_err(|it| SendFailure {
        why: without_values(&it.why, values).chars().take(LONGEST).collect(),
        is_lasting: it.is_lasting,
    })
}

async fn send_http(
    sender: &WebhookSender,
    http: &HttpTemplate,
    value: impl Fn(&str) -> Option<String>,
) -> Result<(), SendFailure> {
    let target = WebhookTarget::parse(&http.url.fill_url(&value), sender.allows_private())
        .map_err(|why| SendFailure::lasting(format!("its URL cannot be used: {why}")))?;
    let mut request = Request::builder()
        .method(http.method.clone())
        .uri(target.path())
        .header(header::HOST, target.authority())
        .header(header::USER_AGENT, concat!("trackside/", env!("CARGO_PKG_VERSION")))
        .header(header::CONNECTION, "close");
    let body = match &http.body {
        BodyTemplate::Json(json) => {
            request = request.header(header::CONTENT_TYPE, "application/json");
            json.fill(&value).to_string()
        }
        BodyTemplate::Text(text) => {
            request = request.header(header::CONTENT_TYPE, "text/plain; charset=utf-8");
            text.fill(&value)
        }
    };
    for (name, it) in &http.headers {
        let line: String = it.fill(&value).chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
        if !line.trim().is_empty() {
            let line = HeaderValue::from_bytes(line.as_bytes());
            request = request.header(name, line.map_err(|it| SendFailure::lasting(it.to_string()))?);
        }
    }
    let request: Request<Full<Bytes>> = request
        .body(Full::from(body))
        .map_err(|it| SendFailure::lasting(format!("the request is wrong: {it}")))?;
    let (status, _) = sender.exchange(&target, request, HEARD).await.map_err(SendFailure::passing)?;
    let why = || format!("it answered {status}");
    match status {
        it if it.is_success() => Ok(()),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
            Err(SendFailure::passing(why()))
        }
        it if it.is_server_error() => Err(SendFailure::passing(why())),
        _ => Err(SendFailure::lasting(why())),
    }
}

async fn send_smtp(
    sender: &WebhookSender,
    smtp: &SmtpTemplate,
    value: impl Fn(&str) -> Option<String>,
) -> Result<(), SendFailure> {
    let filled = |it: &TextTemplate| it.fill(&value);
    let port = filled(&smtp.port).parse();
    let mail = SmtpMail {
        server: filled(&smtp.server),
        port: port.map_err(|_| SendFailure::lasting("port must be a number, such as 587"))?,
        security: SmtpSecurity::parse(&filled(&smtp.tls))
            .ok_or_else(|| SendFailure::lasting("tls must be starttls, tls or none"))?,
        user: filled(&smtp.user),
        password: filled(&smtp.password),
        from: filled(&smtp.from),
        to: filled(&smtp.to),
        subject: filled(&smtp.subject),
        text: filled(&smtp.text),
        id: value("delivery").unwrap_or_default(),
    };
    send_mail(sender, &mail).await
}

/// Runs a program, and ends it when it takes too long.
async fn run_command(argv: Vec<String>, patience: Duration) -> Result<(), SendFailure> {
    let ran = tokio::task::spawn_blocking(move || {
        let Some((program, args)) = argv.split_first() else {
            return Err(SendFailure::lasting("the channel names no program"));
        };
        let kept = VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let started = Command::new(program)
            .args(args)
            .env_clear()
            .envs(kept)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut child = started
            .map_err(|it| SendFailure::lasting(format!("{program} cannot be started on the server: {it}")))?;
        let begun = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => {
                    return Err(SendFailure::passing(format!("{program} ended with {status}")));
                }
                Ok(None) if begun.elapsed() < patience => std::thread::sleep(LOOK),
                Ok(None) => {
                    child.kill().and_then(|()| child.wait()).ok();
                    let seconds = patience.as_secs_f64();
                    return Err(SendFailure::passing(format!("{program} did not end within {seconds} s")));
                }
                Err(error) => return Err(SendFailure::passing(error.to_string())),
            }
        }
    });
    ran.await.unwrap_or_else(|it| Err(SendFailure::passing(it.to_string())))
}
