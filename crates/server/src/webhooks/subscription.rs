//! The subscription of a webhook.
//!
//! A webhook is an entity of the pack in `access/`, as tokens are. This file and that pack belong together.

use trackside_engine::entity::Entity;
use trackside_engine::event::Entry;
use trackside_lifecycle::name::Name;

use crate::auth::PACK;
use crate::events::AudienceFilter;

/// The lifecycle of webhooks.
pub(crate) const WEBHOOK: &str = "access.webhook";

/// The events of a webhook, and its target.
#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    pub url: String,
    /// The token it was made with.
    pub token: Name,
    /// The id it acts for, if any.
    pub on_behalf_of: Option<Name>,
    /// Lifecycles or packs; empty for all.
    lifecycles: Vec<String>,
    /// Kinds of entries; empty for all.
    events: Vec<String>,
    audience: AudienceFilter,
    /// Why it is off.
    pub off: Option<String>,
}

impl Subscription {
    pub fn of(entity: &Entity) -> Option<Self> {
        let text = |name: &str| entity.fields.text(name).map(str::to_owned);
        let list = |name: &str| entity.fields.texts(name).map(str::to_owned).collect();
        Some(Self {
            url: text("url")?,
            token: Name::new(&text("token")?),
            on_behalf_of: text("for").map(|it| Name::new(&it)),
            lifecycles: list("lifecycles"),
            events: list("events"),
            audience: AudienceFilter::named(text("audience").as_deref().unwrap_or(AudienceFilter::CHANGES)),
            off: text("why"),
        })
    }

    /// Whether the subscription includes an entry. Whether it may be seen is checked separately.
    pub fn wants(&self, entry: &Entry) -> bool {
        let lifecycle = entry.entity.lifecycle.as_str();
        let pack = lifecycle.split_once('.').map_or(lifecycle, |(pack, _)| pack);
        let of_it = match self.lifecycles.is_empty() {
            // Entries about tokens, links and webhooks must be asked for by name.
            true => pack != PACK,
            false => self.lifecycles.iter().any(|it| it == lifecycle || it == pack),
        };
        let kind = match self.events.is_empty() {
            true => self.audience.includes(entry),
            false => self.events.iter().any(|it| it == entry.event.kind().as_str()),
        };
        of_it && kind
    }
}
