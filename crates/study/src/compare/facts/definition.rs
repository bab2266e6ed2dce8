//! The lifecycle itself: fields, relations, gates, refs.

use trackside_lifecycle::model::{Arm, Field, Lifecycle, Setting};
use trackside_lifecycle::name::Name;

use super::ExpressionContext;
use crate::compare::item::{DefinitionItem, Leaf, Sense};

impl ExpressionContext<'_> {
    /// The properties of a lifecycle itself.
    pub fn lifecycle_item(&self, life: &Lifecycle) -> DefinitionItem {
        let mut thing = DefinitionItem::new("lifecycle", life.name.as_str(), "the lifecycle");
        thing.flag("has a single entity", Sense::Plain, life.one);
        if let Some(face) = &life.face {
            thing.name("face", Sense::Plain, Some(&face.is));
            thing.name("approved by", Sense::Plain, face.approve.as_ref());
            thing.name("denied by", Sense::Plain, face.deny.as_ref());
            thing.name("the decider's message goes to", Sense::Plain, face.note.as_ref());
            thing.name("cannot wait while", Sense::Plain, face.urgent.as_ref());
        }
        thing.name("title", Sense::Plain, life.title.as_ref());
        if !life.card.is_empty() {
            thing.put("card", "card", Sense::Plain, Leaf::Order(life.card.clone()));
        }
        thing.name("assignee", Sense::Plain, life.assignee.as_ref());
        thing.name("record of the caller", Sense::Plain, life.me.as_ref());
        let read = life.read.as_ref().map(|it| self.expression(it));
        thing.put_some("who may read it:", Sense::Admits, read);
        if let Some(observe) = &life.observe {
            let by = Some(self.expression(&observe.by));
            thing.put_some("who may read its entries:", Sense::Admits, by);
            self.some(&mut thing, "entries are read from version", Sense::Plain, observe.since.as_ref());
            self.some(&mut thing, "messages read from before", Sense::Plain, observe.before.as_ref());
            self.some(&mut thing, "who may read refused requests:", Sense::Admits, observe.evidence.as_ref());
            thing.wording("message for others", observe.says.as_ref().map_or("", |it| it.source()));
        }
        if !life.path.is_empty() {
            thing.put("path", "path", Sense::Plain, Leaf::Order(life.path.clone()));
        }
        thing.names("transitions whose refused requests are recorded:", Sense::Plain, &life.evidence);
        thing.names("indexed fields:", Sense::Plain, &life.indexes);
        thing.wording("about", &life.about);
        thing
    }

    pub fn definition(&self, life: &Lifecycle, things: &mut Vec<DefinitionItem>) {
        things.extend(life.fields.values().map(|it| self.field(it)));
        for it in &life.relations {
            let mut thing =
                DefinitionItem::new("relation", it.name.as_str(), format!("relation {}", it.name));
            thing.put("who", "who it is", Sense::Admits, self.expression(&it.guard));
            things.push(thing);
        }
        for it in &life.gates {
            let mut thing = DefinitionItem::new("gate", it.name.as_str(), format!("gate {}", it.name))
                .sense(Sense::Demands);
            let everyone = trackside_lifecycle::guard::Guard::literal("true", true.into());
            let applies = it.applies.as_ref().unwrap_or(&everyone);
            thing.put("for", "applies to:", Sense::Binds, self.expression(applies));
            thing.put("open", "open while", Sense::Admits, self.expression(&it.open));
            thing.names("transitions it is limited to:", Sense::Plain, &it.only);
            thing.names("transitions it excludes:", Sense::Allows, &it.except);
            thing.wording("message", it.says.source());
            thing.parts.extend(it.takes.iter().map(|it| self.take(it)));
            things.push(thing);
        }
        for it in &life.refs {
            let mut thing = DefinitionItem::new("ref", it.name.as_str(), format!("ref {}", it.name));
            thing.name("lifecycle", Sense::Plain, Some(&it.to));
            thing.name("field", Sense::Plain, it.by.as_ref());
            thing.flag("names many", Sense::Plain, it.many);
            thing.name("inverse", Sense::Plain, it.inverse.as_ref());
            thing.flag("must be free of circles", Sense::Demands, it.acyclic);
            things.push(thing);
        }
        if let Some(log) = &life.log {
            let mut thing = DefinitionItem::new("log", "log", "the log line");
            self.some(&mut thing, "logged when", Sense::Plain, log.when.as_ref());
            for (name, value) in &log.line {
                thing.put(name.to_string(), format!("{name}:"), Sense::Plain, self.expression(value));
            }
            super::rules::order(&mut thing, "order of members", log.line.iter().map(|(name, _)| name));
            things.push(thing);
        }
        let mut order = DefinitionItem::new("orders", "orders", "the lifecycle");
        super::rules::order(&mut order, "order of reactions", life.reactions.iter().map(|it| &it.name));
        super::rules::order(&mut order, "order of rankings", life.rankings.iter().map(|it| &it.name));
        for it in life.transitions.iter().filter(|it| it.arms.len() > 1) {
            let arm = |it: &Arm| {
                let from = Leaf::Names(it.from.0.clone()).shown();
                Name::from(format!("{from} by {}", it.by.source()))
            };
            let words = format!("order of the arms of `{}`", it.name);
            order.put(words.clone(), words, Sense::Plain, Leaf::Order(it.arms.iter().map(arm).collect()));
        }
        things.push(order);
    }

    fn field(&self, field: &Field) -> DefinitionItem {
        let mut thing = DefinitionItem::new("field", field.name.as_str(), format!("field {}", field.name));
        thing.sense = if field.is.is_none() { Sense::Allows } else { Sense::Plain };
        thing.put("type", "type", Sense::Allows, Leaf::Type(field.fits.clone()));
        if !field.default.is_null() {
            thing.put("default", "default", Sense::Plain, Leaf::Value(field.default.clone()));
        }
        thing.flag("is written by the engine alone", Sense::Demands, field.engine);
        self.some(&mut thing, "computed as", Sense::Plain, field.is.as_ref());
        self.some(&mut thing, "who may read it:", Sense::Admits, field.read.as_ref());
        thing.wording("about", &field.about);
        thing
    }

    pub fn setting(&self, setting: &Setting) -> DefinitionItem {
        let mut thing =
            DefinitionItem::new("setting", setting.name.as_str(), format!("setting {}", setting.name));
        thing.put("default", "default", Sense::Lasts, Leaf::Value(setting.default.clone()));
        if setting.default.as_span().is_none()
            && let Some(last) = thing.facets.last_mut()
        {
            last.sense = Sense::Plain;
        }
        thing.put_some("lower bound", Sense::Demands, setting.min.map(Leaf::Number));
        thing.put_some("upper bound", Sense::Limits, setting.max.map(Leaf::Number));
        for (place, from) in setting.from.iter().enumerate() {
            let words = format!("{} own value", super::rules::ordinal(place));
            thing.put(words.clone(), words, Sense::Plain, self.expression(from));
        }
        thing.put("type", "type", Sense::Plain, Leaf::Text(setting.ty.to_string()));
        thing.wording("about", &setting.about);
        thing
    }
}
