//! Clocks, tallies, leases, orders, reactions, invariants, notices, effects.

use trackside_lifecycle::model::{
    Every, InvariantsOf, Lifecycle, NotifyOn, PropertyKind, Severity, Starts, TallyBy, Timer, TimerKind,
};
use trackside_lifecycle::name::Name;

use super::ExpressionContext;
use super::states::{invariant_title, timer_title};
use crate::compare::item::{DefinitionItem, Leaf, Sense};

impl ExpressionContext<'_> {
    pub fn rules(&self, life: &Lifecycle, things: &mut Vec<DefinitionItem>) {
        things.extend(life.timers.iter().map(|it| self.timer(life, it)));
        self.properties(life, things);
        self.counters(life, things);
        for it in &life.slots {
            let mut thing = DefinitionItem::new("slot", it.name.as_str(), format!("lease {}", it.name));
            thing.put("lasts", "length", Sense::Lasts, self.expression(&it.lasts));
            self.some(&mut thing, "grace", Sense::Lasts, it.grace.as_ref());
            thing.name("field of the holder", Sense::Plain, it.holder.as_ref());
            thing.name("field of the end", Sense::Plain, it.until.as_ref());
            thing.name("consequence of a loss", Sense::Plain, it.lost.as_ref());
            thing.parts.extend(it.goes_on.iter().map(|it| self.check(it)));
            let checked = it.invariants_of.iter().map(|it| match it {
                InvariantsOf::This => Name::new("this"),
                InvariantsOf::Ref(name) => name.clone(),
            });
            let checked: Vec<Name> = checked.collect();
            if !checked.is_empty() {
                thing.names("entities whose invariants a heartbeat checks:", Sense::Plain, &checked);
            }
            things.push(thing);
        }
        for it in &life.rankings {
            let mut thing = DefinitionItem::new("ranking", it.name.as_str(), format!("ranking {}", it.name));
            thing.names("states", Sense::Allows, &it.within_states.0);
            self.some(&mut thing, "condition", Sense::Admits, it.when.as_ref());
            for (place, by) in it.by.iter().enumerate() {
                let words = format!("{} key", ordinal(place));
                thing.put(words.clone(), words.clone(), Sense::Plain, self.expression(&by.by));
                thing.flag(format!("has its {words} descending"), Sense::Plain, by.descending);
            }
            if !it.within.is_empty() {
                thing.put("within", "one order per", Sense::Plain, Leaf::Order(it.within.clone()));
            }
            self.some(&mut thing, "open while", Sense::Admits, it.open.as_ref());
            self.some(&mut thing, "meant for", Sense::Plain, it.meant_for.as_ref());
            thing.name("transition that claims", Sense::Plain, it.claims.as_ref());
            thing.wording("about", &it.about);
            things.push(thing);
        }
        for it in &life.reactions {
            let mut thing =
                DefinitionItem::new("reaction", it.name.as_str(), format!("reaction {}", it.name));
            self.some(&mut thing, "condition", Sense::Plain, Some(&it.when));
            thing.name("transition", Sense::Plain, Some(&it.fire));
            self.with(&mut thing, &it.with);
            thing.put_some("states", Sense::Plain, it.within.as_ref().map(|it| Leaf::Names(it.0.clone())));
            things.push(thing);
        }
        for it in &life.invariants {
            let mut thing = DefinitionItem::new("invariant", it.name.as_str(), invariant_title(life, it));
            let enforced = it.severity >= Severity::Error;
            thing.sense = if enforced { Sense::Demands } else { Sense::Plain };
            let sense = if enforced { Sense::Admits } else { Sense::Plain };
            thing.put("rule", "rule", sense, self.expression(&it.holds));
            thing.put_some("states", Sense::Demands, it.within.as_ref().map(|it| Leaf::Names(it.0.clone())));
            thing.put("severity", "severity", Sense::Plain, Leaf::Text(it.severity.as_str().to_owned()));
            thing.flag("refuses commands that would break it", Sense::Demands, enforced);
            // The message of a state's own rule repeats the rule.
            if life.state(&it.name).is_none() {
                thing.wording("message", it.says.source());
            }
            thing.name("repair", Sense::Plain, it.repair.as_ref());
            thing.name("alert", Sense::Plain, it.alert.as_ref());
            things.push(thing);
        }
        for it in &life.notify {
            let mut thing = DefinitionItem::new(
                "notify",
                it.notification.audience.as_str(),
                format!("notice to {}", it.notification.audience),
            );
            match &it.on {
                NotifyOn::Moves => thing.flag("is sent on every move", Sense::Plain, true),
                NotifyOn::Transitions(names) => thing.names("transitions", Sense::Plain, names),
            }
            thing.put_some(
                "states entered",
                Sense::Plain,
                it.within.as_ref().map(|it| Leaf::Names(it.0.clone())),
            );
            things.push(self.notification(thing, &it.notification));
        }
        for it in &life.effects {
            let mut thing = DefinitionItem::new("effect", it.name.as_str(), format!("effect {}", it.name));
            self.with(&mut thing, &it.with);
            thing.name("transition for success", Sense::Plain, it.ok.as_ref());
            thing.name("transition for failure", Sense::Plain, it.failed.as_ref());
            thing.names("is handed out one at a time for each", Sense::Plain, &it.queue);
            self.some(&mut thing, "is handed out while", Sense::Plain, it.while_true.as_ref());
            thing.wording("about", &it.about);
            things.push(thing);
        }
    }

    fn properties(&self, life: &Lifecycle, things: &mut Vec<DefinitionItem>) {
        for it in &life.properties {
            let word = it.kind.word();
            let mut thing =
                DefinitionItem::new("property", word, format!("promise \"{}\" ({word})", it.says));
            for (place, guard) in it.kind.guards().into_iter().enumerate() {
                let words = format!("{} expression", ordinal(place));
                thing.put(words.clone(), words, Sense::Plain, self.expression(guard));
            }
            if let PropertyKind::Eventually { within, .. } = &it.kind {
                let span = within.map(|it| Leaf::Value(trackside_lifecycle::value::Value::Span(it)));
                thing.put_some("time it may take", Sense::Lasts, span);
            }
            thing.put_some("states", Sense::Plain, it.within.as_ref().map(|it| Leaf::Names(it.0.clone())));
            thing.names("transitions", Sense::Plain, &it.on);
            thing.wording("words", &it.says);
            things.push(thing);
        }
    }

    fn timer(&self, life: &Lifecycle, timer: &Timer) -> DefinitionItem {
        let mut thing = DefinitionItem::new("timer", timer.name.as_str(), timer_title(life, timer));
        match &timer.kind {
            TimerKind::After(guard) => thing.put("after", "length", Sense::Lasts, self.expression(guard)),
            TimerKind::At(field) => thing.name("field with its moment", Sense::Plain, Some(field)),
            TimerKind::Every(every) => thing.put("every", "rhythm", Sense::Lasts, rhythm(*every)),
        }
        thing.names("states in which it runs:", Sense::Plain, &timer.runs.0);
        match &timer.starts {
            Starts::Once => {}
            Starts::Entry => thing.flag("starts with each entry", Sense::Plain, true),
            Starts::On(names) => thing.names("transitions that start it:", Sense::Plain, names),
        }
        thing.names("transitions that restart it:", Sense::Plain, &timer.restarts);
        if let Some(then) = &timer.then {
            thing.sense = Sense::Demands;
            let follow = DefinitionItem::new("then", then.fire.as_str(), format!("fires `{}`", then.fire));
            thing.parts.push(self.follow(follow, then));
        }
        thing.parts.extend(self.warnings(&timer.warn));
        thing
    }

    fn counters(&self, life: &Lifecycle, things: &mut Vec<DefinitionItem>) {
        for it in &life.counters {
            let mut thing = DefinitionItem::new("counter", it.name.as_str(), format!("counter {}", it.name));
            self.some(&mut thing, "limit", Sense::Limits, it.limit.as_ref());
            match &it.tally {
                TallyBy::One => {}
                TallyBy::PerState => thing.flag("counts each state apart", Sense::Plain, true),
                TallyBy::ByKey(keys) => {
                    for (place, key) in keys.iter().enumerate() {
                        let words = format!("{} part of its key", ordinal(place));
                        thing.put(words.clone(), words, Sense::Plain, self.expression(key));
                    }
                }
            }
            self.some(&mut thing, "amount", Sense::Plain, it.add.as_ref());
            self.some(&mut thing, "condition", Sense::Plain, it.only_if.as_ref());
            self.some(&mut thing, "window", Sense::Lasts, it.within.as_ref());
            self.some(&mut thing, "number of observations", Sense::Plain, it.last.as_ref());
            thing.flag("counts every move", Sense::Plain, it.on_moves);
            thing.flag("counts failures", Sense::Plain, it.failure);
            if let Some(then) = &it.then {
                let follow = DefinitionItem::new(
                    "then",
                    then.fire.as_str(),
                    format!("fires `{}` at its limit", then.fire),
                );
                thing.parts.push(self.follow(follow, then));
            }
            thing.parts.extend(self.warnings(&it.warn));
            thing.flag("is reset by moving forward", Sense::Plain, it.reset_forward);
            thing.names("transitions that reset it:", Sense::Plain, &it.reset_on);
            thing.put_some("rhythm of its resets", Sense::Lasts, it.reset_every.map(rhythm));
            thing.wording("about", &it.about);
            things.push(thing);
        }
    }
}

fn rhythm(every: Every) -> Leaf {
    match every {
        Every::Daily { hour, minute } => Leaf::Text(format!("daily {hour:02}:{minute:02}")),
        Every::Span(span) => Leaf::Value(trackside_lifecycle::value::Value::Span(span)),
    }
}

pub(super) fn ordinal(place: usize) -> String {
    match place {
        0 => "first".to_owned(),
        1 => "second".to_owned(),
        2 => "third".to_owned(),
        _ => format!("{}th", place + 1),
    }
}

/// The order in which things of one kind are declared, where it counts.
pub(super) fn order<'n>(thing: &mut DefinitionItem, words: &str, names: impl Iterator<Item = &'n Name>) {
    let names: Vec<Name> = names.cloned().collect();
    if names.len() > 1 {
        thing.put(words, words, Sense::Plain, Leaf::Order(names));
    }
}
