//! The work of agents, and the control files by which people stop them.

use trackside_lifecycle::model::{Check, ControlFile, Lifecycle, Pack, RoleWork};

use super::ExpressionContext;
use crate::compare::item::{DefinitionItem, Sense};

impl ExpressionContext<'_> {
    pub fn work(&self, life: &Lifecycle, pack: &Pack) -> Vec<DefinitionItem> {
        let mut things: Vec<DefinitionItem> = life.work.values().map(|it| self.work_item(it, pack)).collect();
        for (state, event) in &life.worktree {
            let title = format!("a worktree reported {state} fires `{event}`");
            let mut thing = DefinitionItem::new("worktree", state.as_str(), title);
            thing.name("event", Sense::Plain, Some(event));
            things.push(thing);
        }
        things
    }

    fn work_item(&self, work: &RoleWork, pack: &Pack) -> DefinitionItem {
        let mut thing = DefinitionItem::new("work", work.role.as_str(), format!("work of {}", work.role));
        thing.name("claimed by", Sense::Plain, work.claim.as_ref());
        thing.name("listed by", Sense::Plain, work.query.as_ref());
        thing.wording("instructions", work.ask.source());
        thing.names("events it offers:", Sense::Plain, &work.offers);
        thing.names("lifecycles in which it creates:", Sense::Plain, &work.creates);
        self.some(&mut thing, "feedback", Sense::Plain, work.feedback.as_ref());
        self.some(&mut thing, "notes", Sense::Plain, work.handoff.as_ref());
        for check in &work.ready {
            thing.parts.push(self.ready_item(check));
        }
        for (step, event) in &work.events {
            let title = format!("{} fires `{}`", step.as_str(), event.fire);
            let mut part = DefinitionItem::new("work event", step.as_str(), title);
            part.name("event", Sense::Plain, Some(&event.fire));
            self.some(&mut part, "when", Sense::Plain, event.when.as_ref());
            self.some(&mut part, "reason", Sense::Plain, event.reason.as_ref());
            self.with(&mut part, &event.with);
            thing.parts.push(part);
        }
        if let Some(agent) = &work.agent {
            let of_pack = ExpressionContext { reads: &pack.reads, settings: &pack.settings };
            let title = format!("registers its agent in `{}`", agent.lifecycle);
            let mut part = DefinitionItem::new("work agent", "agent", title);
            part.name("lifecycle", Sense::Plain, Some(&agent.lifecycle));
            part.name("made ready by", Sense::Plain, agent.ready.as_ref());
            part.name("left by", Sense::Plain, agent.leave.as_ref());
            of_pack.with(&mut part, &agent.with);
            thing.parts.push(part);
        }
        thing.wording("about", &work.about);
        thing
    }

    fn ready_item(&self, check: &Check) -> DefinitionItem {
        let says = check.says.source();
        let mut part = DefinitionItem::new("work check", says, format!("starts only if: {says}"));
        part.put("rule", "rule", Sense::Plain, self.expression(&check.guard));
        part
    }

    pub fn control(&self, pack: &Pack) -> Vec<DefinitionItem> {
        pack.control.iter().map(control_item).collect()
    }
}

fn control_item(file: &ControlFile) -> DefinitionItem {
    let mut thing = DefinitionItem::new("control", file.name.as_str(), format!("control file {}", file.name));
    thing.names("queries that it moves:", Sense::Plain, &file.on);
    thing.name("event when it appears", Sense::Plain, Some(&file.fire));
    thing.name("event when it goes", Sense::Plain, file.undo.as_ref());
    thing.names("queries while which it exists:", Sense::Plain, &file.exists_while);
    thing.wording("about", &file.about);
    thing
}
