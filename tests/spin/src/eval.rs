//! Evaluates expressions over abstract values.

use std::collections::BTreeMap;

use trackside_lifecycle::guard::{Outline, VarSlot};
use trackside_lifecycle::model::{Read, SlotAttribute, TallyBy};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::domain::AbstractValue;
use super::frame::{MoveFrame, VariableSource};
use super::values::{answer, call, equal, join, less, list, member, minus, plus, swap_pair, within};

/// The variable whose value must be known to continue.
pub(super) struct UnknownVariable(pub usize);

/// The value of an expression, if the variables it reads are known.
pub(super) fn eval(
    frame: &MoveFrame<'_>,
    before: &[Option<u8>],
    outline: &Outline,
    locals: &mut Vec<AbstractValue>,
) -> Result<AbstractValue, UnknownVariable> {
    Evaluation { frame, before }.value(outline, locals)
}

struct Evaluation<'a> {
    frame: &'a MoveFrame<'a>,
    before: &'a [Option<u8>],
}

impl Evaluation<'_> {
    fn value(
        &self,
        outline: &Outline,
        locals: &mut Vec<AbstractValue>,
    ) -> Result<AbstractValue, UnknownVariable> {
        Ok(match outline {
            Outline::Constant(value) => AbstractValue::Known(value.clone()),
            Outline::Read(slot, members) => {
                let mut value = self.read(*slot)?;
                for name in members {
                    value = member(&value, name);
                }
                value
            }
            Outline::Local(depth) => {
                let place = locals.len().checked_sub(depth + 1);
                place.and_then(|it| locals.get(it)).cloned().unwrap_or(AbstractValue::Unknown)
            }
            Outline::Member(of, name) => member(&self.value(of, locals)?, name),
            Outline::Index(both) => self.index(both, locals)?,
            Outline::Has(of) => match self.value(of, locals)? {
                AbstractValue::Unknown => AbstractValue::Unknown,
                value => AbstractValue::truth(value != AbstractValue::NULL),
            },
            Outline::Not(of) => self
                .value(of, locals)?
                .is_true()
                .map_or(AbstractValue::Unknown, |it| AbstractValue::truth(!it)),
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
            Outline::More(both) => answer(less(&swap_pair(self.two(both, locals)?))),
            Outline::AtMost(both) => answer(less(&swap_pair(self.two(both, locals)?)).map(|it| !it)),
            Outline::Plus(both) => plus(self.two(both, locals)?),
            Outline::Minus(both) => minus(&self.two(both, locals)?),
            Outline::In(both) => answer(within(&self.two(both, locals)?)),
            Outline::List(items) => {
                let items: Result<Vec<AbstractValue>, UnknownVariable> =
                    items.iter().map(|it| self.value(it, locals)).collect();
                list(items?)
            }
            Outline::Map(members) if members.is_empty() => AbstractValue::Known(Value::map(BTreeMap::new())),
            Outline::Map(_) => AbstractValue::There,
            Outline::Loop(kind, range, asked) => self.each(kind, range, asked, locals)?,
            Outline::Call(name, arguments) => {
                let arguments: Result<Vec<AbstractValue>, UnknownVariable> =
                    arguments.iter().map(|it| self.value(it, locals)).collect();
                call(name, &arguments?)
            }
            Outline::Negate(_)
            | Outline::Times(_)
            | Outline::Over(_)
            | Outline::Remainder(_)
            | Outline::Matches(..)
            | Outline::Host(..) => AbstractValue::Unknown,
        })
    }

    fn two(
        &self,
        both: &[Outline; 2],
        locals: &mut Vec<AbstractValue>,
    ) -> Result<[AbstractValue; 2], UnknownVariable> {
        let [a, b] = both;
        Ok([self.value(a, locals)?, self.value(b, locals)?])
    }

    fn junction(
        &self,
        parts: &[Outline],
        locals: &mut Vec<AbstractValue>,
        settles: bool,
    ) -> Result<AbstractValue, UnknownVariable> {
        let mut sure = true;
        for part in parts {
            match self.value(part, locals)?.is_true() {
                Some(it) if it == settles => return Ok(AbstractValue::truth(settles)),
                Some(_) => {}
                None => sure = false,
            }
        }
        Ok(if sure { AbstractValue::truth(!settles) } else { AbstractValue::Unknown })
    }

    fn each(
        &self,
        kind: &str,
        range: &Outline,
        asked: &[Outline],
        locals: &mut Vec<AbstractValue>,
    ) -> Result<AbstractValue, UnknownVariable> {
        let settles = match kind {
            "all" => false,
            "exists" => true,
            "exists_one" => return Ok(AbstractValue::Unknown),
            _ => return Ok(AbstractValue::NotNull),
        };
        let (AbstractValue::Known(Value::List(items)), Some(test)) =
            (self.value(range, locals)?, asked.first())
        else {
            return Ok(AbstractValue::Unknown);
        };
        let mut sure = true;
        for item in items.iter() {
            locals.push(AbstractValue::Known(item.clone()));
            let answer = self.value(test, locals);
            locals.pop();
            match answer?.is_true() {
                Some(it) if it == settles => return Ok(AbstractValue::truth(settles)),
                Some(_) => {}
                None => sure = false,
            }
        }
        Ok(if sure { AbstractValue::truth(!settles) } else { AbstractValue::Unknown })
    }

    fn index(
        &self,
        both: &[Outline; 2],
        locals: &mut Vec<AbstractValue>,
    ) -> Result<AbstractValue, UnknownVariable> {
        let [of, at] = both;
        let at = self.value(at, locals)?;
        if let Outline::Read(slot, members) = of
            && members.is_empty()
            && let Some(Read::Counters(counter)) = self.frame.shape.life.reads.get(slot_place(*slot))
        {
            return self.tally(counter, &at);
        }
        Ok(match (self.value(of, locals)?, at) {
            (AbstractValue::Known(Value::Null), _) => AbstractValue::NULL,
            (AbstractValue::Known(Value::Map(map)), AbstractValue::Known(Value::Text(key))) => {
                AbstractValue::Known(
                    map.iter().find(|(it, _)| ***it == *key).map(|(_, it)| it.clone()).unwrap_or_default(),
                )
            }
            _ => AbstractValue::Unknown,
        })
    }

    fn tally(&self, counter: &Name, key: &AbstractValue) -> Result<AbstractValue, UnknownVariable> {
        let shape = self.frame.shape;
        let AbstractValue::Known(Value::Text(key)) = key else { return Ok(AbstractValue::AtLeast(0)) };
        match shape.tallies.get(&(counter.clone(), Some(key.clone()))) {
            Some(variable) => self.present(*variable),
            None if shape.tallies.keys().any(|(it, key)| it == counter && key.is_some()) => {
                Ok(AbstractValue::Known(Value::Int(0)))
            }
            None => Ok(AbstractValue::AtLeast(0)),
        }
    }

    /// The present value of a variable.
    fn present(&self, variable: usize) -> Result<AbstractValue, UnknownVariable> {
        let value = match self.frame.source(variable) {
            VariableSource::Value(value) => value,
            VariableSource::Any => return Ok(AbstractValue::Unknown),
            VariableSource::Of(from) => self.past(from)?,
            VariableSource::More(from, most) => self.past(from)?.saturating_add(1).min(most),
        };
        Ok(self.frame.shape.decode(variable, value))
    }

    fn past(&self, variable: usize) -> Result<u8, UnknownVariable> {
        self.before.get(variable).copied().flatten().ok_or(UnknownVariable(variable))
    }

    fn read(&self, slot: VarSlot) -> Result<AbstractValue, UnknownVariable> {
        let frame = self.frame;
        let shape = frame.shape;
        let place = slot_place(slot);
        let by_engine = |yes: bool| match frame.engine {
            Some(true) => AbstractValue::truth(yes),
            _ => AbstractValue::Unknown,
        };
        let Some(read) = shape.life.reads.get(place) else { return Ok(AbstractValue::Unknown) };
        Ok(match read {
            Read::Field(name) => match shape.fields.get(name) {
                Some(variable) => self.present(*variable)?,
                None => AbstractValue::Unknown,
            },
            Read::Was(name) => match shape.fields.get(name) {
                Some(_) if !frame.first => AbstractValue::Unknown,
                Some(variable) => shape.decode(*variable, self.past(*variable)?),
                None => AbstractValue::Unknown,
            },
            Read::Taken(name) if *name == *"to" => frame
                .aimed
                .as_ref()
                .map_or(AbstractValue::Unknown, |it| AbstractValue::Known(Value::from(it))),
            Read::Computed(_) | Read::Relation(_) => match shape.outlines.get(&place) {
                Some(outline) => self.value(outline, &mut Vec::new())?,
                None => AbstractValue::Unknown,
            },
            Read::State => frame.state.clone(),
            Read::PreviousState => match (&frame.previous, shape.previous) {
                (AbstractValue::Unknown, Some(variable)) => self.present(variable)?,
                (known, _) => known.clone(),
            },
            Read::ActorId => frame.actor.clone(),
            Read::SubjectId => frame.subject.clone(),
            Read::Human | Read::Agent | Read::Admin | Read::Role(_) => by_engine(false),
            Read::System => by_engine(true),
            Read::Engine => frame.engine.map_or(AbstractValue::Unknown, AbstractValue::truth),
            Read::Setting(_) if !shape.settings => AbstractValue::Unknown,
            Read::Setting(place) => shape
                .life
                .settings
                .get(*place)
                .map_or(AbstractValue::Unknown, |it| AbstractValue::Known(it.default.clone())),
            Read::Counter(name) => {
                let per_state =
                    shape.life.counter(name).is_some_and(|it| matches!(it.tally, TallyBy::PerState));
                if per_state {
                    return self.tally(name, &frame.state);
                }
                match shape.tallies.get(&(name.clone(), None)) {
                    Some(variable) => self.present(*variable)?,
                    None => AbstractValue::Unknown,
                }
            }
            Read::Slot(name, look) => match (shape.slots.get(name), look) {
                (Some(variable), SlotAttribute::Held) => {
                    AbstractValue::truth(self.present(*variable)? != AbstractValue::NULL)
                }
                (Some(variable), SlotAttribute::Holder) => self.present(*variable)?,
                _ => AbstractValue::Unknown,
            },
            Read::Group(..) => AbstractValue::AtLeast(0),
            Read::Id | Read::CreatedAt | Read::UpdatedAt | Read::StateEnteredAt | Read::Now => {
                AbstractValue::There
            }
            _ => AbstractValue::Unknown,
        })
    }
}

/// The place of a slot in the lifecycle's table of reads.
pub(super) fn slot_place(slot: VarSlot) -> usize {
    usize::try_from(slot.0).unwrap_or(usize::MAX)
}
