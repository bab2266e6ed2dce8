//! Channel files: how a message reaches an address. The code knows no service; each is a file.

use std::collections::BTreeMap;
use std::path::Path;

use trackside_lifecycle::guard::did_you_mean_or_all;
use trackside_lifecycle::keys;
use trackside_lifecycle::source::{FromNode as _, Json as AnyJson, Named, Problems, Sources, read};

use super::message::VARIABLES;
use super::template::{JsonTemplate, TextTemplate};

/// The folder of the project's own channels, in the data folder.
const FOLDER: &str = "channels";

/// The channels that come with the server, with their texts.
const BUILT_IN: &[(&str, &str)] = &[
    ("desktop", include_str!("../../channels/desktop.yaml")),
    ("discord", include_str!("../../channels/discord.yaml")),
    ("email", include_str!("../../channels/email.yaml")),
    ("matrix", include_str!("../../channels/matrix.yaml")),
    ("ntfy", include_str!("../../channels/ntfy.yaml")),
    ("slack", include_str!("../../channels/slack.yaml")),
    ("telegram", include_str!("../../channels/telegram.yaml")),
    ("webhook", include_str!("../../channels/webhook.yaml")),
];

keys! {
    /// A channel file.
    struct ChannelDecl {
        /// The name, which is also that of the file.
        channel: String,
        /// A one-sentence description.
        about: String,
        /// The values that an address must have, each with a description.
        needs: Named<String>,
        /// Values that an address may have, each with its default.
        optional: Named<String>,
        /// `html`: in texts about the project, `&`, `<` and `>` are written as HTML entities.
        escape: Option<String>,
        /// An HTTP request.
        http: Option<HttpDecl>,
        /// An e-mail.
        smtp: Option<SmtpDecl>,
        /// A program on the machine of the server, with its arguments. No shell reads them.
        command: Option<Vec<String>>,
    }
}

keys! {
    /// An HTTP request.
    struct HttpDecl {
        /// `POST` by default.
        method: Option<String>,
        /// The URL. A placeholder at its start is inserted as it is, others are encoded.
        url: String,
        /// Header lines.
        headers: Named<String>,
        /// The body as JSON.
        json: Option<AnyJson>,
        /// The body as text.
        text: Option<String>,
    }
}

keys! {
    /// An e-mail.
    struct SmtpDecl {
        /// The host of the server.
        server: String,
        /// The port of the server.
        port: String,
        /// `starttls`, `tls` or `none`.
        tls: String,
        /// The name to sign in with; empty for no sign-in.
        user: String,
        /// The password.
        password: String,
        /// The address of the sender.
        from: String,
        /// The address of the recipient.
        to: String,
        /// The subject.
        subject: String,
        /// The text.
        text: String,
    }
}

/// A channel: what an address of it has, and how a message is sent there.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryChannel {
    /// The values that an address must have.
    pub needs: Vec<String>,
    /// Values that it may have, with their defaults.
    pub optional: BTreeMap<String, String>,
    pub escapes_html: bool,
    pub transport: ChannelTransport,
}

/// How a message is sent.
#[derive(Clone, Debug)]
pub(crate) enum ChannelTransport {
    Http(HttpTemplate),
    Smtp(SmtpTemplate),
    Command(Vec<TextTemplate>),
}

/// An HTTP request with placeholders.
#[derive(Clone, Debug)]
pub(crate) struct HttpTemplate {
    pub method: axum::http::Method,
    pub url: TextTemplate,
    pub headers: Vec<(String, TextTemplate)>,
    pub body: BodyTemplate,
}

/// The body of an HTTP request with placeholders.
#[derive(Clone, Debug)]
pub(crate) enum BodyTemplate {
    Json(JsonTemplate),
    Text(TextTemplate),
}

/// An e-mail with placeholders.
#[derive(Clone, Debug)]
pub(crate) struct SmtpTemplate {
    pub server: TextTemplate,
    pub port: TextTemplate,
    pub tls: TextTemplate,
    pub user: TextTemplate,
    pub password: TextTemplate,
    pub from: TextTemplate,
    pub to: TextTemplate,
    pub subject: TextTemplate,
    pub text: TextTemplate,
}

impl DeliveryChannel {
    /// The channel of this name: the project's own, else the one that comes with the server. The error says why there is
    /// none.
    pub fn find(data: &Path, name: &str) -> Result<Self, String> {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
        if !name.is_empty() && name.chars().all(is_plain) {
            let path = data.join(FOLDER).join(format!("{name}.yaml"));
            match std::fs::read_to_string(&path) {
                Ok(text) => return Self::parse(name, &format!("{FOLDER}/{name}.yaml"), &text),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("{FOLDER}/{name}.yaml cannot be read: {error}")),
            }
            if let Some((_, text)) = BUILT_IN.iter().find(|(it, _)| *it == name) {
                return Self::parse(name, &format!("{name}.yaml"), text);
            }
        }
        let own = std::fs::read_dir(data.join(FOLDER)).into_iter().flatten().flatten();
        let own = own.filter_map(|it| it.file_name().to_str()?.strip_suffix(".yaml").map(str::to_owned));
        let all: Vec<String> = own.chain(BUILT_IN.iter().map(|(it, _)| (*it).to_owned())).collect();
        let hint = did_you_mean_or_all(name, "Channels", all.iter().map(String::as_str));
        Err(format!("There is no channel {name}{hint}"))
    }

    fn parse(name: &str, path: &str, text: &str) -> Result<Self, String> {
        let (mut sources, mut problems) = (Sources::default(), Problems::default());
        let file = sources.add(path, text);
        let node = read(&sources, file, &mut problems);
        let declared = node.and_then(|it| ChannelDecl::from_node(&it, &mut problems));
        let Some(declared) = declared.filter(|_| !problems.has_errors()) else {
            return Err(problems.render(&sources, false));
        };
        Self::of(name, &declared).map_err(|why| format!("{path}: {why}"))
    }

    fn of(name: &str, declared: &ChannelDecl) -> Result<Self, String> {
        if declared.channel != name {
            return Err(format!("its channel is {}, but the file is {name}.yaml", declared.channel));
        }
        let escapes_html = match declared.escape.as_deref() {
            None => false,
            Some("html") => true,
            Some(other) => return Err(format!("escape is `html`, not `{other}`")),
        };
        let transport = match (&declared.http, &declared.smtp, &declared.command) {
            (Some(http), None, None) => ChannelTransport::Http(HttpTemplate::of(http)?),
            (None, Some(smtp), None) => ChannelTransport::Smtp(SmtpTemplate::of(smtp)?),
            (None, None, Some(argv)) if !argv.is_empty() => {
                let parsed = argv.iter().map(|it| TextTemplate::parse(it)).collect::<Result<Vec<_>, _>>()?;
                if parsed.first().is_some_and(|it| it.placeholders().next().is_some()) {
                    return Err("the program of `command` must not have a placeholder".to_owned());
                }
                ChannelTransport::Command(parsed)
            }
            _ => return Err("it needs exactly one of `http`, `smtp` and `command`".to_owned()),
        };
        let needs: Vec<String> = declared.needs.names().map(|it| it.it.to_string()).collect();
        let optional: BTreeMap<String, String> =
            declared.optional.iter().map(|(name, it)| (name.it.to_string(), it.clone())).collect();
        let known: Vec<&str> = VARIABLES
            .iter()
            .copied()
            .chain(needs.iter().chain(optional.keys()).map(String::as_str))
            .collect();
        if let Some(unknown) = transport.placeholders().into_iter().find(|it| !known.contains(it)) {
            let hint = did_you_mean_or_all(unknown, "Placeholders", known.iter().copied());
            return Err(format!("there is no value for {{{unknown}}}{hint}"));
        }
        if let Some(taken) = needs.iter().chain(optional.keys()).find(|it| VARIABLES.contains(&it.as_str())) {
            return Err(format!("{taken} is a part of every message: give the value another name"));
        }
        Ok(Self { needs, optional, escapes_html, transport })
    }
}

impl ChannelTransport {
    fn placeholders(&self) -> Vec<&str> {
        match self {
            Self::Http(it) => {
                let headers = it.headers.iter().flat_map(|(_, it)| it.placeholders());
                let body = match &it.body {
                    BodyTemplate::Json(json) => json.placeholders(),
                    BodyTemplate::Text(text) => text.placeholders().collect(),
                };
                it.url.placeholders().chain(headers).chain(body).collect()
            }
            Self::Smtp(it) => it.all().into_iter().flat_map(TextTemplate::placeholders).collect(),
            Self::Command(argv) => argv.iter().flat_map(TextTemplate::placeholders).collect(),
        }
    }
}

impl HttpTemplate {
    fn of(declared: &HttpDecl) -> Result<Self, String> {
        let method = match declared.method.as_deref().unwrap_or("POST") {
            "POST" => axum::http::Method::POST,
            "PUT" => axum::http::Method::PUT,
            other => return Err(format!("method is `POST` or `PUT`, not `{other}`")),
        };
        let body = match (&declared.json, &declared.text) {
            (Some(json), None) => BodyTemplate::Json(JsonTemplate::parse(&json.0.to_json())?),
            (None, Some(text)) => BodyTemplate::Text(TextTemplate::parse(text)?),
            _ => return Err("`http` needs either `json` or `text`".to_owned()),
        };
        let headers = declared.headers.iter();
        let headers = headers.map(|(name, it)| Ok((name.it.to_string(), TextTemplate::parse(it)?)));
        Ok(Self {
            method,
            url: TextTemplate::parse(&declared.url)?,
            headers: headers.collect::<Result<_, String>>()?,
            body,
        })
    }
}

impl SmtpTemplate {
    fn of(declared: &SmtpDecl) -> Result<Self, String> {
        Ok(Self {
            server: TextTemplate::parse(&declared.server)?,
            port: TextTemplate::parse(&declared.port)?,
            tls: TextTemplate::parse(&declared.tls)?,
            user: TextTemplate::parse(&declared.user)?,
            password: TextTemplate::parse(&declared.password)?,
            from: TextTemplate::parse(&declared.from)?,
            to: TextTemplate::parse(&declared.to)?,
            subject: TextTemplate::parse(&declared.subject)?,
            text: TextTemplate::parse(&declared.text)?,
        })
    }

    fn all(&self) -> [&TextTemplate; 9] {
        let Self { server, port, tls, user, password, from, to, subject, text } = self;
        [server, port, tls, user, password, from, to, subject, text]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_channel_of_the_server_can_be_used() {
        let nowhere = Path::new("/nonexistent");
        for (name, _) in BUILT_IN {
            DeliveryChannel::find(nowhere, name).unwrap_or_else(|it| panic!("{it}"));
        }
        let missing = DeliveryChannel::find(nowhere, "slak").unwrap_err();
        assert!(missing.contains("slack"), "{missing}");
        assert!(DeliveryChannel::find(nowhere, "../secret").is_err());
    }

    #[test]
    fn a_wrong_file_is_explained() {
        for (text, says) in [
            ("channel: own\nabut: x\n", "about"),
            ("channel: other\nabout: x\ncommand: [x]\n", "but the file is own.yaml"),
            ("channel: own\nabout: x\n", "exactly one of"),
            ("channel: own\nabout: x\ncommand: [x]\nhttp: { url: 'https://x', text: y }\n", "exactly one of"),
            ("channel: own\nabout: x\ncommand: ['{title}']\n", "must not have a placeholder"),
            ("channel: own\nabout: x\ncommand: [x, '{titel}']\n", "{titel}. Did you mean title?"),
            ("channel: own\nabout: x\ncommand: [x, '{title']\n", "without its"),
            ("channel: own\nabout: x\nneeds: { title: y }\ncommand: [x]\n", "another name"),
            ("channel: own\nabout: x\nescape: xml\ncommand: [x]\n", "escape is `html`"),
            ("channel: own\nabout: x\nhttp: { url: 'https://x', method: GET, text: y }\n", "not `GET`"),
            ("channel: own\nabout: x\nhttp: { url: 'https://x' }\n", "either `json` or `text`"),
        ] {
            let why = DeliveryChannel::parse("own", "channels/own.yaml", text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }
}
