//! Journal entries in responses, on the feed and in webhooks.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use trackside_engine::actor::CredentialKind;
use trackside_engine::entity::Lease;
use trackside_engine::event::{Changes, Entry, Event, EventKind};
use trackside_engine::project::ProjectChange;
use trackside_lifecycle::model::Severity;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;
use utoipa::ToSchema;

use crate::entity::{FieldMap, as_json, as_text};

/// An entry of the journal.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = JournalEntry)]
pub struct EntryBody {
    #[schema(value_type = String)]
    pub actor: Name,
    /// The kind of actor: `human`, `agent`, `system` or `timeout`.
    pub actor_kind: &'static str,
    /// The number of the entry that caused this one. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// The rule that triggered it. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub condition: Option<Name>,
    /// The kind of event, from a closed list, such as `STATE_TRANSITION`.
    #[schema(value_type = String)]
    pub event: EventKind,
    /// The state before. Absent if the entry does not change the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub from: Option<Name>,
    /// The hash of the entry in hexadecimal. It covers the hash of the previous entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub hash: Option<String>,
    /// The id of the entity.
    #[schema(value_type = String)]
    pub id: Name,
    /// The idempotency key of the command, on its first entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub idempotency_key: Option<Name>,
    /// The lifecycle of the entity.
    #[schema(value_type = String)]
    pub lifecycle: Name,
    /// Details of the event. The members depend on its kind.
    #[schema(value_type = Object)]
    pub metadata: EntryMetadata,
    /// The actor on whose behalf the command was sent. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub on_behalf_of: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub reason: Option<Arc<str>>,
    /// True if values and texts were redacted from the entry.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub redacted: bool,
    /// The id of the request, on entries that it asked for directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub request_id: Option<Name>,
    /// The number of the entry. Numbers have no gaps.
    pub seq: u64,
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Timestamp,
    /// The state after. Absent if the entry does not change the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub to: Option<Name>,
    /// The requested transition or event.
    #[schema(value_type = String)]
    pub trigger: Name,
    /// The version of the entity after this entry.
    pub version: u64,
    /// How the person who acted was authenticated: `page` for the session of a browser, `terminal` for the owner's
    /// credential, which commands use only at a terminal, `oidc` for a session that an OpenID provider granted, `proxy`
    /// for the reverse proxy, `token` for any other token. Absent for other actors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<&'static str>,
}

impl EntryBody {
    /// The body of an entry that is not stored. It has no hash.
    pub fn new(entry: &Entry) -> Self {
        let (from, to) = entry.edge();
        Self {
            actor: entry.actor.clone(),
            actor_kind: entry.actor_kind.as_str(),
            cause: entry.cause,
            condition: entry.condition.clone(),
            event: entry.event.kind(),
            from: from.cloned(),
            hash: None,
            id: entry.entity.id.clone(),
            idempotency_key: None,
            lifecycle: entry.entity.lifecycle.clone(),
            metadata: EntryMetadata::new(&entry.event),
            on_behalf_of: entry.on_behalf_of.clone(),
            reason: entry.reason.clone(),
            redacted: false,
            request_id: entry.request_id.clone(),
            seq: entry.seq,
            timestamp: entry.at,
            to: to.cloned(),
            trigger: entry.trigger.clone(),
            version: entry.version,
            via: entry.via.map(CredentialKind::as_str),
        }
    }

    /// The body of a stored entry, with its hash in hexadecimal.
    pub fn stored(entry: &Entry, hash: Option<String>) -> Self {
        let idempotency_key = entry.key.as_ref().map(|it| it.key.clone());
        Self { hash, idempotency_key, ..Self::new(entry) }
    }
}

/// An entry as expressions read it, as `it`. Members that the entry does not have are absent.
pub fn entry_value(entry: &Entry) -> Value {
    let json = serde_json::to_value(EntryBody::new(entry)).unwrap_or_default();
    match Value::from_json(&json) {
        Value::Map(members) => {
            let mut members = (*members).clone();
            members.insert(Name::new("timestamp"), Value::Time(entry.at));
            Value::map(members)
        }
        other => other,
    }
}

/// An item of a history: an entry, or its log line in the form of its pack.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum HistoryItem {
    Entry(Box<EntryBody>),
    Line(FieldMap),
}

/// The details of an event, by its kind.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum EntryMetadata {
    Fields {
        fields: FieldMap,
    },
    /// An ended id was created again.
    NewLife {
        generation: u32,
        fields: FieldMap,
    },
    Counted {
        counter: Name,
        key: Name,
        count: f64,
    },
    TimeoutWarning {
        timer: Name,
        percent: u32,
        fields: FieldMap,
    },
    Timer {
        timer: Name,
    },
    LimitWarning {
        counter: Name,
        percent: u32,
        fields: FieldMap,
    },
    Assigned {
        field: Name,
        #[serde(serialize_with = "as_json")]
        before: Value,
        #[serde(serialize_with = "as_json")]
        after: Value,
    },
    Lease {
        slot: Name,
        holder: Option<Name>,
        fence: u64,
        #[serde(serialize_with = "as_text")]
        expires_at: Timestamp,
    },
    LostLease {
        slot: Name,
        holder: Option<Name>,
        fence: u64,
    },
    Message {
        kind: Name,
        text: Arc<str>,
        to: Option<Vec<Name>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        visible: Option<Vec<Name>>,
        from: Option<Name>,
    },
    Evidence {
        code: Name,
        sent: SentFields,
        fence: Option<u64>,
    },
    Erased {
        kept: FieldMap,
    },
    Notified {
        audience: Name,
        to: Vec<Name>,
        message: Arc<str>,
    },
    Alert {
        kind: Name,
        severity: &'static str,
        message: Arc<str>,
    },
    AlertRef {
        alert: u64,
    },
    Effect {
        effect_id: u64,
        effect: Name,
        with: FieldMap,
    },
    EffectResult {
        effect_id: u64,
        effect: Name,
        ok: bool,
    },
    Violation {
        rule: Name,
        severity: &'static str,
        message: Arc<str>,
        evidence: FieldMap,
    },
    Rule {
        rule: Name,
    },
    Migrated {
        from_definition: u32,
        definition: u32,
        fields: FieldMap,
    },
    Redacted {
        entries: Vec<u64>,
        fields: FieldMap,
    },
    Project(ProjectMetadata),
    Pack {
        pack: Name,
        version: u32,
        digest: Arc<str>,
    },
}

impl EntryMetadata {
    fn new(event: &Event) -> Self {
        match event {
            Event::Created { generation, changes, .. } if *generation > 1 => {
                Self::NewLife { generation: *generation, fields: changed(changes) }
            }
            Event::Created { changes, .. }
            | Event::Transitioned { changes, .. }
            | Event::FieldsChanged { changes }
            | Event::Corrected { changes, .. } => Self::Fields { fields: changed(changes) },
            Event::FailureCounted { counter, key, tally } => {
                Self::Counted { counter: counter.clone(), key: key.clone(), count: tally.value }
            }
            Event::TimeoutWarned { timer, percent, changes } => {
                Self::TimeoutWarning { timer: timer.clone(), percent: *percent, fields: changed(changes) }
            }
            Event::TimerFired { timer, .. } => Self::Timer { timer: timer.clone() },
            Event::LimitWarned { counter, percent, changes } => {
                Self::LimitWarning { counter: counter.clone(), percent: *percent, fields: changed(changes) }
            }
            Event::Assigned { field, before, after } => {
                Self::Assigned { field: field.clone(), before: before.clone(), after: after.clone() }
            }
            Event::LeaseGranted { slot, lease, .. }
            | Event::LeaseRenewed { slot, lease, .. }
            | Event::LeaseReleased { slot, lease } => {
                let Lease { holder, fence, expires_at, granted_at: _ } = lease.clone();
                Self::Lease { slot: slot.clone(), holder, fence, expires_at }
            }
            Event::LeaseLost { slot, lease, holder, .. } => {
                Self::LostLease { slot: slot.clone(), holder: holder.clone(), fence: lease.fence }
            }
            Event::MessagePosted { kind, text, visible, from, routed } => Self::Message {
                kind: kind.clone(),
                text: text.clone(),
                to: routed.clone().or_else(|| visible.clone()),
                visible: visible.clone(),
                from: from.clone(),
            },
            Event::EvidenceKept { code, sent, fence, .. } => {
                Self::Evidence { code: code.clone(), sent: SentFields(sent.clone()), fence: *fence }
            }
            Event::Erased { kept } => Self::Erased { kept: kept.iter().collect() },
            Event::Notified { audience, to, message } => {
                Self::Notified { audience: audience.clone(), to: to.clone(), message: message.clone() }
            }
            Event::AlertRaised { kind, severity, message, .. } => {
                Self::Alert { kind: kind.clone(), severity: text_of(severity), message: message.clone() }
            }
            Event::AlertAcknowledged { alert } | Event::AlertResolved { alert } => {
                Self::AlertRef { alert: *alert }
            }
            Event::EffectRequested { id, effect, with } => {
                Self::Effect { effect_id: *id, effect: effect.clone(), with: with.iter().collect() }
            }
            Event::EffectSettled { id, effect, ok } => {
                Self::EffectResult { effect_id: *id, effect: effect.clone(), ok: *ok }
            }
            Event::ViolationFound { rule, severity, message, evidence } => Self::Violation {
                rule: rule.clone(),
                severity: text_of(severity),
                message: message.clone(),
                evidence: evidence.iter().collect(),
            },
            Event::ViolationCleared { rule } => Self::Rule { rule: rule.clone() },
            Event::Migrated { from_definition, definition, changes, .. } => Self::Migrated {
                from_definition: *from_definition,
                definition: *definition,
                fields: changed(changes),
            },
            Event::Redacted { entries, changes } => {
                Self::Redacted { entries: entries.clone(), fields: changed(changes) }
            }
            Event::ProjectChanged { change } => Self::Project(ProjectMetadata::new(change)),
            Event::PackInstalled { pack, version, digest } => {
                Self::Pack { pack: pack.clone(), version: *version, digest: digest.clone() }
            }
        }
    }
}

fn text_of(severity: &Severity) -> &'static str {
    severity.as_str()
}

/// The fields that an entry changed. If a name occurs twice, the later value wins.
fn changed(changes: &Changes) -> FieldMap {
    let mut pairs: Vec<&(Name, Value)> = changes.fields.iter().rev().collect();
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    pairs.dedup_by(|a, b| a.0 == b.0);
    FieldMap(pairs.into_iter().cloned().collect())
}

/// The fields of a refused request: a JSON object, or a text if it was truncated because of its length.
#[derive(Clone, Debug)]
pub struct SentFields(Arc<str>);

impl Serialize for SentFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<Json>(&self.0) {
            Ok(fields) => fields.serialize(serializer),
            Err(_) => serializer.serialize_str(&self.0),
        }
    }
}

/// A change of the project: its people, its settings by pack and its time zone. Unchanged parts are absent.
#[derive(Clone, Debug, Serialize)]
pub struct ProjectMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    people: Option<Vec<Name>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    settings: BTreeMap<Name, FieldMap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
}

impl ProjectMetadata {
    fn new(change: &ProjectChange) -> Self {
        let mut settings: BTreeMap<Name, BTreeMap<Name, Value>> = BTreeMap::new();
        for it in &change.settings {
            settings.entry(it.pack.clone()).or_default().insert(it.setting.clone(), it.value.clone());
        }
        let settings =
            settings.into_iter().map(|(pack, values)| (pack, FieldMap(values.into_iter().collect())));
        Self { people: change.people.clone(), settings: settings.collect(), zone: change.zone.clone() }
    }
}

/// A line of an export for callers who may not read the stored records.
#[derive(Clone, Debug, Serialize)]
pub struct ExportedEntry {
    pub entry: EntryBody,
}
