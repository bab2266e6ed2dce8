//! What a condition says about the state of another entity.

use trackside_lifecycle::guard::{Fault, Guard, Scope, Slot};
use trackside_lifecycle::model::{Lifecycle, Look, Read};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

/// Whether a condition leaves it open that the entity a ref names is in this state.
pub fn allows(life: &Lifecycle, when: &Guard, on: &Name, state: &Name) -> bool {
    when.test(&Other { life, on, state }) != Ok(false)
}

/// Only the other's state is known.
struct Other<'a> {
    life: &'a Lifecycle,
    on: &'a Name,
    state: &'a Name,
}

impl Scope for Other<'_> {
    fn read(&self, slot: Slot) -> Result<Value, Fault> {
        match self.life.reads.get(slot.0 as usize) {
            Some(Read::Ref(name, Look::State)) if name == self.on => Ok(Value::from(self.state)),
            Some(Read::Relation(guard) | Read::Computed(guard)) => guard.eval(self),
            _ => Err(unknown()),
        }
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        Err(unknown())
    }
}

fn unknown() -> Fault {
    Fault::Failed("nothing is known about it".to_owned())
}
