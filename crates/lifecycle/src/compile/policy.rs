//! The risk policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::names::Table;
use crate::guard::{Guard, HostFunction, Names, Resolved, Slot, Type, Unknown};
use crate::model::{Policy, PolicyRaise, PolicyRule, Read, Setting};
use crate::name::Name;
use crate::source::{At, Problems};
use crate::syntax::{Expr, PolicyDecl};

/// Names that a policy's expressions know.
struct PolicyNames<'a> {
    settings: &'a [Setting],
    reads: Vec<Read>,
}

impl Names for PolicyNames<'_> {
    fn resolve(&mut self, path: &[&str]) -> Result<Resolved, Unknown> {
        let (read, ty, used) = match path {
            ["action", ..] => (Read::Action, Type::Text, 1),
            ["arguments", ..] => (Read::Arguments, Type::Any, 1),
            ["settings", name, ..] => match self.settings.iter().position(|it| it.name == **name) {
                Some(place) => {
                    let ty = self.settings.get(place).map_or(Type::Any, |it| it.ty.clone());
                    (Read::Setting(place), ty, 2)
                }
                None => {
                    let known = self.settings.iter().map(|it| format!("settings.{}", it.name)).collect();
                    return Err(Unknown { name: format!("settings.{name}"), known });
                }
            },
            _ => {
                let known = ["action", "arguments", "settings"].iter().map(|it| (*it).to_owned()).collect();
                return Err(Unknown { name: path.first().copied().unwrap_or_default().to_owned(), known });
            }
        };
        let slot = Slot(u32::try_from(self.reads.len()).unwrap_or(u32::MAX));
        self.reads.push(read);
        Ok(Resolved { slot, ty, used })
    }

    fn indexed(&mut self, _: &str) -> Option<Resolved> {
        None
    }

    fn function(&self, _: &str) -> Option<HostFunction> {
        None
    }
}

pub(super) fn compile(
    from: &PolicyDecl,
    pack: &Name,
    roles: &BTreeMap<Name, Vec<Name>>,
    settings: &[Setting],
    problems: &mut Problems,
) -> Policy {
    let mut names = PolicyNames { settings, reads: Table::default().reads };
    let levels: Vec<Name> = from.levels.iter().map(|it| it.it.clone()).collect();
    let level = |word: &At<Name>, problems: &mut Problems| {
        if !levels.contains(&word.it) {
            problems.error("unknown-level", word.at, format!("there is no level `{}`", word.it));
        }
        word.it.clone()
    };
    let mut rules = Vec::new();
    for rule in &from.rules {
        let place = rule
            .level
            .as_ref()
            .map(|it| it.at)
            .or(rule.when.as_ref().map(|it| it.at))
            .unwrap_or(from.unknown.at);
        if rule.level.is_some() == rule.deny.is_some() {
            problems.error("level-or-deny", place, "a rule gives a `level` or a `deny` message");
        }
        rules.push(PolicyRule {
            actions: rule.action.iter().flat_map(|it| it.iter()).map(|it| it.it.clone()).collect(),
            when: rule.when.as_ref().and_then(|it| guard(it, &mut names, problems)),
            level: rule.level.as_ref().map(|it| level(it, problems)),
            deny: rule.deny.clone(),
            why: rule.why.clone().unwrap_or_default(),
        });
    }
    let mut raise = Vec::new();
    for rule in from.raise.iter().flatten() {
        if let Some(when) = guard(&rule.when, &mut names, problems) {
            raise.push(PolicyRaise {
                when,
                level: level(&rule.level, problems),
                why: rule.why.clone().unwrap_or_default(),
            });
        }
    }
    let mut allowed = BTreeMap::new();
    for (role, word) in from.roles.iter() {
        if !roles.contains_key(&role.it) {
            problems.error("unknown-role", role.at, format!("there is no role `{}`", role.it));
        }
        allowed.insert(role.it.clone(), level(word, problems));
    }
    let unknown = level(&from.unknown, problems);
    Policy {
        levels,
        unknown,
        rules,
        raise,
        roles: allowed,
        reads: names.reads,
        settings: settings.to_vec(),
        pack: pack.clone(),
    }
}

fn guard(source: &Expr, names: &mut PolicyNames<'_>, problems: &mut Problems) -> Option<Guard> {
    match Guard::compile_as(&source.text, names, &Type::Bool) {
        Ok(it) => Some(it),
        Err(errors) => {
            for error in errors {
                let problem = problems.error("expression", source.place_of(error.at), error.message);
                if let Some(hint) = error.hint {
                    problem.hint(hint);
                }
            }
            None
        }
    }
}

/// The levels, for the type that `policy(…)` gives.
pub(super) fn levels(from: &PolicyDecl) -> Arc<Vec<Name>> {
    Arc::new(from.levels.iter().map(|it| it.it.clone()).collect())
}
