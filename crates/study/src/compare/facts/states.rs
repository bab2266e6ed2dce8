//! States, with their deadlines and invariants.

use trackside_lifecycle::model::{Invariant, Lifecycle, State, StateTools, Timer};
use trackside_lifecycle::name::Name;

use super::ExpressionContext;
use crate::compare::item::{DefinitionItem, Leaf, Sense};

impl ExpressionContext<'_> {
    pub fn state(&self, life: &Lifecycle, state: &State) -> DefinitionItem {
        let mut thing =
            DefinitionItem::new("state", state.name.as_str(), format!("state {}", state.name)).on_path();
        thing.sense = Sense::Allows;
        thing.flag("is where new ones start", Sense::Plain, life.initial == state.name);
        thing.flag("is final", Sense::Demands, state.last);
        thing.name("outcome", Sense::Plain, state.outcome.as_ref());
        thing.names("frozen fields", Sense::Demands, &state.frozen);
        if let Some(kept) = &state.erase {
            let words = "fields it keeps when it erases:";
            thing.put("erase", words, Sense::Plain, Leaf::Names(kept.clone()));
        }
        thing.flag("is long-term storage", Sense::Plain, state.archive);
        thing.names("its names elsewhere", Sense::Plain, &state.known_as);
        thing.name("meaning", Sense::Plain, state.shows.map(|it| Name::new(it.word())).as_ref());
        if let Some(waits) = &state.waits_for {
            thing.name("waits for", Sense::Plain, Some(&Name::new(waits.who.word())));
            thing.name("approved by", Sense::Plain, waits.approve.as_ref());
            thing.name("denied by", Sense::Plain, waits.deny.as_ref());
        }
        match &state.tools {
            Some(StateTools::Only(actions)) => {
                thing.names("only actions of agents:", Sense::Demands, actions)
            }
            Some(StateTools::AllExcept(actions)) => {
                thing.names("no actions of agents:", Sense::Demands, actions)
            }
            None => {}
        }
        thing.wording("about", &state.about);
        self.require(&mut thing, &state.require);
        thing.parts.extend(state.checks.iter().map(|it| self.check(it)));
        if !state.always.is_empty() {
            thing.flag("moves on by itself", Sense::Plain, true);
            self.choices(&mut thing, &state.always);
        }
        thing.parts.extend(self.consequences("on entry ", &state.enter));
        thing.parts.extend(self.consequences("on leaving ", &state.exit));
        thing
    }
}

/// The title of a timer in messages.
pub(super) fn timer_title(life: &Lifecycle, timer: &Timer) -> String {
    if life.state(&timer.name).is_some() {
        return format!("deadline of {}", timer.name);
    }
    match timer.name.strip_suffix(".retain") {
        Some(state) => format!("stay in {state}"),
        None => format!("timer {}", timer.name),
    }
}

/// The title of an invariant in messages.
pub(super) fn invariant_title(life: &Lifecycle, rule: &Invariant) -> String {
    if life.state(&rule.name).is_some() {
        format!("condition of {}", rule.name)
    } else {
        format!("invariant {}", rule.name)
    }
}
