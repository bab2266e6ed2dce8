//! The text of a message: what waits, since when, what happens otherwise, and where to decide.

use std::collections::BTreeMap;

use trackside_lifecycle::printable::{escape, escape_lines};
use trackside_protocol::{InboxItemBody, InboxOtherwise};

/// The values that every message has, as placeholders of a channel file.
pub(crate) const VARIABLES: &[&str] = &[
    "title", "text", "link", "severity", "person", "audience", "count", "delivery", "subject", "number",
    "since",
];

/// Most characters of a text: some services accept 2,000.
const LONGEST: usize = 1_500;
/// Most items that are listed.
const MOST: usize = 15;

/// A message about one item, or about several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeliveryMessage {
    values: BTreeMap<&'static str, String>,
}

/// The person and the audience that a message is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageRecipient<'a> {
    pub audience: &'a str,
    pub person: &'a str,
    /// The id of the first delivery in the message.
    pub delivery: &'a str,
}

impl DeliveryMessage {
    /// A message about these items, the first of which is the oldest. `base` is the URL of this server.
    pub fn about(items: &[InboxItemBody], base: &str, to: MessageRecipient) -> Self {
        let Some(first) = items.first() else { return Self::default() };
        let count = items.len();
        let (title, text, link) = match items {
            [only] => (shown(&only.headline), details(only, base), link_to(only, base)),
            several => {
                let listed = several.iter().take(MOST);
                let lines = listed.map(|it| format!("- {}: {}", shown(&it.headline), link_to(it, base)));
                let mut lines: Vec<String> = lines.collect();
                if count > MOST {
                    lines.push(format!("and {} more", count - MOST));
                }
                (format!("{count} things wait for you"), lines.join("\n"), format!("{base}/decide"))
            }
        };
        let severest = ["critical", "error", "warning"];
        let severest = severest.into_iter().find(|level| items.iter().any(|it| it.severity == *level));
        Self::of([
            ("title", title),
            ("text", cut(&text)),
            ("link", link),
            ("severity", severest.unwrap_or("info").to_owned()),
            ("person", to.person.to_owned()),
            ("audience", to.audience.to_owned()),
            ("count", count.to_string()),
            ("delivery", to.delivery.to_owned()),
            ("subject", format!("{}/{}", first.lifecycle, first.id)),
            ("number", first.number.to_string()),
            ("since", first.since.clone()),
        ])
    }

    /// A message that shows that an address works.
    pub fn test(base: &str, to: MessageRecipient) -> Self {
        let text = format!(
            "Messages of the audience {} reach this address. Nothing waits because of this one.\n{base}",
            to.audience
        );
        Self::of([
            ("title", "Trackside: a test message".to_owned()),
            ("text", text),
            ("link", base.to_owned()),
            ("severity", "info".to_owned()),
            ("person", to.person.to_owned()),
            ("audience", to.audience.to_owned()),
            ("count", "0".to_owned()),
            ("delivery", to.delivery.to_owned()),
            ("number", "0".to_owned()),
        ])
    }

    fn of(values: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self { values: values.into_iter().collect() }
    }

    /// One of its values; empty if the message has none of this name, none for an unknown name.
    pub fn value(&self, name: &str, escapes_html: bool) -> Option<String> {
        let name = VARIABLES.iter().find(|it| **it == name)?;
        let value = self.values.get(name).cloned().unwrap_or_default();
        let is_text = matches!(*name, "title" | "text");
        Some(if is_text && escapes_html { html(&value) } else { value })
    }
}

/// Text of agents in one line, without characters that steer a terminal or reorder the text around them.
fn shown(text: &str) -> String {
    escape(text).into_owned()
}

fn details(item: &InboxItemBody, base: &str) -> String {
    let severity = match item.severity.as_str() {
        "info" => String::new(),
        severity => format!(", {severity}"),
    };
    let mut lines = vec![format!("{}/{}, since {}{severity}", item.lifecycle, item.id, item.since)];
    if let Some(InboxOtherwise { event, at, .. }) = &item.otherwise {
        lines.push(format!("Otherwise: {event} at {at}"));
    }
    lines.push(format!("Decide: {}", link_to(item, base)));
    escape_lines(&lines.join("\n")).into_owned()
}

fn link_to(item: &InboxItemBody, base: &str) -> String {
    format!("{base}/decide/{}", item.number)
}

fn cut(text: &str) -> String {
    match text.chars().count() > LONGEST {
        true => text.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use trackside_lifecycle::name::Name;
    use trackside_protocol::InboxKind;

    fn item(number: u64, headline: &str) -> InboxItemBody {
        InboxItemBody {
            number,
            kind: InboxKind::Decision,
            lifecycle: Name::new("crew.task"),
            id: Name::new("T-1"),
            state: None,
            headline: headline.to_owned(),
            since: "2026-01-01T00:00:00Z".to_owned(),
            until: None,
            otherwise: Some(InboxOtherwise {
                event: Name::new("expire"),
                at: "2026-01-02T00:00:00Z".to_owned(),
                to: Vec::new(),
            }),
            severity: "info".to_owned(),
            may_act: true,
            actions: Vec::new(),
        }
    }

    const TO: MessageRecipient = MessageRecipient { audience: "crew", person: "pia", delivery: "d" };

    #[test]
    fn a_message_about_one_item_says_what_happens_otherwise_and_links_to_the_decision() {
        let message = DeliveryMessage::about(&[item(7, "Part 1: Waits")], "https://x.example", TO);
        let value = |name: &str| message.value(name, false).unwrap();
        assert_eq!(value("title"), "Part 1: Waits");
        let text = "crew.task/T-1, since 2026-01-01T00:00:00Z\nOtherwise: expire at 2026-01-02T00:00:00Z\nDecide: https://x.example/decide/7";
        assert_eq!(value("text"), text);
        assert_eq!(
            (value("link"), value("severity")),
            ("https://x.example/decide/7".to_owned(), "info".to_owned())
        );
        assert_eq!(message.value("titel", false), None);
    }

    #[test]
    fn several_items_are_one_message_of_limited_length() {
        let mut items: Vec<_> = (1..=40).map(|n| item(n, &"x".repeat(200))).collect();
        items[3].severity = "error".to_owned();
        let message = DeliveryMessage::about(&items, "https://x.example", TO);
        let value = |name: &str| message.value(name, false).unwrap();
        assert_eq!(
            (value("title"), value("severity")),
            ("40 things wait for you".to_owned(), "error".to_owned())
        );
        assert_eq!(value("text").chars().count(), LONGEST);
        let short = DeliveryMessage::about(&items.map_headlines("y"), "https://x.example", TO);
        assert!(short.value("text", false).unwrap().ends_with("and 25 more"));
    }

    trait Shortened {
        fn map_headlines(self, headline: &str) -> Vec<InboxItemBody>;
    }

    impl Shortened for Vec<InboxItemBody> {
        fn map_headlines(mut self, headline: &str) -> Self {
            self.iter_mut().for_each(|it| it.headline = headline.to_owned());
            self
        }
    }

    #[test]
    fn text_of_agents_cannot_steer_a_terminal_or_mention_everybody() {
        let message =
            DeliveryMessage::about(&[item(7, "<!channel> \u{1b}[2J\u{202e} a & b")], "https://x.example", TO);
        assert_eq!(message.value("title", false).unwrap(), "<!channel> \\u{1b}[2J\\u{202e} a & b");
        assert_eq!(message.value("title", true).unwrap(), "&lt;!channel&gt; \\u{1b}[2J\\u{202e} a &amp; b");
    }
}
