//! Promises: exactly one kind each, with the keys that belong to it.

use super::arms::syntax_list;
use super::context::CompileContext;
use crate::guard::{Guard, Type};
use crate::model::{Property, PropertyKind};
use crate::source::Place;
use crate::syntax::{Expr, PropertyDecl};

impl CompileContext<'_> {
    pub fn property(&mut self, from: &PropertyDecl) -> Option<Property> {
        let at = from.says.at;
        let kinds = [
            ("never", &from.never),
            ("always", &from.always),
            ("reachable", &from.reachable),
            ("eventually", &from.eventually),
            ("alone", &from.alone),
        ];
        let given: Vec<(&str, &Expr)> =
            kinds.iter().filter_map(|(word, it)| it.as_ref().map(|it| (*word, it))).collect();
        let [(word, main)] = given.as_slice() else {
            let (message, hint) = match given.is_empty() {
                true => (
                    "a promise needs one of `never`, `always`, `reachable`, `eventually` and `alone`",
                    "add one of these keys with its condition",
                ),
                false => (
                    "a promise can have only one of `never`, `always`, `reachable`, `eventually` and `alone`",
                    "split it into two promises",
                ),
            };
            self.error("property-kind", at, message).hint(hint);
            return None;
        };
        let word = *word;
        self.only_with("from", from.from.as_ref().map(|it| it.at), "alone", word);
        self.only_with("to", from.to.as_ref().map(|it| it.at), "alone", word);
        self.only_with("when", from.when.as_ref().map(|it| it.at), "eventually", word);
        self.only_with("within", from.within.as_ref().map(|_| at), "eventually", word);
        let on = syntax_list(&from.on);
        if let Some(first) = on.first()
            && !matches!(word, "never" | "always")
        {
            self.only_with("on", Some(first.at), "never` or `always", word);
        }
        let main = self.guard(main, &Type::Bool);
        let kind = match word {
            "never" => PropertyKind::Never(main?),
            "always" => PropertyKind::Always(main?),
            "reachable" => PropertyKind::Reachable(main?),
            "eventually" => {
                let when = self.maybe_guard(from.when.as_ref());
                PropertyKind::Eventually { goal: main?, when, within: from.within.as_ref().map(|it| it.0) }
            }
            _ => {
                let (Some(since), Some(to)) = (&from.from, &from.to) else {
                    self.error("missing-key", at, "`alone` needs `from` and `to`").hint(
                        "for instance `{ alone: agent, from: state == 'new', to: state == 'finished' }`",
                    );
                    return None;
                };
                let (since, to) = (self.guard(since, &Type::Bool), self.guard(to, &Type::Bool));
                PropertyKind::Alone { who: main?, from: since?, to: to? }
            }
        };
        Some(Property {
            says: from.says.it.clone(),
            within: self.maybe_states(&from.r#in),
            // `create` is no transition, but can be requested like one.
            on: on
                .iter()
                .map(|it| if it.it == "create" { it.it.clone() } else { self.transition(it) })
                .collect(),
            kind,
        })
    }

    fn maybe_guard(&mut self, from: Option<&Expr>) -> Option<Guard> {
        self.guard(from?, &Type::Bool)
    }

    fn only_with(&mut self, key: &str, at: Option<Place>, owner: &str, word: &str) {
        if let Some(at) = at
            && owner != word
        {
            self.error("property-kind", at, format!("`{key}` belongs to `{owner}`, not to `{word}`"));
        }
    }
}
