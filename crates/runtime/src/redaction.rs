//! Drops values and texts from the journal. The chain still verifies and records the redaction.

use trackside_engine::Decision;
use trackside_engine::command::{Ask, Command, Redact, RequestDigest};
use trackside_engine::event::Entry;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_store::Record;

use crate::answer::{CommandAnswer, Failure};
use crate::entity_records;
use crate::requester::Requester;
use crate::runtime::Runtime;

/// The entries and fields to redact.
#[derive(Clone, Debug)]
pub struct Redaction {
    pub entity: EntityKey,
    /// Numbers of its entries; empty means all of them.
    pub entries: Vec<u64>,
    /// New values of fields that came from the dropped entries. Fields that it does not name are cleared.
    pub becomes: Fields,
    pub reason: String,
    /// The idempotency key, and the digest of the request.
    pub once: Option<(Name, RequestDigest)>,
}

impl Runtime {
    /// Drops the payloads of entries of an entity, and the values it still has from them. For people with
    /// role admin.
    pub fn redact(&self, by: impl Into<Requester>, redaction: Redaction) -> Result<CommandAnswer, Failure> {
        let last = self.entity(&redaction.entity)?.map_or(0, |it| it.seq);
        let records = self.shared().look_back(|it| entity_records::all(it, last))?;
        self.redact_knowing(by, redaction, &records)
    }

    /// Redacts, given all records of the entity, the oldest first: some may be archived.
    pub fn redact_knowing(
        &self,
        by: impl Into<Requester>,
        redaction: Redaction,
        records: &[Record],
    ) -> Result<CommandAnswer, Failure> {
        self.gateway()?.ask(redact_command(by, redaction, records)?)
    }

    /// Decides a redaction, given all records of the entity, and changes nothing.
    pub fn try_redaction(
        &self,
        by: impl Into<Requester>,
        redaction: Redaction,
        records: &[Record],
    ) -> Result<Decision, Failure> {
        self.gateway()?.dry_run(redact_command(by, redaction, records)?)?.wait()
    }
}

fn redact_command(
    by: impl Into<Requester>,
    redaction: Redaction,
    records: &[Record],
) -> Result<Command, Failure> {
    let Redaction { entity, entries, becomes, reason, once } = redaction;
    let history: Result<Vec<Entry>, _> = records.iter().map(Record::entry).collect();
    let history = history?;
    let entries = match entries.is_empty() {
        true => records.iter().filter(|it| it.payload.is_some()).map(|it| it.seq).collect(),
        false => entries,
    };
    let ask = Ask::Redact(Redact { entity, entries, becomes, history });
    let mut command = by.into().command(ask).with_reason(&reason);
    if let Some((key, said)) = once {
        (command.idempotency_key, command.said) = (Some(key), Some(said));
    }
    Ok(command)
}
