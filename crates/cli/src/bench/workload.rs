//! The commands of a bench: entities of a built-in pack that go through the same few transitions again and again.
//! Which ones is data, in `workload.json`.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Seed};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::project::{ProjectChange, SettingChange};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::folder;

const WORKLOAD: &str = include_str!("workload.json");
/// The placeholder for the id of an entity's agent.
const AGENT: &str = "{agent}";
const LEAD: &str = "bench-lead";

#[derive(Debug, Deserialize)]
struct Declared {
    pack: String,
    /// Settings of the pack under which no limit stops an entity, however often it goes round.
    settings: Map<String, Json>,
    agents: Agents,
    entities: Entities,
    round: Vec<RoundStep>,
}

#[derive(Debug, Deserialize)]
struct Agents {
    count: usize,
    lifecycle: String,
    state: String,
    roles: Vec<String>,
    fields: Map<String, Json>,
}

#[derive(Debug, Deserialize)]
struct Entities {
    lifecycle: String,
    state: String,
    fields: Map<String, Json>,
}

#[derive(Debug, Deserialize)]
struct RoundStep {
    by: RoundActor,
    event: String,
    fields: Map<String, Json>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RoundActor {
    Agent,
    Lead,
}

/// The commands, and how far each entity is in its round.
#[derive(Debug)]
pub(super) struct Workload {
    declared: Declared,
    progress: Vec<AtomicUsize>,
}

impl Workload {
    pub(super) fn new(entities: usize) -> Result<Self, String> {
        let declared = serde_json::from_str(WORKLOAD)
            .map_err(|error| format!("the bench's workload is broken: {error}"))?;
        Ok(Self { declared, progress: (0..entities).map(|_| AtomicUsize::new(0)).collect() })
    }

    pub(super) fn pack(&self) -> &str {
        &self.declared.pack
    }

    /// The `nth` entity of a caller. Callers share no entity, and neighbours do not follow each other.
    pub(super) fn entity(&self, caller: usize, callers: usize, nth: u64) -> usize {
        // A prime larger than any number of entities has no divisor in common with it.
        const PRIME: u128 = 2_654_435_761;
        let entities = self.progress.len().max(1);
        let own = entities.saturating_sub(caller).div_ceil(callers.max(1)).max(1);
        let scattered = (u128::from(nth) * PRIME % own as u128) as usize;
        (caller + callers * scattered) % entities
    }

    /// The command took effect: the entity's next one is due.
    pub(super) fn advance(&self, entity: usize) {
        if let Some(step) = self.progress.get(entity) {
            step.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Commands that change the settings and create the agents and the entities.
    pub(super) fn setup(&self) -> impl Iterator<Item = Command> {
        let settings = self.declared.settings.iter().map(|(setting, value)| SettingChange {
            pack: Name::new(&self.declared.pack),
            setting: Name::new(setting),
            value: Value::from_json(value),
        });
        let change = ProjectChange { settings: settings.collect(), ..ProjectChange::default() };
        let configure = Command::new(folder::creator(), Ask::Configure(change));
        let agents = (0..self.declared.agents.count).map(|n| {
            let Agents { lifecycle, state, fields, .. } = &self.declared.agents;
            seed(EntityKey::new(lifecycle.as_str(), agent_id(n)), state, to_fields(fields, ""))
        });
        let entities = (0..self.progress.len()).map(|n| {
            let Entities { state, fields, .. } = &self.declared.entities;
            seed(self.key(n), state, to_fields(fields, &self.agent_of(n)))
        });
        std::iter::once(configure).chain(agents).chain(entities)
    }

    /// The entity's next command, for a runtime in this process.
    pub(super) fn command(&self, entity: usize, idempotency_key: String) -> Option<Command> {
        let step = self.step(entity)?;
        let agent = self.agent_of(entity);
        let fields = to_fields(&step.fields, &agent);
        let actor = match step.by {
            RoundActor::Agent => {
                let roles = self.declared.agents.roles.iter().map(|it| it.rsplit(':').next().unwrap_or(it));
                Actor::new(agent, ActorKind::Agent).with_roles(roles)
            }
            RoundActor::Lead => Actor::new(LEAD, ActorKind::Human),
        };
        let mut command = Command::fire(actor, self.key(entity), step.event.as_str(), fields);
        command.idempotency_key = Some(Name::from(idempotency_key));
        Some(command)
    }

    /// The entity's next command, for a server: path, body, and the number of the token to send it with.
    pub(super) fn request(&self, entity: usize) -> Option<(String, String, usize)> {
        let step = self.step(entity)?;
        let fields: Map<String, Json> = step
            .fields
            .iter()
            .map(|(name, it)| (name.clone(), replace_agent(it, &self.agent_of(entity))))
            .collect();
        let body = serde_json::json!({ "event": step.event, "fields": fields }).to_string();
        let path =
            format!("/v1/entities/{}/{}/transitions", self.declared.entities.lifecycle, entity_id(entity));
        let agents = self.declared.agents.count;
        let token = match step.by {
            RoundActor::Agent => entity % agents,
            RoundActor::Lead => agents + entity % LEAD_TOKENS,
        };
        Some((path, body, token))
    }

    /// A request of mixed load about an entity, and its expected status: the entity, its history, a page of entities, or
    /// a command that is refused.
    pub(super) fn other_request(&self, entity: usize, kind: u64) -> (String, Option<String>, u16) {
        let all = format!("/v1/entities/{}", self.declared.entities.lifecycle);
        let one = format!("{all}/{}", entity_id(entity));
        match kind {
            0 => (one, None, 200),
            1 => (format!("{one}/history?limit=20"), None, 200),
            2 => (format!("{all}?limit=20"), None, 200),
            _ => {
                let body = serde_json::json!({ "event": "none" }).to_string();
                (format!("{one}/transitions"), Some(body), REFUSED_STATUS)
            }
        }
    }

    /// The body of a batch whose commands are all refused.
    pub(super) fn refused_batch(&self, commands: usize) -> String {
        let one = serde_json::json!({
            "lifecycle": self.declared.entities.lifecycle, "id": "there-is-none", "event": "none",
        });
        serde_json::json!({ "commands": vec![one; commands] }).to_string()
    }

    /// Bodies of the requests that make the tokens which [`Workload::request`] counts on, in order.
    pub(super) fn tokens(&self) -> impl Iterator<Item = Json> {
        let roles = &self.declared.agents.roles;
        let agents = (0..self.declared.agents.count)
            .map(move |n| serde_json::json!({ "actor": agent_id(n), "kind": "agent", "roles": roles }));
        let leads =
            (0..LEAD_TOKENS).map(|n| serde_json::json!({ "actor": format!("{LEAD}-{n}"), "kind": "human" }));
        let storm = serde_json::json!({ "actor": STORM, "kind": "agent", "roles": roles });
        agents.chain(leads).chain([storm])
    }

    fn step(&self, entity: usize) -> Option<&RoundStep> {
        let done = self.progress.get(entity)?.load(Ordering::Relaxed);
        self.declared.round.get(done % self.declared.round.len().max(1))
    }

    fn key(&self, entity: usize) -> EntityKey {
        EntityKey::new(self.declared.entities.lifecycle.as_str(), entity_id(entity))
    }

    fn agent_of(&self, entity: usize) -> String {
        agent_id(entity % self.declared.agents.count.max(1))
    }
}

/// The status of a command with an unknown event.
const REFUSED_STATUS: u16 = 422;

/// The actor that disturbs the others; its token is the last one.
const STORM: &str = "bench-storm";

/// Leads, because the rate of one actor is limited.
const LEAD_TOKENS: usize = 64;

fn agent_id(n: usize) -> String {
    format!("bench-agent-{n}")
}

fn entity_id(n: usize) -> String {
    format!("B-{n}")
}

fn seed(key: EntityKey, state: &str, fields: Fields) -> Command {
    let seed = Seed { state: Some(Name::new(state)), fields, ..Seed::new(key) };
    Command::new(Actor::new("bench", ActorKind::System), Ask::Seed(seed))
}

fn to_fields(declared: &Map<String, Json>, agent: &str) -> Fields {
    let mut fields = Fields::default();
    for (name, value) in declared {
        fields.put(&Name::new(name), Value::from_json(&replace_agent(value, agent)));
    }
    fields
}

fn replace_agent(value: &Json, agent: &str) -> Json {
    match value {
        Json::String(text) => Json::String(text.replace(AGENT, agent)),
        Json::Array(items) => Json::Array(items.iter().map(|it| replace_agent(it, agent)).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_share_no_entity_and_visit_all_of_theirs() {
        let workload = Workload::new(1_000).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for caller in 0..7 {
            let own: std::collections::BTreeSet<usize> =
                (0..143).map(|nth| workload.entity(caller, 7, nth)).collect();
            assert!(own.iter().all(|it| seen.insert(*it)), "caller {caller} meets another");
        }
        assert_eq!(seen.len(), 1_000);
    }

    #[test]
    fn an_entity_goes_round() {
        let workload = Workload::new(10).unwrap();
        let bodies: Vec<String> = (0..4)
            .map(|_| {
                let (_, body, _) = workload.request(3).unwrap();
                workload.advance(3);
                body
            })
            .collect();
        assert_eq!(bodies[0], bodies[3]);
        assert_ne!(bodies[0], bodies[1]);
        assert!(bodies[2].contains("bench-agent-3"), "{}", bodies[2]);
    }
}
