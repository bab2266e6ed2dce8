//! What somebody wants to be told, and where.
//!
//! A webhook is an entity of the pack in `access/`, as tokens are. This file and that pack belong together.

use trackside_engine::entity::Entity;
use trackside_engine::event::Entry;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::app::App;
use crate::auth::PACK;
use crate::events::is_for_users;

/// The lifecycle of webhooks.
pub(crate) const WEBHOOK: &str = "access.webhook";

/// What somebody wants to be told, and where.
#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    pub url: String,
    /// The token it was made with.
    pub token: Name,
    /// For whom, where that acts for others.
    pub on_behalf_of: Option<Name>,
    /// Lifecycles or packs; all, if there is none.
    lifecycles: Vec<String>,
    /// Kinds of entries; all, if there is none.
    events: Vec<String>,
    /// Every entry of the journal, not only what people follow.
    everything: bool,
    /// Why nothing is sent.
    pub off: Option<String>,
}

impl Subscription {
    pub fn of(entity: &Entity) -> Option<Self> {
        let text = |name: &str| entity.fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let list = |name: &str| -> Vec<String> {
            let value = entity.fields.value(name);
            value.as_list().unwrap_or_default().iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Some(Self {
            url: text("url")?,
            token: Name::new(&text("token")?),
            on_behalf_of: text("for").map(|it| Name::new(&it)),
            lifecycles: list("lifecycles"),
            events: list("events"),
            everything: text("audience").is_some_and(|it| it == "all"),
            off: text("why"),
        })
    }

    /// Whether an entry is asked for. Whether it may be seen is another question.
    pub fn wants(&self, app: &App, entry: &Entry) -> bool {
        let lifecycle = entry.entity.lifecycle.as_str();
        let pack = lifecycle.split_once('.').map_or(lifecycle, |(pack, _)| pack);
        let of_it = match self.lifecycles.is_empty() {
            // Who comes in is told to those who ask for it by name.
            true => pack != PACK,
            false => self.lifecycles.iter().any(|it| it == lifecycle || it == pack),
        };
        let kind = match self.events.is_empty() {
            true => self.everything || is_for_users(app, entry),
            false => self.events.iter().any(|it| it == entry.event.kind()),
        };
        of_it && kind
    }
}
