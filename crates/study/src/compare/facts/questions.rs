//! Queries, and the supervisor rules that use them.

use trackside_lifecycle::model::{AfterExit, Exit, Pack, Query, Supervise};
use trackside_lifecycle::name::Name;

use super::ExpressionContext;
use crate::compare::item::{DefinitionItem, Leaf, Sense};

impl ExpressionContext<'_> {
    pub fn queries(&self, pack: &Pack) -> Vec<DefinitionItem> {
        let of = |query: &Query| {
            let life = query.of.as_ref().and_then(|of| pack.lifecycles.iter().find(|it| it.name == *of));
            match life {
                Some(life) => ExpressionContext { reads: &life.reads, settings: &life.settings }.query(query),
                None => self.query(query),
            }
        };
        pack.queries.iter().map(of).collect()
    }

    fn query(&self, query: &Query) -> DefinitionItem {
        let mut thing = DefinitionItem::new("query", query.name.as_str(), format!("query {}", query.name));
        thing.name("lifecycle", Sense::Plain, query.of.as_ref());
        for (name, ty) in &query.takes {
            let words = format!("parameter `{name}`");
            thing.put(words.clone(), words, Sense::Plain, Leaf::Type(ty.clone()));
        }
        self.some(&mut thing, "condition", Sense::Plain, query.filter.as_ref());
        for (place, order) in query.order.iter().enumerate() {
            let words = format!("{} key", super::rules::ordinal(place));
            thing.put(words.clone(), words.clone(), Sense::Plain, self.expression(&order.by));
            thing.flag(format!("has its {words} descending"), Sense::Plain, order.descending);
        }
        self.some(&mut thing, "journal of", Sense::Plain, query.history.as_ref());
        for (name, guard) in &query.line {
            let words = format!("member `{name}`");
            thing.put(words.clone(), words, Sense::Plain, self.expression(guard));
        }
        super::rules::order(&mut thing, "order of members", query.line.iter().map(|(name, _)| name));
        for table in &query.groups {
            let mut part =
                DefinitionItem::new("table", table.name.as_str(), format!("table `{}`", table.name));
            self.some(&mut part, "list counted", Sense::Plain, table.each.as_ref());
            for (words, columns) in [("groups by", &table.by), ("measures", &table.measure)] {
                for (name, guard) in columns {
                    let words = format!("{words} `{name}`");
                    part.put(words.clone(), words, Sense::Plain, self.expression(guard));
                }
            }
            thing.parts.push(part);
        }
        thing.name("ranking", Sense::Plain, query.ranked.as_ref());
        self.some(&mut thing, "meant for", Sense::Plain, query.meant_for.as_ref());
        thing.names("queries it counts:", Sense::Plain, &query.counts);
        for (name, guard) in &query.answers {
            let words = format!("answer `{name}`");
            thing.put(words.clone(), words, Sense::Plain, self.expression(guard));
        }
        thing.wording("about", &query.about);
        thing
    }

    pub fn supervise(&self, pack: &Pack) -> Vec<DefinitionItem> {
        pack.supervise.values().map(|it| self.supervised(it)).collect()
    }

    fn supervised(&self, rules: &Supervise) -> DefinitionItem {
        let mut thing =
            DefinitionItem::new("supervise", rules.role.as_str(), format!("supervision of {}", rules.role));
        thing.name("work", Sense::Plain, rules.work.as_ref());
        for (exit, after) in &rules.exits {
            let exit = match exit {
                Exit::Code(code) => format!("exit code {code}"),
                Exit::Other => "any other exit code".to_owned(),
            };
            let mut part = DefinitionItem::new("exit", exit.as_str(), format!("answers {exit}"));
            match after {
                AfterExit::Stop => part.flag("stops", Sense::Plain, true),
                AfterExit::Restart { after, most, growth, limit } => {
                    part.put("after", "delay", Sense::Lasts, self.expression(after));
                    self.some(&mut part, "longest delay", Sense::Lasts, most.as_ref());
                    self.some(&mut part, "growth", Sense::Plain, growth.as_ref());
                    self.some(&mut part, "limit", Sense::Limits, limit.as_ref());
                }
            }
            thing.parts.push(part);
        }
        let stopped = rules.stopped.map(|it| Name::from(it.to_string()));
        thing.name("exit code after a stop", Sense::Plain, stopped.as_ref());
        thing.name("query that ends it", Sense::Plain, rules.ends.as_ref());
        thing.name("query that holds it", Sense::Plain, rules.holds.as_ref());
        for wait in &rules.waits {
            let mut part =
                DefinitionItem::new("wait", wait.query.as_str(), format!("waits while `{}`", wait.query));
            part.put("lasts", "length", Sense::Lasts, self.expression(&wait.lasts));
            self.some(&mut part, "most", Sense::Lasts, wait.most.as_ref());
            part.wording("message", &wait.says);
            thing.parts.push(part);
        }
        self.some(&mut thing, "starts without progress", Sense::Limits, rules.reruns.as_ref());
        if let Some(give_up) = &rules.gives_up {
            let title = format!("gives up by `{}` of `{}`", give_up.fire, give_up.on);
            let mut part = DefinitionItem::new("gives up", title.as_str(), title.as_str());
            self.with(&mut part, &give_up.with);
            thing.parts.push(part);
        }
        thing.wording("about", &rules.about);
        thing
    }
}
