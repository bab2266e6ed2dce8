//! Evaluates expressions over abstract values.

use std::collections::BTreeMap;

use trackside_lifecycle::guard::{Outline, VarSlot};
use trackside_lifecycle::model::{Read, SlotAttribute, TallyBy};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::domain::Abs;
use super::frame::{Frame, Source};
use super::values::{answer, call, equal, join, less, list, member, minus, plus, swapped, within};

/// The variable whose value must be known to continue.
pub(super) struct Need(pub usize);

/// The value of an expression, if the variables it reads are known.
pub(super) fn eval(
    frame: &Frame<'_>,
    before: &[Option<u8>],
    outline: &Outline,
    locals: &mut Vec<Abs>,
) -> Result<Abs, Need> {
    Run { frame, before }.value(outline, locals)
}

struct Run<'a> {
    frame: &'a Frame<'a>,
    before: &'a [Option<u8>],
}

impl Run<'_> {
    fn value(&self, outline: &Outline, locals: &mut Vec<Abs>) -> Result<Abs, Need> {
        Ok(match outline {
            Outline::Constant(value) => Abs::Known(value.clone()),
            Outline::Read(slot, members) => {
                let mut value = self.read(*slot)?;
                for name in members {
                    value = member(&value, name);
                }
                value
            }
            Outline::Local(depth) => {
                let place = locals.len().checked_sub(depth + 1);
                place.and_then(|it| locals.get(it)).cloned().unwrap_or(Abs::Unknown)
            }
            Outline::Member(of, name) => member(&self.value(of, locals)?, name),
            Outline::Index(both) => self.index(both, locals)?,
            Outline::Has(of) => match self.value(of, locals)? {
                Abs::Unknown => Abs::Unknown,
                value => Abs::truth(value != Abs::NULL),
            },
            Outline::Not(of) => self.value(of, locals)?.is_true().map_or(Abs::Unknown, |it| Abs::truth(!it)),
            Outline::All(parts) => self.junction(parts, locals, false)?,
            Outline::Any(parts) => self.junction(parts, locals, true)?,
            Outline::If(parts) => {
                let [when, yes, no] = &**parts;
                match self.value(when, locals)?.is_true() {
                    Some(true) => self.value(yes, locals)?,
                    Some(false) => self.value(no, locals)?,
                    None => join(self.value(yes, locals)?, self.value(no, locals)?),
                }
            }
            Outline::Equal(both) => answer(equal(&self.two(both, locals)?)),
            Outline::Differ(both) => answer(equal(&self.two(both, locals)?).map(|it| !it)),
            Outline::Less(both) => answer(less(&self.two(both, locals)?)),
            Outline::AtLeast(both) => answer(less(&self.two(both, locals)?).map(|it| !it)),
            Outline::More(both) => answer(less(&swapped(self.two(both, locals)?))),
            Outline::AtMost(both) => answer(less(&swapped(self.two(both, locals)?)).map(|it| !it)),
            Outline::Plus(both) => plus(self.two(both, locals)?),
            Outline::Minus(both) => minus(&self.two(both, locals)?),
            Outline::In(both) => answer(within(&self.two(both, locals)?)),
            Outline::List(items) => {
                let items: Result<Vec<Abs>, Need> = items.iter().map(|it| self.value(it, locals)).collect();
                list(items?)
            }
            Outline::Map(members) if members.is_empty() => Abs::Known(Value::map(BTreeMap::new())),
            Outline::Map(_) => Abs::There,
            Outline::Loop(kind, range, asked) => self.each(kind, range, asked, locals)?,
            Outline::Call(name, arguments) => {
                let arguments: Result<Vec<Abs>, Need> =
                    arguments.iter().map(|it| self.value(it, locals)).collect();
                call(name, &arguments?)
            }
            Outline::Negate(_)
            | Outline::Times(_)
            | Outline::Over(_)
            | Outline::Remainder(_)
            | Outline::Matches(..)
            | Outline::Host(..) => Abs::Unknown,
        })
    }

    fn two(&self, both: &[Outline; 2], locals: &mut Vec<Abs>) -> Result<[Abs; 2], Need> {
        let [a, b] = both;
        Ok([self.value(a, locals)?, self.value(b, locals)?])
    }

    fn junction(&self, parts: &[Outline], locals: &mut Vec<Abs>, settles: bool) -> Result<Abs, Need> {
        let mut sure = true;
        for part in parts {
            match self.value(part, locals)?.is_true() {
                Some(it) if it == settles => return Ok(Abs::truth(settles)),
                Some(_) => {}
                None => sure = false,
            }
        }
        Ok(if sure { Abs::truth(!settles) } else { Abs::Unknown })
    }

    fn each(
        &self,
        kind: &str,
        range: &Outline,
        asked: &[Outline],
        locals: &mut Vec<Abs>,
    ) -> Result<Abs, Need> {
        let settles = match kind {
            "all" => false,
            "exists" => true,
            "exists_one" => return Ok(Abs::Unknown),
            _ => return Ok(Abs::NotNull),
        };
        let (Abs::Known(Value::List(items)), Some(test)) = (self.value(range, locals)?, asked.first()) else {
            return Ok(Abs::Unknown);
        };
        let mut sure = true;
        for item in items.iter() {
            locals.push(Abs::Known(item.clone()));
            let answer = self.value(test, locals);
            locals.pop();
            match answer?.is_true() {
                Some(it) if it == settles => return Ok(Abs::truth(settles)),
                Some(_) => {}
                None => sure = false,
            }
        }
        Ok(if sure { Abs::truth(!settles) } else { Abs::Unknown })
    }

    fn index(&self, both: &[Outline; 2], locals: &mut Vec<Abs>) -> Result<Abs, Need> {
        let [of, at] = both;
        let at = self.value(at, locals)?;
        if let Outline::Read(slot, members) = of
            && members.is_empty()
            && let Some(Read::Counters(counter)) = self.frame.shape.life.reads.get(slot_place(*slot))
        {
            return self.tally(counter, &at);
        }
        Ok(match (self.value(of, locals)?, at) {
            (Abs::Known(Value::Null), _) => Abs::NULL,
            (Abs::Known(Value::Map(map)), Abs::Known(Value::Text(key))) => Abs::Known(
                map.iter().find(|(it, _)| ***it == *key).map(|(_, it)| it.clone()).unwrap_or_default(),
            ),
            _ => Abs::Unknown,
        })
    }

    fn tally(&self, counter: &Name, key: &Abs) -> Result<Abs, Need> {
        let shape = self.frame.shape;
        let Abs::Known(Value::Text(key)) = key else { return Ok(Abs::AtLeast(0)) };
        match shape.tallies.get(&(counter.clone(), Some(key.clone()))) {
            Some(variable) => self.present(*variable),
            None if shape.tallies.keys().any(|(it, key)| it == counter && key.is_some()) => {
                Ok(Abs::Known(Value::Int(0)))
            }
            None => Ok(Abs::AtLeast(0)),
        }
    }

    /// The present value of a variable.
    fn present(&self, variable: usize) -> Result<Abs, Need> {
        let value = match self.frame.source(variable) {
            Source::Value(value) => value,
            Source::Any => return Ok(Abs::Unknown),
            Source::Of(from) => self.past(from)?,
            Source::More(from, most) => self.past(from)?.saturating_add(1).min(most),
        };
        Ok(self.frame.shape.decode(variable, value))
    }

    fn past(&self, variable: usize) -> Result<u8, Need> {
        self.before.get(variable).copied().flatten().ok_or(Need(variable))
    }

    fn read(&self, slot: VarSlot) -> Result<Abs, Need> {
        let frame = self.frame;
        let shape = frame.shape;
        let place = slot_place(slot);
        let by_engine = |yes: bool| match frame.engine {
            Some(true) => Abs::truth(yes),
            _ => Abs::Unknown,
        };
        let Some(read) = shape.life.reads.get(place) else { return Ok(Abs::Unknown) };
        Ok(match read {
            Read::Field(name) => match shape.fields.get(name) {
                Some(variable) => self.present(*variable)?,
                None => Abs::Unknown,
            },
            Read::Was(name) => match shape.fields.get(name) {
                Some(_) if !frame.first => Abs::Unknown,
                Some(variable) => shape.decode(*variable, self.past(*variable)?),
                None => Abs::Unknown,
            },
            Read::Taken(name) if *name == *"to" => {
                frame.aimed.as_ref().map_or(Abs::Unknown, |it| Abs::Known(Value::from(it)))
            }
            Read::Computed(_) | Read::Relation(_) => match shape.outlines.get(&place) {
                Some(outline) => self.value(outline, &mut Vec::new())?,
                None => Abs::Unknown,
            },
            Read::State => frame.state.clone(),
            Read::PreviousState => match (&frame.previous, shape.previous) {
                (Abs::Unknown, Some(variable)) => self.present(variable)?,
                (known, _) => known.clone(),
            },
            Read::ActorId => frame.actor.clone(),
            Read::SubjectId => frame.subject.clone(),
            Read::Human | Read::Agent | Read::Admin | Read::Role(_) => by_engine(false),
            Read::System => by_engine(true),
            Read::Engine => frame.engine.map_or(Abs::Unknown, Abs::truth),
            Read::Setting(_) if !shape.settings => Abs::Unknown,
            Read::Setting(place) => {
                shape.life.settings.get(*place).map_or(Abs::Unknown, |it| Abs::Known(it.default.clone()))
            }
            Read::Counter(name) => {
                let per_state =
                    shape.life.counter(name).is_some_and(|it| matches!(it.tally, TallyBy::PerState));
                if per_state {
                    return self.tally(name, &frame.state);
                }
                match shape.tallies.get(&(name.clone(), None)) {
                    Some(variable) => self.present(*variable)?,
                    None => Abs::Unknown,
                }
            }
            Read::Slot(name, look) => match (shape.slots.get(name), look) {
                (Some(variable), SlotAttribute::Held) => Abs::truth(self.present(*variable)? != Abs::NULL),
                (Some(variable), SlotAttribute::Holder) => self.present(*variable)?,
                _ => Abs::Unknown,
            },
            Read::Group(..) => Abs::AtLeast(0),
            Read::Id | Read::CreatedAt | Read::UpdatedAt | Read::StateEnteredAt | Read::Now => Abs::There,
            _ => Abs::Unknown,
        })
    }
}

/// The place of a slot in the lifecycle's table of reads.
pub(super) fn slot_place(slot: VarSlot) -> usize {
    usize::try_from(slot.0).unwrap_or(usize::MAX)
}
