//! Transitions and creation: targets, callers, required values.

use trackside_lifecycle::model::{Aim, Arm, Check, Choice, Create, Take, Target};
use trackside_lifecycle::name::Name;

use super::{ExpressionContext, quoted};
use crate::compare::describe::{STAY, WHO};
use crate::compare::item::{DefinitionItem, Leaf, Sense};

impl ExpressionContext<'_> {
    pub fn arm(&self, arm: &Arm) -> DefinitionItem {
        let from = Leaf::Names(arm.from.0.clone()).shown();
        let mut thing =
            DefinitionItem::new("arm", arm.transition.as_str(), format!("`{}` from {from}", arm.transition));
        thing = thing.sense(Sense::Allows).on_path();
        let who = arm.by.source().split_whitespace().collect::<Vec<_>>().join(" ");
        let to = match &arm.target {
            Target::One(aim) => aim_words(aim),
            Target::Choices(choices) => choices_text(choices),
        };
        thing.put("edges", "edges", Sense::Allows, Leaf::Edges { from: arm.from.0.clone(), to, who });
        thing.put("who", WHO, Sense::Admits, self.expression(&arm.by));
        self.add_requirements(&mut thing, &arm.takes, arm.reason.as_deref(), &arm.checks, &arm.count);
        thing.names("fields it must not change", Sense::Demands, &arm.keep);
        if let Some(slot) = &arm.holding {
            thing.flag(format!("needs the lease `{slot}`"), Sense::Demands, true);
        }
        if let Some(text) = &arm.default_reason {
            thing.wording("default reason", text.source());
        }
        thing.wording("about", &arm.about);
        thing.parts.extend(self.consequences("", &arm.then));
        if let Target::Choices(choices) = &arm.target {
            self.choices(&mut thing, choices);
        }
        thing
    }

    pub fn create(&self, create: &Create) -> DefinitionItem {
        let mut thing = DefinitionItem::new("create", "create", "creation");
        thing.put("who", WHO, Sense::Admits, self.expression(&create.by));
        self.add_requirements(
            &mut thing,
            &create.takes,
            create.reason.as_deref(),
            &create.checks,
            &create.count,
        );
        self.require(&mut thing, &create.require);
        thing.name("transition if it already exists", Sense::Plain, create.again.as_ref());
        thing.flag("an ended id may be created again", Sense::Plain, create.anew);
        self.some(
            &mut thing,
            "fields that must be unique among open entities",
            Sense::Plain,
            create.same.as_ref(),
        );
        thing.parts.extend(self.consequences("", &create.then));
        thing
    }

    fn add_requirements(
        &self,
        thing: &mut DefinitionItem,
        takes: &[Take],
        reason: Option<&str>,
        checks: &[Check],
        count: &[Name],
    ) {
        thing.parts.extend(takes.iter().map(|it| self.take(it)));
        if let Some(reason) = reason {
            thing.flag("needs a reason", Sense::Demands, true);
            thing.wording("message for a missing reason", reason);
        }
        thing.parts.extend(checks.iter().map(|it| self.check(it)));
        if !count.is_empty() {
            let words = format!("counts {}", quoted(count));
            thing.put("count", words, Sense::Plain, Leaf::Names(count.to_vec()));
            if let Some(last) = thing.facets.last_mut() {
                last.words = "counters it counts:".to_owned();
            }
        }
    }

    pub fn take(&self, take: &Take) -> DefinitionItem {
        let mut thing = DefinitionItem::new("take", take.name.as_str(), format!("accepts `{}`", take.name))
            .sense(Sense::Allows);
        if let Some(message) = &take.required {
            thing.sense = Sense::Demands;
            thing.title = format!("requires `{}`", take.name);
            thing.flag("must be sent", Sense::Demands, true);
            thing.wording("message", message);
        }
        thing.flag("stores it in the field of that name", Sense::Plain, take.stored);
        // A field's own type is described with the field.
        if !take.stored {
            thing.put("type", "type", Sense::Allows, Leaf::Type(take.fits.clone()));
        }
        thing
    }

    pub fn require(&self, thing: &mut DefinitionItem, require: &[(Name, String)]) {
        for (name, message) in require {
            let mut part = DefinitionItem::new("require", name.as_str(), format!("requires `{name}`"))
                .sense(Sense::Demands);
            part.wording("message", message);
            thing.parts.push(part);
        }
    }

    pub fn check(&self, check: &Check) -> DefinitionItem {
        let source = check.guard.source().split_whitespace().collect::<Vec<_>>().join(" ");
        let mut thing =
            DefinitionItem::new("check", "check", format!("checks `{source}`")).sense(Sense::Demands);
        thing.put("condition", "condition", Sense::Admits, self.expression(&check.guard));
        thing.wording("message", check.says.source());
        thing.put_some(
            "field named",
            Sense::Plain,
            check.field.as_ref().map(|it| Leaf::Wording(it.to_string())),
        );
        thing
    }

    pub fn choices(&self, thing: &mut DefinitionItem, choices: &[Choice]) {
        for choice in choices {
            let to = aim_words(&choice.aim);
            let mut part = DefinitionItem::new("choice", "choice", format!("may lead to {to}"));
            part.put("to", "target", Sense::Plain, Leaf::Text(to));
            self.some(&mut part, "condition", Sense::Plain, choice.when.as_ref());
            part.parts = self.consequences("", &choice.then);
            thing.parts.push(part);
        }
        let whole = |it: &Choice| match &it.when {
            Some(when) => Name::from(format!("{} if {}", aim_words(&it.aim), when.source())),
            None => Name::from(aim_words(&it.aim)),
        };
        // Only the order: each choice is described separately.
        if choices.len() > 1 {
            thing.put(
                "order",
                "order of choices",
                Sense::Plain,
                Leaf::Order(choices.iter().map(whole).collect()),
            );
        }
    }
}

fn choices_text(choices: &[Choice]) -> String {
    let mut all: Vec<String> = Vec::new();
    for choice in choices {
        let to = aim_words(&choice.aim);
        if !all.contains(&to) {
            all.push(to);
        }
    }
    all.join(" or ")
}

pub(super) fn aim_words(aim: &Aim) -> String {
    let of = |of: &Option<Name>| of.as_ref().map(|it| format!(" of `{it}`")).unwrap_or_default();
    match aim {
        Aim::Stay => STAY.to_owned(),
        Aim::State(name) => name.to_string(),
        Aim::Field(name) => format!("the state in `{name}`"),
        Aim::Ask { among, earlier, of: base } => {
            let earlier =
                if *earlier { format!(", earlier than the current one{}", of(base)) } else { String::new() };
            format!("the requested one among {}{earlier}", Leaf::Names(among.0.clone()).shown())
        }
        Aim::Next { of: base } => format!("the next of the path{}", of(base)),
        Aim::Table(table) => {
            let rows: Vec<String> = table.iter().map(|(from, to)| format!("{to} after {from}")).collect();
            rows.join(", ")
        }
    }
}
