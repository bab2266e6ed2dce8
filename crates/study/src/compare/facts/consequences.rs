//! The consequences of a move.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{
    AssignTarget, Consequences, FollowUp, Notification, ShareAmount, ShareRange, Warn, With,
};

use super::ExpressionContext;
use crate::compare::item::{DefinitionItem, Leaf, Sense};

impl ExpressionContext<'_> {
    /// Its parts as facets of the owner; `on` is a prefix such as `on entry `.
    pub fn consequences(&self, on: &str, all: &Consequences) -> Vec<DefinitionItem> {
        let mut parts = Vec::new();
        let part = |group: &'static str, words: String| {
            DefinitionItem::new(group, format!("{on}{words}"), format!("{on}{words}"))
        };
        for it in &all.set {
            let (spot, key) = match &it.target {
                AssignTarget::Field(name) => (format!("sets `{name}`"), None),
                AssignTarget::Counter(name) => (format!("sets counter `{name}`"), None),
                AssignTarget::CounterAt(name, key) => {
                    (format!("sets a tally of counter `{name}`"), Some(key))
                }
            };
            let mut thing = part("set", spot);
            thing.put("value", "to", Sense::Plain, self.expression(&it.value));
            self.some(&mut thing, "key", Sense::Plain, key);
            parts.push(thing);
        }
        parts.extend(all.clear.iter().map(|it| part("clear", format!("clears `{it}`"))));
        parts.extend(all.reset.iter().map(|it| part("reset", format!("resets counter `{it}`"))));
        if let Some(grant) = &all.lease {
            let mut thing = part("lease", format!("grants lease `{}`", grant.slot));
            self.some(&mut thing, "to", Sense::Plain, grant.to.as_ref());
            parts.push(thing);
        }
        parts.extend(all.release.iter().map(|it| part("release", format!("releases lease `{it}`"))));
        parts.extend(all.then.iter().map(|it| self.follow(part("then", format!("fires `{}`", it.fire)), it)));
        for it in &all.also {
            let targets = if it.each { "each of" } else { "the" };
            let mut thing = part("also", format!("moves {targets} `{}` by `{}`", it.on, it.fire));
            thing.put("lifecycle", "lifecycle", Sense::Plain, Leaf::Text(it.to.to_string()));
            thing.put_some("states", Sense::Plain, it.within.as_ref().map(|it| Leaf::Names(it.0.clone())));
            self.with(&mut thing, &it.with);
            self.some(&mut thing, "condition", Sense::Admits, it.when.as_ref());
            thing.flag("drops a refusal with an alert", Sense::Plain, it.soft);
            thing.flag("skips those that cannot", Sense::Plain, it.willing);
            if let Some(share) = &it.share {
                thing.put("ranking", "ranking", Sense::Plain, Leaf::Text(share.ranking.to_string()));
                let (words, leaf) = match &share.range {
                    ShareRange::First(much) => ("share from the front", self.much(much)),
                    ShareRange::Last(much) => ("share from the end", self.much(much)),
                    ShareRange::Below(guard) => ("share below", self.expression(guard)),
                };
                thing.put(words, words, Sense::Plain, leaf);
            }
            parts.push(thing);
        }
        for it in &all.create {
            let mut thing = part("create", format!("creates a `{}`", it.lifecycle));
            thing.put("id", "id", Sense::Plain, self.expression(&it.id));
            self.with(&mut thing, &it.fields);
            self.some(&mut thing, "condition", Sense::Admits, it.when.as_ref());
            thing.flag("drops a refusal with an alert", Sense::Plain, it.soft);
            parts.push(thing);
        }
        for it in &all.post {
            let mut thing = part("post", format!("posts a message `{}`", it.kind));
            thing.wording("text", it.text.source());
            self.some(&mut thing, "to", Sense::Plain, it.to.as_ref());
            self.some(&mut thing, "who may read it:", Sense::Admits, it.visible.as_ref());
            self.some(&mut thing, "from", Sense::Plain, it.from.as_ref());
            self.some(&mut thing, "list iterated", Sense::Plain, it.each.as_ref());
            self.some(&mut thing, "condition", Sense::Admits, it.when.as_ref());
            parts.push(thing);
        }
        parts.extend(
            all.notify
                .iter()
                .map(|it| self.notification(part("notify", format!("tells `{}`", it.audience)), it)),
        );
        for it in &all.alert {
            let mut thing = part("alert", format!("raises alert `{}`", it.kind));
            thing.put("severity", "severity", Sense::Plain, Leaf::Text(it.severity.as_str().to_owned()));
            thing.wording("message", it.message.source());
            self.some(&mut thing, "condition", Sense::Admits, it.when.as_ref());
            parts.push(thing);
        }
        for it in &all.effects {
            let mut thing = part("effect", format!("requests effect `{}`", it.effect));
            self.with(&mut thing, &it.with);
            self.some(&mut thing, "condition", Sense::Admits, it.when.as_ref());
            parts.push(thing);
        }
        // A condition on a consequence neither tightens nor loosens the rules.
        for part in &mut parts {
            for facet in part.facets.iter_mut().filter(|it| it.key == "condition") {
                facet.sense = Sense::Plain;
            }
        }
        parts
    }

    pub fn follow(&self, mut thing: DefinitionItem, follow: &FollowUp) -> DefinitionItem {
        self.with(&mut thing, &follow.with);
        self.some(&mut thing, "condition", Sense::Plain, follow.when.as_ref());
        self.some(&mut thing, "on behalf of", Sense::Plain, follow.subject.as_ref());
        thing
    }

    pub fn notification(&self, mut thing: DefinitionItem, tell: &Notification) -> DefinitionItem {
        self.some(&mut thing, "to", Sense::Plain, tell.to.as_ref());
        thing.wording("message", tell.message.source());
        self.some(&mut thing, "list iterated", Sense::Plain, tell.each.as_ref());
        self.some(&mut thing, "condition", Sense::Plain, tell.when.as_ref());
        thing
    }

    pub fn with(&self, thing: &mut DefinitionItem, with: &With) {
        self.add_fields(thing, with.iter().map(|(name, guard)| (name.as_str(), guard)));
    }

    pub fn add_fields<'g>(
        &self,
        thing: &mut DefinitionItem,
        with: impl Iterator<Item = (&'g str, &'g Guard)>,
    ) {
        for (name, guard) in with {
            let words = format!("value for `{name}`");
            thing.put(words.clone(), words, Sense::Plain, self.expression(guard));
        }
    }

    fn much(&self, much: &ShareAmount) -> Leaf {
        match much {
            ShareAmount::Percent(it) => Leaf::Text(format!("{it}%")),
            ShareAmount::Number(guard) => self.expression(guard),
        }
    }

    /// Steps at percentages of a time or a limit.
    pub fn warnings(&self, warn: &[Warn]) -> Vec<DefinitionItem> {
        let one = |it: &Warn| {
            let mut thing =
                DefinitionItem::new("warn", it.percent.to_string(), format!("warns at {}%", it.percent));
            let severity = it.severity.map_or("none", trackside_lifecycle::model::Severity::as_str);
            thing.put("severity", "severity", Sense::Plain, Leaf::Text(severity.to_owned()));
            thing.parts = self.consequences("", &it.then);
            thing
        };
        warn.iter().map(one).collect()
    }
}
