//! Consequences, from their keys.

use super::workbench::Workbench;
use crate::guard::{Guard, Type};
use crate::model::{
    Also, Assign, Birth, Call, Consequences, Follow, Grant, Much, Part, Post, Raise, Severity, Share, Spot,
    Tell, With,
};
use crate::name::Name;
use crate::source::{At, Named, Percent, Place};
use crate::syntax;
use crate::syntax::Expr;

impl Workbench<'_> {
    pub fn consequences(&mut self, from: &syntax::Consequences) -> Consequences {
        Consequences {
            set: from.set.iter().filter_map(|(name, value)| self.assign(name, value)).collect(),
            clear: from.clear.iter().map(|it| self.settable(it)).collect(),
            reset: from.reset.iter().map(|it| self.counter(it)).collect(),
            lease: from.lease.as_ref().and_then(|it| self.grant(it)),
            release: from.release.iter().map(|it| self.slot(it)).collect(),
            then: from.then.iter().filter_map(|it| self.follow(it)).collect(),
            also: from.also.iter().filter_map(|it| self.also(it)).collect(),
            create: from.create.iter().filter_map(|it| self.birth(it)).collect(),
            post: from.post.iter().filter_map(|it| self.post(it)).collect(),
            notify: from
                .notify
                .iter()
                .filter_map(|it| self.tell(&it.audience, &it.to, &it.message, it.each.as_ref(), &it.when))
                .collect(),
            alert: from.alert.iter().filter_map(|it| self.raise(it)).collect(),
            effects: from.effects.iter().filter_map(|it| self.call(it)).collect(),
        }
    }

    /// A step of a `warn` only changes fields and tells others; the rest is for a move.
    pub fn warning_step(&mut self, from: &syntax::Consequences) -> Consequences {
        let counters = from.set.iter().map(|(name, _)| name).filter(|it| self.sets_counter(it));
        let mut refused: Vec<(Place, &str)> = counters.map(|it| (it.at, "set a counter")).collect();
        refused.extend(from.reset.iter().map(|it| (it.at, "reset a counter")));
        refused.extend(from.lease.iter().map(|it| (leased(it).at, "grant a lease")));
        refused.extend(from.release.iter().map(|it| (it.at, "release a lease")));
        for (at, what) in refused {
            self.problems
                .error("warn-step", at, format!("a step of `warn` cannot {what}"))
                .hint("use `then` to fire a transition that does it");
        }
        self.consequences(from)
    }

    fn sets_counter(&self, name: &Name) -> bool {
        let bare = name.split('[').next().unwrap_or(name);
        self.shape.counters.contains_key(bare) && !self.shape.fields.contains_key(name)
    }

    fn assign(&mut self, name: &At<Name>, value: &Expr) -> Option<Assign> {
        if let Some((counter, key)) =
            name.it.split_once('[').and_then(|(a, b)| Some((a, b.strip_suffix(']')?)))
        {
            let counter = At { it: Name::new(counter), at: name.at };
            if self.shape.counters.get(&counter.it).is_some_and(|(_, several)| !several) {
                self.error("no-such-tally", name.at, format!("counter `{}` has only one tally", counter.it));
            }
            let (ty, _) = self.shape.counters.get(&counter.it).cloned().unwrap_or((Type::Any, true));
            let spot = self.counter(&counter);
            let key = Expr::within(key, name.at);
            let key = match self.try_guard(&key) {
                Ok(guard) => guard,
                Err(errors) => {
                    for error in errors {
                        self.problems.error("expression", name.at, error.message);
                    }
                    return None;
                }
            };
            return Some(Assign { spot: Spot::CounterAt(spot, key), value: self.guard(value, &ty)? });
        }
        if let Some((ty, _)) = self.shape.counters.get(&name.it).cloned() {
            if self.shape.keyed.contains(&name.it) {
                self.problems
                    .error("which-tally", name.at, format!("counter `{}` has several tallies", name.it))
                    .hint(format!("say which: `{}[KEY]`", name.it));
            }
            return Some(Assign { spot: Spot::Counter(name.it.clone()), value: self.guard(value, &ty)? });
        }
        let field = self.settable(name);
        let ty = self.shape.fields.get(&field).map_or(Type::Any, |it| it.ty());
        Some(Assign { spot: Spot::Field(field), value: self.listing_guard(value, &ty)? })
    }

    /// A field that rules may write: stored, not computed.
    fn settable(&mut self, name: &At<Name>) -> Name {
        if self.shape.computed.contains(&name.it) {
            self.error(
                "computed-field",
                name.at,
                format!("`{}` is computed when read; nothing can set it", name.it),
            );
            return name.it.clone();
        }
        self.field(name)
    }

    fn grant(&mut self, from: &syntax::Grant) -> Option<Grant> {
        Some(match from {
            syntax::Grant::Slot(name) => Grant { slot: self.slot(name), to: None },
            syntax::Grant::Map(map) => Grant {
                slot: self.slot(&map.slot),
                to: match &map.to {
                    Some(to) => Some(self.guard(to, &Type::Text)?),
                    None => None,
                },
            },
        })
    }

    pub fn follow(&mut self, from: &syntax::Follow) -> Option<Follow> {
        let own = self.shape.name.clone();
        Some(match from {
            syntax::Follow::Fire(name) => {
                Follow { fire: self.transition(name), with: Vec::new(), when: None }
            }
            syntax::Follow::Map(map) => Follow {
                fire: self.transition(&map.fire),
                with: self.with(&map.with, &own, &map.fire),
                when: self.when(&map.when),
            },
        })
    }

    fn also(&mut self, from: &syntax::Also) -> Option<Also> {
        let (name, each) = match (&from.on, &from.each) {
            (Some(name), None) => (name, false),
            (None, Some(name)) => (name, true),
            _ => {
                self.error(
                    "on-or-each",
                    from.fire.at,
                    "`also` needs `on` (one other) or `each` (many others)",
                );
                return None;
            }
        };
        let many_ref = self.shape.refs.get(&name.it).cloned();
        let to = match (&many_ref, self.shape.inverses.get(&name.it)) {
            (Some(it), _) if it.many == each => it.to.clone(),
            (None, Some(other)) if each => other.clone(),
            (Some(_), _) | (_, Some(_)) => {
                let message = if each {
                    format!("`{}` names one entity: use `on`", name.it)
                } else {
                    format!("`{}` names many entities: use `each`", name.it)
                };
                self.error("on-or-each", name.at, message);
                return None;
            }
            (None, None) => {
                let known: Vec<&str> =
                    self.shape.refs.keys().chain(self.shape.inverses.keys()).map(Name::as_str).collect();
                self.unknown("unknown-ref", "ref", name, &known);
                return None;
            }
        };
        let within = from.r#in.as_ref().map(|names| {
            let known = self.pack.lifecycles.get(&to);
            let mut chosen = Vec::new();
            for name in names.iter() {
                match known {
                    Some(other) if other.is_state(name) => chosen.push(name.it.clone()),
                    Some(other) if other.sets.contains_key(&name.it) => {
                        chosen.extend(other.sets.get(&name.it).into_iter().flatten().cloned());
                    }
                    Some(other) => {
                        let known: Vec<&str> = other.states.iter().map(Name::as_str).collect();
                        self.unknown("unknown-state", &format!("state of {to} called"), name, &known);
                    }
                    None => {}
                }
            }
            crate::model::StateSet(chosen)
        });
        let share = self.share(from, name, each, &to);
        let fire = self.transition_of(&to, &from.fire);
        let with = self.with(&from.with, &to, &from.fire);
        let when = self.when(&from.when);
        Some(Also {
            on: name.it.clone(),
            each,
            to,
            within,
            fire,
            with,
            when,
            soft: from.soft.unwrap_or(false),
            willing: from.willing.unwrap_or(false),
            share,
        })
    }

    fn birth(&mut self, from: &syntax::Birth) -> Option<Birth> {
        let pack = self.pack;
        let Some(other) = pack.lifecycles.get(&from.lifecycle.it) else {
            let known: Vec<&str> = pack.lifecycles.keys().map(Name::as_str).collect();
            self.unknown("unknown-lifecycle", "lifecycle", &from.lifecycle, &known);
            return None;
        };
        for (name, _) in from.fields.iter() {
            // What the engine creates it may also furnish with the fields that only it writes.
            if !other.create_takes.contains(&name.it) && !other.owned.contains(&name.it) {
                let known: Vec<&str> = other.create_takes.iter().map(Name::as_str).collect();
                self.unknown(
                    "unknown-field",
                    &format!("field that creating {} takes called", other.name),
                    name,
                    &known,
                );
            }
        }
        let fields = self.expressions(&from.fields);
        Some(Birth {
            lifecycle: from.lifecycle.it.clone(),
            id: self.guard(&from.id, &Type::Text)?,
            fields,
            when: self.when(&from.when),
            soft: from.soft.unwrap_or(false),
        })
    }

    fn post(&mut self, from: &syntax::Post) -> Option<Post> {
        let each = self.each(from.each.as_ref());
        let when = self.when(&from.when);
        let to = from.to.as_ref().and_then(|it| self.guard(it, &Type::Any));
        let author = from.from.as_ref().and_then(|it| self.guard(it, &Type::Text));
        let text = self.template(&from.text);
        self.it = None;
        Some(Post { kind: from.kind.it.clone(), text: text?, to, from: author, each, when })
    }

    pub fn tell(
        &mut self,
        audience: &At<Name>,
        to: &Option<Expr>,
        message: &Expr,
        each: Option<&Expr>,
        when: &Option<Expr>,
    ) -> Option<Tell> {
        if !self.pack.audiences.contains(&audience.it) {
            let known: Vec<&str> = self.pack.audiences.iter().map(Name::as_str).collect();
            self.unknown("unknown-audience", "audience", audience, &known);
        }
        let each = self.each(each);
        let to = to.as_ref().and_then(|it| self.guard(it, &Type::Any));
        let when = self.when(when);
        let message = self.template(message);
        self.it = None;
        Some(Tell { audience: audience.it.clone(), to, message: message?, each, when })
    }

    /// The list that a message is made for each element of; from here on `it` is the element.
    fn each(&mut self, source: Option<&Expr>) -> Option<Guard> {
        let guard = self.guard(source?, &Type::list(Type::Any))?;
        self.it = Some(match guard.ty() {
            Type::List(of) => Type::clone(of),
            _ => Type::Any,
        });
        Some(guard)
    }

    /// The part of a ranking that `also` moves.
    fn share(&mut self, from: &syntax::Also, inverse: &At<Name>, each: bool, to: &Name) -> Option<Share> {
        let parts = [&from.first, &from.last, &from.below].into_iter().flatten().count();
        let Some(ranking) = &from.ranked else {
            if parts > 0 {
                self.problems
                    .error("no-ranking", from.fire.at, "`first`, `last` and `below` need an order")
                    .hint("say which with `ranked`");
            }
            return None;
        };
        let other = self.pack.lifecycles.get(to);
        let Some(order) = other.and_then(|it| it.rankings.get(&ranking.it)) else {
            let known: Vec<&str> =
                other.into_iter().flat_map(|it| it.rankings.keys()).map(Name::as_str).collect();
            self.unknown("unknown-ranking", &format!("ranking of {to} called"), ranking, &known);
            return None;
        };
        let ours = |it: &Name| {
            let back = other.and_then(|other| other.refs.get(it)).and_then(|it| it.inverse.as_ref());
            back == Some(&inverse.it)
        };
        if !each || order.within.len() != 1 || !order.within.iter().all(ours) {
            self.problems
                .error(
                    "other-ranking",
                    ranking.at,
                    format!("`{}` is not kept within what `{}` is the inverse of", ranking.it, inverse.it),
                )
                .hint("use `each` with the inverse of the only ref in its `within`");
        }
        if parts != 1 {
            self.error("which-part", ranking.at, "say which part: one of `first`, `last` and `below`");
        }
        let part = if let Some(it) = &from.first {
            Part::First(self.much(it)?)
        } else if let Some(it) = &from.last {
            Part::Last(self.much(it)?)
        } else {
            if !order.ascending {
                self.problems
                    .error(
                        "below-what",
                        ranking.at,
                        format!("`{}` does not begin with the smallest", ranking.it),
                    )
                    .hint("`below` needs a ranking whose first `by` has no `-`");
            }
            Part::Below(self.guard(from.below.as_ref()?, &Type::Any)?)
        };
        Some(Share { ranking: ranking.it.clone(), part })
    }

    fn much(&mut self, from: &Expr) -> Option<Much> {
        Some(match Percent::parse(from.text.trim()) {
            Some(Percent(percent)) => {
                if !(1..=100).contains(&percent) {
                    self.error("bad-percentage", from.at, "a share is 1% to 100%");
                }
                Much::Percent(percent)
            }
            None => Much::Number(self.guard(from, &Type::Float)?),
        })
    }

    /// What leaving a state entails besides what the arm itself says.
    pub fn leaving_step(&mut self, from: &syntax::Consequences) -> Consequences {
        if let Some(grant) = &from.lease {
            self.problems
                .error("exit-lease", leased(grant).at, "leaving a state cannot grant a lease")
                .hint("grant it in the transition, or in `enter` of the next state");
        }
        self.consequences(from)
    }

    fn raise(&mut self, from: &syntax::Raise) -> Option<Raise> {
        let severity = match &from.severity {
            Some(word) => self.severity(word)?,
            None => Severity::Warning,
        };
        let when = self.when(&from.when);
        Some(Raise { kind: from.kind.it.clone(), severity, message: self.template(&from.message)?, when })
    }

    pub fn severity(&mut self, word: &At<Name>) -> Option<Severity> {
        Some(match word.it.as_str() {
            "info" => Severity::Info,
            "warning" => Severity::Warning,
            "error" => Severity::Error,
            "critical" => Severity::Critical,
            _ => {
                self.unknown("unknown-severity", "severity", word, &["info", "warning", "error", "critical"]);
                return None;
            }
        })
    }

    fn call(&mut self, from: &syntax::EffectCall) -> Option<Call> {
        let (name, with, when) = match from {
            syntax::EffectCall::Effect(name) => (name, Vec::new(), None),
            syntax::EffectCall::Map(map) => {
                let with = self.expressions(&map.with);
                (&map.effect, with, self.when(&map.when))
            }
        };
        if !self.shape.effects.contains(&name.it) {
            let known: Vec<&str> = self.shape.effects.iter().map(Name::as_str).collect();
            self.unknown("unknown-effect", "effect", name, &known);
        }
        Some(Call { effect: name.it.clone(), with, when })
    }

    pub fn when(&mut self, from: &Option<Expr>) -> Option<Guard> {
        from.as_ref().and_then(|it| self.guard(it, &Type::Bool))
    }

    /// Fields of a further move: only what some arm of it takes.
    pub fn with(&mut self, from: &Named<Expr>, lifecycle: &Name, fire: &At<Name>) -> With {
        let pack = self.pack;
        if let Some(takes) = pack.lifecycles.get(lifecycle).and_then(|it| it.transitions.get(&fire.it)) {
            for (name, _) in from.iter() {
                if !takes.contains(&name.it) && name.it != "to" {
                    let known: Vec<&str> = takes.iter().map(Name::as_str).collect();
                    self.unknown(
                        "unknown-field",
                        &format!("field that {} takes called", fire.it),
                        name,
                        &known,
                    );
                }
            }
        }
        self.expressions(from)
    }

    pub fn expressions(&mut self, from: &Named<Expr>) -> With {
        from.iter()
            .filter_map(|(name, it)| Some((name.it.clone(), self.listing_guard(it, &Type::Any)?)))
            .collect()
    }
}

fn leased(grant: &syntax::Grant) -> &At<Name> {
    match grant {
        syntax::Grant::Slot(name) => name,
        syntax::Grant::Map(map) => &map.slot,
    }
}
