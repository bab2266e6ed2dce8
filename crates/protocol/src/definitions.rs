//! Definitions: lifecycles with their fields, and queries of packs.

use std::collections::BTreeMap;

use serde::Serialize;
use trackside_lifecycle::model::{Field, FieldType, Fit, Lifecycle, State, StateDecision};
use trackside_lifecycle::name::Name;
use utoipa::ToSchema;

use crate::diagram::Graph;
use crate::entity::{EntityBody, FieldMap};
use crate::entry::EntryBody;
use crate::work::RoleWorkBody;

/// A lifecycle in force.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LifecycleSummary {
    /// The full name: `pack.kind`.
    #[schema(value_type = String)]
    pub lifecycle: Name,
    #[schema(value_type = String)]
    pub pack: Name,
    pub version: u32,
    pub about: String,
    /// The purpose that clients may rely on, such as `approval`; null if it declares none.
    #[schema(value_type = Option<String>)]
    pub face: Option<Name>,
    /// True if there is only one entity of this lifecycle.
    pub one: bool,
    #[schema(value_type = String)]
    pub initial: Name,
    #[schema(value_type = Vec<String>)]
    pub states: Vec<Name>,
    /// The field that names an entity in lists; null if none does.
    #[schema(value_type = Option<String>)]
    pub title: Option<Name>,
    /// The field with the actors that work on an entity; null if there is none.
    #[schema(value_type = Option<String>)]
    pub assignee: Option<Name>,
    /// The fields and counters that lists and cards show.
    #[schema(value_type = Vec<String>)]
    pub card: Vec<Name>,
    /// The declared order of states; empty if there is none.
    #[schema(value_type = Vec<String>)]
    pub path: Vec<Name>,
    /// The meaning of each state: `waiting`, `working`, `review`, `stuck`, `failed`, `done` or `ended`.
    #[schema(value_type = BTreeMap<String, String>)]
    pub shows: BTreeMap<Name, &'static str>,
    /// The states that wait for people, and how people decide there.
    #[serde(rename = "waitsForPeople")]
    #[schema(value_type = BTreeMap<String, StateDecisionBody>)]
    pub waits_for_people: BTreeMap<Name, StateDecisionBody>,
    /// The versions that entities follow or may follow.
    pub versions: Vec<u32>,
}

/// The transitions by which people decide what waits in a state; null if there is no such transition.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = StateDecision)]
pub struct StateDecisionBody {
    #[schema(value_type = Option<String>)]
    pub approve: Option<Name>,
    #[schema(value_type = Option<String>)]
    pub deny: Option<Name>,
}

/// A lifecycle with its fields and transitions.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Lifecycle)]
pub struct LifecycleBody {
    #[serde(flatten)]
    pub summary: LifecycleSummary,
    pub fields: Vec<FieldBody>,
    /// Other names of states, each with its state.
    #[schema(value_type = BTreeMap<String, String>)]
    pub known_as: BTreeMap<Name, Name>,
    /// The states and transitions.
    pub definition: Graph,
    /// The work of agents on its entities, by role.
    #[schema(value_type = BTreeMap<String, RoleWorkBody>)]
    pub work: BTreeMap<Name, RoleWorkBody>,
}

/// A field of a lifecycle.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Field)]
pub struct FieldBody {
    #[schema(value_type = String)]
    pub name: Name,
    pub about: String,
    pub by: FieldWriter,
    #[serde(flatten)]
    pub ty: FieldTypeBody,
}

/// The writer of a field.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FieldWriter {
    Caller,
    Engine,
    /// It is computed when it is read, so nothing writes it.
    #[serde(rename = "nobody")]
    Computed,
}

/// The type of a field, without the limits that only the engine checks.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
#[schema(as = FieldType)]
pub enum FieldTypeBody {
    Any,
    Boolean,
    Integer {
        minimum: Option<f64>,
        maximum: Option<f64>,
    },
    Number {
        minimum: Option<f64>,
        maximum: Option<f64>,
    },
    String {
        #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<String>>)]
        values: Option<Vec<Name>>,
    },
    Time,
    Span,
    Array {
        #[schema(no_recursion)]
        items: Box<FieldTypeBody>,
    },
    Object,
}

/// A query of a pack.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct QuerySummary {
    #[schema(value_type = String)]
    pub name: Name,
    /// The lifecycle of the entities that it lists; null for a query that returns values.
    #[schema(value_type = Option<String>)]
    pub of: Option<Name>,
    /// The names of its parameters.
    #[schema(value_type = Vec<String>)]
    pub takes: Vec<Name>,
    pub about: String,
}

/// The answer of a query: a page of entities, a page of journal entries, or values by name. A query can declare the
/// form of its journal entries.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum QueryReply {
    #[serde(rename_all = "camelCase")]
    Page {
        /// Entities, or journal entries in the form that the query declares.
        #[schema(value_type = Vec<Object>)]
        items: QueryItems,
        /// The cursor of the next page: send it as `cursor`. Null on the last page.
        next_cursor: Option<String>,
    },
    #[schema(value_type = Object)]
    Values(FieldMap),
}

/// What a query lists.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum QueryItems {
    Entities(Vec<EntityBody>),
    Entries(Vec<EntryBody>),
    /// Entries in the form that the query declares.
    Lines(Vec<FieldMap>),
}

/// The fields of a lifecycle.
pub fn field_bodies(life: &Lifecycle) -> Vec<FieldBody> {
    life.fields.values().map(field_body).collect()
}

/// The meaning of each state for people.
pub fn state_meanings(life: &Lifecycle) -> BTreeMap<Name, &'static str> {
    life.states.iter().map(|it| (it.name.clone(), life.meaning(it).word())).collect()
}

/// The states that wait for people, and how people decide there.
pub fn states_waiting_for_people(life: &Lifecycle) -> BTreeMap<Name, StateDecisionBody> {
    let waiting = life.states.iter().filter(|it| life.waits_for_people(it));
    let decision = |it: &State| {
        let StateDecision { approve, deny } = life.decision(it);
        (it.name.clone(), StateDecisionBody { approve, deny })
    };
    waiting.map(decision).collect()
}

/// Other names of states, each with its state.
pub fn states_by_alias(life: &Lifecycle) -> BTreeMap<Name, Name> {
    life.states.iter().flat_map(|it| it.known_as.iter().map(|word| (word.clone(), it.name.clone()))).collect()
}

fn field_body(field: &Field) -> FieldBody {
    let by = match (&field.is, field.engine) {
        (Some(_), _) => FieldWriter::Computed,
        (None, true) => FieldWriter::Engine,
        (None, false) => FieldWriter::Caller,
    };
    FieldBody { name: field.name.clone(), about: field.about.clone(), by, ty: type_body(&field.fits) }
}

fn type_body(ty: &FieldType) -> FieldTypeBody {
    match &ty.fit {
        Fit::Any => FieldTypeBody::Any,
        Fit::Bool => FieldTypeBody::Boolean,
        Fit::Int { min, max } => FieldTypeBody::Integer { minimum: *min, maximum: *max },
        Fit::Number { min, max } => FieldTypeBody::Number { minimum: *min, maximum: *max },
        Fit::Text { .. } => FieldTypeBody::String { values: None },
        Fit::Choice(values) => FieldTypeBody::String { values: Some(values.to_vec()) },
        Fit::Time => FieldTypeBody::Time,
        Fit::Span => FieldTypeBody::Span,
        Fit::List { items, .. } => FieldTypeBody::Array { items: Box::new(type_body(items)) },
        Fit::Object { .. } | Fit::Map(_) => FieldTypeBody::Object,
    }
}
