//! Arms, targets, checks and creation.

use std::collections::BTreeMap;

use super::context::CompileContext;
use super::types::Types;
use crate::guard::{Guard, Template, Type};
use crate::model::{Aim, Arm, Check, Choice, Consequences, Create, FieldType, Take, Target};
use crate::name::Name;
use crate::source::{At, Named, NodeValue, OneOrMany, Place};
use crate::syntax::{self, ArmDecl, Checks, Takes, TargetDecl, TypeDecl};
use crate::value::Value;

impl CompileContext<'_> {
    pub fn arm(
        &mut self,
        transition: &At<Name>,
        index: usize,
        from: &ArmDecl,
        types: &Types<'_>,
    ) -> Option<Arm> {
        let takes = self.takes(from.takes.as_ref(), types);
        // Permission is checked before the values of the request.
        let by = match &from.by {
            Some(by) => self.guard(by, &Type::Bool),
            None => {
                self.error(
                    "missing-key",
                    transition.at,
                    format!("`{}` has no `by` that says who may fire it", transition.it),
                )
                .hint("add `by:`; `by: engine` if only the engine fires it");
                None
            }
        };
        self.open_taken(&takes);
        let leaves = self.states(&from.from);
        let target = match &from.to {
            Some(to) => self.target(to, &leaves.0, transition.at),
            None => Some(Target::One(Aim::Stay)),
        };
        if let (Some(_), Some(default)) = (&from.reason, &from.default_reason) {
            self.error("reason-and-default", default.at, "an arm has `reason` or `default_reason`, not both")
                .hint("`reason` makes every request give one, so that the default is never used");
        }
        let arm = Arm {
            transition: transition.it.clone(),
            index,
            about: from.about.clone().unwrap_or_default(),
            from: leaves,
            checks: self.checks(from.when.as_ref()),
            count: syntax_list(&from.count).iter().map(|it| self.counter(it)).collect(),
            keep: from.keep.iter().flatten().map(|it| self.field(it)).collect(),
            holding: from.holding.as_ref().map(|it| self.slot(it)),
            then: self.consequences(&from.consequences()),
            takes,
            reason: from.reason.clone(),
            default_reason: from.default_reason.as_ref().and_then(|it| self.template(it)),
            by: by.unwrap_or_else(no_caller_guard),
            target: target.unwrap_or(Target::One(Aim::Stay)),
        };
        self.taken.clear();
        for state in &arm.from.0 {
            if self.shape.finals.contains(state) && self.shape.again.as_ref() != Some(&transition.it) {
                self.error(
                    "final-state",
                    transition.at,
                    format!("`{}` leaves {state}, which is final", transition.it),
                );
            }
        }
        Some(arm)
    }

    pub fn create(&mut self, from: Option<&syntax::CreateDecl>, types: &Types<'_>) -> Create {
        let Some(from) = from else {
            return Create {
                by: no_caller_guard(),
                takes: self.all_takes(),
                require: Vec::new(),
                reason: None,
                checks: Vec::new(),
                count: Vec::new(),
                again: None,
                anew: false,
                same: None,
                then: Consequences::default(),
            };
        };
        let takes = match &from.takes {
            Some(takes) => self.takes(Some(takes), types),
            None => self.all_takes(),
        };
        self.open_taken(&takes);
        let create = Create {
            by: from.by.as_ref().and_then(|it| self.guard(it, &Type::Bool)).unwrap_or_else(no_caller_guard),
            require: self.require(&from.require),
            reason: from.reason.clone(),
            checks: self.checks(from.when.as_ref()),
            count: syntax_list(&from.count).iter().map(|it| self.counter(it)).collect(),
            again: from.again.as_ref().map(|it| self.transition(it)),
            anew: from.anew == Some(true),
            same: from.same.as_ref().and_then(|it| self.guard(it, &Type::Any)),
            then: self.consequences(&from.consequences()),
            takes,
        };
        self.taken.clear();
        create
    }

    /// Values that are taken but not stored are names while this arm is compiled.
    fn open_taken(&mut self, takes: &[Take]) {
        self.taken = takes.iter().filter(|it| !it.stored).map(|it| (it.name.clone(), it.fits.ty())).collect();
    }

    fn all_takes(&self) -> Vec<Take> {
        let shape = self.shape;
        let fields = shape.fields.iter().filter(|(name, _)| !shape.owned.contains(name));
        fields
            .map(|(name, fits)| Take { name: name.clone(), fits: fits.clone(), stored: true, required: None })
            .collect()
    }

    fn takes(&mut self, from: Option<&Takes>, types: &Types<'_>) -> Vec<Take> {
        match from {
            None => Vec::new(),
            Some(Takes::Optional(names)) => names.iter().map(|name| self.taken_field(name, None)).collect(),
            Some(Takes::Map(named)) => named
                .iter()
                .map(|(name, take)| match take {
                    syntax::TakeDecl::Required(message) => self.taken_field(name, Some(message.it.clone())),
                    syntax::TakeDecl::Value(decl) => self.taken_value(name, decl, types),
                })
                .collect(),
        }
    }

    fn taken_field(&mut self, name: &At<Name>, required: Option<String>) -> Take {
        if self.shape.owned.contains(&name.it) {
            self.error(
                "engine-field",
                name.at,
                format!("`{}` is written by the engine, so a request cannot send it", name.it),
            );
        }
        let fits = match self.shape.fields.get(&name.it) {
            Some(fits) => fits.clone(),
            None => {
                self.error("unknown-field", name.at, format!("there is no field `{}`", name.it)).hint(
                        "declare it under `fields`, or give its type here: `takes: { name: { type: string } }` for a value that is not stored",
                    );
                FieldType::ANY
            }
        };
        Take { name: name.it.clone(), fits, stored: true, required }
    }

    fn taken_value(&mut self, name: &At<Name>, decl: &TypeDecl, types: &Types<'_>) -> Take {
        // `required` is a message here, and a list of members in an object type.
        let mut decl = decl.clone();
        let required = match decl.required.as_ref().map(|it| &it.value) {
            Some(NodeValue::Text(message)) => {
                let message = message.clone();
                decl.required = None;
                Some(message)
            }
            _ => None,
        };
        let bare = decl.r#type.is_none()
            && decl.properties.is_none()
            && decl.items.is_none()
            && decl.r#enum.is_none();
        match self.shape.fields.get(&name.it) {
            Some(_) if bare => self.taken_field(name, required),
            _ => {
                let fits = types.build(&decl, name.at, self.problems);
                Take { name: name.it.clone(), fits, stored: false, required }
            }
        }
    }

    pub fn require(&mut self, from: &Named<String>) -> Vec<(Name, String)> {
        from.iter().map(|(name, message)| (self.field(name), message.clone())).collect()
    }

    pub fn checks(&mut self, from: Option<&Checks>) -> Vec<Check> {
        match from {
            None => Vec::new(),
            Some(Checks::One(source)) => {
                let guard = self.guard(source, &Type::Bool);
                let says = Template::text(&format!("Not now: {}", source.text));
                guard.map(|guard| Check { guard, says, field: None }).into_iter().collect()
            }
            Some(Checks::Many(rules)) => rules
                .iter()
                .filter_map(|rule| {
                    let guard = self.guard(&rule.check, &Type::Bool)?;
                    let says = match &rule.says {
                        Some(says) => self.template(says)?,
                        None => Template::text(&format!("Not now: {}", rule.check.text)),
                    };
                    Some(Check { guard, says, field: rule.field.as_ref().map(|it| it.it.clone()) })
                })
                .collect(),
        }
    }

    fn target(&mut self, from: &TargetDecl, leaves: &[Name], at: Place) -> Option<Target> {
        Some(match from {
            TargetDecl::State(name) if name.it == "stay" && !self.shape.is_state("stay") => {
                Target::One(Aim::Stay)
            }
            TargetDecl::State(name) => Target::One(Aim::State(self.state(name))),
            TargetDecl::Field(by) => Target::One(Aim::Field(self.state_field(&by.field))),
            TargetDecl::Ask(by) => Target::One(self.ask_aim(&by.ask, by.earlier, &by.of)),
            TargetDecl::Next(by) => Target::One(self.next_aim(by.next.at, &by.of)),
            TargetDecl::Table(table) => Target::One(self.table(table, leaves, at)),
            TargetDecl::Choices(choices) => Target::Choices(self.choices(choices, leaves, at)?),
        })
    }

    /// Choices of a move that leaves these states; `at` is where it is declared.
    pub fn choices(
        &mut self,
        from: &[syntax::ChoiceDecl],
        leaves: &[Name],
        at: Place,
    ) -> Option<Vec<Choice>> {
        if from.is_empty() {
            self.error("no-choice", at, "the list of choices is empty")
                .hint("add a choice such as `{ state: STATE }`, or leave the list out");
        }
        let count = from.len();
        let mut choices = Vec::new();
        for (n, choice) in from.iter().enumerate() {
            let last = n + 1 == count;
            match &choice.when {
                Some(when) if last => {
                    self.error("open-choice", when.at, "the last choice has a condition, so it is possible that no choice applies")
                        .hint("end the list with a choice without `when`; `{ stay: true }` if nothing should happen");
                }
                None if !last => {
                    let at = choice_place(choice).unwrap_or(at);
                    self.error("dead-choice", at, "the choices after this one can never be taken")
                        .hint("give it a `when`, or move it to the end");
                }
                _ => {}
            }
            let when = self.when(&choice.when);
            self.one_target(choice, at);
            let aim = self.choice_aim(choice, leaves, at);
            let then = self.consequences(&choice.consequences());
            choices.push(Choice { when, aim, then });
        }
        (!choices.is_empty()).then_some(choices)
    }

    fn one_target(&mut self, from: &syntax::ChoiceDecl, at: Place) {
        let at = choice_place(from).unwrap_or(at);
        for word in [&from.stay, &from.next].into_iter().flatten().filter(|it| !it.it) {
            self.error("choice-target", word.at, "the only allowed value is `true`; remove the key instead");
        }
        let keys = target_keys(from);
        let message = match keys.as_slice() {
            [_] => return,
            [] => "this choice has no target".to_owned(),
            several => format!("this choice has more than one target: `{}`", several.join("`, `")),
        };
        self.error("choice-target", at, message)
            .hint("give it one of `state`, `field`, `ask`, `next`, `table` and `stay: true`");
    }

    fn choice_aim(&mut self, from: &syntax::ChoiceDecl, leaves: &[Name], at: Place) -> Aim {
        if let Some(name) = &from.state {
            Aim::State(self.state(name))
        } else if let Some(field) = &from.field {
            Aim::Field(self.state_field(field))
        } else if let Some(states) = &from.ask {
            self.ask_aim(states, from.earlier, &from.of)
        } else if let Some(next) = &from.next {
            self.next_aim(next.at, &from.of)
        } else if let Some(table) = &from.table {
            self.table(table, leaves, at)
        } else {
            Aim::Stay
        }
    }

    fn state_field(&mut self, name: &At<Name>) -> Name {
        let states = Type::Choice(self.shape.states.clone());
        if self.shape.fields.get(&name.it).is_some_and(|it| it.ty() != states) {
            self.error("not-a-state-field", name.at, format!("field `{}` is not of type state", name.it));
        }
        self.field(name)
    }

    fn ask_aim(&mut self, states: &OneOrMany<At<Name>>, earlier: Option<bool>, of: &Option<At<Name>>) -> Aim {
        let among = self.states(states);
        let of = of.as_ref().map(|it| self.state_field(it));
        let earlier = earlier.unwrap_or(false);
        if let (true, true, Some(first)) = (earlier, self.shape.path.is_empty(), states.iter().next()) {
            self.error("no-path", first.at, "`earlier` needs a `path`");
        }
        Aim::Ask { among, earlier, of }
    }

    fn next_aim(&mut self, at: Place, of: &Option<At<Name>>) -> Aim {
        if self.shape.path.is_empty() {
            self.error("no-path", at, "`next` needs a `path`");
        }
        Aim::Next { of: of.as_ref().map(|it| self.state_field(it)) }
    }

    fn table(&mut self, table: &Named<At<Name>>, leaves: &[Name], at: Place) -> Aim {
        let gaps: Vec<&str> = leaves.iter().map(Name::as_str).filter(|it| !table.contains(it)).collect();
        if let Some(first) = gaps.first() {
            let at = table.names().next().map_or(at, |it| it.at);
            self.error("table-gap", at, format!("the table has no target for {}", gaps.join(", ")))
                .hint(format!("add `{first}: STATE`, or take it out of `from`"));
        }
        let mut aims = BTreeMap::new();
        for (from, to) in table.iter() {
            aims.insert(self.state(from), self.state(to));
        }
        Aim::Table(aims)
    }
}

fn target_keys(from: &syntax::ChoiceDecl) -> Vec<&'static str> {
    let keys = [
        ("state", from.state.is_some()),
        ("field", from.field.is_some()),
        ("ask", from.ask.is_some()),
        ("next", from.next.is_some()),
        ("table", from.table.is_some()),
        ("stay", from.stay.is_some()),
    ];
    keys.into_iter().filter(|(_, there)| *there).map(|(key, _)| key).collect()
}

/// The place of a choice: its target if it has one, else its condition.
fn choice_place(from: &syntax::ChoiceDecl) -> Option<Place> {
    let state = from.state.as_ref().or(from.field.as_ref()).map(|it| it.at);
    let asked = from.ask.iter().flat_map(|it| it.iter()).next().map(|it| it.at);
    let word = from.next.as_ref().or(from.stay.as_ref()).map(|it| it.at);
    let table = from.table.iter().flat_map(|it| it.names()).next().map(|it| it.at);
    let set = from.set.names().next().map(|it| it.at);
    state.or(asked).or(word).or(table).or(from.when.as_ref().map(|it| it.at)).or(set)
}

/// Replaces a `by` that could not be compiled; the pack is refused anyway.
fn no_caller_guard() -> Guard {
    Guard::literal("false", Value::Bool(false))
}

pub(super) fn syntax_list(from: &Option<OneOrMany<At<Name>>>) -> Vec<At<Name>> {
    from.as_ref().map(|it| it.iter().cloned().collect()).unwrap_or_default()
}
