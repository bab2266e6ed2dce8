//! What an expression comes to when every setting has its default.

use trackside_lifecycle::guard::{Fault, Guard, Scope, Slot};
use trackside_lifecycle::model::{Lifecycle, Read};
use trackside_lifecycle::value::Value;

/// Its value, if it depends on nothing but settings.
pub fn by_default(life: &Lifecycle, guard: &Guard) -> Option<Value> {
    guard.eval(&Defaults { life }).ok()
}

struct Defaults<'a> {
    life: &'a Lifecycle,
}

impl Scope for Defaults<'_> {
    fn read(&self, slot: Slot) -> Result<Value, Fault> {
        match self.life.reads.get(slot.0 as usize) {
            Some(Read::Setting(place)) => {
                Ok(self.life.settings.get(*place).map_or(Value::Null, |it| it.default.clone()))
            }
            Some(Read::Computed(guard)) => guard.eval(self),
            _ => Err(Fault::Failed("not a setting".to_owned())),
        }
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::Failed("not a setting".to_owned()))
    }
}
