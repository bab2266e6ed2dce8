//! Transitions that can never happen, and states that no transition leads to.

use std::collections::BTreeSet;

use super::context::CompileContext;
use crate::model::{Aim, Arm, Choice, State, StateSet, Target, Transition};
use crate::name::Name;
use crate::source::{At, Named};
use crate::syntax::{self, StateDecl};

pub(super) fn fired_transition(follow: &syntax::FollowUpDecl) -> &At<Name> {
    match follow {
        syntax::FollowUpDecl::Fire(name) => name,
        syntax::FollowUpDecl::Map(map) => &map.fire,
    }
}

impl CompileContext<'_> {
    /// A transition that the engine fires must leave at least one of the states in which it fires.
    pub fn can_leave(&mut self, fire: &At<Name>, states: &StateSet, what: &str) {
        let leaves = |from: &StateSet| states.0.iter().any(|it| from.has(it));
        let mut others = Vec::new();
        let mut known = false;
        for (name, from) in &self.leaving {
            match (*name == fire.it, leaves(from)) {
                (true, true) => return,
                (false, true) => others.push(format!("`{name}`")),
                (same, false) => known |= same,
            }
        }
        if !known || states.0.is_empty() {
            return;
        }
        let places: Vec<&str> = states.0.iter().map(Name::as_str).collect();
        let leaves = match places.as_slice() {
            [one] => format!("does not leave {one}"),
            several => format!("leaves none of {}", several.join(", ")),
        };
        self.error("nothing-to-leave", fire.at, format!("`{}` {leaves}, so {what} has no effect", fire.it))
            .hint(if others.is_empty() {
                "add the state to its `from`".to_owned()
            } else {
                format!("add the state to its `from`, or fire one that leaves it: {}", others.join(", "))
            });
    }

    /// A final state has no transitions, so keys that need one have no effect.
    pub fn stays_final(&mut self, name: &At<Name>, decl: &StateDecl) {
        let asked = [
            ("always", decl.always.is_some()),
            ("deadline", decl.deadline.is_some()),
            ("retain", decl.retain.is_some()),
            ("exit", decl.exit.is_some()),
        ];
        for (key, _) in asked.iter().filter(|(_, there)| *there) {
            self.error("final-state", name.at, format!("{} is final, so its `{key}` has no effect", name.it))
                .hint(format!("remove `{key}`, or remove `final: true` if the entity should move on"));
        }
    }

    /// Warns about states that no transition leads to.
    pub fn warn_unreached(
        &mut self,
        declared: &Named<Option<StateDecl>>,
        initial: &Name,
        transitions: &[Transition],
        states: &[State],
    ) {
        let mut reached = BTreeSet::from([initial.clone()]);
        for arm in transitions.iter().flat_map(|it| &it.arms) {
            if !self.arm_reaches(arm, &mut reached) {
                return;
            }
        }
        for state in states {
            if !self.choices_reach(&state.always, std::slice::from_ref(&state.name), &mut reached) {
                return;
            }
        }
        for name in declared.names().filter(|it| !reached.contains(&it.it)) {
            self.problems
                .warning("unreached-state", name.at, format!("no transition leads to {}", name.it))
                .hint("add a transition to it, or remove the state");
        }
    }

    fn arm_reaches(&self, arm: &Arm, reached: &mut BTreeSet<Name>) -> bool {
        match &arm.target {
            Target::One(aim) => self.aim_reaches(aim, &arm.from.0, reached),
            Target::Choices(choices) => self.choices_reach(choices, &arm.from.0, reached),
        }
    }

    fn choices_reach(&self, choices: &[Choice], from: &[Name], reached: &mut BTreeSet<Name>) -> bool {
        choices.iter().all(|it| self.aim_reaches(&it.aim, from, reached))
    }

    /// Adds the possible targets; false if they are only known at run time.
    fn aim_reaches(&self, aim: &Aim, from: &[Name], reached: &mut BTreeSet<Name>) -> bool {
        match aim {
            Aim::Stay => {}
            Aim::State(name) => drop(reached.insert(name.clone())),
            Aim::Field(_) => return false,
            Aim::Ask { among, .. } => reached.extend(among.0.iter().cloned()),
            Aim::Next { of: Some(_) } => reached.extend(self.shape.path.iter().skip(1).cloned()),
            Aim::Next { of: None } => {
                let steps = self.shape.path.iter().zip(self.shape.path.iter().skip(1));
                reached.extend(steps.filter(|(it, _)| from.contains(it)).map(|(_, next)| next.clone()));
            }
            Aim::Table(table) => reached.extend(table.values().cloned()),
        }
        true
    }
}
