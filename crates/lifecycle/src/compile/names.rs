//! Resolves the names in an expression.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::shape::{LifecycleShape, PackShape};
use crate::guard::{Guard, HostFunction, Names, Resolved, Type, Unknown, VarSlot};
use crate::model::{Count, EntityAttribute, Read, Setting, SlotAttribute};
use crate::name::Name;

/// The slots of one lifecycle's expressions, grown as they are compiled.
#[derive(Debug, Default)]
pub(super) struct ReadTable {
    pub reads: Vec<Read>,
    known: BTreeMap<String, VarSlot>,
    /// The cost of reading some keys, in further reads.
    pub costs: BTreeMap<String, u64>,
    /// Reads compiled so far, counted per mention.
    pub spent: u64,
}

impl ReadTable {
    fn slot(&mut self, key: &str, read: impl FnOnce() -> Read) -> VarSlot {
        let beyond = self.costs.get(key).copied().unwrap_or_default();
        self.spent = self.spent.saturating_add(1).saturating_add(beyond);
        if let Some(slot) = self.known.get(key) {
            return *slot;
        }
        let slot = VarSlot(u32::try_from(self.reads.len()).unwrap_or(u32::MAX));
        self.reads.push(read());
        self.known.insert(key.to_owned(), slot);
        slot
    }
}

/// Names as one expression sees them.
pub(super) struct Vocabulary<'a> {
    pub pack: &'a PackShape,
    pub shape: &'a LifecycleShape,
    pub table: &'a mut ReadTable,
    pub settings: &'a [Setting],
    /// Compiled already, in order.
    pub relations: &'a [(Name, Guard)],
    pub computed: &'a [(Name, Guard)],
    /// Values this request takes but does not store.
    pub taken: &'a BTreeMap<Name, Type>,
    /// Parameters of a query.
    pub ask: Option<&'a BTreeMap<Name, Type>>,
    /// The type of the current list element.
    pub it: Option<&'a Type>,
    /// Whether members of inverses may be listed.
    pub listing: bool,
}

/// The function that evaluates the risk policy in expressions.
pub(crate) const POLICY: u16 = 0;

const PLAIN: &[&str] = &[
    "id",
    "state",
    "previousState",
    "version",
    "createdAt",
    "updatedAt",
    "stateEnteredAt",
    "timeInState",
    "timeByState",
    "totalTime",
    "visits",
    "overdue",
    "reason",
    "fence",
    "human",
    "agent",
    "system",
    "engine",
    "admin",
    "now",
    "journalSequence",
];
const DOTTED: &[&str] = &["was", "actor", "subject", "settings", "project", "me", "ask", "it", "count"];

/// Words that no field, role, relation, counter, slot, ref or state set may take.
pub(super) fn is_reserved(name: &str) -> bool {
    PLAIN.contains(&name) || DOTTED.contains(&name)
}

impl Names for Vocabulary<'_> {
    fn resolve(&mut self, path: &[&str]) -> Result<Resolved, Unknown> {
        let Some((&root, rest)) = path.split_first() else {
            return Err(Unknown { name: String::new(), known: Vec::new() });
        };
        if let Some(ty) = self.taken.get(root) {
            return self.found(&format!("taken {root}"), ty.clone(), 1, || Read::Taken(root.into()));
        }
        if let Some((_, guard)) = self.computed.iter().find(|(name, _)| name == root) {
            // Except the key of the envelope's own value, which a computed field may replace.
            let key = computed_key(root);
            return self.found(&key, guard.ty().clone(), 1, || Read::Computed(guard.clone()));
        }
        if let Some(field) = self.shape.fields.get(root) {
            return self.found(root, field.ty(), 1, || Read::Field(root.into()));
        }
        if let Some(ty) = self.it.filter(|_| root == "it") {
            return self.found("it", ty.clone(), 1, || Read::It);
        }
        if let Some(plain) = self.plain(root) {
            let (ty, read) = plain;
            return self.found(root, ty, 1, || read);
        }
        if let Some((_, guard)) = self.relations.iter().find(|(name, _)| name == root) {
            return self.found(&relation_key(root), Type::Bool, 1, || Read::Relation(guard.clone()));
        }
        if self.pack.roles.contains_key(root) {
            let holders = holders(self.pack, root);
            return self.found(&format!("role {root}"), Type::Bool, 1, || Read::Role(holders));
        }
        if let Some((ty, _)) = self.shape.counters.get(root) {
            return self.found(&format!("counter {root}"), ty.clone(), 1, || Read::Counter(root.into()));
        }
        self.dotted(root, rest)
    }

    fn indexed(&mut self, name: &str) -> Option<Resolved> {
        let (ty, several) = self.shape.counters.get(name)?;
        if !several {
            return None;
        }
        let ty = Type::Map(Box::new(ty.clone()));
        self.found(&format!("counters {name}"), ty, 1, || Read::Counters(name.into())).ok()
    }

    fn function(&self, name: &str) -> Option<HostFunction> {
        let levels = self.pack.levels.as_ref()?;
        if name != "policy" {
            return None;
        }
        let result = BTreeMap::from([
            (Name::new("level"), Type::Choice(levels.clone())),
            (Name::new("outcome"), choice(&["allow", "approve", "deny"])),
            (Name::new("why"), Type::Text),
        ]);
        let params = vec![Type::Text, Type::Any, Type::Text];
        Some(HostFunction { id: POLICY, params, result: Type::Record(Arc::new(result)) })
    }
}

impl Vocabulary<'_> {
    fn found(
        &mut self,
        key: &str,
        ty: Type,
        used: usize,
        read: impl FnOnce() -> Read,
    ) -> Result<Resolved, Unknown> {
        Ok(Resolved { slot: self.table.slot(key, read), ty, used })
    }

    fn plain(&self, root: &str) -> Option<(Type, Read)> {
        let states = || Type::Choice(self.shape.states.clone());
        Some(match root {
            "id" => (Type::Text, Read::Id),
            "state" => (states(), Read::State),
            "previousState" => (states(), Read::PreviousState),
            "version" => (Type::Int, Read::Version),
            "createdAt" => (Type::Time, Read::CreatedAt),
            "updatedAt" => (Type::Time, Read::UpdatedAt),
            "stateEnteredAt" => (Type::Time, Read::StateEnteredAt),
            "timeInState" => (Type::Span, Read::TimeInState),
            "timeByState" => (Type::Map(Box::new(Type::Span)), Read::TimeByState),
            "totalTime" => (Type::Span, Read::TotalTime),
            "visits" => (Type::Map(Box::new(Type::Int)), Read::Visits),
            "overdue" => (Type::Bool, Read::Overdue),
            "reason" => (Type::Text, Read::Reason),
            "fence" => (Type::Int, Read::Fence),
            "human" => (Type::Bool, Read::Human),
            "agent" if !self.shape.refs.contains_key("agent") => (Type::Bool, Read::Agent),
            "system" => (Type::Bool, Read::System),
            "engine" => (Type::Bool, Read::Engine),
            "admin" => (Type::Bool, Read::Admin),
            "now" => (Type::Time, Read::Now),
            "journalSequence" => (Type::Int, Read::JournalSequence),
            _ => return None,
        })
    }

    fn dotted(&mut self, root: &str, rest: &[&str]) -> Result<Resolved, Unknown> {
        let member = rest.first().copied();
        let key = member.map_or_else(|| root.to_owned(), |it| format!("{root}.{it}"));
        match (root, member) {
            ("was", Some(field)) => match self.shape.fields.get(field) {
                Some(it) => self.found(&key, it.ty(), 2, || Read::Was(field.into())),
                None => Err(unknown(&key, self.shape.fields.keys().map(|it| format!("was.{it}")))),
            },
            ("actor", Some("id")) => self.found(&key, Type::Text, 2, || Read::ActorId),
            ("actor", Some("kind")) => {
                self.found(&key, choice(&["human", "agent", "system", "timeout"]), 2, || Read::ActorKind)
            }
            ("actor", Some("roles")) => {
                self.found(&key, Type::List(Box::new(Type::Text)), 2, || Read::ActorRoles)
            }
            ("subject", Some("id")) => self.found(&key, Type::Text, 2, || Read::SubjectId),
            ("project", Some("people")) => {
                self.found(&key, Type::List(Box::new(Type::Text)), 2, || Read::People)
            }
            ("settings", Some(name)) => match self.settings.iter().position(|it| it.name == *name) {
                Some(place) => {
                    let ty = self.settings.get(place).map_or(Type::Any, |it| it.ty.clone());
                    self.found(&key, ty, 2, || Read::Setting(place))
                }
                None => Err(unknown(&key, self.settings.iter().map(|it| format!("settings.{}", it.name)))),
            },
            ("ask", Some(name)) if self.ask.is_some() => match self.ask.and_then(|it| it.get(name)) {
                Some(ty) => {
                    let ty = ty.clone();
                    self.found(&key, ty, 2, || Read::Ask(name.into()))
                }
                None => Err(unknown(&key, self.ask.into_iter().flatten().map(|(it, _)| format!("ask.{it}")))),
            },
            ("me", _) if self.shape.me.is_some() => {
                let to = self.shape.me.clone();
                self.entity_member(&key, to.as_ref(), rest, Read::Me)
            }
            (name, member) if self.shape.slots.iter().any(|it| it == name) => match member {
                Some("held") => {
                    self.found(&key, Type::Bool, 2, || Read::Slot(name.into(), SlotAttribute::Held))
                }
                Some("holder") => {
                    self.found(&key, Type::Text, 2, || Read::Slot(name.into(), SlotAttribute::Holder))
                }
                Some("fence") => {
                    self.found(&key, Type::Int, 2, || Read::Slot(name.into(), SlotAttribute::Fence))
                }
                Some("until") => {
                    self.found(&key, Type::Time, 2, || Read::Slot(name.into(), SlotAttribute::Until))
                }
                _ => Err(unknown(
                    &key,
                    ["held", "holder", "fence", "until"].iter().map(|it| format!("{name}.{it}")),
                )),
            },
            (name, member) if self.shape.rankings.contains_key(name) => match member {
                Some("rank") => self.found(&key, Type::Int, 2, || Read::Rank(name.into())),
                Some("size") => self.found(&key, Type::Int, 2, || Read::RankSize(name.into())),
                _ => Err(unknown(&key, ["rank", "size"].iter().map(|it| format!("{name}.{it}")))),
            },
            (name, _) => {
                if let Some(it) = self.shape.refs.get(name).cloned() {
                    return if it.many {
                        self.group(&key, name, &it.to, rest)
                    } else {
                        let name = Name::new(name);
                        self.entity_member(&key, Some(&it.to), rest, |look| Read::Ref(name, look))
                    };
                }
                if let Some(from) = self.shape.inverses.get(name).cloned() {
                    return self.group(&key, name, &from, rest);
                }
                Err(unknown(name, self.all_names()))
            }
        }
    }

    /// A member of another entity.
    fn entity_member(
        &mut self,
        key: &str,
        to: Option<&Name>,
        rest: &[&str],
        read: impl FnOnce(EntityAttribute) -> Read,
    ) -> Result<Resolved, Unknown> {
        let Some(&member) = rest.first() else {
            return self.found(key, Type::Text, 1, || read(EntityAttribute::Id));
        };
        let Some(other) = to.and_then(|it| self.pack.lifecycles.get(it)) else {
            return self.found(key, Type::Any, 2, || read(EntityAttribute::Field(member.into())));
        };
        let states = Type::Choice(other.states.clone());
        let (ty, look) = match member {
            "id" => (Type::Text, EntityAttribute::Id),
            "state" => (states, EntityAttribute::State),
            "previousState" => (states, EntityAttribute::PreviousState),
            "version" => (Type::Int, EntityAttribute::Version),
            "createdAt" => (Type::Time, EntityAttribute::CreatedAt),
            "stateEnteredAt" => (Type::Time, EntityAttribute::StateEnteredAt),
            "final" => (Type::Bool, EntityAttribute::Final),
            _ => {
                if let Some(from) = other.inverses.get(member) {
                    let states =
                        self.pack.lifecycles.get(from).map(|it| it.states.clone()).unwrap_or_default();
                    let count = count_of(key, rest.get(1).copied(), &states, false)?;
                    let key = format!("{key}.{}", rest.get(1).copied().unwrap_or_default());
                    return self
                        .found(&key, Type::Int, 3, || read(EntityAttribute::Group(member.into(), count)));
                }
                if let Some(field) = other.fields.get(member) {
                    (field.ty(), EntityAttribute::Field(member.into()))
                } else if let Some((ty, _)) = other.counters.get(member) {
                    (ty.clone(), EntityAttribute::Counter(member.into()))
                } else {
                    let root = key.split('.').next().unwrap_or(key).to_owned();
                    let known = other.fields.keys().chain(other.counters.keys()).map(Name::as_str);
                    let known =
                        known.chain(["id", "state", "previousState", "version", "createdAt", "final"]);
                    return Err(unknown(key, known.map(|it| format!("{root}.{it}"))));
                }
            }
        };
        self.found(key, ty, 2, || read(look))
    }

    fn group(&mut self, key: &str, name: &str, of: &Name, rest: &[&str]) -> Result<Resolved, Unknown> {
        let states = self.pack.lifecycles.get(of).map(|it| it.states.clone()).unwrap_or_default();
        let inverse = self.shape.inverses.contains_key(name);
        let member = rest.first().copied();
        match member {
            Some("movedAt") if inverse => {
                return self.found(key, Type::Time, 2, || Read::MovedAt(name.into()));
            }
            Some("all") if inverse && self.listing => {
                let ty = Type::List(Box::new(Type::Any));
                return self.found(key, ty, 2, || Read::All(name.into()));
            }
            Some("listed") if inverse && self.listing => {
                let ty = Type::List(Box::new(Type::Any));
                return match rest.get(1).filter(|wanted| states.iter().any(|it| it == **wanted)) {
                    Some(state) => {
                        let key = format!("{key}.{state}");
                        self.found(&key, ty, 3, || Read::Listed(name.into(), (*state).into()))
                    }
                    None => {
                        let key = format!("{key}.{}", rest.get(1).copied().unwrap_or_default());
                        Err(unknown(&key, states.iter().map(|it| format!("{name}.listed.{it}"))))
                    }
                };
            }
            _ => {}
        }
        let count = count_of(name, member, &states, inverse)?;
        self.found(key, Type::Int, 2, || Read::Group(name.into(), count))
    }

    fn all_names(&self) -> Vec<String> {
        let shape = self.shape;
        let names = shape
            .fields
            .keys()
            .chain(self.taken.keys())
            .chain(shape.counters.keys())
            .chain(shape.refs.keys());
        let names = names
            .chain(shape.inverses.keys())
            .chain(shape.slots.iter())
            .chain(shape.rankings.keys())
            .chain(self.pack.roles.keys());
        let names = names
            .chain(self.relations.iter().map(|(it, _)| it))
            .chain(self.computed.iter().map(|(it, _)| it));
        names.map(Name::to_string).chain(PLAIN.iter().chain(DOTTED).map(|it| (*it).to_owned())).collect()
    }
}

/// The count of the group `name` that a member refers to.
fn count_of(name: &str, member: Option<&str>, states: &[Name], inverse: bool) -> Result<Count, Unknown> {
    Ok(match member {
        Some("count") => Count::All,
        Some("missing") => Count::Missing,
        Some("closed") => Count::Closed,
        Some("open") => Count::Open,
        Some(outcome @ ("success" | "failure" | "cancelled")) => Count::Outcome(outcome.into()),
        Some(state) if states.iter().any(|it| it == state) => Count::State(state.into()),
        _ => {
            let known = ["count", "missing", "closed", "open", "success", "failure", "cancelled"].into_iter();
            let known = known.chain(["movedAt"].into_iter().filter(|_| inverse));
            let known = known.chain(states.iter().map(Name::as_str));
            let key = member.map_or_else(|| name.to_owned(), |it| format!("{name}.{it}"));
            return Err(unknown(&key, known.map(|it| format!("{name}.{it}"))));
        }
    })
}

/// The key of a computed field in the table. The blank in it cannot occur in a name.
pub(super) fn computed_key(name: &str) -> String {
    format!("computed {name}")
}

pub(super) fn relation_key(name: &str) -> String {
    format!("relation {name}")
}

/// The role itself and every role that includes it, bare and with the pack before it.
fn holders(pack: &PackShape, role: &str) -> Vec<Name> {
    let including = pack.roles.iter().filter(|(_, includes)| includes.iter().any(|it| it == role));
    including.flat_map(|(name, _)| [name.clone(), Name::from(format!("{}:{name}", pack.pack))]).collect()
}

fn unknown(name: &str, known: impl IntoIterator<Item = String>) -> Unknown {
    Unknown { name: name.to_owned(), known: known.into_iter().collect() }
}

fn choice(names: &[&str]) -> Type {
    Type::Choice(Arc::new(names.iter().map(|it| Name::new(it)).collect()))
}

impl ReadTable {
    /// Extends the table of a lifecycle that is already compiled.
    pub(super) fn resume(reads: Vec<Read>) -> Self {
        Self { reads, ..Self::default() }
    }
}
