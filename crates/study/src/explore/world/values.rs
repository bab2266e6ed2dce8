//! Generates sample requests where a stage gives none: valid values, and those that rules compare with.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::fields::Fields;
use trackside_lifecycle::guard::Outline;
use trackside_lifecycle::model::{Aim, FieldType, Fit, Lifecycle, Read, Take, Transition};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use super::cone::Cone;
use super::constants::{self, Constants};
use super::rules::{self, Use};

/// Texts that match the most frequent patterns.
const TEXTS: &[&str] = &[
    "x",
    "some text",
    "0123456789abcdef0123456789abcdef01234567",
    "feat: something",
    "a/b",
    "2026-01-01",
    "https://example.org/",
    "1.0.0",
    "a@example.org",
];

/// Most values of one field, and most samples of one request.
const VALUES: usize = 8;
const SAMPLES: usize = 10;

/// The meaning of a field whose type only says that it is text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Names {
    Actors,
    Entities(Name),
}

/// The sample values for the requests of one lifecycle.
#[derive(Debug)]
pub(crate) struct Samples<'a> {
    life: &'a Lifecycle,
    constants: Constants,
    names: BTreeMap<Name, Names>,
    looked: BTreeSet<Name>,
    actors: Vec<Name>,
    /// Ids by lifecycle.
    ids: BTreeMap<Name, Vec<Name>>,
    now: Timestamp,
}

impl<'a> Samples<'a> {
    pub(crate) fn new(
        life: &'a Lifecycle,
        cone: &Cone,
        actors: Vec<Name>,
        ids: BTreeMap<Name, Vec<Name>>,
        now: Timestamp,
    ) -> Self {
        // Fields that other lifecycles read count, too.
        let mut looked: BTreeSet<Name> =
            cone.by_lifecycle.get(&life.name).into_iter().flat_map(|it| it.fields.keys().cloned()).collect();
        looked.extend(life.reads.iter().filter_map(|it| match it {
            Read::Taken(name) => Some(name.clone()),
            _ => None,
        }));
        Self { life, constants: constants::of(life), names: names(life), looked, actors, ids, now }
    }

    /// The sample requests of a transition; none if a required value has no sample.
    ///
    /// Also returns whether there could be more.
    pub(crate) fn of(&self, transition: &Transition) -> (Vec<Fields>, bool) {
        let mut wanted: Vec<&Take> = Vec::new();
        let mut optional: Vec<&Take> = Vec::new();
        let mut targets: Vec<Name> = Vec::new();
        for arm in &transition.arms {
            let mut required: BTreeSet<&Name> = BTreeSet::new();
            for aim in arm.target.aims() {
                match aim {
                    Aim::State(state) => {
                        let state = self.life.state(state);
                        required.extend(state.iter().flat_map(|it| &it.require).map(|(name, _)| name));
                    }
                    Aim::Ask { among, .. } => targets.extend(among.0.iter().cloned()),
                    _ => {}
                }
            }
            for take in &arm.takes {
                let needed = take.required.is_some() || required.contains(&take.name);
                let list = if needed { &mut wanted } else { &mut optional };
                if !list.iter().any(|it| it.name == take.name) {
                    list.push(take);
                }
            }
        }
        for take in self.life.gates.iter().filter(|it| it.binds(&transition.name)).flat_map(|it| &it.takes) {
            optional.push(take);
        }
        optional
            .retain(|it| self.looked.contains(&it.name) && !wanted.iter().any(|that| that.name == it.name));
        let (mut samples, cut) = self.request_variants(&wanted, &optional);
        if !targets.is_empty() {
            targets.dedup();
            let to = &Name::new("to");
            samples = targets
                .iter()
                .flat_map(|target| {
                    samples.iter().take(1).map(move |it| {
                        let mut fields = it.clone();
                        fields.put(to, Value::from(target));
                        fields
                    })
                })
                .collect();
        }
        (samples, cut)
    }

    /// Samples for takes of any type, all of them required.
    pub(crate) fn of_takes(&self, takes: &[Take]) -> Vec<Fields> {
        let (wanted, optional): (Vec<&Take>, Vec<&Take>) =
            takes.iter().partition(|it| it.required.is_some() || self.is_required(&it.name));
        let optional: Vec<&Take> =
            optional.into_iter().filter(|it| self.names.contains_key(&it.name)).collect();
        self.request_variants(&wanted, &optional).0
    }

    fn is_required(&self, name: &Name) -> bool {
        self.life.create.require.iter().any(|(it, _)| it == name)
    }

    /// One with the first value of each, then one for each further value of each, then one for each optional value.
    fn request_variants(&self, wanted: &[&Take], optional: &[&Take]) -> (Vec<Fields>, bool) {
        let mut cut = false;
        let mut base = Fields::default();
        let mut further: Vec<(Name, Value)> = Vec::new();
        for take in wanted {
            let (values, more) = self.values(&take.name, &take.fits);
            let mut values = values.into_iter();
            let Some(first) = values.next() else { return (Vec::new(), false) };
            base.put(&take.name, first);
            if self.looked.contains(&take.name) || self.names.contains_key(&take.name) {
                cut |= more;
                further.extend(values.map(|it| (take.name.clone(), it)));
            }
        }
        for take in optional {
            let (values, more) = self.values(&take.name, &take.fits);
            cut |= more;
            further.extend(values.into_iter().map(|it| (take.name.clone(), it)));
        }
        cut |= further.len() >= SAMPLES;
        let mut samples = vec![base.clone()];
        for (name, value) in further.into_iter().take(SAMPLES - 1) {
            let mut fields = base.clone();
            fields.put(&name, value);
            samples.push(fields);
        }
        (samples, cut)
    }

    fn values(&self, name: &Name, fits: &FieldType) -> (Vec<Value>, bool) {
        let mut values: Vec<Value> = Vec::new();
        if let Some(known) = self.names.get(name) {
            let ids = match known {
                Names::Actors => self.actors.as_slice(),
                Names::Entities(of) => self.ids.get(of).map(Vec::as_slice).unwrap_or_default(),
            };
            let one = |it: &Name| match &fits.fit {
                Fit::List { .. } => Value::list(vec![Value::from(it)]),
                _ => Value::from(it),
            };
            values.extend(ids.iter().map(one));
        }
        values.extend(self.constants.get(name).into_iter().flatten().cloned());
        values.extend(sample_values(fits, self.now, 0));
        let mut kept: Vec<Value> = Vec::new();
        for value in values {
            if let Ok(value) = fits.accept(name, &value)
                && !value.is_null()
                && !kept.contains(&value)
            {
                kept.push(value);
            }
        }
        let more = kept.len() > VALUES;
        kept.truncate(VALUES);
        (kept, more)
    }
}

/// Values of a type, the plainest first.
fn sample_values(fits: &FieldType, now: Timestamp, depth: u32) -> Vec<Value> {
    if depth > 8 {
        return Vec::new();
    }
    match &fits.fit {
        Fit::Any => vec![Value::text("x")],
        Fit::Bool => vec![Value::Bool(true), Value::Bool(false)],
        Fit::Int { min, .. } => vec![Value::Int(min.map_or(1, |it| it.ceil() as i64))],
        Fit::Number { min, .. } => vec![Value::Float(min.unwrap_or(1.0))],
        Fit::Text { min, max, pattern } => {
            let long = "x".repeat((min.unwrap_or(1).max(1) as usize).min(4_096));
            let short = |it: &&str| max.is_none_or(|max| it.chars().count() <= max as usize);
            let texts = TEXTS.iter().copied().chain([long.as_str()]);
            let fits = |it: &&str| {
                pattern.as_ref().is_none_or(|pattern| pattern.is_match(it))
                    && it.chars().count() >= min.unwrap_or(0) as usize
            };
            texts.filter(fits).filter(short).take(1).map(Value::text).collect()
        }
        Fit::Choice(names) => names.iter().map(Value::from).collect(),
        Fit::Time => vec![Value::Time(now.plus(Span::seconds(86_400)))],
        Fit::Span => vec![Value::Span(Span::seconds(60))],
        Fit::List { items, min, .. } => {
            let Some(one) = sample_values(items, now, depth + 1).into_iter().next() else {
                return Vec::new();
            };
            let many = min.unwrap_or(1).clamp(1, 64);
            let other = |nth: u32| match &one {
                Value::Text(text) if nth > 0 => Value::text(&format!("{text} {}", nth + 1)),
                _ => one.clone(),
            };
            vec![Value::list((0..many).map(other).collect())]
        }
        Fit::Object { properties, .. } => {
            let members = properties.iter().filter_map(|(name, it)| {
                sample_values(it, now, depth + 1).into_iter().next().map(|value| (name.clone(), value))
            });
            vec![Value::map(members.collect())]
        }
        Fit::Map(values) => {
            let one = sample_values(values, now, depth + 1).into_iter().next();
            one.map(|it| Value::map([(Name::new("one"), it)].into())).into_iter().collect()
        }
    }
}

/// Fields that name an actor.
pub(crate) fn actor_fields(life: &Lifecycle) -> BTreeSet<Name> {
    names(life).into_iter().filter(|(_, it)| *it == Names::Actors).map(|(name, _)| name).collect()
}

/// Fields that name an actor or entity.
fn names(life: &Lifecycle) -> BTreeMap<Name, Names> {
    let mut found = BTreeMap::new();
    for reference in &life.refs {
        if let Some(by) = &reference.by {
            found.insert(by.clone(), Names::Entities(reference.to.clone()));
        }
    }
    let is_actor = |it: &Outline| {
        matches!(it, Outline::Read(slot, _) if matches!(
            life.reads.get(slot.0 as usize), Some(Read::ActorId | Read::SubjectId)))
    };
    let field = |it: &Outline| match it {
        Outline::Read(slot, members) if members.is_empty() => match life.reads.get(slot.0 as usize) {
            Some(Read::Field(name) | Read::Taken(name)) => Some(name.clone()),
            _ => None,
        },
        _ => None,
    };
    let mut actors: Vec<Name> = life.assignee.iter().cloned().collect();
    actors.extend(life.slots.iter().filter_map(|it| it.holder.clone()));
    let relations = life.relations.iter().map(|it| (&it.guard, Use::Decides));
    for (guard, used) in rules::of(life).into_iter().chain(relations) {
        let outline = guard.outline();
        if let Use::Sets(name) = &used
            && is_actor(&outline)
        {
            actors.push(name.clone());
        }
        outline.walk(&mut |part| {
            if let Outline::Equal(both) | Outline::Differ(both) | Outline::In(both) = part {
                let [a, b] = &**both;
                if is_actor(a) {
                    actors.extend(field(b));
                }
                if is_actor(b) {
                    actors.extend(field(a));
                }
            }
        });
    }
    for name in actors {
        found.entry(name).or_insert(Names::Actors);
    }
    found
}
