//! The words of a scenario file.

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
        /// The pack it tests.
        pub pack: At<Name>,
        /// The moment it starts.
        pub now: Option<At<String>>,
        /// The project's time zone.
        pub zone: Option<String>,
        /// Ids of the people known to the project.
        pub people: Option<Vec<Name>>,
        /// Overrides of the project's settings.
        pub settings: Named<Json>,
        /// Who plays: name to kind and roles.
        pub actors: Named<ActorDecl>,
        /// Entities that exist before every scenario.
        pub given: Option<Vec<Named<Named<Json>>>>,
        /// The scenarios.
        pub scenarios: Option<Vec<ScenarioNode>>,
        /// A table of edges and actors.
        pub matrix: Option<OneOrMany<Matrix>>,
    }
}

/// A scenario as written: it is read once for each of its rows.
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
    /// An actor: one kind, with roles.
    pub struct ActorDecl {
        /// Roles of a person.
        pub human: Option<Vec<At<Name>>>,
        /// Roles of an agent.
        pub agent: Option<Vec<At<Name>>>,
        /// Roles of a program.
        pub system: Option<Vec<At<Name>>>,
    }
}

keys! {
    /// One scenario.
    pub struct ScenarioHead {
        /// The rule in one sentence.
        pub scenario: At<String>,
        /// Numbers of the rules it proves.
        pub rules: Option<Vec<At<Name>>>,
        /// Further entities that exist.
        pub given: Option<Vec<Named<Named<Json>>>>,
        /// Further overrides of settings.
        pub settings: Named<Json>,
        /// Ids of the people known to the project.
        pub people: Option<Vec<Name>>,
        /// The moment it starts.
        pub now: Option<At<String>>,
        /// The project's time zone.
        pub zone: Option<String>,
        /// Rows; it runs once for each, with `<name>` replaced.
        pub each: Option<Vec<Named<Node>>>,
        /// What happens, in order.
        pub steps: Vec<StepDecl>,
    }
}

keys! {
    /// One action and its expectations.
    pub struct StepDecl {
        /// Who acts.
        pub r#as: Option<At<Name>>,
        /// Asks for a transition or event by name.
        pub fire: Option<At<Name>>,
        /// The entity: `LIFECYCLE/ID`.
        pub of: Option<At<String>>,
        /// Asks for a target state of this entity.
        pub r#move: Option<At<String>>,
        /// With `move` and `correct`: the target.
        pub to: Option<At<Name>>,
        /// Creates this entity.
        pub create: Option<At<String>>,
        /// Takes the next one of this lifecycle.
        pub claim: Option<At<Name>>,
        /// With `claim`: the transition that takes it.
        pub event: Option<At<Name>>,
        /// With `claim`: only those for which this is true.
        pub r#where: Option<At<String>>,
        /// A process of a role ended with this code.
        pub exit: Option<u32>,
        /// With `exit`: the role.
        pub role: Option<At<Name>>,
        /// With `exit`: the agent.
        pub agent: Option<Name>,
        /// With `exit`: restarts without progress so far.
        pub restarts: Option<u32>,
        /// With `exit`: starts on its task without progress so far.
        pub reruns: Option<u32>,
        /// With `exit`: how long it has waited instead of stopping.
        pub waited: Option<At<String>>,
        /// Extends a lease of this entity.
        pub heartbeat: Option<At<String>>,
        /// With `heartbeat`: the slot.
        pub slot: Option<At<Name>>,
        /// The loud override of this entity.
        pub correct: Option<At<String>>,
        /// Brings this effect's result home.
        pub effect: Option<At<Name>>,
        /// With `effect`: whether it was done.
        pub ok: Option<bool>,
        /// Moves time.
        pub advance: Option<At<String>>,
        /// The server is away for this long, and comes back.
        pub restart: Option<At<String>>,
        /// Changes settings of the pack; null takes an override back.
        pub configure: Named<Json>,
        /// Looks for violations and repairs.
        pub sweep: Option<bool>,
        /// A named query of the pack.
        pub query: Option<At<Name>>,
        /// The risk policy.
        pub policy: Option<PolicyAsk>,
        /// Fields sent, or parameters.
        pub with: Named<Json>,
        /// Why.
        pub reason: Option<String>,
        /// Idempotency key.
        pub key: Option<Name>,
        /// Only at this version.
        pub version: Option<u32>,
        /// The fence of a lease.
        pub fence: Option<u32>,
        /// On behalf of.
        pub r#for: Option<Name>,
        /// Only decides.
        pub dry: Option<bool>,
        /// Expectations.
        pub then: Option<Then>,
    }
}

keys! {
    /// What the risk policy is asked.
    pub struct PolicyAsk {
        /// The action.
        pub action: String,
        /// Its arguments.
        pub arguments: Named<Json>,
        /// The role of who would do it.
        pub role: Option<String>,
    }
}

keys! {
    /// Expectations: everything that is named, nothing more.
    pub struct Then {
        /// The entity looked at; default the one acted on.
        pub of: Option<At<String>>,
        /// Its state.
        pub state: Option<At<Name>>,
        /// Some of its fields; null means not set.
        pub fields: Option<At<Json>>,
        /// Its envelope: version, previousState, createdAt, stateEnteredAt, leases and so on.
        pub entity: Option<At<Json>>,
        /// The action was refused: `true`, a code, or a map.
        pub refused: Option<At<Json>>,
        /// Exactly the targets permitted: to who acted, or by actor.
        pub allowed: Option<At<Json>>,
        /// It was an idempotent replay.
        pub replayed: Option<At<bool>>,
        /// Fields the engine owns that were sent and ignored.
        pub ignored: Option<At<Json>>,
        /// Entries this step wrote, in order.
        pub journal: Option<Vec<At<Json>>>,
        /// What no entry of this step is like.
        pub without: Option<Vec<At<Json>>>,
        /// The id that `claim` took.
        pub claimed: Option<At<Name>>,
        /// The refused request was kept as evidence.
        pub kept: Option<At<bool>>,
        /// Ranking to its place in it, or null.
        pub ranks: Named<Node>,
        /// This step wrote nothing.
        pub silent: Option<At<bool>>,
        /// Messages sent in this step.
        pub notified: Option<Vec<At<Json>>>,
        /// Alerts raised in this step.
        pub alerts: Option<Vec<At<Json>>>,
        /// Messages posted in this step.
        pub messages: Option<Vec<At<Json>>>,
        /// Names of the invariants found broken in this step.
        pub violations: Option<Vec<At<Name>>>,
        /// Entities that exist.
        pub exists: Option<OneOrMany<At<String>>>,
        /// Entities that do not.
        pub absent: Option<OneOrMany<At<String>>>,
        /// Timer to the span until it is due, or null.
        pub timers: Named<Node>,
        /// Of a query: the ids, in order.
        pub ids: Option<At<Json>>,
        /// Result of a query, a policy, a history or a heartbeat (`stop`: why the holder should stop).
        pub result: Option<At<Json>>,
        /// Further expectations, for other entities.
        pub also: Option<Vec<Then>>,
    }
}

keys! {
    /// Every edge for every actor.
    pub struct Matrix {
        /// What the table is.
        pub name: String,
        /// Numbers of the rules it proves.
        pub rules: Option<Vec<At<Name>>>,
        /// The lifecycle.
        pub of: At<Name>,
        /// Fields of the entity in every state.
        pub given: Named<Json>,
        /// Further fields in some states.
        pub states: Named<Named<Json>>,
        /// The fields sent with a target, or with `FROM > TO`.
        pub with: Named<Named<Json>>,
        /// The reason given.
        pub reason: Option<String>,
        /// From, to, and who may; all others must be refused.
        pub allowed: Named<Named<Vec<At<Name>>>>,
    }
}
