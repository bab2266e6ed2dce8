//! The grammar of a scenario file.

use trackside_lifecycle::keys;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{
    At, FileId, FromNode, Json, Named, Node, OneOrMany, Problems, Sources, read,
};

/// Reads a scenario file.
pub fn read_file(sources: &Sources, file: FileId, problems: &mut Problems) -> Option<ScenarioFile> {
    let node = read(sources, file, problems)?;
    ScenarioFile::from_node(&node, problems)
}

keys! {
    /// A file of scenarios.
    pub struct ScenarioFile {
        /// The pack that it tests.
        pub pack: At<Name>,
        /// The time at which scenarios start; 2026-01-01T00:00:00Z by default.
        pub now: Option<At<String>>,
        /// The time zone of the project, as an IANA name.
        pub zone: Option<String>,
        /// Ids of the people known to the project.
        pub people: Option<Vec<Name>>,
        /// Overrides of the project's settings.
        pub settings: Named<Json>,
        /// The actors: name to kind and roles.
        pub actors: Named<ActorDecl>,
        /// Entities that exist before every scenario.
        pub given: Option<Vec<Named<Named<Json>>>>,
        /// The scenarios.
        pub scenarios: Option<Vec<ScenarioNode>>,
        /// Tables that test every edge for every actor.
        pub matrix: Option<OneOrMany<Matrix>>,
    }
}

impl ScenarioFile {
    /// Drops the scenarios and tables whose name does not contain a text.
    pub fn keep_named(&mut self, text: &str) {
        let name = |it: &ScenarioNode| it.0.get("scenario").and_then(Node::text).map(str::to_owned);
        if let Some(scenarios) = &mut self.scenarios {
            scenarios.retain(|it| name(it).is_some_and(|it| it.contains(text)));
        }
        if let Some(tables) = &mut self.matrix {
            tables.0.retain(|it| it.name.contains(text));
        }
    }
}

/// A scenario as written. It is read once for each of its rows.
#[derive(Clone, Debug)]
pub struct ScenarioNode(pub Node);

impl FromNode for ScenarioNode {
    fn from_node(node: &Node, _: &mut Problems) -> Option<Self> {
        Some(Self(node.clone()))
    }
}

impl schemars::JsonSchema for ScenarioNode {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        ScenarioHead::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        ScenarioHead::json_schema(generator)
    }
}

keys! {
    /// An actor: one kind, with its roles.
    pub struct ActorDecl {
        /// The roles of a person.
        pub human: Option<Vec<At<Name>>>,
        /// The roles of an agent.
        pub agent: Option<Vec<At<Name>>>,
        /// The roles of a system.
        pub system: Option<Vec<At<Name>>>,
    }
}

keys! {
    /// One scenario.
    pub struct ScenarioHead {
        /// The tested rule in one sentence.
        pub scenario: At<String>,
        /// Numbers of the rules it proves.
        pub rules: Option<Vec<At<Name>>>,
        /// Further entities that exist at the start.
        pub given: Option<Vec<Named<Named<Json>>>>,
        /// Further overrides of settings.
        pub settings: Named<Json>,
        /// Ids of the people known to the project.
        pub people: Option<Vec<Name>>,
        /// The time at which it starts.
        pub now: Option<At<String>>,
        /// The time zone of the project, as an IANA name.
        pub zone: Option<String>,
        /// Rows: the scenario runs once for each row, with `<name>` replaced by its value.
        pub each: Option<Vec<Named<Node>>>,
        /// The steps, in order.
        pub steps: Vec<StepDecl>,
    }
}

keys! {
    /// One action and its expectations.
    pub struct StepDecl {
        /// The actor of the step.
        pub r#as: Option<At<Name>>,
        /// Requests a transition or event by name.
        pub fire: Option<At<Name>>,
        /// The entity: `LIFECYCLE/ID`.
        pub of: Option<At<String>>,
        /// Requests a target state of this entity.
        pub r#move: Option<At<String>>,
        /// With `move` and `correct`: the target state.
        pub to: Option<At<Name>>,
        /// Creates this entity.
        pub create: Option<At<String>>,
        /// Claims the next entity of this lifecycle.
        pub claim: Option<At<Name>>,
        /// With `claim`: the transition that claims it.
        pub event: Option<At<Name>>,
        /// With `claim`: only entities for which this expression is true.
        pub r#where: Option<At<String>>,
        /// A process of an agent ended with this exit code.
        pub exit: Option<u32>,
        /// A heartbeat said stop and the supervisor ended the process of an agent.
        pub stopped: Option<bool>,
        /// Asks for the work of an agent on this entity, by the `work` of its lifecycle.
        pub work: Option<At<String>>,
        /// With `work`: fires the event that follows this step of a run: begin, done, failed, meter or note.
        pub action: Option<At<Name>>,
        /// With `action`: the fields of the run, and the values that its runner sends.
        pub run: Named<Json>,
        /// With `exit` and `work`: the role of the agent.
        pub role: Option<At<Name>>,
        /// With `exit`: the id of the agent.
        pub agent: Option<Name>,
        /// With `exit`: the number of restarts without progress so far; 0 by default.
        pub restarts: Option<u32>,
        /// With `exit`: the number of starts on its task without progress so far.
        pub reruns: Option<u32>,
        /// With `exit`: how long the supervisor has waited instead of stopping it, as a span.
        pub waited: Option<At<String>>,
        /// Extends a lease of this entity.
        pub heartbeat: Option<At<String>>,
        /// With `heartbeat`: the slot.
        pub slot: Option<At<Name>>,
        /// Corrects this entity: an admin override of its state or fields.
        pub correct: Option<At<String>>,
        /// Reports the result of this effect.
        pub effect: Option<At<Name>>,
        /// With `effect`: whether it succeeded; true by default.
        pub ok: Option<bool>,
        /// Advances the clock by this span.
        pub advance: Option<At<String>>,
        /// The server is down for this span, then starts again. Timers that became due fire late.
        pub restart: Option<At<String>>,
        /// Changes settings of the pack; null removes an override.
        pub configure: Named<Json>,
        /// Changes the ids of the people known to the project, as tokens that are made and revoked do.
        pub people: Option<Vec<Name>>,
        /// Runs a sweep, which finds violations and repairs them.
        pub sweep: Option<bool>,
        /// Runs a named query of the pack.
        pub query: Option<At<Name>>,
        /// Reads the journal entries of this entity that the actor may see. `then` checks them as if the step had
        /// written them.
        pub observe: Option<At<String>>,
        /// Asks the risk policy about an action.
        pub policy: Option<PolicyAsk>,
        /// Fields of the request, or parameters of the query.
        pub with: Named<Json>,
        /// The reason of the request.
        pub reason: Option<String>,
        /// The idempotency key of the request.
        pub key: Option<Name>,
        /// The request is refused if the entity is not at this version.
        pub version: Option<u32>,
        /// The fence of the lease under which the actor works.
        pub fence: Option<u32>,
        /// The actor on whose behalf the request is sent.
        pub r#for: Option<Name>,
        /// Decides the request but changes nothing.
        pub dry: Option<bool>,
        /// The expectations of the step.
        pub then: Option<Then>,
    }
}

keys! {
    /// A question to the risk policy.
    pub struct PolicyAsk {
        /// The action.
        pub action: String,
        /// Its arguments.
        pub arguments: Named<Json>,
        /// The role that would perform the action.
        pub role: Option<String>,
    }
}

keys! {
    /// Expectations. Only the named ones are checked.
    pub struct Then {
        /// The entity to check; by default the one that the step acted on.
        pub of: Option<At<String>>,
        /// The state of the entity.
        pub state: Option<At<Name>>,
        /// Some fields of the entity; null means not set.
        pub fields: Option<At<Json>>,
        /// Members of the entity: version, previousState, createdAt, stateEnteredAt, leases and so on.
        pub entity: Option<At<Json>>,
        /// The request was refused: `true`, a code, or a map.
        pub refused: Option<At<Json>>,
        /// Exactly the permitted targets: of the actor of the step, or by actor.
        pub allowed: Option<At<Json>>,
        /// Whether the answer was an idempotent replay.
        pub replayed: Option<At<bool>>,
        /// Fields that were sent but ignored, because only the engine writes them.
        pub ignored: Option<At<Json>>,
        /// Entries that this step wrote, in this order. Other entries may be between them.
        pub journal: Option<Vec<At<Json>>>,
        /// Entries that this step did not write.
        pub without: Option<Vec<At<Json>>>,
        /// Log lines of this step, in this order, letter for letter. Other lines may be between them; `[]` means none.
        pub log: Option<Vec<At<String>>>,
        /// The id that `claim` took.
        pub claimed: Option<At<Name>>,
        /// Whether the refused request was recorded as evidence.
        pub kept: Option<At<bool>>,
        /// Ranking to the place of the entity in it; null if it is not ranked.
        pub ranks: Named<Node>,
        /// True if this step wrote no entries.
        pub silent: Option<At<bool>>,
        /// Notifications sent in this step.
        pub notified: Option<Vec<At<Json>>>,
        /// Alerts raised in this step.
        pub alerts: Option<Vec<At<Json>>>,
        /// Messages posted in this step.
        pub messages: Option<Vec<At<Json>>>,
        /// The names of all invariants that were found violated in this step.
        pub violations: Option<Vec<At<Name>>>,
        /// Entities that exist.
        pub exists: Option<OneOrMany<At<String>>>,
        /// Entities that do not exist.
        pub absent: Option<OneOrMany<At<String>>>,
        /// Timer to the span until it is due; null if it is not running.
        pub timers: Named<Node>,
        /// The ids that the query returned, in order.
        pub ids: Option<At<Json>>,
        /// The number of rows that the query returned.
        pub rows: Option<At<u32>>,
        /// The result of a query, a policy, a history, an exit, the work of an agent or a heartbeat (`stop`: why the holder should stop).
        pub result: Option<At<Json>>,
        /// Texts that the instructions of `work` contain.
        pub says: Option<Vec<At<String>>>,
        /// Further expectations, for other entities.
        pub also: Option<Vec<Then>>,
    }
}

keys! {
    /// A table that tests every edge for every actor.
    pub struct Matrix {
        /// The name of the table.
        pub name: String,
        /// Numbers of the rules it proves.
        pub rules: Option<Vec<At<Name>>>,
        /// The lifecycle.
        pub of: At<Name>,
        /// Fields of the entity in every state.
        pub given: Named<Json>,
        /// Further fields in some states.
        pub states: Named<Named<Json>>,
        /// The fields sent with a target state, or with `FROM > TO`.
        pub with: Named<Named<Json>>,
        /// The reason sent with every request.
        pub reason: Option<String>,
        /// Source state to target state to the actors that may. All other requests must be refused.
        pub allowed: Named<Named<Vec<At<Name>>>>,
    }
}
