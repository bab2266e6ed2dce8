//! Shared declarations of a pack: roles, audiences, settings, the risk policy.

use trackside_lifecycle::guard::Template;
use trackside_lifecycle::model::{Pack, Policy};
use trackside_lifecycle::name::Name;

use super::ExpressionContext;
use crate::compare::item::{DefinitionItem, Leaf, Sense};

impl ExpressionContext<'_> {
    pub fn pack(&self, pack: &Pack) -> Vec<DefinitionItem> {
        let mut whole = DefinitionItem::new("pack", "pack", "the pack");
        whole.put("version", "version", Sense::Plain, Leaf::Number(f64::from(pack.version)));
        whole.wording("about", &pack.about);
        let mut things = vec![whole];
        for (name, includes) in &pack.roles {
            let mut thing =
                DefinitionItem::new("role", name.as_str(), format!("role {name}")).sense(Sense::Allows);
            let others: Vec<Name> = includes.iter().filter(|it| *it != name).cloned().collect();
            thing.names("roles it includes:", Sense::Allows, &others);
            things.push(thing);
        }
        for (name, about) in &pack.audiences {
            let mut thing = DefinitionItem::new("audience", name.as_str(), format!("audience {name}"));
            thing.wording("about", about);
            things.push(thing);
        }
        for setting in &pack.settings {
            let mut thing = self.setting(setting);
            for check in pack.setting_checks.iter().filter(|it| it.setting == setting.name) {
                thing.put("check", "check", Sense::Admits, self.expression(&check.guard));
                thing.wording("says", &check.says);
            }
            things.push(thing);
        }
        if let Some(policy) = &pack.policy {
            let facts = ExpressionContext { reads: &policy.reads, settings: &policy.settings };
            facts.policy(policy, &mut things);
        }
        things
    }

    fn policy(&self, policy: &Policy, things: &mut Vec<DefinitionItem>) {
        let mut whole = DefinitionItem::new("policy", "policy", "the risk policy");
        whole.put("levels", "levels", Sense::Plain, Leaf::Order(policy.levels.clone()));
        let level = |name: &Name| {
            let place = policy.levels.iter().position(|it| it == name).unwrap_or_default();
            Leaf::Level(name.clone(), place)
        };
        whole.put_some("level of actions without a rule", Sense::Demands, Some(level(&policy.unknown)));
        for (role, highest) in &policy.roles {
            let words = format!("level that {role} may do without approval");
            whole.put(words.clone(), words, Sense::Allows, level(highest));
        }
        for rule in &policy.rules {
            let id = if rule.actions.is_empty() {
                "everything".to_owned()
            } else {
                Leaf::Names(rule.actions.clone()).shown()
            };
            let mut part = DefinitionItem::new("rule", "rule", format!("has a rule for {id}"));
            part.put("edges", "actions", Sense::Plain, Leaf::Names(rule.actions.clone()));
            self.some(&mut part, "condition", Sense::Plain, rule.when.as_ref());
            part.put_some("level", Sense::Demands, rule.level.as_ref().map(level));
            part.flag("denies", Sense::Demands, rule.deny.is_some());
            part.wording("message", rule.deny.as_ref().map(Template::source).unwrap_or_default());
            part.wording("why", rule.why.as_ref().map(Template::source).unwrap_or_default());
            part.name("counts as", Sense::Plain, rule.counts_as.as_ref());
            whole.parts.push(part);
        }
        for raise in &policy.raise {
            let title = format!("raises the level to {} when `{}`", raise.level, raise.when.source());
            let mut part = DefinitionItem::new("raise", "raise", title).sense(Sense::Demands);
            self.some(&mut part, "condition", Sense::Binds, Some(&raise.when));
            part.put_some("level", Sense::Demands, Some(level(&raise.level)));
            part.wording("why", raise.why.as_ref().map(Template::source).unwrap_or_default());
            whole.parts.push(part);
        }
        for (name, tool) in &policy.tools {
            let mut part = DefinitionItem::new("tool", name.as_str(), format!("tool {name}"));
            part.name("action", Sense::Plain, Some(&tool.action));
            self.with(&mut part, &tool.with);
            whole.parts.push(part);
        }
        if let Some(request) = &policy.request {
            let mut part = DefinitionItem::new("request", "request", "the request for an approval");
            part.name("work", Sense::Plain, Some(&request.work));
            part.name("fire", Sense::Plain, Some(&request.fire));
            part.name("use", Sense::Plain, Some(&request.use_up));
            part.name("approvals", Sense::Plain, Some(&request.approvals));
            self.with(&mut part, &request.with);
            whole.parts.push(part);
        }
        let shown = |actions: &[Name]| Name::from(Leaf::Names(actions.to_vec()).shown());
        let order: Vec<Name> = policy.rules.iter().map(|it| shown(&it.actions)).collect();
        whole.put("order", "order of rules", Sense::Plain, Leaf::Order(order));
        things.push(whole);
    }
}
