//! The parts of an entity that the model keeps.

use std::collections::{BTreeMap, BTreeSet};

use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::{Counter, Fit, Lifecycle, Read, TallyBy};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::condition_reads::{ConditionReads, PREVIOUS, ReadSummary, condition_reads, constant};
use super::domain::{AbstractValue, Domain};

/// The number from which a counter without a limit is not distinguished.
const FEW: u8 = 3;
/// The highest limit that is kept unchanged.
const MANY: u8 = 7;
/// Most distinguished values of a field.
const NAMES: usize = 16;

/// Under this name, which no part has, the values of settings are left out.
pub(super) const SETTINGS: &str = "settings";

/// One variable of an entity.
#[derive(Clone, Debug)]
pub(super) struct EntityVariable {
    pub name: String,
    pub domain: Domain,
    /// Its importance: whether a property reads it, whether the engine writes it (not callers), and the
    /// number of conditions that read it.
    pub matters: (bool, bool, usize),
}

/// The variables of an entity, and how a lifecycle finds them.
#[derive(Clone, Debug)]
pub(super) struct EntityShape<'a> {
    pub life: &'a Lifecycle,
    /// Whether settings have their default values; otherwise any value.
    pub settings: bool,
    pub parts: Vec<EntityVariable>,
    pub fields: BTreeMap<Name, usize>,
    /// By counter, and by state if it has one tally per state.
    pub tallies: BTreeMap<(Name, Option<Name>), usize>,
    pub slots: BTreeMap<Name, usize>,
    /// The state before the present one.
    pub previous: Option<usize>,
    /// The outlines of computed fields and relations, by their index among the reads.
    pub outlines: BTreeMap<usize, Outline>,
}

impl<'a> EntityShape<'a> {
    /// Everything that some condition reads, except the parts left out by name.
    pub fn new(life: &'a Lifecycle, left_out: &BTreeSet<String>) -> Self {
        let states = life.states.iter().map(|it| it.name.clone()).collect();
        let state = EntityVariable {
            name: "state".to_owned(),
            domain: Domain::State(states),
            matters: (true, true, usize::MAX),
        };
        let mut shape = Self {
            life,
            settings: !left_out.contains(SETTINGS),
            parts: vec![state],
            fields: BTreeMap::new(),
            tallies: BTreeMap::new(),
            slots: BTreeMap::new(),
            previous: None,
            outlines: outlines(life),
        };
        let asked = condition_reads(&shape);
        if let Some(about) = asked.previous.get(PREVIOUS).filter(|_| !left_out.contains(PREVIOUS)) {
            let states = life.states.iter().map(|it| it.name.clone()).collect();
            shape.previous = Some(shape.parts.len());
            let matters = (about.proved, true, about.times);
            shape.parts.push(EntityVariable {
                name: PREVIOUS.to_owned(),
                domain: Domain::Choice(states),
                matters,
            });
        }
        for field in life.fields.values().filter(|it| it.is.is_none()) {
            let about = asked.fields.get(&field.name).cloned().unwrap_or_default();
            let Some(domain) = field_domain(&field.fits.fit, field.engine, &about) else { continue };
            if !left_out.contains(field.name.as_str()) {
                shape.fields.insert(field.name.clone(), shape.parts.len());
                shape.parts.push(EntityVariable {
                    name: field.name.to_string(),
                    domain,
                    matters: (about.proved, field.engine, about.times),
                });
            }
        }
        for counter in &life.counters {
            shape.add_counter(counter, &asked, left_out);
        }
        for slot in &life.slots {
            let name = format!("{}.holder", slot.name);
            let about = asked.slots.get(&slot.name).cloned().unwrap_or_default();
            if about.times > 0 && !left_out.contains(&name) {
                shape.slots.insert(slot.name.clone(), shape.parts.len());
                shape.parts.push(EntityVariable {
                    name,
                    domain: Domain::Person,
                    matters: (about.proved, true, about.times),
                });
            }
        }
        shape
    }

    fn add_counter(&mut self, counter: &Counter, asked: &ConditionReads, left_out: &BTreeSet<String>) {
        let about = asked.counters.get(&counter.name).cloned().unwrap_or_default();
        if (about.times == 0 && counter.then.is_none()) || left_out.contains(counter.name.as_str()) {
            return;
        }
        let limit = counter.limit.as_ref().and_then(|it| constant(self, &it.outline()));
        let most = limit.into_iter().chain(about.compared.iter().copied()).max();
        let most =
            most.and_then(|it| u8::try_from(it).ok()).filter(|it| *it <= MANY).map_or(FEW, |it| it + 1);
        let domain = match counter.add {
            Some(_) => Domain::Tally { most: 1, told: false },
            None => Domain::Tally { most, told: true },
        };
        let matters = (about.proved, true, about.times + usize::from(counter.then.is_some()));
        let keys: Vec<Option<Name>> = match counter.tally {
            TallyBy::PerState => counting_states(self.life, counter).into_iter().map(Some).collect(),
            TallyBy::One | TallyBy::ByKey(_) => vec![None],
        };
        for key in keys {
            let name = match &key {
                Some(state) => format!("{}[{state}]", counter.name),
                None => counter.name.to_string(),
            };
            self.tallies.insert((counter.name.clone(), key), self.parts.len());
            self.parts.push(EntityVariable { name, domain: domain.clone(), matters });
        }
    }

    pub fn size(&self, variable: usize) -> usize {
        self.parts.get(variable).map_or(1, |it| it.domain.size())
    }

    pub fn decode(&self, variable: usize, value: u8) -> AbstractValue {
        self.parts.get(variable).map_or(AbstractValue::Unknown, |it| it.domain.decode(value))
    }

    pub fn encode(&self, variable: usize, value: &AbstractValue) -> Vec<u8> {
        self.parts.get(variable).map(|it| it.domain.encode(value)).unwrap_or_default()
    }

    pub fn domain(&self, variable: usize) -> Option<&Domain> {
        self.parts.get(variable).map(|it| &it.domain)
    }

    /// Its parts, the least important first, by the names under which they can be left out.
    pub fn least_first(&self) -> Vec<String> {
        let mut rest: Vec<&EntityVariable> = self.parts.iter().skip(1).collect();
        rest.sort_by_key(|it| (it.matters, std::cmp::Reverse(it.domain.size())));
        let mut names: Vec<String> = rest.into_iter().map(|it| part(&it.name).to_owned()).collect();
        names.dedup();
        names
    }

    /// The number of a state.
    pub fn state(&self, name: &str) -> Option<u8> {
        let place = self.life.states.iter().position(|it| it.name == *name)?;
        u8::try_from(place + 1).ok()
    }

    /// The variables that follow the tallies of a counter.
    pub fn tallies_of<'s>(&'s self, counter: &'s Name) -> impl Iterator<Item = usize> + 's {
        self.tallies.iter().filter(move |((it, _), _)| it == counter).map(|(_, variable)| *variable)
    }
}

/// The name under which a variable is left out: tallies of one counter go together.
pub(super) fn part(variable: &str) -> &str {
    variable.split_once('[').map_or(variable, |(counter, _)| counter)
}

fn outlines(life: &Lifecycle) -> BTreeMap<usize, Outline> {
    let outline = |read: &Read| match read {
        Read::Computed(guard) | Read::Relation(guard) => Some(guard.outline()),
        _ => None,
    };
    life.reads.iter().enumerate().filter_map(|(place, it)| Some((place, outline(it)?))).collect()
}

/// The states in which a counter can count.
fn counting_states(life: &Lifecycle, counter: &Counter) -> Vec<Name> {
    let arms = life.arms();
    let counting: Vec<_> = arms.filter(|it| it.count.contains(&counter.name)).collect();
    let counts = |state: &Name| counter.on_moves || counting.iter().any(|it| it.from.has(state));
    life.states.iter().map(|it| it.name.clone()).filter(counts).collect()
}

/// The domain of a field, if the model keeps it.
fn field_domain(fit: &Fit, engine: bool, about: &ReadSummary) -> Option<Domain> {
    if about.times == 0 {
        return None;
    }
    let blank = |empty: Value, never: bool| Some(Domain::Presence((!never).then_some(empty)));
    match fit {
        Fit::Bool => Some(Domain::Bool),
        Fit::Choice(names) if names.len() <= NAMES => Some(Domain::Choice(names.to_vec())),
        Fit::Text { .. } | Fit::Any if about.person => Some(Domain::Person),
        Fit::List { .. } if about.person => Some(Domain::People),
        Fit::Int { .. } if engine && !about.compared.is_empty() => {
            let most = about.compared.iter().max().and_then(|it| u8::try_from(*it).ok());
            Some(Domain::Whole(most.filter(|it| *it <= MANY).map_or(FEW, |it| it + 1)))
        }
        _ if !about.presence => None,
        Fit::Text { min, .. } => blank(Value::text(""), min.is_some_and(|it| it > 0)),
        Fit::Any => blank(Value::text(""), false),
        Fit::List { min, .. } => blank(Value::list(Vec::new()), min.is_some_and(|it| it > 0)),
        Fit::Object { required, .. } => blank(Value::map(BTreeMap::new()), !required.is_empty()),
        Fit::Map(_) => blank(Value::map(BTreeMap::new()), false),
        Fit::Int { .. } | Fit::Number { .. } | Fit::Choice(_) | Fit::Time | Fit::Span => {
            Some(Domain::Presence(None))
        }
    }
}
