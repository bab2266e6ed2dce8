//! Reads whose values are known before a definition runs, for [`Partial`] evaluation.

use trackside_lifecycle::guard::VarSlot;
use trackside_lifecycle::model::{EntityAttribute, Read, Setting};
pub use trackside_lifecycle::model::{KnownReads, Partial};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

/// Settings have their defaults, and perhaps the state is known.
#[derive(Clone, Copy, Debug)]
pub struct DefaultSettings<'a> {
    pub settings: &'a [Setting],
    pub state: Option<&'a str>,
}

impl KnownReads for DefaultSettings<'_> {
    fn value(&self, _: VarSlot, read: &Read) -> Option<Value> {
        match read {
            Read::Setting(place) => Some(self.settings.get(*place)?.default.clone()),
            Read::State => self.state.map(Value::text),
            _ => None,
        }
    }
}

/// The state of the entity, and whether the engine itself is the caller.
#[derive(Clone, Copy, Debug)]
pub struct StateAndCaller<'a> {
    pub state: Option<&'a str>,
    pub engine: Option<bool>,
}

impl KnownReads for StateAndCaller<'_> {
    fn value(&self, _: VarSlot, read: &Read) -> Option<Value> {
        match (read, self.engine) {
            (Read::State, _) => self.state.map(Value::text),
            (Read::Engine, engine) => engine.map(Value::Bool),
            (Read::Human | Read::Agent | Read::Admin | Read::Role(_), Some(true)) => Some(Value::Bool(false)),
            (Read::System, Some(true)) => Some(Value::Bool(true)),
            _ => None,
        }
    }
}

/// The state of the entity that a ref names.
#[derive(Clone, Copy, Debug)]
pub struct RefState<'a> {
    pub reference: &'a Name,
    pub state: &'a Name,
}

impl KnownReads for RefState<'_> {
    fn value(&self, _: VarSlot, read: &Read) -> Option<Value> {
        match read {
            Read::Ref(name, EntityAttribute::State) if name == self.reference => {
                Some(Value::from(self.state))
            }
            _ => None,
        }
    }
}
